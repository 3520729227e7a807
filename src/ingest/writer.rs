//! The writer of a database: assembles its parts and offers the operations on them.
//!
//! In: a locked, recovered file, then batches and maintenance calls. Out: commits and published states. Each
//! operation is implemented in its own file (`commit`, `checkpoint`, `merge`, `vacuum`); closing is here (STEP-8).

use std::path::Path;
use std::sync::Arc;

use rayon::{ThreadPool, ThreadPoolBuilder};

use super::activity::{Activity, Counters};
use super::backlog::Backlog;
use super::batch::Batch;
use super::commit::{Committed, checkpoint_all, commit_group};
use super::commit_queue::CommitQueue;
use super::context::{Context, Health};
use super::file_side::{Appended, FileSide};
use super::log_side::LogSide;
use super::published::Published;
use super::{merge, vacuum};
use crate::error::{Error, Result};
use crate::format::DatabaseId;
use crate::format::bytes::Seal;
use crate::format::manifest::{Manifest, SegmentEntry};
use crate::format::superblock::Superblock;
use crate::options::Options;
use crate::scheme::Scheme;
use crate::sketch::Sketcher;
use crate::store::companions::{Companion, remove_leftover};
use crate::store::file_layer::{File, FileLayer, Identity, Lock, Rights};
use crate::store::log;
use crate::store::memtable::Memtable;
use crate::store::page_cache::PageCache;
use crate::store::page_source::{CachedPage, PageSource};
use crate::store::segment::writer::SegmentPlan;
use crate::store::segment::{Segment, Tombstones};
use crate::store::spill::SpillPlace;
use crate::store::state::{SegmentView, State};

/// What a writer starts from: an open, locked file whose state was read and checked.
#[derive(Debug)]
pub struct Opened {
    /// The file system.
    pub layer: Arc<dyn FileLayer>,
    /// The database's path, with symbolic links resolved.
    pub path: Arc<Path>,
    /// The lock against other writers, held until the writer is closed.
    pub lock: Box<dyn Lock>,
    /// The database file.
    pub file: Arc<dyn File>,
    /// The current superblock.
    pub superblock: Superblock,
    /// The manifest that the superblock names.
    pub manifest: Manifest,
    /// How the database is run.
    pub options: Options,
}

/// The only writer of a database. Its parts own their locks; the module docs list them.
#[derive(Debug)]
pub struct Writer {
    pub(super) context: Arc<Context>,
    options: Options,
    sketcher: Arc<Sketcher>,
    /// Threads for sketching and sorting. `None` means rayon's global pool.
    pool: Option<Arc<ThreadPool>>,
    pub(super) commits: CommitQueue,
    pub(super) files: FileSide,
    pub(super) log: LogSide,
    pub(super) published: Published,
    pub(super) backlog: Backlog,
}

impl Writer {
    /// Opens the segments and makes a writer. Changes nothing on disk.
    pub fn new(opened: Opened) -> Result<Writer> {
        let Opened { layer, path, lock, file, superblock, manifest, options } = opened;
        let Manifest { checkpointed, next_extent, scheme, segments, .. } = manifest;
        let scheme = Arc::new(scheme);
        let context = Arc::new(Context {
            layer,
            path,
            database: superblock.database,
            scheme: Arc::clone(&scheme),
            seal: Seal::of(superblock.database),
            cache: Arc::new(PageCache::new(options.cache_bytes)),
            spill_bytes: options.build_bytes / 2,
            health: Health::new(),
            counters: Counters::default(),
        });
        let state = State {
            scheme: Arc::clone(&scheme),
            segments: views(&segments, &context.source(&file), &scheme)?.into(),
            frozen: None,
            active: Arc::new(Memtable::new(&scheme)),
            sequence: checkpointed,
        };
        let appended = Appended { file, superblock, checkpointed };
        Ok(Writer {
            sketcher: Arc::new(Sketcher::new(&scheme)),
            pool: pool(options.threads)?,
            commits: CommitQueue::new(Arc::clone(&context), checkpointed),
            files: FileSide::new(Arc::clone(&context), appended, lock, next_extent),
            log: LogSide::new(Arc::clone(&context), options.log),
            published: Published::new(state),
            backlog: Backlog::default(),
            context,
            options,
        })
    }

    /// Makes an empty batch.
    pub fn batch(&self) -> Batch {
        Batch::new(Arc::clone(self.scheme()), Arc::clone(&self.sketcher), self.pool.clone())
    }

    /// The published state, which readers see now.
    pub fn state(&self) -> Arc<State> {
        self.published.state()
    }

    /// The scheme of all signatures.
    pub fn scheme(&self) -> &Arc<Scheme> {
        &self.context.scheme
    }

    /// The sketcher, which turns sets into signatures of the scheme.
    pub fn sketcher(&self) -> &Arc<Sketcher> {
        &self.sketcher
    }

    /// Runs parallel work on as many threads as the options allow.
    pub(super) fn spread<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        spread(self.pool.as_deref(), work)
    }

    /// The options that the database was opened with.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// The page cache.
    pub fn cache(&self) -> &Arc<PageCache<CachedPage>> {
        &self.context.cache
    }

    /// The superblock of the current state.
    pub fn superblock(&self) -> Superblock {
        self.files.superblock()
    }

    /// The size of the log's files in bytes.
    pub fn log_bytes(&self) -> Result<u64> {
        self.log.disk_bytes()
    }

    /// Why merging stopped, if it did.
    pub fn merge_failure(&self) -> Option<Error> {
        self.backlog.merge_failure()
    }

    /// What the writer has done since it was opened, in numbers.
    pub fn activity(&self) -> Activity {
        self.context.counters.read()
    }

    /// The identity of a new segment, with a new number.
    pub fn plan(&self) -> SegmentPlan {
        self.files.plan()
    }

    /// The database's path, with symbolic links resolved.
    pub fn path(&self) -> &Path {
        &self.context.path
    }

    /// Where builds spill: beside the database if that is a real directory, otherwise memory.
    pub fn spill_place(&self) -> SpillPlace {
        self.context.spill_place()
    }

    /// Fails in a process that was forked from the one that opened the database. Takes no lock.
    pub fn check_process(&self) -> Result<()> {
        self.context.check_process()
    }

    /// Who may use the database file.
    pub fn rights(&self) -> Result<Option<Rights>> {
        self.files.rights()
    }

    /// Commits a batch. An empty batch changes nothing, and returns the number of the last commit.
    pub fn commit(&self, batch: Batch) -> Result<Committed> {
        self.check_process()?;
        let operations = batch.into_operations();
        self.commits.commit(operations, |turn, group| commit_group(self, turn, group))
    }

    /// Checkpoints all commits: puts them into segments.
    pub fn checkpoint(&self) -> Result<()> {
        self.check_process()?;
        let mut turn = self.commits.turn();
        self.context.health.check()?;
        checkpoint_all(self, &mut turn)
    }

    /// Merges all segments into one and drops all dead bytes.
    pub fn compact(&self) -> Result<()> {
        self.checkpoint()?;
        merge::merge_all(self)?;
        self.vacuum()
    }

    /// Drops all dead bytes of the file. Does nothing if there are none.
    pub fn vacuum(&self) -> Result<()> {
        self.check_process()?;
        vacuum::vacuum(self)
    }

    /// Closes the database: checkpoints everything, marks the state as clean, removes the log, and releases the lock
    /// (STEP-8). One file is left. After a failure the log stays, and the next open recovers from it.
    pub fn close(&self) -> Result<()> {
        self.close_then(|file| {
            let context = &self.context;
            let own = file.identity();
            let own = own.map_err(|error| Error::io("look at", &context.path, error))?;
            remove_leftovers(&context.layer, &context.path, context.database, &own)
        })
    }

    /// Closes a new file that has only its temporary name. Such a file has no companions to remove.
    pub fn close_new(&self) -> Result<()> {
        self.close_then(|_| Ok(()))
    }

    fn close_then(&self, sweep: impl FnOnce(&dyn File) -> Result<()>) -> Result<()> {
        self.check_process()?;
        let closed = self.close_file(sweep);
        self.commits.close(&mut self.commits.turn());
        // Wait for a merge that is already writing, before other writers get the lock.
        self.files.wait_for_append();
        self.log.close();
        self.files.unlock();
        closed
    }

    fn close_file(&self, sweep: impl FnOnce(&dyn File) -> Result<()>) -> Result<()> {
        {
            let mut turn = self.commits.turn();
            if turn.closed {
                return Ok(());
            }
            self.context.health.check()?;
            checkpoint_all(self, &mut turn)?;
            self.commits.close(&mut turn);
        }
        let mut appended = self.files.append();
        self.context.check_own(&*appended.file)?;
        if !appended.superblock.clean {
            let next = Superblock {
                generation: appended.superblock.generation + 1,
                log_number: 0,
                clean: true,
                ..appended.superblock.clone()
            };
            self.files.advance(&mut appended, next)?;
        }
        self.log.remove()?;
        sweep(&*appended.file)
    }
}

/// For tests that need several batches in one group.
#[cfg(test)]
impl Writer {
    /// Blocks all commits until the result is dropped.
    pub(crate) fn hold_up(&self) -> impl Sized {
        self.commits.turn()
    }

    /// How many batches are waiting.
    pub(crate) fn waiting(&self) -> usize {
        self.commits.len()
    }
}

/// Removes the leftovers of failed or interrupted steps beside a database. No state refers to them. Files that do not
/// belong to this database are not touched: opening refuses them, but they may have appeared since.
pub fn remove_leftovers(
    layer: &Arc<dyn FileLayer>,
    path: &Path,
    database: DatabaseId,
    own: &Identity,
) -> Result<()> {
    remove_leftover(&**layer, &Companion::Vacuum.path(path), Some(database), None)?;
    remove_leftover(&**layer, &Companion::New.path(path), None, Some(own))?;
    let directory = Companion::Log.path(path);
    for remove in [log::remove_unfinished, log::remove_replay] {
        match remove(layer, &directory, database) {
            Err(Error::NotOurs { .. }) => {}
            removed => removed?,
        }
    }
    Ok(())
}

/// Makes a pool of `threads` threads; `None` for 0, which means rayon's global pool.
fn pool(threads: usize) -> Result<Option<Arc<ThreadPool>>> {
    if threads == 0 {
        return Ok(None);
    }
    let pool = ThreadPoolBuilder::new().num_threads(threads).build();
    let refused = |error| Error::invalid(format!("option threads = {threads}"), format!("{error}"));
    Ok(Some(Arc::new(pool.map_err(refused)?)))
}

/// Runs work in a pool, or in rayon's global pool.
pub(super) fn spread<R: Send>(pool: Option<&ThreadPool>, work: impl FnOnce() -> R + Send) -> R {
    match pool {
        Some(pool) => pool.install(work),
        None => work(),
    }
}

/// Opens all segments of a manifest.
pub fn views(
    entries: &[SegmentEntry],
    source: &PageSource,
    scheme: &Arc<Scheme>,
) -> Result<Vec<SegmentView>> {
    entries.iter().map(|entry| view(entry, source, scheme)).collect()
}

/// Opens one segment with its tombstones.
pub fn view(
    entry: &SegmentEntry,
    source: &PageSource,
    scheme: &Arc<Scheme>,
) -> Result<SegmentView> {
    Ok(SegmentView {
        segment: Arc::new(Segment::open(source.clone(), entry, scheme)?),
        tombstones: Tombstones::new(entry.rows, entry.tombstones, source),
        live_rows: entry.live_rows,
    })
}
