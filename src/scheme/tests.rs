//! Every rule rejects a scheme that breaks it, and every preset is decoded from its own bytes.

use super::*;
use presets::{ALL, PRECISE};

/// A scheme that allows any universe.
const PLAIN: Parameters = Parameters { sampler: Sampler::OnePermutation, ..PRECISE };

fn refused(change: impl Fn(&mut Parameters)) -> String {
    let mut p = PLAIN;
    change(&mut p);
    match Scheme::new(p) {
        Err(Error::InvalidArgument { what, limit }) => format!("{what}: {limit}"),
        other => panic!("expected InvalidArgument, got {other:?}"),
    }
}

/// Decodes the default scheme's bytes with some of them replaced.
fn decoded(edits: &[(usize, &[u8])]) -> Result<Scheme> {
    let mut bytes = Scheme::new(PLAIN).unwrap().to_bytes();
    for (at, new) in edits {
        bytes[*at..at + new.len()].copy_from_slice(new);
    }
    Scheme::from_bytes(&bytes)
}

fn rule_of(result: Result<Scheme>) -> &'static str {
    match result {
        Err(Error::Corrupt { rule, .. } | Error::UnsupportedFormat { rule, .. }) => rule,
        other => panic!("expected a refusal, got {other:?}"),
    }
}

#[test]
fn presets_are_valid_and_round_trip() {
    for (name, parameters) in ALL {
        let scheme = Scheme::new(*parameters).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(Scheme::from_bytes(&scheme.to_bytes()).as_ref(), Ok(&scheme), "{name}");
    }
    let prints: std::collections::HashSet<u64> =
        ALL.iter().map(|(_, p)| Scheme::new(*p).unwrap().fingerprint()).collect();
    assert_eq!(prints.len(), ALL.len());
}

#[test]
fn errors_name_the_limit() {
    assert_eq!(refused(|p| p.samples = 0), "0 samples: samples must be 1 to 16384");
    assert_eq!(refused(|p| p.samples = 16_385), "16385 samples: samples must be 1 to 16384");
    assert_eq!(refused(|p| p.bits = 17), "17 bits per sample: bits must be 1 to 16");
    assert!(refused(|p| p.slots.count = 33).contains("at most the 128 samples"));
    assert!(refused(|p| p.slots.value_bits = 17).contains("1 to 16 bits, not 17"));
    assert!(refused(|p| p.slots.min_matches = 33).contains("1 to 32, not 33"));
    assert!(refused(|p| p.slots.count = 0).contains("all four numbers must be 0"));
    let shingles = |words| Features::Shingles { words, ends: Ends::Looped };
    assert_eq!(
        refused(|p| p.features = shingles(65)),
        "words in a shingle = 65: it must be 1 to 64"
    );
    let grams = |characters| Features::Grams { characters, ends: Ends::Plain };
    assert!(refused(|p| p.features = grams(0)).contains("characters in a gram = 0"));
    let chunks = |horizon| Features::Chunks { horizon };
    assert!(refused(|p| p.features = chunks(1)).contains("horizon of chunks = 1"));
    let spots = |distance, chain| Features::Spots { distance, chain };
    assert!(refused(|p| p.features = spots(0, 3)).contains("distance times chain of a spot = 0"));
    assert!(refused(|p| p.features = spots(9, 8)).contains("distance times chain of a spot = 72"));
    assert!(refused(|p| p.cardinality = CardinalityField::Linear8).contains("bounded"));
    assert!(refused(|p| p.universe = Universe::Bounded(1)).contains("at least 2"));
    let dense = |p: &mut Parameters| p.universe = Universe::Bounded(1 << 16);
    assert!(refused(|p| (dense(p), p.features = Features::Tokens).1).contains("ids"));
    assert!(refused(|p| (dense(p), p.cardinality = CardinalityField::None).1).contains("share"));
    assert!(refused(|p| p.universe = Universe::Bounded(8191)).contains("64 places"));
    assert!(refused(|p| (dense(p), p.bits = 9).1).contains("1024 places"));
    let mut p = PLAIN;
    p.universe = Universe::Bounded(8192);
    assert!(Scheme::new(p).is_ok());
}

#[test]
fn samplers_measure_and_pack_what_they_can() {
    let weighted = |p: &mut Parameters| *p = presets::WEIGHTED;
    let cosine = |p: &mut Parameters| *p = presets::COSINE;
    let text = refused(|p| p.measure = Measure::Cosine);
    assert_eq!(
        text,
        "sampler `one-permutation` for the measure `cosine`: this sampler is for the measure `jaccard`"
    );
    assert!(refused(|p| p.sampler = Sampler::Weighted).contains("measure `weighted`"));
    let bounded = |p: &mut Parameters| p.universe = Universe::Bounded(1 << 16);
    for sampler in [Sampler::Lazy, Sampler::EveryBin] {
        assert!(refused(|p| (bounded(p), p.sampler = sampler).1).contains("open universe"));
    }
    for preset in [weighted, cosine] {
        for field in [CardinalityField::Log8, CardinalityField::Exact] {
            assert!(refused(|p| (preset(p), p.cardinality = field).1).contains("choose none"));
        }
    }
    assert!(refused(|p| (cosine(p), p.bits = 2).1).contains("single bits"));
    let pairs = |p: &mut Parameters, sampler| {
        *p = Parameters { packing: Packing::XorPairs, sampler, bits: 1, slots: Slots::NONE, ..*p };
    };
    assert!(refused(|p| (pairs(p, Sampler::Lazy), p.bits = 2).1).contains("single bits"));
    for sampler in [Sampler::OnePermutation, Sampler::EveryBin] {
        assert!(refused(|p| pairs(p, sampler)).contains("independent samples"));
    }
    assert!(refused(|p| (cosine(p), p.packing = Packing::XorPairs).1).contains("of sets"));
    for sampler in [Sampler::Lazy, Sampler::Independent] {
        let mut p = PRECISE;
        pairs(&mut p, sampler);
        let scheme = Scheme::new(p).unwrap();
        assert_eq!((scheme.drawn_samples(), scheme.words_per_signature()), (256, 2));
        assert_eq!(Scheme::from_bytes(&scheme.to_bytes()), Ok(scheme));
    }
}

#[test]
fn bytes_that_break_a_rule_cite_it() {
    let bytes = Scheme::new(PLAIN).unwrap().to_bytes();
    assert_eq!(rule_of(Scheme::from_bytes(&bytes[..47])), "SCHEME-1");
    assert_eq!(rule_of(Scheme::from_bytes(&[])), "SCHEME-1");
    assert_eq!(rule_of(decoded(&[(0, &[2])])), "SCHEME-2");
    for reserved in 27..32 {
        assert_eq!(rule_of(decoded(&[(reserved, &[1])])), "SCHEME-3");
    }
    for code in [2, 3, 8, 9, 10, 11, 13, 14] {
        assert_eq!(rule_of(decoded(&[(code, &[99])])), "SCHEME-4", "byte {code}");
    }
    assert_eq!(rule_of(decoded(&[(16, &[0, 0, 1, 0])])), "SCHEME-5");
    assert_eq!(rule_of(decoded(&[(12, &[0])])), "SCHEME-6");
    assert_eq!(rule_of(decoded(&[(20, &[0])])), "SCHEME-7");
    assert_eq!(rule_of(decoded(&[(32, &[1])])), "SCHEME-8");
    assert_eq!(rule_of(decoded(&[(11, &[2])])), "SCHEME-8");
    assert_eq!(rule_of(decoded(&[(4, &[1])])), "SCHEME-9");
    assert_eq!(rule_of(decoded(&[(8, &[2])])), "SCHEME-9");
    for kind in 3..=6 {
        assert_eq!(
            rule_of(decoded(&[(2, &[kind, 1 + u8::from(kind == 3)]), (8, &[2])])),
            "SCHEME-9"
        );
    }
    // Only chunks can use the last byte of the parameter, and this value is too large for them.
    for kind in 1..=7 {
        let edits: [(usize, &[u8]); 2] = [(2, &[kind, 1, 5, 5, 0, 1]), (8, &[2])];
        assert_eq!(rule_of(decoded(&edits)), "SCHEME-9", "{kind}");
    }
    let bounded: (usize, &[u8]) = (32, &[0, 0, 1]);
    assert_eq!(rule_of(decoded(&[(2, &[2]), (8, &[2]), (11, &[2]), bounded])), "SCHEME-10");
    assert_eq!(rule_of(decoded(&[(14, &[0]), (11, &[2]), bounded])), "SCHEME-11");
    assert_eq!(rule_of(decoded(&[(14, &[1])])), "SCHEME-11");
    assert_eq!(rule_of(decoded(&[(11, &[2]), (32, &[100])])), "SCHEME-12");
    assert_eq!(rule_of(decoded(&[(9, &[2])])), "SCHEME-13");
    assert_eq!(rule_of(decoded(&[(9, &[3, 4])])), "SCHEME-13");
    assert_eq!(rule_of(decoded(&[(10, &[3, 2]), bounded])), "SCHEME-14");
    assert_eq!(rule_of(decoded(&[(9, &[2, 4])])), "SCHEME-15");
    assert_eq!(rule_of(decoded(&[(9, &[3, 5]), (14, &[0])])), "SCHEME-16");
    assert_eq!(rule_of(decoded(&[(10, &[3]), (13, &[2])])), "SCHEME-16");
    let one_bit: [(usize, &[u8]); 3] = [(12, &[1]), (15, &[4]), (13, &[2])];
    assert_eq!(rule_of(decoded(&one_bit)), "SCHEME-17");
    for bits in (1..8).chain(65..=255) {
        assert_eq!(rule_of(decoded(&[(26, &[bits])])), "SCHEME-18", "{bits}");
    }
    assert_eq!(rule_of(decoded(&[(9, &[2, 4]), (14, &[0]), (26, &[64])])), "SCHEME-18");
}

#[test]
fn elements_are_kept_in_8_to_64_bits() {
    let keep = |bits| Parameters { elements: Elements::Kept { bits }, ..PRECISE };
    for bits in 8..=64 {
        let scheme = Scheme::new(keep(bits)).unwrap();
        assert_eq!(scheme.to_bytes()[26], bits);
        assert_eq!(Scheme::from_bytes(&scheme.to_bytes()), Ok(scheme));
    }
    let text = refused(|p| p.elements = Elements::Kept { bits: 7 });
    assert_eq!(text, "elements kept in 7 bits: bits must be 8 to 64");
    let text = refused(|p| *p = Parameters { elements: Elements::EXACT, ..presets::WEIGHTED });
    assert!(text.contains("only sets of the measure `jaccard`"), "{text}");
    let described = |p| Scheme::new(p).unwrap().described()[11].clone();
    assert_eq!(described(PRECISE), ("kept elements", "none".into()));
    assert_eq!(described(keep(64)), ("kept elements", "64 bits".into()));
}

/// No two byte strings decode to the same scheme, so bytes that can be decoded are encoded to the same bytes.
#[test]
fn single_byte_changes_decode_to_themselves_or_not_at_all() {
    let good = Scheme::precise();
    for at in 0..SCHEME_BYTES {
        for value in 0..=255 {
            if let Ok(scheme) = decoded(&[(at, &[value])]) {
                assert_eq!(scheme.to_bytes()[at], value);
                assert_eq!(scheme == good, scheme.to_bytes() == good.to_bytes());
            }
        }
    }
}

#[test]
fn mismatch_says_what_differs() {
    let a = Scheme::precise();
    let b = Scheme::new(Parameters { samples: 256, seed: 7, ..PRECISE }).unwrap();
    let error = Error::SchemeMismatch { stored: Box::new(a.clone()), requested: Box::new(b) };
    let text = error.to_string();
    assert!(text.contains("samples is 128 here and 256 there"), "{text}");
    assert!(text.contains("seed is 90474799383890 here and 7 there"), "{text}");
    assert!(!text.contains("bits"), "{text}");
    assert!(a.differences(&a).is_empty());
}

#[test]
fn names_parse_back() {
    for sampler in Sampler::ALL {
        assert_eq!(sampler.name().parse(), Ok(*sampler));
    }
    let error = "weird".parse::<CardinalityField>().unwrap_err().to_string();
    assert!(error.contains("none, linear4, linear8, log8, exact"), "{error}");
}

#[test]
fn feature_kinds_survive_their_bytes_and_their_names() {
    let looped = Ends::Looped;
    let kinds = [
        ("ids", Features::Ids),
        ("tokens", Features::Tokens),
        ("text", Features::TEXT),
        ("text:3", Features::Shingles { words: 3, ends: looped }),
        ("grams:64", Features::Grams { characters: 64, ends: looped }),
        ("chunks:65536", Features::Chunks { horizon: 65_536 }),
        ("spots:2", Features::Spots { distance: 1, chain: 2 }),
        ("url", Features::Url),
        ("text:plain", Features::Shingles { words: 5, ends: Ends::Plain }),
        ("grams:2:plain", Features::Grams { characters: 2, ends: Ends::Plain }),
    ];
    for (name, features) in kinds {
        assert_eq!(name.parse(), Ok(features), "{name}");
    }
    for (_, features) in kinds {
        let scheme = Scheme::new(Parameters { features, ..PRECISE }).unwrap();
        assert_eq!(Scheme::from_bytes(&scheme.to_bytes()), Ok(scheme), "{features}");
    }
    for refused in
        ["", "texts", "text:", "text:0", "text:65", "text:-1", "ids:1", "spots:99", "url:plain"]
    {
        assert!(refused.parse::<Features>().is_err(), "{refused}");
    }
}
