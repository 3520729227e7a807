//! Selects the hashes up to the limit of their bin, and finds the first set bit of each part of a bitmap.
//!
//! In: hashes, and a limit for each bin. The leading bits of a hash are its bin number; the next 16 bits are compared
//! with the limit. Out: the hashes that do not exceed it, in order. Where the instruction set allows, the limits of
//! all bins stay in registers, and no branch depends on the hashes.

use super::BLOCK;

/// Hashes per call.
pub(crate) const HASHES: usize = 128;

/// The length of the buffer for results. Vector loops store whole vectors, so it is 8 longer than a result can be.
pub(crate) const FOUND: usize = HASHES + 8;

/// The portable loop. Writes the selected hashes to the start of `found` and returns their number. The number of bins
/// is a power of two, at least 2.
pub(super) fn portable(hashes: &[u64; HASHES], limits: &[u16], found: &mut [u64; FOUND]) -> usize {
    let bits = limits.len().trailing_zeros();
    let mut count = 0;
    for hash in hashes {
        let bin = (hash >> (u64::BITS - bits)) as usize;
        let rest = ((hash << bits) >> 48) as u16;
        found[count] = *hash;
        count += usize::from(rest <= limits[bin]);
    }
    count
}

/// The portable loop. Writes the position of the first set bit of each part, or 0 if it has none. Returns whether all
/// parts have one.
pub(super) fn first_bits(bitmap: &[[u8; BLOCK]], per_part: usize, firsts: &mut [u16]) -> bool {
    let mut all = true;
    for (blocks, first) in bitmap.chunks_exact(per_part).zip(firsts) {
        let bytes = blocks.as_flattened();
        let at = bytes.iter().position(|byte| *byte != 0);
        all &= at.is_some();
        *first = at.map_or(0, |at| 8 * at as u16 + bytes[at].trailing_zeros() as u16);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Kernel;

    fn words(seed: u64) -> impl Iterator<Item = u64> {
        let step =
            move |x: &u64| Some(x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(seed | 1));
        std::iter::successors(Some(seed), step).map(|x| x ^ x >> 29).skip(3)
    }

    /// Every kernel agrees with the definition, for limits from 0 to all ones, and for hashes at a limit or one above
    /// it.
    #[test]
    fn early_hashes_are_found() {
        for bins in [2_usize, 4, 32, 64, 128, 256] {
            let bits = bins.trailing_zeros();
            for shift in 0..16 {
                let mut limits: Vec<u16> =
                    words(9).take(bins).map(|x| (x >> 40) as u16 >> shift).collect();
                (limits[0], limits[bins - 1]) = (u16::MAX, 0);
                let mut hashes: [u64; HASHES] = [0; HASHES];
                hashes.iter_mut().zip(words(shift)).for_each(|(hash, x)| *hash = x);
                for (i, hash) in hashes.iter_mut().enumerate().take(64) {
                    let bin = (*hash >> (64 - bits)) as usize;
                    let rest = limits[bin].saturating_add((i % 2) as u16);
                    *hash = (bin as u64) << (64 - bits)
                        | u64::from(rest) << (48 - bits)
                        | *hash & 0xFFFF;
                }
                let is_early = |h: &&u64| {
                    ((**h << bits) >> 48) as u16 <= limits[(**h >> (64 - bits)) as usize]
                };
                let expected: Vec<u64> = hashes.iter().filter(is_early).copied().collect();
                for kernel in Kernel::available() {
                    let mut found = [0; FOUND];
                    let count = kernel.early(&hashes, &limits, &mut found);
                    assert_eq!(found[..count], expected, "{}, {bins} bins, {shift}", kernel.name());
                }
            }
        }
    }

    /// Finds a bit at every place of a part, with another bit after it, and reports a part without bits.
    #[test]
    fn first_bits_are_found() {
        for per_part in [1, 2, 5, 128] {
            for place in (0..512 * per_part).step_by(if per_part == 128 { 1021 } else { 1 }) {
                let mut bitmap = vec![[0; BLOCK]; 3 * per_part];
                let parts = [0, 2].map(|part| part * 512 * per_part);
                for part in parts {
                    for bit in [place, (place + 70).min(512 * per_part - 1)] {
                        bitmap.as_flattened_mut()[(part + bit) / 8] |= 1 << (bit % 8);
                    }
                }
                for kernel in Kernel::available() {
                    let mut firsts = [7; 3];
                    assert!(!kernel.first_bits(&bitmap, &mut firsts));
                    assert_eq!(firsts, [place as u16, 0, place as u16], "{}", kernel.name());
                    let mut first = [7];
                    if per_part < 43 {
                        assert!(kernel.first_bits(&bitmap, &mut first));
                        assert_eq!(first, [place as u16], "{}", kernel.name());
                    }
                }
            }
        }
    }
}
