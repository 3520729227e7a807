//! Repair: derived data made anew from the rows. No row that can be read is dropped.
//!
//! What can be made anew: one superblock from the other (opening does that), fences, filters and copies
//! from the leaves, postings from the signatures, the directory of kept sets from the sets. Leaves, signatures and sets are
//! primary data: if those are damaged, repair refuses and changes nothing; `salvage` saves the rest.

use std::path::Path;
use std::sync::Arc;

use super::check::{self, Depth};
use super::recovery;
use crate::error::{Error, Result};
use crate::options::Options;
use crate::store::file_layer::FileLayer;
use crate::store::page_source::Keep;
use crate::store::segment::elements::SetReader;
use crate::store::segment::rows::SignatureCursor;
use crate::store::segment::scan::LeafScan;
use crate::store::segment::writer::{NewRow, NewSegment, SegmentPlan, SegmentWriter};
use crate::store::state::SegmentView;

/// What a repair did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct RepairReport {
    /// Whether a superblock was written anew from the other.
    pub superblock: bool,
    /// The segments that were made anew, by their old numbers.
    pub segments: Vec<u64>,
}

/// Repairs a database and closes it again.
pub fn repair(layer: &Arc<dyn FileLayer>, path: &Path, options: &Options) -> Result<RepairReport> {
    let found = check::check(&**layer, path, Depth::Deep)?;
    let damaged: Vec<u64> = found.findings.iter().filter_map(|finding| finding.block).collect();
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

/// The live rows of a segment in a new one, from its leaves and signatures alone.
fn rebuild(plan: SegmentPlan, view: &SegmentView) -> Result<Option<NewSegment>> {
    let segment = &view.segment;
    let first = segment.header().first_sequence;
    let mut writer = SegmentWriter::new(plan);
    let mut signatures = SignatureCursor::new(segment);
    let mut sets = SetReader::mending(segment, Keep::IfRoom);
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
            if !view.liveness.is_hidden(found.row)? {
                let code = signatures.read(found.id, &mut planes)?;
                let empty = segment.is_empty_id(found.id);
                let sequence = found.sequence - first;
                let set = sets.set(found.id)?;
                writer.push(NewRow { key: &key, planes: &planes, code, empty, sequence, set })?;
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

/// Rows themselves are damaged.
fn primary(view: &SegmentView, row: u32) -> Error {
    let detail = format!(
        "segment {}: row {row} and following cannot be read, so nothing was repaired; `salvage` saves \
         the other rows",
        view.segment.id()
    );
    Error::Corrupt { what: "segment", offset: view.segment.offset(), rule: "LEAF-3", detail }
}
