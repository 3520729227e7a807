//! Tests of encoded sets: they round-trip, their bytes are those of the specification, and each rule rejects its
//! violation.

use super::*;
use crate::error::Error;
use crate::scheme::{CardinalityField, Elements, Parameters, Sampler, Slots, presets};
use proptest::prelude::*;
use std::collections::BTreeSet;

fn shape(bits: u8) -> KeptShape {
    let p = Parameters { elements: Elements::Kept { bits }, ..presets::PRECISE };
    KeptShape::of(&Scheme::new(p).unwrap()).unwrap()
}

fn bounded(bits: u8, size: u64) -> KeptShape {
    let p = Parameters {
        universe: Universe::Bounded(size),
        sampler: Sampler::Independent,
        cardinality: CardinalityField::Exact,
        slots: Slots::NONE,
        elements: Elements::Kept { bits },
        ..presets::PRECISE
    };
    KeptShape::of(&Scheme::new(p).unwrap()).unwrap()
}

fn encoded(shape: KeptShape, elements: &[u64]) -> Vec<u8> {
    let mut bytes = vec![7];
    shape.encode(elements, &mut bytes);
    assert_eq!(bytes.len() - 1, shape.encoded_bytes(elements));
    bytes.split_off(1)
}

fn decoded(shape: KeptShape, bytes: &[u8]) -> Result<Vec<u64>> {
    let mut elements = vec![9];
    let length = shape.decode(bytes, &mut elements)?;
    assert_eq!(length, bytes.len());
    Ok(elements.split_off(1))
}

fn rule(shape: KeptShape, bytes: &[u8]) -> &'static str {
    match shape.decode(bytes, &mut Vec::new()) {
        Err(Error::Corrupt { rule, .. }) => rule,
        other => panic!("{other:?}"),
    }
}

fn random(count: u64, seed: u64) -> Vec<u64> {
    let mut random = testkit::random::Random(seed);
    (0..count).map(|_| random.word()).collect::<BTreeSet<_>>().into_iter().collect()
}

#[test]
fn the_bytes_are_those_of_the_specification() {
    assert_eq!(encoded(shape(64), &[]), [0]);
    assert_eq!(encoded(shape(64), &[5]), [1, 5, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(encoded(shape(20), &[5]), [1, 5, 0, 0]);
    // The gaps 0, 2 and 3, with two bits each.
    assert_eq!(encoded(shape(8), &[10, 11, 14, 18]), [4, 10, 2, 0b0011_1000]);
    // Consecutive elements take a byte for each 32 elements after the first.
    let run: Vec<u64> = (0..130).collect();
    assert_eq!(encoded(shape(16), &run), [130, 1, 0, 0, 0, 0, 0, 0, 0]);
    // A gap that needs all 64 bits.
    let ends = [0, u64::MAX];
    let bytes = [2, 0, 0, 0, 0, 0, 0, 0, 0, 64, 254, 255, 255, 255, 255, 255, 255, 255];
    assert_eq!(encoded(shape(64), &ends), bytes);
    assert_eq!(decoded(shape(64), &bytes).unwrap(), ends);
}

/// A set of up to eight random elements takes about the 64 bytes of a signature: the count, eight bytes for the
/// first element, a width, and at most eight bytes for each other element.
#[test]
fn small_sets_take_about_as_many_bytes_as_a_signature() {
    let mut all = 0;
    for seed in 0..1000 {
        let bytes = encoded(shape(64), &random(8, 1000 * seed)).len();
        assert!(bytes <= 10 + 7 * 8, "{bytes}");
        all += bytes;
    }
    assert!((60_000..=66_000).contains(&all), "{all}");
    // A thousand random elements are about 2^54 apart.
    let bytes = encoded(shape(64), &random(1000, 5)).len();
    assert!((6_700..=7_300).contains(&bytes), "{bytes}");
}

#[test]
fn each_rule_refuses() {
    let good = encoded(shape(64), &random(70, 3));
    for length in 0..good.len() {
        assert_eq!(rule(shape(64), &good[..length]), "KEPT-1", "{length}");
    }
    // Counts in too many bytes, a count without an end, and a count above the limit.
    assert_eq!(rule(shape(8), &[0x80, 0, 0, 0]), "KEPT-2");
    assert_eq!(rule(shape(8), &[0x81, 0x80, 0, 0]), "KEPT-2");
    assert_eq!(rule(shape(8), &[0x80, 0x80, 0x80, 0x80, 1, 0, 0, 0]), "KEPT-2");
    assert_eq!(rule(shape(8), &[0x81, 0x80, 0x80, 4, 0, 0, 0]), "KEPT-2");
    // The largest allowed count, but most elements are missing.
    assert_eq!(rule(shape(8), &[0x80, 0x80, 0x80, 4, 0, 0, 0]), "KEPT-1");
    // Gaps wider than necessary, gaps of more than 64 bits, and bits after the last gap.
    assert_eq!(rule(shape(8), &[4, 10, 3, 0b1101_0000, 0]), "KEPT-3");
    assert_eq!(
        rule(shape(64), &[2, 0, 0, 0, 0, 0, 0, 0, 0, 65, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
        "KEPT-3"
    );
    assert_eq!(rule(shape(8), &[4, 10, 2, 0b0111_1000]), "KEPT-3");
    // Elements that are too large: the first, a later one, and one above 2^64.
    assert_eq!(rule(shape(12), &[1, 0, 16]), "KEPT-4");
    assert_eq!(decoded(shape(12), &[1, 255, 15]).unwrap(), [4095]);
    assert_eq!(rule(shape(8), &[2, 250, 3, 5]), "KEPT-4");
    assert_eq!(rule(shape(64), &[2, 255, 255, 255, 255, 255, 255, 255, 255, 0]), "KEPT-4");
    let past = [2, 1, 0, 0, 0, 0, 0, 0, 0, 64, 255, 255, 255, 255, 255, 255, 255, 255];
    assert_eq!(rule(shape(64), &past), "KEPT-4");
    // Exact elements must be in their universe. Hashed elements may have any value.
    assert_eq!(rule(bounded(64, 300), &[1, 44, 1, 0, 0, 0, 0, 0, 0]), "KEPT-4");
    assert!(decoded(bounded(64, 301), &[1, 44, 1, 0, 0, 0, 0, 0, 0]).is_ok());
    assert!(decoded(bounded(12, 300), &[1, 44, 1]).is_ok());
}

/// The largest allowed set, with one wide gap in each block so that it takes the most bytes.
#[test]
fn the_largest_set_fits_into_a_commit() {
    let blocks = MAX_KEPT_ELEMENTS.div_ceil(BLOCK) as u64;
    let wide = u64::MAX / blocks - 64;
    let (mut at, mut set) = (0, Vec::with_capacity(MAX_KEPT_ELEMENTS));
    for i in 0..MAX_KEPT_ELEMENTS as u64 {
        set.push(at);
        at += if i % 32 == 0 { wide } else { 1 };
    }
    let bytes = encoded(shape(64), &set);
    assert!(bytes.len() <= 49_600_000, "{}", bytes.len());
    assert!(bytes.len() < crate::limits::MAX_BATCH_BYTES - (1 << 20));
    assert!(decoded(shape(64), &bytes).unwrap() == set);
    set.push(at);
    assert_eq!(rule(shape(64), &encoded(shape(64), &set)), "KEPT-2");
}

proptest! {
    #[test]
    fn sets_come_back(bits in 8_u8..=64, set in prop::collection::btree_set(any::<u64>(), 0..200), narrow in 0_u32..64) {
        let all = u64::MAX >> (64 - bits);
        let set: BTreeSet<u64> = set.into_iter().map(|x| (x >> narrow) & all).collect();
        let set: Vec<u64> = set.into_iter().collect();
        let bytes = encoded(shape(bits), &set);
        prop_assert_eq!(decoded(shape(bits), &bytes).unwrap(), set);
    }

    /// Whatever decodes is encoded to the same bytes, because a set has one encoding.
    #[test]
    fn any_bytes_are_refused_or_canonical(bits in 8_u8..=64, bytes in prop::collection::vec(any::<u8>(), 0..80)) {
        let mut elements = Vec::new();
        if let Ok(length) = shape(bits).decode(&bytes, &mut elements) {
            prop_assert_eq!(&encoded(shape(bits), &elements)[..], &bytes[..length]);
            prop_assert!(elements.is_sorted_by(|a, b| a < b));
        }
    }

    #[test]
    fn flipped_bits_are_refused_or_another_set(at in 0_usize..60, bit in 0_u8..8) {
        let set = random(8, 1);
        let mut bytes = encoded(shape(64), &set);
        bytes[at] ^= 1 << bit;
        prop_assert_ne!(decoded_or_nothing(&bytes), set);
    }
}

fn decoded_or_nothing(bytes: &[u8]) -> Vec<u64> {
    let mut elements = Vec::new();
    if shape(64).decode(bytes, &mut elements).is_err() {
        elements.clear();
    }
    elements
}
