//! Checks the kept sets and the values of a segment.
//!
//! In: a segment and, for a deep check, a sketcher. Out: damage, reported through a callback. Each set and each value
//! must be readable. In a deep check, the signature of a set must be that of its elements (KEPT-10).

use std::ops::Range;
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::format::record_pages::STARTS_PER_PAGE;
use crate::sketch::{Signature, Sketcher};
use crate::store::page_source::Keep;
use crate::store::segment::Segment;
use crate::store::segment::records::{SetReader, ValueReader};
use crate::store::segment::rows::SignatureCursor;

/// Reads every set of a segment. With a sketcher, also recomputes signatures from the elements and compares them.
/// `note` gets each defect, and whether repair can fix it: it can only rebuild the directory. After damage, the check
/// continues with the next page of the directory.
pub(super) fn sets(
    segment: &Segment,
    sketcher: Option<&Sketcher>,
    note: &mut dyn FnMut(Error, bool) -> Result<()>,
) -> Result<()> {
    if segment.header().elements.is_none() {
        return Ok(());
    }
    let ids = segment.header().ids;
    let mut reader = SetReader::new(segment, Keep::IfRoom);
    if !directory(ids, |id| reader.check_directory(id), note)? {
        reader = SetReader::mending(segment, Keep::IfRoom);
    }
    parts(ids).try_for_each(|ids| {
        part(segment, &mut reader, ids, sketcher).or_else(|error| note(error, false))
    })
}

/// Reads every value of a segment. `note` is called as by [`sets`].
pub(super) fn values(
    segment: &Segment,
    note: &mut dyn FnMut(Error, bool) -> Result<()>,
) -> Result<()> {
    if segment.header().values.is_none() {
        return Ok(());
    }
    let rows = segment.rows();
    let mut reader = ValueReader::new(segment, Keep::IfRoom);
    if !directory(rows, |row| reader.check_directory(row), note)? {
        reader = ValueReader::mending(segment, Keep::IfRoom);
    }
    parts(rows).try_for_each(|mut rows| {
        let read = rows.try_for_each(|row| reader.value(row).map(drop));
        read.or_else(|error| note(error, false))
    })
}

/// Splits the numbers of records by the pages of their directory.
fn parts(count: u32) -> impl Iterator<Item = Range<u32>> {
    let firsts = (0..count).step_by(STARTS_PER_PAGE as usize);
    firsts.map(move |first| first..count.min(first.saturating_add(STARTS_PER_PAGE)))
}

/// Checks every page of a directory, and returns whether all are whole.
fn directory(
    count: u32,
    mut check: impl FnMut(u32) -> Result<()>,
    note: &mut dyn FnMut(Error, bool) -> Result<()>,
) -> Result<bool> {
    let mut whole = true;
    for ids in parts(count) {
        if let Err(error) = check(ids.start) {
            note(error, true)?;
            whole = false;
        }
    }
    Ok(whole)
}

fn part(
    segment: &Segment,
    reader: &mut SetReader<'_>,
    ids: Range<u32>,
    sketcher: Option<&Sketcher>,
) -> Result<()> {
    let mut signatures = SignatureCursor::new(segment);
    let (mut elements, mut planes) = (Vec::new(), Vec::new());
    for id in ids {
        elements.clear();
        reader.elements(id, &mut elements)?;
        let Some(sketcher) = sketcher else { continue };
        let code = signatures.read(id, &mut planes)?;
        let (scheme, planes) = (Arc::clone(segment.scheme()), (&*planes).into());
        let (empty, set) = (segment.is_empty_id(id), Some((&*elements).into()));
        let signature = Signature::from_planes(scheme, planes, code, empty, set);
        if !sketcher.is_consistent(&signature)? {
            let detail = format!("the signature of id {id} is not that of its elements");
            return Err(segment.lost("KEPT-10", detail));
        }
    }
    Ok(())
}
