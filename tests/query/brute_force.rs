//! Queries compared with brute force over signatures: the same answers for every plan, wherever the rows are.

use testkit::query_oracle;
use testkit::random::Random;

use query_oracle::{Brute, Request, Rows, compare_plans};
use ringer::scheme::{CardinalityField, Sampler, Slots, Universe};
use ringer::{Database, Like, Options, Scheme, presets};

/// Returns schemes of all shapes: presets, one bit, few and many slots, hashed values, bounded universes, weights,
/// vectors, half bits.
fn schemes() -> Vec<Scheme> {
    let slots = |count, samples_per_slot, value_bits, min_matches| Slots {
        count,
        samples_per_slot,
        value_bits,
        min_matches,
    };
    let near = presets::PRECISE;
    let all = [
        near,
        presets::RDC,
        presets::ALTA_VISTA,
        presets::BING,
        near.with_samples(200).with_bits(1).with_slots(slots(20, 10, 10, 1)),
        near.with_samples(64).with_bits(2).with_slots(slots(64, 1, 2, 9)),
        near.with_samples(128).with_bits(8).with_slots(slots(128, 1, 8, 3)),
        near.with_samples(100).with_bits(6).with_slots(slots(33, 3, 9, 2)),
        near.with_slots(Slots::NONE),
        near.with_universe(Universe::Bounded(1 << 16))
            .with_cardinality(CardinalityField::Linear8)
            .with_sampler(Sampler::Independent)
            .with_samples(64)
            .with_slots(slots(16, 4, 16, 1)),
        near.with_sampler(Sampler::Lazy),
        presets::WEIGHTED,
        presets::COSINE,
        presets::HALF_BIT,
        presets::HALF_BIT
            .with_universe(Universe::Bounded(1 << 16))
            .with_cardinality(CardinalityField::Exact)
            .with_sampler(Sampler::Independent)
            .with_slots(slots(20, 10, 10, 1)),
    ];
    all.into_iter().map(|parameters| Scheme::new(parameters).unwrap()).collect()
}

/// Draws a set that is similar to earlier ones, unrelated, empty, or equal to another.
fn draw_set(random: &mut Random) -> Vec<u64> {
    let family = random.below(12);
    let size = [1, 4, 30, 120][random.below(4) as usize];
    match random.below(10) {
        0 => Vec::new(),
        1 => (0..size).map(|_| random.below(60_000)).collect(),
        2 => (0..40).map(|i| family * 500 + i).collect(),
        _ => {
            let shift = random.below(size / 2 + 1);
            (0..size).map(|i| family * 500 + shift + i).collect()
        }
    }
}

fn requests(scheme: &Scheme) -> Vec<Request> {
    let slots = u32::from(scheme.slots.count);
    let mut requests = vec![
        Request::default(),
        Request { top: Some(3), ..Request::default() },
        Request { min: Some(0.5), ..Request::default() },
        Request { min: Some(0.2), top: Some(5), ..Request::default() },
        Request { exhaustive: true, top: Some(25), ..Request::default() },
        Request { exhaustive: true, min: Some(0.0), ..Request::default() },
        Request { min: Some(0.0), ..Request::default() },
    ];
    if slots > 1 {
        requests.push(Request { matches: Some(2), min: Some(0.0), ..Request::default() });
        requests.push(Request { matches: Some(slots), top: Some(4), ..Request::default() });
    }
    let folded = u32::from(scheme.slots.samples_per_slot) * u32::from(scheme.bits)
        > u32::from(scheme.slots.value_bits);
    if slots > 0 && !folded {
        requests.push(Request { hamming: true, min: Some(0.1), ..Request::default() });
        requests.push(Request {
            hamming: true,
            matches: Some(slots / 2 + 1),
            ..Request::default()
        });
    }
    requests
}

/// Compares all kinds of queries, by all plans, with brute force.
fn compare(db: &Database, rows: &Rows, random: &mut Random, rounds: usize, at: &str) {
    let snapshot = db.snapshot();
    let keys: Vec<&Vec<u8>> = rows.keys().collect();
    for _ in 0..rounds {
        let set = draw_set(random);
        let signature = db.sketcher().sketch(&set).unwrap();
        let key = keys[random.below(keys.len() as u64) as usize];
        let (mut by_set, mut by_key) = (Brute::new(&signature), Brute::new(&rows[key]));
        for request in requests(db.scheme()) {
            let expected = by_set.answer(rows, None, request);
            compare_plans(&snapshot, Like::Features(&set), request, &expected, at);
            compare_plans(&snapshot, Like::Signature(&signature), request, &expected, at);
            let of_key = by_key.answer(rows, Some(key), request);
            compare_plans(&snapshot, Like::Key(key), request, &of_key, at);
        }
    }
}

/// The answers are the same before and after checkpoint, merge, vacuum and reopening, with any options.
#[test]
fn answers_are_those_of_brute_force_whatever_happens_to_the_rows() {
    for (i, scheme) in schemes().into_iter().enumerate() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.ringer");
        let mut random = Random(i as u64 + 1);
        let options = Options::default()
            .with_memtable_rows([50, 200, 100_000][i % 3])
            .with_cache_bytes([0, 100_000, 64 << 20][i % 3])
            .with_build_bytes([0, 1 << 20][i % 2])
            .with_background(i % 2 == 0)
            .with_merge(i % 4 == 0);
        let mut db = Database::create(&path, &scheme, options.clone()).unwrap();
        let mut rows = Rows::new();
        for round in 0..6 {
            let mut batch = db.batch();
            for _ in 0..90 {
                let key = format!("key {}", random.below(300)).into_bytes();
                if random.below(5) == 0 {
                    batch.delete(&key).unwrap();
                    rows.remove(&key);
                } else {
                    let set = draw_set(&mut random);
                    batch.put(&key, &set).unwrap();
                    rows.insert(key, db.sketcher().sketch(&set).unwrap());
                }
            }
            db.commit(batch).unwrap();
            compare(&db, &rows, &mut random, 2, "committed");
            match round {
                1 => db.checkpoint().unwrap(),
                2 => {
                    db.close().unwrap();
                    db = Database::open(&path, Options::default()).unwrap();
                }
                4 => db.compact().unwrap(),
                _ => continue,
            }
            compare(&db, &rows, &mut random, 2, "moved");
        }
    }
}
