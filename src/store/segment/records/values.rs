//! Reads values.
//!
//! In: a row. Out: its value, checked, or `None` if it has none.

use std::sync::Arc;

use super::reader::{Encoding, RecordReader};
use crate::error::{Error, Result};
use crate::format::bytes::broken;
use crate::format::value::{MAX_ENCODED_BYTES, decode};
use crate::store::page_source::Keep;
use crate::store::segment::Segment;

impl Segment {
    /// Returns the value of a row.
    pub fn value(&self, row: u32) -> Result<Option<Arc<[u8]>>> {
        Ok(ValueReader::new(self, Keep::Recent).value(row)?.map(Arc::from))
    }
}

/// Reads values of a segment, one after the other.
#[derive(Debug)]
pub struct ValueReader<'a> {
    /// `None` if no row of the segment has a value.
    values: Option<RecordReader<'a>>,
}

/// How values are read.
fn encoding() -> Encoding<impl FnMut(&[u8]) -> Result<usize>> {
    Encoding { longest: MAX_ENCODED_BYTES, length: |bytes: &[u8]| Ok(decode(bytes)?.1) }
}

impl<'a> ValueReader<'a> {
    /// Creates a reader for a segment.
    pub fn new(segment: &'a Segment, keep: Keep) -> ValueReader<'a> {
        let header = segment.header();
        let values = header.values_shape().zip(header.values).map(|(shape, records)| {
            let tables = &segment.tables().values;
            RecordReader::new(segment, (shape, records.region), tables, keep)
        });
        ValueReader { values }
    }

    /// Creates a reader that recomputes unreadable directory pages from the values.
    pub fn mending(segment: &'a Segment, keep: Keep) -> ValueReader<'a> {
        let values = ValueReader::new(segment, keep).values;
        ValueReader { values: values.map(RecordReader::mending) }
    }

    /// Reads the directory page that contains the start of a row's value.
    pub fn check_directory(&mut self, row: u32) -> Result<()> {
        self.values.as_mut().map_or(Ok(()), |values| values.check_directory(row))
    }

    /// Returns the value of a row.
    pub fn value(&mut self, row: u32) -> Result<Option<&[u8]>> {
        let Some(values) = &mut self.values else { return Ok(None) };
        let range = values.range(row, encoding())?;
        let offset = values.offset(range.0);
        let bytes = values.bytes(range)?;
        let (value, length) = decode(bytes).map_err(|error| match error {
            Error::Corrupt { what, rule, detail, .. } => broken(what, rule, offset, detail),
            other => other,
        })?;
        if length != bytes.len() {
            let detail = format!("the value of row {row} does not end where the next one starts");
            return Err(broken("values page", "VALUE-6", offset, detail));
        }
        Ok(value)
    }
}
