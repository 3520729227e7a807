//! All pairs of a database against brute force over its signatures, and against a query for each key.

mod likes;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::ControlFlow;
use std::sync::Arc;

use likes::{Brute, Dice, Rows, crafted};
use ringer::scheme::{CardinalityField, Sampler, Slots, Universe};
use ringer::{
    Database, Error, Found, Like, Options, Pair, Pairs, Parameters, Scheme, Signature, Snapshot,
    Undecided, presets,
};

const GO_ON: ControlFlow<()> = ControlFlow::Continue(());

fn options() -> Options {
    Options { background: false, merge: false, ..Options::default() }
}

/// Pairs of keys with common slots, equal samples and whether the threshold lies in the interval.
type All = BTreeMap<(Vec<u8>, Vec<u8>), (u32, u32, bool)>;

/// The right answer, by definition: all keys with all keys.
fn brute_force(rows: &Rows, least_slots: u32, min: f64) -> All {
    let mut all = All::new();
    // Estimates are costly, and depend on these alone.
    let mut estimates = HashMap::new();
    let rows: Vec<_> = rows.iter().filter(|(_, signature)| !signature.is_empty()).collect();
    for (i, (a, signature)) in rows.iter().enumerate() {
        let brute = Brute::new(signature);
        for (b, other) in &rows[i + 1..] {
            let comparison = signature.compare(other).unwrap();
            let equal = comparison.equal_samples();
            let of = (equal, signature.cardinality_code(), other.cardinality_code());
            let estimate = *estimates.entry(of).or_insert_with(|| comparison.resemblance());
            if estimate.value < min {
                continue;
            }
            let slots = brute.slots(other, false);
            if slots >= least_slots {
                let undecided = estimate.low < min && estimate.high >= min;
                let what = (slots, equal, undecided);
                all.insert((a.to_vec(), b.to_vec()), what);
            }
        }
    }
    all
}

fn what(pair: &Pair) -> (u32, u32, bool) {
    (pair.matching_slots, pair.comparison.equal_samples(), pair.undecided)
}

/// All pairs of keys, taken apart by the library; each must come once, the smaller key first.
fn expanded(pairs: Pairs<'_>) -> All {
    let mut all = All::new();
    let report = pairs
        .expand()
        .run(|found| {
            let Found::Pair(pair) = found else { panic!("a group where all are taken apart") };
            assert!(pair.a < pair.b && (pair.a_keys, pair.b_keys) == (1, 1));
            let old = all.insert((pair.a.to_vec(), pair.b.to_vec()), what(&pair));
            assert_eq!(old, None, "twice: {pair:?}");
            GO_ON
        })
        .unwrap();
    assert!(!report.truncated && !report.cancelled);
    all
}

/// The same, taken apart here from pairs and groups; and they must come in the order that was promised.
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
                    // It comes before its pairs, and after those of smaller keys.
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
    // Of copies all pairs, which are known.
    for keys in groups.values() {
        for (i, a) in keys.iter().enumerate() {
            for b in &keys[i + 1..] {
                assert_eq!(all.insert((a.clone(), b.clone()), (0, 0, false)), None);
            }
        }
    }
    all
}

/// What queries for each key find.
fn queried(snapshot: &Snapshot, rows: &Rows, ask: likes::Ask) -> BTreeSet<(Vec<u8>, Vec<u8>)> {
    let mut all = BTreeSet::new();
    for key in rows.keys() {
        let answer = ask.put(snapshot.query(Like::Key(key))).run().unwrap();
        assert!(!answer.truncated);
        for found in answer.matches {
            let (a, b) = (key.clone(), found.key.to_vec());
            all.insert(if a < b { (a, b) } else { (b, a) });
        }
    }
    all
}

/// Pairs of all thresholds and rules, against the right answer.
fn check(snapshot: &Snapshot, rows: &Rows, mins: &[f64], at: &str) {
    let scheme = snapshot.scheme().clone();
    let slots = u32::from(scheme.slots.count);
    for min in mins {
        let mut asks = vec![(None, false), (None, true)];
        asks.extend(
            [2, slots].iter().filter(|m| **m > 0 && **m <= slots).map(|m| (Some(*m), false)),
        );
        for (matches, exhaustive) in asks {
            let ask = likes::Ask { matches, exhaustive, ..likes::Ask::min(*min) };
            let put = |mut pairs| {
                if let Some(matches) = matches {
                    pairs = Pairs::min_matches(pairs, matches);
                }
                if exhaustive { pairs.exhaustive() } else { pairs }
            };
            let right = brute_force(rows, ask.least(&scheme), *min);
            let found = expanded(put(snapshot.pairs(*min)));
            let same = found == right;
            assert!(same, "{at} {min} {ask:?} {scheme}: {} of {}", found.len(), right.len());
            let keys: BTreeSet<_> = right.keys().cloned().collect();
            let found: BTreeSet<_> = grouped(put(snapshot.pairs(*min))).into_keys().collect();
            assert!(found == keys, "{at} {min} {ask:?} {scheme}: groups");
            if rows.len() < 700 {
                assert!(queried(snapshot, rows, ask) == keys, "{at} {min} {ask:?}: queries");
            }
        }
    }
}

fn schemes() -> Vec<Scheme> {
    let dense = Parameters {
        universe: Universe::Bounded(1 << 14),
        cardinality: CardinalityField::Exact,
        sampler: Sampler::Independent,
        samples: 40,
        bits: 2,
        slots: Slots { count: 10, samples_per_slot: 4, value_bits: 8, min_matches: 1 },
        ..presets::PRECISE
    };
    let without = Parameters { slots: Slots::NONE, ..presets::PRECISE };
    let few = Parameters {
        samples: 130,
        bits: 1,
        slots: Slots { count: 13, samples_per_slot: 10, value_bits: 9, min_matches: 2 },
        ..presets::PRECISE
    };
    let all = [
        presets::NEAR_DUPLICATE,
        presets::PRECISE,
        presets::RDC,
        presets::ALTA_VISTA,
        presets::BING,
        dense,
        without,
        few,
    ];
    all.map(|parameters| Scheme::new(parameters).unwrap()).into()
}

/// Sets in families: members differ from each other a little, or not at all; some are empty.
fn set(dice: &mut Dice, families: u64) -> Vec<u64> {
    let family = dice.roll(families);
    let size = [6, 70, 100, 400][(family % 4) as usize];
    match dice.roll(20) {
        0 => Vec::new(),
        1..=4 => (0..size).map(|i| family * 331 + i).collect(),
        _ => {
            let missing = dice.roll(size / 2);
            let mut set: Vec<u64> = (missing..size).map(|i| family * 331 + i).collect();
            set.extend((0..dice.roll(size / 2 + 1)).map(|_| dice.roll(1 << 14)));
            set
        }
    }
}

/// Segments, memtable, deleted and rewritten keys, copies and empty sets; then checkpointed, compacted, and
/// opened again: the same pairs, and those of the definition.
#[test]
fn pairs_are_those_of_the_definition_wherever_rows_live() {
    for (i, scheme) in schemes().into_iter().enumerate() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.ringer");
        let db = Database::create(&path, &scheme, options()).unwrap();
        let mut dice = Dice(i as u64);
        let mut rows = Rows::new();
        let key = |dice: &mut Dice| format!("{:03}", dice.roll(300)).into_bytes();
        for _ in 0..3 {
            let mut load = db.bulk_load();
            let mut new = Rows::new();
            for _ in 0..80 {
                let signature = db.sketcher().sketch(&set(&mut dice, 40)).unwrap();
                new.insert(key(&mut dice), signature);
            }
            new.iter().for_each(|(key, signature)| load.put_signature(key, signature).unwrap());
            load.commit().unwrap();
            rows.extend(new);
            let mut batch = db.batch();
            for _ in 0..15 {
                let key = key(&mut dice);
                batch.delete(&key).unwrap();
                rows.remove(&key);
            }
            db.commit(batch).unwrap();
        }
        for _ in 0..60 {
            let (key, signature) =
                (key(&mut dice), db.sketcher().sketch(&set(&mut dice, 40)).unwrap());
            let mut batch = db.batch();
            if dice.roll(5) == 0 {
                batch.delete(&key).unwrap();
                rows.remove(&key);
            } else {
                batch.put_signature(&key, signature.clone()).unwrap();
                rows.insert(key, signature);
            }
            db.commit(batch).unwrap();
        }
        let mins = [0.0, 0.4, 0.8, 1.0];
        let old = db.snapshot();
        check(&old, &rows, &mins, "fresh");
        let before = expanded(old.pairs(0.3));
        assert!(!before.is_empty());
        db.checkpoint().unwrap();
        assert_eq!(expanded(db.snapshot().pairs(0.3)), before);
        check(&db.snapshot(), &rows, &[0.5], "checkpoint");
        db.compact().unwrap();
        check(&db.snapshot(), &rows, &[0.6], "compact");
        assert_eq!(expanded(old.pairs(0.3)), before, "an old snapshot");
        db.close().unwrap();
        let db = Database::open_read_only(&path, Options { cache_bytes: 0, ..options() }).unwrap();
        check(&db.snapshot(), &rows, &[0.9], "reopened without a cache");
    }
}

/// Signatures that are alike in whole stretches of samples, so that runs are long and are told further apart,
/// and equal in several columns at once.
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
        let parameters = Parameters {
            samples: k,
            bits,
            slots,
            cardinality: CardinalityField::None,
            ..presets::PRECISE
        };
        let scheme = Arc::new(Scheme::new(parameters).unwrap());
        let mut dice = Dice(u64::from(k));
        let near: Vec<u16> = (0..k).map(|_| dice.roll(1 << bits) as u16).collect();
        let mut rows = Rows::new();
        for i in 0..n {
            let mut samples = near.clone();
            // The first stretch is everybody's; the rest changes more or less.
            let changes = dice.roll(2 * u64::from(k));
            for _ in 0..changes {
                let at = (k / 5) as usize + dice.roll(u64::from(k - k / 5)) as usize;
                samples[at] = dice.roll(1 << bits) as u16;
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

/// A hundred thousand copies are one group, and take no time.
#[test]
fn copies_are_one_group() {
    let folder = tempfile::tempdir().unwrap();
    let db = Database::create(folder.path().join("x.ringer"), &Scheme::near_duplicate(), options())
        .unwrap();
    let mut load = db.bulk_load();
    let one = db.sketcher().sketch(&(0..50).collect::<Vec<_>>()).unwrap();
    (0..100_000_u32).for_each(|i| load.put_signature(i.to_be_bytes(), &one).unwrap());
    load.commit().unwrap();
    db.put(7_u32.to_be_bytes(), &(0..45).collect::<Vec<_>>()).unwrap();
    db.delete(8_u32.to_be_bytes()).unwrap();
    let (mut keys, mut pairs) = (Vec::new(), Vec::new());
    let report = db.snapshot().pairs(0.8).run(|found| {
        match found {
            Found::Group(group) => keys.extend(group.keys().map(|key| key.unwrap())),
            Found::Pair(pair) => pairs.push(pair),
        }
        GO_ON
    });
    let report = report.unwrap();
    assert_eq!(
        (report.sets, report.signatures, report.groups, report.compared),
        (99_999, 2, 1, report.compared)
    );
    assert!(report.compared <= 13, "{report:?}");
    let right = (0..100_000_u32).filter(|i| *i != 7 && *i != 8).map(|i| i.to_be_bytes());
    assert!(
        keys.iter().map(|key| &**key).eq(right
            .map(|key| key.to_vec())
            .collect::<Vec<_>>()
            .iter()
            .map(|k| &**k))
    );
    assert_eq!(pairs.len(), 1);
    assert_eq!((&*pairs[0].a, &*pairs[0].b), (&0_u32.to_be_bytes()[..], &7_u32.to_be_bytes()[..]));
    assert_eq!((pairs[0].a_keys, pairs[0].b_keys), (99_998, 1));
}

fn small() -> (tempfile::TempDir, Database, Rows) {
    let folder = tempfile::tempdir().unwrap();
    let db = Database::create(folder.path().join("x.ringer"), &Scheme::near_duplicate(), options())
        .unwrap();
    let mut dice = Dice(77);
    let mut rows = Rows::new();
    for i in 0..400_u32 {
        let set = set(&mut dice, 30);
        rows.insert(i.to_be_bytes().to_vec(), db.sketcher().sketch(&set).unwrap());
    }
    let mut batch = db.batch();
    rows.iter().for_each(|(k, s)| {
        batch.put_signature(k, s.clone()).unwrap();
    });
    db.commit(batch).unwrap();
    (folder, db, rows)
}

/// Undecided pairs are marked, dropped, or decided by a look at the sets: then those with an estimate below
/// the threshold are asked about as well.
#[test]
fn undecided_pairs_are_kept_dropped_or_checked() {
    let (_folder, db, rows) = small();
    let (snapshot, min) = (db.snapshot(), 0.7);
    let kept = snapshot.pairs(min).expand().collect().unwrap();
    let dropped = snapshot.pairs(min).expand().undecided(Undecided::Drop).collect().unwrap();
    let decided: Vec<Pair> = kept.iter().filter(|pair| !pair.undecided).cloned().collect();
    assert!(!decided.is_empty() && decided.len() < kept.len());
    assert_eq!(dropped, decided);
    for pair in &kept {
        let estimate = pair.resemblance();
        assert!(estimate.value >= min);
        assert_eq!(pair.undecided, estimate.low < min && estimate.high >= min);
    }
    // Asked about are the pairs of groups whose interval holds the threshold, all of them and no others.
    let mut right = BTreeSet::new();
    let firsts: Vec<(&Vec<u8>, &Signature)> = {
        let mut seen = Vec::new();
        let rows = rows.iter().filter(|(_, s)| !s.is_empty());
        rows.filter(|(_, s)| {
            let new = !seen.contains(s);
            if new {
                seen.push(s)
            }
            new
        })
        .collect()
    };
    let mut certain = 0;
    for (i, (a, s)) in firsts.iter().enumerate() {
        for (b, other) in &firsts[i + 1..] {
            let estimate = s.resemblance(other).unwrap();
            if Brute::new(s).slots(other, false) == 0 {
                continue;
            }
            if estimate.low < min && estimate.high >= min {
                right.insert((a.to_vec(), b.to_vec()));
            }
            certain += usize::from(estimate.low >= min);
        }
    }
    let mut asked = BTreeSet::new();
    let pairs = snapshot.pairs(min).check(|a, b| {
        assert!(asked.insert((a.to_vec(), b.to_vec())), "asked twice");
        Ok(if a[3] % 2 == 0 { 0.7 } else { 0.699 })
    });
    let pairs = pairs.collect().unwrap();
    assert_eq!(asked, right);
    let even = right.iter().filter(|(a, _)| a[3] % 2 == 0).count();
    assert_eq!(pairs.iter().filter(|pair| pair.exact == Some(0.7)).count(), even);
    assert_eq!(pairs.iter().filter(|pair| pair.exact.is_none()).count(), certain);
    assert_eq!(pairs.len(), even + certain);
    assert!(pairs.iter().all(|pair| !pair.undecided));
    let failed =
        snapshot.pairs(min).check(|_, _| Err(Error::NoSuchKey { key: [1].into() })).collect();
    assert_eq!(failed, Err(Error::NoSuchKey { key: [1].into() }));
}

/// A run ends when the visitor or the progress callback says so, in every phase.
#[test]
fn runs_can_be_cancelled() {
    let (_folder, db, _) = small();
    let snapshot = db.snapshot();
    let mut seen = 0;
    let report = snapshot.pairs(0.5).run(|_| {
        seen += 1;
        if seen == 5 { ControlFlow::Break(()) } else { GO_ON }
    });
    assert!(report.unwrap().cancelled);
    assert_eq!(seen, 5);
    let mut phases = Vec::new();
    let report = snapshot.pairs(0.5).progress(|progress| {
        phases.push(progress.phase);
        assert!(progress.done <= progress.total, "{progress:?}");
        GO_ON
    });
    assert!(!report.run(|_| GO_ON).unwrap().cancelled);
    assert!(!phases.is_empty());
    for stop in 0..phases.len() {
        let mut calls = 0;
        let report = snapshot.pairs(0.5).progress(|_| {
            calls += 1;
            if calls > stop { ControlFlow::Break(()) } else { GO_ON }
        });
        assert!(report.run(|_| GO_ON).unwrap().cancelled);
        assert_eq!(calls, stop + 1);
    }
}

#[test]
fn what_cannot_be_is_refused() {
    let (_folder, db, _) = small();
    let snapshot = db.snapshot();
    for min in [-0.1, 1.1, f64::NAN] {
        let error = snapshot.pairs(min).collect();
        assert!(matches!(error, Err(Error::InvalidArgument { .. })), "{error:?}");
    }
    for matches in [0, 22] {
        let error = snapshot.pairs(0.5).min_matches(matches).collect();
        assert!(matches!(error, Err(Error::InvalidArgument { .. })), "{error:?}");
    }
    let Err(Error::OverLimit { needed, limit, .. }) = snapshot.pairs(0.5).memory(1000).collect()
    else {
        panic!()
    };
    assert!(needed > 1000 && limit == 1000);
    assert!(snapshot.pairs(0.5).memory(needed as usize).collect().is_ok());
    let empty = tempfile::tempdir().unwrap();
    let db =
        Database::create(empty.path().join("x.ringer"), &Scheme::precise(), options()).unwrap();
    assert_eq!(db.snapshot().pairs(0.0).collect(), Ok(vec![]));
    db.put("a", &[]).unwrap();
    db.put("b", &[]).unwrap();
    assert_eq!(db.snapshot().pairs(0.0).exhaustive().collect(), Ok(vec![]));
}

/// Too many that agree in a column: pairs may be missing, and the report says so.
#[test]
fn too_many_candidates_are_told_of() {
    let (_folder, db, rows) = small();
    let snapshot = db.snapshot();
    let mut found = All::new();
    let report = snapshot.pairs(0.3).max_candidates(1).expand().run(|pair| {
        let Found::Pair(pair) = pair else { panic!() };
        found.insert((pair.a.to_vec(), pair.b.to_vec()), what(&pair));
        GO_ON
    });
    assert!(report.unwrap().truncated);
    let right = brute_force(&rows, 1, 0.3);
    assert!(found.len() < right.len() && found.iter().all(|(k, v)| right.get(k) == Some(v)));
}
