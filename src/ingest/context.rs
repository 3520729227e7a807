//! What all parts of a writer know and none of them changes: where the database is, what it holds, and whether it may
//! still be written.

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

/// The surroundings of a writer.
#[derive(Debug)]
pub(super) struct Context {
    pub(super) layer: Arc<dyn FileLayer>,
    pub(super) path: Arc<Path>,
    pub(super) database: DatabaseId,
    pub(super) scheme: Arc<Scheme>,
    pub(super) seal: Seal,
    pub(super) cache: Arc<PageCache<CachedPage>>,
    /// Bytes that a build may hold in memory before it spills.
    pub(super) spill_bytes: usize,
    pub(super) health: Health,
    pub(super) counters: Counters,
}

impl Context {
    /// Pages of a file of this database.
    pub(super) fn source(&self, file: &Arc<dyn File>) -> PageSource {
        let (path, cache) = (Arc::clone(&self.path), Arc::clone(&self.cache));
        PageSource::new(Arc::clone(file), path, self.seal, cache)
    }

    /// Where builds spill to: beside the database, if that is a real directory.
    pub(super) fn spill_place(&self) -> SpillPlace {
        let parent = self.path.parent().filter(|_| self.layer.is_real());
        let directory = parent.map(|parent| Arc::new(parent.to_path_buf()));
        SpillPlace { directory, memory: self.spill_bytes }
    }

    /// The directory of the hot tier.
    pub(super) fn hot_directory(&self) -> PathBuf {
        Companion::HotTier.path(&self.path)
    }

    /// Refuses to be used by a process that was forked from the one that opened the database.
    pub(super) fn check_process(&self) -> Result<()> {
        match self.health.is_own_process() {
            true => Ok(()),
            false => Err(Error::Forked { path: self.path.to_path_buf() }),
        }
    }

    /// Ends all writing if the database's name no longer belongs to this open file (STEP-12).
    pub(super) fn check_own(&self, file: &dyn File) -> Result<()> {
        self.check_process()?;
        match has_name(&*self.layer, &self.path, file)? {
            true => Ok(()),
            false => Err(self.health.poison(Error::Replaced { path: self.path.to_path_buf() })),
        }
    }
}

/// Whether a database may still be written. Takes no lock: in a forked process, a thread that is not there any more may
/// hold any of them.
#[derive(Debug)]
pub(super) struct Health {
    /// Why writing ended.
    poison: OnceLock<Error>,
    /// The process that opened the database.
    process: u32,
}

impl Health {
    /// All is well.
    pub(super) fn new() -> Health {
        Health { poison: OnceLock::new(), process: std::process::id() }
    }

    /// Refuses to write after a failure that left it unknown what is on disk.
    pub(super) fn check(&self) -> Result<()> {
        match self.poison.get() {
            None => Ok(()),
            Some(
                error @ (Error::Poisoned { .. } | Error::Replaced { .. } | Error::Closed { .. }),
            ) => Err(error.clone()),
            Some(error) => Err(Error::Poisoned { reason: error.to_string() }),
        }
    }

    /// Ends all writing (STEP-10). Never taken back: what a failed sync left on disk is not known, and a second sync
    /// that succeeds says nothing about it.
    pub(super) fn poison(&self, error: Error) -> Error {
        let _ = self.poison.set(error.clone());
        error
    }

    fn is_own_process(&self) -> bool {
        self.process == std::process::id()
    }
}
