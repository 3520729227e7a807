//! The kernels for x86-64 with AVX-512 and its vector bit count (VPOPCNTDQ).
//!
//! A vector holds eight words. If a plane has 1, 2 or 4 words, the same lane of every vector of a row belongs to the
//! same word of a plane. So the whole row is processed with XOR and OR, and the lanes are folded at the end: one loop
//! for every b. Planes of a multiple of eight words are processed eight words at a time. All other shapes run the
//! portable loop, compiled for these instructions.
#![allow(unsafe_code, reason = "vector loads and stores, and calls of functions for one CPU kind")]

use std::arch::x86_64::*;

use super::avx2::Avx2;
use super::avx512_early;
use super::dispatch::Work;
use super::early::{FOUND, HASHES};
use super::least::{self, LANES, Least};
use super::{BLOCK, Rows, portable};

/// Truth table of `a | (b ^ c)`.
const OR_XOR: i32 = 0xF6;

/// Proof that this machine has AVX-512 F, BW, VL, DQ and VPOPCNTDQ, and all that AVX2 needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Avx512(Avx2);

impl Avx512 {
    pub(super) fn new() -> Option<Avx512> {
        let has = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vpopcntdq");
        Avx2::new().filter(|_| has).map(Avx512)
    }

    /// The kernel for loops without an AVX-512 version.
    pub(super) fn avx2(self) -> Avx2 {
        self.0
    }

    pub(super) fn count_equal(self, query: Rows<'_>, rows: Rows<'_>, counts: &mut [u16]) {
        // SAFETY: `self` proves that the machine has the features that the function is compiled for.
        unsafe { count_equal(query, rows, counts) }
    }

    pub(super) fn least(self, table: &[u16], starts: &[u32], lane: usize, least: &mut Least) {
        // SAFETY: as above.
        unsafe { least_of(table, starts, lane, least) }
    }

    pub(super) fn early(
        self,
        hashes: &[u64; HASHES],
        limits: &[u16],
        found: &mut [u64; FOUND],
    ) -> Option<usize> {
        // SAFETY: as above.
        unsafe { avx512_early::early(hashes, limits, found) }
    }

    pub(super) fn first_bits(
        self,
        bitmap: &[[u8; BLOCK]],
        per_part: usize,
        firsts: &mut [u16],
    ) -> bool {
        // SAFETY: as above.
        unsafe { avx512_early::first_bits(bitmap, per_part, firsts) }
    }

    pub(super) fn run<W: Work>(self, work: W) -> W::Done {
        // SAFETY: as above.
        unsafe { run(work) }
    }

    pub(super) fn equal_mask(self, a: Rows<'_>, b: Rows<'_>, mask: &mut [u64]) {
        // SAFETY: as above.
        unsafe { equal_mask(a, b, mask) }
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vpopcntdq,popcnt,bmi1,bmi2")]
fn run<W: Work>(work: W) -> W::Done {
    work.run()
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vpopcntdq,popcnt")]
fn equal_mask(a: Rows<'_>, b: Rows<'_>, mask: &mut [u64]) {
    portable::equal_mask(a, b, mask);
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vpopcntdq,popcnt")]
fn count_equal(query: Rows<'_>, rows: Rows<'_>, counts: &mut [u16]) {
    match (query.words(), query.bits()) {
        (2, 1) => two_words_one_plane(query, rows, counts),
        (1 | 2 | 4, _) => folded(query, rows, counts),
        (words, _) if words % 8 == 0 => wide(query, rows, counts),
        _ => portable::any(query, rows, counts),
    }
}

/// One plane of two words: four rows per vector, eight rows per step.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vpopcntdq,popcnt")]
fn two_words_one_plane(query: Rows<'_>, rows: Rows<'_>, counts: &mut [u16]) {
    let q = [query.first(), query.first(), query.first(), query.first()].concat();
    let q = load_part(&q);
    let samples = _mm_set1_epi16(query.samples() as i16);
    let (blocks, words_left) = rows.first().as_chunks::<16>();
    let (outs, counts_left) = counts.as_chunks_mut::<8>();
    for (words, out) in blocks.iter().zip(outs) {
        let (low, high) = words.split_at(8);
        let a = _mm512_popcnt_epi64(_mm512_xor_si512(q, load_part(low)));
        let b = _mm512_popcnt_epi64(_mm512_xor_si512(q, load_part(high)));
        // The even lanes of both, and the odd lanes of both, in the order of the rows.
        let even = _mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14);
        let odd = _mm512_setr_epi64(1, 3, 5, 7, 9, 11, 13, 15);
        let unequal = _mm512_add_epi64(
            _mm512_permutex2var_epi64(a, even, b),
            _mm512_permutex2var_epi64(a, odd, b),
        );
        store(out, _mm_subs_epu16(samples, _mm512_cvtepi64_epi16(unequal)));
    }
    let (pairs, _) = words_left.as_chunks::<2>();
    for (words, out) in pairs.iter().zip(counts_left) {
        let unequal = words.iter().zip(query.first()).map(|(a, b)| (a ^ b).count_ones());
        *out = portable::equal(query.samples(), unequal.sum());
    }
}

/// Planes of 1, 2 or 4 words. Lane l of every vector of the row is word `l mod words` of a plane.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vpopcntdq,popcnt")]
fn folded(query: Rows<'_>, rows: Rows<'_>, counts: &mut [u16]) {
    let words = query.words();
    let q = load_part(query.first());
    let (query_full, query_part) = query.rest().as_chunks::<8>();
    let query_part = load_part(query_part);
    for (row, out) in counts.iter_mut().enumerate() {
        let (first, rest) = rows.row(row);
        let mut x = _mm512_xor_si512(q, load_part(first));
        let (full, part) = rest.as_chunks::<8>();
        for (a, b) in query_full.iter().zip(full) {
            x = _mm512_ternarylogic_epi64::<OR_XOR>(x, load_part(a), load_part(b));
        }
        if !part.is_empty() {
            x = _mm512_ternarylogic_epi64::<OR_XOR>(x, query_part, load_part(part));
        }
        if words <= 4 {
            x = _mm512_or_si512(x, _mm512_shuffle_i64x2::<0b01_00_11_10>(x, x));
        }
        if words <= 2 {
            x = _mm512_or_si512(x, _mm512_shuffle_i64x2::<0b10_11_00_01>(x, x));
        }
        if words == 1 {
            x = _mm512_or_si512(x, _mm512_permutex_epi64::<0b10_11_00_01>(x));
        }
        let bits = _mm512_maskz_popcnt_epi64(first_lanes(words), x);
        *out = portable::equal(query.samples(), _mm512_reduce_add_epi64(bits) as u32);
    }
}

/// Planes of a multiple of eight words.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vpopcntdq,popcnt")]
fn wide(query: Rows<'_>, rows: Rows<'_>, counts: &mut [u16]) {
    let (query_first, _) = query.first().as_chunks::<8>();
    let (query_rest, _) = query.rest().as_chunks::<8>();
    let (first, _) = rows.first().as_chunks::<8>();
    let (rest, _) = rows.rest().as_chunks::<8>();
    let (vectors, firsts, others) = (query.words() / 8, query_first.len(), query_rest.len());
    for (row, out) in counts.iter_mut().enumerate() {
        let first = &first[row * firsts..][..firsts];
        let rest = &rest[row * others..][..others];
        let mut unequal = _mm512_setzero_si512();
        for v in 0..vectors {
            let mut x = _mm512_setzero_si512();
            for (query, row) in [(query_first, first), (query_rest, rest)] {
                let mut at = v;
                while let (Some(a), Some(b)) = (query.get(at), row.get(at)) {
                    x = _mm512_ternarylogic_epi64::<OR_XOR>(x, load_part(a), load_part(b));
                    at += vectors;
                }
            }
            unequal = _mm512_add_epi64(unequal, _mm512_popcnt_epi64(x));
        }
        *out = portable::equal(query.samples(), _mm512_reduce_add_epi64(unequal) as u32);
    }
}

/// A mask of the first `count` lanes, at most eight.
fn first_lanes(count: usize) -> __mmask8 {
    u8::MAX >> (8 - count.clamp(1, 8))
}

/// Up to eight words. The other lanes are zero.
#[inline]
#[target_feature(enable = "avx512f")]
fn load_part(words: &[u64]) -> __m512i {
    if words.is_empty() {
        return _mm512_setzero_si512();
    }
    // SAFETY: the mask lets only lanes below `words.len()` be read, all inside the slice; lanes that
    // are masked out are not touched, and the load needs no alignment.
    unsafe { _mm512_maskz_loadu_epi64(first_lanes(words.len()), words.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "sse2")]
fn store(counts: &mut [u16; 8], x: __m128i) {
    // SAFETY: the array has the 16 bytes that are written; the store needs no alignment.
    unsafe { _mm_storeu_si128(counts.as_mut_ptr().cast(), x) }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vpopcntdq,popcnt")]
fn least_of(table: &[u16], starts: &[u32], lane: usize, least: &mut Least) {
    let [mut a, mut b] = [_mm512_set1_epi16(-1); 2];
    for start in starts {
        let row = load_lanes(least::row(table, *start as usize + lane));
        a = _mm512_min_epu16(a, row[0]);
        b = _mm512_min_epu16(b, row[1]);
    }
    let words = [a, b];
    let (mut rows, mut found) = ([_mm512_setzero_si512(); 2], [_mm512_setzero_si512(); 2]);
    let one = _mm512_set1_epi16(1);
    let mut number = _mm512_setzero_si512();
    for start in starts {
        let row = load_lanes(least::row(table, *start as usize + lane));
        for v in 0..2 {
            let hit = _mm512_cmpeq_epi16_mask(row[v], words[v]);
            rows[v] = _mm512_mask_mov_epi16(rows[v], hit, number);
            found[v] = _mm512_mask_add_epi16(found[v], hit, found[v], one);
        }
        number = _mm512_add_epi16(number, one);
    }
    let several = |v: usize| {
        let not_zero = _mm512_test_epi16_mask(words[v], words[v]);
        u64::from(_mm512_mask_cmpgt_epu16_mask(not_zero, found[v], one))
    };
    least.several = several(0) | several(1) << 32;
    for v in 0..2 {
        let half = 32 * v;
        // SAFETY: both arrays have 64 entries, of which 32 are written from `half` on; the stores need no alignment.
        unsafe {
            _mm512_storeu_si512(least.words.as_mut_ptr().add(half).cast(), words[v]);
            let bytes = _mm512_cvtepi16_epi8(rows[v]);
            _mm256_storeu_si256(least.rows.as_mut_ptr().add(half).cast(), bytes);
        }
    }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load_lanes(words: &[u16; LANES]) -> [__m512i; 2] {
    let at: *const __m512i = words.as_ptr().cast();
    // SAFETY: the array has the 128 bytes that are read; the loads need no alignment.
    unsafe { [_mm512_loadu_si512(at), _mm512_loadu_si512(at.add(1))] }
}
