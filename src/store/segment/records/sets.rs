//! Reads kept sets.
//!
//! In: a signature id. Out: the elements of its set, checked.

use std::sync::Arc;

use super::reader::{Encoding, RecordReader};
use crate::error::{Error, Result};
use crate::format::bytes::broken;
use crate::format::kept_set::{KeptShape, MAX_SET_BYTES};
use crate::store::page_source::Keep;
use crate::store::segment::Segment;

impl Segment {
    /// Appends the elements of an id, in ascending order. Appends nothing if the scheme keeps no sets.
    pub fn elements(&self, id: u32, into: &mut Vec<u64>) -> Result<()> {
        SetReader::new(self, Keep::Recent).elements(id, into)
    }

    /// Returns the elements of an id, or `None` if the scheme keeps no sets.
    pub(in crate::store::segment) fn kept_elements(&self, id: u32) -> Result<Option<Arc<[u64]>>> {
        if self.header().elements.is_none() {
            return Ok(None);
        }
        let mut elements = Vec::new();
        self.elements(id, &mut elements)?;
        Ok(Some(elements.into()))
    }
}

/// Reads sets of a segment, one after the other.
#[derive(Debug)]
pub struct SetReader<'a> {
    segment: &'a Segment,
    /// `None` if the scheme keeps no sets.
    sets: Option<(RecordReader<'a>, KeptShape)>,
    /// Elements of sets that only their ends are asked of.
    elements: Vec<u64>,
    /// Elements of sets that are only checked.
    checked: Vec<u64>,
}

/// How sets are read. Elements are decoded into the buffer.
fn encoding(
    kept: KeptShape,
    buffer: &mut Vec<u64>,
) -> Encoding<impl FnMut(&[u8]) -> Result<usize>> {
    let length = move |bytes: &[u8]| {
        buffer.clear();
        kept.decode(bytes, buffer)
    };
    Encoding { longest: MAX_SET_BYTES, length }
}

impl<'a> SetReader<'a> {
    /// Creates a reader for a segment.
    pub fn new(segment: &'a Segment, keep: Keep) -> SetReader<'a> {
        let (header, kept) = (segment.header(), KeptShape::of(segment.scheme()));
        let found = header.elements_shape().zip(header.elements).zip(kept);
        let sets = found.map(|((shape, records), kept)| {
            let tables = &segment.tables().sets;
            (RecordReader::new(segment, (shape, records.region), tables, keep), kept)
        });
        SetReader { segment, sets, elements: Vec::new(), checked: Vec::new() }
    }

    /// Creates a reader that recomputes unreadable directory pages from the sets.
    pub fn mending(segment: &'a Segment, keep: Keep) -> SetReader<'a> {
        let reader = SetReader::new(segment, keep);
        SetReader { sets: reader.sets.map(|(sets, kept)| (sets.mending(), kept)), ..reader }
    }

    /// Reads the directory page that contains the start of an id.
    pub fn check_directory(&mut self, id: u32) -> Result<()> {
        self.sets.as_mut().map_or(Ok(()), |(sets, _)| sets.check_directory(id))
    }

    /// Appends the elements of an id, in ascending order. Appends nothing if the scheme keeps no sets.
    pub fn elements(&mut self, id: u32, into: &mut Vec<u64>) -> Result<()> {
        let Some((sets, kept)) = &mut self.sets else { return Ok(()) };
        let before = into.len();
        let range = sets.range(id, encoding(*kept, &mut self.elements))?;
        let bytes = sets.bytes(range)?;
        let decoded = kept.decode(bytes, into).map_err(|error| match error {
            Error::Corrupt { what, rule, detail, .. } => broken(what, rule, 0, detail),
            other => other,
        });
        let whole = decoded.map(|length| length == bytes.len());
        let offset = sets.offset(range.0);
        self.check(id, whole, into.len() - before, offset)
    }

    /// Checks KEPT-8 and KEPT-9 for a decoded set.
    fn check(&self, id: u32, whole: Result<bool>, count: usize, offset: u64) -> Result<()> {
        if !whole.map_err(|error| error.shifted(offset))? {
            let detail = format!("the set of id {id} does not end where the next one starts");
            return Err(broken("elements page", "KEPT-8", offset, detail));
        }
        if (count == 0) != self.segment.is_empty_id(id) {
            let detail = format!("id {id} has {count} elements");
            return Err(broken("elements page", "KEPT-9", offset, detail));
        }
        Ok(())
    }

    /// Returns the encoded set of an id, after decoding it once as a check. Returns no bytes if the scheme keeps no
    /// sets.
    pub fn set(&mut self, id: u32) -> Result<&[u8]> {
        let mut checked = std::mem::take(&mut self.checked);
        checked.clear();
        let found = self.elements(id, &mut checked);
        self.checked = checked;
        found?;
        let Some((sets, kept)) = &mut self.sets else { return Ok(&[]) };
        let range = sets.range(id, encoding(*kept, &mut self.elements))?;
        sets.bytes(range)
    }
}
