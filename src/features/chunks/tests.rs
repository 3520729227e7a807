//! Tests of chunks against their definition and their guarantees.

use std::collections::HashSet;

use proptest::prelude::*;

use super::cuts::Cuts;
use super::values::WINDOW;
use super::*;
use crate::error::Error;
use crate::features::rabin::Rabin;
use crate::limits::{MAX_HORIZON, MIN_HORIZON};

/// CHUNK-1: the value of every place from the end of the first window on. Earlier places have none. Their
/// placeholder differs from that of the library, so a cut that depended on it would fail a test.
fn values_by_definition(bytes: &[u8]) -> Vec<u32> {
    let value = |i: usize| Rabin::standard().fingerprint(&bytes[i - WINDOW..i]) >> 32;
    (0..=bytes.len()).map(|i| if i < WINDOW { 0 } else { value(i) as u32 }).collect()
}

/// CHUNK-2 for places with these values.
fn landmarks_by_definition(values: &[u32], h: usize) -> Vec<usize> {
    let is_landmark = |i: &usize| {
        let (left, right) = (&values[i - h..*i], &values[i + 1..=i + h]);
        left.iter().all(|v| *v >= values[*i]) && right.iter().all(|v| *v > values[*i])
    };
    (WINDOW + h..values.len().saturating_sub(h)).filter(is_landmark).collect()
}

/// CHUNK-3: all cuts, with the start and the end of the input.
fn cuts_by_definition(values: &[u32], h: usize) -> Vec<usize> {
    let landmarks = landmarks_by_definition(values, h);
    let end = values.len() - 1;
    let mut cuts = vec![0];
    loop {
        let last = cuts[cuts.len() - 1];
        if let Some(next) = landmarks.iter().find(|i| (last + 1..=last + 8 * h).contains(i)) {
            cuts.push(*next);
        } else if end > last + 8 * h {
            let places = last + h + 1..=last + 7 * h;
            let least = places.clone().map(|i| values[i]).min().unwrap();
            cuts.extend(places.rev().find(|i| values[*i] == least));
        } else {
            break;
        }
    }
    if end > cuts[cuts.len() - 1] {
        cuts.push(end);
    }
    cuts
}

fn cuts_of_bytes(bytes: &[u8], h: usize) -> Vec<usize> {
    cuts_by_definition(&values_by_definition(bytes), h)
}

/// The cuts and features of an input that arrives in pieces of these lengths, in turn.
fn in_pieces(bytes: &[u8], horizon: u32, lengths: &[usize]) -> (Vec<usize>, Vec<u64>) {
    let mut chunker = Chunker::new(horizon).unwrap();
    let (mut cuts, mut features, mut joined) = (vec![0], Vec::new(), Vec::new());
    let mut keep = |chunk: Chunk<'_>| {
        assert_eq!(chunk.start(), joined.len() as u64);
        joined.extend_from_slice(chunk.bytes());
        cuts.push(joined.len());
        features.push(chunk.feature());
    };
    let mut rest = bytes;
    for length in lengths.iter().cycle() {
        let (piece, later) = rest.split_at(rest.len().min(*length));
        chunker.push(piece, &mut keep);
        rest = later;
        if rest.is_empty() {
            break;
        }
    }
    chunker.finish(&mut keep);
    assert!(joined == bytes, "the chunks in a row are the input");
    (cuts, features)
}

fn random(seed: u64, length: usize) -> Vec<u8> {
    testkit::random::Random(seed).bytes(length)
}

/// A few phrases in any order, so that values repeat within and beyond a horizon.
fn phrases(most: usize) -> impl Strategy<Value = Vec<u8>> {
    let words =
        (any::<u64>(), prop::collection::vec(17_usize..60, 4)).prop_map(|(seed, lengths)| {
            lengths.iter().zip(seed & 0xFFFF..).map(|(n, s)| random(s, *n)).collect()
        });
    (words, prop::collection::vec(0_usize..4, 0..most)).prop_map(
        |(words, order): (Vec<Vec<u8>>, _)| order.iter().flat_map(|i| words[*i].clone()).collect(),
    )
}

/// Random bytes, bytes with few values, runs and repetitions, one after the other.
fn any_bytes() -> impl Strategy<Value = Vec<u8>> {
    let part = prop_oneof![
        (any::<u64>(), 0_usize..1500).prop_map(|(seed, n)| random(seed, n)),
        (any::<u64>(), 0_usize..1500, 1_u8..4)
            .prop_map(|(seed, n, kinds)| random(seed, n).iter().map(|b| b % kinds).collect()),
        (any::<u8>(), 0_usize..2000).prop_map(|(byte, n)| vec![byte; n]),
        (any::<u64>(), 1_usize..100, 0_usize..2000).prop_map(|(seed, p, n)| random(seed, p)
            .into_iter()
            .cycle()
            .take(n)
            .collect()),
        phrases(100),
    ];
    prop::collection::vec(part, 0..5).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// CHUNK-1 to CHUNK-4, and the bounds on lengths that follow from them.
    #[test]
    fn agrees_with_the_definition(
        bytes in any_bytes(),
        horizon in prop_oneof![Just(16_u32), Just(32), 16_u32..200],
        lengths in prop::collection::vec(1_usize..6000, 1..4),
    ) {
        let h = horizon as usize;
        let expected = cuts_of_bytes(&bytes, h);
        let (cuts, features) = in_pieces(&bytes, horizon, &lengths);
        prop_assert_eq!(&cuts, &expected);
        let own: Vec<u64> =
            cuts.windows(2).map(|c| xxhash_rust::xxh3::xxh3_64(&bytes[c[0]..c[1]])).collect();
        prop_assert_eq!(&features, &own);
        prop_assert_eq!(&features, &chunks(&bytes, horizon).unwrap());
        let sizes: Vec<usize> = cuts.windows(2).map(|c| c[1] - c[0]).collect();
        if let [inner @ .., last] = &*sizes {
            prop_assert!(inner.iter().all(|n| (h + 1..=8 * h).contains(n)), "{:?}", sizes);
            prop_assert!(*last <= 8 * h && (*last >= h || inner.is_empty()), "{:?}", sizes);
        }
    }

    /// For any bytes and any edit, chunks that start nine horizons before it stay the same. So do chunks from the
    /// first landmark on that is at least a horizon and a window after it.
    #[test]
    fn edits_change_chunks_nearby_only(
        before in any_bytes(),
        (old, new) in (any_bytes(), any_bytes()),
        after in any_bytes(),
    ) {
        let h = 32;
        let whole = |edit: &[u8]| [&*before, edit, &*after].concat();
        let (a, b) = (whole(&old), whole(&new));
        let (cuts_a, cuts_b) = (cuts_of_bytes(&a, h), cuts_of_bytes(&b, h));
        let starts = |cuts: &[usize]| -> Vec<usize> {
            cuts.iter().copied().filter(|c| c + 9 * h <= before.len()).collect()
        };
        prop_assert_eq!(starts(&cuts_a), starts(&cuts_b));
        // Counted from the end, because the input after the edit is the same.
        let from_end = |cuts: &[usize], n: usize, first: usize| -> Vec<usize> {
            cuts.iter().map(|c| n - c).filter(|c| *c <= first).collect()
        };
        let touched = a.len() - after.len() + h + WINDOW;
        if let Some(landmark) = landmarks_by_definition(&values_by_definition(&a), h).iter().find(|i| **i >= touched) {
            let first = a.len() - landmark;
            prop_assert_eq!(from_end(&cuts_a, a.len(), first), from_end(&cuts_b, b.len(), first));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    /// CHUNK-2 and CHUNK-3 for any values, with tiny horizons, many ties, and a few new values at a time. Rare
    /// endings are common here.
    #[test]
    fn cuts_of_any_values(
        values in (1_u32..60).prop_flat_map(|most| prop::collection::vec(0..most, WINDOW..150)),
        h in 1_usize..6,
        step in 1_usize..40,
    ) {
        let mut cuts = Cuts::new(h);
        let mut found = vec![0];
        for end in (0..values.len()).step_by(step) {
            found.extend(std::iter::from_fn(|| cuts.next(&values[..end])));
        }
        found.extend(std::iter::from_fn(|| cuts.next_at_end(&values)));
        if values.len() - 1 > found[found.len() - 1] {
            found.push(values.len() - 1);
        }
        prop_assert_eq!(found, cuts_by_definition(&values, h));
    }
}

/// One edit of up to 20 bytes in random bytes: replaced, inserted or removed. On average fewer than 2 chunks are
/// new, and never more than 5.
#[test]
fn small_edits_make_few_new_chunks() {
    for horizon in [16_u32, 32, 128] {
        let length = 100 * horizon as usize;
        let (trials, mut all, mut most) = (1000, 0, 0);
        for trial in 0..trials {
            let old = random(trial, length);
            let mut new = old.clone();
            let dice = random(!trial, 4 + 20);
            let at = usize::from(u16::from_le_bytes([dice[0], dice[1]])) % (length - 20);
            let (out, put) = (usize::from(dice[2] % 21), usize::from(dice[3] % 21));
            new.splice(at..at + out, dice[4..4 + put].iter().copied());
            let known: HashSet<u64> = chunks(&old, horizon).unwrap().into_iter().collect();
            let fresh = chunks(&new, horizon).unwrap();
            let fresh = fresh.iter().filter(|chunk| !known.contains(chunk)).count();
            (all, most) = (all + fresh, most.max(fresh));
        }
        let mean = all as f64 / trials as f64;
        println!("horizon {horizon}: {mean:.3} new chunks an edit, at most {most}");
        assert!(mean < 2.0 && most <= 5, "horizon {horizon}: {mean}, {most}");
    }
}

/// Random bytes give `2 * horizon + 1` bytes per chunk, within 1 %.
#[test]
fn mean_length() {
    let bytes = random(1, 8 << 20);
    for horizon in [16_u32, 32, 64, 200] {
        let mean = bytes.len() as f64 / chunks(&bytes, horizon).unwrap().len() as f64;
        let formula = f64::from(2 * horizon + 1);
        assert!((mean / formula - 1.0).abs() < 0.01, "horizon {horizon}: {mean}");
    }
}

/// Endless repetition gives few features, and chunks of about seven horizons.
#[test]
fn repetitions_are_few_features() {
    let horizon = 32;
    let zeros = chunks(&vec![0; 1 << 20], horizon).unwrap();
    assert_eq!(zeros.len(), ((1_usize << 20) - 8 * 32).div_ceil(7 * 32) + 1);
    assert_eq!(zeros.iter().collect::<HashSet<_>>().len(), 2);
    for period in 1..=4 * horizon as usize {
        let bytes: Vec<u8> =
            random(period as u64, period).into_iter().cycle().take(1 << 16).collect();
        let features = chunks(&bytes, horizon).unwrap();
        let distinct = features.iter().collect::<HashSet<_>>().len();
        // The chunks of one period, the first chunk and the last.
        let most = (period / (horizon as usize + 1)).max(1) + 2;
        assert!(distinct <= most, "period {period}: {distinct} features");
        assert!(features.len() <= bytes.len() / (horizon as usize + 1) + 1);
    }
}

#[test]
fn memory_is_bounded_by_the_horizon() {
    for (horizon, most) in [(16_u32, 40 << 10), (MAX_HORIZON, 6 << 20)] {
        for kind in [random(1, 1 << 16), vec![7; 1 << 16]] {
            let mut chunker = Chunker::new(horizon).unwrap();
            let mut given = 0;
            for _ in 0..64 {
                chunker.push(&kind, |chunk| given += chunk.bytes().len());
            }
            assert!(chunker.memory() <= most, "{horizon}: {}", chunker.memory());
            chunker.finish(|chunk| given += chunk.bytes().len());
            assert_eq!(given, 64 << 16);
        }
    }
}

#[test]
fn short_inputs_are_one_chunk_or_none() {
    assert_eq!(chunks(b"", 32), Ok(vec![]));
    for n in 1..=80 {
        let bytes = random(5, n);
        assert_eq!(chunks(&bytes, 32), Ok(vec![xxhash_rust::xxh3::xxh3_64(&bytes)]), "{n}");
    }
}

#[test]
fn horizons_out_of_range_are_refused() {
    for horizon in [0, MIN_HORIZON - 1, MAX_HORIZON + 1, u32::MAX] {
        assert!(matches!(chunks(b"x", horizon), Err(Error::InvalidArgument { .. })), "{horizon}");
    }
    let refused = Chunker::new(3).unwrap_err().to_string();
    assert_eq!(refused, "chunks with a horizon of 3 bytes: the horizon must be 16 to 65536 bytes");
}
