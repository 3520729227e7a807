//! Repair: rebuilds derived data from the rows. Drops no readable row.
//!
//! In: a damaged database. Out: a repaired one, or an error and no change. Derived data are: one superblock (from the
//! other; opening does that), fences, filters and duplicate-row pages (from leaves), posting lists (from signatures),
//! and the directories of kept sets and values (from these). Leaves, signatures, sets and values are primary data. If
//! they are damaged, repair refuses, and `salvage` saves the rest.

use std::path::Path;
use std::sync::Arc;

use super::check::{self, Depth};
use super::recovery;
use crate::error::{Error, Result};
use crate::options::Options;
use crate::store::file_layer::FileLayer;
use crate::store::page_source::Keep;
use crate::store::segment::records::{SetReader, ValueReader};
use crate::store::segment::rows::SignatureCursor;
use crate::store::segment::scan::LeafScan;
use crate::store::segment::writer::{NewRow, NewSegment, SegmentPlan, SegmentWriter};
use crate::store::state::SegmentView;

/// What a repair did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct RepairReport {
    /// Whether a superblock was rewritten from the other.
    pub superblock: bool,
    /// The old numbers of the segments that were rebuilt.
    pub segments: Vec<u64>,
}

/// Repairs a database and closes it again.
pub fn repair(layer: &Arc<dyn FileLayer>, path: &Path, options: &Options) -> Result<RepairReport> {
    let found = check::check(&**layer, path, Depth::Deep)?;
    let damaged: Vec<u64> = found.findings.iter().filter_map(|finding| finding.extent).collect();
    let mut report = RepairReport::default();
    let options = Options { background: false, merge: false, ..options.clone() };
    let (writer, opened) = recovery::open_with(layer, path, options, |writer| {
        let state = writer.state();
        let views = state.segments.iter().filter(|view| damaged.contains(&view.segment.id()));
        let swaps = views.map(|view| Ok((view.segment.id(), rebuild(writer.plan(), view)?)));
        let swaps = swaps.collect::<Result<Vec<_>>>()?;
        report.segments = swaps.iter().map(|(id, _)| *id).collect();
        Ok(swaps)
    })?;
    report.superblock = opened.superblock_repaired;
    writer.close()?;
    Ok(report)
}

/// Rebuilds a segment from its leaves, signatures and sets alone. `None` if it has no live rows.
fn rebuild(plan: SegmentPlan, view: &SegmentView) -> Result<Option<NewSegment>> {
    let segment = &view.segment;
    let first = segment.header().first_sequence;
    let mut writer = SegmentWriter::new(plan);
    let mut signatures = SignatureCursor::new(segment);
    let mut sets = SetReader::mending(segment, Keep::IfRoom);
    let mut values = ValueReader::mending(segment, Keep::IfRoom);
    let mut scan = LeafScan::new(segment);
    let (mut planes, mut row) = (Vec::new(), 0);
    let mut last: Option<Vec<u8>> = None;
    while let Some(leaf) = scan.next_leaf()? {
        for i in 0..leaf.count() {
            let found = segment.found(&leaf, i);
            let (prefix, suffix) = leaf.key(i);
            let key = [prefix, suffix].concat();
            if found.row != row || last.as_ref().is_some_and(|last| *last >= key) {
                return Err(primary(view, row));
            }
            row += 1;
            if !view.tombstones.contains(found.row)? {
                let code = signatures.read(found.id, &mut planes)?;
                let empty = segment.is_empty_id(found.id);
                let sequence = found.sequence - first;
                let set = sets.set(found.id)?;
                let (key, planes, value) = (&*key, &*planes, values.value(found.row)?);
                writer.push(NewRow { key, planes, code, empty, sequence, set, value })?;
            }
            last = Some(key);
        }
    }
    if row != segment.rows() {
        return Err(primary(view, row));
    }
    let mut built = writer.finish()?;
    if let Some(built) = &mut built {
        built.set_first_sequence(first);
    }
    Ok(built)
}

/// The error for damaged rows, which repair cannot rebuild.
fn primary(view: &SegmentView, row: u32) -> Error {
    let detail = format!(
        "segment {}: row {row} and following cannot be read, so nothing was repaired; `salvage` saves \
         the other rows",
        view.segment.id()
    );
    Error::Corrupt { what: "segment", offset: view.segment.offset(), rule: "LEAF-3", detail }
}
