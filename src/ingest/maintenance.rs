//! Work that nobody waits for: checkpoints of full memtables, and merges.
//!
//! With `Options::background` a thread does it; otherwise the call that makes it necessary.

use std::sync::Arc;

use super::writer::{Writer, lock};
use crate::error::{Error, Result};
use crate::sync::PoisonError;
use crate::sync::thread::{Builder, JoinHandle};

/// What waits to be done.
#[derive(Debug, Default)]
pub(super) struct Backlog {
    /// Whether a thread makes checkpoints.
    checkpoints: bool,
    /// Whether a thread makes merges.
    merges: bool,
    /// A frozen memtable waits for its checkpoint, which is not being tried.
    pub checkpoint: bool,
    /// Segments may want merging.
    pub merge: bool,
    /// The threads should end.
    pub stop: bool,
    /// Why the last checkpoint failed; a commit that needs it gets this.
    pub failure: Option<Error>,
    /// Why merging stopped; it is not tried again before the next open.
    pub merge_failure: Option<Error>,
}

impl Backlog {
    fn has_thread(&mut self, job: Job) -> &mut bool {
        match job {
            Job::Checkpoints => &mut self.checkpoints,
            Job::Merges => &mut self.merges,
        }
    }
}

/// The threads of a writer: one for checkpoints, which commits may have to wait for, and one for merges,
/// which may take long.
#[derive(Debug)]
pub struct Maintenance {
    writer: Arc<Writer>,
    threads: Vec<JoinHandle<()>>,
}

/// What a thread does.
#[derive(Debug, Clone, Copy)]
enum Job {
    Checkpoints,
    Merges,
}

impl Maintenance {
    /// Starts the threads, if the options want them and the system gives them.
    pub fn start(writer: &Arc<Writer>) -> Maintenance {
        let mut maintenance = Maintenance { writer: Arc::clone(writer), threads: Vec::new() };
        if writer.options().background {
            let jobs: [(Job, &str); 2] =
                [(Job::Checkpoints, "ringer-checkpoint"), (Job::Merges, "ringer-merge")];
            for (job, name) in jobs {
                *lock(&writer.backlog).has_thread(job) = true;
                let present = Present(Arc::clone(writer), job);
                let named = Builder::new().name(name.into());
                maintenance.threads.extend(named.spawn(move || present.work()));
            }
        }
        maintenance
    }

    /// Ends the threads. A checkpoint is finished first, a merge is given up.
    pub fn stop(&mut self) {
        if self.writer.check_process().is_err() {
            // They are threads of the process that this one was forked from.
            self.threads.drain(..).for_each(std::mem::forget);
            return;
        }
        lock(&self.writer.backlog).stop = true;
        self.writer.wake.notify_all();
        for thread in self.threads.drain(..) {
            // A panic in it was a defect; what it was doing is not published.
            let _ = thread.join();
        }
    }
}

impl Drop for Maintenance {
    fn drop(&mut self) {
        self.stop();
    }
}

/// A thread is there as long as this is. Whoever waits for it then does its work: a bulk load may outlive
/// the database.
struct Present(Arc<Writer>, Job);

impl Present {
    fn work(self) {
        match self.1 {
            Job::Checkpoints => self.0.make_checkpoints(),
            Job::Merges => self.0.make_merges(),
        }
    }
}

impl Drop for Present {
    fn drop(&mut self) {
        *lock(&self.0.backlog).has_thread(self.1) = false;
        self.0.wake.notify_all();
    }
}

impl Writer {
    /// Waits until there is something to do, and takes it; `false`: stop.
    fn wait_for(&self, take: impl Fn(&mut Backlog) -> bool) -> bool {
        let mut backlog = lock(&self.backlog);
        loop {
            if backlog.stop {
                return false;
            }
            if take(&mut backlog) {
                return true;
            }
            backlog = self.wake.wait(backlog).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn make_checkpoints(&self) {
        while self.wait_for(|backlog| std::mem::take(&mut backlog.checkpoint)) {
            let result = self.checkpoint_frozen();
            let mut backlog = lock(&self.backlog);
            backlog.failure = result.err();
            backlog.merge = true;
            drop(backlog);
            self.wake.notify_all();
        }
    }

    fn make_merges(&self) {
        while self.wait_for(|backlog| std::mem::take(&mut backlog.merge)) {
            self.merge_as_needed();
        }
    }

    /// Merges until the policy is content, and rewrites the file if too much of it is dead.
    pub(super) fn merge_as_needed(&self) {
        while self.options().merge && !self.should_stop() {
            match self.merge_once() {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => {
                    lock(&self.backlog).merge_failure = Some(error);
                    return;
                }
            }
        }
        if self.options().merge
            && !self.should_stop()
            && self.wants_vacuum()
            && let Err(error) = self.vacuum()
        {
            lock(&self.backlog).merge_failure = Some(error);
        }
    }

    /// Whether a merge should be given up: the database is being closed, or merging has failed before.
    pub(super) fn should_stop(&self) -> bool {
        let backlog = lock(&self.backlog);
        backlog.stop || backlog.merge_failure.is_some()
    }

    /// Why merging stopped, if it did.
    pub fn merge_failure(&self) -> Option<Error> {
        lock(&self.backlog).merge_failure.clone()
    }

    /// Says that a memtable was frozen. Without a thread the checkpoint is made here and now.
    pub(super) fn ask_for_checkpoint(&self) -> Result<()> {
        {
            let mut backlog = lock(&self.backlog);
            if backlog.checkpoints {
                backlog.checkpoint = true;
                self.wake.notify_all();
                return Ok(());
            }
        }
        self.checkpoint_frozen()?;
        self.merge_as_needed();
        Ok(())
    }

    /// Says that segments were added. Without a thread they are merged here and now.
    pub(super) fn ask_for_merge(&self) {
        let mut backlog = lock(&self.backlog);
        if backlog.merges {
            backlog.merge = true;
            self.wake.notify_all();
            return;
        }
        drop(backlog);
        self.merge_as_needed();
    }

    /// Waits until no memtable is frozen. A checkpoint that failed before is tried once more.
    pub(super) fn wait_for_checkpoint(&self) -> Result<()> {
        // A failure of before says nothing about now: there may be space again.
        let mut backlog = lock(&self.backlog);
        if backlog.failure.take().is_some() {
            backlog.checkpoint = true;
            self.wake.notify_all();
        }
        drop(backlog);
        loop {
            if self.state().frozen.is_none() {
                return Ok(());
            }
            let backlog = lock(&self.backlog);
            if !backlog.checkpoints {
                drop(backlog);
                return self.checkpoint_frozen();
            }
            if let Some(error) = &backlog.failure {
                return Err(error.clone());
            }
            if self.state().frozen.is_some() {
                let waited = self.wake.wait(backlog);
                drop(waited.unwrap_or_else(PoisonError::into_inner));
            }
        }
    }
}
