//! The mixing function, and the keys derived from a seed. Normative: `format-spec/hashing.md`.
//!
//! In: a seed or a word. Out: keys and hashes. All randomness of the samplers comes from here, so every version and
//! every machine draws the same numbers.

/// The odd increment between the keys of a stream: 2^64 over the golden ratio.
pub(crate) const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// A bijection of 64-bit words whose high bits depend on every input bit, so that words can be ordered by it (HASH-1).
#[inline(always)]
pub(crate) const fn stir(mut x: u64) -> u64 {
    x ^= x >> 27;
    x = x.wrapping_mul(0x3C79_AC49_2BA7_B653);
    x ^= x >> 33;
    x.wrapping_mul(0x1C69_B3F7_4AC4_AE35)
}

/// Mixes the high bits of a stirred word into its low bits (HASH-1).
#[inline(always)]
pub(crate) const fn settle(x: u64) -> u64 {
    x ^ (x >> 27)
}

/// A bijection of 64-bit words whose every output bit depends on every input bit (HASH-1).
#[inline(always)]
pub(crate) const fn mix(x: u64) -> u64 {
    settle(stir(x))
}

/// The purpose of a stream of keys (HASH-3). Streams of one seed are unrelated.
#[derive(Clone, Copy)]
pub(crate) enum Purpose {
    /// The key for elements of the open universe.
    Elements = 1,
    /// One key per sample, to mix it with.
    Samples = 2,
    /// One key per permutation of a bounded universe.
    Permutations = 3,
    /// One key per bin, to remix a sample that is copied into it.
    Copies = 4,
    /// One key per bin, for its order of donors.
    Donors = 5,
    /// One key per block of lazy samples.
    Blocks = 6,
    /// One key per sample, to settle ties.
    Ties = 7,
    /// One key per weighted sample.
    Weights = 8,
    /// One key per projection.
    Projections = 9,
    /// One key per order in which elements visit the bins.
    Visits = 10,
    /// The key for the hashes of kept elements, where fewer than 64 bits are kept.
    Kept = 15,
}

/// An endless sequence of keys.
#[derive(Clone, Copy)]
pub(crate) struct Keys(u64);

impl Keys {
    /// The keys of `seed` for one purpose (HASH-2).
    pub(crate) const fn new(seed: u64, purpose: Purpose) -> Keys {
        Keys(mix(seed.wrapping_add(GOLDEN.wrapping_mul(purpose as u64))))
    }

    /// The keys derived from another key (HASH-2).
    pub(crate) const fn below(key: u64) -> Keys {
        Keys(key)
    }

    /// Key number `index` (HASH-2).
    #[inline]
    pub(crate) const fn key(self, index: u64) -> u64 {
        mix(self.0.wrapping_add(GOLDEN.wrapping_mul(index.wrapping_add(1))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// HASH-1, HASH-2 and HASH-3, by vectors of an independent implementation of the specification.
    #[test]
    fn agrees_with_the_vectors() {
        let hex = |text: &str| u64::from_str_radix(text, 16).unwrap();
        let mut kinds = std::collections::BTreeMap::new();
        for line in include_str!("../../format-spec/vectors/hash.tsv").lines().skip(1) {
            let columns: Vec<&str> = line.split('\t').collect();
            let [kind, input, output] = columns[..] else { panic!("{line}") };
            let parts: Vec<&str> = input.split(',').collect();
            let value = match (kind, &parts[..]) {
                ("mix", [x]) => mix(hex(x)),
                ("key", [w, i]) => Keys::below(hex(w)).key(i.parse().unwrap()),
                ("keys", [seed, purpose, i]) => {
                    let purpose = match *purpose {
                        "1" => Purpose::Elements,
                        "2" => Purpose::Samples,
                        "3" => Purpose::Permutations,
                        "4" => Purpose::Copies,
                        "5" => Purpose::Donors,
                        "6" => Purpose::Blocks,
                        "7" => Purpose::Ties,
                        "8" => Purpose::Weights,
                        "9" => Purpose::Projections,
                        "10" => Purpose::Visits,
                        _ => panic!("{line}"),
                    };
                    Keys::new(hex(seed), purpose).key(i.parse().unwrap())
                }
                ("xxh3", [bytes]) => {
                    let pairs = bytes.as_bytes().chunks(2);
                    let byte = |p: &[u8]| hex(std::str::from_utf8(p).unwrap()) as u8;
                    xxhash_rust::xxh3::xxh3_64(&pairs.map(byte).collect::<Vec<_>>())
                }
                _ => panic!("{line}"),
            };
            assert_eq!(value, hex(output), "{line}");
            *kinds.entry(kind).or_insert(0) += 1;
        }
        assert!(kinds.len() == 4 && kinds.values().all(|rows| *rows > 5), "{kinds:?}");
    }
}
