//! Options of pairs other than the least resemblance: groups of duplicates, undecided pairs, checks, cancelled runs and
//! limits. Also the options that are refused.

use testkit::all_pairs;
use testkit::query_oracle;
use testkit::random::Random;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::Mutex;

use all_pairs::{All, GO_ON, brute_force, options, set, what};
use query_oracle::{Brute, Rows};
use ringer::{Accept, Database, Error, Estimate, Found, Pair, Plan, Scheme};

/// A hundred thousand duplicates are one group and cost almost nothing.
#[test]
fn duplicates_are_one_group() {
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
    let right = (0..100_000_u32).filter(|i| *i != 7 && *i != 8).map(u32::to_be_bytes);
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

/// Duplicates in several segments and in memory are one group, as if all were in one segment.
#[test]
fn duplicates_in_several_parts_are_one_group() {
    let folder = tempfile::tempdir().unwrap();
    let db = Database::create(folder.path().join("x.ringer"), &Scheme::near_duplicate(), options())
        .unwrap();
    // Key i has text i mod 40, so each part has several rows of each text. Every 50th key has a set of its own. Some
    // rows are deleted.
    let text = |i: u32| (0..60_u64).map(|x| u64::from(i % 40 / 2 * 1000 + i % 2 * 6) + x).collect();
    let mut right: BTreeMap<u32, BTreeSet<Vec<u8>>> = BTreeMap::new();
    for part in 0..4 {
        for i in (0..600_u32).filter(|i| i % 7 % 4 == part) {
            let set: Vec<u64> = if i % 50 == 0 { vec![u64::from(i)] } else { text(i) };
            db.put(i.to_be_bytes(), &set).unwrap();
            if i % 50 != 0 {
                right.entry(i % 40).or_default().insert(i.to_be_bytes().to_vec());
            }
        }
        if part < 3 {
            db.checkpoint().unwrap();
        }
    }
    for i in (0..600_u32).filter(|i| i % 11 == 3 && i % 50 != 0) {
        db.delete(i.to_be_bytes()).unwrap();
        right.get_mut(&(i % 40)).unwrap().remove(&i.to_be_bytes()[..]);
    }
    let right: BTreeSet<BTreeSet<Vec<u8>>> = right.into_values().collect();
    assert!(right.len() == 40 && right.iter().all(|keys| keys.len() > 8));
    let run = || {
        let (mut groups, mut events) = (BTreeSet::new(), Vec::new());
        let run = db.snapshot().pairs(0.7).run(|found| {
            match found {
                Found::Group(group) => {
                    let keys = group.keys().map(|key| key.unwrap().to_vec());
                    events.push((group.representative().unwrap(), None));
                    groups.insert(keys.collect::<BTreeSet<_>>());
                }
                Found::Pair(pair) => {
                    events.push((pair.a.clone(), Some((pair.b.clone(), what(&pair)))));
                }
            }
            GO_ON
        });
        let report = run.unwrap();
        assert_eq!(report.signatures, 40 + 12, "{report:?}");
        (groups, events)
    };
    let separate = run();
    assert_eq!(separate.0, right);
    // Texts 2 n and 2 n + 1 have 54 of 66 elements in common.
    assert!(separate.1.len() > 50, "{}", separate.1.len());
    db.checkpoint().unwrap();
    assert_eq!(run(), separate);
    db.compact().unwrap();
    assert_eq!(run(), separate);
}

fn small() -> (tempfile::TempDir, Database, Rows) {
    let folder = tempfile::tempdir().unwrap();
    let db = Database::create(folder.path().join("x.ringer"), &Scheme::near_duplicate(), options())
        .unwrap();
    let mut random = Random(77);
    let mut rows = Rows::new();
    for i in 0..400_u32 {
        let set = set(&mut random, 30);
        rows.insert(i.to_be_bytes().to_vec(), db.sketcher().sketch(&set).unwrap());
    }
    let mut batch = db.batch();
    rows.iter().for_each(|(k, s)| {
        batch.put_signature(k, s.clone()).unwrap();
    });
    db.commit(batch).unwrap();
    (folder, db, rows)
}

/// The threshold applies to the estimate or to one end of the 99.9 % interval. Pairs that do not certainly reach it are
/// marked as undecided.
#[test]
fn pairs_are_accepted_by_estimate_or_interval() {
    let (_folder, db, rows) = small();
    let (snapshot, min) = (db.snapshot(), 0.7);
    let accepted = |accept| snapshot.pairs(min).accept(accept).expand().collect().unwrap();
    let [kept, possible, certain] =
        [Accept::Estimate, Accept::Possible, Accept::Certain].map(accepted);
    let sure: Vec<Pair> = kept.iter().filter(|pair| !pair.undecided).cloned().collect();
    assert!(!sure.is_empty() && sure.len() < kept.len() && kept.len() < possible.len());
    assert_eq!(certain, sure);
    for pair in &kept {
        assert!(pair.similarity().value >= min - 1e-9);
        assert_eq!(pair.undecided, !pair.comparison.certainly_at_least(min));
    }
    // The same by brute force.
    let rows: Vec<_> = rows.iter().filter(|(_, s)| !s.is_empty()).collect();
    let (mut right, mut surely) = (0, 0);
    for (i, (_, s)) in rows.iter().enumerate() {
        for (_, other) in &rows[i + 1..] {
            if Brute::new(s).slots(other, false) > 0 {
                let comparison = s.compare(other).unwrap();
                right += usize::from(comparison.possibly_at_least(min));
                surely += usize::from(comparison.certainly_at_least(min));
            }
        }
    }
    assert_eq!((possible.len(), certain.len()), (right, surely));
}

/// All possible pairs are passed to a check, once each, including those with an estimate below the threshold. The
/// check decides.
#[test]
fn possible_pairs_are_checked() {
    let (_folder, db, _rows) = small();
    let (snapshot, min) = (db.snapshot(), 0.7);
    let key = |pair: &Pair| (pair.a.to_vec(), pair.b.to_vec());
    let possible = snapshot.pairs(min).accept(Accept::Possible).collect().unwrap();
    let possible: BTreeSet<_> = possible.iter().map(key).collect();
    let asked = Mutex::new(BTreeSet::new());
    let pairs = snapshot.pairs(min).check(|a, b| {
        assert!(asked.lock().unwrap().insert((a.to_vec(), b.to_vec())), "asked twice");
        Ok(match a[3] % 3 {
            0 => Some(0.7),
            1 => Some(0.699),
            _ => None,
        })
    });
    let (mut given, mut report) = (Vec::new(), None);
    let ended = pairs.run(|found| {
        if let Found::Pair(pair) = found {
            given.push(pair);
        }
        GO_ON
    });
    report.replace(ended.unwrap());
    assert_eq!(*asked.lock().unwrap(), possible);
    let of = |rest: u8| possible.iter().filter(|(a, _)| a[3] % 3 == rest).count();
    assert_eq!(given.len(), of(0));
    assert_eq!(report.unwrap().lost, of(2) as u64);
    assert!(given.iter().all(|pair| pair.comparison.is_exact() && !pair.undecided));
    assert!(given.iter().all(|pair| pair.similarity() == Estimate::exact(0.7)));
    let failed =
        snapshot.pairs(min).check(|_, _| Err(Error::NoSuchKey { key: [1].into() })).collect();
    assert_eq!(failed, Err(Error::NoSuchKey { key: [1].into() }));
}

/// A run ends when the visitor or the progress callback asks for it, in every phase.
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
    let report = snapshot.pairs(0.5).plan(Plan::Probe).progress(|progress| {
        phases.push(progress.phase);
        assert!(progress.done <= progress.total, "{progress:?}");
        GO_ON
    });
    assert!(!report.run(|_| GO_ON).unwrap().cancelled);
    assert!(!phases.is_empty());
    for stop in 0..phases.len() {
        let mut calls = 0;
        let report = snapshot.pairs(0.5).plan(Plan::Probe).progress(|_| {
            calls += 1;
            if calls > stop { ControlFlow::Break(()) } else { GO_ON }
        });
        assert!(report.run(|_| GO_ON).unwrap().cancelled);
        assert_eq!(calls, stop + 1);
    }
}

#[test]
fn impossible_options_are_refused() {
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

/// If too many signatures agree in a column of samples, pairs may be missing, and the report says so.
#[test]
fn too_many_candidates_are_reported() {
    let (_folder, db, rows) = small();
    let snapshot = db.snapshot();
    let mut found = All::new();
    let report = snapshot.pairs(0.3).plan(Plan::Probe).max_candidates(1).expand().run(|pair| {
        let Found::Pair(pair) = pair else { panic!() };
        found.insert((pair.a.to_vec(), pair.b.to_vec()), what(&pair));
        GO_ON
    });
    assert!(report.unwrap().truncated);
    let right = brute_force(&rows, 1, 0.3);
    assert!(found.len() < right.len() && found.iter().all(|(k, v)| right.get(k) == Some(v)));
}
