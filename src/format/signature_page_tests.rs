//! Tests of signature pages: shapes follow SIGP-1, signatures round-trip, each rule rejects its violation, and no
//! bytes cause a panic.

use super::super::bytes::Seal;
use super::super::page::{self, PagePlace};
use super::*;
use crate::error::Error;
use crate::scheme::{Parameters, Sampler, Slots, Universe, presets};
use crate::sketch::Sketcher;
use proptest::prelude::*;

const FIELDS: [(CardinalityField, usize); 5] = [
    (CardinalityField::None, 0),
    (CardinalityField::Linear4, 4),
    (CardinalityField::Linear8, 8),
    (CardinalityField::Log8, 8),
    (CardinalityField::Exact, 32),
];

const SAMPLES: [u32; 4] = [1, 64, 65, 128];

fn scheme(cardinality: CardinalityField, bits: u8, samples: u32) -> Arc<Scheme> {
    let bounded = matches!(cardinality, CardinalityField::Linear4 | CardinalityField::Linear8);
    let universe = if bounded { Universe::Bounded(200) } else { Universe::Open };
    let sampler = Sampler::Independent;
    let slots = Slots::NONE;
    let near = presets::PRECISE;
    let parameters = Parameters { cardinality, bits, samples, universe, sampler, slots, ..near };
    Arc::new(Scheme::new(parameters).unwrap())
}

/// All kinds of schemes, each with the bits of its cardinality codes.
fn schemes() -> impl Iterator<Item = (Arc<Scheme>, usize)> {
    FIELDS.into_iter().flat_map(|(field, code_bits)| {
        [1, 4, 16].into_iter().flat_map(move |bits| {
            SAMPLES.into_iter().map(move |samples| (scheme(field, bits, samples), code_bits))
        })
    })
}

/// Signatures of sets of very different sizes. The first set is empty.
fn sketches(scheme: &Scheme) -> Vec<Signature> {
    let sketcher = Sketcher::new(scheme);
    let sizes = [0, 1, 2, 3, 17, 60, 111, 150, 187, 199, 200];
    let set = |n: u64| (0..n).map(|x| (x + n) % 200).collect::<Vec<_>>();
    sizes.into_iter().map(|n| sketcher.sketch(&set(n)).unwrap()).collect()
}

fn payload_of(shape: SignatureShape, signatures: &[Signature]) -> Vec<u8> {
    encode(shape, signatures.iter().map(|s| (s.planes(), s.cardinality_code())))
}

/// The payload as the specification defines it, built code by code and bit by bit.
fn payload_by_the_letter(scheme: &Scheme, code_bits: usize, signatures: &[Signature]) -> Vec<u8> {
    let one = first_words(scheme);
    let first = signatures.iter().flat_map(|s| &s.planes()[..one]);
    let rest = signatures.iter().flat_map(|s| &s.planes()[one..]);
    let mut bytes: Vec<u8> = first.chain(rest).flat_map(|word| word.to_le_bytes()).collect();
    let bit = |i: usize| signatures[i / code_bits].cardinality_code() >> (i % code_bits) & 1;
    let bits: Vec<u32> = (0..signatures.len() * code_bits).map(bit).collect();
    bytes.extend(bits.chunks(8).map(|b| b.iter().rev().fold(0, |byte, b| byte << 1 | *b as u8)));
    bytes
}

/// The words of the first planes: one plane if b is 1 or 2, and two planes otherwise.
fn first_words(scheme: &Scheme) -> usize {
    scheme.samples.div_ceil(64) as usize * if scheme.bits < 3 { 1 } else { 2 }
}

/// A page with this payload and a valid checksum.
fn page_of(payload: &[u8]) -> Page {
    let place = PagePlace { kind: PageKind::Signatures, extent: 3, number: 0 };
    let seal = Seal::of([1; 16]);
    Page::verify(page::encode(place, payload, seal)[..].into(), place, seal).unwrap()
}

fn decode(
    shape: SignatureShape,
    payload: &[u8],
    count: u32,
    empty: Option<u32>,
) -> Result<SignaturePage> {
    SignaturePage::new(page_of(payload), shape, count, empty)
}

fn rule_of(shape: SignatureShape, payload: &[u8], count: u32, empty: Option<u32>) -> &'static str {
    match decode(shape, payload, count, empty) {
        Err(Error::Corrupt { rule, .. }) => rule,
        other => panic!("{other:?}"),
    }
}

/// SIGP-1, computed by its formula.
#[test]
fn pages_hold_as_many_as_the_specification_says() {
    let largest = scheme(CardinalityField::Exact, 16, 16_384);
    for (scheme, code_bits) in schemes().chain([(largest, 32)]) {
        let shape = SignatureShape::of(&scheme);
        let words = usize::from(scheme.bits) * scheme.samples.div_ceil(64) as usize;
        assert_eq!(shape.words(), words);
        let per_page = 8 * 65_512 / (64 * words + code_bits);
        assert_eq!(shape.per_page() as usize, per_page);
        let payload = |n: usize| 8 * words * n + (code_bits * n).div_ceil(8);
        let page = |n: usize| (24 + payload(n)).next_multiple_of(64) as u64;
        for n in [1, 2, 3, per_page - 1, per_page, per_page + 1] {
            assert_eq!(shape.payload_bytes(n), payload(n));
            assert_eq!(shape.page_bytes(n as u32), page(n));
        }
        assert!(page(per_page) <= 65_536 && payload(per_page + 1) > 65_512);
        let mut region = 0;
        for full in 0..4 {
            let ids = (full * per_page) as u32;
            assert_eq!(shape.region_bytes(ids), region);
            assert_eq!(shape.region_bytes(ids + 1), region + page(1));
            region += page(per_page);
        }
        assert!(shape.region_bytes(u32::MAX) >= u64::from(u32::MAX) * words as u64 * 8);
    }
}

#[test]
fn sketches_come_back_as_they_were() {
    for (scheme, code_bits) in schemes() {
        let shape = SignatureShape::of(&scheme);
        let made = sketches(&scheme);
        assert!(made.iter().all(|s| shape.fits(s.planes(), s.cardinality_code())));
        let per_page = shape.per_page();
        for count in [1, 2, 7, 8, per_page - 1, per_page] {
            // Only the first signature may be that of the empty set. Other equal signatures may occur with
            // different ids.
            let cycle =
                (0..count as usize).map(|i| if i == 0 { 0 } else { 1 + i % (made.len() - 1) });
            let signatures: Vec<Signature> = cycle.map(|i| made[i].clone()).collect();
            let payload = payload_of(shape, &signatures);
            assert_eq!(payload, payload_by_the_letter(&scheme, code_bits, &signatures));
            let page = decode(shape, &payload, count, Some(0)).unwrap();
            assert_eq!(page.count(), count as usize);
            assert!(page.memory() >= payload.len());
            for (i, expected) in signatures.iter().enumerate() {
                assert_eq!(page.code(i), Some(expected.cardinality_code()));
                let mut planes = vec![7];
                assert_eq!(page.copy_planes(i, &mut planes), Some(()));
                assert_eq!(planes, expected.planes());
                let signature = page.signature(i, &scheme, i == 0, None);
                assert_eq!(signature.as_ref(), Some(expected), "{i} of {count}, {scheme:?}");
            }
            for past in [count as usize, count as usize + 1, usize::MAX] {
                assert_eq!(page.code(past), None);
                assert_eq!(page.copy_planes(past, &mut Vec::new()), None);
                assert_eq!(page.signature(past, &scheme, false, None), None);
            }
            let rows = page.rows(&scheme).unwrap();
            assert_eq!(rows.len(), count as usize);
            let words: Vec<u64> = rows.first().iter().chain(rows.rest()).copied().collect();
            let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            assert_eq!(bytes, payload[..bytes.len()]);
        }
    }
}

/// `place_in_page` leads to the bytes of a signature, and the signature can be rebuilt from them.
#[test]
fn a_signature_stands_at_its_place() {
    for (scheme, _) in schemes() {
        let shape = SignatureShape::of(&scheme);
        let made = sketches(&scheme);
        let payload = payload_of(shape, &made);
        for (i, one) in (0..).zip(&made) {
            let ((first, one_plane), (rest, others)) = shape.place_in_page(i, made.len() as u32);
            let bytes = [&payload[first..][..one_plane], &payload[rest..][..others]].concat();
            let words = bytes.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word));
            let words: Box<[u64]> = words.collect();
            assert_eq!(*words, *one.planes(), "{i}, {scheme:?}");
            if i > 0 {
                let again = signature(&scheme, words.clone(), one.cardinality_code());
                assert_eq!(again.as_ref(), Some(one));
            }
            assert_eq!(signature(&scheme, words[1..].into(), 0), None);
        }
    }
}

#[test]
fn words_and_codes_fit_or_do_not() {
    for (scheme, code_bits) in schemes() {
        let shape = SignatureShape::of(&scheme);
        let mut planes = vec![0; shape.words()];
        let largest = (1_u64 << code_bits) - 1;
        assert!(shape.fits(&planes, largest as u32), "{scheme:?}");
        if code_bits < 32 {
            assert!(!shape.fits(&planes, largest as u32 + 1), "{scheme:?}");
        }
        assert!(!shape.fits(&planes[1..], 0));
        assert!(!shape.fits(&[&planes[..], &[0]].concat(), 0));
        let spare = scheme.samples % 64;
        for at in 0..planes.len() {
            planes[at] = 1 << 63;
            let last_word = (at + 1).is_multiple_of(scheme.words_per_plane());
            assert_eq!(shape.fits(&planes, 0), !(last_word && spare != 0), "{scheme:?}");
            planes[at] = 0;
        }
    }
}

#[test]
fn payloads_of_another_length_are_refused() {
    for (scheme, _) in schemes() {
        let shape = SignatureShape::of(&scheme);
        let signatures = &sketches(&scheme)[1..4];
        let payload = payload_of(shape, signatures);
        assert!(decode(shape, &payload, 3, None).is_ok());
        for count in [0, 1, 2, 5, u32::MAX] {
            assert_eq!(rule_of(shape, &payload, count, None), "SIGP-1", "{count}");
        }
        assert_eq!(rule_of(shape, &payload[1..], 3, None), "SIGP-1");
        assert_eq!(rule_of(shape, &[&payload[..], &[0]].concat(), 3, None), "SIGP-1");
        assert_eq!(rule_of(shape, &[], 0, None), "SIGP-1");
    }
}

#[test]
fn bits_past_the_last_sample_are_refused() {
    for (scheme, _) in schemes() {
        let shape = SignatureShape::of(&scheme);
        let payload = payload_of(shape, &sketches(&scheme)[1..4]);
        let last_word = |word: usize| (word + 1).is_multiple_of(scheme.words_per_plane());
        for word in 0..3 * shape.words() {
            for bit in [scheme.samples % 64, 63] {
                let mut bad = payload.clone();
                bad[8 * word + bit as usize / 8] |= 1 << (bit % 8);
                if last_word(word) && !scheme.samples.is_multiple_of(64) {
                    assert_eq!(rule_of(shape, &bad, 3, None), "SIGP-2", "{word} {bit}");
                } else {
                    assert!(decode(shape, &bad, 3, None).is_ok(), "{word} {bit}");
                }
            }
        }
    }
}

/// SIGP-2: an odd last code of 4 bits has zeros above it. After an even number of codes there are no spare bits.
#[test]
fn bits_past_the_last_code_are_refused() {
    let scheme = scheme(CardinalityField::Linear4, 4, 65);
    let shape = SignatureShape::of(&scheme);
    for count in [1, 2, 3, 4] {
        let mut payload = payload_of(shape, &sketches(&scheme)[1..=count]);
        *payload.last_mut().unwrap() |= 0x80;
        let decoded = decode(shape, &payload, count as u32, None);
        match count % 2 {
            1 => assert_eq!(rule_of(shape, &payload, count as u32, None), "SIGP-2"),
            _ => assert!(decoded.unwrap().code(count - 1).unwrap() >= 8),
        }
    }
}

#[test]
fn only_the_empty_set_has_the_size_0() {
    for (field, code_bits) in FIELDS {
        let scheme = scheme(field, 4, 65);
        let shape = SignatureShape::of(&scheme);
        let mut payload = payload_of(shape, &sketches(&scheme)[1..4]);
        let codes = 8 * shape.words() * 3;
        payload[codes..].fill(0);
        let sized = matches!(field, CardinalityField::Log8 | CardinalityField::Exact);
        if sized {
            assert_eq!(rule_of(shape, &payload, 3, None), "SIGP-3");
            // Only the empty set may have the code 0. The others are still rejected.
            assert_eq!(rule_of(shape, &payload, 3, Some(1)), "SIGP-3");
            let last = codes + 2 * code_bits / 8;
            payload[codes..].fill(1);
            payload[last..].fill(0);
            assert_eq!(rule_of(shape, &payload, 3, None), "SIGP-3");
        } else {
            assert!(decode(shape, &payload, 3, None).is_ok());
        }
    }
}

#[test]
fn an_empty_set_with_words_or_a_size_is_refused() {
    for (scheme, code_bits) in schemes() {
        let shape = SignatureShape::of(&scheme);
        let made = sketches(&scheme);
        let payload = payload_of(shape, &[made[10].clone(), made[0].clone()]);
        assert!(decode(shape, &payload, 2, Some(1)).is_ok());
        assert_eq!(rule_of(shape, &payload, 2, Some(2)), past(&scheme));
        let one = first_words(&scheme);
        let mut places = vec![8 * one];
        if scheme.bits > 1 {
            places.push(8 * (2 * one + shape.words() - one));
        }
        if code_bits > 0 {
            places.push(payload.len() - 1);
        }
        for at in places {
            let mut bad = payload.clone();
            bad[at] |= if code_bits == 4 && at == payload.len() - 1 { 0x10 } else { 1 };
            assert_eq!(rule_of(shape, &bad, 2, Some(1)), "SIGP-4", "{at} {scheme:?}");
        }
    }
}

/// The rule that rejects a page whose empty set would be past its end. The set in the page then counts as not
/// empty.
fn past(scheme: &Scheme) -> &'static str {
    match scheme.cardinality {
        CardinalityField::Log8 | CardinalityField::Exact => "SIGP-3",
        _ => "SIGP-4",
    }
}

/// Calls every method of a page and checks that its signatures encode to the bytes that they were read from.
fn use_all_of(page: &SignaturePage, scheme: &Arc<Scheme>, payload: &[u8]) {
    let signatures: Vec<Signature> =
        (0..page.count()).map(|i| page.signature(i, scheme, false, None).unwrap()).collect();
    assert_eq!(payload_of(page.shape, &signatures), payload);
    let fits = |s: &Signature| page.shape.fits(s.planes(), s.cardinality_code());
    assert!(signatures.iter().all(fits));
    assert_eq!(page.rows(scheme).unwrap().len(), page.count());
    for past in [page.count(), page.count() + 1, usize::MAX] {
        assert_eq!((page.code(past), page.signature(past, scheme, false, None)), (None, None));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn changed_bytes_never_panic_and_none_is_ignored(
        field in 0..5_usize,
        bits in 1..=16_u8,
        samples in prop::sample::select(&SAMPLES[..]),
        count in 1..8_usize,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        empty in prop::option::of(0..9_u32),
    ) {
        let scheme = scheme(FIELDS[field].0, bits, samples);
        let shape = SignatureShape::of(&scheme);
        let mut payload = payload_of(shape, &sketches(&scheme)[1..=count]);
        for (at, byte) in changes {
            let at = at.index(payload.len());
            payload[at] = byte;
        }
        for empty in [None, empty] {
            if let Ok(page) = decode(shape, &payload, count as u32, empty) {
                use_all_of(&page, &scheme, &payload);
            }
        }
    }

    #[test]
    fn arbitrary_bytes_never_panic(
        field in 0..5_usize,
        bits in 1..=3_u8,
        samples in prop::sample::select(&SAMPLES[..]),
        payload in prop::collection::vec(any::<u8>(), 0..200),
        count: u32,
        empty: Option<u32>,
    ) {
        let scheme = scheme(FIELDS[field].0, bits, samples);
        let shape = SignatureShape::of(&scheme);
        let _ = decode(shape, &payload, count, empty);
        // All counts that such a payload could hold.
        for count in 0..=(payload.len() / (8 * shape.words())) as u32 {
            let mut payload = payload.clone();
            payload.resize(shape.payload_bytes(count as usize), 0);
            for empty in [None, empty, Some(0)] {
                if let Ok(page) = decode(shape, &payload, count, empty) {
                    use_all_of(&page, &scheme, &payload);
                }
            }
        }
    }
}
