//! Queries against brute force over signatures: the same answers whatever the plan, wherever rows live.

use std::collections::BTreeMap;

use ringer::scheme::{CardinalityField, Sampler, Slots, Universe};
use ringer::sketch::SlotReader;
use ringer::{
    Answer, Database, Like, Options, Parameters, Plan, Query, Scheme, Signature, presets,
};

type Rows = BTreeMap<Vec<u8>, Signature>;

/// Numbers that look random, the same in each run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % below
    }
}

/// What is asked, in a form that brute force can answer.
#[derive(Debug, Clone, Copy, Default)]
struct Ask {
    top: Option<usize>,
    min: Option<f64>,
    matches: Option<u32>,
    exhaustive: bool,
    hamming: bool,
}

impl Ask {
    fn put<'a>(self, mut query: Query<'a>) -> Query<'a> {
        if let Some(top) = self.top {
            query = query.top(top);
        }
        if let Some(min) = self.min {
            query = query.min_resemblance(min);
        }
        if let Some(matches) = self.matches {
            query = query.min_matches(matches);
        }
        if self.exhaustive {
            query = query.exhaustive();
        }
        if self.hamming { query.within_hamming_1() } else { query }
    }
}

type Found = Vec<(Vec<u8>, u32, f64)>;

/// The answer by definition: every row is compared, filtered, sorted.
fn brute_force(rows: &Rows, query: &Signature, itself: Option<&[u8]>, ask: Ask) -> Found {
    let scheme = query.scheme();
    let reader = SlotReader::new(scheme);
    let values = |signature: &Signature| {
        let mut values = vec![0; reader.count()];
        reader.read(signature.planes(), &mut values);
        values
    };
    let least = match ask.matches {
        Some(matches) => matches,
        None if ask.exhaustive => 0,
        None => u32::from(scheme.slots.min_matches),
    };
    let mut found = Found::new();
    if query.is_empty() {
        return found;
    }
    let own = values(query);
    for (key, signature) in rows {
        if signature.is_empty() || itself == Some(key) {
            continue;
        }
        let differ = values(signature).into_iter().zip(&own).map(|(a, b)| (a ^ b).count_ones());
        let slots = differ.filter(|bits| *bits <= u32::from(ask.hamming)).count() as u32;
        let value = query.compare(signature).unwrap().resemblance().value;
        if slots >= least && ask.min.is_none_or(|min| value >= min) {
            found.push((key.clone(), slots, value));
        }
    }
    found.sort_by(|a, b| b.2.total_cmp(&a.2).then(b.1.cmp(&a.1)).then_with(|| a.0.cmp(&b.0)));
    found.truncate(ask.top.unwrap_or(if ask.min.is_some() { usize::MAX } else { 10 }));
    found
}

fn found(answer: &Answer) -> Found {
    assert!(!answer.truncated);
    let matches = answer.matches.iter();
    matches.map(|m| (m.key.to_vec(), m.matching_slots, m.resemblance().value)).collect()
}

/// Schemes of all shapes: presets, one bit, few and many slots, hashed values, bounded universes.
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
        Parameters { samples: 200, bits: 1, slots: slots(20, 10, 10, 1), ..near },
        Parameters { samples: 64, bits: 2, slots: slots(64, 1, 2, 9), ..near },
        Parameters { samples: 128, bits: 8, slots: slots(128, 1, 8, 3), ..near },
        Parameters { samples: 100, bits: 6, slots: slots(33, 3, 9, 2), ..near },
        Parameters { slots: Slots::NONE, ..near },
        Parameters {
            universe: Universe::Bounded(1 << 16),
            cardinality: CardinalityField::Linear8,
            sampler: Sampler::Independent,
            samples: 64,
            slots: slots(16, 4, 16, 1),
            ..near
        },
    ];
    all.into_iter().map(|parameters| Scheme::new(parameters).unwrap()).collect()
}

/// A set like others before it, of its own, empty, or equal to another.
fn draw_set(dice: &mut Dice) -> Vec<u64> {
    let family = dice.roll(12);
    let size = [1, 4, 30, 120][dice.roll(4) as usize];
    match dice.roll(10) {
        0 => Vec::new(),
        1 => (0..size).map(|_| dice.roll(60_000)).collect(),
        2 => (0..40).map(|i| family * 500 + i).collect(),
        _ => {
            let shift = dice.roll(size / 2 + 1);
            (0..size).map(|i| family * 500 + shift + i).collect()
        }
    }
}

fn asks(scheme: &Scheme) -> Vec<Ask> {
    let slots = u32::from(scheme.slots.count);
    let mut asks = vec![
        Ask::default(),
        Ask { top: Some(3), ..Ask::default() },
        Ask { min: Some(0.5), ..Ask::default() },
        Ask { min: Some(0.2), top: Some(5), ..Ask::default() },
        Ask { exhaustive: true, top: Some(25), ..Ask::default() },
        Ask { exhaustive: true, min: Some(0.0), ..Ask::default() },
        Ask { min: Some(0.0), ..Ask::default() },
    ];
    if slots > 1 {
        asks.push(Ask { matches: Some(2), min: Some(0.0), ..Ask::default() });
        asks.push(Ask { matches: Some(slots), top: Some(4), ..Ask::default() });
    }
    let folded = u32::from(scheme.slots.samples_per_slot) * u32::from(scheme.bits)
        > u32::from(scheme.slots.value_bits);
    if slots > 0 && !folded {
        asks.push(Ask { hamming: true, min: Some(0.1), ..Ask::default() });
        asks.push(Ask { hamming: true, matches: Some(slots / 2 + 1), ..Ask::default() });
    }
    asks
}

/// All kinds of questions, by all plans, against brute force.
fn compare(db: &Database, rows: &Rows, dice: &mut Dice, rounds: usize, at: &str) {
    let snapshot = db.snapshot();
    let keys: Vec<&Vec<u8>> = rows.keys().collect();
    for _ in 0..rounds {
        let set = draw_set(dice);
        let signature = db.sketcher().sketch(&set).unwrap();
        let key = keys[dice.roll(keys.len() as u64) as usize];
        for ask in asks(db.scheme()) {
            let expected = brute_force(rows, &signature, None, ask);
            let of_key = brute_force(rows, &rows[key], Some(key), ask);
            for plan in [None, Some(Plan::Probe), Some(Plan::Scan)] {
                let put = |like| {
                    let query = ask.put(snapshot.query(like));
                    let query = plan.map_or(query.clone(), |plan| query.plan(plan));
                    found(&query.run().unwrap())
                };
                let at = format!("{at} {ask:?} {plan:?} {}", db.scheme());
                assert_eq!(put(Like::Features(&set)), expected, "{at}");
                assert_eq!(put(Like::Signature(&signature)), expected, "{at}");
                assert_eq!(put(Like::Key(key)), of_key, "{at} of a key");
            }
        }
    }
}

/// The same answers before and after checkpoint, merge, vacuum and reopening, with any options.
#[test]
fn answers_are_those_of_brute_force_whatever_happens_to_the_rows() {
    for (i, scheme) in schemes().into_iter().enumerate() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.ringer");
        let mut dice = Dice(i as u64 + 1);
        let options = Options {
            memtable_rows: [50, 200, 100_000][i % 3],
            cache_bytes: [0, 100_000, 64 << 20][i % 3],
            build_bytes: [0, 1 << 20][i % 2],
            background: i % 2 == 0,
            merge: i % 4 == 0,
            ..Options::default()
        };
        let mut db = Database::create(&path, &scheme, options.clone()).unwrap();
        let mut rows = Rows::new();
        for round in 0..6 {
            let mut batch = db.batch();
            for _ in 0..90 {
                let key = format!("key {}", dice.roll(300)).into_bytes();
                if dice.roll(5) == 0 {
                    batch.delete(&key).unwrap();
                    rows.remove(&key);
                } else {
                    let set = draw_set(&mut dice);
                    batch.put(&key, &set).unwrap();
                    rows.insert(key, db.sketcher().sketch(&set).unwrap());
                }
            }
            db.commit(batch).unwrap();
            compare(&db, &rows, &mut dice, 2, "committed");
            match round {
                1 => db.checkpoint().unwrap(),
                2 => {
                    db.close().unwrap();
                    db = Database::open(&path, Options::default()).unwrap();
                }
                4 => db.compact().unwrap(),
                _ => continue,
            }
            compare(&db, &rows, &mut dice, 2, "moved");
        }
    }
}
