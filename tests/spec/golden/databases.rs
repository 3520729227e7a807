//! The golden databases: the commits that made them, and so the rows that they contain.
//! `format-spec/golden/README.md` describes them in words.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use ringer::scheme::{CardinalityField, Elements, Sampler, Slots, Universe};
use ringer::{Database, Options, Parameters, Scheme, presets};

/// One operation of a commit.
pub(crate) enum Operation {
    /// Stores a set under a key.
    Put(Vec<u8>, Vec<u64>),
    /// Stores a set and a value under a key.
    Value(Vec<u8>, Vec<u64>, Vec<u8>),
    /// Deletes a key.
    Delete(Vec<u8>),
}

use Operation::{Delete, Put, Value};

/// A golden database.
pub(crate) struct Golden {
    /// The file's name without its extension.
    pub(crate) name: &'static str,
    /// The scheme of its signatures.
    pub(crate) scheme: Scheme,
    /// The commits, in groups. A checkpoint follows each group.
    groups: Vec<Vec<Vec<Operation>>>,
}

/// Rows by key: the commit that stored the set, the set, and its value.
pub(crate) type Rows = BTreeMap<Vec<u8>, (u64, Vec<u64>, Option<Vec<u8>>)>;

fn put(key: impl Into<Vec<u8>>, set: Range<u64>) -> Operation {
    Put(key.into(), set.collect())
}

fn scheme(parameters: Parameters) -> Scheme {
    Scheme::new(parameters).expect("a possible scheme")
}

/// Returns all golden databases.
pub(crate) fn all() -> Vec<Golden> {
    let precise = || scheme(PLAIN);
    let one = vec![vec![vec![put("key", 1..4)]]];
    vec![
        Golden { name: "empty", scheme: precise(), groups: Vec::new() },
        Golden { name: "one", scheme: precise(), groups: one },
        mixed(),
        bounded(),
        exact16(),
        lists(),
        measured("weighted", presets::WEIGHTED),
        measured("vectors", presets::COSINE),
        measured("halves", presets::HALF_BIT),
        measured("visits", presets::NEAR_DUPLICATE.with_sampler(Sampler::EveryBin)),
        kept(),
        kept20(),
        values(),
    ]
}

/// Parameters of schemes that predate the default sampler.
const PLAIN: Parameters = presets::PRECISE.with_sampler(Sampler::OnePermutation);

fn mixed() -> Golden {
    let scheme = scheme(PLAIN.with_samples(64).with_bits(2).with_slots(Slots::NONE));
    let first = vec![
        put("apple", 1000..1010),
        put("banana", 2000..2020),
        put("cherry", 1000..1010),
        put("empty", 0..0),
        put("nothing", 0..0),
    ];
    let second = vec![
        put("date", 4000..4040),
        put("k", 6000..6010),
        put(vec![b'k'; 4096], 5000..5005),
        put(vec![b'l'; 4095], 5000..5006),
    ];
    let third = vec![put("banana", 2000..2010), Delete(b"date".to_vec()), put("fig", 1000..1010)];
    let fourth = vec![
        put("fig", 7000..7007),
        put([0x00, 0xFF], 8000..8300),
        Delete(b"nothing".to_vec()),
        Delete(b"no such key".to_vec()),
    ];
    Golden { name: "mixed", scheme, groups: vec![vec![first, second], vec![third], vec![fourth]] }
}

fn bounded() -> Golden {
    let scheme = scheme(
        PLAIN
            .with_universe(Universe::Bounded(20_000))
            .with_samples(100)
            .with_cardinality(CardinalityField::Linear4)
            .with_slots(Slots::NONE),
    );
    let commit = vec![
        put("1 set", 0..5000),
        put("2 set", 2500..7500),
        put("3 set", 0..1),
        put("4 set", 0..20_000),
        put("5 set", 19_000..20_000),
    ];
    Golden { name: "bounded", scheme, groups: vec![vec![commit]] }
}

fn exact16() -> Golden {
    let scheme = scheme(
        PLAIN
            .with_sampler(Sampler::Independent)
            .with_samples(64)
            .with_bits(16)
            .with_cardinality(CardinalityField::Exact)
            .with_slots(Slots { count: 6, samples_per_slot: 10, value_bits: 32, min_matches: 2 }),
    );
    let commit =
        vec![put([1], 0..1), put([1, 0], 0..300), put([2], 0..301), put([0xFF, 0xFF], 0..0)];
    Golden { name: "exact16", scheme, groups: vec![vec![commit]] }
}

/// Many sets, each one element larger than the last. They share most slot values, which gives long lists beside short
/// ones.
fn lists() -> Golden {
    let scheme = scheme(
        PLAIN
            .with_samples(64)
            .with_bits(2)
            .with_cardinality(CardinalityField::Exact)
            .with_slots(Slots { count: 4, samples_per_slot: 4, value_bits: 8, min_matches: 1 })
            .with_seed(2),
    );
    // Sets of similar size are not adjacent in key order, so the lists have gaps.
    let key = |i: u64| [((i * 7 % 520) >> 8) as u8, (i * 7 % 520) as u8];
    let mut commit: Vec<Operation> = (0..520).map(|i| put(key(i), 0..i)).collect();
    commit.push(put("copy", 0..7));
    Golden { name: "lists", scheme, groups: vec![vec![commit]] }
}

/// Kept sets: one element, gaps, a run, more than a page, none, a duplicate, and the largest distance.
fn kept() -> Golden {
    let commit = vec![
        Put(b"a".to_vec(), vec![7]),
        Put(b"b".to_vec(), vec![10, 11, 14, 18]),
        put("c", 1000..1100),
        Put(b"d".to_vec(), (0..1500).map(|i: u64| (i << 53) | (i * i)).collect()),
        put("e", 0..0),
        Put(b"f".to_vec(), vec![18, 14, 11, 10]),
        Put(b"g".to_vec(), vec![0, u64::MAX]),
    ];
    Golden { name: "kept", scheme: keeping(64), groups: vec![vec![commit]] }
}

/// Sets kept in 20 bits.
fn kept20() -> Golden {
    let commit = vec![put("a", 0..10), put("b", 5..25), put("e", 0..0)];
    Golden { name: "kept20", scheme: keeping(20), groups: vec![vec![commit]] }
}

/// Values: none, short, empty, more than a page, of equal sets, of the empty set; replaced and dropped in a second
/// segment; none in a third.
fn values() -> Golden {
    let scheme = scheme(PLAIN.with_samples(64).with_bits(2).with_slots(Slots::NONE));
    let value = |key: &str, set: Range<u64>, value: &[u8]| {
        Value(key.as_bytes().to_vec(), set.collect(), value.to_vec())
    };
    let long: Vec<u8> = (0..9_000).map(|i| (i * 7 % 256) as u8).collect();
    let first = vec![
        value("a", 1..4, b"first"),
        value("b", 1..4, b"second"),
        put("c", 7..8),
        value("d", 0..0, b"of the empty set"),
        value("e", 1..10, b""),
        value("f", 10..21, &long),
    ];
    let second = vec![put("a", 1..4), value("c", 8..9, b"late")];
    let third = vec![put("g", 5..6)];
    Golden { name: "values", scheme, groups: vec![vec![first], vec![second], vec![third]] }
}

fn keeping(bits: u8) -> Scheme {
    let elements = Elements::Kept { bits };
    scheme(PLAIN.with_samples(64).with_bits(2).with_slots(Slots::NONE).with_elements(elements))
}

/// Bags of numbers, under a preset for other measures. Two have similar sets and one is empty.
fn measured(name: &'static str, preset: Parameters) -> Golden {
    let mut bag: Vec<u64> = (0..60).collect();
    bag.extend(0..30);
    let commit = vec![
        Put(b"bag".to_vec(), bag),
        put("empty", 0..0),
        put("other", 5000..5300),
        put("set", 0..60),
    ];
    Golden { name, scheme: scheme(preset), groups: vec![vec![commit]] }
}

impl Golden {
    /// Creates the database. Apart from its random id it is the same each time.
    pub(crate) fn make(&self, path: &Path) {
        let options = Options::default().with_background(false).with_merge(false);
        let db = Database::create(path, &self.scheme, options).expect("a new database");
        for group in &self.groups {
            for commit in group {
                let mut batch = db.batch();
                for operation in commit {
                    match operation {
                        Put(key, set) => batch.put(key, set).expect("a good set"),
                        Value(key, set, value) => {
                            let put = batch.put(key, set).expect("a good set");
                            put.with_value(value).expect("a good value")
                        }
                        Delete(key) => batch.delete(key).expect("a good key"),
                    };
                }
                db.commit(batch).expect("a commit");
            }
            db.checkpoint().expect("a checkpoint");
        }
        db.close().expect("a close");
    }

    /// Returns the rows that it contains.
    pub(crate) fn rows(&self) -> Rows {
        let mut rows = Rows::new();
        for (sequence, commit) in (1..).zip(self.groups.iter().flatten()) {
            for operation in commit {
                match operation {
                    Put(key, set) => rows.insert(key.clone(), (sequence, set.clone(), None)),
                    Value(key, set, value) => {
                        let value = Some(value.clone());
                        rows.insert(key.clone(), (sequence, set.clone(), value))
                    }
                    Delete(key) => rows.remove(key),
                };
            }
        }
        rows
    }
}
