//! Writes the region of duplicate rows of a segment: rows whose signature an earlier row has too.
//!
//! In: pairs of signature id and row. Out: pages of sorted pairs and their directory.

use zerocopy::IntoBytes;

use super::writer::SegmentPlan;
use crate::error::Result;
use crate::format::bytes::{PutBytes, Seal};
use crate::format::duplicates_page::{self, Pair};
use crate::format::page;
use crate::store::sorted_spill::SortedSpill;
use crate::store::spill::Spill;

/// Writes the region of duplicate rows.
pub(super) struct DuplicatesWriter<'a> {
    plan: &'a SegmentPlan,
    seal: Seal,
    duplicates: u32,
    spill: Spill,
    first_ids: Vec<u8>,
    page: Vec<u8>,
    pages: u32,
}

impl<'a> DuplicatesWriter<'a> {
    pub(super) fn new(plan: &'a SegmentPlan, seal: Seal, duplicates: u32) -> DuplicatesWriter<'a> {
        let spill = Spill::new(&plan.spill);
        DuplicatesWriter {
            plan,
            seal,
            duplicates,
            spill,
            first_ids: Vec::new(),
            page: Vec::new(),
            pages: 0,
        }
    }

    pub(super) fn write(mut self, pairs: SortedSpill) -> Result<Spill> {
        pairs.drain(&mut |order| {
            let pair = Pair::new((order >> 32) as u32, order as u32);
            if self.page.is_empty() {
                self.first_ids.put_u32(pair.id());
            }
            self.page.extend_from_slice(pair.as_bytes());
            if self.page.len() == 8 * duplicates_page::PAIRS_PER_PAGE as usize {
                self.flush()?;
            }
            Ok(())
        })?;
        self.flush()?;
        let entries = self.first_ids.chunks(4 * duplicates_page::ENTRIES_PER_PAGE as usize);
        for (i, payload) in (0..).zip(entries) {
            let place = duplicates_page::directory_place(self.plan.extent, self.duplicates, i);
            self.spill.push(&page::encode(place, payload, self.seal))?;
        }
        Ok(self.spill)
    }

    fn flush(&mut self) -> Result<()> {
        if !self.page.is_empty() {
            let place = duplicates_page::place(self.plan.extent, self.pages);
            self.spill.push(&page::encode(place, &self.page, self.seal))?;
            self.page.clear();
            self.pages += 1;
        }
        Ok(())
    }
}
