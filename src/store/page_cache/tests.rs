//! Compares the cache with a list that is searched linearly.

use super::*;

/// A page with a given size and its key.
#[derive(Debug, PartialEq)]
struct Page {
    key: PageKey,
    bytes: usize,
}

impl Weighed for Page {
    fn bytes(&self) -> usize {
        self.bytes
    }
}

fn key(n: u64) -> PageKey {
    PageKey { extent: n / 12, region: (n / 4 % 3) as u8, page: (n % 4) as u32 }
}

fn page(key: PageKey, bytes: usize) -> Arc<Page> {
    Arc::new(Page { key, bytes })
}

/// Returns a generator of pseudorandom numbers below a limit, the same in each run.
fn dice(seed: u64) -> impl FnMut(u64) -> u64 {
    let mut random = testkit::random::Random(seed);
    move |limit| random.below(limit)
}

/// What one shard must hold, least recently used first.
#[derive(Default)]
struct Model {
    budget: usize,
    pages: Vec<(PageKey, usize)>,
}

impl Model {
    fn bytes(&self) -> usize {
        self.pages.iter().map(|(_, bytes)| bytes).sum()
    }

    fn get(&mut self, key: PageKey) -> Option<usize> {
        let at = self.pages.iter().position(|(k, _)| *k == key)?;
        let found = self.pages.remove(at);
        self.pages.push(found);
        Some(found.1)
    }

    fn insert(&mut self, key: PageKey, bytes: usize) {
        if bytes <= self.budget {
            self.pages.retain(|(k, _)| *k != key);
            while self.bytes() + bytes > self.budget {
                self.pages.remove(0);
            }
            self.pages.push((key, bytes));
        }
    }

    fn insert_if_room(&mut self, key: PageKey, bytes: usize) -> bool {
        let there = self.pages.iter().any(|(k, _)| *k == key);
        let fits = self.bytes() + bytes <= self.budget;
        if fits && !there {
            self.pages.push((key, bytes));
        }
        there || fits
    }
}

#[test]
fn one_shard_keeps_the_pages_that_a_naive_list_keeps() {
    for seed in 0..20 {
        let mut dice = dice(seed);
        let cache: PageCache<Page> = PageCache::new(1000);
        let mut model = Model { budget: 1000, ..Model::default() };
        let (mut hits, mut misses) = (0, 0);
        for _ in 0..3000 {
            let (k, bytes) = (key(dice(60)), dice(150) as usize);
            match dice(100) {
                0..50 => {
                    let found = cache.get(k);
                    assert_eq!(found.as_ref().map(|page| page.bytes), model.get(k));
                    assert!(found.as_ref().is_none_or(|page| page.key == k));
                    *if found.is_some() { &mut hits } else { &mut misses } += 1;
                }
                50..80 => {
                    cache.insert(k, page(k, bytes), None);
                    model.insert(k, bytes);
                }
                80..97 => {
                    let kept = cache.insert_if_room(k, page(k, bytes), None);
                    assert_eq!(kept, model.insert_if_room(k, bytes));
                }
                97..99 => {
                    cache.insert(k, page(k, 900 + bytes), None);
                    model.insert(k, 900 + bytes);
                }
                _ => {
                    cache.remove_extent(k.extent);
                    model.pages.retain(|(other, _)| other.extent != k.extent);
                }
            }
            assert_eq!(cache.resident_bytes(), model.bytes());
        }
        assert_eq!((cache.hits(), cache.misses()), (hits, misses));
        assert!(hits > 100 && misses > 100);
    }
}

#[test]
fn the_budget_holds_over_all_shards() {
    let budget = 5 << 20;
    let cache: PageCache<Page> = PageCache::new(budget);
    let mut dice = dice(1);
    for _ in 0..20_000 {
        let (k, bytes) = (key(dice(3000)), dice(64 << 10) as usize);
        match dice(3) {
            0 => drop(cache.insert_if_room(k, page(k, bytes), None)),
            _ => cache.insert(k, page(k, bytes), None),
        }
        assert!(cache.resident_bytes() <= budget);
    }
    assert!(cache.resident_bytes() > budget * 9 / 10, "{}", cache.resident_bytes());
    for extent in 0..=3000 / 12 {
        cache.remove_extent(extent);
    }
    assert_eq!(cache.resident_bytes(), 0);
}

#[test]
fn a_small_budget_has_few_shards_and_none_keeps_nothing() {
    let shards = |budget| PageCache::<Page>::new(budget).shards.len();
    assert_eq!([0, 1, 1 << 20, 3 << 20, 16 << 20, 1 << 40].map(shards), [1, 1, 1, 3, 16, 16]);
    let cache: PageCache<Page> = PageCache::new(0);
    for bytes in [0, 1] {
        cache.insert(key(1), page(key(1), bytes), None);
        assert!(!cache.insert_if_room(key(1), page(key(1), bytes), None));
    }
    assert_eq!(cache.get(key(1)), None);
    assert_eq!((cache.resident_bytes(), cache.hits(), cache.misses()), (0, 0, 1));
}

#[test]
fn keys_that_differ_little_fall_into_all_shards_evenly() {
    let cache: PageCache<Page> = PageCache::new(64 << 20);
    for n in 0..16_000 {
        let k = PageKey { extent: 1 + n % 2, region: 0, page: (n / 2) as u32 };
        cache.insert(k, page(k, 1), None);
    }
    for shard in &cache.shards {
        let pages = shard.lock().pages.len();
        assert!((800..1200).contains(&pages), "{pages}");
    }
}

#[test]
fn a_page_larger_than_a_shard_puts_nothing_out() {
    let cache: PageCache<Page> = PageCache::new(100);
    cache.insert(key(1), page(key(1), 60), None);
    cache.insert(key(2), page(key(2), 101), None);
    assert!(cache.get(key(1)).is_some() && cache.get(key(2)).is_none());
    cache.insert(key(2), page(key(2), 100), None);
    assert!(cache.get(key(1)).is_none() && cache.get(key(2)).is_some());
}

#[test]
fn a_page_in_use_outlives_its_place_in_the_cache() {
    let cache: PageCache<Page> = PageCache::new(100);
    cache.insert(key(1), page(key(1), 100), None);
    let held = cache.get(key(1)).unwrap();
    cache.insert(key(2), page(key(2), 100), None);
    assert_eq!((held.bytes, cache.resident_bytes()), (100, 100));
}

#[test]
fn a_thread_that_died_with_a_lock_stops_nobody() {
    let cache: PageCache<Page> = PageCache::new(100);
    cache.insert(key(1), page(key(1), 10), None);
    let died = std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            let _shard = cache.shards[0].lock();
            std::panic::resume_unwind(Box::new("died"));
        });
        thread.join()
    });
    assert!(died.is_err() && cache.shards[0].is_poisoned());
    assert!(cache.get(key(1)).is_some());
    cache.insert(key(2), page(key(2), 10), None);
    cache.remove_extent(0);
    assert_eq!(cache.resident_bytes(), 0);
}

#[test]
fn threads_share_pages_within_the_budget() {
    let budget = 4 << 20;
    let cache: PageCache<Page> = PageCache::new(budget);
    std::thread::scope(|scope| {
        for seed in 0..4 {
            let cache = &cache;
            scope.spawn(move || {
                let mut dice = dice(seed);
                for _ in 0..20_000 {
                    let k = key(dice(2000));
                    match dice(20) {
                        0..10 => assert!(cache.get(k).is_none_or(|page| page.key == k)),
                        10..16 => cache.insert(k, page(k, dice(20_000) as usize), None),
                        16..19 => {
                            let _ = cache.insert_if_room(k, page(k, dice(20_000) as usize), None);
                        }
                        _ => cache.remove_extent(k.extent),
                    }
                }
            });
        }
    });
    let kept: usize = cache.shards.iter().map(|shard| shard.lock().bytes).sum();
    assert_eq!(cache.resident_bytes(), kept);
    assert!(kept <= budget);
}

/// A page that can be found through a table, with its `used` bit.
#[derive(Debug)]
struct Flagged(std::sync::atomic::AtomicBool);

impl Weighed for Flagged {
    fn bytes(&self) -> usize {
        100
    }

    fn take_used(&self) -> bool {
        self.0.swap(false, Ordering::Relaxed)
    }
}

#[test]
fn a_table_knows_what_is_resident_and_use_there_counts() {
    let cache: PageCache<Flagged> = PageCache::new(1000);
    let table = Arc::new(PageTable::new(100));
    let insert = |n: u32| {
        let home = Home { table: Arc::clone(&table), page: n };
        cache.insert(key(n.into()), Arc::new(Flagged(false.into())), Some(home));
    };
    let resident = || (0..100).filter(|n| table.get(*n).is_some()).collect::<Vec<u32>>();
    (0..10).for_each(insert);
    assert_eq!(resident(), (0..10).collect::<Vec<u32>>());
    // The oldest pages were used through the table only, so they get a second chance.
    for n in [0, 2] {
        table.get(n).unwrap().0.store(true, Ordering::Relaxed);
    }
    (10..13).for_each(insert);
    assert_eq!(resident(), [0, 2, 5, 6, 7, 8, 9, 10, 11, 12]);
    // If all pages were used, one is evicted nevertheless.
    resident().iter().for_each(|n| table.get(*n).unwrap().0.store(true, Ordering::Relaxed));
    insert(50);
    assert_eq!((resident().len(), table.get(50).is_some()), (10, true));
    (0..9).for_each(|extent| cache.remove_extent(extent));
    assert_eq!(resident(), Vec::<u32>::new());
}
