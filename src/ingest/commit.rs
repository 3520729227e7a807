//! Commits: durable when they return, and several at once with one sync.
//!
//! A caller leaves its batch in a queue and waits for its turn. Whoever has the turn commits everything
//! that waits, so the others find their batches done (STEP-5).

use std::collections::HashMap;
use std::sync::Arc;

use super::batch::{Batch, Operation};
use super::writer::{Commits, Writer, lock};
use crate::error::{Error, Result};
use crate::format::batch as codec;
use crate::format::commit_mark::CommitMark;
use crate::format::superblock::Superblock;
use crate::store::hot_tier::{self, Commit, HotTier, TierId};
use crate::store::memtable::Memtable;
use crate::store::state_file;
use crate::sync::{Mutex, MutexGuard};

/// What a commit did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Committed {
    /// Its number. Commits are numbered from 1.
    pub sequence: u64,
    /// Keys that have a new signature.
    pub stored: usize,
    /// Keys that were deleted.
    pub deleted: usize,
    /// Keys that were to be deleted and were not there.
    pub absent: usize,
}

/// A batch in the queue, and what became of it.
#[derive(Debug)]
pub(super) struct Waiting {
    operations: Mutex<Option<Vec<Operation>>>,
    outcome: Mutex<Option<Result<Committed>>>,
}

/// The batches that one caller commits for all. If that caller panics, the others must not wait for an outcome
/// that nobody will give, nor panic themselves: they are told that it is not known.
struct Group<'a> {
    writer: &'a Writer,
    waiting: Vec<Arc<Waiting>>,
}

impl Drop for Group<'_> {
    fn drop(&mut self) {
        for waiting in &self.waiting {
            let mut outcome = lock(&waiting.outcome);
            // A caller that has its outcome already took it, with its operations gone.
            if outcome.is_none() && std::thread::panicking() {
                *outcome = Some(Err(self.writer.poison(unknown())));
            }
        }
    }
}

/// A commit ended in a panic: it may be durable or not.
fn unknown() -> Error {
    Error::Poisoned { reason: "a commit ended in a panic: it may be there or not".into() }
}

impl Writer {
    /// Commits a batch. An empty one changes nothing and has the number of the last commit.
    pub fn commit(&self, batch: Batch) -> Result<Committed> {
        self.check_process()?;
        let operations = batch.into_operations();
        let waiting = Arc::new(Waiting {
            operations: Mutex::new(Some(operations)),
            outcome: Mutex::new(None),
        });
        lock(&self.queue).push(Arc::clone(&waiting));
        let mut commits = lock(&self.commits);
        if let Some(outcome) = lock(&waiting.outcome).take() {
            return outcome;
        }
        let group = Group { writer: self, waiting: std::mem::take(&mut *lock(&self.queue)) };
        self.commit_group(&mut commits, &group.waiting);
        drop(group);
        let outcome = lock(&waiting.outcome).take();
        outcome.unwrap_or_else(|| Err(self.poison(unknown())))
    }

    /// Commits all batches of a group.
    fn commit_group(&self, commits: &mut MutexGuard<'_, Commits>, group: &[Arc<Waiting>]) {
        let mut prepared = Vec::with_capacity(group.len());
        let ready = self.make_room();
        // What earlier batches of the group do to a key; one batch alone needs no such memory.
        let mut overlay = (group.len() > 1).then(HashMap::new);
        for waiting in group {
            let operations = lock(&waiting.operations).take().unwrap_or_default();
            let sequence = commits.last + 1 + prepared.len() as u64;
            let counted =
                ready.clone().and_then(|()| self.count(sequence, &operations, &mut overlay));
            match counted {
                Ok(committed) if operations.is_empty() => {
                    let sequence = committed.sequence - 1;
                    *lock(&waiting.outcome) = Some(Ok(Committed { sequence, ..committed }));
                }
                Ok(committed) => prepared.push((waiting, operations, committed)),
                Err(error) => *lock(&waiting.outcome) = Some(Err(error)),
            }
        }
        drop(overlay);
        if prepared.is_empty() {
            return;
        }
        let appended = self.append_to_hot(&prepared);
        if appended.is_ok() {
            commits.last += prepared.len() as u64;
            self.write_mark(commits.last);
        }
        let active = Arc::clone(&self.state().active);
        for (waiting, operations, committed) in prepared {
            if appended.is_ok() {
                let rows = operations.iter().map(|(key, s)| (&**key, s.as_ref()));
                active.apply(committed.sequence, rows);
            }
            *lock(&waiting.outcome) = Some(appended.clone().map(|_| committed));
        }
        if appended.is_ok() {
            let sequence = commits.last;
            self.publish(|state| state.sequence = sequence);
        }
    }

    /// C1: what the commit will do, given the state and the batches before it in the group.
    fn count(
        &self,
        sequence: u64,
        operations: &[Operation],
        overlay: &mut Option<HashMap<Box<[u8]>, bool>>,
    ) -> Result<Committed> {
        let state = self.state();
        let mut committed = Committed { sequence, stored: 0, deleted: 0, absent: 0 };
        for (key, signature) in operations {
            let earlier = overlay.as_ref().and_then(|overlay| overlay.get(key));
            let there = match (signature, earlier) {
                (Some(_), _) => true,
                (None, Some(there)) => *there,
                (None, None) => state.contains(key)?,
            };
            match signature {
                Some(_) => committed.stored += 1,
                None if there => committed.deleted += 1,
                None => committed.absent += 1,
            }
        }
        if let Some(overlay) = overlay {
            let after = |(key, s): &Operation| (key.clone(), s.is_some());
            overlay.extend(operations.iter().map(after));
        }
        Ok(committed)
    }

    /// Waits until the memtable has room.
    fn make_room(&self) -> Result<()> {
        self.check_poison()?;
        self.check_own(&**lock(&self.mark))?;
        let active = &self.state().active;
        let versions = active.versions();
        let full =
            versions >= self.options.memtable_rows || active.bytes() >= self.options.memtable_bytes;
        // An empty one takes bytes, too, but has no last commit that a checkpoint could seal.
        if full && versions > 0 { self.freeze() } else { Ok(()) }
    }

    /// Starts a new memtable and gives the old one to a checkpoint, once the one before is done.
    pub(super) fn freeze(&self) -> Result<()> {
        self.wait_for_checkpoint()?;
        self.publish(|state| {
            let fresh = Arc::new(Memtable::new(&self.scheme));
            state.frozen = Some(std::mem::replace(&mut state.active, fresh));
        });
        self.ask_for_checkpoint()
    }

    /// C2 and C3: one append for the whole group.
    fn append_to_hot(&self, prepared: &[(&Arc<Waiting>, Vec<Operation>, Committed)]) -> Result<()> {
        let hot = self.hot_tier()?;
        let payloads: Vec<Vec<u8>> = prepared
            .iter()
            .map(|(_, operations, _)| {
                codec::encode(operations.iter().map(|(key, s)| (&**key, s.as_ref())))
            })
            .collect();
        let commits: Vec<Commit<'_>> = prepared
            .iter()
            .zip(&payloads)
            .map(|((_, _, committed), payload)| Commit { sequence: committed.sequence, payload })
            .collect();
        hot.append(&commits).map_err(|error| {
            let undone = matches!(error, Error::NoSpace { .. }) && !hot.is_broken();
            if undone { error } else { self.poison(error) }
        })
    }

    /// C4. The commit is durable already: a mark that cannot be written ends later commits, not this one.
    fn write_mark(&self, sequence: u64) {
        let file = lock(&self.mark);
        let hot_tier = lock(&self.hot).as_ref().map_or(0, |(_, number)| *number);
        let mark = CommitMark { sequence, hot_tier };
        if let Err(error) = state_file::write_mark(&**file, &self.path, self.seal, mark) {
            self.poison(error);
        }
    }

    /// The hot tier, made at the first commit (STEP-4).
    fn hot_tier(&self) -> Result<Arc<dyn HotTier>> {
        if let Some((hot, _)) = &*lock(&self.hot) {
            return Ok(Arc::clone(hot));
        }
        let mut side = lock(&self.file);
        let number = side.superblock.hot_tiers_made + 1;
        let id = TierId { database: self.database, tier: number };
        let (directory, kind) = (self.hot_directory(), self.options.hot_tier);
        let hot = hot_tier::create(&self.layer, self.rights()?, &directory, id, kind);
        let hot = hot.map_err(|e| if e.is_failed_sync() { self.poison(e) } else { e })?;
        let hot: Arc<dyn HotTier> = Arc::from(hot);
        let next = Superblock {
            generation: side.superblock.generation + 1,
            hot_tier: number,
            hot_tiers_made: number,
            clean: false,
            ..side.superblock.clone()
        };
        state_file::write_superblock(&*side.file, &self.path, &next)
            .map_err(|error| self.poison(error))?;
        side.superblock = next;
        *lock(&self.hot) = Some((Arc::clone(&hot), number));
        Ok(hot)
    }
}

/// For tests that make a group.
#[cfg(test)]
impl Writer {
    /// Holds up all commits until it is dropped.
    pub(crate) fn hold_up(&self) -> impl Sized {
        lock(&self.commits)
    }

    /// How many batches wait.
    pub(crate) fn waiting(&self) -> usize {
        lock(&self.queue).len()
    }
}
