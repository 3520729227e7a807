//! Finds the leaf pages of a segment without its fence pages, for repair and salvage of damaged files.
//!
//! In: a segment. Out: the leaf pages that pass verification. The pages of the key region follow each other without
//! gaps. The length of a damaged page is unknown. So the scan tries every following multiple of 64 bytes (`UNIT`)
//! until a page passes. A page header names its segment and its page number, so no page is mistaken for another.

use super::Segment;
use crate::error::{Error, Result};
use crate::format::UNIT;
use crate::format::bytes::{Seal, position};
use crate::format::leaf_page::LeafPage;
use crate::format::page::{AlignedBytes, Claim, HEADER_BYTES, Page, PageKind, PagePlace};
use crate::store::page_source::PageSource;

/// What starts at a multiple of 64 bytes in the key region.
enum Here {
    /// A page that passed verification, and its length in units of 64 bytes.
    Page(PageKind, Page, u64),
    /// No such page.
    Nothing,
    /// The end of the file. The scan ends here, because a header can claim a region that is far longer than the file.
    End,
}

/// A scan of the key region.
#[derive(Debug)]
pub struct LeafScan<'a> {
    segment: &'a Segment,
    unit: u64,
}

impl<'a> LeafScan<'a> {
    /// Starts at the first page.
    pub fn new(segment: &'a Segment) -> LeafScan<'a> {
        LeafScan { segment, unit: 0 }
    }

    /// Returns the next leaf page that passes verification. Fails only on I/O errors.
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

    /// The offset of the current unit in the region.
    fn start(&self) -> u64 {
        self.unit * position(UNIT)
    }

    /// Returns the page that starts at the current unit, if any.
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
        let place = PagePlace { kind, extent: self.segment.id(), number };
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
