//! Duplicate rows: pairs of id and row for all rows that share their id with an earlier row. Implements
//! `format-spec/segment.md`.
//!
//! In: verified pages. Out: checked views, and the places of pages. The fences lead from an id to its first row,
//! and these pages to its other rows. A directory has the first id of each page of pairs, so a lookup reads one
//! directory page and one or two pages of pairs. This module does not know the leaves that the pairs are derived
//! from.

use zerocopy::little_endian::U32;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::bytes::{Cursor, broken, index, position, round_up};
use super::page::{HEADER_BYTES, Page, PageKind, PagePlace};
use crate::error::Result;

const WHAT: &str = "page of duplicate rows";

/// The number of pairs in every page but the last.
pub const PAIRS_PER_PAGE: u32 = (8_192 - 24) / 8;

/// The number of first ids in every directory page but the last.
pub const ENTRIES_PER_PAGE: u32 = (8_192 - 24) / 4;

/// The distance between pages, in units of 64 bytes.
const PAGE_UNITS: u32 = 8_192 / 64;

/// A duplicate row and the signature id that it shares.
#[derive(
    FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned, Debug, Clone, Copy, PartialEq, Eq,
)]
#[repr(C)]
pub struct Pair {
    id: U32,
    row: U32,
}

impl Pair {
    /// Makes a pair.
    pub fn new(id: u32, row: u32) -> Pair {
        Pair { id: id.into(), row: row.into() }
    }

    /// The signature id.
    pub fn id(self) -> u32 {
        self.id.get()
    }

    /// The row number.
    pub fn row(self) -> u32 {
        self.row.get()
    }

    /// The sort key: pairs ascend by id, then by row.
    pub fn order(self) -> u64 {
        u64::from(self.id()) << 32 | u64::from(self.row())
    }
}

/// The number of pages of pairs for this many duplicate rows.
pub fn page_count(duplicates: u32) -> u32 {
    duplicates.div_ceil(PAIRS_PER_PAGE)
}

/// The number of directory pages for this many duplicate rows.
pub fn directory_count(duplicates: u32) -> u32 {
    page_count(duplicates).div_ceil(ENTRIES_PER_PAGE)
}

/// The place of page `i` of the pairs.
pub fn place(extent: u64, i: u32) -> PagePlace {
    PagePlace { kind: PageKind::Duplicates, extent, number: i.saturating_mul(PAGE_UNITS) }
}

/// The place of page `i` of the directory, which follows the pairs.
pub fn directory_place(extent: u64, duplicates: u32, i: u32) -> PagePlace {
    let pairs = u32::try_from(pairs_bytes(duplicates) / 64).unwrap_or(u32::MAX);
    let number = pairs.saturating_add(i.saturating_mul(PAGE_UNITS));
    PagePlace { kind: PageKind::DuplicatesDirectory, extent, number }
}

/// The number of pairs in page `i`.
pub fn pairs_in_page(duplicates: u32, i: u32) -> u32 {
    duplicates.saturating_sub(i.saturating_mul(PAIRS_PER_PAGE)).min(PAIRS_PER_PAGE)
}

/// The number of entries in directory page `i`.
pub fn entries_in_page(duplicates: u32, i: u32) -> u32 {
    page_count(duplicates).saturating_sub(i.saturating_mul(ENTRIES_PER_PAGE)).min(ENTRIES_PER_PAGE)
}

fn run_bytes(items: u32, per_page: u32, item_bytes: usize) -> u64 {
    let full = items.checked_div(per_page).unwrap_or(0);
    let full = u64::from(full).saturating_mul(position(PageKind::Duplicates.max_bytes()));
    match items.checked_rem(per_page).unwrap_or(0) {
        0 => full,
        left => {
            let payload = index(left).saturating_mul(item_bytes);
            full.saturating_add(position(round_up(HEADER_BYTES.saturating_add(payload))))
        }
    }
}

fn pairs_bytes(duplicates: u32) -> u64 {
    run_bytes(duplicates, PAIRS_PER_PAGE, 8)
}

/// The length of the whole region: pairs, then directory.
pub fn region_bytes(duplicates: u32) -> u64 {
    pairs_bytes(duplicates).saturating_add(run_bytes(page_count(duplicates), ENTRIES_PER_PAGE, 4))
}

/// A checked page of pairs.
#[derive(Debug, Clone)]
pub struct DuplicatesPage {
    page: Page,
}

impl DuplicatesPage {
    /// Checks a page with `count` pairs, of a segment with this many ids and rows.
    pub fn new(page: Page, count: u32, ids: u32, rows: u32) -> Result<DuplicatesPage> {
        let page = DuplicatesPage { page };
        let pairs = page.pairs();
        let whole = page.page.payload().len().is_multiple_of(8);
        if pairs.len() != index(count) || !whole || count == 0 {
            return Err(broken(WHAT, "DUP-1", 20, format!("it does not hold {count} pairs")));
        }
        let rising = pairs.is_sorted_by(|a, b| a.order() < b.order());
        if !rising || pairs.iter().any(|pair| pair.id() >= ids || pair.row() >= rows) {
            return Err(broken(WHAT, "DUP-2", 24, "its pairs do not rise within their bounds"));
        }
        Ok(page)
    }

    /// The pairs in ascending order.
    pub fn pairs(&self) -> &[Pair] {
        let mut cursor = Cursor::new(self.page.payload());
        cursor.layouts(self.page.payload().len() / 8).unwrap_or_default()
    }

    /// The memory that the page takes.
    pub fn memory(&self) -> usize {
        self.page.memory()
    }
}

/// A checked page of the directory: the first id of each page of pairs.
#[derive(Debug, Clone)]
pub struct DuplicatesDirectory {
    page: Page,
}

impl DuplicatesDirectory {
    /// Checks a page with `count` entries.
    pub fn new(page: Page, count: u32) -> Result<DuplicatesDirectory> {
        let page = DuplicatesDirectory { page };
        let wrong = page.page.payload().len() != index(count).saturating_mul(4);
        if wrong || !page.first_ids().is_sorted_by_key(|id| id.get()) {
            return Err(broken(WHAT, "DUP-3", 20, format!("it does not hold {count} rising ids")));
        }
        Ok(page)
    }

    /// The first id of each page of pairs.
    pub fn first_ids(&self) -> &[U32] {
        let mut cursor = Cursor::new(self.page.payload());
        cursor.layouts(self.page.payload().len() / 4).unwrap_or_default()
    }

    /// The memory that the page takes.
    pub fn memory(&self) -> usize {
        self.page.memory()
    }
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
        let pairs = |pairs: &[Pair]| page(PageKind::Duplicates, pairs.as_bytes());
        let good = [Pair::new(1, 5), Pair::new(1, 6), Pair::new(2, 3)];
        assert!(DuplicatesPage::new(pairs(&good), 3, 3, 7).is_ok());
        assert_eq!(rule(DuplicatesPage::new(pairs(&good), 2, 3, 7)), "DUP-1");
        assert_eq!(rule(DuplicatesPage::new(pairs(&[]), 0, 3, 7)), "DUP-1");
        let ragged = page(PageKind::Duplicates, &[0; 9]);
        assert_eq!(rule(DuplicatesPage::new(ragged, 1, 3, 7)), "DUP-1");
        assert_eq!(rule(DuplicatesPage::new(pairs(&good), 3, 2, 7)), "DUP-2");
        assert_eq!(rule(DuplicatesPage::new(pairs(&good), 3, 3, 6)), "DUP-2");
        assert_eq!(rule(DuplicatesPage::new(pairs(&[good[1], good[0]]), 2, 3, 7)), "DUP-2");
        let ids =
            |ids: [u8; 2]| page(PageKind::DuplicatesDirectory, &[ids[0], 0, 0, 0, ids[1], 0, 0, 0]);
        assert!(DuplicatesDirectory::new(ids([1, 1]), 2).is_ok());
        assert_eq!(rule(DuplicatesDirectory::new(ids([1, 1]), 3)), "DUP-3");
        assert_eq!(rule(DuplicatesDirectory::new(ids([2, 1]), 2)), "DUP-3");
    }

    #[test]
    fn regions_are_as_long_as_their_pages() {
        assert_eq!(region_bytes(0), 0);
        assert_eq!(region_bytes(1), 64 + 64);
        assert_eq!(region_bytes(PAIRS_PER_PAGE), 8_192 + 64);
        assert_eq!(region_bytes(PAIRS_PER_PAGE + 1), 8_192 + 64 + 64);
    }

    /// 2,084,884 duplicate rows fill 2,042 pages and put 2 pairs in one more, which needs a second directory page.
    #[test]
    fn pages_are_counted_and_placed_one_after_the_other() {
        let duplicates = 2_042 * 1_021 + 2;
        assert_eq!((page_count(duplicates), directory_count(duplicates)), (2_043, 2));
        let few = 3 * 1_021;
        assert_eq!((page_count(few), directory_count(few), directory_count(0)), (3, 1, 0));
        assert_eq!(
            [0, 2_041, 2_042, 2_043].map(|i| pairs_in_page(duplicates, i)),
            [1_021, 1_021, 2, 0]
        );
        assert_eq!([0, 1, 2].map(|i| entries_in_page(duplicates, i)), [2_042, 1, 0]);
        let directory =
            |number| PagePlace { kind: PageKind::DuplicatesDirectory, extent: 7, number };
        assert_eq!(
            place(7, 3),
            PagePlace { kind: PageKind::Duplicates, extent: 7, number: 3 * 128 }
        );
        assert_eq!(directory_place(7, duplicates, 0), directory(2_042 * 128 + 1));
        assert_eq!(directory_place(7, duplicates, 1), directory(2_043 * 128 + 1));
    }

    #[test]
    fn pages_say_what_they_hold_and_what_they_take() {
        let good = [Pair::new(1, 5), Pair::new(2, 3)];
        assert_eq!((good[0].id(), good[0].row(), good[0].order()), (1, 5, 1 << 32 | 5));
        let bytes = page(PageKind::Duplicates, good.as_bytes());
        let pairs = DuplicatesPage::new(bytes.clone(), 2, 3, 7).unwrap();
        assert_eq!((pairs.pairs(), pairs.memory()), (&good[..], bytes.memory()));
        let bytes = page(PageKind::DuplicatesDirectory, &[1, 0, 0, 0, 2, 0, 0, 0]);
        let directory = DuplicatesDirectory::new(bytes.clone(), 2).unwrap();
        assert_eq!(directory.first_ids(), [U32::new(1), U32::new(2)]);
        assert_eq!(directory.memory(), bytes.memory());
    }
}
