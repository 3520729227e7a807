//! The kernels for 64-bit ARM with NEON.
//!
//! A vector holds two words. There is a loop for planes of an even number of words. All other shapes run the portable
//! loop.
#![allow(unsafe_code, reason = "vector loads, and calls of functions for one CPU kind")]

use std::arch::aarch64::*;
use std::arch::is_aarch64_feature_detected;

use super::least::{self, LANES, Least};
use super::{Rows, portable};

/// Proof that this machine has NEON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Neon(());

impl Neon {
    pub(super) fn new() -> Option<Neon> {
        is_aarch64_feature_detected!("neon").then_some(Neon(()))
    }

    pub(super) fn count_equal(self, query: Rows<'_>, rows: Rows<'_>, counts: &mut [u16]) {
        // SAFETY: `self` proves that the machine has the features that the function is compiled for.
        unsafe { count_equal(query, rows, counts) }
    }

    pub(super) fn least(self, table: &[u16], starts: &[u32], lane: usize, least: &mut Least) {
        // SAFETY: as above.
        unsafe { least_of(table, starts, lane, least) }
    }

    pub(super) fn equal_mask(self, a: Rows<'_>, b: Rows<'_>, mask: &mut [u64]) {
        // SAFETY: as above.
        unsafe { equal_mask(a, b, mask) }
    }
}

#[target_feature(enable = "neon")]
fn equal_mask(a: Rows<'_>, b: Rows<'_>, mask: &mut [u64]) {
    portable::equal_mask(a, b, mask);
}

#[target_feature(enable = "neon")]
fn count_equal(query: Rows<'_>, rows: Rows<'_>, counts: &mut [u16]) {
    if query.words() % 2 == 0 {
        two_words(query, rows, counts);
    } else {
        portable::count_equal(query, rows, counts);
    }
}

/// Planes of an even number of words. A vector holds part of one plane.
#[target_feature(enable = "neon")]
fn two_words(query: Rows<'_>, rows: Rows<'_>, counts: &mut [u16]) {
    let (query_first, _) = query.first().as_chunks::<2>();
    let (query_rest, _) = query.rest().as_chunks::<2>();
    let (first, _) = rows.first().as_chunks::<2>();
    let (rest, _) = rows.rest().as_chunks::<2>();
    let (vectors, firsts, others) = (query.words() / 2, query_first.len(), query_rest.len());
    for (row, out) in counts.iter_mut().enumerate() {
        let first = &first[row * firsts..][..firsts];
        let rest = &rest[row * others..][..others];
        let mut unequal = 0;
        for v in 0..vectors {
            let mut x = vdupq_n_u64(0);
            for (query, row) in [(query_first, first), (query_rest, rest)] {
                let mut at = v;
                while let (Some(a), Some(b)) = (query.get(at), row.get(at)) {
                    x = vorrq_u64(x, veorq_u64(load(a), load(b)));
                    at += vectors;
                }
            }
            // At most 128 bits, so their sum fits into the byte that vaddvq_u8 returns.
            unequal += u32::from(vaddvq_u8(vcntq_u8(vreinterpretq_u8_u64(x))));
        }
        *out = portable::equal(query.samples(), unequal);
    }
}

#[inline]
#[target_feature(enable = "neon")]
fn load(words: &[u64; 2]) -> uint64x2_t {
    // SAFETY: the array has the 16 bytes that are read.
    unsafe { vld1q_u64(words.as_ptr()) }
}

#[target_feature(enable = "neon")]
fn least_of(table: &[u16], starts: &[u32], lane: usize, least: &mut Least) {
    let mut words = [vdupq_n_u16(u16::MAX); 8];
    for start in starts {
        let row = load_lanes(least::row(table, *start as usize + lane));
        for v in 0..8 {
            words[v] = vminq_u16(words[v], row[v]);
        }
    }
    let (mut rows, mut found) = ([vdupq_n_u16(0); 8], [vdupq_n_u16(0); 8]);
    for (number, start) in starts.iter().enumerate() {
        let row = load_lanes(least::row(table, *start as usize + lane));
        let number = vdupq_n_u16(number as u16);
        for v in 0..8 {
            let hit = vceqq_u16(row[v], words[v]);
            rows[v] = vbslq_u16(hit, number, rows[v]);
            // A hit is -1.
            found[v] = vsubq_u16(found[v], hit);
        }
    }
    least.several = 0;
    for v in 0..8 {
        let mut counts = [0; 8];
        // SAFETY: every array has room for the eight entries that are written: 64 in all for `words` and `rows`.
        unsafe {
            vst1q_u16(least.words.as_mut_ptr().add(8 * v), words[v]);
            vst1_u8(least.rows.as_mut_ptr().add(8 * v), vmovn_u16(rows[v]));
            vst1q_u16(counts.as_mut_ptr(), found[v]);
        }
        for (l, count) in counts.into_iter().enumerate() {
            let at = 8 * v + l;
            least.several |= u64::from(count > 1 && least.words[at] != 0) << at;
        }
    }
}

#[inline]
#[target_feature(enable = "neon")]
fn load_lanes(words: &[u16; LANES]) -> [uint16x8_t; 8] {
    let at = words.as_ptr();
    // SAFETY: the array has the 64 words that are read.
    std::array::from_fn(|v| unsafe { vld1q_u16(at.add(8 * v)) })
}
