//! Work that nobody waits for: checkpoints of full memtables, and merges.
//!
//! With `Options::background` a thread does it; otherwise the call that makes it necessary.

use std::sync::{Arc, PoisonError};
use std::thread::JoinHandle;

use super::writer::{Writer, lock};
use crate::error::{Error, Result};

/// What waits to be done.
#[derive(Debug, Default)]
pub(super) struct Backlog {
    /// Whether a thread is there to do it.
    pub has_thread: bool,
    /// A frozen memtable waits for its checkpoint, which is not being tried.
    pub checkpoint: bool,
    /// Segments may want merging.
    pub merge: bool,
    /// The thread should end.
    pub stop: bool,
    /// Why the last checkpoint failed; a commit that needs it gets this.
    pub failure: Option<Error>,
    /// Why merging stopped; it is not tried again before the next open.
    pub merge_failure: Option<Error>,
}

/// The thread of a writer.
#[derive(Debug)]
pub struct Maintenance {
    writer: Arc<Writer>,
    thread: Option<JoinHandle<()>>,
}

impl Maintenance {
    /// Starts the thread, if the options want one and the system gives one.
    pub fn start(writer: &Arc<Writer>) -> Maintenance {
        let mut thread = None;
        if writer.options().background {
            lock(&writer.backlog).has_thread = true;
            let present = Present(Arc::clone(writer));
            let named = std::thread::Builder::new().name("ringer".into());
            thread = named.spawn(move || present.0.maintain()).ok();
        }
        Maintenance { writer: Arc::clone(writer), thread }
    }

    /// Ends the thread after what it is doing.
    pub fn stop(&mut self) {
        lock(&self.writer.backlog).stop = true;
        self.writer.wake.notify_all();
        if let Some(thread) = self.thread.take() {
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

/// The thread is there as long as this is. Whoever waits for it then does its work: a bulk load may outlive
/// the database.
struct Present(Arc<Writer>);

impl Drop for Present {
    fn drop(&mut self) {
        lock(&self.0.backlog).has_thread = false;
        self.0.wake.notify_all();
    }
}

impl Writer {
    /// The thread's loop.
    fn maintain(&self) {
        loop {
            let mut backlog = lock(&self.backlog);
            while !backlog.stop && !backlog.checkpoint && !backlog.merge {
                backlog = self.wake.wait(backlog).unwrap_or_else(PoisonError::into_inner);
            }
            if backlog.stop {
                return;
            }
            let checkpoint = std::mem::take(&mut backlog.checkpoint);
            if !checkpoint {
                backlog.merge = false;
            }
            drop(backlog);
            if checkpoint {
                let result = self.checkpoint_frozen();
                let mut backlog = lock(&self.backlog);
                backlog.failure = result.err();
                backlog.merge = true;
                drop(backlog);
                self.wake.notify_all();
            } else {
                self.merge_as_needed();
            }
        }
    }

    /// Merges until the policy is content.
    pub(super) fn merge_as_needed(&self) {
        while self.options().merge && !self.should_stop() {
            match self.merge_once() {
                Ok(true) => {}
                Ok(false) => return,
                Err(error) => {
                    lock(&self.backlog).merge_failure = Some(error);
                    return;
                }
            }
        }
    }

    fn should_stop(&self) -> bool {
        let backlog = lock(&self.backlog);
        backlog.stop || backlog.checkpoint || backlog.merge_failure.is_some()
    }

    /// Why merging stopped, if it did.
    pub fn merge_failure(&self) -> Option<Error> {
        lock(&self.backlog).merge_failure.clone()
    }

    /// Says that a memtable was frozen. Without a thread the checkpoint is made here and now.
    pub(super) fn ask_for_checkpoint(&self) -> Result<()> {
        {
            let mut backlog = lock(&self.backlog);
            if backlog.has_thread {
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
        if backlog.has_thread {
            backlog.merge = true;
            self.wake.notify_all();
            return;
        }
        drop(backlog);
        self.merge_as_needed();
    }

    /// Waits until no memtable is frozen. Fails as the checkpoint failed, and asks for another try.
    pub(super) fn wait_for_checkpoint(&self) -> Result<()> {
        loop {
            if self.state().frozen.is_none() {
                return Ok(());
            }
            let mut backlog = lock(&self.backlog);
            if !backlog.has_thread {
                drop(backlog);
                return self.checkpoint_frozen();
            }
            if let Some(error) = backlog.failure.take() {
                backlog.checkpoint = true;
                self.wake.notify_all();
                return Err(error);
            }
            if self.state().frozen.is_some() {
                let waited = self.wake.wait(backlog);
                drop(waited.unwrap_or_else(PoisonError::into_inner));
            }
        }
    }
}
