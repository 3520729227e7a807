//! The kernels for x86-64 with AVX2 that pack samples and find the least words of rows.
#![allow(unsafe_code, reason = "vector loads and stores")]

use std::arch::x86_64::*;

use super::avx2::load;
use super::least::{self, LANES, Least};

/// Converts samples to bytes, 32 per vector. One instruction then collects the sign bits of all bytes.
#[target_feature(enable = "avx2,popcnt,bmi1,bmi2")]
pub(super) fn pack(samples: &[u64], first: &mut [u64], rest: &mut [u64]) {
    let words = samples.len().div_ceil(64);
    let (groups, left) = samples.as_chunks::<64>();
    let mut last = [0; 64];
    last[..left.len()].copy_from_slice(left);
    let last = (!left.is_empty()).then_some(&last);
    for (word, group) in groups.iter().chain(last).enumerate() {
        let (halves, _) = group.as_chunks::<32>();
        let mut bytes = [low_bytes(&halves[0], 0), low_bytes(&halves[1], 0)];
        let planes = first.chunks_exact_mut(words).chain(rest.chunks_exact_mut(words));
        for (plane, words) in planes.enumerate() {
            if plane == 8 {
                bytes = [low_bytes(&halves[0], 8), low_bytes(&halves[1], 8)];
            }
            words[word] = sign_bits_of(bytes, plane % 8);
        }
    }
}

/// Bit `bit` of 64 bytes.
#[inline]
#[target_feature(enable = "avx2")]
fn sign_bits_of(bytes: [__m256i; 2], bit: usize) -> u64 {
    // Shifting 16-bit lanes moves the bit of each byte to its sign. Bits that cross bytes are ignored.
    let shift = _mm_cvtsi64_si128(7 - bit as i64);
    let signs = |x| _mm256_movemask_epi8(_mm256_sll_epi16(x, shift)) as u32;
    u64::from(signs(bytes[0])) | u64::from(signs(bytes[1])) << 32
}

/// The bytes of 32 samples at bit `shift`, in order.
#[inline]
#[target_feature(enable = "avx2")]
fn low_bytes(samples: &[u64; 32], shift: i64) -> __m256i {
    let (fours, _) = samples.as_chunks::<4>();
    let shift = _mm_cvtsi64_si128(shift);
    let byte = _mm256_set1_epi64x(0xFF);
    // Byte j of 64-bit lane l becomes sample 4 j + l.
    let mut merged = _mm256_setzero_si256();
    for four in fours.iter().rev() {
        let low = _mm256_and_si256(_mm256_srl_epi64(load(four), shift), byte);
        merged = _mm256_or_si256(_mm256_slli_epi64::<8>(merged), low);
    }
    // Within each half, bytes (l, j) and (l + 1, j) become adjacent. Then the halves are interleaved.
    let pairs = _mm256_setr_epi8(
        0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15, 0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5,
        13, 6, 14, 7, 15,
    );
    let paired = _mm256_shuffle_epi8(merged, pairs);
    let (low, high) = (_mm256_castsi256_si128(paired), _mm256_extracti128_si256::<1>(paired));
    _mm256_set_m128i(_mm_unpackhi_epi16(low, high), _mm_unpacklo_epi16(low, high))
}

#[target_feature(enable = "avx2,popcnt,bmi1,bmi2")]
pub(super) fn pack_short(samples: &[u16], first: &mut [u64], rest: &mut [u64]) {
    let words = samples.len().div_ceil(64);
    let (groups, left) = samples.as_chunks::<64>();
    let mut last = [0; 64];
    last[..left.len()].copy_from_slice(left);
    let last = (!left.is_empty()).then_some(&last);
    let low = _mm256_set1_epi16(0xFF);
    for (word, group) in groups.iter().chain(last).enumerate() {
        let [a, b, c, d] = load_lanes(group);
        let mut bytes = {
            let low = |x| _mm256_and_si256(x, low);
            [narrow(low(a), low(b)), narrow(low(c), low(d))]
        };
        let planes = first.chunks_exact_mut(words).chain(rest.chunks_exact_mut(words));
        for (plane, words) in planes.enumerate() {
            if plane == 8 {
                let high = |x| _mm256_srli_epi16::<8>(x);
                bytes = [narrow(high(a), high(b)), narrow(high(c), high(d))];
            }
            words[word] = sign_bits_of(bytes, plane % 8);
        }
    }
}

#[target_feature(enable = "avx2,popcnt,bmi1,bmi2")]
pub(super) fn least_of(table: &[u16], starts: &[u32], lane: usize, least: &mut Least) {
    let [mut a, mut b, mut c, mut d] = [_mm256_set1_epi16(-1); 4];
    for start in starts {
        let row = load_lanes(least::row(table, *start as usize + lane));
        a = _mm256_min_epu16(a, row[0]);
        b = _mm256_min_epu16(b, row[1]);
        c = _mm256_min_epu16(c, row[2]);
        d = _mm256_min_epu16(d, row[3]);
    }
    let words = [a, b, c, d];
    let mut rows = [_mm256_setzero_si256(); 4];
    // The negated number of times the least word was found.
    let mut found = rows;
    let mut number = _mm256_setzero_si256();
    for start in starts {
        let row = load_lanes(least::row(table, *start as usize + lane));
        for v in 0..4 {
            let hit = _mm256_cmpeq_epi16(row[v], words[v]);
            rows[v] = _mm256_max_epi16(rows[v], _mm256_and_si256(hit, number));
            found[v] = _mm256_add_epi16(found[v], hit);
        }
        number = _mm256_add_epi16(number, _mm256_set1_epi16(1));
    }
    let once = _mm256_set1_epi16(-1);
    let zero = _mm256_setzero_si256();
    let several: [_; 4] = std::array::from_fn(|v| {
        let is_zero = _mm256_cmpeq_epi16(words[v], zero);
        _mm256_andnot_si256(is_zero, _mm256_cmpgt_epi16(once, found[v]))
    });
    let signs = |x, y| u64::from(_mm256_movemask_epi8(narrow_signed(x, y)) as u32);
    least.several = signs(several[0], several[1]) | signs(several[2], several[3]) << 32;
    store_lanes(&mut least.words, words);
    store_bytes(&mut least.rows, [narrow(rows[0], rows[1]), narrow(rows[2], rows[3])]);
}

/// The table entry of each byte. All bytes are below 16.
#[target_feature(enable = "avx2")]
pub(super) fn pick_of_16(table: &[u32; 256], bytes: &[u8; LANES], picked: &mut [u32; LANES]) {
    let (eights, _) = table.as_chunks::<8>();
    let (low, high) = (load_eight(&eights[0]), load_eight(&eights[1]));
    let seven = _mm256_set1_epi32(7);
    for (bytes, picked) in bytes.as_chunks::<8>().0.iter().zip(picked.as_chunks_mut::<8>().0) {
        let index = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(i64::from_le_bytes(*bytes)));
        // Indexes into 8 lanes are taken modulo 8.
        let (a, b) =
            (_mm256_permutevar8x32_epi32(low, index), _mm256_permutevar8x32_epi32(high, index));
        let entries = _mm256_blendv_epi8(a, b, _mm256_cmpgt_epi32(index, seven));
        // SAFETY: the array has the 32 bytes that are written; the store needs no alignment.
        unsafe { _mm256_storeu_si256(picked.as_mut_ptr().cast(), entries) }
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn load_eight(words: &[u32; 8]) -> __m256i {
    // SAFETY: the array has the 32 bytes that are read; the load needs no alignment.
    unsafe { _mm256_loadu_si256(words.as_ptr().cast()) }
}

/// Converts 16-bit lanes below 256 to bytes, in order.
#[inline]
#[target_feature(enable = "avx2")]
fn narrow(a: __m256i, b: __m256i) -> __m256i {
    _mm256_permute4x64_epi64::<0b11_01_10_00>(_mm256_packus_epi16(a, b))
}

/// Converts 16-bit lanes that are 0 or -1 to bytes, in order.
#[inline]
#[target_feature(enable = "avx2")]
fn narrow_signed(a: __m256i, b: __m256i) -> __m256i {
    _mm256_permute4x64_epi64::<0b11_01_10_00>(_mm256_packs_epi16(a, b))
}

#[inline]
#[target_feature(enable = "avx2")]
fn load_lanes(words: &[u16; LANES]) -> [__m256i; 4] {
    let at: *const __m256i = words.as_ptr().cast();
    // SAFETY: the array has the 128 bytes that are read; the loads need no alignment.
    unsafe {
        [
            _mm256_loadu_si256(at),
            _mm256_loadu_si256(at.add(1)),
            _mm256_loadu_si256(at.add(2)),
            _mm256_loadu_si256(at.add(3)),
        ]
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn store_lanes(words: &mut [u16; LANES], x: [__m256i; 4]) {
    let at: *mut __m256i = words.as_mut_ptr().cast();
    for (v, x) in x.into_iter().enumerate() {
        // SAFETY: the array has the 128 bytes that are written; the stores need no alignment.
        unsafe { _mm256_storeu_si256(at.add(v), x) }
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn store_bytes(bytes: &mut [u8; LANES], [low, high]: [__m256i; 2]) {
    let at: *mut __m256i = bytes.as_mut_ptr().cast();
    // SAFETY: the array has the 64 bytes that are written; the stores need no alignment.
    unsafe {
        _mm256_storeu_si256(at, low);
        _mm256_storeu_si256(at.add(1), high);
    }
}
