//! The one writer of a database: what it holds, and how readers get what it publishes.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use rayon::{ThreadPool, ThreadPoolBuilder};

use super::batch::Batch;
use super::commit::Waiting;
use super::maintenance::Backlog;
use crate::error::{Error, Result};
use crate::format::DatabaseId;
use crate::format::bytes::Seal;
use crate::format::manifest::{Manifest, SegmentEntry};
use crate::format::superblock::Superblock;
use crate::options::Options;
use crate::scheme::Scheme;
use crate::sketch::Sketcher;
pub use crate::store::companions::beside;
use crate::store::companions::{has_name, remove_leftover, temporary_name};
use crate::store::file_layer::{File, FileLayer, Identity, Lock, Rights};
use crate::store::hot_tier::{self, HotTier, TierId};
use crate::store::memtable::Memtable;
use crate::store::page_cache::PageCache;
use crate::store::page_source::{CachedPage, PageSource};
use crate::store::segment::writer::SegmentPlan;
use crate::store::segment::{Liveness, Segment};
use crate::store::spill::SpillPlace;
use crate::store::state::{SegmentView, State};
use crate::store::state_file;
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// What a writer is made from: a file that was locked, opened and brought in order.
#[derive(Debug)]
pub struct Opened {
    /// The file system.
    pub layer: Arc<dyn FileLayer>,
    /// The database's path, without links.
    pub path: Arc<Path>,
    /// The lock, held until the writer is closed.
    pub lock: Box<dyn Lock>,
    /// The file.
    pub file: Arc<dyn File>,
    /// Its state.
    pub superblock: Superblock,
    /// The manifest of that state.
    pub manifest: Manifest,
    /// How to run.
    pub options: Options,
}

/// The writing side of a database.
#[derive(Debug)]
pub struct Writer {
    pub(super) layer: Arc<dyn FileLayer>,
    pub(super) path: Arc<Path>,
    pub(super) options: Options,
    pub(super) database: DatabaseId,
    pub(super) scheme: Arc<Scheme>,
    pub(super) seal: Seal,
    sketcher: Arc<Sketcher>,
    /// Threads for sketching and sorting, unless those of the whole program are used.
    pool: Option<Arc<ThreadPool>>,
    cache: Arc<PageCache<CachedPage>>,
    /// Commits that wait for the one in progress.
    pub(super) queue: Mutex<Vec<Arc<Waiting>>>,
    pub(super) commits: Mutex<Commits>,
    /// The hot tier and its number, once there is one.
    pub(super) hot: Mutex<Option<(Arc<dyn HotTier>, u64)>>,
    pub(super) file: Mutex<FileSide>,
    pub(super) mark: Mutex<Arc<dyn File>>,
    published: Mutex<Arc<State>>,
    next_block: AtomicU64,
    /// Why writing ended.
    poison: OnceLock<Error>,
    /// The process that opened it: one that was forked from it must not write.
    process: u32,
    pub(super) backlog: Mutex<Backlog>,
    pub(super) wake: Condvar,
    lock: Mutex<Option<Box<dyn Lock>>>,
}

/// The side of commits.
#[derive(Debug)]
pub(super) struct Commits {
    /// The last sequence given to a commit.
    pub(super) last: u64,
    pub(super) closed: bool,
}

/// The side of the file.
#[derive(Debug)]
pub(super) struct FileSide {
    pub file: Arc<dyn File>,
    pub superblock: Superblock,
    pub sealed: u64,
}

impl Writer {
    /// Starts writing. Opens the segments.
    pub fn new(opened: Opened) -> Result<Writer> {
        let Opened { layer, path, lock, file, superblock, manifest, options } = opened;
        let database = superblock.database;
        let options_threads = options.threads;
        let seal = Seal::of(database);
        let cache = Arc::new(PageCache::new(options.cache_bytes));
        let scheme = Arc::new(manifest.scheme.clone());
        let source =
            PageSource::new(Arc::clone(&file), Arc::clone(&path), seal, Arc::clone(&cache));
        let segments = views(&manifest.segments, &source, &scheme)?;
        let state = State {
            scheme: Arc::clone(&scheme),
            segments: segments.into(),
            frozen: None,
            active: Arc::new(Memtable::new(&scheme)),
            sequence: manifest.sealed,
        };
        Ok(Writer {
            layer,
            path,
            options,
            database,
            seal,
            sketcher: Arc::new(Sketcher::new(&scheme)),
            pool: pool(options_threads)?,
            scheme,
            cache,
            queue: Mutex::default(),
            commits: Mutex::new(Commits { last: manifest.sealed, closed: false }),
            hot: Mutex::new(None),
            mark: Mutex::new(Arc::clone(&file)),
            file: Mutex::new(FileSide { file, superblock, sealed: manifest.sealed }),
            published: Mutex::new(Arc::new(state)),
            next_block: AtomicU64::new(manifest.next_block),
            poison: OnceLock::new(),
            process: std::process::id(),
            backlog: Mutex::default(),
            wake: Condvar::new(),
            lock: Mutex::new(Some(lock)),
        })
    }

    /// An empty batch.
    pub fn batch(&self) -> Batch {
        Batch::new(Arc::clone(&self.scheme), Arc::clone(&self.sketcher), self.pool.clone())
    }

    /// What a reader sees now.
    pub fn state(&self) -> Arc<State> {
        Arc::clone(&lock(&self.published))
    }

    /// Makes a new state from the current one and shows it to all later readers.
    pub(super) fn publish(&self, change: impl FnOnce(&mut State)) {
        let mut published = lock(&self.published);
        let mut state = State::clone(&published);
        change(&mut state);
        *published = Arc::new(state);
    }

    /// The scheme of all signatures.
    pub fn scheme(&self) -> &Arc<Scheme> {
        &self.scheme
    }

    /// Turns sets into signatures of the scheme.
    pub fn sketcher(&self) -> &Arc<Sketcher> {
        &self.sketcher
    }

    /// Runs work that is spread over threads on as many as the options allow.
    pub(super) fn spread<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        spread(self.pool.as_deref(), work)
    }

    /// How it is run.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// The database's path.
    pub fn path(&self) -> &Arc<Path> {
        &self.path
    }

    /// The cache of pages.
    pub fn cache(&self) -> &Arc<PageCache<CachedPage>> {
        &self.cache
    }

    /// The superblock of the current state.
    pub fn superblock(&self) -> Superblock {
        lock(&self.file).superblock.clone()
    }

    /// Bytes of the hot tier's files.
    pub fn hot_bytes(&self) -> Result<u64> {
        let hot = lock(&self.hot).clone();
        hot.map_or(Ok(0), |(hot, _)| hot.disk_bytes())
    }

    /// A number for a new segment or liveness block.
    pub(super) fn new_block(&self) -> u64 {
        self.next_block.fetch_add(1, Ordering::Relaxed)
    }

    /// Above all numbers given so far.
    pub(super) fn next_block(&self) -> u64 {
        self.next_block.load(Ordering::Relaxed)
    }

    /// What a new segment belongs to.
    pub fn plan(&self) -> SegmentPlan {
        SegmentPlan {
            database: self.database,
            scheme: Arc::clone(&self.scheme),
            block: self.new_block(),
            spill: self.spill_place(),
        }
    }

    /// Where builds spill to: beside the database, if that is a real directory.
    pub fn spill_place(&self) -> SpillPlace {
        let parent = self.path.parent().filter(|_| self.layer.is_real());
        let directory = parent.map(|parent| Arc::new(parent.to_path_buf()));
        SpillPlace { directory, memory: self.options.build_bytes / 2 }
    }

    /// Pages of a file of this database.
    pub(super) fn source(&self, file: &Arc<dyn File>) -> PageSource {
        let (path, cache) = (Arc::clone(&self.path), Arc::clone(&self.cache));
        PageSource::new(Arc::clone(file), path, self.seal, cache)
    }

    /// Refuses to write after a failure that left it unknown what is on disk.
    pub(super) fn check_poison(&self) -> Result<()> {
        match self.poison.get() {
            None => Ok(()),
            Some(error @ (Error::Poisoned { .. } | Error::Replaced { .. })) => Err(error.clone()),
            Some(error) => Err(Error::Poisoned { reason: error.to_string() }),
        }
    }

    /// Ends all writing (STEP-10). Never taken back: what a failed sync left on disk is not known, and a second
    /// sync that succeeds says nothing about it.
    pub(super) fn poison(&self, error: Error) -> Error {
        let _ = self.poison.set(error.clone());
        error
    }

    /// Refuses to be used by a process that was forked from the one that opened it. Takes no lock: a thread that
    /// is not there in this process may hold any of them.
    pub fn check_process(&self) -> Result<()> {
        match self.process == std::process::id() {
            true => Ok(()),
            false => Err(Error::Forked { path: self.path.to_path_buf() }),
        }
    }

    /// Ends all writing if the database's name no longer belongs to this open file (STEP-12).
    pub(super) fn check_own(&self, file: &dyn File) -> Result<()> {
        self.check_process()?;
        match has_name(&*self.layer, &self.path, file)? {
            true => Ok(()),
            false => Err(self.poison(Error::Replaced { path: self.path.to_path_buf() })),
        }
    }

    /// Who may use the database file.
    pub fn rights(&self) -> Result<Option<Rights>> {
        let rights = lock(&self.mark).rights();
        rights.map_err(|error| Error::io("look at", &self.path, error))
    }

    /// Ends all writing because the database is closed: merges and loads may outlive it.
    fn end_writing(&self, commits: &mut Commits) {
        commits.closed = true;
        let _ = self.poison.set(Error::Poisoned { reason: "the database was closed".into() });
    }

    /// The directory of the hot tier.
    pub(super) fn hot_directory(&self) -> PathBuf {
        beside(&self.path, "-hot")
    }

    /// Leaves one file and frees the lock: checkpoints everything, marks the state as clean, removes the
    /// hot tier (STEP-8). After a failure the hot tier stays, and the next open goes on from there.
    pub fn close(&self) -> Result<()> {
        self.close_then(|side| {
            let own = side.file.identity();
            let own = own.map_err(|error| Error::io("look at", &self.path, error))?;
            remove_leftovers(&self.layer, &self.path, self.database, &own)
        })
    }

    /// The same for a file that has only its temporary name: nothing of its own stands beside that.
    pub fn close_new(&self) -> Result<()> {
        self.close_then(|_| Ok(()))
    }

    fn close_then(&self, sweep: impl FnOnce(&FileSide) -> Result<()>) -> Result<()> {
        self.check_process()?;
        let closed = self.close_file(sweep);
        self.end_writing(&mut lock(&self.commits));
        // A merge that began before that ends before the lock is free.
        drop(lock(&self.file));
        *lock(&self.hot) = None;
        *lock(&self.lock) = None;
        closed
    }

    fn close_file(&self, sweep: impl FnOnce(&FileSide) -> Result<()>) -> Result<()> {
        {
            let mut commits = lock(&self.commits);
            if commits.closed {
                return Ok(());
            }
            self.check_poison()?;
            self.seal_all(&mut commits)?;
            self.end_writing(&mut commits);
        }
        let mut side = lock(&self.file);
        self.check_own(&*side.file)?;
        if !side.superblock.clean {
            let next = Superblock {
                generation: side.superblock.generation + 1,
                hot_tier: 0,
                clean: true,
                ..side.superblock.clone()
            };
            state_file::write_superblock(&*side.file, &self.path, &next)
                .map_err(|error| self.poison(error))?;
            side.superblock = next;
        }
        let hot = lock(&self.hot).take();
        if let Some((hot, tier)) = hot {
            drop(hot);
            let id = TierId { database: self.database, tier };
            hot_tier::remove(&self.layer, &self.hot_directory(), id)?;
        }
        sweep(&side)
    }
}

/// Removes what steps that failed or were cut off left beside a database, which no state refers to. What is not
/// theirs is left as it is: an open refuses it, and it may have come there since.
pub fn remove_leftovers(
    layer: &Arc<dyn FileLayer>,
    path: &Path,
    database: DatabaseId,
    own: &Identity,
) -> Result<()> {
    remove_leftover(&**layer, &beside(path, "-vacuum"), Some(database), None)?;
    remove_leftover(&**layer, &temporary_name(path), None, Some(own))?;
    let hot = beside(path, "-hot");
    for remove in [hot_tier::remove_unfinished, hot_tier::remove_replay] {
        match remove(layer, &hot, database) {
            Err(Error::NotOurs { .. }) => {}
            removed => removed?,
        }
    }
    Ok(())
}

/// A pool of so many threads; none for 0.
fn pool(threads: usize) -> Result<Option<Arc<ThreadPool>>> {
    if threads == 0 {
        return Ok(None);
    }
    let pool = ThreadPoolBuilder::new().num_threads(threads).build();
    let refused = |error| Error::invalid(format!("option threads = {threads}"), format!("{error}"));
    Ok(Some(Arc::new(pool.map_err(refused)?)))
}

/// Runs work in a pool, or in the pool of the whole program.
pub(super) fn spread<R: Send>(pool: Option<&ThreadPool>, work: impl FnOnce() -> R + Send) -> R {
    match pool {
        Some(pool) => pool.install(work),
        None => work(),
    }
}

/// The views of a manifest's segments.
pub fn views(
    entries: &[SegmentEntry],
    source: &PageSource,
    scheme: &Arc<Scheme>,
) -> Result<Vec<SegmentView>> {
    entries.iter().map(|entry| view(entry, source, scheme)).collect()
}

/// The view of one segment.
pub fn view(
    entry: &SegmentEntry,
    source: &PageSource,
    scheme: &Arc<Scheme>,
) -> Result<SegmentView> {
    Ok(SegmentView {
        segment: Arc::new(Segment::open(source.clone(), entry, scheme)?),
        liveness: Liveness::new(entry.rows, entry.liveness, source),
        live_rows: entry.live_rows,
    })
}

/// Takes a lock. A thread that panicked while it held one left nothing half done that matters here: all
/// changes of state are single assignments.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
