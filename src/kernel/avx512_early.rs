//! Which hashes come early in their bin ([`super::early`]), for x86-64 with AVX-512: 16 hashes per step. The limits
//! of up to 128 bins stay in four registers.
#![allow(unsafe_code, reason = "vector loads and stores")]

use std::arch::x86_64::*;

use super::BLOCK;
use super::early::{FOUND, HASHES};

/// For 64 or 128 bins. Returns `None` for any other number.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vpopcntdq,popcnt")]
pub(super) fn early(
    hashes: &[u64; HASHES],
    limits: &[u16],
    found: &mut [u64; FOUND],
) -> Option<usize> {
    match limits.len() {
        64 => Some(early_in::<64>(hashes, limits.first_chunk()?, found)),
        128 => Some(early_in::<128>(hashes, limits.first_chunk()?, found)),
        _ => None,
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vpopcntdq,popcnt")]
fn early_in<const BINS: usize>(
    hashes: &[u64; HASHES],
    limits: &[u16; BINS],
    found: &mut [u64; FOUND],
) -> usize {
    const { assert!(BINS == 64 || BINS == 128) };
    let (vectors, _) = limits.as_chunks::<32>();
    let (low, high) = (&vectors[..2], &vectors[vectors.len() - 2..]);
    let (low, high) =
        ([limits_of(&low[0]), limits_of(&low[1])], [limits_of(&high[0]), limits_of(&high[1])]);
    // The high half of each hash: the odd lanes of 32-bit words.
    let odd = _mm512_setr_epi32(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
    let ones = _mm512_set1_epi32(0xFFFF);
    let mut count = 0;
    for [a, b] in hashes.as_chunks::<8>().0.as_chunks::<2>().0 {
        let (a, b) = (load(a), load(b));
        let half = _mm512_permutex2var_epi32(a, odd, b);
        let (bin, rest) = if BINS == 64 {
            (_mm512_srli_epi32::<26>(half), _mm512_slli_epi32::<6>(half))
        } else {
            (_mm512_srli_epi32::<25>(half), _mm512_slli_epi32::<7>(half))
        };
        // Indexes into 64 lanes are taken modulo 64. The other 16-bit lanes look up something too, which is shifted
        // out.
        let mut limit = _mm512_permutex2var_epi16(low[0], bin, low[1]);
        if BINS == 128 {
            let above = _mm512_permutex2var_epi16(high[0], bin, high[1]);
            limit = _mm512_mask_mov_epi32(limit, _mm512_movepi32_mask(half), above);
        }
        // All bits below the limit are set, so the bits after the first 16 of a hash do not matter.
        let limit = _mm512_or_si512(_mm512_slli_epi32::<16>(limit), ones);
        let [first, second] = _mm512_cmple_epu32_mask(rest, limit).to_le_bytes();
        count = append(found, count, first, a);
        count = append(found, count, second, b);
    }
    count
}

/// The first bit of each part of a bitmap. No branch depends on which word of a block has it.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vpopcntdq,popcnt,bmi1,bmi2")]
pub(super) fn first_bits(bitmap: &[[u8; BLOCK]], per_part: usize, firsts: &mut [u16]) -> bool {
    let mut all = true;
    for (blocks, first) in bitmap.chunks_exact(per_part).zip(firsts) {
        let (mut at, mut filled) = (0, 0);
        for block in blocks {
            let x = load_block(block);
            filled = _mm512_test_epi64_mask(x, x);
            if filled != 0 {
                break;
            }
            at += 1;
        }
        // Without a bit, the number is that of a word past the end.
        let word = 8 * at + filled.trailing_zeros() as usize;
        let bits = blocks.as_flattened().as_chunks::<8>().0.get(word);
        all &= bits.is_some();
        let bit = |bits: &[u8; 8]| u64::from_le_bytes(*bits).trailing_zeros();
        *first = bits.map_or(0, |bits| (64 * word) as u16 + bit(bits) as u16);
    }
    all
}

/// Stores the lanes of a mask next to each other from `count` on. Returns where they end.
#[inline]
#[target_feature(enable = "avx512f,popcnt")]
fn append(found: &mut [u64; FOUND], count: usize, mask: __mmask8, hashes: __m512i) -> usize {
    if let Some(room) = found.get_mut(count..).and_then(|rest| rest.first_chunk_mut::<8>()) {
        // SAFETY: the array has the 64 bytes that are written; the store needs no alignment.
        unsafe {
            _mm512_storeu_si512(
                room.as_mut_ptr().cast(),
                _mm512_maskz_compress_epi64(mask, hashes),
            );
        }
    }
    count + mask.count_ones() as usize
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load(hashes: &[u64; 8]) -> __m512i {
    // SAFETY: the array has the 64 bytes that are read; the load needs no alignment.
    unsafe { _mm512_loadu_si512(hashes.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn limits_of(limits: &[u16; 32]) -> __m512i {
    // SAFETY: the array has the 64 bytes that are read; the load needs no alignment.
    unsafe { _mm512_loadu_si512(limits.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load_block(block: &[u8; BLOCK]) -> __m512i {
    // SAFETY: the array has the 64 bytes that are read; the load needs no alignment.
    unsafe { _mm512_loadu_si512(block.as_ptr().cast()) }
}
