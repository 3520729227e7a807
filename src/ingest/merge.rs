//! Merges: the live rows of several segments become one segment.
//!
//! It is built from a state, while commits and checkpoints go on, without a lock. At the end, under the
//! append lock, rows that were hidden meanwhile are hidden in the new segment too: they are found there
//! by their keys (STEP-7).

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
use crate::store::segment::elements::SetReader;
use crate::store::segment::rows::SignatureCursor;
use crate::store::segment::writer::{NewRow, NewSegment, SegmentPlan, SegmentWriter};
use crate::store::state::SegmentView;
use crate::trace::{event, span};

/// Rows merged before looking whether to go on.
const ROWS_BETWEEN_LOOKS: u32 = 4096;

/// Merges what the policy chooses; `false` if it chooses nothing.
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
    merge(writer, &inputs, &|| writer.backlog.should_stop())?;
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
        // A merge in the background may have been quicker: then look again.
        if done || merge(writer, &inputs, &|| false)? {
            return Ok(());
        }
    }
}

/// Merges these segments of a state; `false` if one of them is no longer part of the database, or if told to give up.
fn merge(writer: &Writer, inputs: &[SegmentView], give_up: &dyn Fn() -> bool) -> Result<bool> {
    writer.context.health.check()?;
    span!("merge", segments = inputs.len());
    let first = inputs.iter().map(|view| view.segment.header().first_sequence).min();
    let first = first.unwrap_or(0);
    let Some(merged) = build(writer.plan(), inputs, first, give_up)? else { return Ok(false) };
    let appended = writer.files.append_checked()?;
    let sealed = appended.sealed;
    let mut appending = Appending::new(writer, appended);
    let ids: Vec<u64> = inputs.iter().map(|view| view.segment.id()).collect();
    let current: BTreeMap<u64, SegmentView> = appending
        .segments()
        .iter()
        .filter(|view| ids.contains(&view.segment.id()))
        .map(|view| (view.segment.id(), view.clone()))
        .collect();
    // A segment that lost its last row meanwhile has left the state; all of its rows are hidden.
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
    appending.seal(sealed, |_| {})?;
    writer.context.counters.merged();
    event!(
        "merged",
        segments_in = ids.len(),
        segments_out = usize::from(merged.is_some()),
        rows = merged.as_ref().map_or(0, NewSegment::rows)
    );
    for id in ids {
        writer.cache().remove_block(id);
    }
    Ok(true)
}

/// Rows of a segment that were hidden after a merge looked, as rows of the merged segment.
fn hidden_since(
    before: &SegmentView,
    now: &SegmentView,
    merged: &Arc<Segment>,
    hides: &mut Hides,
) -> Result<()> {
    if before.liveness.entry() == now.liveness.entry() {
        return Ok(());
    }
    let (old, new) = (before.liveness.bitmap()?, now.liveness.bitmap()?);
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

/// Builds the segment of all live rows of these views, which have no key in common: `None` inside if there
/// are no live rows, outside if told to give up.
fn build(
    plan: SegmentPlan,
    inputs: &[SegmentView],
    first: u64,
    give_up: &dyn Fn() -> bool,
) -> Result<Option<Option<NewSegment>>> {
    let mut writer = SegmentWriter::new(plan);
    let cursors = inputs.iter().map(|view| SegmentCursor::new(view, Bound::Unbounded));
    let mut cursors = cursors.collect::<Result<Vec<_>>>()?;
    let signatures = inputs.iter().map(|view| SignatureCursor::new(&view.segment));
    let mut signatures: Vec<_> = signatures.collect();
    let sets = inputs.iter().map(|view| SetReader::new(&view.segment, Keep::IfRoom));
    let mut sets: Vec<_> = sets.collect();
    let mut planes = Vec::new();
    loop {
        let keys = cursors.iter().enumerate().filter_map(|(i, c)| c.key().map(|key| (key, i)));
        let Some((key, i)) = keys.min() else { break };
        let found = cursors[i].found().expect("it has a key");
        let code = signatures[i].read(found.id, &mut planes)?;
        let empty = cursors[i].segment().is_empty_id(found.id);
        let sequence = found.sequence.saturating_sub(first);
        let set = sets[i].set(found.id)?;
        writer.push(NewRow { key, planes: &planes, code, empty, sequence, set })?;
        cursors[i].advance()?;
        if writer.rows().is_multiple_of(ROWS_BETWEEN_LOOKS) && give_up() {
            return Ok(None);
        }
    }
    let mut segment = writer.finish()?;
    if let Some(segment) = &mut segment {
        segment.set_first_sequence(first);
    }
    Ok(Some(segment))
}
