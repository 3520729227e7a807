//! The tombstones of a segment, read page by page.
//!
//! In: the manifest entry of a tombstone bitmap. Out: which rows are hidden. It must not know why.

use crate::error::Result;
use crate::format::liveness_page::{self, LivenessPage, ROWS_PER_PAGE};
use crate::format::manifest::LivenessEntry;
use crate::format::page::PageKind;
use crate::store::page_source::{Extent, Keep, PageSource, Pinned};

/// The tombstones of a segment in one state. Without a bitmap, no row is hidden.
#[derive(Debug, Clone)]
pub struct Liveness {
    rows: u32,
    block: Option<(LivenessEntry, PageSource)>,
}

impl Liveness {
    /// Creates the tombstones of a segment with `rows` rows, from its manifest entry.
    pub fn new(rows: u32, entry: Option<LivenessEntry>, source: &PageSource) -> Liveness {
        Liveness { rows, block: entry.map(|entry| (entry, source.clone())) }
    }

    /// Returns the manifest entry of the bitmap, if there is one.
    pub fn entry(&self) -> Option<LivenessEntry> {
        self.block.as_ref().map(|(entry, _)| *entry)
    }

    fn page(&self, i: u32) -> Result<Option<Pinned<LivenessPage>>> {
        let Some((entry, source)) = &self.block else { return Ok(None) };
        let place = liveness_page::place(entry.id, i);
        let start = u64::from(place.number) * 64;
        let length = entry.length.saturating_sub(start).min(PageKind::Liveness.max_bytes() as u64);
        let extent = Extent { offset: entry.offset + start, length };
        let rows = liveness_page::rows_in_page(self.rows, i);
        source.page(place, extent, Keep::Recent, |page| LivenessPage::new(page, rows)).map(Some)
    }

    /// Whether a row has a tombstone.
    pub fn is_hidden(&self, row: u32) -> Result<bool> {
        let page = self.page(row / ROWS_PER_PAGE)?;
        Ok(page.is_some_and(|page| page.is_hidden(row % ROWS_PER_PAGE)))
    }

    /// Returns one bit per row, 1 for a tombstone.
    pub fn bitmap(&self) -> Result<Vec<u8>> {
        let mut bitmap = Vec::with_capacity((self.rows as usize).div_ceil(8));
        for i in 0..liveness_page::page_count(self.rows) {
            match self.page(i)? {
                Some(page) => bitmap.extend_from_slice(page.bitmap()),
                None => {
                    let rows = liveness_page::rows_in_page(self.rows, i) as usize;
                    bitmap.resize(bitmap.len() + rows.div_ceil(8), 0);
                }
            }
        }
        Ok(bitmap)
    }

    /// Counts the tombstones.
    pub fn count_hidden(&self) -> Result<u32> {
        let pages = (0..liveness_page::page_count(self.rows)).map(|i| self.page(i));
        pages.map(|page| Ok(page?.map_or(0, |page| page.hidden()))).sum()
    }
}
