//! Writes a region of records: pages as they fill, and the directory at the end.
//!
//! In: encoded kept sets in the order of their ids, or encoded values in the order of their rows. Out: the pages of
//! the region.

use crate::error::{Error, Result};
use crate::format::bytes::Seal;
use crate::format::page::{self, HEADER_BYTES};
use crate::format::record_pages::{
    BYTES_PER_PAGE, RecordShape, Records, START_BYTES, STARTS_PER_PAGE, decode_start, encode_start,
};
use crate::format::segment_header::MAX_REGION_BYTES;
use crate::store::segment::writer::SegmentPlan;
use crate::store::spill::Spill;

/// The length of a full page.
const PAGE_BYTES: u64 = BYTES_PER_PAGE + HEADER_BYTES as u64;

/// A region of records that is being written.
#[derive(Debug)]
pub struct RecordWriter {
    records: Records,
    extent: u64,
    seal: Seal,
    pages: Spill,
    /// The payload of the page that is not full yet.
    open: Vec<u8>,
    /// The start of each record, encoded as in the directory.
    starts: Spill,
    bytes: u64,
    count: u32,
}

/// A finished region of records.
#[derive(Debug)]
pub struct NewRecords {
    /// All pages.
    pub pages: Spill,
    /// The total length of all records.
    pub bytes: u64,
}

impl RecordWriter {
    /// Starts a region of kept sets, or returns `None` if the scheme keeps none.
    pub fn of_sets(plan: &SegmentPlan) -> Option<RecordWriter> {
        plan.scheme.elements.are_kept().then(|| RecordWriter::new(plan, Records::Sets))
    }

    /// Starts a region.
    pub fn new(plan: &SegmentPlan, records: Records) -> RecordWriter {
        RecordWriter {
            records,
            extent: plan.extent,
            seal: Seal::of(plan.database),
            pages: Spill::new(&plan.spill),
            open: Vec::new(),
            starts: Spill::new(&plan.spill),
            bytes: 0,
            count: 0,
        }
    }

    /// Adds the next record.
    pub fn push(&mut self, record: &[u8]) -> Result<()> {
        let shape = self.shape();
        // Leave space for the directory that will follow.
        let more = record.len() as u64 + 2 * PAGE_BYTES;
        if shape.region_bytes().saturating_add(more) > MAX_REGION_BYTES {
            let what = match self.records {
                Records::Sets => "the sets of a segment",
                Records::Values => "the values of a segment",
            };
            return Err(Error::invalid(what, "at most 256 GiB; keep segments smaller"));
        }
        self.starts.push(&encode_start(self.bytes))?;
        let mut rest = record;
        while !rest.is_empty() {
            let room = BYTES_PER_PAGE as usize - self.open.len();
            let (now, later) = rest.split_at(room.min(rest.len()));
            self.open.extend_from_slice(now);
            rest = later;
            if self.open.len() == BYTES_PER_PAGE as usize {
                self.flush()?;
            }
        }
        self.bytes += record.len() as u64;
        self.count += 1;
        Ok(())
    }

    fn shape(&self) -> RecordShape {
        RecordShape { records: self.records, bytes: self.bytes, count: self.count }
    }

    fn flush(&mut self) -> Result<()> {
        if !self.open.is_empty() {
            let pages = (self.pages.length() / PAGE_BYTES) as u32;
            let place = self.shape().place(self.extent, pages);
            self.pages.push(&page::encode(place, &self.open, self.seal))?;
            self.open.clear();
        }
        Ok(())
    }

    /// Whether an earlier record has these bytes.
    pub fn is_equal(&self, number: u32, record: &[u8]) -> Result<bool> {
        let start = self.start(number)?;
        let end = if number + 1 == self.count { self.bytes } else { self.start(number + 1)? };
        if end - start != record.len() as u64 {
            return Ok(false);
        }
        let (mut at, mut rest) = (start, record);
        let mut buffer = [0; BYTES_PER_PAGE as usize];
        while !rest.is_empty() {
            let room = (BYTES_PER_PAGE - at % BYTES_PER_PAGE) as usize;
            let (now, later) = rest.split_at(room.min(rest.len()));
            let found = &mut buffer[..now.len()];
            self.read(found, at)?;
            if found != now {
                return Ok(false);
            }
            at += now.len() as u64;
            rest = later;
        }
        Ok(true)
    }

    fn start(&self, number: u32) -> Result<u64> {
        let mut start = [0; START_BYTES];
        self.starts.read(&mut start, u64::from(number) * START_BYTES as u64)?;
        Ok(decode_start(&start))
    }

    /// Fills a buffer with bytes of records, all from one page.
    fn read(&self, buffer: &mut [u8], at: u64) -> Result<()> {
        let (page, within) = (at / BYTES_PER_PAGE, at % BYTES_PER_PAGE);
        let start = page * PAGE_BYTES;
        if start < self.pages.length() {
            return self.pages.read(buffer, start + HEADER_BYTES as u64 + within);
        }
        buffer.copy_from_slice(&self.open[within as usize..][..buffer.len()]);
        Ok(())
    }

    /// Ends the region: writes the last page and the directory.
    pub fn finish(mut self) -> Result<NewRecords> {
        self.flush()?;
        let shape = self.shape();
        let mut payload = Vec::new();
        for i in 0..shape.directory_pages() {
            payload.resize(shape.starts_in_page(i) as usize * START_BYTES, 0);
            let before = u64::from(i) * u64::from(STARTS_PER_PAGE) * START_BYTES as u64;
            self.starts.read(&mut payload, before)?;
            let place = shape.directory_place(self.extent, i);
            self.pages.push(&page::encode(place, &payload, self.seal))?;
        }
        Ok(NewRecords { pages: self.pages, bytes: self.bytes })
    }
}
