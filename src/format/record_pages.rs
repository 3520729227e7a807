//! Pages of records: kept sets or values, one after the other, and a directory of their starts. Implements
//! `format-spec/elements.md` and `format-spec/values.md`.
//!
//! In: verified pages. Out: checked views, and the places of pages. All pages but the last of each kind hold the
//! same number of bytes or starts, so a record is found by division. A lookup reads one directory page, or two if
//! the next start is in another one, and the pages with the bytes of the record. `kept_set` and `value` know how a
//! record is encoded; this module does not.

use super::bytes::{broken, index, position, round_up};
use super::page::{HEADER_BYTES, Page, PageKind, PagePlace};
use crate::error::Result;
use byteorder::{ByteOrder, LittleEndian};

/// The bytes of records in every page but the last.
pub const BYTES_PER_PAGE: u64 = 8_192 - 24;

/// The number of starts in every directory page but the last.
pub const STARTS_PER_PAGE: u32 = (8_192 - 24) / 5;

/// The length of a start in bytes.
pub const START_BYTES: usize = 5;

/// The distance between pages, in units of 64 bytes.
const PAGE_UNITS: u32 = 8_192 / 64;

/// What the records of a region are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Records {
    /// The kept set of each id.
    Sets,
    /// The value of each row.
    Values,
}

/// The names of a region of records in errors, and the rules that it keeps.
#[derive(Debug, Clone, Copy)]
pub struct Rules {
    /// What its pages are.
    pub what: &'static str,
    /// A page holds the bytes that its place gives.
    pub page: &'static str,
    /// A directory page holds rising starts.
    pub directory: &'static str,
    /// A record ends where the next one starts.
    pub record: &'static str,
    /// A record has all bytes that it needs.
    pub whole: &'static str,
    /// The region is as long as its counts give.
    pub region: &'static str,
}

const SETS: Rules = Rules {
    what: "elements page",
    page: "KEPT-6",
    directory: "KEPT-7",
    record: "KEPT-8",
    whole: "KEPT-1",
    region: "KEPT-5",
};

const VALUES: Rules = Rules {
    what: "values page",
    page: "VALUE-4",
    directory: "VALUE-5",
    record: "VALUE-6",
    whole: "VALUE-1",
    region: "VALUE-3",
};

impl Records {
    /// The names and rules of these records.
    pub fn rules(self) -> &'static Rules {
        match self {
            Records::Sets => &SETS,
            Records::Values => &VALUES,
        }
    }

    /// The kind of the pages of records.
    pub fn page_kind(self) -> PageKind {
        match self {
            Records::Sets => PageKind::Elements,
            Records::Values => PageKind::Values,
        }
    }

    /// The kind of the pages of the directory.
    pub fn directory_kind(self) -> PageKind {
        match self {
            Records::Sets => PageKind::ElementsDirectory,
            Records::Values => PageKind::ValuesDirectory,
        }
    }
}

/// The size of a region of records, from which the places of all pages follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordShape {
    /// What the records are.
    pub records: Records,
    /// The length of all records together, in bytes.
    pub bytes: u64,
    /// The number of records.
    pub count: u32,
}

impl RecordShape {
    /// The number of pages of records.
    pub fn pages(self) -> u64 {
        self.bytes.div_ceil(BYTES_PER_PAGE)
    }

    /// The number of pages of the directory.
    pub fn directory_pages(self) -> u32 {
        self.count.div_ceil(STARTS_PER_PAGE)
    }

    /// The bytes of records in page `i`.
    pub fn bytes_in_page(self, i: u32) -> u64 {
        let before = u64::from(i).saturating_mul(BYTES_PER_PAGE);
        self.bytes.saturating_sub(before).min(BYTES_PER_PAGE)
    }

    /// The number of starts in directory page `i`.
    pub fn starts_in_page(self, i: u32) -> u32 {
        self.count.saturating_sub(i.saturating_mul(STARTS_PER_PAGE)).min(STARTS_PER_PAGE)
    }

    /// The length of all pages of records. The directory starts there.
    fn page_bytes(self) -> u64 {
        let full = self.bytes.checked_div(BYTES_PER_PAGE).unwrap_or(0);
        let left = self.bytes.checked_rem(BYTES_PER_PAGE).unwrap_or(0);
        full.saturating_mul(8_192).saturating_add(last_page_bytes(left))
    }

    /// The length of the whole region in bytes.
    pub fn region_bytes(self) -> u64 {
        let full = u64::from(self.count.checked_div(STARTS_PER_PAGE).unwrap_or(0));
        let left = u64::from(self.count.checked_rem(STARTS_PER_PAGE).unwrap_or(0));
        let directory =
            full.saturating_mul(8_192).saturating_add(last_page_bytes(left.saturating_mul(5)));
        self.page_bytes().saturating_add(directory)
    }

    /// The place of page `i` of the records.
    pub fn place(self, extent: u64, i: u32) -> PagePlace {
        PagePlace { kind: self.records.page_kind(), extent, number: i.saturating_mul(PAGE_UNITS) }
    }

    /// The place of page `i` of the directory, which follows the records.
    pub fn directory_place(self, extent: u64, i: u32) -> PagePlace {
        let records = u32::try_from(self.page_bytes() / 64).unwrap_or(u32::MAX);
        let number = records.saturating_add(i.saturating_mul(PAGE_UNITS));
        PagePlace { kind: self.records.directory_kind(), extent, number }
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

/// A checked page of records.
#[derive(Debug, Clone)]
pub struct RecordPage {
    page: Page,
}

impl RecordPage {
    /// Checks a page that holds this many bytes of records.
    pub fn new(page: Page, records: Records, bytes: u64) -> Result<RecordPage> {
        if position(page.payload().len()) != bytes || bytes == 0 {
            let Rules { what, page, .. } = records.rules();
            return Err(broken(what, page, 20, format!("it does not hold {bytes} bytes")));
        }
        Ok(RecordPage { page })
    }

    /// The bytes of records. The first and the last one may be only partly in this page.
    pub fn bytes(&self) -> &[u8] {
        self.page.payload()
    }

    /// The memory that the page takes.
    pub fn memory(&self) -> usize {
        self.page.memory()
    }
}

/// A checked page of the directory: the starts of records.
#[derive(Debug, Clone)]
pub struct RecordDirectory {
    page: Page,
}

impl RecordDirectory {
    /// Checks page `i` of the directory of records of this shape.
    pub fn new(page: Page, i: u32, shape: RecordShape) -> Result<RecordDirectory> {
        let page = RecordDirectory { page };
        let count = index(shape.starts_in_page(i));
        let whole = page.page.payload().len() == count.saturating_mul(START_BYTES) && count > 0;
        let starts = || (0..count).filter_map(|i| page.start(i));
        let rising = starts().is_sorted_by(|a, b| a < b);
        let first = i > 0 || page.start(0) == Some(0);
        let inside = starts().next_back().is_some_and(|last| last < shape.bytes);
        if !whole || !rising || !first || !inside {
            let detail = format!("it does not hold {count} rising starts");
            let Rules { what, directory, .. } = shape.records.rules();
            return Err(broken(what, directory, 20, detail));
        }
        Ok(page)
    }

    /// The start of record `i` of the page. `None` past the last one.
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

    const BOTH: [(Records, &str, &str); 2] =
        [(Records::Sets, "KEPT-6", "KEPT-7"), (Records::Values, "VALUE-4", "VALUE-5")];

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
        for (records, of_pages, of_directories) in BOTH {
            let bytes = |payload: &[u8], bytes| {
                RecordPage::new(page(records.page_kind(), payload), records, bytes)
            };
            assert_eq!(bytes(&[1, 2, 3], 3).unwrap().bytes(), [1, 2, 3]);
            assert_eq!(rule(bytes(&[1, 2, 3], 2)), of_pages);
            assert_eq!(rule(bytes(&[], 0)), of_pages);
            let starts = |starts: &[u64]| {
                let bytes: Vec<u8> = starts.iter().flat_map(|s| encode_start(*s)).collect();
                page(records.directory_kind(), &bytes)
            };
            let shape = RecordShape { records, bytes: 1 << 36, count: 3 };
            let good = RecordDirectory::new(starts(&[0, 5, (1 << 36) - 1]), 0, shape).unwrap();
            assert_eq!(
                [0, 1, 2, 3].map(|i| good.start(i)),
                [Some(0), Some(5), Some((1 << 36) - 1), None]
            );
            for bad in
                [&[0, 5][..], &[0, 5, 6, 7], &[1, 5, 6], &[0, 5, 5], &[0, 6, 5], &[0, 5, 1 << 36]]
            {
                let refused = rule(RecordDirectory::new(starts(bad), 0, shape));
                assert_eq!(refused, of_directories, "{bad:?}");
            }
            let more = RecordShape { count: STARTS_PER_PAGE + 2, ..shape };
            assert!(RecordDirectory::new(starts(&[7, 9]), 1, more).is_ok());
            assert_eq!(rule(RecordDirectory::new(starts(&[]), 2, more)), of_directories);
        }
    }

    #[test]
    fn pages_are_counted_and_placed_one_after_the_other() {
        for (records, ..) in BOTH {
            let shape = |bytes, count| RecordShape { records, bytes, count };
            assert_eq!(shape(1, 1).region_bytes(), 64 + 64);
            assert_eq!(shape(8_168, 1_633).region_bytes(), 8_192 + 8_192);
            assert_eq!(shape(8_169, 1_634).region_bytes(), 8_192 + 64 + 8_192 + 64);
            let many = shape(3 * 8_168 + 100, 2 * 1_633 + 1);
            assert_eq!((many.pages(), many.directory_pages()), (4, 3));
            assert_eq!([0, 2, 3, 4].map(|i| many.bytes_in_page(i)), [8_168, 8_168, 100, 0]);
            assert_eq!([0, 1, 2, 3].map(|i| many.starts_in_page(i)), [1_633, 1_633, 1, 0]);
            let (kind, directory) = (records.page_kind(), records.directory_kind());
            assert_eq!(many.place(7, 3), PagePlace { kind, extent: 7, number: 384 });
            let place = PagePlace { kind: directory, extent: 7, number: 384 + 2 + 128 };
            assert_eq!(many.directory_place(7, 1), place);
            assert_eq!(shape(u64::MAX, u32::MAX).region_bytes() >> 63, 1);
        }
    }
}
