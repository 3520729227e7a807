//! The database file of a writer: its end, its superblock, its commit mark, and the lock against other writers.
//!
//! In: new superblocks and commit marks. Out: the current superblock, and numbers for new extents. This part writes
//! no segments: `append` does.

use std::sync::Arc;

use super::context::Context;
use crate::error::{Error, Result};
use crate::format::commit_mark::CommitMark;
use crate::format::superblock::Superblock;
use crate::store::file_layer::{File, Lock, Rights};
use crate::store::segment::writer::SegmentPlan;
use crate::store::state_file;
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::lock_order::{APPEND, MARK, WRITER_LOCK};
use crate::sync::{Ranked, RankedGuard};

/// The file that a writer appends to.
#[derive(Debug)]
pub(super) struct FileSide {
    context: Arc<Context>,
    append: Ranked<APPEND, Appended>,
    mark: Ranked<MARK, Arc<dyn File>>,
    lock: Ranked<WRITER_LOCK, Option<Box<dyn Lock>>>,
    next_extent: AtomicU64,
}

/// The append lock, held.
pub(super) type AppendGuard<'a> = RankedGuard<'a, APPEND, Appended>;

/// The lock of the commit mark, held.
pub(super) type MarkGuard<'a> = RankedGuard<'a, MARK, Arc<dyn File>>;

/// The current state of the file.
#[derive(Debug)]
pub(super) struct Appended {
    pub(super) file: Arc<dyn File>,
    /// The superblock of the current state.
    pub(super) superblock: Superblock,
    /// The checkpointed sequence: the last commit that is in segments.
    pub(super) checkpointed: u64,
}

impl FileSide {
    /// Starts with a file that is open, locked and recovered.
    pub(super) fn new(
        context: Arc<Context>,
        appended: Appended,
        lock: Box<dyn Lock>,
        next_extent: u64,
    ) -> FileSide {
        FileSide {
            context,
            mark: Ranked::new(Arc::clone(&appended.file)),
            append: Ranked::new(appended),
            lock: Ranked::new(Some(lock)),
            next_extent: AtomicU64::new(next_extent),
        }
    }

    /// Takes the append lock.
    pub(super) fn append(&self) -> AppendGuard<'_> {
        self.append.lock()
    }

    /// Takes the append lock for writing. Fails if the writer is poisoned or closed.
    pub(super) fn append_checked(&self) -> Result<AppendGuard<'_>> {
        let appended = self.append.lock();
        self.context.health.check()?;
        Ok(appended)
    }

    /// Takes the lock of the commit mark.
    pub(super) fn mark(&self) -> MarkGuard<'_> {
        self.mark.lock()
    }

    /// The superblock of the current state.
    pub(super) fn superblock(&self) -> Superblock {
        self.append.lock().superblock.clone()
    }

    /// Makes `next` the current superblock, on disk and in memory. A failure poisons the writer.
    pub(super) fn advance(&self, appended: &mut Appended, next: Superblock) -> Result<()> {
        let written = state_file::write_superblock(&*appended.file, &self.context.path, &next);
        written.map_err(|error| self.context.health.poison(error))?;
        appended.superblock = next;
        Ok(())
    }

    /// Writes a commit mark (C4). The commit is already durable in the log. So a failure poisons the writer for later
    /// commits, but this one succeeds.
    pub(super) fn write_mark(&self, mark: CommitMark) {
        let (file, context) = (self.mark.lock(), &self.context);
        if let Err(error) = state_file::write_mark(&**file, &context.path, context.seal, mark) {
            context.health.poison(error);
        }
    }

    /// Poisons the writer if the database's name no longer leads to this file (STEP-12).
    pub(super) fn check_own(&self) -> Result<()> {
        self.context.check_own(&**self.mark.lock())
    }

    /// Who may use the database file.
    pub(super) fn rights(&self) -> Result<Option<Rights>> {
        let rights = self.mark.lock().rights();
        rights.map_err(|error| Error::io("look at", &self.context.path, error))
    }

    /// Returns a number for a new segment or tombstone bitmap.
    pub(super) fn new_extent(&self) -> u64 {
        self.next_extent.fetch_add(1, Ordering::Relaxed)
    }

    /// The next number. All numbers given so far are lower.
    pub(super) fn next_extent(&self) -> u64 {
        self.next_extent.load(Ordering::Relaxed)
    }

    /// The identity of a new segment: database, scheme, number, and where its build may spill.
    pub(super) fn plan(&self) -> SegmentPlan {
        SegmentPlan {
            database: self.context.database,
            scheme: Arc::clone(&self.context.scheme),
            extent: self.new_extent(),
            spill: self.context.spill_place(),
        }
    }

    /// Waits until nobody holds the append lock.
    pub(super) fn wait_for_append(&self) {
        drop(self.append.lock());
    }

    /// Releases the lock against other writers.
    pub(super) fn unlock(&self) {
        *self.lock.lock() = None;
    }
}
