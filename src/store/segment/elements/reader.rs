//! Reads kept sets.
//!
//! In: a signature id. Out: the elements of its set. The directory gives the start of the encoded set, and elements
//! pages give its bytes. A set within one page is decoded in place. A set that spans pages is copied together
//! first.
//!
//! A reader holds the pages that it read last. So reading ids in order reads each page once, whatever the cache
//! does.

use std::sync::Arc;

use super::rebuilt::Rebuilt;
use crate::error::{Error, Result};
use crate::format::bytes::broken;
use crate::format::elements_page::{
    BYTES_PER_PAGE, ElementsDirectory, ElementsPage, ElementsShape, STARTS_PER_PAGE,
};
use crate::format::kept_set::{KeptShape, MAX_SET_BYTES};
use crate::format::page::PageKind;
use crate::store::page_source::{Keep, Pinned};
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
    keep: Keep,
    directory: Option<(u32, Pinned<ElementsDirectory>)>,
    page: Option<(u32, Pinned<ElementsPage>)>,
    /// The bytes of a set that spans pages.
    gathered: Vec<u8>,
    elements: Vec<u64>,
    /// Recomputed starts, if the reader should work around damaged directory pages.
    rebuilt: Option<Rebuilt>,
}

impl<'a> SetReader<'a> {
    /// Creates a reader for a segment.
    pub fn new(segment: &'a Segment, keep: Keep) -> SetReader<'a> {
        SetReader {
            segment,
            keep,
            directory: None,
            page: None,
            gathered: Vec::new(),
            elements: Vec::new(),
            rebuilt: None,
        }
    }

    /// Creates a reader that recomputes unreadable directory pages from the sets.
    pub fn mending(segment: &'a Segment, keep: Keep) -> SetReader<'a> {
        SetReader { rebuilt: Some(Rebuilt::default()), ..SetReader::new(segment, keep) }
    }

    /// Reads the directory page that contains the start of an id.
    pub fn check_directory(&mut self, id: u32) -> Result<()> {
        let Some((shape, _)) = self.shape() else { return Ok(()) };
        self.directory_page(shape, id / STARTS_PER_PAGE).map(drop)
    }

    /// Appends the elements of an id, in ascending order. Appends nothing if the scheme keeps no sets.
    pub fn elements(&mut self, id: u32, into: &mut Vec<u64>) -> Result<()> {
        let Some((shape, kept)) = self.shape() else { return Ok(()) };
        let before = into.len();
        let range = self.range(shape, id)?;
        let bytes = self.bytes(shape, range)?;
        let decoded = kept.decode(bytes, into).map_err(|error| match error {
            Error::Corrupt { what, rule, detail, .. } => broken(what, rule, 0, detail),
            other => other,
        });
        let whole = decoded.map(|length| length == bytes.len());
        self.check(id, whole, into.len() - before, range.0)
    }

    /// Checks KEPT-8 and KEPT-9 for a decoded set.
    fn check(&self, id: u32, whole: Result<bool>, count: usize, start: u64) -> Result<()> {
        let region = self.segment.header().elements.map_or(0, |kept| kept.region.offset);
        let offset = self.segment.offset() + region + 24 + start + start / BYTES_PER_PAGE * 24;
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
        let Some((shape, _)) = self.shape() else { return Ok(&[]) };
        let mut elements = std::mem::take(&mut self.elements);
        elements.clear();
        let checked = self.elements(id, &mut elements);
        self.elements = elements;
        checked?;
        let range = self.range(shape, id)?;
        self.bytes(shape, range)
    }

    fn shape(&self) -> Option<(ElementsShape, KeptShape)> {
        Some((self.segment.header().elements_shape()?, KeptShape::of(self.segment.scheme())?))
    }

    /// Returns where the set of an id starts and ends.
    fn range(&mut self, shape: ElementsShape, id: u32) -> Result<(u64, u64)> {
        let start = self.start(shape, id)?;
        let end = if id + 1 < shape.ids { self.start(shape, id + 1)? } else { shape.set_bytes };
        // Starts ascend within a page, but a damaged file may break the order from page to page.
        match end.checked_sub(start) {
            Some(length) if (1..=MAX_SET_BYTES).contains(&length) => Ok((start, end)),
            _ => {
                let detail = format!("the set of id {id} has impossible bounds");
                Err(self.segment.lost("KEPT-7", detail))
            }
        }
    }

    fn start(&mut self, shape: ElementsShape, id: u32) -> Result<u64> {
        let (page, place) = (id / STARTS_PER_PAGE, (id % STARTS_PER_PAGE) as usize);
        if let Some(start) = self.rebuilt.as_ref().and_then(|rebuilt| rebuilt.start(page, place)) {
            return Ok(start);
        }
        let found = self.directory_page(shape, page).map(|directory| directory.start(place));
        match found {
            Ok(Some(start)) => Ok(start),
            Err(Error::Corrupt { .. } | Error::UnsupportedFormat { .. })
                if self.rebuilt.is_some() =>
            {
                self.rebuild(shape, page)?;
                let rebuilt = self.rebuilt.as_ref().and_then(|rebuilt| rebuilt.start(page, place));
                rebuilt.ok_or_else(|| self.segment.lost("KEPT-7", format!("id {id} has no start")))
            }
            Err(error) => Err(error),
            Ok(None) => Err(self.segment.lost("KEPT-7", format!("id {id} has no start"))),
        }
    }

    /// Recomputes the starts of a directory page. Begins at the nearest earlier page whose first start is readable
    /// or already computed, and walks from set to set.
    fn rebuild(&mut self, shape: ElementsShape, page: u32) -> Result<()> {
        let Some(mut rebuilt) = self.rebuilt.take() else { return Ok(()) };
        let made = self.rebuild_into(&mut rebuilt, shape, page);
        self.rebuilt = Some(rebuilt);
        made
    }

    fn rebuild_into(
        &mut self,
        rebuilt: &mut Rebuilt,
        shape: ElementsShape,
        page: u32,
    ) -> Result<()> {
        let (mut from, mut start) = rebuilt.last_known(page);
        let readable = (from + 1..page).rev().find_map(|before| {
            let directory = self.directory_page(shape, before).ok()?;
            directory.start(0).map(|start| (before, start))
        });
        (from, start) = readable.unwrap_or((from, start));
        for passed in from..=page {
            rebuilt.passed(passed, start);
            let count = shape.starts_in_page(passed);
            let mut starts = Vec::with_capacity(count as usize);
            for _ in 0..count {
                starts.push(start);
                start = self.end_of(shape, start)?;
            }
            if passed == page {
                rebuilt.insert(page, starts);
            }
        }
        if page + 1 < shape.directory_pages() {
            rebuilt.passed(page + 1, start);
        }
        Ok(())
    }

    /// Returns where the set that starts at `start` ends.
    fn end_of(&mut self, shape: ElementsShape, start: u64) -> Result<u64> {
        let Some((_, kept)) = self.shape() else { return Ok(start) };
        let mut elements = std::mem::take(&mut self.elements);
        // Most sets are short, so try a few bytes first, and more if the set is cut.
        let mut most = 256;
        let end = loop {
            let end = shape.set_bytes.min(start.saturating_add(most));
            if start >= end {
                break Err(self.segment.lost("KEPT-8", "there are fewer sets than ids".into()));
            }
            elements.clear();
            match self
                .bytes(shape, (start, end))
                .and_then(|bytes| kept.decode(bytes, &mut elements))
            {
                Ok(length) => break Ok(start + length as u64),
                Err(Error::Corrupt { rule: "KEPT-1", .. })
                    if end < shape.set_bytes && most < MAX_SET_BYTES =>
                {
                    most *= 8;
                }
                Err(error) => break Err(error),
            }
        };
        self.elements = elements;
        end
    }

    /// Returns bytes of sets, from one page or copied together from several.
    fn bytes(&mut self, shape: ElementsShape, (start, end): (u64, u64)) -> Result<&[u8]> {
        let within = (start % BYTES_PER_PAGE) as usize;
        let length = (end - start) as usize;
        let last = (end - 1) / BYTES_PER_PAGE;
        if start / BYTES_PER_PAGE == last {
            let page = self.elements_page(shape, last)?;
            return page.bytes().get(within..within + length).ok_or_else(cut_short);
        }
        self.gathered.clear();
        let (mut from, mut left) = (within, length);
        for number in start / BYTES_PER_PAGE..=last {
            let mut gathered = std::mem::take(&mut self.gathered);
            let page = self.elements_page(shape, number)?.bytes();
            let rest = page.get(from..).ok_or_else(cut_short)?;
            let now = left.min(rest.len());
            gathered.extend_from_slice(&rest[..now]);
            self.gathered = gathered;
            (from, left) = (0, left - now);
        }
        Ok(&self.gathered)
    }

    fn elements_page(&mut self, shape: ElementsShape, number: u64) -> Result<&ElementsPage> {
        let Ok(number) = u32::try_from(number) else {
            return Err(self.segment.lost("KEPT-5", "it is too long for its page numbers".into()));
        };
        if self.page.as_ref().is_none_or(|(held, _)| *held != number) {
            self.page = None;
            let (segment, place) = (self.segment, shape.place(self.segment.id(), number));
            let region = segment.header().elements.map(|kept| kept.region).expect("it has a shape");
            let most = PageKind::Elements.max_bytes() as u64;
            let extent = segment.extent(region, place.number, most);
            let table = (&segment.tables().elements, number);
            let view = |page| ElementsPage::new(page, shape.bytes_in_page(number));
            let page = segment.source().page_in(table, place, extent, self.keep, view)?;
            self.page = Some((number, page));
        }
        Ok(self.page.as_ref().map(|(_, page)| &**page).expect("set above"))
    }

    fn directory_page(&mut self, shape: ElementsShape, number: u32) -> Result<&ElementsDirectory> {
        if self.directory.as_ref().is_none_or(|(held, _)| *held != number) {
            self.directory = None;
            let (segment, place) = (self.segment, shape.directory_place(self.segment.id(), number));
            let region = segment.header().elements.map(|kept| kept.region).expect("it has a shape");
            let most = PageKind::ElementsDirectory.max_bytes() as u64;
            let extent = segment.extent(region, place.number, most);
            let table = (&segment.tables().elements_directory, number);
            let view = |page| ElementsDirectory::new(page, number, shape);
            let page = segment.source().page_in(table, place, extent, self.keep, view)?;
            self.directory = Some((number, page));
        }
        Ok(self.directory.as_ref().map(|(_, page)| &**page).expect("set above"))
    }
}

/// The error for a page that is shorter than the header says.
fn cut_short() -> Error {
    broken("elements page", "KEPT-6", 20, "it is cut short")
}
