//! Merges: the live rows of several segments become one segment (STEP-7).
//!
//! In: segments of one state. Out: a published state with one segment in their place. The new segment is built
//! without a lock, while commits and checkpoints go on. Rows may get tombstones meanwhile. At the end, under the
//! append lock, these rows are looked up by key in the new segment and get tombstones there.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use super::append::{Appending, Hides};
use super::merge_policy::{self, Size};
use super::writer::Writer;
use crate::error::Result;
use crate::format::filter::KeyHash;
use crate::store::page_source::Keep;
use crate::store::range::SegmentCursor;
use crate::store::segment::Segment;
use crate::store::segment::records::{SetReader, ValueReader};
use crate::store::segment::rows::SignatureCursor;
use crate::store::segment::writer::{NewRow, NewSegment, SegmentPlan, SegmentWriter};
use crate::store::state::SegmentView;
use crate::trace::{event, span};

/// Rows merged between two checks whether to give up.
const ROWS_BETWEEN_LOOKS: u32 = 4096;

/// Merges the segments that the policy chooses. Returns whether to try again: `false` if nothing was chosen, or on
/// close.
pub(super) fn merge_once(writer: &Writer) -> Result<bool> {
    let state = writer.state();
    let sizes: Vec<Size> = state
        .segments
        .iter()
        .map(|view| Size { rows: view.segment.rows(), live_rows: view.live_rows })
        .collect();
    let chosen = merge_policy::choose(&sizes);
    if chosen.is_empty() {
        return Ok(false);
    }
    let inputs: Vec<SegmentView> = chosen.iter().map(|i| state.segments[*i].clone()).collect();
    drop(state);
    merge(writer, &inputs, &mut |_| writer.backlog.should_stop())?;
    Ok(!writer.backlog.should_stop())
}

/// Merges all segments into one.
pub(super) fn merge_all(writer: &Writer) -> Result<()> {
    loop {
        let inputs = writer.state().segments.to_vec();
        let done = match &*inputs {
            [] => true,
            [only] => only.live_rows == only.segment.rows(),
            _ => false,
        };
        // A background merge may have replaced an input meanwhile. Then try again.
        if done || merge(writer, &inputs, &mut |_| false)? {
            return Ok(());
        }
    }
}

/// Merges these segments. `false` if one of them has left the database meanwhile, or if `give_up` said so.
fn merge(
    writer: &Writer,
    inputs: &[SegmentView],
    give_up: &mut dyn FnMut(u32) -> bool,
) -> Result<bool> {
    writer.context.health.check()?;
    span!("merge", segments = inputs.len());
    let Some(merged) = build(writer.plan(), inputs, give_up)? else { return Ok(false) };
    let appended = writer.files.append_checked()?;
    let checkpointed = appended.checkpointed;
    let mut appending = Appending::new(writer, appended);
    let ids: Vec<u64> = inputs.iter().map(|view| view.segment.id()).collect();
    let current: BTreeMap<u64, SegmentView> = appending
        .segments()
        .iter()
        .filter(|view| ids.contains(&view.segment.id()))
        .map(|view| (view.segment.id(), view.clone()))
        .collect();
    // Another merge replaced a segment, or its last live row got a tombstone.
    let vanished = ids.iter().any(|id| !current.contains_key(id));
    if vanished {
        return Ok(false);
    }
    appending.remove(&ids);
    if let Some(merged) = &merged {
        let view = appending.add(merged)?;
        let mut hides = Hides::new();
        for before in inputs {
            hidden_since(before, &current[&before.segment.id()], &view.segment, &mut hides)?;
        }
        appending.hide(&hides)?;
    }
    appending.install(checkpointed, |_| {})?;
    writer.context.counters.merged();
    event!(
        "merged",
        segments_in = ids.len(),
        segments_out = usize::from(merged.is_some()),
        rows = merged.as_ref().map_or(0, NewSegment::rows)
    );
    for id in ids {
        writer.cache().remove_extent(id);
    }
    Ok(true)
}

/// Finds the rows that got tombstones after `before` was read, as rows of the merged segment.
fn hidden_since(
    before: &SegmentView,
    now: &SegmentView,
    merged: &Arc<Segment>,
    hides: &mut Hides,
) -> Result<()> {
    if before.tombstones.entry() == now.tombstones.entry() {
        return Ok(());
    }
    let (old, new) = (before.tombstones.bitmap()?, now.tombstones.bitmap()?);
    for (byte, (old, new)) in old.iter().zip(&new).enumerate() {
        let mut changed = new & !old;
        while changed != 0 {
            let row = 8 * byte as u32 + changed.trailing_zeros();
            changed &= changed - 1;
            let key = now.segment.key_of_row(row)?;
            if let Some(found) = merged.find(&key, KeyHash::of(&key))? {
                hides.entry(merged.id()).or_default().push(found.row);
            }
        }
    }
    Ok(())
}

/// Builds one segment from the live rows of these views, which have no key in common. If the scheme of the plan has
/// fewer bits, signatures keep their first planes (SIG-9). `give_up` gets the number of rows so far. The outer `None`
/// means that it said so, the inner one that there are no live rows.
pub(super) fn build(
    plan: SegmentPlan,
    inputs: &[SegmentView],
    give_up: &mut dyn FnMut(u32) -> bool,
) -> Result<Option<Option<NewSegment>>> {
    let first = inputs.iter().map(|view| view.segment.header().first_sequence).min();
    let (first, words) = (first.unwrap_or(0), plan.scheme.words_per_signature());
    let mut writer = SegmentWriter::new(plan);
    let cursors = inputs.iter().map(|view| SegmentCursor::new(view, Bound::Unbounded));
    let mut cursors = cursors.collect::<Result<Vec<_>>>()?;
    let signatures = inputs.iter().map(|view| SignatureCursor::new(&view.segment));
    let mut signatures: Vec<_> = signatures.collect();
    let sets = inputs.iter().map(|view| SetReader::new(&view.segment, Keep::IfRoom));
    let mut sets: Vec<_> = sets.collect();
    let values = inputs.iter().map(|view| ValueReader::new(&view.segment, Keep::IfRoom));
    let mut values: Vec<_> = values.collect();
    let mut planes = Vec::new();
    loop {
        let keys = cursors.iter().enumerate().filter_map(|(i, c)| c.key().map(|key| (key, i)));
        let Some((key, i)) = keys.min() else { break };
        let found = cursors[i].found().expect("it has a key");
        let code = signatures[i].read(found.id, &mut planes)?;
        planes.truncate(words);
        let empty = cursors[i].segment().is_empty_id(found.id);
        let sequence = found.sequence.saturating_sub(first);
        let set = sets[i].set(found.id)?;
        let value = values[i].value(found.row)?;
        writer.push(NewRow { key, planes: &planes, code, empty, sequence, set, value })?;
        cursors[i].advance()?;
        if writer.rows().is_multiple_of(ROWS_BETWEEN_LOOKS) && give_up(writer.rows()) {
            return Ok(None);
        }
    }
    let mut segment = writer.finish()?;
    if let Some(segment) = &mut segment {
        segment.set_first_sequence(first);
    }
    Ok(Some(segment))
}
