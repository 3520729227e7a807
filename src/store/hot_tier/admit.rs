//! Which appends a tier takes.
//!
//! In: the commits of an append, and what became of it. Out: leave to write them, or why not. It touches no
//! file. A tier that broke takes nothing more: there may be parts on disk that nobody acknowledged, and a
//! commit written behind them would be lost or joined to the wrong ones.

use super::Commit;
use crate::error::{Error, Result};
use crate::format::hot_part::OPENING;

/// What a tier knows of its appends.
#[derive(Debug, Default)]
pub(super) struct Admit {
    /// The last commit that it took or that is sealed.
    last: Option<u64>,
    /// Why it takes no more.
    broken: Option<String>,
}

impl Admit {
    /// Checks that these commits are the next ones (HOT-8), of a tier that has not failed.
    pub(super) fn check(&self, commits: &[Commit<'_>]) -> Result<()> {
        if let Some(reason) = &self.broken {
            return Err(Error::Poisoned { reason: reason.clone() });
        }
        let mut last = self.last;
        for &Commit { sequence, .. } in commits {
            let next = last.map(|last| last.checked_add(1));
            if sequence == OPENING || next.is_some_and(|next| next != Some(sequence)) {
                let limit = match last {
                    Some(last) => format!("the hot tier takes the one after {last}"),
                    None => "commits count from 1".to_string(),
                };
                return Err(Error::invalid(format!("commit {sequence}"), limit));
            }
            last = Some(sequence);
        }
        Ok(())
    }

    /// The commits are durable.
    pub(super) fn took(&mut self, commits: &[Commit<'_>]) {
        self.last = commits.last().map(|commit| commit.sequence).or(self.last);
    }

    /// All up to `sealed` is in the database file; commits that never were here among them.
    pub(super) fn sealed(&mut self, sealed: u64) {
        self.last = self.last.max(Some(sealed));
    }

    /// Whether it takes no more.
    pub(super) fn is_broken(&self) -> bool {
        self.broken.is_some()
    }

    /// Something failed that leaves it open what is on disk.
    pub(super) fn broke(&mut self, error: &Error) {
        self.broken.get_or_insert_with(|| error.to_string());
    }
}
