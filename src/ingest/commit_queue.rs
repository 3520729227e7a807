//! The queue of group commit (STEP-5).
//!
//! In: batches of many threads. Out: the outcome of each. A caller queues its batch and waits for the turn. The
//! thread that has the turn commits all queued batches. The others then find their outcomes. This part does not know
//! how a commit is made.

use std::sync::Arc;

use super::commit::Committed;
use super::context::Context;
use crate::error::{Error, Result};
use crate::format::batch::Operation;
use crate::sync::lock_order::{QUEUE, TURN, WAITING};
use crate::sync::{Ranked, RankedGuard};

/// Waiting batches, and the turn to commit them.
#[derive(Debug)]
pub(super) struct CommitQueue {
    context: Arc<Context>,
    queue: Ranked<QUEUE, Vec<Arc<Waiting>>>,
    turn: Ranked<TURN, Commits>,
}

/// The turn to commit. Nobody else commits while it is held.
pub(super) type Turn<'a> = RankedGuard<'a, TURN, Commits>;

/// What the holder of the turn may change.
#[derive(Debug)]
pub(super) struct Commits {
    /// The sequence of the last commit.
    pub(super) last: u64,
    /// Whether the database was closed.
    pub(super) closed: bool,
}

/// A batch in the queue, and later its outcome.
#[derive(Debug)]
pub(super) struct Waiting(Ranked<WAITING, Entry>);

#[derive(Debug)]
struct Entry {
    operations: Vec<Operation>,
    outcome: Option<Result<Committed>>,
}

impl CommitQueue {
    /// Makes an empty queue. The last commit so far had the sequence `last`.
    pub(super) fn new(context: Arc<Context>, last: u64) -> CommitQueue {
        let turn = Ranked::new(Commits { last, closed: false });
        CommitQueue { context, queue: Ranked::default(), turn }
    }

    /// Waits for the turn to commit.
    pub(super) fn turn(&self) -> Turn<'_> {
        self.turn.lock()
    }

    /// Queues operations and waits for the turn. If another thread has committed them meanwhile, returns the outcome.
    /// Otherwise calls `commit` with all waiting batches, including this one; it must settle each of them.
    pub(super) fn commit(
        &self,
        operations: Vec<Operation>,
        commit: impl FnOnce(&mut Turn<'_>, &[Arc<Waiting>]),
    ) -> Result<Committed> {
        let waiting = Arc::new(Waiting(Ranked::new(Entry { operations, outcome: None })));
        self.queue.lock().push(Arc::clone(&waiting));
        let mut turn = self.turn();
        if let Some(outcome) = waiting.take_outcome() {
            return outcome;
        }
        let group =
            Group { context: &self.context, waiting: std::mem::take(&mut *self.queue.lock()) };
        commit(&mut turn, &group.waiting);
        drop(group);
        waiting.take_outcome().unwrap_or_else(|| Err(self.context.health.poison(unknown())))
    }

    /// Poisons the writer because the database is closed. Merges and bulk loads may still hold it.
    pub(super) fn close(&self, turn: &mut Turn<'_>) {
        turn.closed = true;
        self.context.health.poison(Error::Closed { path: self.context.path.to_path_buf() });
    }

    /// How many batches are waiting.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.queue.lock().len()
    }
}

impl Waiting {
    /// Takes the operations out.
    pub(super) fn take_operations(&self) -> Vec<Operation> {
        std::mem::take(&mut self.0.lock().operations)
    }

    /// Stores the outcome.
    pub(super) fn settle(&self, outcome: Result<Committed>) {
        self.0.lock().outcome = Some(outcome);
    }

    fn take_outcome(&self) -> Option<Result<Committed>> {
        self.0.lock().outcome.take()
    }
}

/// The batches that one thread commits for all. If that thread panics, `drop` gives the others an error that says
/// that the outcome is unknown. So they neither wait for ever nor panic.
struct Group<'a> {
    context: &'a Context,
    waiting: Vec<Arc<Waiting>>,
}

impl Drop for Group<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            for waiting in &self.waiting {
                let mut entry = waiting.0.lock();
                if entry.outcome.is_none() {
                    entry.outcome = Some(Err(self.context.health.poison(unknown())));
                }
            }
        }
    }
}

/// The error after a panic during a commit, which may be durable or not.
fn unknown() -> Error {
    Error::Poisoned { reason: "a commit ended in a panic: it may be there or not".into() }
}
