//! The write-ahead log of a writer. The first commit creates it, and closing removes it.
//!
//! In: encoded commits. Out: they are durable. This part does not know what a commit contains.

use std::sync::Arc;

use super::context::Context;
use super::file_side::FileSide;
use crate::error::{Error, Result};
use crate::format::superblock::Superblock;
use crate::options::LogKind;
use crate::store::log::{self, Commit, Log, LogId};
use crate::sync::Ranked;
use crate::sync::lock_order::LOG;

/// The log, once there is one.
#[derive(Debug)]
pub(super) struct LogSide {
    context: Arc<Context>,
    kind: LogKind,
    log: Ranked<LOG, Option<Numbered>>,
}

/// A log and its number.
type Numbered = (Arc<dyn Log>, u64);

impl LogSide {
    /// Starts without a log. The first commit creates one of this kind.
    pub(super) fn new(context: Arc<Context>, kind: LogKind) -> LogSide {
        LogSide { context, kind, log: Ranked::new(None) }
    }

    fn log(&self) -> Option<Numbered> {
        self.log.lock().clone()
    }

    /// C2 and C3: makes commits durable with one append and sync. Returns the number of the log. A failure poisons
    /// the writer, unless the disk was full and the log could undo the append.
    pub(super) fn append(&self, files: &FileSide, commits: &[Commit<'_>]) -> Result<u64> {
        let (log, number) = match self.log() {
            Some(numbered) => numbered,
            None => self.create(files)?,
        };
        log.append(commits).map_err(|error| {
            let undone = matches!(error, Error::NoSpace { .. }) && !log.is_broken();
            if undone { error } else { self.context.health.poison(error) }
        })?;
        Ok(number)
    }

    /// Creates the log, then writes a superblock that names it (STEP-4).
    fn create(&self, files: &FileSide) -> Result<Numbered> {
        let mut appended = files.append();
        let number = appended.superblock.logs_made + 1;
        let id = LogId { database: self.context.database, number };
        let (layer, directory) = (&self.context.layer, self.context.log_directory());
        let made = log::create(layer, files.rights()?, &directory, id, self.kind);
        let poison = |error| self.context.health.poison(error);
        let made = made.map_err(|error| if error.is_failed_sync() { poison(error) } else { error });
        let made: Arc<dyn Log> = Arc::from(made?);
        let next = Superblock {
            generation: appended.superblock.generation + 1,
            log_number: number,
            logs_made: number,
            clean: false,
            ..appended.superblock.clone()
        };
        files.advance(&mut appended, next)?;
        *self.log.lock() = Some((Arc::clone(&made), number));
        Ok((made, number))
    }

    /// K7: drops checkpointed commits from the log. The log continues after `checkpointed`, which may be the sequence
    /// of a bulk load. An error is ignored, because replay skips checkpointed commits, so they only cost space. If the
    /// failure left the log in an unknown state, the log itself refuses further commits.
    pub(super) fn trim(&self, checkpointed: u64) {
        if let Some((log, _)) = self.log() {
            let _ = log.trim(checkpointed);
        }
    }

    /// The size of the log's files in bytes; 0 without a log.
    pub(super) fn disk_bytes(&self) -> Result<u64> {
        self.log().map_or(Ok(0), |(log, _)| log.disk_bytes())
    }

    /// Closes the log. Its files stay.
    pub(super) fn close(&self) {
        let log = self.log.lock().take();
        drop(log);
    }

    /// Closes the log and removes its files. The current superblock must not name it any more.
    pub(super) fn remove(&self) -> Result<()> {
        let log = self.log.lock().take();
        let Some((log, number)) = log else { return Ok(()) };
        drop(log);
        let id = LogId { database: self.context.database, number };
        log::remove(&self.context.layer, &self.context.log_directory(), id)
    }
}
