//! Background threads of a writer. With `Options::background` they run checkpoints, merges and vacuum. Without it,
//! the call that makes such work necessary runs it.
//!
//! In: requests for a checkpoint or a merge. Out: the work is done, or its failure is in the
//! [backlog](super::backlog).

use std::sync::Arc;

use super::backlog::{Checkpoint, Job};
use super::writer::Writer;
use super::{checkpoint, merge, vacuum};
use crate::error::Result;
use crate::sync::thread::{Builder, JoinHandle};

/// The threads of a writer. Checkpoints and merges have one each: commits may have to wait for a checkpoint, and must
/// not wait for a long merge as well.
#[derive(Debug)]
pub struct Background {
    writer: Arc<Writer>,
    threads: Vec<JoinHandle<()>>,
}

impl Background {
    /// Starts the threads, if the options ask for them. If the system refuses a thread, callers do its work.
    pub fn start(writer: &Arc<Writer>) -> Background {
        let mut background = Background { writer: Arc::clone(writer), threads: Vec::new() };
        if writer.options().background {
            let jobs = [(Job::Checkpoints, "ringer-checkpoint"), (Job::Merges, "ringer-merge")];
            for (job, name) in jobs {
                writer.backlog.thread_starts(job);
                let present = Present(Arc::clone(writer), job);
                let named = Builder::new().name(name.into());
                background.threads.extend(named.spawn(move || present.work()));
            }
        }
        background
    }

    /// Ends the threads. A checkpoint is finished first, a merge is given up.
    pub fn stop(&mut self) {
        if self.writer.check_process().is_err() {
            // The threads belong to the parent process, and cannot be joined here.
            self.threads.drain(..).for_each(std::mem::forget);
            return;
        }
        self.writer.backlog.stop();
        for thread in self.threads.drain(..) {
            // If the thread panicked, its unfinished work was not published.
            let _ = thread.join();
        }
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Registers a thread in the backlog while it exists. `drop` unregisters it, also after a panic.
struct Present(Arc<Writer>, Job);

impl Present {
    fn work(self) {
        let Present(writer, job) = &self;
        while writer.backlog.next(*job) {
            match job {
                Job::Checkpoints => {
                    writer.backlog.checkpoint_tried(checkpoint::checkpoint_frozen(writer));
                }
                Job::Merges => merge_as_needed(writer),
            }
        }
    }
}

impl Drop for Present {
    fn drop(&mut self) {
        self.0.backlog.thread_ends(self.1);
    }
}

/// Merges until the policy chooses nothing more, then vacuums the file if that is worthwhile.
fn merge_as_needed(writer: &Writer) {
    if !writer.options().merge {
        return;
    }
    let goes_on = || !writer.backlog.should_stop();
    while goes_on() {
        match merge::merge_once(writer) {
            Ok(true) => {}
            Ok(false) => break,
            Err(error) => return writer.backlog.merge_failed(error),
        }
    }
    if goes_on()
        && vacuum::is_worthwhile(writer)
        && let Err(error) = vacuum::vacuum(writer)
    {
        writer.backlog.merge_failed(error);
    }
}

/// Requests a checkpoint of the frozen memtable. Without a thread, the caller makes it now.
pub(super) fn request_checkpoint(writer: &Writer) -> Result<()> {
    if !writer.backlog.give(Job::Checkpoints) {
        checkpoint::checkpoint_frozen(writer)?;
        merge_as_needed(writer);
    }
    Ok(())
}

/// Requests a merge, because segments were added. Without a thread, the caller merges now.
pub(super) fn request_merge(writer: &Writer) {
    if !writer.backlog.give(Job::Merges) {
        merge_as_needed(writer);
    }
}

/// Waits until no memtable is frozen. A checkpoint that failed before is tried once more. Without a thread, the
/// caller makes it.
pub(super) fn wait_for_checkpoint(writer: &Writer) -> Result<()> {
    match writer.backlog.wait_for_checkpoint(|| writer.published.has_frozen())? {
        Checkpoint::Done(waited) => {
            if let Some(time) = waited {
                writer.context.counters.waited(time);
            }
            Ok(())
        }
        Checkpoint::Yours => checkpoint::checkpoint_frozen(writer),
    }
}
