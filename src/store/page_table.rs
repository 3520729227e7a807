//! The cached pages of one region, indexed by page number.
//!
//! In: pages that enter or leave the cache. Out: the same pages, without a lock. It owns nothing that the cache
//! does not own. It must not know what a page contains.
//!
//! The cache finds a page by hashing its key under a lock. That is too slow for a query that compares hundreds of
//! signatures, each in another page. Here a page is found by indexing.
//!
//! Pages are grouped in leaves, and leaves in chunks. Both are immutable and replaced as a whole. So a reader loads
//! a chunk once and then touches nothing that threads share, except a `used` bit. Adding or removing a page copies
//! two short arrays. A page's bytes are stored beside it, which saves one indirection for callers that know the
//! layout.

use std::cell::OnceCell;
use std::sync::Arc;

use super::page_cache::Weighed;
use crate::format::page::Line;
use crate::sync::ArcSwapOption;
use crate::sync::atomic::{AtomicU64, Ordering};

/// Pages per leaf, and leaves per chunk: what is copied when a page is added or removed.
const FANOUT: usize = 64;

/// Pages per chunk.
const CHUNK: usize = FANOUT * FANOUT;

/// The most chunks of a table, whatever length a file claims. Pages beyond 256 GiB of signatures are found through
/// the cache only.
const MOST_CHUNKS: usize = 1 << 10;

/// The resident pages of a region.
#[derive(Debug)]
pub struct PageTable<V> {
    chunks: Box<[ArcSwapOption<Chunk<V>>]>,
}

/// Neighbouring leaves. Leaves without pages are `None`.
#[derive(Debug)]
pub struct Chunk<V> {
    leaves: [Option<Arc<Leaf<V>>>; FANOUT],
}

/// Neighbouring pages. Pages that are not resident are `None`.
#[derive(Debug)]
struct Leaf<V> {
    /// One bit per page: set when its bytes were read since the cache last asked.
    used: AtomicU64,
    pages: [Option<Resident<V>>; FANOUT],
}

#[derive(Debug)]
struct Resident<V> {
    page: Arc<V>,
    lines: Option<Arc<[Line]>>,
}

impl<V> Clone for Resident<V> {
    fn clone(&self) -> Resident<V> {
        Resident { page: Arc::clone(&self.page), lines: self.lines.clone() }
    }
}

/// The leaf of a page in its chunk, and the page's position in the leaf.
fn place(page: u32) -> (usize, usize) {
    let page = page as usize % CHUNK;
    (page / FANOUT, page % FANOUT)
}

impl<V> Chunk<V> {
    fn leaf(&self, page: u32) -> Option<&Leaf<V>> {
        self.leaves[place(page).0].as_deref()
    }
}

impl<V> Leaf<V> {
    fn resident(&self, page: u32) -> Option<&Resident<V>> {
        self.pages[place(page).1].as_ref()
    }
}

impl<V: Weighed> PageTable<V> {
    /// Creates a table for a region of `pages` pages. Pages that are not resident take almost no memory.
    pub fn new(pages: u32) -> PageTable<V> {
        let chunks = (pages as usize).div_ceil(CHUNK).min(MOST_CHUNKS);
        PageTable { chunks: (0..chunks).map(|_| ArcSwapOption::empty()).collect() }
    }

    /// Returns the page, if it is resident.
    pub fn get(&self, page: u32) -> Option<Arc<V>> {
        let chunk = self.chunks.get(page as usize / CHUNK)?.load();
        let resident = chunk.as_ref()?.leaf(page)?.resident(page)?;
        Some(Arc::clone(&resident.page))
    }

    /// Returns a view for reading many pages.
    pub fn view(&self) -> PageTableView<'_, V> {
        PageTableView { table: self, first: OnceCell::new(), others: OnceCell::new() }
    }

    /// Whether the bytes of a page were read since the last call.
    pub(super) fn take_used(&self, page: u32) -> bool {
        let Some(chunk) = self.chunks.get(page as usize / CHUNK) else { return false };
        let (chunk, bit) = (chunk.load(), 1 << place(page).1);
        let leaf = chunk.as_ref().and_then(|chunk| chunk.leaf(page));
        leaf.is_some_and(|leaf| leaf.used.fetch_and(!bit, Ordering::Relaxed) & bit != 0)
    }

    /// Adds a page that has entered the cache.
    pub(super) fn set(&self, page: u32, resident: &Arc<V>) {
        self.change(page, |_| {
            Some(Resident { page: Arc::clone(resident), lines: resident.lines().cloned() })
        });
    }

    /// Removes a page that leaves the cache. If another page has taken its position, that page stays.
    pub(super) fn clear(&self, page: u32, gone: &Arc<V>) {
        self.change(page, |now| now.filter(|now| !Arc::ptr_eq(&now.page, gone)).cloned());
    }

    fn change(&self, page: u32, change: impl Fn(Option<&Resident<V>>) -> Option<Resident<V>>) {
        let Some(chunk) = self.chunks.get(page as usize / CHUNK) else { return };
        let (leaf, place) = place(page);
        chunk.rcu(|old| {
            let mut leaves = match old {
                Some(old) => old.leaves.clone(),
                None => [const { None }; FANOUT],
            };
            let (mut pages, used) = match &leaves[leaf] {
                Some(old) => (old.pages.clone(), old.used.load(Ordering::Relaxed)),
                None => ([const { None }; FANOUT], 0),
            };
            pages[place] = change(pages[place].as_ref());
            let some = pages.iter().any(Option::is_some);
            leaves[leaf] = some.then(|| Arc::new(Leaf { used: AtomicU64::new(used), pages }));
            leaves.iter().any(Option::is_some).then(|| Arc::new(Chunk { leaves }))
        });
    }
}

/// A loaded chunk: the pages that were in it at that time, if any.
type Taken<V> = OnceCell<Option<Arc<Chunk<V>>>>;

/// A view of a table for one query. It loads each chunk once, on first use. Pages that are evicted meanwhile stay
/// readable and in memory, so a view should be short-lived.
#[derive(Debug)]
pub struct PageTableView<'a, V> {
    table: &'a PageTable<V>,
    /// The first chunk. Most tables have no other.
    first: Taken<V>,
    others: OnceCell<Box<[Taken<V>]>>,
}

impl<V> PageTableView<'_, V> {
    #[inline]
    fn leaf(&self, page: u32) -> Option<&Leaf<V>> {
        let i = page as usize / CHUNK;
        let cell = if i == 0 { &self.first } else { self.others().get(i - 1)? };
        let take = || self.table.chunks.get(i).and_then(ArcSwapOption::load_full);
        cell.get_or_init(take).as_ref()?.leaf(page)
    }

    #[cold]
    fn others(&self) -> &[Taken<V>] {
        let others = self.table.chunks.len().saturating_sub(1);
        self.others.get_or_init(|| (0..others).map(|_| OnceCell::new()).collect())
    }

    /// Returns the page, if it was resident when its chunk was loaded.
    #[inline]
    pub fn get(&self, page: u32) -> Option<&Arc<V>> {
        Some(&self.leaf(page)?.resident(page)?.page)
    }

    /// Returns the bytes of a page, if it was resident when its chunk was loaded and exposes them. Marks it as
    /// used.
    #[inline]
    pub fn lines(&self, page: u32) -> Option<&[Line]> {
        let leaf = self.leaf(page)?;
        let lines = leaf.resident(page)?.lines.as_deref()?;
        let bit = 1 << place(page).1;
        // The bit is usually set already, and a store would invalidate the cache line of other threads.
        if leaf.used.load(Ordering::Relaxed) & bit == 0 {
            leaf.used.fetch_or(bit, Ordering::Relaxed);
        }
        Some(lines)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Weighed for u32 {
        fn bytes(&self) -> usize {
            4
        }
    }

    #[test]
    fn pages_are_there_from_set_to_clear() {
        let table = PageTable::new(130);
        let pages: Vec<Arc<u32>> = (0..130).map(Arc::new).collect();
        for page in [0, 63, 64, 129] {
            assert_eq!(table.get(page), None);
            table.set(page, &pages[page as usize]);
            assert_eq!(table.get(page).as_deref(), Some(&page));
        }
        assert_eq!((table.get(1), table.get(200)), (None, None));
        let view = table.view();
        assert_eq!(view.get(64).map(|page| **page), Some(64));
        table.clear(64, &pages[63]);
        assert!(table.get(64).is_some(), "another page's place is not cleared");
        table.clear(64, &pages[64]);
        assert_eq!(table.get(64), None);
        assert_eq!(view.get(64).map(|page| **page), Some(64), "a view keeps what it took");
        assert_eq!(view.get(129).map(|page| **page), Some(129));
        assert_eq!((view.get(128), view.get(130), view.get(1000)), (None, None, None));
    }

    /// A page that exposes its bytes.
    struct Shown(Arc<[Line]>);

    impl Weighed for Shown {
        fn bytes(&self) -> usize {
            64
        }

        fn lines(&self) -> Option<&Arc<[Line]>> {
            Some(&self.0)
        }
    }

    /// Uses pages of several leaves and chunks.
    #[test]
    fn bytes_are_found_beside_pages_and_say_that_they_were_used() {
        let table = PageTable::new(3 * CHUNK as u32);
        let lines = crate::format::page::AlignedBytes::zeroed(64);
        let pages = [0, 1, 63, 64, 4_095, 4_096, 9_000];
        let shown = Arc::new(Shown(lines.lines().clone()));
        pages.iter().for_each(|page| table.set(*page, &shown));
        assert!(pages.iter().all(|page| !table.take_used(*page)));
        let view = table.view();
        for page in [1, 4_096] {
            assert_eq!(view.lines(page).unwrap().len(), 1);
        }
        assert!(view.lines(2).is_none() && view.lines(100_000).is_none());
        table.set(2, &shown);
        let used: Vec<u32> = pages.into_iter().filter(|page| table.take_used(*page)).collect();
        assert_eq!(used, [1, 4_096], "and a page that comes beside them changes nothing of it");
        assert!(!table.take_used(1) && !table.take_used(100_000));
        pages.iter().chain([&2]).for_each(|page| table.clear(*page, &shown));
        assert!(table.chunks.iter().all(|chunk| chunk.load().is_none()));
    }
}
