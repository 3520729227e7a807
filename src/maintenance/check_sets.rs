//! Checks the sets that a segment keeps.
//!
//! In: a segment and, for a deep check, a sketcher. Out: damage, reported through a callback. Each set must be
//! readable. In a deep check its signature must be that of its elements (KEPT-10).

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::format::elements_page::STARTS_PER_PAGE;
use crate::sketch::{Signature, Sketcher};
use crate::store::page_source::Keep;
use crate::store::segment::Segment;
use crate::store::segment::elements::SetReader;
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
    let parts = || (0..ids).step_by(STARTS_PER_PAGE as usize);
    let mut reader = SetReader::new(segment, Keep::IfRoom);
    let mut whole = true;
    for first in parts() {
        if let Err(error) = reader.check_directory(first) {
            note(error, true)?;
            whole = false;
        }
    }
    if !whole {
        reader = SetReader::mending(segment, Keep::IfRoom);
    }
    for first in parts() {
        let last = ids.min(first.saturating_add(STARTS_PER_PAGE));
        part(segment, &mut reader, first..last, sketcher).or_else(|error| note(error, false))?;
    }
    Ok(())
}

fn part(
    segment: &Segment,
    reader: &mut SetReader<'_>,
    ids: std::ops::Range<u32>,
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
