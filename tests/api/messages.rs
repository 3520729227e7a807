//! Every error message in one place: `messages.txt` has an example of each variant, and of the arguments that the library
//! rejects. `RINGER_BLESS=1` rewrites the file.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;

use ringer::error::IoCause;
use ringer::scheme::{
    CardinalityField, Elements, Ends, Features, Measure, Packing, Sampler, Slots, Universe,
};
use ringer::{Clustering, Database, Error, Like, LogKind, Options, Scheme, presets};

/// At least one example of each variant. Optional parts of a message have one with and one without.
fn examples() -> Vec<Error> {
    let path = || "/data/corpus.ringer".into();
    let database = path;
    let beside = || "/data/corpus.ringer-hot".into();
    let stored = Box::new(Scheme::default());
    let requested = Box::new(Scheme::new(presets::DEFAULT.with_samples(128).with_seed(7)).unwrap());
    vec![
        Error::InvalidArgument { what: "0 samples".into(), limit: "samples must be 1 to 9".into() },
        Error::SchemeMismatch { stored, requested },
        Error::NotDerivable { field: "bits", stored: "8".into(), requested: "12".into() },
        Error::UnsupportedFormat {
            what: "database format",
            found: 3,
            oldest: 1,
            newest: 2,
            rule: "SUPER-2",
        },
        Error::ForeignScheme,
        Error::Corrupt {
            what: "superblock",
            offset: 24,
            rule: "SUPER-4",
            detail: "its checksum is wrong".into(),
        },
        Error::Undefined { measure: "containment" },
        Error::NoCardinality { measure: "intersection", field: "none" },
        Error::OtherMeasure { requested: "resemblance", measure: "cosine" },
        Error::TooFewBits { sets: 3, bits: 1, needed: 2 },
        Error::OverLimit { what: "a comparison of 9 sets".into(), needed: 2000, limit: 1000 },
        Error::NoSuchKey { key: b"a\xff".as_slice().into() },
        Error::Io {
            operation: "read",
            path: path(),
            source: IoCause::from(io::Error::other("the device does not answer")),
        },
        Error::NoSpace { operation: "write to", path: path() },
        Error::TooLittleSpace { what: "reindexing", path: path(), needed: 2000, free: 1000 },
        Error::NotADatabase { path: path() },
        Error::Exists { path: path() },
        Error::NotOurs { path: beside(), database: database() },
        Error::ReservedName { path: beside(), database: database() },
        Error::Replaced { path: path() },
        Error::Forked { path: path() },
        Error::NotDocuments { features: Features::Ids, instead: "give the numbers to `put`" },
        Error::DocumentTooLarge { what: "features", limit: 1000 },
        Error::Interrupted,
        Error::Locked { path: path() },
        Error::Closed { path: path() },
        Error::Poisoned { reason: "cannot sync /data/corpus.ringer: the device is gone".into() },
        Error::LogMissing { checkpointed: 9, marked: None },
        Error::LogMissing { checkpointed: 9, marked: Some(12) },
        Error::LogDamaged { readable: 10, marked: None, detail: "its id is missing".into() },
        Error::LogDamaged { readable: 10, marked: Some(12), detail: "byte 9 is wrong".into() },
    ]
}

/// The name of an error's variant, as `Debug` prints it.
fn variant(error: &Error) -> String {
    format!("{error:?}").chars().take_while(char::is_ascii_alphanumeric).collect()
}

/// The variants that the source of the library declares.
fn declared() -> BTreeSet<String> {
    let source = include_str!("../../src/error.rs");
    let body = source.split_once("pub enum Error {\n").unwrap().1.split_once("\n}\n").unwrap().0;
    let names = body.lines().filter_map(|line| {
        let name = line.strip_prefix("    ")?.trim_end_matches([' ', '{', ',']);
        let is_name = name.starts_with(|c: char| c.is_ascii_uppercase())
            && name.chars().all(|c| c.is_ascii_alphanumeric());
        is_name.then(|| name.to_string())
    });
    names.collect()
}

/// One change of valid parameters for each way in which a scheme can be rejected.
fn rejected_schemes() -> Vec<Error> {
    let plain = presets::PRECISE.with_sampler(Sampler::OnePermutation);
    let mut cosine = plain;
    cosine.measure = Measure::Cosine;
    let bounded = plain.with_universe(Universe::Bounded(1 << 16));
    let slots = |change: fn(&mut Slots)| {
        let mut slots = plain.slots;
        change(&mut slots);
        plain.with_slots(slots)
    };
    let (looped, log8) = (Ends::Looped, CardinalityField::Log8);
    let schemes = [
        plain.with_samples(0),
        plain.with_bits(17),
        slots(|slots| slots.count = 0),
        slots(|slots| slots.count = 33),
        slots(|slots| slots.value_bits = 17),
        slots(|slots| slots.min_matches = 33),
        plain.with_features(Features::Shingles { words: 65, ends: looped }),
        plain.with_features(Features::Grams { characters: 0, ends: looped }),
        plain.with_features(Features::Chunks { horizon: 1 }),
        plain.with_features(Features::Spots { distance: 9, chain: 8 }),
        plain.with_cardinality(CardinalityField::Linear8),
        plain.with_universe(Universe::Bounded(1)),
        bounded.with_features(Features::Tokens),
        bounded.with_cardinality(CardinalityField::None),
        plain.with_universe(Universe::Bounded(8191)),
        cosine,
        bounded.with_sampler(Sampler::Lazy),
        presets::WEIGHTED.with_cardinality(log8),
        presets::COSINE.with_bits(2),
        presets::HALF_BIT.with_sampler(Sampler::EveryBin),
        plain.with_elements(Elements::Kept { bits: 7 }),
        presets::WEIGHTED.with_elements(Elements::EXACT),
    ];
    assert_eq!(presets::HALF_BIT.packing, Packing::XorPairs);
    schemes.into_iter().map(|scheme| Scheme::new(scheme).unwrap_err()).collect()
}

/// Other arguments that are rejected.
fn rejected_arguments() -> Vec<Error> {
    let scheme = Scheme::bing();
    let create = |options| Database::in_memory_with(&scheme, options).unwrap_err();
    let options = Options::default;
    let mut errors = vec![
        create(options().with_memtable_rows(0)),
        create(options().with_memtable_rows((1 << 30) + 1)),
        create(options().with_memtable_bytes(0)),
        create(options().with_log(LogKind::Sled)),
        "weird".parse::<CardinalityField>().unwrap_err(),
    ];
    let features = ["texts", "text:65", "ids:1", "url:plain"];
    errors.extend(features.map(|text| text.parse::<Features>().unwrap_err()));
    errors.push(CardinalityField::Exact.encode(1 << 32, Universe::Open).unwrap_err());
    let db = Database::in_memory(&scheme).unwrap();
    let (snapshot, like) = (db.snapshot(), Like::Features(&[1, 2, 3]));
    errors.push(snapshot.query(like).min_matches(7).run().unwrap_err());
    errors.push(snapshot.query(like).within_hamming_1().run().unwrap_err());
    errors.push(snapshot.query(like).min_resemblance(1.5).run().unwrap_err());
    errors.push(Clustering::new(1.5).unwrap_err());
    errors
}

#[test]
fn messages_are_those_of_the_list() {
    let (examples, schemes) = (examples(), rejected_schemes());
    let shown: BTreeSet<String> = examples.iter().map(variant).collect();
    assert_eq!(shown, declared(), "examples, and variants in src/error.rs");
    assert!(shown.len() > 20, "{shown:?}");
    let mut list = String::new();
    for error in &examples {
        list += &format!("{}: {error}\n", variant(error));
    }
    for error in schemes.iter().chain(&rejected_arguments()) {
        assert!(matches!(error, Error::InvalidArgument { .. }), "{error:?}");
        list += &format!("InvalidArgument: {error}\n");
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/api/messages.txt");
    if std::env::var_os("RINGER_BLESS").is_some_and(|value| value == "1") {
        std::fs::write(&path, &list).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap();
    let changed: Vec<_> =
        list.lines().filter(|line| !expected.lines().any(|l| l == *line)).collect();
    assert!(list == expected, "RINGER_BLESS=1 rewrites messages.txt. New lines:\n{changed:#?}");
}
