//! Verified pages that stay in memory, up to a number of bytes.
//!
//! In: pages that somebody has checked, and where they are from. Out: the same pages, shared. It must not
//! know what is in a page, nor where it comes from when it is not here.
//!
//! The cache is cut into shards, each with its lock, its part of the bytes and its own order of use, so
//! that threads seldom wait for each other. A key's shard is given by its hash.
//!
//! A page may have a place in a [`PageTable`] too, where it is found without the cache's knowledge. It
//! says so by a flag, or the table does for those whose bytes are looked at there, and is given another round in the order of use when it would have to go.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use byteorder::{ByteOrder, LittleEndian};
use lru::LruCache;
use xxhash_rust::xxh3::xxh3_64;

use super::page_table::PageTable;
use crate::format::page::Line;
use crate::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use crate::sync::{Mutex, MutexGuard, PoisonError};

/// The most shards there are.
const MOST_SHARDS: usize = 16;

/// A shard of fewer bytes would hold too few pages to have an order of use: then there are fewer shards.
const LEAST_SHARD_BYTES: usize = 1 << 20;

/// Where a page is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PageKey {
    /// The block of the file, such as a segment: a number that is never given to another one.
    pub block: u64,
    /// The part of the block.
    pub region: u8,
    /// The page of that part.
    pub page: u32,
}

/// Something that takes up memory.
pub trait Weighed {
    /// How many bytes. Asked once, when it comes into the cache.
    fn bytes(&self) -> usize;

    /// Whether it was found in a table since this was last asked.
    fn take_used(&self) -> bool {
        false
    }

    /// Its bytes, if those who find it in a table may look at them without it.
    fn lines(&self) -> Option<&Arc<[Line]>> {
        None
    }
}

/// A page's place in a table.
#[derive(Debug)]
pub struct Home<V> {
    /// The table.
    pub table: Arc<PageTable<V>>,
    /// The page's number there.
    pub page: u32,
}

/// Pages in memory, the least recently used of which make room for new ones.
#[derive(Debug)]
pub struct PageCache<V> {
    shards: Box<[Mutex<Shard<V>>]>,
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
    /// A cache that holds pages of so many bytes together. With none it holds nothing.
    pub fn new(budget_bytes: usize) -> PageCache<V> {
        let shards = (budget_bytes / LEAST_SHARD_BYTES).clamp(1, MOST_SHARDS);
        PageCache {
            shards: (0..shards).map(|_| Mutex::new(Shard::new())).collect(),
            shard_budget: budget_bytes / shards,
            resident: AtomicUsize::new(0),
            hits: AtomicU64::new(0),
            misses: AtomicU64::new(0),
        }
    }

    /// The page, which counts as used now.
    pub fn get(&self, key: PageKey) -> Option<Arc<V>> {
        let found = self.shard(key).pages.get(&key).map(|kept| Arc::clone(&kept.page));
        let counter = if found.is_some() { &self.hits } else { &self.misses };
        counter.fetch_add(1, Ordering::Relaxed);
        found
    }

    /// Keeps a page, in place of one that had its key and of those of its shard that were not used for
    /// longest. A page that is larger than a shard is not kept, and takes the place of nothing.
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
        // Freeing pages may take long: not under the lock.
        drop(shard);
        drop(out);
    }

    /// Keeps a page if there is room without putting out another, and says whether it is there now. For
    /// scans, which would put out everything.
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

    /// Drops all pages of a block, which is no longer read.
    pub fn remove_block(&self, block: u64) {
        for shard in &self.shards {
            let mut shard = lock(shard);
            let before = shard.bytes;
            let keys = shard.pages.iter().map(|(key, _)| *key);
            let keys: Vec<PageKey> = keys.filter(|key| key.block == block).collect();
            let out: Vec<_> = keys.into_iter().filter_map(|key| shard.pop(key)).collect();
            self.account(before, &shard);
            drop(shard);
            drop(out);
        }
    }

    /// Counts pages that were found in tables.
    pub fn add_hits(&self, hits: u64) {
        self.hits.fetch_add(hits, Ordering::Relaxed);
    }

    /// How many bytes the pages have together.
    pub fn resident_bytes(&self) -> usize {
        self.resident.load(Ordering::Relaxed)
    }

    /// How many bytes the pages may have together. Shards round it down.
    pub fn budget_bytes(&self) -> usize {
        self.shard_budget * self.shards.len()
    }

    /// How often a page was there.
    pub fn hits(&self) -> u64 {
        self.hits.load(Ordering::Relaxed)
    }

    /// How often a page was not there.
    pub fn misses(&self) -> u64 {
        self.misses.load(Ordering::Relaxed)
    }

    fn shard(&self, key: PageKey) -> MutexGuard<'_, Shard<V>> {
        let mut bytes = [0; 13];
        LittleEndian::write_u64(&mut bytes[..8], key.block);
        LittleEndian::write_u32(&mut bytes[8..12], key.page);
        bytes[12] = key.region;
        lock(&self.shards[(xxh3_64(&bytes) % self.shards.len() as u64) as usize])
    }

    /// Takes over the change of a shard. The shard is still locked, so its part of the sum is right.
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
        // Bounded by bytes, not by a number of pages.
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

    /// The page that was not used for longest. Those that were found in a table since they were last
    /// looked at have another round, each at most one.
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

/// Nothing under the lock calls foreign code, so a shard is whole even if a thread died holding it.
fn lock<V>(shard: &Mutex<Shard<V>>) -> MutexGuard<'_, Shard<V>> {
    shard.lock().unwrap_or_else(PoisonError::into_inner)
}
