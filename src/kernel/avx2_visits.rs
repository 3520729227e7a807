//! Which elements go to an open bin ([`super::visits`]), for x86-64 with AVX2: 32 elements per step.
#![allow(unsafe_code, reason = "vector loads")]

use std::arch::x86_64::*;

use super::visits::{Moment, VISITS, Visitors};

#[target_feature(enable = "avx2,popcnt,bmi1,bmi2")]
pub(super) fn visits(visitors: Visitors<'_>, moment: Moment<'_>, masks: &mut [u32]) {
    let open = open_bins(&moment);
    let (open, _) = open.as_chunks::<16>();
    let open = [twice(&open[0]), twice(&open[1])];
    let Some(steps) = moment.steps.as_chunks::<16>().0.first_chunk() else { return };
    // 256 bins are 0 as a byte, which is right in byte arithmetic.
    let bins = _mm256_set1_epi8(moment.ranks.len() as u8 as i8);
    let starts = visitors.bins.as_chunks::<VISITS>().0;
    let rows = visitors.rows.as_chunks::<VISITS>().0;
    for (mask, (start, row)) in masks.iter_mut().zip(starts.iter().zip(rows)) {
        let (start, row) = (load(start), load(row));
        let step = look_up_256(steps, row);
        // The bin wraps around if the first bin is not below `bins - step`.
        let rest = _mm256_sub_epi8(bins, step);
        let past = _mm256_cmpeq_epi8(_mm256_max_epu8(start, rest), start);
        let bin = _mm256_sub_epi8(_mm256_add_epi8(start, step), _mm256_and_si256(past, bins));
        *mask = has_bit(open, bin);
    }
}

/// A bit for each open bin.
#[inline]
#[target_feature(enable = "avx2")]
fn open_bins(moment: &Moment<'_>) -> [u8; 32] {
    let least = _mm256_set1_epi16(moment.least as i16);
    let mut open = [0; 32];
    let (groups, left) = moment.ranks.as_chunks::<16>();
    let mut last = [0; 16];
    last[..left.len()].copy_from_slice(left);
    for (group, out) in groups.iter().chain([&last]).zip(open.as_chunks_mut::<2>().0) {
        // SAFETY: the array has the 32 bytes that are read; the load needs no alignment.
        let ranks = unsafe { _mm256_loadu_si256(group.as_ptr().cast()) };
        let above = _mm256_cmpeq_epi16(_mm256_max_epu16(ranks, least), ranks);
        let (low, high) = (_mm256_castsi256_si128(above), _mm256_extracti128_si256::<1>(above));
        *out = (_mm_movemask_epi8(_mm_packs_epi16(low, high)) as u16).to_le_bytes();
    }
    open
}

/// A mask of the bytes whose bit is set.
#[inline]
#[target_feature(enable = "avx2")]
fn has_bit(bits: [__m256i; 2], index: __m256i) -> u32 {
    let byte = _mm256_and_si256(_mm256_srli_epi16::<3>(index), _mm256_set1_epi8(0x0F));
    // The highest bit of an index selects the half.
    let byte = _mm256_blendv_epi8(
        _mm256_shuffle_epi8(bits[0], byte),
        _mm256_shuffle_epi8(bits[1], byte),
        index,
    );
    let powers = _mm256_set1_epi64x(i64::from_le_bytes([1, 2, 4, 8, 16, 32, 64, 128]));
    let bit = _mm256_shuffle_epi8(powers, _mm256_and_si256(index, _mm256_set1_epi8(7)));
    _mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_and_si256(byte, bit), bit)) as u32
}

/// Looks up bytes in a table of 256 entries.
#[inline]
#[target_feature(enable = "avx2")]
fn look_up_256(table: &[[u8; 16]; 16], index: __m256i) -> __m256i {
    // Moves bits 4 to 7 of the index to the highest bit of a byte. Bits that cross from other bytes are lower ones.
    let bit4 = _mm256_slli_epi16::<3>(index);
    let bit5 = _mm256_slli_epi16::<2>(index);
    let bit6 = _mm256_slli_epi16::<1>(index);
    let low = _mm256_and_si256(index, _mm256_set1_epi8(0x0F));
    let mut found = [low; 8];
    for (i, found) in found.iter_mut().enumerate() {
        let [even, odd] = [&table[2 * i], &table[2 * i + 1]];
        let (even, odd) =
            (_mm256_shuffle_epi8(twice(even), low), _mm256_shuffle_epi8(twice(odd), low));
        *found = _mm256_blendv_epi8(even, odd, bit4);
    }
    for i in 0..4 {
        found[i] = _mm256_blendv_epi8(found[2 * i], found[2 * i + 1], bit5);
    }
    for i in 0..2 {
        found[i] = _mm256_blendv_epi8(found[2 * i], found[2 * i + 1], bit6);
    }
    _mm256_blendv_epi8(found[0], found[1], index)
}

/// Copies 16 bytes to both halves.
#[inline]
#[target_feature(enable = "avx2")]
fn twice(bytes: &[u8; 16]) -> __m256i {
    // SAFETY: the array has the 16 bytes that are read; the load needs no alignment.
    _mm256_broadcastsi128_si256(unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) })
}

#[inline]
#[target_feature(enable = "avx2")]
fn load(bytes: &[u8; VISITS]) -> __m256i {
    // SAFETY: the array has the 32 bytes that are read; the load needs no alignment.
    unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) }
}
