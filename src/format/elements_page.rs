//! Pages of kept sets: the encoded sets of all ids, one after the other, and a directory of their starts.
//! Implements `format-spec/elements.md`.
//!
//! In: verified pages. Out: checked views, and the places of pages. All pages but the last of each kind hold the
//! same number of bytes or starts, so a set is found by division. A lookup reads one directory page, or two if the
//! next start is in another one, and the pages with the bytes of the set. `kept_set` knows how a set is encoded;
//! this module does not.

use super::bytes::{broken, index, position, round_up};
use super::page::{HEADER_BYTES, Page, PageKind, PagePlace};
use crate::error::Result;
use byteorder::{ByteOrder, LittleEndian};

const WHAT: &str = "elements page";

/// The bytes of encoded sets in every page but the last.
pub const BYTES_PER_PAGE: u64 = 8_192 - 24;

/// The number of starts in every directory page but the last.
pub const STARTS_PER_PAGE: u32 = (8_192 - 24) / 5;

/// The length of a start in bytes.
pub const START_BYTES: usize = 5;

/// The distance between pages, in units of 64 bytes.
const PAGE_UNITS: u32 = 8_192 / 64;

/// The size of the kept sets of a segment, from which the places of all pages follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ElementsShape {
    /// The length of all encoded sets together, in bytes.
    pub set_bytes: u64,
    /// The number of sets.
    pub ids: u32,
}

impl ElementsShape {
    /// The number of pages of sets.
    pub fn pages(self) -> u64 {
        self.set_bytes.div_ceil(BYTES_PER_PAGE)
    }

    /// The number of pages of the directory.
    pub fn directory_pages(self) -> u32 {
        self.ids.div_ceil(STARTS_PER_PAGE)
    }

    /// The bytes of sets in page `i`.
    pub fn bytes_in_page(self, i: u32) -> u64 {
        let before = u64::from(i).saturating_mul(BYTES_PER_PAGE);
        self.set_bytes.saturating_sub(before).min(BYTES_PER_PAGE)
    }

    /// The number of starts in directory page `i`.
    pub fn starts_in_page(self, i: u32) -> u32 {
        self.ids.saturating_sub(i.saturating_mul(STARTS_PER_PAGE)).min(STARTS_PER_PAGE)
    }

    /// The length of all pages of sets. The directory starts there.
    fn page_bytes(self) -> u64 {
        let full = self.set_bytes.checked_div(BYTES_PER_PAGE).unwrap_or(0);
        let left = self.set_bytes.checked_rem(BYTES_PER_PAGE).unwrap_or(0);
        full.saturating_mul(8_192).saturating_add(last_page_bytes(left))
    }

    /// The length of the whole region in bytes.
    pub fn region_bytes(self) -> u64 {
        let full = u64::from(self.ids.checked_div(STARTS_PER_PAGE).unwrap_or(0));
        let left = u64::from(self.ids.checked_rem(STARTS_PER_PAGE).unwrap_or(0));
        let directory =
            full.saturating_mul(8_192).saturating_add(last_page_bytes(left.saturating_mul(5)));
        self.page_bytes().saturating_add(directory)
    }

    /// The place of page `i` of the sets.
    pub fn place(self, extent: u64, i: u32) -> PagePlace {
        PagePlace { kind: PageKind::Elements, extent, number: i.saturating_mul(PAGE_UNITS) }
    }

    /// The place of page `i` of the directory, which follows the sets.
    pub fn directory_place(self, extent: u64, i: u32) -> PagePlace {
        let sets = u32::try_from(self.page_bytes() / 64).unwrap_or(u32::MAX);
        let number = sets.saturating_add(i.saturating_mul(PAGE_UNITS));
        PagePlace { kind: PageKind::ElementsDirectory, extent, number }
    }
}

/// The length of a page with this payload. Without payload there is no page, and the length is 0.
fn last_page_bytes(payload: u64) -> u64 {
    match usize::try_from(payload) {
        Ok(0) => 0,
        Ok(payload) => position(round_up(HEADER_BYTES.saturating_add(payload))),
        Err(_) => u64::MAX,
    }
}

/// A checked page of sets.
#[derive(Debug, Clone)]
pub struct ElementsPage {
    page: Page,
}

impl ElementsPage {
    /// Checks a page that holds this many bytes of sets.
    pub fn new(page: Page, bytes: u64) -> Result<ElementsPage> {
        if position(page.payload().len()) != bytes || bytes == 0 {
            return Err(broken(WHAT, "KEPT-6", 20, format!("it does not hold {bytes} bytes")));
        }
        Ok(ElementsPage { page })
    }

    /// The bytes of sets. The first and the last set may be only partly in this page.
    pub fn bytes(&self) -> &[u8] {
        self.page.payload()
    }

    /// The memory that the page takes.
    pub fn memory(&self) -> usize {
        self.page.memory()
    }
}

/// A checked page of the directory: the starts of sets.
#[derive(Debug, Clone)]
pub struct ElementsDirectory {
    page: Page,
}

impl ElementsDirectory {
    /// Checks page `i` of the directory of sets of this shape.
    pub fn new(page: Page, i: u32, shape: ElementsShape) -> Result<ElementsDirectory> {
        let page = ElementsDirectory { page };
        let count = index(shape.starts_in_page(i));
        let whole = page.page.payload().len() == count.saturating_mul(START_BYTES) && count > 0;
        let starts = || (0..count).filter_map(|i| page.start(i));
        let rising = starts().is_sorted_by(|a, b| a < b);
        let first = i > 0 || page.start(0) == Some(0);
        let inside = starts().next_back().is_some_and(|last| last < shape.set_bytes);
        if !whole || !rising || !first || !inside {
            let detail = format!("it does not hold {count} rising starts");
            return Err(broken(WHAT, "KEPT-7", 20, detail));
        }
        Ok(page)
    }

    /// The start of set `i` of the page. `None` past the last one.
    pub fn start(&self, i: usize) -> Option<u64> {
        let bytes = self.page.payload().get(i.checked_mul(START_BYTES)?..)?;
        Some(decode_start(bytes.first_chunk()?))
    }

    /// The memory that the page takes.
    pub fn memory(&self) -> usize {
        self.page.memory()
    }
}

/// Encodes a start.
pub fn encode_start(start: u64) -> [u8; START_BYTES] {
    let mut bytes = [0; 8];
    LittleEndian::write_u64(&mut bytes, start);
    *bytes.first_chunk().unwrap_or(&[0; START_BYTES])
}

/// Decodes a start.
pub fn decode_start(bytes: &[u8; START_BYTES]) -> u64 {
    LittleEndian::read_uint(bytes, START_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;
    use crate::format::bytes::Seal;
    use crate::format::page::encode;

    fn page(kind: PageKind, payload: &[u8]) -> Page {
        let place = PagePlace { kind, extent: 4, number: 0 };
        let seal = Seal::of([1; 16]);
        Page::verify(encode(place, payload, seal)[..].into(), place, seal).unwrap()
    }

    fn rule<T: std::fmt::Debug>(result: Result<T>) -> &'static str {
        match result {
            Err(Error::Corrupt { rule, .. }) => rule,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn each_rule_refuses() {
        let sets = |payload: &[u8]| page(PageKind::Elements, payload);
        assert_eq!(ElementsPage::new(sets(&[1, 2, 3]), 3).unwrap().bytes(), [1, 2, 3]);
        assert_eq!(rule(ElementsPage::new(sets(&[1, 2, 3]), 2)), "KEPT-6");
        assert_eq!(rule(ElementsPage::new(sets(&[]), 0)), "KEPT-6");
        let starts = |starts: &[u64]| {
            let bytes: Vec<u8> = starts.iter().flat_map(|s| encode_start(*s)).collect();
            page(PageKind::ElementsDirectory, &bytes)
        };
        let shape = ElementsShape { set_bytes: 1 << 36, ids: 3 };
        let good = ElementsDirectory::new(starts(&[0, 5, (1 << 36) - 1]), 0, shape).unwrap();
        assert_eq!(
            [0, 1, 2, 3].map(|i| good.start(i)),
            [Some(0), Some(5), Some((1 << 36) - 1), None]
        );
        for bad in
            [&[0, 5][..], &[0, 5, 6, 7], &[1, 5, 6], &[0, 5, 5], &[0, 6, 5], &[0, 5, 1 << 36]]
        {
            assert_eq!(rule(ElementsDirectory::new(starts(bad), 0, shape)), "KEPT-7", "{bad:?}");
        }
        let more = ElementsShape { ids: STARTS_PER_PAGE + 2, ..shape };
        assert!(ElementsDirectory::new(starts(&[7, 9]), 1, more).is_ok());
        assert_eq!(rule(ElementsDirectory::new(starts(&[]), 2, more)), "KEPT-7");
    }

    #[test]
    fn pages_are_counted_and_placed_one_after_the_other() {
        let shape = |set_bytes, ids| ElementsShape { set_bytes, ids };
        assert_eq!(shape(1, 1).region_bytes(), 64 + 64);
        assert_eq!(shape(8_168, 1_633).region_bytes(), 8_192 + 8_192);
        assert_eq!(shape(8_169, 1_634).region_bytes(), 8_192 + 64 + 8_192 + 64);
        let many = shape(3 * 8_168 + 100, 2 * 1_633 + 1);
        assert_eq!((many.pages(), many.directory_pages()), (4, 3));
        assert_eq!([0, 2, 3, 4].map(|i| many.bytes_in_page(i)), [8_168, 8_168, 100, 0]);
        assert_eq!([0, 1, 2, 3].map(|i| many.starts_in_page(i)), [1_633, 1_633, 1, 0]);
        let directory = |number| PagePlace { kind: PageKind::ElementsDirectory, extent: 7, number };
        assert_eq!(
            many.place(7, 3),
            PagePlace { kind: PageKind::Elements, extent: 7, number: 384 }
        );
        assert_eq!(many.directory_place(7, 1), directory(384 + 2 + 128));
        assert_eq!(shape(u64::MAX, u32::MAX).region_bytes() >> 63, 1);
    }
}
