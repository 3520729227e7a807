//! The handle of a database that is open for reading.
//!
//! In: a path. Out: snapshots of the last checkpoint. A reader takes no lock, never reads the write-ahead log, and writes
//! nothing to the database.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Stored;
use super::snapshot::Snapshot;
use super::stat::{Stat, stat};
use crate::error::{Error, Result};
use crate::format::bytes::Seal;
use crate::ingest::pack::pack;
use crate::ingest::writer::views;
use crate::maintenance::create::new_id;
use crate::options::Options;
use crate::scheme::Scheme;
use crate::sketch::Sketcher;
use crate::store::companions::{Companion, anchored};
use crate::store::file_layer::{Access, File, FileLayer, Rights};
use crate::store::memtable::Memtable;
use crate::store::page_cache::PageCache;
use crate::store::page_source::{CachedPage, PageSource};
use crate::store::spill::SpillPlace;
use crate::store::state::State;
use crate::store::state_file::{self, FileState};
use crate::sync::Ranked;
use crate::sync::lock_order::{HANDLE, PUBLISHED};

/// A handle to a database that is open for reading. It takes no lock and writes nothing. It shows the last checkpoint that
/// it has read; [`refresh`](Reader::refresh) reads a newer one.
#[derive(Debug)]
pub struct Reader {
    layer: Arc<dyn FileLayer>,
    path: PathBuf,
    options: Options,
    current: Ranked<PUBLISHED, Current>,
    /// Held during a refresh, so that of two refreshes at once the older state cannot replace the newer one.
    refreshing: Ranked<HANDLE, ()>,
}

#[derive(Debug, Clone)]
struct Current {
    state: Arc<State>,
    sketcher: Arc<Sketcher>,
    file: FileState,
    handle: Arc<dyn File>,
    cache: Arc<PageCache<CachedPage>>,
}

impl Reader {
    /// Opens a database in any file layer.
    #[doc(hidden)]
    pub fn open_in(layer: Arc<dyn FileLayer>, path: &Path, options: Options) -> Result<Reader> {
        let current = Ranked::new(load(&*layer, path, &options, None)?);
        Ok(Reader { layer, path: path.into(), options, current, refreshing: Ranked::default() })
    }

    fn current(&self) -> Current {
        self.current.lock().clone()
    }

    /// Reads the current state of the file, even if another file has replaced it. Earlier snapshots do not change.
    pub fn refresh(&self) -> Result<()> {
        let _one = self.refreshing.lock();
        let new = load(&*self.layer, &self.path, &self.options, Some(&self.current()))?;
        *self.current.lock() = new;
        Ok(())
    }

    /// Returns a view of the last state that was read. A refresh does not affect it.
    pub fn snapshot(&self) -> Snapshot {
        let Current { state, sketcher, .. } = self.current();
        Snapshot::new(state, sketcher)
    }

    /// Returns the set that is stored under a key, and its value.
    pub fn get(&self, key: impl AsRef<[u8]>) -> Result<Option<Stored>> {
        self.snapshot().get(key)
    }

    /// Returns the scheme of all signatures.
    pub fn scheme(&self) -> Scheme {
        (*self.current().state.scheme).clone()
    }

    /// Returns the number of acknowledged commits that are only in the write-ahead log and cannot be seen here. The writer's
    /// next checkpoint moves them into the file. If the writer was killed, the next open for writing does. After a power
    /// cut there may be more of them than this number.
    pub fn commits_in_log(&self) -> u64 {
        let file = self.current().file;
        file.mark.map_or(0, |mark| mark.sequence.saturating_sub(file.manifest.checkpointed))
    }

    /// Whether the last writer closed the database. Otherwise a writer has it open or was killed.
    pub fn is_clean(&self) -> bool {
        self.current().file.superblock.clean
    }

    /// Whether a writer has the database open now.
    pub fn has_writer(&self) -> Result<bool> {
        let path = self.layer.canonical(&self.path);
        let path = path.map_err(|error| Error::io("look at", &self.path, error))?;
        let lock = Companion::Lock.path(&path);
        anchored(&self.layer, &path)?
            .is_locked(&lock)
            .map_err(|error| Error::io("look at", &lock, error))
    }

    /// Writes a compact copy to a new file with the mode and group of the original. The copy has the commits that this
    /// reader shows: those up to the last checkpoint that it has read. Commits that are only in the write-ahead log are
    /// not copied. [`commits_in_log`](Reader::commits_in_log) counts them.
    ///
    /// Fails if anything exists at the path, or if another database uses the name for a companion file.
    pub fn pack(&self, target: impl AsRef<Path>) -> Result<()> {
        let spill = SpillPlace {
            directory: Some(Arc::new(std::env::temp_dir())),
            memory: self.options.build_bytes / 2,
        };
        let rights = self.current().handle.rights();
        let rights = rights.map_err(|error| Error::io("look at", &self.path, error))?;
        let rights = rights.map(Rights::of_copy);
        pack(&self.layer, self.snapshot().state(), target.as_ref(), new_id(), rights, &spill)
    }

    /// Returns how many pages were requested so far, from the cache or from the file.
    #[doc(hidden)]
    pub fn pages_touched(&self) -> u64 {
        let cache = self.current().cache;
        cache.hits() + cache.misses()
    }

    /// Returns counts and sizes.
    pub fn stat(&self) -> Result<Stat> {
        let current = self.current();
        stat(&current.state, &current.file.superblock, &current.cache, 0)
    }
}

fn load(
    layer: &dyn FileLayer,
    path: &Path,
    options: &Options,
    before: Option<&Current>,
) -> Result<Current> {
    let file = state_file::open(layer, path, Access::Read)?;
    let state = state_file::read(&*file, path)?;
    let kept = match before {
        Some(before) if is_later(&*file, &state, before, path)? => Some(Arc::clone(&before.cache)),
        _ => None,
    };
    let cache = kept.unwrap_or_else(|| Arc::new(PageCache::new(options.cache_bytes)));
    let seal = Seal::of(state.superblock.database);
    let source = PageSource::new(Arc::clone(&file), path.into(), seal, Arc::clone(&cache));
    let scheme = Arc::new(state.manifest.scheme.clone());
    let segments = views(&state.manifest.segments, &source, &scheme)?;
    let sketcher = match before {
        Some(before) if before.state.scheme == scheme => Arc::clone(&before.sketcher),
        _ => Arc::new(Sketcher::new(&scheme)),
    };
    let view = State {
        active: Arc::new(Memtable::new(&scheme)),
        scheme,
        segments: segments.into(),
        frozen: None,
        sequence: state.manifest.checkpointed,
    };
    Ok(Current { state: Arc::new(view), sketcher, file: state, handle: file, cache })
}

/// Whether a state is of the same file as an earlier one and not older. Only then do cached pages stay valid. A file that
/// replaced the earlier one may be another database, or an old copy with its own later changes.
fn is_later(file: &dyn File, state: &FileState, before: &Current, path: &Path) -> Result<bool> {
    let identity = |file: &dyn File| {
        let found = file.identity().map_err(|error| Error::io("look at", path, error))?;
        Ok::<_, Error>((found.device, found.inode))
    };
    let old = &before.file.superblock;
    Ok(state.superblock.database == old.database
        && state.superblock.generation >= old.generation
        && identity(file)? == identity(&*before.handle)?)
}
