//! The leaves of a segment without its fences: for repair and salvage, when fences or other leaves are
//! damaged.
//!
//! Pages of the key region stand one after the other. A page that does not verify says nothing about its
//! length, so the scan looks for the next one that does, unit by unit; a page knows its own place.

use super::Segment;
use crate::error::{Error, Result};
use crate::format::UNIT;
use crate::format::bytes::{Seal, position};
use crate::format::leaf_page::LeafPage;
use crate::format::page::{AlignedBytes, Claim, HEADER_BYTES, Page, PageKind, PagePlace};
use crate::store::page_source::PageSource;

/// What stands at a unit of the keys.
enum Here {
    /// A page, and its length in units.
    Page(PageKind, Page, u64),
    /// Nothing that verifies.
    Nothing,
    /// The end of the file. A region may claim to go on for longer than anybody could look.
    End,
}

/// A walk over the pages of keys.
#[derive(Debug)]
pub struct LeafScan<'a> {
    segment: &'a Segment,
    unit: u64,
}

impl<'a> LeafScan<'a> {
    /// From the first page.
    pub fn new(segment: &'a Segment) -> LeafScan<'a> {
        LeafScan { segment, unit: 0 }
    }

    /// The next leaf that verifies. Errors are those of reading the file.
    pub fn next_leaf(&mut self) -> Result<Option<LeafPage>> {
        let header = self.segment.header();
        while self.start() < header.keys.length {
            let (kind, page, units) = match self.page_here()? {
                Here::Page(kind, page, units) => (kind, page, units),
                Here::Nothing => {
                    self.unit += 1;
                    continue;
                }
                Here::End => break,
            };
            self.unit += units;
            if kind == PageKind::Leaf
                && let Ok(leaf) = LeafPage::new(page, header.rows, header.ids)
            {
                return Ok(Some(leaf));
            }
        }
        Ok(None)
    }

    /// Where this unit starts in the region.
    fn start(&self) -> u64 {
        self.unit * position(UNIT)
    }

    /// The page that starts at this unit, if one does.
    fn page_here(&self) -> Result<Here> {
        let source = self.segment.source();
        let region = self.segment.header().keys;
        let start = self.start();
        let offset = self.segment.offset() + region.offset + start;
        let mut head = [0; HEADER_BYTES];
        if source.read_up_to(&mut head, offset)? < HEADER_BYTES {
            return Ok(Here::End);
        }
        let claim = Claim::of(&head);
        let kind = claim.and_then(|claim| claim.kind_among(&[PageKind::Leaf, PageKind::Fence]));
        let (Some(kind), Some(Claim { length: whole, .. })) = (kind, claim) else {
            return Ok(Here::Nothing);
        };
        if whole > kind.max_bytes() || start + whole as u64 > region.length {
            return Ok(Here::Nothing);
        }
        let Ok(number) = u32::try_from(self.unit) else { return Ok(Here::Nothing) };
        let place = PagePlace { kind, block: self.segment.id(), number };
        let verified = verify(source, place, offset, whole)?;
        let units = position(whole / UNIT);
        Ok(verified.map_or(Here::Nothing, |page| Here::Page(kind, page, units)))
    }
}

fn verify(
    source: &PageSource,
    place: PagePlace,
    offset: u64,
    length: usize,
) -> Result<Option<Page>> {
    let mut bytes = AlignedBytes::zeroed(length);
    let read = source.read_up_to(bytes.bytes_mut(), offset)?;
    bytes.truncate(read);
    let seal: Seal = source.seal();
    match Page::verify(bytes, place, seal) {
        Ok(page) => Ok(Some(page)),
        Err(Error::Corrupt { .. } | Error::UnsupportedFormat { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}
