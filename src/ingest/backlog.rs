//! Pending background work: which checkpoints and merges are wanted, which threads exist, and why the last try
//! failed.
//!
//! In: requests and results. Out: the next job for a thread, or the outcome for a commit that waits for a checkpoint.
//! This part does not do the work: `background` does.

use std::time::{Duration, Instant};

use crate::error::{Error, Result};
use crate::sync::lock_order::BACKLOG;
use crate::sync::{Condvar, Ranked};

/// A kind of background work. Each has its own thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Job {
    /// Turns frozen memtables into segments.
    Checkpoints,
    /// Merges segments and vacuums the file.
    Merges,
}

/// The pending work, and a condition to wait on.
#[derive(Debug, Default)]
pub(super) struct Backlog {
    jobs: Ranked<BACKLOG, Jobs>,
    wake: Condvar,
}

#[derive(Debug, Default)]
struct Jobs {
    checkpoints: Threads,
    merges: Threads,
    /// Whether the threads should end.
    stop: bool,
    /// Why the last checkpoint failed. A commit that waits for it returns this error.
    checkpoint_failure: Option<Error>,
    /// Why merging stopped. It is not tried again before the next open.
    merge_failure: Option<Error>,
}

/// The state of one kind of work.
#[derive(Debug, Default)]
struct Threads {
    /// Whether a thread for it exists.
    present: bool,
    /// Whether work was requested that no thread has taken yet.
    wanted: bool,
}

/// The result of waiting for a checkpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Checkpoint {
    /// No memtable is frozen. Has the time that was waited, if any.
    Done(Option<Duration>),
    /// There is no thread. The caller must make the checkpoint.
    Yours,
}

impl Jobs {
    fn of(&mut self, job: Job) -> &mut Threads {
        match job {
            Job::Checkpoints => &mut self.checkpoints,
            Job::Merges => &mut self.merges,
        }
    }
}

impl Backlog {
    /// Registers a thread for this kind of work.
    pub(super) fn thread_starts(&self, job: Job) {
        self.jobs.lock().of(job).present = true;
    }

    /// Unregisters the thread. Whoever waits for it then does the work itself: a bulk load may outlive the threads.
    pub(super) fn thread_ends(&self, job: Job) {
        self.jobs.lock().of(job).present = false;
        self.wake.notify_all();
    }

    /// Requests work from its thread. `false` if there is no thread.
    pub(super) fn give(&self, job: Job) -> bool {
        let mut jobs = self.jobs.lock();
        let threads = jobs.of(job);
        threads.wanted |= threads.present;
        let given = threads.present;
        if given {
            self.wake.notify_all();
        }
        given
    }

    /// Waits for a request and takes it. `false` if the thread should end.
    pub(super) fn next(&self, job: Job) -> bool {
        let mut jobs = self.jobs.lock();
        while !jobs.stop {
            if std::mem::take(&mut jobs.of(job).wanted) {
                return true;
            }
            jobs = jobs.wait(&self.wake);
        }
        false
    }

    /// Records the result of a checkpoint, and requests a merge, because there may be a new segment.
    pub(super) fn checkpoint_tried(&self, result: Result<()>) {
        let mut jobs = self.jobs.lock();
        jobs.checkpoint_failure = result.err();
        jobs.merges.wanted = true;
        drop(jobs);
        self.wake.notify_all();
    }

    /// Waits until no memtable is frozen. A checkpoint that failed before is tried once more.
    pub(super) fn wait_for_checkpoint(&self, has_frozen: impl Fn() -> bool) -> Result<Checkpoint> {
        let mut jobs = self.jobs.lock();
        // The reason of an earlier failure may be gone: there may be space again.
        if jobs.checkpoint_failure.take().is_some() {
            jobs.checkpoints.wanted = true;
            self.wake.notify_all();
        }
        let mut start: Option<Instant> = None;
        while has_frozen() {
            if !jobs.checkpoints.present {
                return Ok(Checkpoint::Yours);
            }
            if let Some(error) = &jobs.checkpoint_failure {
                return Err(error.clone());
            }
            start.get_or_insert_with(Instant::now);
            jobs = jobs.wait(&self.wake);
        }
        Ok(Checkpoint::Done(start.map(|start| start.elapsed())))
    }

    /// Records that merging failed. It is not tried again.
    pub(super) fn merge_failed(&self, error: Error) {
        self.jobs.lock().merge_failure = Some(error);
    }

    /// Why merging stopped, if it did.
    pub(super) fn merge_failure(&self) -> Option<Error> {
        self.jobs.lock().merge_failure.clone()
    }

    /// Tells all threads to end.
    pub(super) fn stop(&self) {
        self.jobs.lock().stop = true;
        self.wake.notify_all();
    }

    /// Whether a merge should give up: the database is being closed, or a merge has failed.
    pub(super) fn should_stop(&self) -> bool {
        let jobs = self.jobs.lock();
        jobs.stop || jobs.merge_failure.is_some()
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    /// Says at the first call that a memtable is frozen, and later that none is.
    fn frozen_once() -> impl Fn() -> bool {
        let first = Cell::new(true);
        move || first.replace(false)
    }

    #[test]
    fn a_wait_for_a_thread_is_measured() {
        let (backlog, done) = (Backlog::default(), AtomicBool::new(false));
        backlog.thread_starts(Job::Checkpoints);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    backlog.checkpoint_tried(Ok(()));
                    std::thread::yield_now();
                }
            });
            let waited = backlog.wait_for_checkpoint(frozen_once());
            done.store(true, Ordering::Relaxed);
            assert!(matches!(waited, Ok(Checkpoint::Done(Some(_)))), "{waited:?}");
        });
        assert_eq!(backlog.wait_for_checkpoint(|| false), Ok(Checkpoint::Done(None)));
    }

    #[test]
    fn without_a_thread_whoever_needs_a_checkpoint_makes_it() {
        let backlog = Backlog::default();
        assert!(!backlog.give(Job::Checkpoints));
        assert_eq!(backlog.wait_for_checkpoint(|| true), Ok(Checkpoint::Yours));
        backlog.thread_starts(Job::Checkpoints);
        assert!(backlog.give(Job::Checkpoints) && backlog.next(Job::Checkpoints));
        backlog.thread_ends(Job::Checkpoints);
        assert_eq!(backlog.wait_for_checkpoint(frozen_once()), Ok(Checkpoint::Yours));
    }

    #[test]
    fn a_merge_that_failed_is_not_tried_again() {
        let backlog = Backlog::default();
        assert!(!backlog.should_stop());
        let failure = Error::Poisoned { reason: "test".into() };
        backlog.merge_failed(failure.clone());
        assert!(backlog.should_stop());
        assert_eq!(backlog.merge_failure(), Some(failure));
        backlog.stop();
        assert!(!backlog.next(Job::Merges));
    }
}
