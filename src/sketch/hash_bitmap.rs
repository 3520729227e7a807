//! A bitmap of the hashes of a set, in the order of the hashes.
//!
//! In: the elements of a set. Out: a lower bound of the number of distinct elements, and about where the least hash
//! of each bin is. Bit i stands for all hashes whose leading bits are the number i. Equal elements share a bit, and
//! so do a few different ones. There are at least [`BITS_PER_ELEMENT`] bits per element, so a random set loses less
//! than 1 % of its elements. Elements chosen to share bits make the bound useless, but never wrong.

use super::hash::stir;
use crate::kernel::{BLOCK, Kernel, Work};

/// Least number of bits per element.
const BITS_PER_ELEMENT: usize = 64;

/// Smallest set that gets a bitmap. Counting a smaller one exactly is faster.
const MIN_ELEMENTS: usize = 128;

/// Largest set that gets a bitmap. Its bitmap takes 64 KiB; a larger one would not stay in the cache.
const MAX_ELEMENTS: usize = 8192;

/// Elements that are hashed together, in vectors.
const ROUND: usize = 64;

/// Most elements in which repeats are looked for first. For smaller sets it is a quarter of the elements.
const MAX_TRIED: usize = 256;

/// The bitmap of one set. Working memory, reused from set to set.
#[derive(Default)]
pub(crate) struct HashBitmap {
    bytes: Vec<u8>,
}

impl HashBitmap {
    /// Whether a bitmap can be worthwhile for a set of this many elements.
    pub(crate) fn suits(elements: usize) -> bool {
        (MIN_ELEMENTS..=MAX_ELEMENTS).contains(&elements)
    }

    /// The expected number of elements that share a bit with an earlier one if all are distinct: about n^2 / 2m for m
    /// bits.
    pub(crate) fn expected_collisions(elements: usize) -> u64 {
        (elements * elements / (2 * bits_for(elements))) as u64
    }

    /// Replaces the bitmap by that of the elements hashed with `key`. Their number [suits](HashBitmap::suits).
    ///
    /// Returns false, and leaves the bitmap incomplete, if the first elements show that the set has too many repeats:
    /// they are extrapolated to a number of distinct elements, and `is_useful` says whether that number is high
    /// enough.
    pub(crate) fn fill(
        &mut self,
        key: u64,
        elements: &[u64],
        is_useful: impl Fn(u64) -> bool,
    ) -> bool {
        self.bytes.clear();
        self.bytes.resize(bits_for(elements.len()) / 8, 0);
        let tried = (elements.len() / 4).next_multiple_of(ROUND).min(MAX_TRIED);
        let (tried, rest) = elements.split_at(tried.min(elements.len()));
        let (kernel, bytes) = (Kernel::best(), &mut self.bytes);
        let new = kernel.run(Fill::<true> { key, elements: tried, bytes });
        // Repeats become more frequent as more elements are known, so the share of repeats in the whole set is hardly
        // lower.
        if new < tried.len() && !is_useful((elements.len() * new / tried.len()) as u64) {
            return false;
        }
        kernel.run(Fill::<false> { key, elements: rest, bytes });
        true
    }

    /// The number of bits that are set. There are at least as many distinct elements.
    pub(crate) fn count(&self) -> u64 {
        Kernel::best().run(Count(&self.bytes))
    }

    /// An upper limit of the least hash of each bin: the 16 bits of the hash that follow the bin number. Returns
    /// false if a limit is unknown, because a bin is empty or has too few or too many bits. The number of bins is a
    /// power of two.
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

/// The number of bits of the bitmap of a set of this size, a power of two.
fn bits_for(elements: usize) -> usize {
    (BITS_PER_ELEMENT * elements.clamp(MIN_ELEMENTS, MAX_ELEMENTS)).next_power_of_two()
}

/// Sets the bits of elements. Returns how many bits were not set before if `COUNT`, else 0.
struct Fill<'a, const COUNT: bool> {
    key: u64,
    elements: &'a [u64],
    bytes: &'a mut [u8],
}

impl<const COUNT: bool> Work for Fill<'_, COUNT> {
    type Done = usize;

    /// Computes addresses and bits of a round first, in vectors, then sets the bits one by one.
    #[inline(always)]
    fn run(self) -> usize {
        let Fill { key, elements, bytes } = self;
        let mask = bytes.len() - 1;
        let shift = u64::BITS - bytes.len().trailing_zeros() - 3;
        let (rounds, left) = elements.as_chunks::<ROUND>();
        let (mut places, mut bits, mut new) = ([0_u32; ROUND], [0_u8; ROUND], 0);
        let mut set = |place: u32, bit: u8| {
            let byte = &mut bytes[place as usize & mask];
            if COUNT {
                new += usize::from(*byte & bit == 0);
            }
            *byte |= bit;
        };
        for round in rounds {
            for i in 0..ROUND {
                let number = (stir(round[i] ^ key) >> shift) as u32;
                places[i] = number >> 3;
                bits[i] = 1 << (number & 7);
            }
            for i in 0..ROUND {
                set(places[i], bits[i]);
            }
        }
        for x in left {
            let number = (stir(x ^ key) >> shift) as u32;
            set(number >> 3, 1 << (number & 7));
        }
        new
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
            assert!(bitmap.fill(7, &elements, |_| true));
            let width = (64 * count).next_power_of_two().trailing_zeros();
            let firsts: HashSet<u64> =
                elements.iter().map(|x| stir(x ^ 7) >> (64 - width)).collect();
            assert_eq!(bitmap.count(), firsts.len() as u64, "{count} {distinct}");
            assert!(bitmap.count() <= distinct && bitmap.count() as f64 > 0.98 * distinct as f64);
        }
    }

    /// Random sets lose about as many elements as expected.
    #[test]
    fn expected_collisions_are_those_of_random_sets() {
        let mut bitmap = HashBitmap::default();
        for count in [1000_usize, 1070, 2000, 5000, 8192] {
            let lost: u64 = (0..50)
                .map(|key| {
                    assert!(bitmap.fill(key, &elements(count, count as u64), |_| true));
                    count as u64 - bitmap.count()
                })
                .sum();
            let (mean, expected) = (lost as f64 / 50.0, HashBitmap::expected_collisions(count));
            // A standard error of the mean is about sqrt(expected / 50).
            let error = 4.0 * (expected as f64 / 50.0).sqrt() + 1.0;
            assert!((mean - expected as f64).abs() < error, "{count}: {mean} {expected}");
        }
    }

    /// Repeats among the first elements are noticed, and stand for the whole set.
    #[test]
    fn useless_bitmaps_are_abandoned() {
        let mut bitmap = HashBitmap::default();
        for count in [128, 200, 1000, 8192] {
            assert!(!bitmap.fill(7, &elements(count, 16), |bound| bound > count as u64 / 2));
            assert!(
                bitmap.fill(7, &elements(count, count as u64), |bound| bound > count as u64 / 2)
            );
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
            assert!(bitmap.fill(3, &elements, |_| true));
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
