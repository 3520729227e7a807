//! Decides which appends a log accepts.
//!
//! In: the commits of an append, and how the append ended. Out: permission to write them, or an error. It touches
//! no file.
//!
//! After a failure, a log accepts nothing more. The disk may hold parts that nobody acknowledged, and a commit
//! written after them could be lost or joined to the wrong parts.

use super::Commit;
use crate::error::{Error, Result};
use crate::format::log_part::OPENING;

/// What a log knows about its appends.
#[derive(Debug, Default)]
pub(super) struct Admit {
    /// The last commit that was appended or checkpointed.
    last: Option<u64>,
    /// Why it accepts nothing more.
    broken: Option<String>,
}

impl Admit {
    /// Checks that these commits are the next ones (LOG-8) and that the log has not failed.
    pub(super) fn check(&self, commits: &[Commit<'_>]) -> Result<()> {
        if let Some(reason) = &self.broken {
            return Err(Error::Poisoned { reason: reason.clone() });
        }
        let mut last = self.last;
        for &Commit { sequence, .. } in commits {
            let next = last.map(|last| last.checked_add(1));
            if sequence == OPENING || next.is_some_and(|next| next != Some(sequence)) {
                let limit = match last {
                    Some(last) => format!("the log takes the one after {last}"),
                    None => "commits count from 1".to_string(),
                };
                return Err(Error::invalid(format!("commit {sequence}"), limit));
            }
            last = Some(sequence);
        }
        Ok(())
    }

    /// Records that the commits are durable.
    pub(super) fn took(&mut self, commits: &[Commit<'_>]) {
        self.last = commits.last().map(|commit| commit.sequence).or(self.last);
    }

    /// Records that all commits up to `checkpointed` are checkpointed. Some of them may never have been in this log.
    pub(super) fn checkpointed(&mut self, checkpointed: u64) {
        self.last = self.last.max(Some(checkpointed));
    }

    /// Runs a step after which the contents of the disk are unknown if it fails or panics.
    pub(super) fn risk(&mut self, step: impl FnOnce() -> Result<()>) -> Result<()> {
        // Set in advance, because nothing after the step runs if it panics.
        self.broken = Some("a step of the write-ahead log ended in a panic".into());
        let done = step();
        self.broken = done.as_ref().err().map(ToString::to_string);
        done
    }

    /// Whether the log accepts nothing more.
    pub(super) fn is_broken(&self) -> bool {
        self.broken.is_some()
    }

    /// Records a failure after which the contents of the disk are unknown.
    pub(super) fn broke(&mut self, error: &Error) {
        self.broken.get_or_insert_with(|| error.to_string());
    }
}
