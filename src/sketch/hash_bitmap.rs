//! A bitmap of the hashes of a set, in the order of the hashes.
//!
//! In: the elements of a set. Out: a lower bound of the number of distinct elements, and where the least hash of each bin lies. Bit i
//! stands for all hashes whose first bits are the number i. Equal elements share a bit, and so do a few different ones:
//! there are [`BITS_PER_ELEMENT`] bits or more for each element, so that a random set loses less than one in a hundred. Elements
//! chosen to share bits make the bound useless, but never wrong.

use super::hash::stir;
use crate::kernel::{BLOCK, Kernel, Work};

/// Fewest bits for each element.
const BITS_PER_ELEMENT: usize = 64;

/// Fewest elements. Those of smaller sets are counted faster.
const MIN_ELEMENTS: usize = 128;

/// Most elements. Their bitmap takes 64 KiB; a larger one would not stay in the cache.
const MAX_ELEMENTS: usize = 8192;

/// Elements that are hashed together.
const ROUND: usize = 64;

/// The bitmap of one set. It serves set after set.
#[derive(Default)]
pub(crate) struct HashBitmap {
    bytes: Vec<u8>,
}

impl HashBitmap {
    /// Whether a set of this many elements should have a bitmap.
    pub(crate) fn suits(elements: usize) -> bool {
        (MIN_ELEMENTS..=MAX_ELEMENTS).contains(&elements)
    }

    /// Replaces the bitmap by that of the elements hashed with `key`. Their number [suits](HashBitmap::suits).
    pub(crate) fn fill(&mut self, key: u64, elements: &[u64]) {
        let bits = BITS_PER_ELEMENT * elements.len().clamp(MIN_ELEMENTS, MAX_ELEMENTS);
        self.bytes.clear();
        self.bytes.resize(bits.next_power_of_two() / 8, 0);
        Kernel::best().run(Fill { key, elements, bytes: &mut self.bytes });
    }

    /// The number of bits that are set: there are at least as many distinct elements.
    pub(crate) fn count(&self) -> u64 {
        Kernel::best().run(Count(&self.bytes))
    }

    /// For each bin, 16 bits after those that tell the bin: the least hash of the bin does not exceed them. False if that of a
    /// bin is not known, because the bin is empty or has too few or too many bits. The number of bins is a power of two.
    pub(crate) fn limits(&self, limits: &mut [u16]) -> bool {
        let (blocks, _) = self.bytes.as_chunks::<BLOCK>();
        let per_bin = blocks.len() / limits.len();
        let width = (8 * BLOCK * per_bin.max(1)).trailing_zeros();
        if per_bin == 0 || width > u16::BITS {
            return false;
        }
        let known = Kernel::best().first_bits(blocks, limits);
        let below = u16::BITS - width;
        limits
            .iter_mut()
            .for_each(|limit| *limit = *limit << below | ((1_u32 << below) - 1) as u16);
        known
    }
}

struct Fill<'a> {
    key: u64,
    elements: &'a [u64],
    bytes: &'a mut [u8],
}

impl Work for Fill<'_> {
    type Done = ();

    /// Addresses and bits first, many at a time.
    #[inline(always)]
    fn run(self) {
        let Fill { key, elements, bytes } = self;
        let mask = bytes.len() - 1;
        let shift = u64::BITS - bytes.len().trailing_zeros() - 3;
        let (rounds, left) = elements.as_chunks::<ROUND>();
        let (mut places, mut bits) = ([0_u32; ROUND], [0_u8; ROUND]);
        for round in rounds {
            for i in 0..ROUND {
                let number = (stir(round[i] ^ key) >> shift) as u32;
                places[i] = number >> 3;
                bits[i] = 1 << (number & 7);
            }
            for i in 0..ROUND {
                bytes[places[i] as usize & mask] |= bits[i];
            }
        }
        for x in left {
            let number = stir(x ^ key) >> shift;
            bytes[(number >> 3) as usize & mask] |= 1 << (number & 7);
        }
    }
}

struct Count<'a>(&'a [u8]);

impl Work for Count<'_> {
    type Done = u64;

    #[inline(always)]
    fn run(self) -> u64 {
        let (words, _) = self.0.as_chunks::<8>();
        words.iter().map(|word| u64::from(u64::from_le_bytes(*word).count_ones())).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn elements(count: usize, distinct: u64) -> Vec<u64> {
        (0..count as u64).map(|i| stir(i % distinct + 5)).collect()
    }

    #[test]
    fn counts_the_distinct_first_bits() {
        let mut bitmap = HashBitmap::default();
        for (count, distinct) in [(128, 128), (129, 3), (1000, 900), (200, 200), (8192, 8192)] {
            let elements = elements(count, distinct);
            bitmap.fill(7, &elements);
            let width = (64 * count).next_power_of_two().trailing_zeros();
            let firsts: HashSet<u64> =
                elements.iter().map(|x| stir(x ^ 7) >> (64 - width)).collect();
            assert_eq!(bitmap.count(), firsts.len() as u64, "{count} {distinct}");
            assert!(bitmap.count() <= distinct && bitmap.count() as f64 > 0.98 * distinct as f64);
        }
    }

    /// The least hash of each bin is at most its limit, and exceeds the last one before those that share its bit.
    #[test]
    fn limits_are_those_of_the_least_hashes() {
        let mut bitmap = HashBitmap::default();
        for (count, bins, known) in [
            (1000_usize, 64_usize, true),
            (2000, 64, true),
            (8000, 128, true),
            (8000, 2, false), // more bits for each bin than a limit has
            (130, 64, false), // too short
            (512, 64, true),
            (64, 128, false),
        ] {
            let elements = elements(count.max(128), count as u64);
            bitmap.fill(3, &elements);
            let mut limits = vec![0; bins];
            let is_known = bitmap.limits(&mut limits);
            assert_eq!(is_known, known, "{count} {bins}");
            let (bits, width) = (bins.trailing_zeros(), bitmap.bytes.len().trailing_zeros() + 3);
            for (bin, limit) in limits.iter().enumerate().filter(|_| known) {
                let of_bin =
                    elements.iter().map(|x| stir(x ^ 3)).filter(|h| h >> (64 - bits) == bin as u64);
                let least = of_bin.min().unwrap() << bits;
                assert_eq!(limit >> (16 - (width - bits)), (least >> (64 - (width - bits))) as u16);
                assert!((least >> 48) as u16 <= *limit);
            }
        }
    }
}
