//! Writes the region of kept sets: pages as they fill, and the directory at the end.
//!
//! In: encoded sets, in the order of their ids. Out: the pages of the region.

use crate::error::{Error, Result};
use crate::format::bytes::Seal;
use crate::format::elements_page::{
    BYTES_PER_PAGE, ElementsShape, START_BYTES, STARTS_PER_PAGE, decode_start, encode_start,
};
use crate::format::page::{self, HEADER_BYTES, PageKind};
use crate::format::segment_header::MAX_REGION_BYTES;
use crate::store::segment::writer::SegmentPlan;
use crate::store::spill::Spill;

/// A region of sets that is being written.
#[derive(Debug)]
pub struct ElementsWriter {
    extent: u64,
    seal: Seal,
    pages: Spill,
    /// The payload of the page that is not full yet.
    open: Vec<u8>,
    /// The start of each set, encoded as in the directory.
    starts: Spill,
    set_bytes: u64,
    ids: u32,
}

/// The finished region of sets.
#[derive(Debug)]
pub struct NewElements {
    /// All pages.
    pub pages: Spill,
    /// The total bytes of all encoded sets.
    pub set_bytes: u64,
}

impl ElementsWriter {
    /// Starts a region, or returns `None` if the scheme keeps no sets.
    pub fn new(plan: &SegmentPlan) -> Option<ElementsWriter> {
        plan.scheme.elements.are_kept().then(|| ElementsWriter {
            extent: plan.extent,
            seal: Seal::of(plan.database),
            pages: Spill::new(&plan.spill),
            open: Vec::new(),
            starts: Spill::new(&plan.spill),
            set_bytes: 0,
            ids: 0,
        })
    }

    /// Adds the encoded set of the next id.
    pub fn push(&mut self, set: &[u8]) -> Result<()> {
        let shape = self.shape();
        // Leave space for the directory that will follow.
        if shape.region_bytes().saturating_add(set.len() as u64 + 2 * 8_192) > MAX_REGION_BYTES {
            return Err(Error::invalid(
                "the sets of a segment",
                "at most 256 GiB; keep segments smaller",
            ));
        }
        self.starts.push(&encode_start(self.set_bytes))?;
        let mut rest = set;
        while !rest.is_empty() {
            let room = BYTES_PER_PAGE as usize - self.open.len();
            let (now, later) = rest.split_at(room.min(rest.len()));
            self.open.extend_from_slice(now);
            rest = later;
            if self.open.len() == BYTES_PER_PAGE as usize {
                self.flush()?;
            }
        }
        self.set_bytes += set.len() as u64;
        self.ids += 1;
        Ok(())
    }

    fn shape(&self) -> ElementsShape {
        ElementsShape { set_bytes: self.set_bytes, ids: self.ids }
    }

    fn flush(&mut self) -> Result<()> {
        if !self.open.is_empty() {
            let pages = (self.pages.length() / PageKind::Elements.max_bytes() as u64) as u32;
            let place = self.shape().place(self.extent, pages);
            self.pages.push(&page::encode(place, &self.open, self.seal))?;
            self.open.clear();
        }
        Ok(())
    }

    /// Whether the set of an earlier id has these bytes.
    pub fn is_equal(&self, id: u32, set: &[u8]) -> Result<bool> {
        let start = self.start(id)?;
        let end = if id + 1 == self.ids { self.set_bytes } else { self.start(id + 1)? };
        if end - start != set.len() as u64 {
            return Ok(false);
        }
        let (mut at, mut rest) = (start, set);
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

    fn start(&self, id: u32) -> Result<u64> {
        let mut start = [0; START_BYTES];
        self.starts.read(&mut start, u64::from(id) * START_BYTES as u64)?;
        Ok(decode_start(&start))
    }

    /// Fills a buffer with bytes of sets, all from one page.
    fn read(&self, buffer: &mut [u8], at: u64) -> Result<()> {
        let (page, within) = (at / BYTES_PER_PAGE, at % BYTES_PER_PAGE);
        let start = page * PageKind::Elements.max_bytes() as u64;
        if start < self.pages.length() {
            return self.pages.read(buffer, start + HEADER_BYTES as u64 + within);
        }
        buffer.copy_from_slice(&self.open[within as usize..][..buffer.len()]);
        Ok(())
    }

    /// Ends the region: writes the last page and the directory.
    pub fn finish(mut self) -> Result<NewElements> {
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
        Ok(NewElements { pages: self.pages, set_bytes: self.set_bytes })
    }
}
