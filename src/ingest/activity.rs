//! Counters of what a writer has done since it was opened.
//!
//! In: commits, waits and merges as they happen. Out: an [`Activity`]. No decision depends on these numbers.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// What a writer has done since it was opened, in numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Activity {
    /// Commits that changed something, bulk loads included.
    pub commits: u64,
    /// How often a call waited for a checkpoint in a background thread.
    pub checkpoint_waits: u64,
    /// The longest of these waits.
    pub longest_checkpoint_wait: Duration,
    /// Merges of segments.
    pub merges: u64,
}

/// The counters behind an [`Activity`]. Relaxed order is enough, because nothing depends on them.
#[derive(Debug, Default)]
pub(super) struct Counters {
    commits: AtomicU64,
    waits: AtomicU64,
    longest_wait_nanos: AtomicU64,
    merges: AtomicU64,
}

impl Counters {
    pub(super) fn committed(&self, commits: usize) {
        self.commits.fetch_add(commits as u64, Ordering::Relaxed);
    }

    pub(super) fn merged(&self) {
        self.merges.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn waited(&self, time: Duration) {
        self.waits.fetch_add(1, Ordering::Relaxed);
        let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.longest_wait_nanos.fetch_max(nanos, Ordering::Relaxed);
    }

    /// Reads all counters.
    pub(super) fn read(&self) -> Activity {
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Activity {
            commits: load(&self.commits),
            checkpoint_waits: load(&self.waits),
            longest_checkpoint_wait: Duration::from_nanos(load(&self.longest_wait_nanos)),
            merges: load(&self.merges),
        }
    }
}
