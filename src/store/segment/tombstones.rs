//! The tombstones of a segment, read page by page.
//!
//! In: the manifest entry of a tombstone bitmap. Out: which rows are hidden. It must not know why.

use crate::error::Result;
use crate::format::manifest::ExtentEntry;
use crate::format::page::PageKind;
use crate::format::tombstone_page::{self, ROWS_PER_PAGE, TombstonePage};
use crate::store::page_source::{Extent, Keep, PageSource, Pinned};

/// The tombstones of a segment in one state. Without a bitmap, no row is hidden.
#[derive(Debug, Clone)]
pub struct Tombstones {
    rows: u32,
    bitmap: Option<(ExtentEntry, PageSource)>,
}

impl Tombstones {
    /// Creates the tombstones of a segment with `rows` rows, from its manifest entry.
    pub fn new(rows: u32, entry: Option<ExtentEntry>, source: &PageSource) -> Tombstones {
        Tombstones { rows, bitmap: entry.map(|entry| (entry, source.clone())) }
    }

    /// Returns the manifest entry of the bitmap, if there is one.
    pub fn entry(&self) -> Option<ExtentEntry> {
        self.bitmap.as_ref().map(|(entry, _)| *entry)
    }

    fn page(&self, i: u32) -> Result<Option<Pinned<TombstonePage>>> {
        let Some((entry, source)) = &self.bitmap else { return Ok(None) };
        let place = tombstone_page::place(entry.id, i);
        let start = u64::from(place.number) * 64;
        let length =
            entry.length.saturating_sub(start).min(PageKind::Tombstones.max_bytes() as u64);
        let extent = Extent { offset: entry.offset + start, length };
        let rows = tombstone_page::rows_in_page(self.rows, i);
        source.page(place, extent, Keep::Recent, |page| TombstonePage::new(page, rows)).map(Some)
    }

    /// Whether a row has a tombstone.
    pub fn contains(&self, row: u32) -> Result<bool> {
        let page = self.page(row / ROWS_PER_PAGE)?;
        Ok(page.is_some_and(|page| page.contains(row % ROWS_PER_PAGE)))
    }

    /// Returns one bit per row, 1 for a tombstone.
    pub fn bitmap(&self) -> Result<Vec<u8>> {
        let mut bitmap = Vec::with_capacity((self.rows as usize).div_ceil(8));
        for i in 0..tombstone_page::page_count(self.rows) {
            match self.page(i)? {
                Some(page) => bitmap.extend_from_slice(page.bitmap()),
                None => {
                    let rows = tombstone_page::rows_in_page(self.rows, i) as usize;
                    bitmap.resize(bitmap.len() + rows.div_ceil(8), 0);
                }
            }
        }
        Ok(bitmap)
    }

    /// Counts the tombstones.
    pub fn count(&self) -> Result<u32> {
        let pages = (0..tombstone_page::page_count(self.rows)).map(|i| self.page(i));
        pages.map(|page| Ok(page?.map_or(0, |page| page.count()))).sum()
    }
}
