//! A cache of verified pages, bounded in bytes.
//!
//! In: checked pages and their keys. Out: the same pages, shared. It must not know what a page contains, nor where
//! a missing page comes from.
//!
//! The cache is split into shards, each with its own lock, byte budget and LRU order, so that threads seldom wait
//! for each other. The hash of a key selects its shard.
//!
//! Pages found through a [`PageTable`] bypass the LRU. They set a `used` bit, in the page or in the table, and
//! eviction gives such a page one more round (second chance).

#[cfg(test)]
mod tests;

use std::sync::Arc;

use byteorder::{ByteOrder, LittleEndian};
use lru::LruCache;
use xxhash_rust::xxh3::xxh3_64;

use super::page_table::PageTable;
use crate::format::page::Line;
use crate::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use crate::sync::lock_order::PAGE_CACHE;
use crate::sync::{Ranked, RankedGuard};

/// The largest number of shards.
const MOST_SHARDS: usize = 16;

/// A smaller shard would hold too few pages for a useful LRU order, so small caches have fewer shards.
const LEAST_SHARD_BYTES: usize = 1 << 20;

/// The identity of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PageKey {
    /// The extent it belongs to, such as a segment. Its number is never reused.
    pub extent: u64,
    /// The region of the extent.
    pub region: u8,
    /// The page number in the region.
    pub page: u32,
}

/// A value that has a size in memory.
pub trait Weighed {
    /// Returns its size in bytes. Called once, when the page enters the cache.
    fn bytes(&self) -> usize;

    /// Whether it was found through a table since the last call.
    fn take_used(&self) -> bool {
        false
    }

    /// Returns the bytes of the page, if table users may read them directly.
    fn lines(&self) -> Option<&Arc<[Line]>> {
        None
    }
}

/// The position of a page in a table.
#[derive(Debug)]
pub struct Home<V> {
    /// The table.
    pub table: Arc<PageTable<V>>,
    /// The page's number in the table.
    pub page: u32,
}

/// Pages in memory, evicted by least recent use with a second chance.
#[derive(Debug)]
pub struct PageCache<V> {
    shards: Box<[Ranked<PAGE_CACHE, Shard<V>>]>,
    shard_budget: usize,
    resident: AtomicUsize,
    hits: AtomicU64,
    misses: AtomicU64,
}

#[derive(Debug)]
struct Shard<V> {
    pages: LruCache<PageKey, Kept<V>>,
    bytes: usize,
}

#[derive(Debug)]
struct Kept<V> {
    page: Arc<V>,
    bytes: usize,
    home: Option<Home<V>>,
}

impl<V: Weighed> PageCache<V> {
    /// Creates a cache that holds up to `budget_bytes` of pages. A budget of 0 caches nothing.
    pub fn new(budget_bytes: usize) -> PageCache<V> {
        let shards = (budget_bytes / LEAST_SHARD_BYTES).clamp(1, MOST_SHARDS);
        PageCache {
            shards: (0..shards).map(|_| Ranked::new(Shard::new())).collect(),
            shard_budget: budget_bytes / shards,
            resident: AtomicUsize::new(0),
            hits: AtomicU64::new(0),
            misses: AtomicU64::new(0),
        }
    }

    /// Returns the page and marks it as most recently used.
    pub fn get(&self, key: PageKey) -> Option<Arc<V>> {
        let found = self.shard(key).pages.get(&key).map(|kept| Arc::clone(&kept.page));
        let counter = if found.is_some() { &self.hits } else { &self.misses };
        counter.fetch_add(1, Ordering::Relaxed);
        found
    }

    /// Caches a page. Replaces a page with the same key, and evicts the least recently used pages of its shard as
    /// needed. A page larger than a shard's budget is not cached and evicts nothing.
    pub fn insert(&self, key: PageKey, page: Arc<V>, home: Option<Home<V>>) {
        let needed = page.bytes();
        if self.shard_budget == 0 || needed > self.shard_budget {
            return;
        }
        let mut shard = self.shard(key);
        let before = shard.bytes;
        let mut out = Vec::new();
        out.extend(shard.pop(key));
        while shard.bytes + needed > self.shard_budget {
            let Some(oldest) = shard.pop_oldest() else { break };
            out.push(oldest);
        }
        shard.put(key, page, needed, home);
        self.account(before, &shard);
        // Freeing pages can be slow, so it happens after the lock is released.
        drop(shard);
        drop(out);
    }

    /// Caches a page only if it fits without an eviction, and returns whether it is cached now. For scans, which
    /// would evict everything else.
    pub fn insert_if_room(&self, key: PageKey, page: Arc<V>, home: Option<Home<V>>) -> bool {
        let needed = page.bytes();
        let mut shard = self.shard(key);
        if shard.pages.contains(&key) {
            return true;
        }
        if self.shard_budget == 0 || needed > self.shard_budget - shard.bytes {
            return false;
        }
        let before = shard.bytes;
        shard.put(key, page, needed, home);
        self.account(before, &shard);
        true
    }

    /// Drops all pages of an extent that is no longer read.
    pub fn remove_extent(&self, extent: u64) {
        for shard in &self.shards {
            let mut shard = shard.lock();
            let before = shard.bytes;
            let keys = shard.pages.iter().map(|(key, _)| *key);
            let keys: Vec<PageKey> = keys.filter(|key| key.extent == extent).collect();
            let out: Vec<_> = keys.into_iter().filter_map(|key| shard.pop(key)).collect();
            self.account(before, &shard);
            drop(shard);
            drop(out);
        }
    }

    /// Counts hits that happened in tables.
    pub fn add_hits(&self, hits: u64) {
        self.hits.fetch_add(hits, Ordering::Relaxed);
    }

    /// Returns the total bytes of the cached pages.
    pub fn resident_bytes(&self) -> usize {
        self.resident.load(Ordering::Relaxed)
    }

    /// Returns the most bytes that can be cached. Division into shards rounds it down.
    pub fn budget_bytes(&self) -> usize {
        self.shard_budget * self.shards.len()
    }

    /// Returns the number of hits.
    pub fn hits(&self) -> u64 {
        self.hits.load(Ordering::Relaxed)
    }

    /// Returns the number of misses.
    pub fn misses(&self) -> u64 {
        self.misses.load(Ordering::Relaxed)
    }

    fn shard(&self, key: PageKey) -> RankedGuard<'_, PAGE_CACHE, Shard<V>> {
        let mut bytes = [0; 13];
        LittleEndian::write_u64(&mut bytes[..8], key.extent);
        LittleEndian::write_u32(&mut bytes[8..12], key.page);
        bytes[12] = key.region;
        self.shards[(xxh3_64(&bytes) % self.shards.len() as u64) as usize].lock()
    }

    /// Adds a shard's change to the total. The caller holds the shard's lock, so the difference is exact.
    fn account(&self, before: usize, shard: &Shard<V>) {
        if shard.bytes >= before {
            self.resident.fetch_add(shard.bytes - before, Ordering::Relaxed);
        } else {
            self.resident.fetch_sub(before - shard.bytes, Ordering::Relaxed);
        }
    }
}

impl<V: Weighed> Shard<V> {
    fn new() -> Shard<V> {
        // The bound is bytes, not a number of pages.
        Shard { pages: LruCache::unbounded(), bytes: 0 }
    }

    fn put(&mut self, key: PageKey, page: Arc<V>, bytes: usize, home: Option<Home<V>>) {
        if let Some(Home { table, page: place }) = &home {
            table.set(*place, &page);
        }
        self.pages.put(key, Kept { page, bytes, home });
        self.bytes += bytes;
    }

    fn pop(&mut self, key: PageKey) -> Option<Kept<V>> {
        let kept = self.pages.pop(&key)?;
        self.leave(&kept);
        Some(kept)
    }

    /// Evicts the least recently used page. A page that was found through a table since it was last examined moves
    /// to the front instead, at most once per call.
    fn pop_oldest(&mut self) -> Option<Kept<V>> {
        for _ in 0..self.pages.len() {
            let (key, kept) = self.pages.peek_lru()?;
            let seen = kept.home.as_ref().is_some_and(|home| home.table.take_used(home.page));
            if !kept.page.take_used() && !seen {
                break;
            }
            let key = *key;
            self.pages.promote(&key);
        }
        let (_, kept) = self.pages.pop_lru()?;
        self.leave(&kept);
        Some(kept)
    }

    fn leave(&mut self, kept: &Kept<V>) {
        self.bytes -= kept.bytes;
        if let Some(Home { table, page }) = &kept.home {
            table.clear(*page, &kept.page);
        }
    }
}
