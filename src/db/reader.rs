//! A database open for reading.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Stored;
use super::snapshot::Snapshot;
use super::stat::{Stat, stat};
use crate::care::create::new_id;
use crate::error::{Error, Result};
use crate::format::bytes::Seal;
use crate::ingest::pack::pack;
use crate::ingest::writer::views;
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
use crate::sync::{Mutex, PoisonError};

/// A database that is open for reading. It takes no lock and changes no byte, and shows the last
/// checkpoint that it knows of: [`refresh`](Reader::refresh) looks for a newer one.
#[derive(Debug)]
pub struct Reader {
    layer: Arc<dyn FileLayer>,
    path: PathBuf,
    options: Options,
    current: Mutex<Current>,
    /// Held while a newer state is looked for: of two that look at once, the one that found less must not come last.
    refreshing: Mutex<()>,
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
        let current = Mutex::new(load(&*layer, path, &options, None)?);
        Ok(Reader { layer, path: path.into(), options, current, refreshing: Mutex::default() })
    }

    fn current(&self) -> Current {
        self.current.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Looks for a newer state, also in a file that has taken the place of this one. Snapshots that were
    /// taken before stay as they are.
    pub fn refresh(&self) -> Result<()> {
        let _one = self.refreshing.lock().unwrap_or_else(PoisonError::into_inner);
        let new = load(&*self.layer, &self.path, &self.options, Some(&self.current()))?;
        *self.current.lock().unwrap_or_else(PoisonError::into_inner) = new;
        Ok(())
    }

    /// A view of the database, which stays as it is.
    pub fn snapshot(&self) -> Snapshot {
        let Current { state, sketcher, .. } = self.current();
        Snapshot::new(state, sketcher)
    }

    /// The set stored under a key.
    pub fn get(&self, key: impl AsRef<[u8]>) -> Result<Option<Stored>> {
        self.snapshot().get(key)
    }

    /// The scheme of all signatures.
    pub fn scheme(&self) -> Scheme {
        (*self.current().state.scheme).clone()
    }

    /// How many acknowledged commits wait in a hot tier and are not seen here. They are in the file after
    /// the writer's next checkpoint or, if it was killed, after the next open for writing. After a power
    /// cut there may be more than are known of.
    pub fn unsealed(&self) -> u64 {
        let file = self.current().file;
        file.mark.map_or(0, |mark| mark.sequence.saturating_sub(file.manifest.sealed))
    }

    /// Whether the last writer closed the database. If not, one is at work or was killed.
    pub fn is_clean(&self) -> bool {
        self.current().file.superblock.clean
    }

    /// Whether a writer has the database open just now.
    pub fn has_writer(&self) -> Result<bool> {
        let path = self.layer.canonical(&self.path);
        let path = path.map_err(|error| Error::io("look at", &self.path, error))?;
        let lock = Companion::Lock.path(&path);
        anchored(&self.layer, &path)?
            .is_locked(&lock)
            .map_err(|error| Error::io("look at", &lock, error))
    }

    /// Writes a compact copy into a new file, for those who may use the original. Refuses a path where anything
    /// stands, or that another database uses for its companion files.
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

    /// Pages that lookups have touched so far, in memory or on disk.
    #[doc(hidden)]
    pub fn pages_touched(&self) -> u64 {
        let cache = self.current().cache;
        cache.hits() + cache.misses()
    }

    /// Counts and bytes.
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
        sequence: state.manifest.sealed,
    };
    Ok(Current { state: Arc::new(view), sketcher, file: state, handle: file, cache })
}

/// Whether a state comes from the same file as one before, and not before it: only then do block numbers
/// mean the same. A file that took its place may be another database, or an old copy that went its own way.
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
