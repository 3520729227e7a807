//! Starts of sets made anew. Sets follow each other without gaps and know where they end, so directory pages that are
//! damaged can be done without.

use std::collections::BTreeMap;

/// Most pages whose starts are remembered: 13 MB of them.
const MOST_PAGES: usize = 1024;

/// What is known of directory pages that were made anew.
#[derive(Debug)]
pub(super) struct Rebuilt {
    /// The first start of each page that was passed on the way to another: no page is passed twice.
    firsts: BTreeMap<u32, u64>,
    /// All starts of some pages.
    pages: BTreeMap<u32, Vec<u64>>,
}

impl Default for Rebuilt {
    fn default() -> Rebuilt {
        // The first set starts at 0 (KEPT-7).
        Rebuilt { firsts: BTreeMap::from([(0, 0)]), pages: BTreeMap::new() }
    }
}

impl Rebuilt {
    /// A start, if the page was made anew.
    pub(super) fn start(&self, page: u32, place: usize) -> Option<u64> {
        self.pages.get(&page)?.get(place).copied()
    }

    /// The last page up to this one whose first start is known.
    pub(super) fn last_known(&self, page: u32) -> (u32, u64) {
        self.firsts.range(..=page).next_back().map_or((0, 0), |(page, start)| (*page, *start))
    }

    /// Takes the first start of a page.
    pub(super) fn passed(&mut self, page: u32, start: u64) {
        self.firsts.insert(page, start);
    }

    /// Takes all starts of a page.
    pub(super) fn insert(&mut self, page: u32, starts: Vec<u64>) {
        if self.pages.len() >= MOST_PAGES {
            self.pages.pop_first();
        }
        self.pages.insert(page, starts);
    }
}
