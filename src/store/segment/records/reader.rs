//! Reads records: kept sets or values.
//!
//! In: the number of a record. Out: its bytes. The directory gives its start, and the pages of records give its bytes.
//! A record within one page is borrowed from it. A record that spans pages is copied together first.
//!
//! A reader holds the pages that it read last. So reading records in order reads each page once, whatever the cache
//! does.

use super::rebuilt::Rebuilt;
use crate::error::{Error, Result};
use crate::format::bytes::broken;
use crate::format::record_pages::{
    BYTES_PER_PAGE, RecordDirectory, RecordPage, RecordShape, STARTS_PER_PAGE,
};
use crate::format::segment_header::Region;
use crate::store::page_source::{Keep, Pinned};
use crate::store::segment::Segment;
use crate::store::segment::reader::RecordTables;

/// What a reader must know of the records: how long they may be, and where one ends.
#[derive(Debug, Clone, Copy)]
pub(super) struct Encoding<F> {
    /// The length of the longest record.
    pub(super) longest: u64,
    /// Returns the length of the record at the start of these bytes.
    pub(super) length: F,
}

/// Reads records of a segment, one after the other.
#[derive(Debug)]
pub(super) struct RecordReader<'a> {
    segment: &'a Segment,
    shape: RecordShape,
    region: Region,
    tables: &'a RecordTables,
    keep: Keep,
    directory: Option<(u32, Pinned<RecordDirectory>)>,
    page: Option<(u32, Pinned<RecordPage>)>,
    /// The bytes of a record that spans pages.
    gathered: Vec<u8>,
    /// Recomputed starts, if the reader should work around damaged directory pages.
    rebuilt: Option<Rebuilt>,
}

impl<'a> RecordReader<'a> {
    /// Creates a reader of the records with this shape in a region of the segment.
    pub(super) fn new(
        segment: &'a Segment,
        (shape, region): (RecordShape, Region),
        tables: &'a RecordTables,
        keep: Keep,
    ) -> RecordReader<'a> {
        RecordReader {
            segment,
            shape,
            region,
            tables,
            keep,
            directory: None,
            page: None,
            gathered: Vec::new(),
            rebuilt: None,
        }
    }

    /// Lets the reader recompute unreadable directory pages from the records.
    pub(super) fn mending(mut self) -> RecordReader<'a> {
        self.rebuilt = Some(Rebuilt::default());
        self
    }

    /// Reads the directory page that contains the start of a record.
    pub(super) fn check_directory(&mut self, number: u32) -> Result<()> {
        self.directory_page(number / STARTS_PER_PAGE).map(drop)
    }

    /// Returns where a record starts and ends.
    pub(super) fn range<F>(&mut self, number: u32, encoding: Encoding<F>) -> Result<(u64, u64)>
    where
        F: FnMut(&[u8]) -> Result<usize>,
    {
        let Encoding { longest, mut length } = encoding;
        let mut encoding = Encoding { longest, length: &mut length };
        let start = self.start(number, &mut encoding)?;
        let end = match number + 1 < self.shape.count {
            true => self.start(number + 1, &mut encoding)?,
            false => self.shape.bytes,
        };
        // Starts ascend within a page, but a damaged file may break the order from page to page.
        match end.checked_sub(start) {
            Some(length) if (1..=longest).contains(&length) => Ok((start, end)),
            _ => {
                let detail = format!("record {number} has impossible bounds");
                Err(self.segment.lost(self.shape.records.rules().directory, detail))
            }
        }
    }

    /// Returns the bytes of a range of records, from one page or copied together from several.
    pub(super) fn bytes(&mut self, (start, end): (u64, u64)) -> Result<&[u8]> {
        let within = (start % BYTES_PER_PAGE) as usize;
        let length = (end - start) as usize;
        let last = (end - 1) / BYTES_PER_PAGE;
        let short = cut_short(self.shape);
        if start / BYTES_PER_PAGE == last {
            let page = self.record_page(last)?;
            return page.bytes().get(within..within + length).ok_or(short);
        }
        self.gathered.clear();
        let (mut from, mut left) = (within, length);
        for number in start / BYTES_PER_PAGE..=last {
            let mut gathered = std::mem::take(&mut self.gathered);
            let page = self.record_page(number)?.bytes();
            let Some(rest) = page.get(from..) else { return Err(short) };
            let now = left.min(rest.len());
            gathered.extend_from_slice(&rest[..now]);
            self.gathered = gathered;
            (from, left) = (0, left - now);
        }
        Ok(&self.gathered)
    }

    /// Returns the offset in the file of a byte of the records.
    pub(super) fn offset(&self, start: u64) -> u64 {
        let pages = start / BYTES_PER_PAGE * 24 + 24;
        self.segment.offset() + self.region.offset + start + pages
    }

    fn start<F>(&mut self, number: u32, encoding: &mut Encoding<F>) -> Result<u64>
    where
        F: FnMut(&[u8]) -> Result<usize>,
    {
        let (page, place) = (number / STARTS_PER_PAGE, (number % STARTS_PER_PAGE) as usize);
        if let Some(start) = self.rebuilt.as_ref().and_then(|rebuilt| rebuilt.start(page, place)) {
            return Ok(start);
        }
        let found = self.directory_page(page).map(|directory| directory.start(place));
        match found {
            Ok(Some(start)) => Ok(start),
            Err(Error::Corrupt { .. } | Error::UnsupportedFormat { .. })
                if self.rebuilt.is_some() =>
            {
                self.rebuild(page, encoding)?;
                let rebuilt = self.rebuilt.as_ref().and_then(|rebuilt| rebuilt.start(page, place));
                rebuilt.ok_or_else(|| self.without_start(number))
            }
            Err(error) => Err(error),
            Ok(None) => Err(self.without_start(number)),
        }
    }

    fn without_start(&self, number: u32) -> Error {
        let rule = self.shape.records.rules().directory;
        self.segment.lost(rule, format!("record {number} has no start"))
    }

    /// Recomputes the starts of a directory page. Begins at the nearest earlier page whose first start is readable
    /// or already computed, and walks from record to record.
    fn rebuild<F>(&mut self, page: u32, encoding: &mut Encoding<F>) -> Result<()>
    where
        F: FnMut(&[u8]) -> Result<usize>,
    {
        let Some(mut rebuilt) = self.rebuilt.take() else { return Ok(()) };
        let made = self.rebuild_into(&mut rebuilt, page, encoding);
        self.rebuilt = Some(rebuilt);
        made
    }

    fn rebuild_into<F>(
        &mut self,
        rebuilt: &mut Rebuilt,
        page: u32,
        encoding: &mut Encoding<F>,
    ) -> Result<()>
    where
        F: FnMut(&[u8]) -> Result<usize>,
    {
        let (mut from, mut start) = rebuilt.last_known(page);
        let readable = (from + 1..page).rev().find_map(|before| {
            let directory = self.directory_page(before).ok()?;
            directory.start(0).map(|start| (before, start))
        });
        (from, start) = readable.unwrap_or((from, start));
        for passed in from..=page {
            rebuilt.passed(passed, start);
            let count = self.shape.starts_in_page(passed);
            let mut starts = Vec::with_capacity(count as usize);
            for _ in 0..count {
                starts.push(start);
                start = self.end_of(start, encoding)?;
            }
            if passed == page {
                rebuilt.insert(page, starts);
            }
        }
        if page + 1 < self.shape.directory_pages() {
            rebuilt.passed(page + 1, start);
        }
        Ok(())
    }

    /// Returns where the record that starts at `start` ends.
    fn end_of<F>(&mut self, start: u64, encoding: &mut Encoding<F>) -> Result<u64>
    where
        F: FnMut(&[u8]) -> Result<usize>,
    {
        let (all, rules) = (self.shape.bytes, self.shape.records.rules());
        // Most records are short, so try a few bytes first, and more if the record is cut.
        let mut most = 256;
        loop {
            let end = all.min(start.saturating_add(most));
            if start >= end {
                return Err(self.segment.lost(rules.record, "there are too few records".into()));
            }
            match self.bytes((start, end)).and_then(|bytes| (encoding.length)(bytes)) {
                Ok(length) => return Ok(start + length as u64),
                Err(Error::Corrupt { rule, .. })
                    if rule == rules.whole && end < all && most < encoding.longest =>
                {
                    most *= 8;
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn record_page(&mut self, number: u64) -> Result<&RecordPage> {
        let Ok(number) = u32::try_from(number) else {
            let rule = self.shape.records.rules().region;
            return Err(self.segment.lost(rule, "it is too long for its page numbers".into()));
        };
        if self.page.as_ref().is_none_or(|(held, _)| *held != number) {
            self.page = None;
            let (segment, shape) = (self.segment, self.shape);
            let place = shape.place(segment.id(), number);
            let most = place.kind.max_bytes() as u64;
            let extent = segment.extent(self.region, place.number, most);
            let table = (&self.tables.pages, number);
            let view = |page| RecordPage::new(page, shape.records, shape.bytes_in_page(number));
            let page = segment.source().page_in(table, place, extent, self.keep, view)?;
            self.page = Some((number, page));
        }
        Ok(self.page.as_ref().map(|(_, page)| &**page).expect("set above"))
    }

    fn directory_page(&mut self, number: u32) -> Result<&RecordDirectory> {
        if self.directory.as_ref().is_none_or(|(held, _)| *held != number) {
            self.directory = None;
            let (segment, shape) = (self.segment, self.shape);
            let place = shape.directory_place(segment.id(), number);
            let most = place.kind.max_bytes() as u64;
            let extent = segment.extent(self.region, place.number, most);
            let table = (&self.tables.directory, number);
            let view = |page| RecordDirectory::new(page, number, shape);
            let page = segment.source().page_in(table, place, extent, self.keep, view)?;
            self.directory = Some((number, page));
        }
        Ok(self.directory.as_ref().map(|(_, page)| &**page).expect("set above"))
    }
}

/// The error for a page that is shorter than the header says.
fn cut_short(shape: RecordShape) -> Error {
    let rules = shape.records.rules();
    broken(rules.what, rules.page, 20, "it is cut short")
}
