//! Tombstone pages: a bitmap of the rows of a segment that were deleted or replaced. Implements
//! `format-spec/segment.md`.
//!
//! In: verified pages, or the bits of all rows. Out: checked views, or the pages of a bitmap. A bitmap is an extent
//! of these pages. Page i covers 65,344 rows, starting with row 65,344 * i. A bitmap never changes: when a row gets
//! a tombstone, the whole bitmap is written again elsewhere. It does not know the keys of the rows.

use super::bytes::{broken, index, position, round_up};
use super::page::{HEADER_BYTES, Page, PageKind, PagePlace, encode};
use super::{UNIT, bytes::Seal};
use crate::error::Result;

const WHAT: &str = "tombstone page";

/// The number of rows that a full page covers.
pub const ROWS_PER_PAGE: u32 = 8 * (8_192 - 24);

/// The distance between pages, in units of 64 bytes.
const PAGE_UNITS: u32 = 8_192 / 64;

const _: () = assert!(UNIT == 64 && HEADER_BYTES == 24);

/// The length of the bitmap of a segment with this many rows, in bytes.
pub fn bitmap_bytes(rows: u32) -> u64 {
    let (full, left) = (rows / ROWS_PER_PAGE, rows % ROWS_PER_PAGE);
    let full = u64::from(full).saturating_mul(position(PageKind::Tombstones.max_bytes()));
    match left {
        0 => full,
        left => {
            let payload = index(left).div_ceil(8);
            full.saturating_add(position(round_up(HEADER_BYTES.saturating_add(payload))))
        }
    }
}

/// The number of pages in a bitmap of this many rows.
pub fn page_count(rows: u32) -> u32 {
    rows.div_ceil(ROWS_PER_PAGE)
}

/// The place of page `i` of a bitmap.
pub fn place(extent: u64, i: u32) -> PagePlace {
    PagePlace { kind: PageKind::Tombstones, extent, number: i.saturating_mul(PAGE_UNITS) }
}

/// The number of rows that page `i` of a bitmap of `rows` rows covers.
pub fn rows_in_page(rows: u32, i: u32) -> u32 {
    rows.saturating_sub(i.saturating_mul(ROWS_PER_PAGE)).min(ROWS_PER_PAGE)
}

/// A checked page of a tombstone bitmap.
#[derive(Debug, Clone)]
pub struct TombstonePage {
    page: Page,
    count: u32,
}

impl TombstonePage {
    /// Checks a page that covers this many rows.
    pub fn new(page: Page, rows: u32) -> Result<TombstonePage> {
        let bitmap = page.payload();
        if bitmap.len() != index(rows).div_ceil(8) {
            return Err(broken(
                WHAT,
                "TOMB-1",
                20,
                format!("its bitmap does not have {rows} bits"),
            ));
        }
        let spare = match rows % 8 {
            0 => 0,
            used => 0xFF_u8.checked_shl(used).unwrap_or(0),
        };
        if bitmap.last().is_some_and(|last| last & spare != 0) {
            return Err(broken(WHAT, "TOMB-2", 24, "bits past the last row are not zero"));
        }
        let count = bitmap.iter().map(|byte| byte.count_ones()).sum();
        Ok(TombstonePage { page, count })
    }

    /// True if the row at this place of the page has a tombstone. Rows past the last one count as deleted.
    pub fn contains(&self, i: u32) -> bool {
        self.page.payload().get(index(i / 8)).is_none_or(|byte| byte >> (i % 8) & 1 == 1)
    }

    /// The number of tombstones in the page.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// The bitmap.
    pub fn bitmap(&self) -> &[u8] {
        self.page.payload()
    }

    /// The memory that the page takes.
    pub fn memory(&self) -> usize {
        self.page.memory()
    }
}

/// Encodes a whole bitmap of `rows` rows from its bytes, one bit per row.
pub fn encode_bitmap(extent: u64, rows: u32, bitmap: &[u8], seal: Seal) -> Vec<u8> {
    let mut bytes = Vec::new();
    let pages = bitmap.chunks(PageKind::Tombstones.max_payload());
    for (i, payload) in (0..page_count(rows)).zip(pages) {
        bytes.extend_from_slice(&encode(place(extent, i), payload, seal));
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;

    fn decode(bytes: &[u8], rows: u32, i: u32) -> Result<TombstonePage> {
        let start = i as usize * 8_192;
        let seal = Seal::of([1; 16]);
        let page = Page::verify(bytes[start..].into(), place(9, i), seal).unwrap();
        TombstonePage::new(page, rows_in_page(rows, i))
    }

    #[test]
    fn a_block_says_of_each_row_what_it_was_given() {
        for rows in [1, 8, 13, ROWS_PER_PAGE, ROWS_PER_PAGE + 1, 3 * ROWS_PER_PAGE - 5] {
            let hidden = |row: u32| row.is_multiple_of(7) || row == rows - 1;
            let mut bitmap = vec![0_u8; (rows as usize).div_ceil(8)];
            (0..rows).filter(|r| hidden(*r)).for_each(|r| bitmap[r as usize / 8] |= 1 << (r % 8));
            let bytes = encode_bitmap(9, rows, &bitmap, Seal::of([1; 16]));
            assert_eq!(bytes.len() as u64, bitmap_bytes(rows));
            let pages: Vec<_> =
                (0..page_count(rows)).map(|i| decode(&bytes, rows, i).unwrap()).collect();
            for row in 0..rows {
                let page = &pages[(row / ROWS_PER_PAGE) as usize];
                assert_eq!(page.contains(row % ROWS_PER_PAGE), hidden(row), "{row} of {rows}");
            }
            assert_eq!(
                pages.iter().map(TombstonePage::bitmap).collect::<Vec<_>>().concat(),
                bitmap
            );
            assert!(pages.iter().all(|page| page.memory() == page.page.memory()));
            let counted: u32 = pages.iter().map(TombstonePage::count).sum();
            assert_eq!(counted as usize, (0..rows).filter(|r| hidden(*r)).count());
        }
    }

    #[test]
    fn each_rule_refuses() {
        let bytes = encode_bitmap(9, 13, &[0xFF, 0xFF], Seal::of([1; 16]));
        let rule = |rows| match decode(&bytes, rows, 0) {
            Err(Error::Corrupt { rule, .. }) => rule,
            other => panic!("{other:?}"),
        };
        assert_eq!(rule(8), "TOMB-1");
        assert_eq!(rule(17), "TOMB-1");
        assert_eq!(rule(13), "TOMB-2");
        assert!(decode(&bytes, 16, 0).is_ok());
    }
}
