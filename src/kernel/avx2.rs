//! The kernels for x86-64 with AVX2 and POPCNT.
//!
//! There are loops for planes of two words (k = 65..128), for planes of a multiple of four words (k = 256, 512, ...),
//! and for two adjacent planes of one word. All other shapes run the portable loop, compiled for these instructions.
#![allow(unsafe_code, reason = "vector loads and stores, and calls of functions for one CPU kind")]

use std::arch::x86_64::*;

use super::avx2_lanes::{least_of, pack, pack_short, pick_of_16};
use super::avx2_visits::visits;
use super::dispatch::Work;
use super::least::Least;
use super::visits::{Moment, Visitors};
use super::{Row, Rows, portable};

/// Proof that this machine has AVX2, POPCNT and BMI.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Avx2(());

impl Avx2 {
    pub(super) fn new() -> Option<Avx2> {
        let has = is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("popcnt")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2");
        has.then_some(Avx2(()))
    }

    pub(super) fn count_equal(
        self,
        query: Rows<'_>,
        rows: Rows<'_>,
        next: Rows<'_>,
        counts: &mut [u16],
    ) {
        // SAFETY: `self` proves that the machine has the features that the function is compiled for.
        unsafe { count_equal(query, rows, next, counts) }
    }

    pub(super) fn count_equal_each<'r>(
        self,
        query: Rows<'_>,
        rows: impl Iterator<Item = Row<'r>>,
        counts: &mut [u16],
    ) {
        // SAFETY: as above.
        unsafe { count_equal_each(query, rows, counts) }
    }

    pub(super) fn equal_mask(self, a: Rows<'_>, b: Rows<'_>, mask: &mut [u64]) {
        // SAFETY: as above.
        unsafe { equal_mask(a, b, mask) }
    }

    pub(super) fn pack(self, samples: &[u64], first: &mut [u64], rest: &mut [u64]) {
        // SAFETY: as above.
        unsafe { pack(samples, first, rest) }
    }

    pub(super) fn pack_short(self, samples: &[u16], first: &mut [u64], rest: &mut [u64]) {
        // SAFETY: as above.
        unsafe { pack_short(samples, first, rest) }
    }

    pub(super) fn pick(self, table: &[u32; 256], bytes: &[u8; 64], picked: &mut [u32; 64]) {
        // SAFETY: as above.
        unsafe { pick_of_16(table, bytes, picked) }
    }

    pub(super) fn visits(self, visitors: Visitors<'_>, moment: Moment<'_>, masks: &mut [u32]) {
        // SAFETY: as above.
        unsafe { visits(visitors, moment, masks) }
    }

    pub(super) fn least(self, table: &[u16], starts: &[u32], lane: usize, least: &mut Least) {
        // SAFETY: as above.
        unsafe { least_of(table, starts, lane, least) }
    }

    pub(super) fn occupied(self, bins: &[u64], words: &mut [u64]) {
        // SAFETY: as above.
        unsafe { occupied(bins, words) }
    }

    pub(super) fn run<W: Work>(self, work: W) -> W::Done {
        // SAFETY: as above.
        unsafe { run(work) }
    }
}

#[target_feature(enable = "avx2,popcnt,bmi1,bmi2")]
fn run<W: Work>(work: W) -> W::Done {
    work.run()
}

#[target_feature(enable = "avx2,popcnt,bmi1,bmi2")]
fn count_equal_each<'r>(query: Rows<'_>, rows: impl Iterator<Item = Row<'r>>, counts: &mut [u16]) {
    portable::count_equal_each(query, rows, counts);
}

#[target_feature(enable = "avx2,popcnt,bmi1,bmi2")]
fn equal_mask(a: Rows<'_>, b: Rows<'_>, mask: &mut [u64]) {
    portable::equal_mask(a, b, mask);
}

#[target_feature(enable = "avx2,popcnt,bmi1,bmi2")]
fn count_equal(query: Rows<'_>, rows: Rows<'_>, next: Rows<'_>, counts: &mut [u16]) {
    match (query.words(), query.bits(), query.first_planes()) {
        (1, 2, 2) => one_word_two_planes(query, rows, next, counts),
        (2, 1, _) => two_words_few_planes::<32, ONE>(query, rows, next, counts),
        (2, 2, 1) => two_words_few_planes::<32, SEPARATE>(query, rows, next, counts),
        (2, 2, _) => two_words_few_planes::<64, SIDE_BY_SIDE>(query, rows, next, counts),
        (2, _, _) => {
            prefetch_rows(next.first());
            prefetch_rows(next.rest());
            two_words(query, rows, counts);
        }
        (4, 1, _) => four_words_few_planes::<32, ONE>(query, rows, next, counts),
        (4, 2, 1) => four_words_few_planes::<32, SEPARATE>(query, rows, next, counts),
        (4, 2, _) => four_words_few_planes::<64, SIDE_BY_SIDE>(query, rows, next, counts),
        (4, _, _) => four_words::<1>(query, rows, counts),
        (8, _, _) => four_words::<2>(query, rows, counts),
        (words, _, _) if words % 4 == 0 => four_words::<ANY>(query, rows, counts),
        _ => portable::count_equal(query, rows, counts),
    }
}

/// The layout of one or two planes: one alone, plane 1 of all rows after plane 0 of all rows, or both of each row
/// adjacent.
const ONE: u8 = 0;
const SEPARATE: u8 = 1;
const SIDE_BY_SIDE: u8 = 2;

/// One or two planes of two words, sixteen rows per step.
#[target_feature(enable = "avx2,popcnt")]
fn two_words_few_planes<const BLOCK: usize, const LAYOUT: u8>(
    query: Rows<'_>,
    rows: Rows<'_>,
    next: Rows<'_>,
    counts: &mut [u16],
) {
    let samples = _mm_set1_epi16(query.samples() as i16);
    // A vector has both planes of a row. The halves of two rows are exchanged.
    let join = |x, y| {
        _mm256_or_si256(
            _mm256_permute2x128_si256::<0x20>(x, y),
            _mm256_permute2x128_si256::<0x31>(x, y),
        )
    };
    few_planes::<16, BLOCK, LAYOUT>(query, rows, next, counts, join, |out, even, odd| {
        let (low, high) = (_mm_unpacklo_epi16(even, odd), _mm_unpackhi_epi16(even, odd));
        let (outs, _) = out.as_chunks_mut::<8>();
        store128(&mut outs[0], _mm_subs_epu16(samples, low));
        store128(&mut outs[1], _mm_subs_epu16(samples, high));
    });
}

/// One or two planes of four words, eight rows per step.
#[target_feature(enable = "avx2,popcnt")]
fn four_words_few_planes<const BLOCK: usize, const LAYOUT: u8>(
    query: Rows<'_>,
    rows: Rows<'_>,
    next: Rows<'_>,
    counts: &mut [u16],
) {
    let samples = _mm_set1_epi16(query.samples() as i16);
    let join = |x, y| _mm256_or_si256(x, y);
    few_planes::<8, BLOCK, LAYOUT>(query, rows, next, counts, join, |out, even, odd| {
        store128(out, _mm_subs_epu16(samples, _mm_add_epi16(even, odd)));
    });
}

/// One or two planes of `32 / STEP` words, two or four, in the layout `LAYOUT`. A step takes `BLOCK` words of `first`:
/// 32, or 64 for two adjacent planes, where `join` makes one vector of two. `finish` gets the number of differing samples
/// of each pair of words, 16 pairs in 16-bit lanes: pairs 0, 2, 4, ... and pairs 1, 3, 5, ...
///
/// On cached data the loop is bound by the number of vector operations. On other data it waits for memory, so it
/// prefetches later rows, and the start of `next`. It prefetches nothing past the end of `rows`, where planes may
/// follow that are not needed.
#[inline]
#[target_feature(enable = "avx2,popcnt")]
fn few_planes<const STEP: usize, const BLOCK: usize, const LAYOUT: u8>(
    query: Rows<'_>,
    rows: Rows<'_>,
    next: Rows<'_>,
    counts: &mut [u16],
    join: impl Fn(__m256i, __m256i) -> __m256i,
    finish: impl Fn(&mut [u16; STEP], __m128i, __m128i),
) {
    let spread = |words: &[u64], from: usize| {
        load(&std::array::from_fn(|i| words[(from + i) % words.len()]))
    };
    let q0 = spread(query.first(), 0);
    let q1 = if LAYOUT == SEPARATE { spread(query.rest(), 0) } else { spread(query.first(), 4) };
    let (blocks0, _) = rows.first().as_chunks::<BLOCK>();
    let others = if LAYOUT == SEPARATE { rows.rest() } else { rows.first() };
    let (blocks1, _) = others.as_chunks::<BLOCK>();
    let (next0, next1) = (next.first().as_chunks::<BLOCK>().0, next.rest().as_chunks::<BLOCK>().0);
    let (outs, counts_left) = counts.as_chunks_mut::<STEP>();
    let done = STEP * outs.len();
    for (i, ((words0, words1), out)) in blocks0.iter().zip(blocks1).zip(outs).enumerate() {
        prefetch(blocks0, next0, i + AHEAD * 32 / BLOCK);
        if LAYOUT == SEPARATE {
            prefetch(blocks1, next1, i + AHEAD);
        }
        let (fours0, fours1) = (words0.as_chunks::<4>().0, words1.as_chunks::<4>().0);
        // The differing samples of four words, per byte.
        let differ = |i: usize| {
            let different = |q, four| _mm256_xor_si256(q, load(four));
            count_in_bytes(match LAYOUT {
                ONE => different(q0, &fours0[i]),
                SEPARATE => _mm256_or_si256(different(q0, &fours0[i]), different(q1, &fours1[i])),
                _ => join(different(q0, &fours0[2 * i]), different(q1, &fours0[2 * i + 1])),
            })
        };
        let low =
            _mm256_packs_epi32(sum_pairs(differ(0), differ(1)), sum_pairs(differ(2), differ(3)));
        let high =
            _mm256_packs_epi32(sum_pairs(differ(4), differ(5)), sum_pairs(differ(6), differ(7)));
        // Sums are in 64-bit lanes. Each of two packs halves the width.
        let sums = _mm256_packs_epi32(low, high);
        finish(out, _mm256_castsi256_si128(sums), _mm256_extracti128_si256::<1>(sums));
    }
    portable::count_equal(query, rows.range(done, rows.len()), counts_left);
}

/// Two adjacent planes of one word, sixteen rows per step.
#[target_feature(enable = "avx2,popcnt")]
fn one_word_two_planes(query: Rows<'_>, rows: Rows<'_>, next: Rows<'_>, counts: &mut [u16]) {
    let samples = _mm_set1_epi16(query.samples() as i16);
    let q = load(&std::array::from_fn(|i| query.first()[i % 2]));
    let (blocks, next) = (rows.first().as_chunks::<32>().0, next.first().as_chunks::<32>().0);
    let (outs, counts_left) = counts.as_chunks_mut::<16>();
    let done = 16 * outs.len();
    for (i, (words, out)) in blocks.iter().zip(outs).enumerate() {
        prefetch(blocks, next, i + AHEAD);
        let fours = words.as_chunks::<4>().0;
        // The differing samples of rows 0, 2 and 1, 3 of four, in 64-bit lanes.
        let differ = |i: usize| {
            let x = _mm256_xor_si256(q, load(&fours[2 * i]));
            let y = _mm256_xor_si256(q, load(&fours[2 * i + 1]));
            count_bits(_mm256_or_si256(_mm256_unpacklo_epi64(x, y), _mm256_unpackhi_epi64(x, y)))
        };
        let two = |i: usize| _mm256_or_si256(differ(i), _mm256_slli_epi64::<32>(differ(i + 1)));
        // The lower half has rows 0, 4, 2, 6, 8, 12, 10, 14 in 16-bit lanes, the upper half the row after each.
        let sums = _mm256_packs_epi32(two(0), two(2));
        let even = _mm256_castsi256_si128(sums);
        let odd = _mm256_extracti128_si256::<1>(sums);
        let order = _mm_setr_epi8(0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15);
        let (even, odd) = (_mm_shuffle_epi8(even, order), _mm_shuffle_epi8(odd, order));
        let (low, high) = (_mm_unpacklo_epi16(even, odd), _mm_unpackhi_epi16(even, odd));
        let (halves, _) = out.as_chunks_mut::<8>();
        store128(&mut halves[0], _mm_subs_epu16(samples, low));
        store128(&mut halves[1], _mm_subs_epu16(samples, high));
    }
    portable::count_equal(query, rows.range(done, rows.len()), counts_left);
}

/// The sums of the bytes of each half of two vectors, in 64-bit lanes: first the low halves, then the high ones.
/// Bytes are at most 8.
#[inline]
#[target_feature(enable = "avx2")]
fn sum_pairs(a: __m256i, b: __m256i) -> __m256i {
    let eights = _mm256_add_epi8(_mm256_unpacklo_epi64(a, b), _mm256_unpackhi_epi64(a, b));
    _mm256_sad_epu8(eights, _mm256_setzero_si256())
}

/// A lookup table of the bit counts of all four-bit numbers.
#[inline]
#[target_feature(enable = "avx2")]
fn bits_of_halves() -> __m256i {
    _mm256_setr_epi8(
        0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4, 0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3,
        3, 4,
    )
}

/// The bit count of each byte.
#[inline]
#[target_feature(enable = "avx2")]
fn count_in_bytes(x: __m256i) -> __m256i {
    let bits = bits_of_halves();
    let half = _mm256_set1_epi8(15);
    let low = _mm256_shuffle_epi8(bits, _mm256_and_si256(x, half));
    let high = _mm256_shuffle_epi8(bits, _mm256_and_si256(_mm256_srli_epi16::<4>(x), half));
    _mm256_add_epi8(low, high)
}

/// Three or more planes of two words. A vector holds two planes, and its halves are combined at the end.
#[target_feature(enable = "avx2,popcnt")]
fn two_words(query: Rows<'_>, rows: Rows<'_>, counts: &mut [u16]) {
    let (query_first, _) = query.first().as_chunks::<4>();
    let q = load(&query_first[0]);
    let (query_pairs, query_last) = query.rest().as_chunks::<4>();
    let query_last = query_last.first_chunk::<2>().map(|words| load128(words));
    let (first, _) = rows.first().as_chunks::<4>();
    let rest = rows.rest().chunks_exact(query.rest().len());
    for ((out, first), rest) in counts.iter_mut().zip(first).zip(rest) {
        let mut x = _mm256_xor_si256(q, load(first));
        let (pairs, last) = rest.as_chunks::<4>();
        for (a, b) in query_pairs.iter().zip(pairs) {
            x = _mm256_or_si256(x, _mm256_xor_si256(load(a), load(b)));
        }
        let mut x = _mm_or_si128(_mm256_castsi256_si128(x), _mm256_extracti128_si256::<1>(x));
        if let (Some(a), Some(b)) = (query_last, last.first_chunk::<2>()) {
            x = _mm_or_si128(x, _mm_xor_si128(a, load128(b)));
        }
        *out = portable::equal(query.samples(), count_ones128(x));
    }
}

/// Stands for a number of vectors that is not a compile-time constant.
const ANY: usize = 0;

/// Planes of `4 V` words. A vector holds part of one plane, and four rows are summed together.
#[target_feature(enable = "avx2,popcnt")]
fn four_words<const V: usize>(query: Rows<'_>, rows: Rows<'_>, counts: &mut [u16]) {
    let (query_first, _) = query.first().as_chunks::<4>();
    let (query_rest, _) = query.rest().as_chunks::<4>();
    let (first, _) = rows.first().as_chunks::<4>();
    let (rest, _) = rows.rest().as_chunks::<4>();
    let vectors = if V == ANY { query.words() / 4 } else { V };
    let (firsts, others) = (query_first.len(), query_rest.len());
    let unequal = |row: usize| {
        let first = &first[row * firsts..][..firsts];
        let rest = &rest[row * others..][..others];
        unequal_in_lanes(vectors, [(query_first, first), (query_rest, rest)])
    };
    let (fours, left) = counts.as_chunks_mut::<4>();
    let start = 4 * fours.len();
    for (i, out) in fours.iter_mut().enumerate() {
        let [a, b, c, d] = [0, 1, 2, 3].map(|j| unequal(4 * i + j));
        let ab = _mm256_add_epi64(_mm256_unpacklo_epi64(a, b), _mm256_unpackhi_epi64(a, b));
        let cd = _mm256_add_epi64(_mm256_unpacklo_epi64(c, d), _mm256_unpackhi_epi64(c, d));
        let low = _mm256_permute2x128_si256::<0x20>(ab, cd);
        let high = _mm256_permute2x128_si256::<0x31>(ab, cd);
        let sums = lanes(_mm256_add_epi64(low, high));
        *out = sums.map(|sum| portable::equal(query.samples(), sum as u32));
    }
    for (i, out) in left.iter_mut().enumerate() {
        let sum: u64 = lanes(unequal(start + i)).iter().sum();
        *out = portable::equal(query.samples(), sum as u32);
    }
}

/// Some planes of a query and of a row.
type Planes<'a> = (&'a [[u64; 4]], &'a [[u64; 4]]);

/// The number of samples in which a row differs from the query in any plane, summed in each 64-bit lane. `planes` are
/// the first planes and the others; each plane has `vectors` vectors.
#[inline]
#[target_feature(enable = "avx2,popcnt")]
fn unequal_in_lanes(vectors: usize, planes: [Planes<'_>; 2]) -> __m256i {
    let mut sum = _mm256_setzero_si256();
    for v in 0..vectors {
        let mut x = _mm256_setzero_si256();
        for (query, row) in planes {
            let mut at = v;
            while let (Some(a), Some(b)) = (query.get(at), row.get(at)) {
                x = _mm256_or_si256(x, _mm256_xor_si256(load(a), load(b)));
                at += vectors;
            }
        }
        sum = _mm256_add_epi64(sum, count_bits(x));
    }
    sum
}

/// Bins are compared four at a time.
#[target_feature(enable = "avx2,popcnt,bmi1,bmi2")]
fn occupied(bins: &[u64], words: &mut [u64]) {
    let (groups, left) = bins.as_chunks::<64>();
    let empty = _mm256_set1_epi64x(-1);
    for (group, word) in groups.iter().zip(words.iter_mut()) {
        let (fours, _) = group.as_chunks::<4>();
        let vacant = fours.iter().rev().fold(0, |vacant, four| {
            let equal = _mm256_cmpeq_epi64(load(four), empty);
            vacant << 4 | _mm256_movemask_pd(_mm256_castsi256_pd(equal)) as u64
        });
        *word = !vacant;
    }
    portable::occupied(left, &mut words[groups.len()..]);
}

/// The bit count of each 64-bit lane. The two halves of a byte are looked up as 4 + bits and 4 - bits. Their
/// difference is the bit count of the byte, and one instruction sums the differences.
#[inline]
#[target_feature(enable = "avx2")]
fn count_bits(x: __m256i) -> __m256i {
    let bits = bits_of_halves();
    let (half, four) = (_mm256_set1_epi8(15), _mm256_set1_epi8(4));
    let (more, less) = (_mm256_add_epi8(four, bits), _mm256_sub_epi8(four, bits));
    let low = _mm256_shuffle_epi8(more, _mm256_and_si256(x, half));
    let high = _mm256_shuffle_epi8(less, _mm256_and_si256(_mm256_srli_epi16::<4>(x), half));
    _mm256_sad_epu8(low, high)
}

#[inline]
#[target_feature(enable = "sse4.1,popcnt")]
fn count_ones128(x: __m128i) -> u32 {
    let (low, high) = (_mm_cvtsi128_si64(x) as u64, _mm_extract_epi64::<1>(x) as u64);
    low.count_ones() + high.count_ones()
}

/// Prefetches the first 1 KiB. After that the hardware prefetcher recognises the pattern.
#[inline]
#[target_feature(enable = "sse")]
fn prefetch_rows(words: &[u64]) {
    for line in words.chunks(8).take(16) {
        _mm_prefetch::<_MM_HINT_T0>(line.as_ptr().cast());
    }
}

/// How far ahead words are prefetched, in blocks of 32: 6 KiB.
const AHEAD: usize = 24;

/// Prefetches block `i` of some words, or of those that come after them.
#[inline]
#[target_feature(enable = "sse")]
fn prefetch<const BLOCK: usize>(blocks: &[[u64; BLOCK]], next: &[[u64; BLOCK]], i: usize) {
    let after = || next.get(i - blocks.len());
    for line in blocks.get(i).or_else(after).into_iter().flat_map(|block| block.chunks_exact(8)) {
        _mm_prefetch::<_MM_HINT_T0>(line.as_ptr().cast());
    }
}

#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn load(words: &[u64; 4]) -> __m256i {
    // SAFETY: the array has the 32 bytes that are read; the load needs no alignment.
    unsafe { _mm256_loadu_si256(words.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "sse2")]
fn load128(words: &[u64; 2]) -> __m128i {
    // SAFETY: the array has the 16 bytes that are read; the load needs no alignment.
    unsafe { _mm_loadu_si128(words.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx2")]
fn lanes(x: __m256i) -> [u64; 4] {
    let mut words = [0; 4];
    // SAFETY: the array has the 32 bytes that are written; the store needs no alignment.
    unsafe { _mm256_storeu_si256(words.as_mut_ptr().cast(), x) };
    words
}

#[inline]
#[target_feature(enable = "sse2")]
fn store128(counts: &mut [u16; 8], x: __m128i) {
    // SAFETY: the array has the 16 bytes that are written; the store needs no alignment.
    unsafe { _mm_storeu_si128(counts.as_mut_ptr().cast(), x) }
}
