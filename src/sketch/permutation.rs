//! Permutations of `{0..n-1}` and their inverses. Normative: `format-spec/hashing.md`.
//!
//! In: a size and a key. Out: the place of an element, and the element at a place. A Feistel network of six rounds on
//! just enough bits is repeated until the result is below n (cycle walking). That takes at most two passes on
//! average, since n is more than half of the network's domain (unless n is below 33).

use super::hash::{Keys, mix};

/// Rounds of the network (HASH-4). Four rounds already show no fault in the variance of densification; six leave a
/// margin.
const ROUNDS: usize = 6;

/// Least number of bits of the network (HASH-4). With fewer, a half would have one or two bits, and some elements
/// would come first up to 4 % too often.
const MIN_WIDTH: u32 = 6;

/// A permutation of `{0..size-1}`.
#[derive(Clone)]
pub(crate) struct Permutation {
    size: u64,
    low_bits: u32,
    low_mask: u64,
    high_mask: u64,
    keys: [u64; ROUNDS],
}

impl Permutation {
    /// The permutation of `size` elements, at least one, that belongs to `key` (HASH-4).
    pub(crate) fn new(size: u64, key: u64) -> Permutation {
        debug_assert!(size >= 1);
        let width = (u64::BITS - (size - 1).leading_zeros()).max(MIN_WIDTH);
        let high_bits = width / 2;
        let low_bits = width - high_bits;
        let stream = Keys::below(key);
        Permutation {
            size,
            low_bits,
            low_mask: (1 << low_bits) - 1,
            high_mask: (1 << high_bits) - 1,
            keys: std::array::from_fn(|round| stream.key(round as u64)),
        }
    }

    /// The place of `element`, which must be below the size.
    #[inline]
    pub(crate) fn place(&self, element: u64) -> u64 {
        debug_assert!(element < self.size);
        let mut x = element;
        loop {
            x = self.forwards(x);
            if x < self.size {
                return x;
            }
        }
    }

    /// The element at `place`, which must be below the size.
    #[inline]
    pub(crate) fn element(&self, place: u64) -> u64 {
        debug_assert!(place < self.size);
        let mut x = place;
        loop {
            x = self.backwards(x);
            if x < self.size {
                return x;
            }
        }
    }

    #[inline]
    fn forwards(&self, x: u64) -> u64 {
        let (mut high, mut low) = (x >> self.low_bits, x & self.low_mask);
        for pair in self.keys.chunks_exact(2) {
            high ^= mix(low ^ pair[0]) & self.high_mask;
            low ^= mix(high ^ pair[1]) & self.low_mask;
        }
        high << self.low_bits | low
    }

    #[inline]
    fn backwards(&self, x: u64) -> u64 {
        let (mut high, mut low) = (x >> self.low_bits, x & self.low_mask);
        for pair in self.keys.chunks_exact(2).rev() {
            low ^= mix(high ^ pair[1]) & self.low_mask;
            high ^= mix(low ^ pair[0]) & self.high_mask;
        }
        high << self.low_bits | low
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_is_taken_once_and_found_again() {
        for size in (1..=300).chain([1023, 1024, 1025, 65_536]) {
            let permutation = Permutation::new(size, size * 77);
            let mut taken = vec![false; size as usize];
            for element in 0..size {
                let place = permutation.place(element);
                assert!(!std::mem::replace(&mut taken[place as usize], true), "{size} {element}");
                assert_eq!(permutation.element(place), element);
            }
        }
    }

    #[test]
    fn the_largest_universes_work() {
        for size in [u64::MAX, u64::MAX - 1, (1 << 63) + 1, 1 << 63, (1 << 33) + 5] {
            let permutation = Permutation::new(size, 3);
            for element in [0, 1, size / 2, size - 2, size - 1] {
                assert_eq!(permutation.element(permutation.place(element)), element);
            }
        }
    }

    /// Over all keys, each of n elements comes first with probability 1/n. This is a chi-square test with n - 1 degrees of
    /// freedom: its mean is n - 1 and its variance 2 (n - 1). The bound is five standard deviations.
    #[test]
    fn first_places_are_shared_evenly() {
        for size in [2_u64, 3, 5, 6, 7, 9, 12, 17, 30, 33, 50, 64, 65, 128] {
            let mut firsts = vec![0.0; size as usize];
            let keys = 400_000;
            for key in 0..keys {
                firsts[Permutation::new(size, mix(key)).element(0) as usize] += 1.0;
            }
            let expected = keys as f64 / size as f64;
            let chi: f64 = firsts.iter().map(|c| (c - expected) * (c - expected) / expected).sum();
            let degrees = (size - 1) as f64;
            assert!((chi - degrees).abs() < 5.0 * (2.0 * degrees).sqrt(), "{size}: {chi}");
        }
    }

    /// HASH-4, by vectors of an independent implementation of `format-spec/hashing.md`.
    #[test]
    fn agrees_with_the_vectors() {
        let mut rows = 0;
        for line in include_str!("../../format-spec/vectors/permutation.tsv").lines().skip(1) {
            let columns: Vec<&str> = line.split('\t').collect();
            let [size, key, images] = columns[..] else { panic!("{line}") };
            let size = size.parse().unwrap();
            let permutation = Permutation::new(size, u64::from_str_radix(key, 16).unwrap());
            let elements = match size {
                0..=100 => (0..size).collect(),
                _ => vec![0, 1, 2, size / 2, size - 2, size - 1],
            };
            let places = elements.iter().map(|x| permutation.place(*x).to_string());
            assert_eq!(places.collect::<Vec<_>>().join(","), images, "{line}");
            rows += 1;
        }
        assert!(rows > 20);
    }
}
