//! The pages of one region that are in the cache, by their place in the region.
//!
//! A cache finds a page by hashing its name under a lock. That is too slow for a query that looks at
//! hundreds of signatures, each in another page: here a page is found by indexing. The table owns nothing
//! that the cache does not own: a page comes in and goes out with it, and says by a flag that it was used.
//!
//! Pages stand in chunks that are replaced as a whole, so that a reader takes a chunk once and then reads
//! from it without touching anything that threads share.

use std::sync::Arc;

use crate::sync::ArcSwapOption;

/// Pages of a chunk: what must be copied when one of them comes or goes.
const CHUNK: usize = 64;

/// Most chunks of a table, whatever a file says of its length. Pages past 256 GiB of signatures are found
/// by the cache alone.
const MOST_CHUNKS: usize = 1 << 16;

/// The resident pages of a region.
#[derive(Debug)]
pub struct PageTable<V> {
    chunks: Box<[ArcSwapOption<Chunk<V>>]>,
}

/// Some neighbouring pages, those that are resident.
#[derive(Debug)]
pub struct Chunk<V> {
    pages: [Option<Arc<V>>; CHUNK],
}

impl<V> PageTable<V> {
    /// A table for the pages of a region of which there are so many. Takes an eighth of a byte for each
    /// that is not resident.
    pub fn new(pages: u32) -> PageTable<V> {
        let chunks = (pages as usize).div_ceil(CHUNK).min(MOST_CHUNKS);
        PageTable { chunks: (0..chunks).map(|_| ArcSwapOption::empty()).collect() }
    }

    /// The page, if it is resident.
    pub fn get(&self, page: u32) -> Option<Arc<V>> {
        let chunk = self.chunks.get(page as usize / CHUNK)?.load();
        chunk.as_ref()?.pages[page as usize % CHUNK].clone()
    }

    /// A view for looking at many pages.
    pub fn view(&self) -> PageTableView<'_, V> {
        PageTableView { table: self, chunks: vec![None; self.chunks.len()] }
    }

    /// A page has come into the cache.
    pub(super) fn set(&self, page: u32, resident: &Arc<V>) {
        self.change(page, |_| Some(Arc::clone(resident)));
    }

    /// A page goes out of the cache. Another one that has taken its place stays.
    pub(super) fn clear(&self, page: u32, gone: &Arc<V>) {
        self.change(page, |now| now.filter(|now| !Arc::ptr_eq(now, gone)).cloned());
    }

    fn change(&self, page: u32, change: impl Fn(Option<&Arc<V>>) -> Option<Arc<V>>) {
        let Some(chunk) = self.chunks.get(page as usize / CHUNK) else { return };
        chunk.rcu(|old| {
            let mut pages = match old {
                Some(old) => old.pages.clone(),
                None => [const { None }; CHUNK],
            };
            let place = &mut pages[page as usize % CHUNK];
            *place = change(place.as_ref());
            pages.iter().any(Option::is_some).then(|| Arc::new(Chunk { pages }))
        });
    }
}

/// A view of a table for one query: each chunk is taken once. Pages that go out of the cache meanwhile
/// stay readable in it; it should not be kept for long.
#[derive(Debug)]
pub struct PageTableView<'a, V> {
    table: &'a PageTable<V>,
    chunks: Vec<Option<Arc<Chunk<V>>>>,
}

impl<V> PageTableView<'_, V> {
    /// Takes the chunk of a page, if that was not done before.
    pub fn take(&mut self, page: u32) {
        let i = page as usize / CHUNK;
        if let Some(chunk @ None) = self.chunks.get_mut(i) {
            *chunk = self.table.chunks[i].load_full();
        }
    }

    /// The page, if it was resident when its chunk was taken.
    pub fn get(&self, page: u32) -> Option<&Arc<V>> {
        self.chunks.get(page as usize / CHUNK)?.as_ref()?.pages[page as usize % CHUNK].as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let mut view = table.view();
        assert_eq!(view.get(64), None);
        view.take(64);
        assert_eq!(view.get(64).map(|page| **page), Some(64));
        table.clear(64, &pages[63]);
        assert!(table.get(64).is_some(), "another page's place is not cleared");
        table.clear(64, &pages[64]);
        assert_eq!(table.get(64), None);
        assert_eq!(view.get(64).map(|page| **page), Some(64), "a view keeps what it took");
        [129, 130, 1000].iter().for_each(|page| view.take(*page));
        assert_eq!(view.get(129).map(|page| **page), Some(129));
        assert_eq!((view.get(128), view.get(130), view.get(1000)), (None, None, None));
    }
}
