//! Edge cases of queries: senseless conditions, empty sets, signatures of the maximum length, and snapshots older
//! than the contents of the memtables.

use testkit::query_oracle;
use testkit::random::Random;

use std::collections::BTreeMap;
use std::sync::Arc;

use query_oracle::{Brute, Request, Rows, compare_all, compare_plans, crafted, found};
use ringer::internals::format::signature_page;
use ringer::internals::store::memtable::Memtable;
use ringer::internals::store::state::State;
use ringer::scheme::{CardinalityField, Sampler, Slots, Universe};
use ringer::{Database, Error, Like, Options, Plan, Query, Scheme, Signature, Sketcher, presets};

fn scheme(samples: u32, bits: u8, slots: (u16, u16, u8, u16)) -> Scheme {
    let (count, samples_per_slot, value_bits, min_matches) = slots;
    let slots = Slots { count, samples_per_slot, value_bits, min_matches };
    Scheme::new(presets::PRECISE.with_samples(samples).with_bits(bits).with_slots(slots)).unwrap()
}

fn create(scheme: &Scheme) -> (tempfile::TempDir, Database) {
    let folder = tempfile::tempdir().unwrap();
    let options = Options::default().with_background(false);
    let db = Database::create(folder.path().join("x.ringer"), scheme, options).unwrap();
    (folder, db)
}

fn is_refused(query: &Query<'_>) -> bool {
    let refused = |error| matches!(error, Error::InvalidArgument { .. });
    query.run().is_err_and(refused) && query.explain().is_err_and(refused)
}

#[test]
fn conditions_that_make_no_sense_are_refused() {
    let (_folder, db) = create(&Scheme::precise());
    db.put("a", &[1, 2, 3]).unwrap();
    db.put("b", &[1, 2, 3]).unwrap();
    db.put("empty", &[]).unwrap();
    let other = Sketcher::new(&Scheme::near_duplicate()).sketch(&[1, 2, 3]).unwrap();
    for round in 0..2 {
        let snapshot = db.snapshot();
        let query = || snapshot.query(Like::Features(&[1, 2, 3]));
        for t in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.1, -f64::MIN_POSITIVE, 1.0 + 1e-9]
        {
            assert!(is_refused(&query().min_resemblance(t)), "{t}");
        }
        for m in [0, 33, 65_536 + 1, u32::MAX] {
            assert!(is_refused(&query().min_matches(m)), "{m}");
            assert!(is_refused(&query().exhaustive().min_matches(m)), "{m}");
        }
        let (all, none) = (2, 0);
        for (query, count) in [
            (query().min_resemblance(1.0), all),
            (query().min_resemblance(-0.0), all),
            (query().min_matches(32), all),
            (query().top(0), none),
            (query().top(0).min_resemblance(0.5).exhaustive(), none),
            (query().top(usize::MAX), all),
            (query().top(1), 1),
            (query().max_candidates(usize::MAX), all),
            (query().top(usize::MAX).exhaustive().max_candidates(0), all),
            (query().plan(Plan::Probe).exhaustive(), all),
            (snapshot.query(Like::Features(&[])), none),
            (snapshot.query(Like::Features(&[])).exhaustive(), none),
            (snapshot.query(Like::Key(b"empty")), none),
            (snapshot.query(Like::Key(b"empty")).exhaustive().min_resemblance(0.0), none),
            (snapshot.query(Like::Key(b"a")).exhaustive(), 1),
        ] {
            let answer = query.run().unwrap();
            assert_eq!((answer.matches.len(), answer.truncated), (count, false), "{query:?}");
        }
        let cut = query().plan(Plan::Probe).max_candidates(0).run().unwrap();
        assert_eq!((cut.matches.len(), cut.truncated), (0, true), "round {round}");
        let missing = snapshot.query(Like::Key(b"c")).top(0).run();
        assert!(matches!(missing, Err(Error::NoSuchKey { .. })));
        let stranger = snapshot.query(Like::Signature(&other)).run();
        assert!(matches!(stranger, Err(Error::SchemeMismatch { .. })));
        db.checkpoint().unwrap();
    }
}

#[test]
fn a_scheme_without_slots_is_scanned() {
    let parameters = presets::PRECISE.with_slots(Slots::NONE);
    let (_folder, db) = create(&Scheme::new(parameters).unwrap());
    let mut rows = Rows::new();
    for n in 0..40_u64 {
        let set: Vec<u64> = (n..n + n % 7).collect();
        db.put(n.to_be_bytes(), &set).unwrap();
        rows.insert(n.to_be_bytes().to_vec(), db.sketcher().sketch(&set).unwrap());
    }
    for _ in 0..2 {
        let query = db.sketcher().sketch(&[20, 21, 22]).unwrap();
        compare_all(
            &db.snapshot(),
            &rows,
            &query,
            &[Request::top(5), Request::min(0.1)],
            "no slots",
        );
        let snapshot = db.snapshot();
        assert!(is_refused(&snapshot.query(Like::Signature(&query)).min_matches(1)));
        assert!(is_refused(&snapshot.query(Like::Signature(&query)).within_hamming_1()));
        db.checkpoint().unwrap();
    }
}

/// Lists are located in batches of segments. Here there are more than 16 segments, and so many lists that a batch has
/// fewer.
#[test]
fn lists_of_many_segments_are_located_in_batches() {
    let wide = scheme(128, 16, (128, 1, 16, 1));
    for scheme in [Scheme::near_duplicate(), wide] {
        let folder = tempfile::tempdir().unwrap();
        let options = Options::default().with_background(false).with_merge(false);
        let db = Database::create(folder.path().join("x.ringer"), &scheme, options).unwrap();
        let mut rows = Rows::new();
        for n in 0..37_u64 {
            // Each segment has one set near the query, at its own distance, and strangers.
            for (i, first) in [n, 1_000 * (n + 1), 2_000 * (n + 1)].into_iter().enumerate() {
                let set: Vec<u64> = (first..first + 60).collect();
                let key = [n as u8, i as u8];
                db.put(key, &set).unwrap();
                rows.insert(key.to_vec(), db.sketcher().sketch(&set).unwrap());
            }
            db.checkpoint().unwrap();
        }
        assert_eq!(db.stat().unwrap().segments, 37);
        let query = db.sketcher().sketch(&(0..60).collect::<Vec<_>>()).unwrap();
        let near = Request { hamming: true, ..Request::top(200) };
        let requests = [Request::top(200), Request::top(3), Request::min(0.5), near];
        compare_all(&db.snapshot(), &rows, &query, &requests, "many segments");
        let found = db.snapshot().query(Like::Signature(&query)).top(200).run().unwrap();
        assert!(found.matches.len() > 16, "{}", found.matches.len());
    }
}

/// A nonempty set can have the same signature words as the empty one. It is a different set and is found.
#[test]
fn a_signature_of_zeros_is_not_that_of_the_empty_set() {
    let scheme = Scheme::new(
        presets::PRECISE
            .with_samples(16)
            .with_bits(2)
            .with_slots(Slots { count: 8, samples_per_slot: 2, value_bits: 4, min_matches: 1 })
            .with_cardinality(CardinalityField::None),
    );
    let scheme = Arc::new(scheme.unwrap());
    let words = scheme.words_per_signature();
    let zeros = signature_page::signature(&scheme, vec![0; words].into(), 0).unwrap();
    assert!(!zeros.is_empty());
    let empty = Sketcher::new(&scheme).sketch(&[]).unwrap();
    for first in [true, false] {
        let (_folder, db) = create(&scheme);
        let mut rows = Rows::new();
        for n in 0..8_u8 {
            let signature = if (n % 2 == 0) == first { &zeros } else { &empty };
            let mut batch = db.batch();
            batch.put_signature([n], signature.clone()).unwrap();
            db.commit(batch).unwrap();
            rows.insert(vec![n], signature.clone());
        }
        let requests = [
            Request::default(),
            Request { exhaustive: true, ..Request::default() },
            Request::min(1.0),
        ];
        for _ in 0..2 {
            compare_all(&db.snapshot(), &rows, &zeros, &requests, "zeros");
            compare_all(&db.snapshot(), &rows, &empty, &requests, "empty");
            db.checkpoint().unwrap();
        }
        db.compact().unwrap();
        compare_all(&db.snapshot(), &rows, &zeros, &requests, "zeros, compacted");
    }
}

/// Schemes with the most and with the fewest samples, slots and bits.
#[test]
fn the_largest_and_the_smallest_schemes_give_right_answers() {
    let all = [
        (16_384, 1, (16_384, 1, 1, 8000), 60),
        (16_384, 4, (1000, 16, 32, 2), 30),
        (16_384, 8, (4096, 4, 32, 3), 12),
        (2048, 16, (1024, 2, 32, 1), 40),
        (1, 1, (1, 1, 1, 1), 60),
        (1, 16, (1, 1, 16, 1), 60),
        (65, 3, (5, 13, 32, 1), 60),
        (64, 16, (64, 1, 1, 40), 60),
    ];
    for (samples, bits, slots, count) in all {
        let scheme = scheme(samples, bits, slots);
        let (_folder, db) = create(&scheme);
        let mut rows = Rows::new();
        let mut store = |from: u64, to: u64| {
            let mut batch = db.batch();
            for n in from..to {
                let set: Vec<u64> = (n / 3 * 100..n / 3 * 100 + 40 + n % 4).collect();
                batch.put(n.to_be_bytes(), &set).unwrap();
                rows.insert(n.to_be_bytes().to_vec(), db.sketcher().sketch(&set).unwrap());
            }
            db.commit(batch).unwrap();
        };
        store(0, count / 2);
        db.checkpoint().unwrap();
        store(count / 2, count);
        let set: Vec<u64> = (100..141).collect();
        let query = db.sketcher().sketch(&set).unwrap();
        let most = u32::from(slots.0);
        let unfolded = slots.1 * u16::from(bits) == u16::from(slots.2);
        let mut requests = vec![
            Request::top(4),
            Request::min(0.0),
            Request::min(1.0),
            Request { matches: Some(most), ..Request::min(0.0) },
            Request { matches: Some(most / 2 + 1), ..Request::default() },
        ];
        if unfolded {
            requests.push(Request { hamming: true, ..Request::top(6) });
            requests.push(Request { hamming: true, matches: Some(most), ..Request::min(0.0) });
        }
        compare_all(&db.snapshot(), &rows, &query, &requests, "edges");
    }
}

/// In a bounded universe the resemblance depends on the sizes, so rows with equal planes can differ.
#[test]
fn sizes_count_in_a_bounded_universe() {
    let scheme = Scheme::new(
        presets::PRECISE
            .with_universe(Universe::Bounded(4096))
            .with_cardinality(CardinalityField::Exact)
            .with_sampler(Sampler::Independent)
            .with_samples(24)
            .with_bits(1)
            .with_slots(Slots { count: 6, samples_per_slot: 4, value_bits: 4, min_matches: 2 }),
    );
    let (_folder, db) = create(&scheme.unwrap());
    let (mut random, mut rows) = (Random(8), Rows::new());
    for n in 0..600_u64 {
        let size = [1, 10, 1000, 4000][random.below(4) as usize];
        let start = random.below(4096 - size);
        let set: Vec<u64> = (start..start + size).collect();
        db.put(n.to_be_bytes(), &set).unwrap();
        rows.insert(n.to_be_bytes().to_vec(), db.sketcher().sketch(&set).unwrap());
        if n == 400 {
            db.checkpoint().unwrap();
        }
    }
    // Sets of many sizes with the same samples.
    let planes: Vec<u64> = rows.values().next_back().unwrap().planes().into();
    for (n, code) in [1, 9, 60, 1000, 1499, 1500, 4000].into_iter().enumerate() {
        let scheme = Arc::new(db.scheme().clone());
        let signature = signature_page::signature(&scheme, planes.clone().into(), code).unwrap();
        let mut batch = db.batch();
        batch.put_signature([n as u8], signature.clone()).unwrap();
        db.commit(batch).unwrap();
        rows.insert(vec![n as u8], signature);
    }
    let last = rows.values().next_back().unwrap().clone();
    compare_all(&db.snapshot(), &rows, &last, &[Request::top(20), Request::min(0.0)], "sizes");
    let requests: Vec<Request> =
        (1..40).step_by(3).map(Request::top).chain([Request::min(0.4)]).collect();
    for start in [0, 500, 2000] {
        let set: Vec<u64> = (start..start + 1500).collect();
        let query = db.sketcher().sketch(&set).unwrap();
        compare_all(&db.snapshot(), &rows, &query, &requests, "bounded");
    }
}

/// Two memtables, one of them being checkpointed, queried at every commit. Keys have later versions, are replaced in
/// the newer table, or return to an earlier signature.
#[test]
fn every_commit_of_two_memtables_can_be_queried() {
    let scheme = Arc::new(scheme(32, 4, (8, 2, 8, 1)));
    let sketcher = Sketcher::new(&scheme);
    let mut random = Random(11);
    let all: Vec<Signature> = (0..40_usize)
        .map(|n| {
            let mut samples = [1; 32];
            (0..n % 8).for_each(|i| samples[i * 3] = (n / 8) as u16 + 2);
            crafted(&scheme, &samples)
        })
        .collect();
    let empty = sketcher.sketch(&[]).unwrap();
    let (frozen, active) = (Arc::new(Memtable::new(&scheme)), Arc::new(Memtable::new(&scheme)));
    let mut states = vec![Rows::new()];
    for sequence in 1..=120_u64 {
        let mut changes: BTreeMap<Vec<u8>, Option<Signature>> = BTreeMap::new();
        for _ in 0..=random.below(5) {
            let key = format!("{}", random.below(50)).into_bytes();
            let signature = match random.below(8) {
                0 => None,
                1 => Some(empty.clone()),
                _ => Some(all[random.below(40) as usize].clone()),
            };
            changes.insert(key, signature);
        }
        let table = if sequence <= 60 { &frozen } else { &active };
        table.apply(
            sequence,
            changes.iter().map(|(key, row)| (&**key, row.as_ref().map(|row| (row, None)))),
        );
        let mut rows = states[states.len() - 1].clone();
        for (key, signature) in changes {
            match signature {
                Some(signature) => drop(rows.insert(key, signature)),
                None => drop(rows.remove(&key)),
            }
        }
        states.push(rows);
    }
    for (sequence, rows) in (0..).zip(&states) {
        let state = State {
            scheme: Arc::clone(&scheme),
            segments: Arc::new([]),
            frozen: Some(Arc::clone(&frozen)),
            active: Arc::clone(&active),
            sequence,
        };
        for request in [
            Request::top(3),
            Request::top(1000),
            Request::min(0.3),
            Request { exhaustive: true, ..Request::top(8) },
        ] {
            let query = &all[random.below(40) as usize];
            let right = Brute::new(query).answer(rows, None, request);
            for plan in query_oracle::PLANS {
                let asked = request.put(Query::new(&state, &sketcher, Like::Signature(query)));
                let asked = plan.map_or(asked.clone(), |plan| asked.plan(plan));
                assert_eq!(found(&asked.run().unwrap()), right, "commit {sequence} {plan:?}");
            }
        }
    }
}

/// Small caches evict pages while they are in use. The answers stay the same, also for many threads that share a
/// cache.
#[test]
fn small_caches_change_no_answer() {
    let scheme = scheme(256, 4, (16, 2, 8, 1));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.ringer");
    let db = Database::create(&path, &scheme, Options::default()).unwrap();
    let (mut random, mut rows) = (Random(4), Rows::new());
    let mut load = db.bulk_load();
    for n in 0..4000_u64 {
        let family = random.below(30) * 1000;
        let set: Vec<u64> = (0..60).map(|_| family + random.below(90)).collect();
        let key = [&n.to_be_bytes()[..], &[b'x'; 40]].concat();
        load.put(&key, &set).unwrap();
        rows.insert(key, db.sketcher().sketch(&set).unwrap());
    }
    load.commit().unwrap();
    db.close().unwrap();
    let queries: Vec<Signature> = rows.values().step_by(500).cloned().collect();
    let requests = [Request::top(10), Request::min(0.4)];
    let right: Vec<_> = queries
        .iter()
        .map(|query| requests.map(|request| Brute::new(query).answer(&rows, None, request)))
        .collect();
    for cache_bytes in [0, 1, 10_000, 70_000, 140_000, 400_000, 1 << 22] {
        let db = Database::open(&path, Options::default().with_cache_bytes(cache_bytes)).unwrap();
        std::thread::scope(|scope| {
            for thread in 0..3 {
                let (db, queries, right) = (&db, &queries, &right);
                scope.spawn(move || {
                    for (query, right) in queries.iter().zip(right).cycle().skip(thread).take(8) {
                        for (request, right) in requests.iter().zip(right) {
                            let like = Like::Signature(query);
                            compare_plans(&db.snapshot(), like, *request, right, "small cache");
                        }
                    }
                });
            }
        });
    }
}
