//! Tests of commits: operations round-trip, each rule rejects its violation, and no bytes cause a panic.

use super::*;
use crate::error::Error;
use crate::scheme::CardinalityField;
use crate::scheme::{Elements, Parameters, Sampler, Slots, Universe, presets};
use crate::sketch::Sketcher;
use proptest::prelude::*;
use std::mem::offset_of;

const FIELDS: [CardinalityField; 5] = [
    CardinalityField::None,
    CardinalityField::Linear4,
    CardinalityField::Linear8,
    CardinalityField::Log8,
    CardinalityField::Exact,
];

fn scheme(cardinality: CardinalityField, bits: u8, samples: u32) -> Arc<Scheme> {
    let bounded = matches!(cardinality, CardinalityField::Linear4 | CardinalityField::Linear8);
    let universe = if bounded { Universe::Bounded(200) } else { Universe::Open };
    let sampler = Sampler::Independent;
    let slots = Slots::NONE;
    let near = presets::PRECISE;
    let parameters = Parameters { cardinality, bits, samples, universe, sampler, slots, ..near };
    Arc::new(Scheme::new(parameters).unwrap())
}

fn sketch(scheme: &Scheme, size: u64) -> Signature {
    Sketcher::new(scheme).sketch(&(0..size).collect::<Vec<_>>()).unwrap()
}

fn operation(key: &[u8], signature: Option<Signature>) -> Operation {
    Operation { key: key.into(), signature, value: None }
}

fn with_value(key: &[u8], signature: Signature, value: &[u8]) -> Operation {
    Operation { key: key.into(), signature: Some(signature), value: Some(value.into()) }
}

fn payload_of(operations: &[Operation]) -> Vec<u8> {
    encode(operations)
}

fn rule_of(bytes: &[u8], scheme: &Arc<Scheme>) -> &'static str {
    match decode(bytes, scheme) {
        Err(Error::Corrupt { rule, .. }) => rule,
        other => panic!("{other:?}"),
    }
}

/// A put of `ab` at offset 4, with its 65 one-bit samples in two words at 13, a put of the empty set under `c` at
/// 29, and a delete of `d` at 37.
fn small(field: CardinalityField) -> (Arc<Scheme>, Vec<u8>) {
    let scheme = scheme(field, 1, 65);
    let operations = [
        operation(b"ab", Some(sketch(&scheme, 20))),
        operation(b"c", Some(sketch(&scheme, 0))),
        operation(b"d", None),
    ];
    let payload = payload_of(&operations);
    assert_eq!((payload.len(), payload[4], payload[29], payload[37]), (45, PUT, PUT_EMPTY, DELETE));
    assert_eq!(decode(&payload, &scheme), Ok(operations.to_vec()));
    (scheme, payload)
}

/// The rule that rejects the small commit after its bytes at `at` are replaced.
fn rule_with(field: CardinalityField, at: usize, bytes: &[u8]) -> &'static str {
    let (scheme, mut payload) = small(field);
    payload[at..at + bytes.len()].copy_from_slice(bytes);
    rule_of(&payload, &scheme)
}

#[test]
fn spec_table_matches_the_struct() {
    let code = [
        ("operation", offset_of!(Layout, operation), 1),
        ("key length", offset_of!(Layout, key_length), 2),
        ("cardinality code", offset_of!(Layout, cardinality_code), 4),
    ];
    let spec = include_str!("../../format-spec/batch.md");
    testkit::spec_tables::assert_matches(spec, "Commit payload", &code);
    assert_eq!(size_of::<Layout>(), 7);
}

#[test]
fn the_bytes_are_those_of_the_specification() {
    let (scheme, payload) = small(CardinalityField::Exact);
    let words: Vec<u8> =
        sketch(&scheme, 20).planes().iter().flat_map(|word| word.to_le_bytes()).collect();
    let put = [&[1, 2, 0, 20, 0, 0, 0][..], b"ab", &words].concat();
    let others = b"\x02\x01\0\0\0\0\0c\x03\x01\0\0\0\0\0d";
    assert_eq!(payload, [&[3, 0, 0, 0][..], &put, others].concat());
}

#[test]
fn operations_of_all_schemes_come_back() {
    for field in FIELDS {
        for bits in [1, 4, 16] {
            for samples in [1, 64, 65, 128] {
                let scheme = scheme(field, bits, samples);
                let operations = [
                    operation(&[0], Some(sketch(&scheme, 1))),
                    operation(&[255; MAX_KEY_BYTES], Some(sketch(&scheme, 200))),
                    operation(&[255; MAX_KEY_BYTES], None),
                    operation(b"key", Some(sketch(&scheme, 0))),
                    operation(b"key", Some(sketch(&scheme, 77))),
                ];
                let payload = payload_of(&operations);
                assert_eq!(decode(&payload, &scheme), Ok(operations.to_vec()));
            }
        }
    }
    let scheme = scheme(CardinalityField::None, 16, 16_384);
    assert_eq!(decode(&payload_of(&[]), &scheme), Ok(vec![]));
    let operations = [operation(b"large", Some(sketch(&scheme, 3)))];
    assert_eq!(decode(&payload_of(&operations), &scheme), Ok(operations.to_vec()));
}

#[test]
fn payloads_shorter_or_longer_than_their_operations_are_refused() {
    for field in FIELDS {
        let (scheme, payload) = small(field);
        for length in 0..payload.len() {
            assert_eq!(rule_of(&payload[..length], &scheme), "BATCH-1", "{length}");
        }
        assert_eq!(rule_of(&[&payload[..], &[0]].concat(), &scheme), "BATCH-1");
        for count in [0, 1, 2, 4, 1 << 20, (1 << 20) + 1, u32::MAX] {
            assert_eq!(rule_with(field, 0, &count.to_le_bytes()), "BATCH-1", "{count}");
        }
    }
}

/// BATCH-1: a commit has at most 1,048,576 operations.
#[test]
fn the_most_operations_come_back_and_one_more_is_refused() {
    let scheme = scheme(CardinalityField::None, 1, 1);
    let deletes = |n: usize| encode(&vec![operation(b"k", None); n]);
    let operations = decode(&deletes(MAX_BATCH_OPERATIONS), &scheme).unwrap();
    assert_eq!(operations.len(), 1_048_576);
    assert_eq!(rule_of(&deletes(MAX_BATCH_OPERATIONS + 1), &scheme), "BATCH-1");
}

#[test]
fn unknown_operations_are_refused() {
    for field in FIELDS {
        for unknown in [0, 6, 255] {
            for at in [4, 29, 37] {
                assert_eq!(rule_with(field, at, &[unknown]), "BATCH-2", "{unknown} at {at}");
            }
        }
    }
}

/// BATCH-2: keys have 1 to 4,096 bytes.
#[test]
fn keys_without_bytes_and_with_too_many_are_refused() {
    for field in FIELDS {
        let scheme = scheme(field, 1, 65);
        for length in [0, MAX_KEY_BYTES + 1, 65_535] {
            for signature in [None, Some(sketch(&scheme, 0)), Some(sketch(&scheme, 9))] {
                let payload = payload_of(&[operation(&vec![1; length], signature)]);
                assert_eq!(rule_of(&payload, &scheme), "BATCH-2", "{length}");
            }
        }
    }
}

/// BATCH-2: the code is 0 for empty sets and deletes, and not 0 for other sets if it tells the size.
#[test]
fn codes_that_do_not_go_with_their_operation_are_refused() {
    for field in FIELDS {
        for at in [29, 37] {
            assert_eq!(rule_with(field, at + 3, &[1]), "BATCH-2");
            assert_eq!(rule_with(field, at + 6, &[1]), "BATCH-2");
        }
        let (scheme, mut payload) = small(field);
        payload[7..11].fill(0);
        if matches!(field, CardinalityField::Log8 | CardinalityField::Exact) {
            assert_eq!(rule_of(&payload, &scheme), "BATCH-2");
        } else {
            assert!(decode(&payload, &scheme).is_ok());
        }
    }
}

/// BATCH-3: words follow SIG-3, and codes fit in their field.
#[test]
fn signatures_that_no_scheme_makes_are_refused() {
    for field in FIELDS {
        // Bits 1 and 63 of the last word. Only its bit 0 is used, by sample 64.
        assert_eq!(rule_with(field, 21, &[2]), "BATCH-3");
        assert_eq!(rule_with(field, 28, &[0x80]), "BATCH-3");
    }
    for (field, largest) in FIELDS.into_iter().zip([0_u32, 15, 255, 255, u32::MAX]) {
        let (scheme, mut payload) = small(field);
        payload[7..11].copy_from_slice(&largest.to_le_bytes());
        assert!(decode(&payload, &scheme).is_ok());
        if let Some(more) = largest.checked_add(1) {
            assert_eq!(rule_with(field, 7, &more.to_le_bytes()), "BATCH-3");
            assert_eq!(rule_with(field, 7, &u32::MAX.to_le_bytes()), "BATCH-3");
        }
    }
}

prop_compose! {
    fn commits()(
        field in prop::sample::select(&FIELDS[..]),
        bits in 1..=16_u8,
        samples in prop::sample::select(&[1_u32, 12, 64, 65, 128][..]),
        operations in prop::collection::vec(
            (prop::collection::vec(any::<u8>(), 1..40), prop::option::of(0..200_u64)),
            0..8,
        ),
    ) -> (Arc<Scheme>, Vec<Operation>) {
        let scheme = scheme(field, bits, samples);
        let operations = operations
            .into_iter()
            .map(|(key, size)| operation(&key, size.map(|size| sketch(&scheme, size))))
            .collect();
        (scheme, operations)
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn operations_come_back((scheme, operations) in commits()) {
        prop_assert_eq!(decode(&payload_of(&operations), &scheme), Ok(operations));
    }

    /// Each accepted payload is the only encoding of its commit.
    #[test]
    fn changed_bytes_never_panic_and_none_is_ignored(
        (scheme, operations) in commits(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let mut payload = payload_of(&operations);
        for (at, byte) in changes {
            let at = at.index(payload.len());
            payload[at] = byte;
        }
        if let Ok(operations) = decode(&payload, &scheme) {
            prop_assert_eq!(payload_of(&operations), payload);
        }
    }

    #[test]
    fn arbitrary_bytes_never_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..300),
        starts in prop::collection::vec((1..4_u8, 0..4_u8, 0..2_u8), 0..6),
        tail in prop::collection::vec(0..2_u8, 0..40),
        field in prop::sample::select(&FIELDS[..]),
    ) {
        let scheme = scheme(field, 1, 1);
        let _ = decode(&bytes, &scheme);
        // Operations with small numbers, so that some are valid.
        let mut payload = (starts.len() as u32).to_le_bytes().to_vec();
        for (operation, key, code) in starts {
            payload.extend([operation, key, 0, code, 0, 0, 0]);
            let words = if operation == PUT { 8 } else { 0 };
            payload.resize(payload.len() + usize::from(key) + words, 1);
        }
        for payload in [payload.clone(), [payload, tail].concat()] {
            if let Ok(operations) = decode(&payload, &scheme) {
                prop_assert_eq!(payload_of(&operations), payload);
            }
        }
    }
}

/// A put of `ab` with the set {7, 9}, encoded at 29, and a put of the empty set.
fn keeping(bits: u8) -> (Arc<Scheme>, Vec<u8>) {
    let plain = scheme(CardinalityField::Log8, 1, 65);
    let elements = Elements::Kept { bits };
    let scheme = Arc::new(Scheme::new(Parameters { elements, ..**plain }).unwrap());
    let sketcher = Sketcher::new(&scheme);
    let operations = [
        operation(b"ab", Some(sketcher.sketch(&[9, 7, 9]).unwrap())),
        operation(b"c", Some(sketcher.sketch(&[]).unwrap())),
    ];
    let payload = payload_of(&operations);
    assert_eq!(decode(&payload, &scheme), Ok(operations.to_vec()));
    let [a, b] = operations.map(|operation| operation.encoded_bytes());
    assert_eq!(COUNT_BYTES + a + b, payload.len());
    (scheme, payload)
}

#[test]
fn kept_sets_follow_their_signatures() {
    let (_, payload) = keeping(64);
    assert_eq!(payload[29..40], [2, 7, 0, 0, 0, 0, 0, 0, 0, 1, 1]);
    assert_eq!(payload[40..], *b"\x02\x01\0\0\0\0\0c");
    for bits in [8, 13, 63] {
        assert_eq!(keeping(bits).1[29], 2, "{bits} bits");
    }
}

/// BATCH-4: invalid sets, sets without elements, and too many elements in all sets together.
#[test]
fn sets_that_cannot_be_are_refused() {
    let (scheme, payload) = keeping(64);
    for (at, byte) in [(29, 0x80), (38, 2), (39, 3), (39, 0)] {
        let mut bad = payload.clone();
        bad[at] = byte;
        assert_eq!(rule_of(&bad, &scheme), "BATCH-4", "{at}");
    }
    let empty = [&payload[..29], &[0], &payload[40..]].concat();
    assert_eq!(rule_of(&empty, &scheme), "BATCH-4");
    for length in 30..40 {
        assert_eq!(rule_of(&payload[..length], &scheme), "BATCH-4", "{length}");
    }
    // A run of consecutive elements, half as many as allowed, takes a byte for each 32. Two runs fit, three do not.
    let run: Vec<u64> = (0..MAX_KEPT_ELEMENTS as u64 / 2).collect();
    let put = operation(b"run", Some(Sketcher::new(&scheme).sketch(&run).unwrap()));
    let [two, three] = [2, 3].map(|n| payload_of(&vec![put.clone(); n]));
    assert!(two.len() < 300_000);
    assert_eq!(decode(&two, &scheme).unwrap().len(), 2);
    assert_eq!(rule_of(&three, &scheme), "BATCH-4");
}

/// A value follows the signature and the kept set of its put. Every length of its encoding comes back, and a put
/// without a value takes not a byte more than before.
#[test]
fn values_follow_their_puts() {
    for elements in [Elements::None, Elements::EXACT] {
        let plain = scheme(CardinalityField::Log8, 2, 65);
        let scheme = Arc::new(Scheme::new(Parameters { elements, ..**plain }).unwrap());
        for length in [0, 1, 126, 127, 16_382, 16_383, crate::limits::MAX_VALUE_BYTES] {
            let value: Vec<u8> = (0..length).map(|i| (i * 3) as u8).collect();
            let operations = [
                with_value(b"a", sketch(&scheme, 20), &value),
                with_value(b"b", sketch(&scheme, 0), &value),
                operation(b"c", Some(sketch(&scheme, 20))),
                operation(b"d", None),
            ];
            let payload = payload_of(&operations);
            assert_eq!(decode(&payload, &scheme), Ok(operations.to_vec()));
            let bytes: usize = operations.iter().map(Operation::encoded_bytes).sum();
            assert_eq!(payload.len(), COUNT_BYTES + bytes);
            for cut in [1, 2, length / 2, length].into_iter().filter(|cut| *cut > 0) {
                let rule = rule_of(&payload[..payload.len() - 2 * 8 - cut], &scheme);
                assert!(["BATCH-1", "BATCH-3", "BATCH-4", "BATCH-5"].contains(&rule), "{rule}");
            }
        }
        let encoded = payload_of(&[with_value(b"a", sketch(&scheme, 0), b"xyz")]);
        assert_eq!(encoded, b"\x01\0\0\0\x05\x01\0\0\0\0\0a\x04xyz");
        // No value where one is promised, one that is cut short, one that is too long, and a count of three bytes.
        for value in [&[0][..], &[5, 1], &[0x82, 0x80, 4], &[0x81, 0]] {
            let bad = [&encoded[..12], value].concat();
            assert_eq!(rule_of(&bad, &scheme), "BATCH-5", "{value:?}");
        }
    }
}
