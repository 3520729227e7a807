//! Thousands of keys of all lengths, in memtables and in segments of many pages. All are found, counted and iterated
//! in order, wherever they are stored.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::path::Path;
use std::sync::Arc;
use testkit::random::Random;

use ringer::internals::store::file_layer::memory::MemoryFiles;
use ringer::{Database, Options, Scheme, Snapshot};

/// Maps a key to the number of its set and the commit that stored it.
type Map = BTreeMap<Vec<u8>, (u64, u64)>;

/// Returns keys of all lengths: long ones that differ only at their end, and prefixes of others.
fn key(i: u64) -> Vec<u8> {
    let number = format!("{:05}", i.wrapping_mul(7919) % 100_000).into_bytes();
    match i % 50 {
        0 => [b"long/".repeat(800), number].concat(),
        1 => [b"long/".repeat((i % 800) as usize), number].concat(),
        2..10 => [&number[..2], &number, &number].concat(),
        10..20 => [&number[..], &[0; 3][..(i % 4) as usize]].concat(),
        20 => [&[0xff; 9][..(i % 9) as usize], &number].concat(),
        _ => number,
    }
}

fn set(number: u64) -> Vec<u64> {
    (0..number % 6).map(|i| number + i).collect()
}

fn check(db: &Database, snapshot: &Snapshot, map: &Map, random: &mut Random) {
    let own = |key: ringer::Result<Box<[u8]>>| key.unwrap().into_vec();
    assert_eq!(snapshot.len().unwrap(), map.len() as u64);
    let stored =
        |(number, sequence): &(u64, u64)| (db.sketcher().sketch(&set(*number)).unwrap(), *sequence);
    for row in snapshot.range::<&[u8]>(..).map(Result::unwrap).zip(map) {
        let ((key, found), (right, value)) = row;
        assert!(*key == **right && (found.signature, found.sequence) == stored(value));
    }
    assert!(snapshot.keys::<&[u8]>(..).map(own).eq(map.keys().cloned()));
    for _ in 0..200 {
        let key = key(random.below(6000));
        let found = snapshot.get(&key).unwrap().map(|s| (s.signature, s.sequence));
        assert!(found == map.get(&key).map(stored));
        let other = self::key(random.below(6000));
        let bounds = (Bound::Excluded(&*key), Bound::Included(&*other));
        let found = snapshot.keys::<&[u8]>(bounds).take(400).map(own);
        let right = map.keys().filter(|k| **k > key && **k <= other).take(400);
        assert!(found.eq(right.cloned()));
        let prefix = &key[..key.len().min(3)];
        let found = snapshot.prefix_keys(prefix).map(own);
        assert!(found.eq(map.keys().filter(|k| k.starts_with(prefix)).cloned()));
    }
}

#[test]
fn thousands_of_keys_of_all_lengths_are_found_counted_and_in_order() {
    for (round, memtable_rows, background) in [(1, 5000, false), (2, 700, true), (3, 100, false)] {
        let (layer, path) = (Arc::new(MemoryFiles::new()), Path::new("/corpus.ringer"));
        let options = Options::default()
            .with_memtable_rows(memtable_rows)
            .with_background(background)
            .with_build_bytes(100_000)
            .with_cache_bytes(200_000);
        let scheme = Scheme::precise();
        let db = Database::create_in(layer.clone(), path, &scheme, options.clone());
        let mut db = db.unwrap();
        let (mut map, mut random, mut held) = (Map::new(), Random(round), Vec::new());
        for step in 0..24 {
            let (bulk, changes) = (step % 8 == 5, 1 + random.below(1500));
            let (mut batch, mut load) = (db.batch(), db.bulk_load());
            let mut last = BTreeMap::new();
            for _ in 0..changes {
                let key = key(random.below(6000));
                let number = (bulk || random.below(3) > 0).then(|| random.below(1000));
                match number {
                    Some(number) if bulk => load.put(&key, &set(number)).unwrap(),
                    Some(number) => assert!(!batch.put(&key, &set(number)).unwrap().is_empty()),
                    None => assert!(!batch.delete(&key).unwrap().is_empty()),
                }
                last.insert(key, number);
            }
            let committed = if bulk { load.commit() } else { db.commit(batch) }.unwrap();
            let there = |(k, n): &(&Vec<u8>, &Option<u64>)| n.is_none() && map.contains_key(*k);
            assert_eq!(committed.deleted, last.iter().filter(there).count());
            assert_eq!(committed.stored, last.values().flatten().count());
            for (key, number) in last {
                match number {
                    Some(number) => drop(map.insert(key, (number, committed.sequence))),
                    None => drop(map.remove(&key)),
                }
            }
            match step {
                7 | 15 => held.push((db.snapshot(), map.clone())),
                10 => db.checkpoint().unwrap(),
                13 => db.compact().unwrap(),
                18 => {
                    db.close().unwrap();
                    db = Database::open_in(layer.clone(), path, options.clone()).unwrap();
                }
                _ => {}
            }
            if step % 3 == 2 {
                check(&db, &db.snapshot(), &map, &mut random);
            }
        }
        for (snapshot, map) in &held {
            check(&db, snapshot, map, &mut random);
        }
    }
}
