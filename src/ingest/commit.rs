//! Group commit: makes all waiting batches durable with one sync (STEP-5).
//!
//! In: the batches of a group, and the turn to commit. Out: each batch has its outcome; successful ones are in the
//! log and in the memtable, and readers see them. A commit is durable when it returns.

use std::collections::HashMap;
use std::sync::Arc;

use super::background::{request_checkpoint, wait_for_checkpoint};
use super::commit_queue::{Turn, Waiting};
use super::writer::Writer;
use crate::error::Result;
use crate::format::batch::{self, Operation};
use crate::format::commit_mark::CommitMark;
use crate::store::log::Commit;
use crate::trace::{event, span};

/// What a commit did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Committed {
    /// The number of the commit. Commits are numbered from 1.
    pub sequence: u64,
    /// Keys that have a new signature.
    pub stored: usize,
    /// Keys that were deleted.
    pub deleted: usize,
    /// Keys whose deletion was asked for, but which did not exist.
    pub absent: usize,
}

/// A batch that has its number and is ready for the log.
struct Prepared<'a> {
    waiting: &'a Waiting,
    operations: Vec<Operation>,
    committed: Committed,
}

/// The effect of a group's earlier batches: for each key that they touch, whether it exists after them.
type Overlay = HashMap<Box<[u8]>, bool>;

/// Commits all batches of a group. If the log refuses them, all of them fail.
pub(super) fn commit_group(writer: &Writer, turn: &mut Turn<'_>, group: &[Arc<Waiting>]) {
    span!("commit", group = group.len());
    let prepared = prepare(writer, turn.last, group);
    if prepared.is_empty() {
        return;
    }
    let appended = append(writer, &prepared);
    if let Ok(log_number) = appended {
        turn.last += prepared.len() as u64;
        writer.context.counters.committed(prepared.len());
        writer.files.write_mark(CommitMark { sequence: turn.last, log_number });
    }
    let active = Arc::clone(&writer.state().active);
    for Prepared { waiting, operations, committed } in prepared {
        if appended.is_ok() {
            active.apply(committed.sequence, operations.iter().map(Operation::parts));
        }
        waiting.settle(appended.clone().map(|_| committed));
    }
    if appended.is_ok() {
        let sequence = turn.last;
        writer.published.publish(|state| state.sequence = sequence);
    }
}

/// Numbers the batches of a group. Empty and refused batches get their outcome here.
fn prepare<'a>(writer: &Writer, last: u64, group: &'a [Arc<Waiting>]) -> Vec<Prepared<'a>> {
    let mut prepared = Vec::with_capacity(group.len());
    let ready = make_room(writer);
    // A single batch has no earlier batches in its group.
    let mut overlay = (group.len() > 1).then(Overlay::new);
    for waiting in group {
        let operations = waiting.take_operations();
        let sequence = last + 1 + prepared.len() as u64;
        let counted =
            ready.clone().and_then(|()| count(writer, sequence, &operations, &mut overlay));
        match counted {
            Ok(committed) if operations.is_empty() => {
                let sequence = committed.sequence - 1;
                waiting.settle(Ok(Committed { sequence, ..committed }));
            }
            Ok(committed) => prepared.push(Prepared { waiting, operations, committed }),
            Err(error) => waiting.settle(Err(error)),
        }
    }
    prepared
}

/// C1: counts what the commit will do, given the state and the earlier batches of its group.
fn count(
    writer: &Writer,
    sequence: u64,
    operations: &[Operation],
    overlay: &mut Option<Overlay>,
) -> Result<Committed> {
    let state = writer.state();
    let mut committed = Committed { sequence, stored: 0, deleted: 0, absent: 0 };
    for Operation { key, signature, .. } in operations {
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
        let after = |operation: &Operation| (operation.key.clone(), operation.signature.is_some());
        overlay.extend(operations.iter().map(after));
    }
    Ok(committed)
}

/// Makes room in the memtable: freezes it if it is full, which may wait for the previous checkpoint.
fn make_room(writer: &Writer) -> Result<()> {
    writer.context.health.check()?;
    writer.files.check_own()?;
    let (active, options) = (&writer.state().active, writer.options());
    let versions = active.versions();
    let full = versions >= options.memtable_rows || active.bytes() >= options.memtable_bytes;
    // An empty memtable also takes bytes, but it has no commits to checkpoint.
    if full && versions > 0 { freeze(writer) } else { Ok(()) }
}

/// Starts a new memtable and hands the old one to a checkpoint. Waits for the previous checkpoint first.
fn freeze(writer: &Writer) -> Result<()> {
    wait_for_checkpoint(writer)?;
    writer.published.freeze();
    request_checkpoint(writer)
}

/// Checkpoints all commits. The caller holds the turn, so no new ones can arrive.
pub(super) fn checkpoint_all(writer: &Writer, _turn: &mut Turn<'_>) -> Result<()> {
    if writer.state().active.versions() > 0 {
        freeze(writer)?;
    }
    wait_for_checkpoint(writer)
}

/// C2 and C3: appends the whole group to the log with one sync. Returns the number of the log.
fn append(writer: &Writer, prepared: &[Prepared<'_>]) -> Result<u64> {
    let payloads: Vec<Vec<u8>> = prepared.iter().map(|p| batch::encode(&p.operations)).collect();
    let commits: Vec<Commit<'_>> = prepared
        .iter()
        .zip(&payloads)
        .map(|(p, payload)| Commit { sequence: p.committed.sequence, payload })
        .collect();
    let log_number = writer.log.append(&writer.files, &commits)?;
    event!(
        "committed",
        commits = commits.len(),
        bytes = payloads.iter().map(Vec::len).sum::<usize>(),
        sequence = commits.last().map_or(0, |commit| commit.sequence)
    );
    Ok(log_number)
}
