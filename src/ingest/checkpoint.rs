//! Checkpoints: a frozen memtable becomes a segment, and tombstones mark the older rows that it replaces (STEP-6).
//!
//! In: a frozen memtable. Out: its rows in a segment of the published state. Deletions leave only tombstones.

use super::append::{Appending, Hides};
use super::writer::Writer;
use crate::error::{Error, Result};
use crate::format::filter::KeyHash;
use crate::store::memtable::{FreshRow, Memtable};
use crate::store::segment::writer::{NewRow, NewSegment, SegmentWriter};
use crate::store::state::SegmentView;
use crate::trace::{event, span};

/// Turns the frozen memtable into a segment. Does nothing if there is none.
pub(super) fn checkpoint_frozen(writer: &Writer) -> Result<()> {
    let appended = writer.files.append_checked()?;
    let Some(frozen) = writer.state().frozen.clone() else { return Ok(()) };
    span!("checkpoint", versions = frozen.versions());
    let checkpointed = frozen.last();
    let segment = build(writer, &frozen, appended.checkpointed)?;
    let mut appending = Appending::new(writer, appended);
    let hides = replaced(&frozen, appending.segments())?;
    if let Some(segment) = &segment {
        appending.add(segment)?;
    }
    appending.hide(&hides)?;
    appending.install(checkpointed, |state| state.frozen = None)?;
    event!(
        "checkpointed",
        rows = segment.as_ref().map_or(0, NewSegment::rows),
        tombstones = hides.values().map(Vec::len).sum::<usize>(),
        sequence = checkpointed
    );
    Ok(())
}

/// K2: builds a segment of the newest version of each key, without deleted keys. `None` if no row is left.
pub(super) fn build(writer: &Writer, table: &Memtable, after: u64) -> Result<Option<NewSegment>> {
    let first = after + 1;
    let mut segment = SegmentWriter::new(writer.plan());
    table.each(|row| {
        let FreshRow { key, sequence, deleted, planes, code, empty, set, value } = row;
        let sequence = sequence.saturating_sub(first);
        if deleted {
            Ok(())
        } else {
            segment.push(NewRow { key, planes, code, empty, sequence, set, value })
        }
    })?;
    let mut segment = segment.finish()?;
    if let Some(segment) = &mut segment {
        segment.set_first_sequence(first);
    }
    Ok(segment)
}

/// Finds the live segment rows whose keys are in the memtable. A key is live in one segment at most.
pub(super) fn replaced(table: &Memtable, segments: &[SegmentView]) -> Result<Hides> {
    let mut hides = Hides::new();
    if segments.is_empty() {
        return Ok(hides);
    }
    table.each(|FreshRow { key, .. }| {
        let hash = KeyHash::of(key);
        for view in segments {
            if let Some(found) = view.find(key, hash)? {
                hides.entry(view.segment.id()).or_default().push(found.row);
                break;
            }
        }
        Ok::<(), Error>(())
    })?;
    Ok(hides)
}
