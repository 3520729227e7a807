//! Every kernel of this machine against the definition, sample by sample.

use proptest::prelude::*;

use super::*;
use crate::scheme::{Parameters, Scheme, Slots, presets};
use testkit::random::Random;

fn scheme(samples: u32, bits: u8) -> Scheme {
    Scheme::new(Parameters { samples, bits, slots: Slots::NONE, ..presets::PRECISE }).unwrap()
}

/// Rows as sample values, packed bit by bit.
struct Packed {
    first: Vec<u64>,
    rest: Vec<u64>,
}

impl Packed {
    fn new(rows: &[Vec<u16>], bits: u8) -> Packed {
        let words = rows[0].len().div_ceil(64);
        let (mut first, mut rest) = (Vec::new(), Vec::new());
        for row in rows {
            let mut planes = vec![0_u64; words * usize::from(bits)];
            for (i, sample) in row.iter().enumerate() {
                for plane in 0..usize::from(bits) {
                    planes[plane * words + i / 64] |= u64::from(sample >> plane & 1) << (i % 64);
                }
            }
            let (before, after) = planes.split_at(words * if bits < 3 { 1 } else { 2 });
            first.extend_from_slice(before);
            rest.extend_from_slice(after);
        }
        Packed { first, rest }
    }

    fn rows(&self, scheme: &Scheme) -> Rows<'_> {
        Rows::new(scheme, &self.first, &self.rest).unwrap()
    }
}

/// Checks all kernels on a query and rows of raw samples.
fn check(bits: u8, query: &[u16], rows: &[Vec<u16>]) {
    let scheme = scheme(query.len() as u32, bits);
    let packed_query = Packed::new(&[query.to_vec()], bits);
    let packed_rows = Packed::new(rows, bits);
    let (q, r) = (packed_query.rows(&scheme), packed_rows.rows(&scheme));
    for kernel in Kernel::available() {
        check_first_planes(kernel, bits, query, rows, (q, r));
        let mut counts = vec![u16::MAX; rows.len()];
        kernel.count_equal(q, r, &mut counts);
        let scattered: Vec<Row<'_>> = (0..rows.len()).rev().map(|i| r.row(i)).collect();
        let mut backwards = vec![u16::MAX; rows.len()];
        kernel.count_equal_each(q, scattered.iter().copied(), &mut backwards);
        assert!(counts.iter().rev().eq(&backwards), "{} scattered rows", kernel.name());
        let mut before = vec![u16::MAX; rows.len()];
        kernel.count_equal_before(r, q, r, &mut before);
        assert_eq!(counts, before, "{} with rows that come next", kernel.name());
        for (i, row) in rows.iter().enumerate() {
            let equal: Vec<bool> = query.iter().zip(row).map(|(a, b)| a == b).collect();
            let count = equal.iter().filter(|e| **e).count();
            let at = format!("{} k {} b {bits} row {i}", kernel.name(), query.len());
            assert_eq!(usize::from(counts[i]), count, "{at}");
            let mut mask = vec![u64::MAX; q.words()];
            kernel.equal_mask(q, r.range(i, i + 1), &mut mask);
            for (j, word) in mask.iter().enumerate() {
                for bit in 0..64 {
                    let expected = equal.get(64 * j + bit).copied().unwrap_or(false);
                    assert_eq!(word >> bit & 1 == 1, expected, "{at} sample {}", 64 * j + bit);
                }
            }
        }
    }
}

/// The same with only the first planes, as if samples had no other bits.
fn check_first_planes(
    kernel: Kernel,
    bits: u8,
    query: &[u16],
    rows: &[Vec<u16>],
    (q, r): (Rows<'_>, Rows<'_>),
) {
    let low = if bits < 3 { 1 } else { 3 };
    let agree =
        |row: &Vec<u16>| query.iter().zip(row).filter(|(a, b)| (**a ^ **b) & low == 0).count();
    let expected: Vec<u16> = rows.iter().map(|row| agree(row) as u16).collect();
    let at = format!("{} k {} first planes of {bits}", kernel.name(), query.len());
    let mut counts = vec![u16::MAX; rows.len()];
    kernel.count_equal_before(r.first_only(), q.first_only(), r.first_only(), &mut counts);
    assert_eq!(counts, expected, "{at}");
    let scattered = (0..rows.len()).map(|i| (r.row(i).0, &[][..]));
    let mut counts = vec![u16::MAX; rows.len()];
    kernel.count_equal_each(q.first_only(), scattered, &mut counts);
    assert_eq!(counts, expected, "{at}, scattered rows");
}

/// Samples of `bits` bits that agree with the query's about as often as not.
fn row_like(query: &[u16], bits: u8, random: &mut Random) -> Vec<u16> {
    let mask = (1_u64 << bits) - 1;
    query
        .iter()
        .map(|q| if random.below(2) == 0 { *q } else { (random.word() & mask) as u16 })
        .collect()
}

/// Fewer cases under Miri (`.ci/miri`), which is slow.
const SMALL: bool = cfg!(miri);

#[test]
fn every_width_and_every_number_of_bits() {
    let names: Vec<_> = Kernel::available().iter().map(|kernel| kernel.name()).collect();
    println!("kernels of this machine: {}", names.join(", "));
    let mut random = Random(1);
    let widths: &[usize] = if SMALL {
        &[1, 64, 130]
    } else {
        &[1, 2, 12, 63, 64, 65, 84, 127, 128, 129, 192, 200, 256, 300, 512, 513, 1024, 1100]
    };
    for bits in (1..=16).step_by(if SMALL { 5 } else { 1 }) {
        for &k in widths {
            let query = row_like(&vec![0; k], bits, &mut random);
            let count = if SMALL { 5 } else { 37 };
            let mut rows: Vec<_> =
                (0..count).map(|_| row_like(&query, bits, &mut random)).collect();
            rows.push(query.clone());
            rows.push(query.iter().map(|q| !q & ((1_u32 << bits) - 1) as u16).collect());
            rows.push(vec![0; k]);
            check(bits, &query, &rows);
        }
    }
}

#[test]
fn one_different_bit_is_one_unequal_sample() {
    let widths: &[usize] = if SMALL { &[12, 65] } else { &[12, 64, 128, 200, 256, 512] };
    for bits in [1, 3, 4, 8, 16] {
        for &k in widths {
            let query: Vec<u16> = (0..k).map(|i| i as u16 & ((1_u32 << bits) - 1) as u16).collect();
            let flip = |i: usize| {
                let mut row = query.clone();
                row[i] ^= 1 << (i % usize::from(bits));
                row
            };
            check(bits, &query, &(0..k).map(flip).collect::<Vec<_>>());
        }
    }
}

#[test]
fn the_largest_signature() {
    let samples = if SMALL { 1024 } else { 16_384 };
    let query = vec![0xFFFF; samples];
    check(16, &query, &[query.clone(), vec![0; samples]]);
}

#[test]
fn no_rows_are_no_counts() {
    let scheme = scheme(128, 4);
    let query = Packed::new(&[vec![3; 128]], 4);
    for kernel in Kernel::available() {
        kernel.count_equal(query.rows(&scheme), Rows::new(&scheme, &[], &[]).unwrap(), &mut []);
    }
}

#[test]
fn rows_of_the_wrong_length_are_refused() {
    let scheme = scheme(128, 4);
    assert!(Rows::new(&scheme, &[0; 4], &[0; 4]).is_some());
    assert!(Rows::new(&scheme, &[0; 5], &[0; 4]).is_none());
    assert!(Rows::new(&scheme, &[0; 4], &[0; 3]).is_none());
    assert!(Rows::new(&scheme, &[0; 8], &[0; 4]).is_none());
    assert!(Rows::new(&scheme, &[0; 2], &[0; 6]).is_none());
}

/// Packing and occupancy against their definitions, bit by bit.
#[test]
fn packing_and_occupancy() {
    let mut random = Random(77);
    let widths: &[usize] =
        if SMALL { &[1, 65, 128] } else { &[1, 12, 63, 64, 65, 84, 127, 128, 200, 256, 300, 1024] };
    for &k in widths {
        let samples: Vec<u64> = (0..k).map(|_| random.word()).collect();
        let bins: Vec<u64> =
            samples.iter().map(|s| if s % 3 == 0 { u64::MAX } else { *s }).collect();
        let words = k.div_ceil(64);
        for kernel in Kernel::available() {
            for bits in (1..=16).step_by(if SMALL { 5 } else { 1 }) {
                let split = words * (1 + bits / 3);
                let mut planes = vec![0; words * bits];
                let (first, rest) = planes.split_at_mut(split);
                kernel.pack(&samples, first, rest);
                for (i, word) in planes.iter().enumerate() {
                    for bit in 0..64 {
                        let sample = samples.get(64 * (i % words) + bit).copied().unwrap_or(0);
                        let expected = sample >> (i / words) & 1;
                        assert_eq!(word >> bit & 1, expected, "{} k {k} b {bits}", kernel.name());
                    }
                }
            }
            let mut occupied = vec![0; words];
            kernel.occupied(&bins, &mut occupied);
            for (i, word) in occupied.iter().enumerate() {
                for bit in 0..64 {
                    let expected = bins.get(64 * i + bit).is_some_and(|bin| *bin != u64::MAX);
                    assert_eq!(word >> bit & 1 == 1, expected, "{} k {k}", kernel.name());
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_shapes(k in 1_usize..700, bits in 1_u8..=16, rows in 1_usize..70, seed: u64) {
        let mut random = Random(seed);
        let query = row_like(&vec![0; k], bits, &mut random);
        let rows: Vec<_> = (0..rows).map(|_| row_like(&query, bits, &mut random)).collect();
        check(bits, &query, &rows);
    }
}

/// Least words of rows against the definition. There are few different words, so several rows have the same one, and
/// there are zeros, whose ties do not count.
#[test]
fn least_words_and_whose_they_are() {
    let word = |i: usize| {
        let x = (i as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40;
        if x.is_multiple_of(50) { 0 } else { (x % 3000) as u16 * 21 + (x % 7) as u16 }
    };
    let table: Vec<u16> = (0..5000).map(word).chain([u16::MAX; 200]).collect();
    for count in (1..20).chain([100, 255]) {
        for lane in [0, 1, 64] {
            let starts: Vec<u32> = (0..count).map(|i| (i * 7919 % 5072) as u32).collect();
            for kernel in Kernel::available() {
                let mut least = Least::default();
                kernel.least(&table, &starts, lane, &mut least);
                for l in 0..LANES {
                    let words: Vec<u16> =
                        starts.iter().map(|start| table[*start as usize + lane + l]).collect();
                    let word = *words.iter().min().unwrap();
                    let several = words.iter().filter(|w| **w == word).count() > 1 && word != 0;
                    let found = (least.words[l], least.several >> l & 1 == 1);
                    assert_eq!(found, (word, several), "{} lane {l}", kernel.name());
                    assert_eq!(words[usize::from(least.rows[l])], word, "{}", kernel.name());
                }
            }
        }
    }
}

/// Samples of 16 bits are packed like those of 64.
#[test]
fn short_samples_are_packed_alike() {
    for count in [1, 63, 64, 65, 128, 200] {
        let wide: Vec<u64> =
            (1..=count).map(|i: u64| i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40).collect();
        let short: Vec<u16> = wide.iter().map(|sample| *sample as u16).collect();
        let words = wide.len().div_ceil(64);
        for planes in 1..=16 {
            for kernel in Kernel::available() {
                let mut expected = vec![0; words * planes];
                let mut found = expected.clone();
                kernel.pack(&wide, &mut expected, &mut []);
                let (first, rest) = found.split_at_mut(words);
                kernel.pack_short(&short, first, rest);
                assert_eq!(found, expected, "{}, {count} samples, {planes}", kernel.name());
            }
        }
    }
}

/// Visits against the definition, for numbers of bins around all limits.
#[test]
fn visitors_of_open_bins_are_marked() {
    let word = |i: usize| (i as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40;
    for bins in [1, 2, 15, 16, 17, 63, 64, 100, 127, 128, 129, 255, 256] {
        let steps = std::array::from_fn(|i| (word(i) % bins as u64) as u8);
        let ranks: Vec<u16> = (0..bins).map(|i| (word(i + 300) % 5 * 16_000) as u16).collect();
        let firsts: Vec<u8> = (0..320).map(|i| (word(i + 700) % bins as u64) as u8).collect();
        let rows: Vec<u8> = (0..320).map(|i| word(i + 1100) as u8).collect();
        for least in [0, 1, 16_000, 33_000, 64_000, u16::MAX] {
            let moment = Moment { steps: &steps, ranks: &ranks, least };
            for kernel in Kernel::available() {
                let mut masks = [0; 10];
                kernel.visits(Visitors { bins: &firsts, rows: &rows }, moment, &mut masks);
                for (i, (first, row)) in firsts.iter().zip(&rows).enumerate() {
                    let bin = usize::from(*first) + usize::from(steps[usize::from(*row)]);
                    let open = ranks[bin % bins] >= least;
                    let found = masks[i / 32] >> (i % 32) & 1 == 1;
                    assert_eq!(found, open, "{}: element {i} of {bins} bins", kernel.name());
                }
            }
        }
    }
}
