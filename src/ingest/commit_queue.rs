//! The queue of commits. A caller leaves its batch here and waits for its turn. Whoever has the turn commits everything
//! that waits, so the others find their batches done (STEP-5).

use std::sync::Arc;

use super::commit::Committed;
use super::context::Context;
use super::lock_order::{QUEUE, TURN, WAITING};
use crate::error::{Error, Result};
use crate::format::batch::Operation;
use crate::sync::{Ranked, RankedGuard};

/// Batches that wait, and the turn to commit them.
#[derive(Debug)]
pub(super) struct CommitQueue {
    context: Arc<Context>,
    queue: Ranked<QUEUE, Vec<Arc<Waiting>>>,
    turn: Ranked<TURN, Commits>,
}

/// The turn to commit, held: nobody else commits meanwhile.
pub(super) type Turn<'a> = RankedGuard<'a, TURN, Commits>;

/// The commits so far.
#[derive(Debug)]
pub(super) struct Commits {
    /// The last sequence given to a commit.
    pub(super) last: u64,
    /// Whether the database was closed.
    pub(super) closed: bool,
}

/// A batch in the queue, and what became of it.
#[derive(Debug)]
pub(super) struct Waiting(Ranked<WAITING, Entry>);

#[derive(Debug)]
struct Entry {
    operations: Vec<Operation>,
    outcome: Option<Result<Committed>>,
}

impl CommitQueue {
    /// An empty queue after so many commits.
    pub(super) fn new(context: Arc<Context>, last: u64) -> CommitQueue {
        let turn = Ranked::new(Commits { last, closed: false });
        CommitQueue { context, queue: Ranked::default(), turn }
    }

    /// Waits for the turn to commit.
    pub(super) fn turn(&self) -> Turn<'_> {
        self.turn.lock()
    }

    /// Queues operations and waits for the turn. If somebody else has committed them meanwhile, this gives the outcome;
    /// otherwise `commit` gets all batches that wait, these among them, and settles each of them.
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

    /// Ends all writing because the database is closed: merges and loads may outlive it.
    pub(super) fn close(&self, turn: &mut Turn<'_>) {
        turn.closed = true;
        self.context.health.poison(Error::Closed { path: self.context.path.to_path_buf() });
    }

    /// How many batches wait.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.queue.lock().len()
    }
}

impl Waiting {
    /// Its operations, which are gone from here then.
    pub(super) fn take_operations(&self) -> Vec<Operation> {
        std::mem::take(&mut self.0.lock().operations)
    }

    /// Says what became of it.
    pub(super) fn settle(&self, outcome: Result<Committed>) {
        self.0.lock().outcome = Some(outcome);
    }

    fn take_outcome(&self) -> Option<Result<Committed>> {
        self.0.lock().outcome.take()
    }
}

/// The batches that one caller commits for all. If that caller panics, the others must neither wait for an outcome that
/// nobody will give nor panic themselves: they are told that it is not known.
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

/// A commit ended in a panic: it may be durable or not.
fn unknown() -> Error {
    Error::Poisoned { reason: "a commit ended in a panic: it may be there or not".into() }
}
