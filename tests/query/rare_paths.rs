//! Rare code paths of a query, each forced by special data and compared with brute force: deferred lists, long lists,
//! ties at the end of the ranking, deleted duplicates.

use testkit::query_oracle;
use testkit::random::Random;

use std::sync::Arc;

use query_oracle::{Brute, Request, Rows, compare_all, compare_plans, crafted, found};
use ringer::query::PartPlan;
use ringer::scheme::{CardinalityField, Slots};
use ringer::{Database, Like, Options, Plan, Scheme, Signature, presets};

/// Returns a scheme for handmade samples.
pub(crate) fn scheme(samples: u32, bits: u8, slots: [u16; 4]) -> Arc<Scheme> {
    let [count, samples_per_slot, value_bits, min_matches] = slots;
    let slots =
        Slots { count, samples_per_slot, value_bits: value_bits.try_into().unwrap(), min_matches };
    let cardinality = CardinalityField::None;
    Arc::new(
        Scheme::new(
            presets::PRECISE
                .with_samples(samples)
                .with_bits(bits)
                .with_slots(slots)
                .with_cardinality(cardinality),
        )
        .unwrap(),
    )
}

/// Disables all background work and automatic maintenance.
pub(crate) fn options() -> Options {
    Options::default()
        .with_memtable_rows(1 << 20)
        .with_memtable_bytes(1 << 30)
        .with_background(false)
        .with_merge(false)
}

pub(crate) struct Place {
    pub(crate) db: Database,
    rows: Rows,
    _folder: tempfile::TempDir,
}

impl Place {
    pub(crate) fn new(scheme: &Scheme, options: Options) -> Place {
        let folder = tempfile::tempdir().unwrap();
        let db = Database::create(folder.path().join("x.ringer"), scheme, options).unwrap();
        Place { db, rows: Rows::new(), _folder: folder }
    }

    /// Stores rows in a new segment.
    pub(crate) fn load(&mut self, rows: &[(Vec<u8>, Signature)]) {
        let mut load = self.db.bulk_load();
        rows.iter().for_each(|(key, signature)| load.put_signature(key, signature).unwrap());
        load.commit().unwrap();
        self.rows.extend(rows.iter().cloned());
    }

    /// Stores rows in the memtable; `None` deletes.
    pub(crate) fn commit(&mut self, rows: &[(Vec<u8>, Option<Signature>)]) {
        let mut batch = self.db.batch();
        for (key, signature) in rows {
            match signature {
                Some(signature) => {
                    batch.put_signature(key, signature.clone()).unwrap();
                    self.rows.insert(key.clone(), signature.clone());
                }
                None => {
                    batch.delete(key).unwrap();
                    self.rows.remove(key);
                }
            }
        }
        self.db.commit(batch).unwrap();
    }

    pub(crate) fn compare(&self, query: &Signature, requests: &[Request], at: &str) {
        compare_all(&self.db.snapshot(), &self.rows, query, requests, at);
    }
}

/// Returns a signature with popular values: slots below `heavy` have value 0 in most rows. A few rows equal `near` in
/// `alike` of the other slots.
fn popular(random: &mut Random, scheme: &Arc<Scheme>, heavy: usize, near: &[u16]) -> Signature {
    let alike = if random.below(25) == 0 { random.below(near.len() as u64) } else { 0 };
    let mut samples: Vec<u16> = (0..near.len())
        .map(|slot| match slot < heavy {
            true if random.below(10) < 8 => 0,
            _ => 1 + random.below(255) as u16,
        })
        .collect();
    for _ in 0..alike {
        let slot = random.below(near.len() as u64) as usize;
        samples[slot] = near[slot];
    }
    crafted(scheme, &samples)
}

/// Rows that occur only in heavy lists, both if those lists are deferred and if they are read.
#[test]
fn heavy_lists_change_no_answer() {
    let (mut left, mut read) = (0, 0);
    for (heavy, m) in [(1, 1), (3, 1), (2, 2), (5, 2), (3, 4), (4, 4), (6, 4), (24, 1)] {
        let scheme = scheme(24, 8, [24, 1, 8, m]);
        let mut random = Random(heavy as u64 * 10 + u64::from(m));
        let mut place = Place::new(&scheme, options());
        let near: Vec<u16> =
            (0..24).map(|i| if i < heavy { 0 } else { 1 + random.below(255) as u16 }).collect();
        let row = |i: u64, random: &mut Random| {
            (
                format!("{:05}", i * 7919 % 10_000).into_bytes(),
                popular(random, &scheme, heavy, &near),
            )
        };
        let rows: Vec<_> = (0..4000).map(|i| row(i, &mut random)).collect();
        place.load(&rows);
        // The same in another segment and in the memtable, with some keys repeated.
        let rows: Vec<_> = (3900..6500).map(|i| row(i, &mut random)).collect();
        place.load(&rows);
        let rows: Vec<_> = (6400..7000).map(|i| row(i, &mut random)).collect();
        let rows: Vec<_> = rows.into_iter().map(|(key, row)| (key, Some(row))).collect();
        place.commit(&rows);
        let requests = [
            Request::top(1),
            Request::top(10),
            Request::top(60),
            Request::top(3000),
            Request::min(0.0),
            Request::min(0.1),
            Request::min(0.3),
            Request { top: Some(7), ..Request::min(0.05) },
            Request { matches: Some(heavy as u32), ..Request::top(20) },
            Request { matches: Some((heavy as u32 + 1).min(24)), ..Request::min(0.0) },
            Request { hamming: true, ..Request::top(15) },
            Request { hamming: true, matches: Some(3), ..Request::min(0.2) },
        ];
        for query in 0..3 {
            let mut samples = near.clone();
            (0..query * 3)
                .for_each(|_| samples[random.below(24) as usize] = random.below(256) as u16);
            let query = crafted(&scheme, &samples);
            place.compare(&query, &requests, &format!("{heavy} heavy, m = {m}"));
            for request in requests {
                let snapshot = place.db.snapshot();
                let query = request.put(snapshot.query(Like::Signature(&query))).plan(Plan::Probe);
                let explained = query.explain().unwrap();
                left += explained.work.lists_unread;
                let most = explained.parts.iter().filter(|part| part.segment.is_some());
                read += most.filter(|part| part.work.lists_read > 24 && !request.hamming).count();
                let by_lists: u64 = explained.candidates_by_lists.iter().sum();
                assert_eq!(by_lists, explained.work.candidates);
                let part = |part: &PartPlan| part.work.candidates <= part.signatures.into();
                assert!(explained.parts.iter().all(part), "each candidate is counted once");
            }
        }
    }
    assert!(left > 100, "lists were left unread {left} times");
    assert!(read > 10, "deferred lists were read {read} times");
}

/// Lists span many pages, have more ids than a window has counters, and some rows are in the memtable.
#[test]
fn long_lists_go_over_pages_and_windows() {
    let scheme = scheme(64, 4, [12, 1, 2, 3]);
    let mut random = Random(5);
    let mut place = Place::new(&scheme, options());
    let draw = |random: &mut Random| {
        let samples: Vec<u16> = (0..64).map(|_| random.below(16) as u16).collect();
        crafted(&scheme, &samples)
    };
    let rows: Vec<_> =
        (0..70_000_u32).map(|i| (i.to_be_bytes().to_vec(), draw(&mut random))).collect();
    place.load(&rows);
    let queries = [draw(&mut random), rows[69_999].1.clone(), rows[32_768].1.clone()];
    for query in &queries {
        let requests = [
            Request::top(5),
            Request::min(0.25),
            Request { matches: Some(12), ..Request::min(0.0) },
        ];
        place.compare(query, &requests, "long lists");
        let snapshot = place.db.snapshot();
        let query = snapshot.query(Like::Signature(query)).plan(Plan::Probe).top(5);
        assert!(query.explain().unwrap().work.postings > 100_000);
        let cut = query.max_candidates(10).explain().unwrap();
        assert!(cut.answer.truncated);
    }
}

/// More lists than a byte can count, in dense and in sorted merging.
#[test]
fn more_slots_than_a_byte_counts() {
    for (m, bits) in [(1, 8), (140, 1), (290, 1)] {
        let scheme = scheme(300, bits, [300, 1, bits.into(), m]);
        let mut random = Random(u64::from(m));
        let mut place = Place::new(&scheme, options());
        let near: Vec<u16> = (0..300).map(|_| random.below(1 << bits) as u16).collect();
        let rows: Vec<_> = (0..1500_u32)
            .map(|i| {
                let mut samples = near.clone();
                let changes = random.below(500);
                for _ in 0..changes {
                    samples[random.below(300) as usize] = random.below(1 << bits) as u16;
                }
                (i.to_be_bytes().to_vec(), crafted(&scheme, &samples))
            })
            .collect();
        place.load(&rows[..1200]);
        let fresh: Vec<_> =
            rows[1200..].iter().map(|(k, s)| (k.clone(), Some(s.clone()))).collect();
        place.commit(&fresh);
        let query = crafted(&scheme, &near);
        let requests = [
            Request::top(30),
            Request::min(0.9),
            Request { matches: Some(256), ..Request::min(0.0) },
            Request { matches: Some(300), ..Request::min(0.0) },
            Request { hamming: true, ..Request::top(10) },
        ];
        place.compare(&query, &requests, "300 slots");
    }
}

/// Each row is in the lists of all of its slots, whether or not their pages are in memory, and however the lists are
/// laid out in pages.
#[test]
fn every_row_is_found_by_all_of_its_slots() {
    for (bits, slots, values, cache_bytes) in [
        (8, [24, 1, 8, 24], 256, 1 << 24),
        (8, [24, 1, 8, 24], 40, 200_000),
        (8, [12, 2, 16, 12], 30, 1 << 24),
        (8, [8, 3, 20, 8], 256, 1 << 24),
        (4, [6, 4, 16, 6], 3, 0),
    ] {
        let scheme = scheme(24, bits, slots);
        let mut random = Random(values);
        let mut place = Place::new(&scheme, options().with_cache_bytes(cache_bytes));
        let rows: Vec<_> = (0..3000_u32)
            .map(|i| {
                let samples: Vec<u16> = (0..24).map(|_| random.below(values) as u16).collect();
                (i.to_be_bytes().to_vec(), crafted(&scheme, &samples))
            })
            .collect();
        place.load(&rows[..2000]);
        let fresh: Vec<_> =
            rows[2000..].iter().map(|(k, s)| (k.clone(), Some(s.clone()))).collect();
        place.commit(&fresh);
        let snapshot = place.db.snapshot();
        for round in 0..2 {
            for (key, row) in &rows {
                let query = snapshot.query(Like::Signature(row)).plan(Plan::Probe).top(3);
                let answer = query.run().unwrap();
                let itself = answer.matches.iter().find(|found| *found.key == **key);
                let slots = itself.map(|found| found.matching_slots);
                assert_eq!(slots, Some(scheme.slots.count.into()), "{scheme}, round {round}");
            }
        }
    }
}

/// Rows tie in resemblance and slots and differ only in their keys, wherever they are stored, at every length of the
/// ranking.
#[test]
fn ties_at_the_end_are_broken_by_key_across_parts() {
    let scheme = scheme(32, 4, [8, 1, 4, 1]);
    let near = [5_u16; 32];
    // Equal in slot 0 or 1, and in as many other samples.
    let tied = |n: u64, slots: usize| {
        let mut samples = [3; 32];
        samples[..slots].fill(5);
        samples[8..12 - slots].fill(5);
        // These samples differ, so that the signatures are distinct.
        (20..32).for_each(|i| samples[i] = if n >> (i - 20) & 1 == 1 { 7 } else { 9 });
        crafted(&scheme, &samples)
    };
    let mut place = Place::new(&scheme, options());
    let key = |n: u64| format!("{:03}", n * 37 % 200).into_bytes();
    let row = |n: u64| (key(n), tied(n % 60, 1 + usize::from(n.is_multiple_of(3))));
    for segment in 0..3 {
        let rows: Vec<_> = (segment * 40..segment * 40 + 40).map(row).collect();
        place.load(&rows);
    }
    let fresh: Vec<_> = (120..200).map(row).map(|(key, row)| (key, Some(row))).collect();
    place.commit(&fresh);
    let query = crafted(&scheme, &near);
    let requests: Vec<Request> = (0..=200).map(Request::top).collect();
    place.compare(&query, &requests, "ties");
    place.db.checkpoint().unwrap();
    place.compare(&query, &requests, "ties in segments");
    place.db.compact().unwrap();
    place.compare(&query, &requests, "ties in a segment");
}

/// Many keys share one signature. Some are deleted or replaced, in the memtable or in another segment.
#[test]
fn deleted_duplicates_are_not_found() {
    let scheme = scheme(32, 4, [8, 2, 8, 1]);
    for round in 0..6 {
        let mut random = Random(round);
        let mut place =
            Place::new(&scheme, options().with_cache_bytes([0, 1 << 20][round as usize % 2]));
        // A few signatures that differ a little.
        let all: Vec<Signature> = (0..6_usize)
            .map(|n| {
                let mut samples = [1; 32];
                samples[16..16 + n / 2].fill(2);
                samples[31 - n % 2] = 4;
                crafted(&scheme, &samples)
            })
            .collect();
        let key = |n: u64| format!("{n:04}").into_bytes();
        let pick = |random: &mut Random| all[random.below(6) as usize].clone();
        let rows: Vec<_> = (0..3000).map(|n| (key(n * 2), pick(&mut random))).collect();
        place.load(&rows);
        for (step, query) in all.iter().enumerate().take(4) {
            let changes: Vec<_> = (0..900)
                .map(|_| {
                    (key(random.below(6000)), (random.below(3) > 0).then(|| pick(&mut random)))
                })
                .collect();
            place.commit(&changes);
            // Deletes the first keys, which a ranking would prefer.
            let first: Vec<_> = place.rows.keys().take(30).map(|key| (key.clone(), None)).collect();
            place.commit(&first);
            let requests = [1, 10, 100, 2000].map(Request::top);
            let requests = [&requests[..], &[Request::min(0.0), Request::min(0.99)]].concat();
            place.compare(query, &requests, "duplicates");
            let copy = place.rows.iter().find(|(_, row)| *row == query);
            let (key, row) = copy.expect("some are left");
            let right = Brute::new(row).answer(&place.rows, Some(key), Request::top(500));
            let snapshot = place.db.snapshot();
            compare_plans(
                &snapshot,
                Like::Key(key),
                Request::top(500),
                &right,
                "duplicates of a key",
            );
            if step % 2 == round as usize % 2 {
                place.db.checkpoint().unwrap();
                place.compare(query, &requests, "duplicates in segments");
            }
        }
    }
}

/// A memtable with long chains is scanned, and one with short chains is probed. Both give the same answer.
#[test]
fn a_memtable_is_scanned_where_its_chains_are_long() {
    let scheme = scheme(256, 8, [16, 2, 16, 1]);
    let mut plans = Vec::new();
    for popular in [0, 32] {
        let mut random = Random(3);
        let mut place = Place::new(&scheme, options());
        let rows: Vec<_> = (0..3000_u32)
            .map(|i| {
                let draw = |slot: usize, random: &mut Random| match slot < popular {
                    true => 0,
                    false => random.below(256) as u16,
                };
                let samples: Vec<u16> = (0..256).map(|slot| draw(slot, &mut random)).collect();
                (i.to_be_bytes().to_vec(), Some(crafted(&scheme, &samples)))
            })
            .collect();
        place.commit(&rows);
        let query = rows[17].1.clone().unwrap();
        place.compare(
            &query,
            &[Request::top(20), Request::min(0.0), Request::min(0.1)],
            "memtable",
        );
        let snapshot = place.db.snapshot();
        let explained = snapshot.query(Like::Signature(&query)).explain().unwrap();
        plans.extend(explained.parts.iter().map(|part| (part.segment, part.plan)));
    }
    assert_eq!(plans, [(None, Plan::Probe), (None, Plan::Scan)]);
}

/// The limit of candidates is exact. An answer is complete if the limit equals their number; with one less it is
/// truncated and says so. That holds wherever the candidates are and whichever lists are deferred.
#[test]
fn an_answer_is_truncated_only_below_the_number_of_candidates() {
    for (heavy, m, per_slot) in [(0, 1, 1), (3, 4, 1), (4, 2, 1), (0, 1, 2)] {
        // Wide values share chains of a memtable.
        let scheme = scheme(24, 8, [24 / per_slot, per_slot, 8 * per_slot, m]);
        let mut random = Random(10 + heavy as u64);
        let near: Vec<u16> =
            (0..24).map(|i| if i < heavy { 0 } else { 1 + random.below(255) as u16 }).collect();
        for (loaded, fresh) in [(3000, 0), (0, 300), (2000, 100)] {
            let mut place = Place::new(&scheme, options());
            let row = |i: u64, random: &mut Random| {
                (i.to_be_bytes().to_vec(), popular(random, &scheme, heavy, &near))
            };
            let rows: Vec<_> = (0..loaded).map(|i| row(i, &mut random)).collect();
            if loaded > 0 {
                place.load(&rows);
            }
            let rows: Vec<_> = (loaded..loaded + fresh).map(|i| row(i, &mut random)).collect();
            let rows: Vec<_> = rows.into_iter().map(|(key, row)| (key, Some(row))).collect();
            if fresh > 0 {
                place.commit(&rows);
            }
            let query = crafted(&scheme, &near);
            let mut brute = Brute::new(&query);
            let right = brute.answer(&place.rows, None, Request::min(0.0));
            // All signatures are distinct here.
            let least = u32::from(m);
            let enough = place.rows.values().filter(|row| brute.slots(row, false) >= least);
            let candidates = enough.count();
            assert!(candidates > 5);
            let snapshot = place.db.snapshot();
            let run = |most| {
                let query = snapshot.query(Like::Signature(&query)).min_resemblance(0.0);
                query.plan(Plan::Probe).max_candidates(most).run().unwrap()
            };
            let at = format!("{heavy} heavy, m = {m}, {loaded} loaded, {fresh} fresh");
            for most in [candidates, candidates + 1, usize::MAX] {
                let answer = run(most);
                assert!(!answer.truncated, "{at}: {most} of {candidates} candidates");
                assert_eq!(found(&answer), right, "{at}");
            }
            for most in [0, 1, candidates / 2, candidates - 1] {
                let answer = run(most);
                // With several parts the count may be lower, but a truncated answer always says so.
                if !answer.truncated && loaded > 0 && fresh > 0 {
                    assert_eq!(found(&answer), right, "{at}");
                    continue;
                }
                assert!(answer.truncated, "{at}: {most} of {candidates} candidates");
                let known = |key: &[u8]| right.iter().any(|(other, ..)| **other == *key);
                assert!(answer.matches.iter().all(|m| known(&m.key)), "{at}");
                let looked_at = answer.matches.len() <= 2 * most;
                assert!(looked_at || loaded > 0 && fresh > 0, "{at}");
            }
        }
    }
}
