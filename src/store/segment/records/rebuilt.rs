//! Recomputed starts of records, in place of damaged directory pages.
//!
//! Records follow each other without gaps, and each encodes its own length. So their starts can be recomputed.

use std::collections::BTreeMap;

/// The most pages whose starts are kept in memory, 13 MB in all.
const MOST_PAGES: usize = 1024;

/// The recomputed directory pages.
#[derive(Debug)]
pub(super) struct Rebuilt {
    /// The first start of each page that was walked over, so that no page is walked twice.
    firsts: BTreeMap<u32, u64>,
    /// All starts of some pages.
    pages: BTreeMap<u32, Vec<u64>>,
}

impl Default for Rebuilt {
    fn default() -> Rebuilt {
        // The first record starts at 0 (KEPT-7, VALUE-5).
        Rebuilt { firsts: BTreeMap::from([(0, 0)]), pages: BTreeMap::new() }
    }
}

impl Rebuilt {
    /// Returns a start, if its page was recomputed.
    pub(super) fn start(&self, page: u32, place: usize) -> Option<u64> {
        self.pages.get(&page)?.get(place).copied()
    }

    /// Returns the last page up to `page` whose first start is known, with that start.
    pub(super) fn last_known(&self, page: u32) -> (u32, u64) {
        self.firsts.range(..=page).next_back().map_or((0, 0), |(page, start)| (*page, *start))
    }

    /// Records the first start of a page.
    pub(super) fn passed(&mut self, page: u32, start: u64) {
        self.firsts.insert(page, start);
    }

    /// Records all starts of a page.
    pub(super) fn insert(&mut self, page: u32, starts: Vec<u64>) {
        if self.pages.len() >= MOST_PAGES {
            self.pages.pop_first();
        }
        self.pages.insert(page, starts);
    }
}
