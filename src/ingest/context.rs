//! What all parts of a writer share: path, identity, scheme, page cache, counters, and whether it may still write.
//!
//! In: failures that must end all writing. Out: checks that every step makes before it writes (STEP-10, STEP-12).

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use super::activity::Counters;
use crate::error::{Error, Result};
use crate::format::DatabaseId;
use crate::format::bytes::Seal;
use crate::scheme::Scheme;
use crate::store::companions::{Companion, has_name};
use crate::store::file_layer::{File, FileLayer};
use crate::store::page_cache::PageCache;
use crate::store::page_source::{CachedPage, PageSource};
use crate::store::spill::SpillPlace;

/// What all parts of a writer share.
#[derive(Debug)]
pub(super) struct Context {
    pub(super) layer: Arc<dyn FileLayer>,
    pub(super) path: Arc<Path>,
    pub(super) database: DatabaseId,
    pub(super) scheme: Arc<Scheme>,
    pub(super) seal: Seal,
    pub(super) cache: Arc<PageCache<CachedPage>>,
    /// Bytes that the build of a segment may hold in memory before it spills.
    pub(super) spill_bytes: usize,
    pub(super) health: Health,
    pub(super) counters: Counters,
}

impl Context {
    /// A source of pages from a file of this database.
    pub(super) fn source(&self, file: &Arc<dyn File>) -> PageSource {
        let (path, cache) = (Arc::clone(&self.path), Arc::clone(&self.cache));
        PageSource::new(Arc::clone(file), path, self.seal, cache)
    }

    /// Where builds spill: beside the database, if that is a real directory.
    pub(super) fn spill_place(&self) -> SpillPlace {
        let parent = self.path.parent().filter(|_| self.layer.is_real());
        let directory = parent.map(|parent| Arc::new(parent.to_path_buf()));
        SpillPlace { directory, memory: self.spill_bytes }
    }

    /// The directory of the log.
    pub(super) fn log_directory(&self) -> PathBuf {
        Companion::Log.path(&self.path)
    }

    /// Fails in a process that was forked from the one that opened the database.
    pub(super) fn check_process(&self) -> Result<()> {
        match self.health.is_own_process() {
            true => Ok(()),
            false => Err(Error::Forked { path: self.path.to_path_buf() }),
        }
    }

    /// Poisons the writer if the database's name no longer leads to this open file (STEP-12).
    pub(super) fn check_own(&self, file: &dyn File) -> Result<()> {
        self.check_process()?;
        match has_name(&*self.layer, &self.path, file)? {
            true => Ok(()),
            false => Err(self.health.poison(Error::Replaced { path: self.path.to_path_buf() })),
        }
    }
}

/// Whether a database may still be written. Takes no lock: in a forked process, a lock may be held by a thread that
/// does not exist there.
#[derive(Debug)]
pub(super) struct Health {
    /// Why writing ended.
    poison: OnceLock<Error>,
    /// The process that opened the database.
    process: u32,
}

impl Health {
    /// Writing is allowed, in this process.
    pub(super) fn new() -> Health {
        Health { poison: OnceLock::new(), process: std::process::id() }
    }

    /// Fails if the writer is poisoned.
    pub(super) fn check(&self) -> Result<()> {
        match self.poison.get() {
            None => Ok(()),
            Some(
                error @ (Error::Poisoned { .. } | Error::Replaced { .. } | Error::Closed { .. }),
            ) => Err(error.clone()),
            Some(error) => Err(Error::Poisoned { reason: error.to_string() }),
        }
    }

    /// Poisons the writer: nothing more is written (STEP-10). This is final. After a failed sync nobody knows what is
    /// on disk, and a later sync that succeeds does not prove anything. Returns the error; the first one is kept.
    pub(super) fn poison(&self, error: Error) -> Error {
        let _ = self.poison.set(error.clone());
        error
    }

    fn is_own_process(&self) -> bool {
        self.process == std::process::id()
    }
}
