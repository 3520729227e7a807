//! All pairs of a database, compared with brute force over its signatures and with a query for each key.

use testkit::all_pairs;
use testkit::query_oracle;
use testkit::random::Random;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use all_pairs::{All, GO_ON, brute_force, expanded, options, set, what};
use query_oracle::{PLANS, Rows, crafted};
use ringer::scheme::{CardinalityField, Packing, Sampler, Slots, Universe};
use ringer::{Database, Found, Like, Pairs, Plan, Scheme, Snapshot, presets};

/// Expands pairs and groups into pairs of keys here, not in the library, and asserts the promised order.
fn grouped(pairs: Pairs<'_>) -> All {
    let mut groups: BTreeMap<Vec<u8>, Vec<Vec<u8>>> = BTreeMap::new();
    let (mut between, mut last, mut last_group) = (Vec::new(), None, None);
    let report = pairs
        .run(|found| {
            match found {
                Found::Group(group) => {
                    let keys: Vec<Vec<u8>> =
                        group.keys().map(|key| key.unwrap().to_vec()).collect();
                    assert!(keys.is_sorted() && keys.len() == group.len() && keys.len() > 1);
                    assert_eq!(*keys[0], *group.representative().unwrap());
                    assert!(last_group.replace(keys[0].clone()) < Some(keys[0].clone()));
                    // A group comes before its pairs and after those of smaller keys.
                    let before: Option<(Vec<u8>, Vec<u8>)> = last.clone();
                    assert!(before.is_none_or(|(a, _)| a < keys[0]));
                    groups.insert(keys[0].clone(), keys);
                }
                Found::Pair(pair) => {
                    let keys = (pair.a.to_vec(), pair.b.to_vec());
                    assert!(keys.0 < keys.1 && last.replace(keys.clone()) < Some(keys));
                    let known = groups.get(&*pair.a).map_or(1, Vec::len);
                    assert_eq!(pair.a_keys as usize, known, "a group comes before its pairs");
                    between.push(pair);
                }
            }
            GO_ON
        })
        .unwrap();
    assert_eq!(report.groups as usize, groups.len());
    let mut all = All::new();
    for pair in between {
        let of = |key: &[u8]| groups.get(key).cloned().unwrap_or(vec![key.to_vec()]);
        assert_eq!((of(&pair.a).len(), of(&pair.b).len()), (pair.a_keys as _, pair.b_keys as _));
        for a in of(&pair.a) {
            for b in of(&pair.b) {
                let (a, b) = if a < b { (a.clone(), b) } else { (b, a.clone()) };
                assert_eq!(all.insert((a, b), what(&pair)), None);
            }
        }
    }
    // All pairs within a group of duplicates are known.
    for keys in groups.values() {
        for (i, a) in keys.iter().enumerate() {
            for b in &keys[i + 1..] {
                assert_eq!(all.insert((a.clone(), b.clone()), (0, 0, false)), None);
            }
        }
    }
    all
}

/// Returns what a query for each key finds.
fn queried(
    snapshot: &Snapshot,
    rows: &Rows,
    request: query_oracle::Request,
) -> BTreeSet<(Vec<u8>, Vec<u8>)> {
    let mut all = BTreeSet::new();
    for key in rows.keys() {
        let answer = request.put(snapshot.query(Like::Key(key))).run().unwrap();
        assert!(!answer.truncated);
        for found in answer.matches {
            let (a, b) = (key.clone(), found.key.to_vec());
            all.insert(if a < b { (a, b) } else { (b, a) });
        }
    }
    all
}

/// Compares pairs of all thresholds and rules with the correct answer.
fn check(snapshot: &Snapshot, rows: &Rows, mins: &[f64], at: &str) {
    let scheme = snapshot.scheme().clone();
    let slots = u32::from(scheme.slots.count);
    for min in mins {
        let everything = brute_force(rows, 0, *min);
        let mut requests = vec![(None, false), (None, true)];
        requests.extend(
            [2, slots].iter().filter(|m| **m > 0 && **m <= slots).map(|m| (Some(*m), false)),
        );
        for (matches, exhaustive) in requests {
            let request =
                query_oracle::Request { matches, exhaustive, ..query_oracle::Request::min(*min) };
            let put = |mut pairs| {
                if let Some(matches) = matches {
                    pairs = Pairs::min_matches(pairs, matches);
                }
                if exhaustive { pairs.exhaustive() } else { pairs }
            };
            let least = request.least(&scheme);
            let enough = everything.iter().filter(|(_, (slots, ..))| *slots >= least);
            let right: All = enough.map(|(keys, what)| (keys.clone(), *what)).collect();
            for plan in PLANS {
                let pairs = put(snapshot.pairs(*min));
                let found = expanded(match plan {
                    Some(plan) => pairs.plan(plan),
                    None => pairs,
                });
                let same = found == right;
                let (n, all) = (found.len(), right.len());
                assert!(same, "{at} {min} {request:?} {plan:?} {scheme}: {n} of {all}");
            }
            let keys: BTreeSet<_> = right.keys().cloned().collect();
            let found: BTreeSet<_> =
                grouped(put(snapshot.pairs(*min)).plan(Plan::Probe)).into_keys().collect();
            assert!(found == keys, "{at} {min} {request:?} {scheme}: groups");
            if exhaustive || matches.is_none() {
                assert!(
                    queried(snapshot, rows, request) == keys,
                    "{at} {min} {request:?}: queries"
                );
            }
        }
    }
}

fn schemes() -> Vec<Scheme> {
    let dense = presets::PRECISE
        .with_universe(Universe::Bounded(1 << 14))
        .with_cardinality(CardinalityField::Exact)
        .with_sampler(Sampler::Independent)
        .with_samples(40)
        .with_bits(2)
        .with_slots(Slots { count: 10, samples_per_slot: 4, value_bits: 8, min_matches: 1 });
    let without = presets::PRECISE.with_slots(Slots::NONE);
    let few = presets::PRECISE.with_samples(130).with_bits(1).with_slots(Slots {
        count: 13,
        samples_per_slot: 10,
        value_bits: 9,
        min_matches: 2,
    });
    let all = [
        presets::NEAR_DUPLICATE,
        presets::PRECISE,
        presets::RDC,
        presets::ALTA_VISTA,
        presets::BING,
        dense,
        without,
        few,
        presets::PRECISE.with_sampler(Sampler::Lazy),
        presets::WEIGHTED,
        presets::COSINE,
        presets::HALF_BIT,
        dense
            .with_slots(Slots { count: 12, samples_per_slot: 3, value_bits: 3, min_matches: 2 })
            .with_packing(Packing::XorPairs)
            .with_bits(1),
    ];
    all.map(|parameters| Scheme::new(parameters).unwrap()).into()
}

/// Rows are in segments and in the memtable, with deleted and rewritten keys, duplicates and empty sets. The pairs
/// equal brute force, and stay the same after a checkpoint, a compaction and a reopen.
#[test]
fn pairs_are_those_of_the_definition_wherever_rows_live() {
    for (i, scheme) in schemes().into_iter().enumerate() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.ringer");
        let db = Database::create(&path, &scheme, options()).unwrap();
        let mut random = Random(i as u64);
        let mut rows = Rows::new();
        let key = |random: &mut Random| format!("{:03}", random.below(300)).into_bytes();
        for _ in 0..3 {
            let mut load = db.bulk_load();
            let mut new = Rows::new();
            for _ in 0..80 {
                let signature = db.sketcher().sketch(&set(&mut random, 40)).unwrap();
                new.insert(key(&mut random), signature);
            }
            new.iter().for_each(|(key, signature)| load.put_signature(key, signature).unwrap());
            load.commit().unwrap();
            rows.extend(new);
            let mut batch = db.batch();
            for _ in 0..15 {
                let key = key(&mut random);
                batch.delete(&key).unwrap();
                rows.remove(&key);
            }
            db.commit(batch).unwrap();
        }
        for _ in 0..60 {
            let (key, signature) =
                (key(&mut random), db.sketcher().sketch(&set(&mut random, 40)).unwrap());
            let mut batch = db.batch();
            if random.below(5) == 0 {
                batch.delete(&key).unwrap();
                rows.remove(&key);
            } else {
                batch.put_signature(&key, signature.clone()).unwrap();
                rows.insert(key, signature);
            }
            db.commit(batch).unwrap();
        }
        let mins = [0.0, 0.5, 0.8, 1.0];
        let old = db.snapshot();
        check(&old, &rows, &mins, "fresh");
        let before = expanded(old.pairs(0.3));
        assert!(!before.is_empty());
        db.checkpoint().unwrap();
        assert_eq!(expanded(db.snapshot().pairs(0.3)), before);
        check(&db.snapshot(), &rows, &[0.6], "checkpoint");
        db.compact().unwrap();
        check(&db.snapshot(), &rows, &[0.6], "compact");
        assert_eq!(expanded(old.pairs(0.3)), before, "an old snapshot");
        db.close().unwrap();
        let db = Database::open_read_only(&path, options().with_cache_bytes(0)).unwrap();
        check(&db.snapshot(), &rows, &[0.9], "reopened without a cache");
    }
}

/// If sets fill much of their universe, fewer than half of the half bits may agree although the estimate is above 0.
/// Such pairs are not missed.
#[test]
fn half_bits_of_full_sets() {
    let parameters = presets::HALF_BIT
        .with_universe(Universe::Bounded(700))
        .with_cardinality(CardinalityField::Exact)
        .with_sampler(Sampler::Independent)
        .with_samples(64)
        .with_slots(Slots { count: 12, samples_per_slot: 3, value_bits: 3, min_matches: 1 });
    let folder = tempfile::tempdir().unwrap();
    let scheme = Scheme::new(parameters).unwrap();
    let db = Database::create(folder.path().join("x"), &scheme, options()).unwrap();
    let (mut random, mut rows) = (Random(3), Rows::new());
    for i in 0..70 {
        let share = 5 + random.below(90);
        let set: Vec<u64> = (0..700).filter(|_| random.below(100) < share).collect();
        let key = format!("{i:02}").into_bytes();
        let signature = db.sketcher().sketch(&set).unwrap();
        db.put(&key, &set).unwrap();
        rows.insert(key, signature);
    }
    let few = brute_force(&rows, 0, 0.2).into_values().filter(|(_, equal, _)| *equal < 32);
    assert!(few.count() > 50);
    check(&db.snapshot(), &rows, &[0.0, 0.1, 0.3, 0.45, 0.5, 0.51, 0.7], "full");
}

/// Signatures agree in whole stretches of samples and in several columns at once. Runs are then long and are split by
/// further columns.
#[test]
fn long_runs_change_nothing() {
    for (k, bits, slots, n) in [
        (64, 8, [21, 3, 24, 1], 1200),
        (64, 8, [21, 3, 24, 5], 900),
        (128, 4, [32, 4, 16, 1], 1200),
        (32, 16, [8, 4, 20, 1], 900),
    ] {
        let [count, samples_per_slot, value_bits, min_matches] = slots;
        let slots = Slots { count, samples_per_slot, value_bits: value_bits as u8, min_matches };
        let parameters = presets::PRECISE
            .with_samples(k)
            .with_bits(bits)
            .with_slots(slots)
            .with_cardinality(CardinalityField::None);
        let scheme = Arc::new(Scheme::new(parameters).unwrap());
        let mut random = Random(u64::from(k));
        let near: Vec<u16> = (0..k).map(|_| random.below(1 << bits) as u16).collect();
        let mut rows = Rows::new();
        for i in 0..n {
            let mut samples = near.clone();
            // All signatures share the first stretch; the rest varies more or less.
            let changes = random.below(2 * u64::from(k));
            for _ in 0..changes {
                let at = (k / 5) as usize + random.below(u64::from(k - k / 5)) as usize;
                samples[at] = random.below(1 << bits) as u16;
            }
            rows.insert(format!("{i:05}").into_bytes(), crafted(&scheme, &samples));
        }
        let folder = tempfile::tempdir().unwrap();
        let db = Database::create(folder.path().join("x.ringer"), &scheme, options()).unwrap();
        let mut load = db.bulk_load();
        rows.iter().for_each(|(key, signature)| load.put_signature(key, signature).unwrap());
        load.commit().unwrap();
        for min in [0.45, 0.7, 0.85] {
            let right = brute_force(&rows, u32::from(min_matches), min);
            let found = expanded(db.snapshot().pairs(min));
            assert!(found == right, "{min}: {} of {}", found.len(), right.len());
            let right = brute_force(&rows, 0, min);
            let found = expanded(db.snapshot().pairs(min).exhaustive());
            assert!(found == right, "{min}: {} of {}", found.len(), right.len());
        }
    }
}
