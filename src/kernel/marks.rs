//! One bit for each byte.
#![allow(unsafe_code, reason = "calls of functions for one CPU kind")]

/// Bytes that are marked per call: as many as a word has bits.
pub const BLOCK: usize = 64;

/// Which bytes have their highest bit set. Bit i of the mask is for byte i.
#[inline(always)]
pub fn marks(bytes: &[u8; BLOCK]) -> u64 {
    #[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
    return sse2(bytes);
    #[cfg(not(all(target_arch = "x86_64", target_feature = "sse2")))]
    portable(bytes)
}

/// Uses SSE2, which every x86-64 build has.
#[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
#[inline(always)]
fn sse2(bytes: &[u8; BLOCK]) -> u64 {
    use std::arch::x86_64::{_mm_movemask_epi8, _mm_set_epi64x};
    let (eights, _) = bytes.as_chunks::<8>();
    let (pairs, _) = eights.as_chunks::<2>();
    pairs.iter().rev().fold(0, |mask, &[low, high]| {
        let (high, low) = (i64::from_le_bytes(high), i64::from_le_bytes(low));
        // SAFETY: all of this crate is compiled for machines with SSE2 where this function is compiled at all,
        // and neither intrinsic reads or writes memory.
        let sixteen = unsafe { _mm_movemask_epi8(_mm_set_epi64x(high, low)) };
        mask << 16 | u64::from(sixteen as u16)
    })
}

#[cfg(any(test, not(all(target_arch = "x86_64", target_feature = "sse2"))))]
#[inline(always)]
fn portable(bytes: &[u8; BLOCK]) -> u64 {
    let (eights, _) = bytes.as_chunks::<8>();
    eights.iter().rev().fold(0, |mask, eight| {
        let ones = (u64::from_le_bytes(*eight) >> 7) & 0x0101_0101_0101_0101;
        // Moves bit 8i to bit 56 + i.
        mask << 8 | ones.wrapping_mul(0x0102_0408_1020_4080) >> 56
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_byte_has_its_bit() {
        let mut random = testkit::random::Random(1);
        for round in 0..2000 {
            let bytes: [u8; BLOCK] = std::array::from_fn(|i| {
                // One byte of a block, then any.
                if round < BLOCK { 0x7F + u8::from(i == round) } else { random.word() as u8 }
            });
            let mask = (0..BLOCK).fold(0, |mask, i| mask | u64::from(bytes[i] >= 0x80) << i);
            assert_eq!(marks(&bytes), mask);
            assert_eq!(portable(&bytes), mask);
        }
    }
}
