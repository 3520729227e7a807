//! The page cache and its page tables, with threads in many orders (`.ci/shuttle`).
//!
//! A page is found under its own key only, and a table entry belongs to its place. When all threads have ended, a
//! table has only pages that the cache has, and the byte counts are right.

mod explore;

use std::sync::Arc;

use explore::explore;
use ringer::internals::store::page_cache::{Home, PageCache, PageKey, Weighed};
use ringer::internals::store::page_table::PageTable;
use shuttle::sync::atomic::{AtomicBool, Ordering};
use shuttle::thread;

/// A page that knows its key. It claims to be large, so that few fit into the cache.
#[derive(Debug)]
struct Page {
    key: PageKey,
    used: AtomicBool,
}

const PAGE_BYTES: usize = 400 << 10;

impl Weighed for Page {
    fn bytes(&self) -> usize {
        PAGE_BYTES
    }

    fn take_used(&self) -> bool {
        self.used.swap(false, Ordering::Relaxed)
    }
}

/// Two segments, each with its page table. Two pages share a place in a table.
const BLOCKS: u64 = 2;
const PAGES: u32 = 6;

struct Shared {
    cache: PageCache<Page>,
    tables: [Arc<PageTable<Page>>; BLOCKS as usize],
}

impl Shared {
    fn key(n: u64) -> PageKey {
        PageKey { extent: n % BLOCKS, region: 0, page: (n / BLOCKS) as u32 % PAGES }
    }

    fn home(&self, key: PageKey) -> Home<Page> {
        Home { table: Arc::clone(&self.tables[key.extent as usize]), page: key.page / 2 }
    }

    fn step(&self, what: u64, key: PageKey) {
        let page = || Arc::new(Page { key, used: false.into() });
        match what {
            0 | 1 => {
                // In the order of a lookup: the table, then the cache, then the file.
                let Home { table, page: place } = self.home(key);
                if let Some(found) = table.get(place) {
                    assert_eq!((found.key.extent, found.key.page / 2), (key.extent, place));
                    found.used.store(true, Ordering::Relaxed);
                    if found.key == key {
                        return;
                    }
                }
                match self.cache.get(key) {
                    Some(found) => assert_eq!(found.key, key),
                    None => self.cache.insert(key, page(), Some(self.home(key))),
                }
            }
            2 => {
                let _ = self.cache.insert_if_room(key, page(), Some(self.home(key)));
            }
            3 => self.cache.remove_extent(key.extent),
            _ => {
                let view = self.tables[key.extent as usize].view();
                assert!(view.get(key.page / 2).is_none_or(|found| found.key.extent == key.extent));
            }
        }
    }

    /// Checks what must hold when no thread is running.
    fn check(&self) {
        let kept =
            (0..BLOCKS * u64::from(PAGES)).filter(|n| self.cache.get(Shared::key(*n)).is_some());
        assert_eq!(self.cache.resident_bytes(), kept.count() * PAGE_BYTES);
        assert!(self.cache.resident_bytes() <= self.cache.budget_bytes());
        for (block, table) in (0..).zip(&self.tables) {
            for place in 0..PAGES / 2 {
                let Some(found) = table.get(place) else { continue };
                assert_eq!((found.key.extent, found.key.page / 2), (block, place));
                let kept = self.cache.get(found.key);
                let same = kept.is_some_and(|kept| Arc::ptr_eq(&kept, &found));
                assert!(same, "a table has {:?}, which the cache has not", found.key);
            }
        }
    }
}

#[test]
fn a_table_has_what_the_cache_has() {
    explore(|| {
        // Two shards, each with room for two pages.
        let cache = PageCache::new(2 << 20);
        let tables = [(); BLOCKS as usize].map(|()| Arc::new(PageTable::new(PAGES / 2)));
        let shared = Arc::new(Shared { cache, tables });
        let threads = [1_u64, 2, 3].map(|thread| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                for i in 0..8 {
                    let mut dice = thread.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ (i << 20);
                    dice = (dice ^ (dice >> 31)).wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 20;
                    shared.step(dice % 5, Shared::key(dice / 5));
                }
            })
        });
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        shared.check();
        (0..BLOCKS).for_each(|block| shared.cache.remove_extent(block));
        shared.check();
        assert_eq!(shared.cache.resident_bytes(), 0);
        assert!(shared.tables.iter().all(|t| (0..PAGES / 2).all(|place| t.get(place).is_none())));
    });
}
