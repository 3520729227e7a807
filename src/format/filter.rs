//! A Bloom filter of the keys of one leaf: it rules out most absent keys without reading the leaf. Implements
//! `format-spec/segment.md`.
//!
//! In: hashes of keys. Out: the bits of a filter, and its answers. With ten bits per key and six probes, about one
//! absent key in a hundred passes. A filter is derived data. A wrong "no" would hide a row, so `check` compares
//! every filter with its leaf.

use xxhash_rust::xxh3::xxh3_64;

/// The bits of a filter for each key.
const BITS_PER_KEY: usize = 10;

/// The number of probes for each key.
const PROBES: u32 = 6;

/// The hash of a key. It is computed once for all filters that are asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyHash(u64);

impl KeyHash {
    /// Hashes a key with XXH3-64.
    pub fn of(key: &[u8]) -> KeyHash {
        KeyHash(xxh3_64(key))
    }

    /// The positions of the bits of this key in a filter of `bits` bits (FILTER-1).
    fn probes(self, bits: u64) -> impl Iterator<Item = u64> {
        let (step, start) = (self.0 >> 32 | 1, self.0 & 0xFFFF_FFFF);
        (0..PROBES).map(move |i| {
            let at = start.wrapping_add(step.wrapping_mul(u64::from(i))) & 0xFFFF_FFFF;
            at.wrapping_mul(bits) >> 32
        })
    }
}

/// The length in bytes of the filter of a leaf with `keys` keys.
pub fn filter_bytes(keys: usize) -> usize {
    keys.saturating_mul(BITS_PER_KEY).div_ceil(8)
}

/// Builds the filter of these keys.
pub fn build(keys: &[KeyHash]) -> Vec<u8> {
    let mut filter = vec![0; filter_bytes(keys.len())];
    let bits = u64::try_from(filter.len()).unwrap_or(0).saturating_mul(8);
    for bit in keys.iter().flat_map(|key| key.probes(bits)) {
        if let Some(byte) = usize::try_from(bit >> 3).ok().and_then(|at| filter.get_mut(at)) {
            *byte |= 1 << (bit & 7);
        }
    }
    filter
}

/// False if the leaf certainly does not hold the key. An empty filter excludes nothing.
pub fn may_contain(filter: &[u8], key: KeyHash) -> bool {
    let bits = u64::try_from(filter.len()).unwrap_or(0).saturating_mul(8);
    key.probes(bits).all(|bit| {
        let byte = usize::try_from(bit >> 3).ok().and_then(|at| filter.get(at));
        byte.is_none_or(|byte| byte >> (bit & 7) & 1 == 1)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_key_is_denied() {
        for n in [1, 2, 7, 400] {
            let keys: Vec<_> = (0..n).map(|i: u32| KeyHash::of(&i.to_le_bytes())).collect();
            let filter = build(&keys);
            assert!(keys.iter().all(|key| may_contain(&filter, *key)));
        }
    }

    /// About (1 - e^(-6/10))^6 = .84 % of 20,000 absent keys pass. The test allows 5 standard errors.
    #[test]
    fn few_absent_keys_pass() {
        let keys: Vec<_> = (0..400_u32).map(|i| KeyHash::of(&i.to_le_bytes())).collect();
        let filter = build(&keys);
        let absent = (1_000_000..1_020_000_u32).map(|i| KeyHash::of(&i.to_le_bytes()));
        let passed = absent.filter(|key| may_contain(&filter, *key)).count();
        let expected = 20_000.0 * (1.0 - (-0.6_f64).exp()).powi(6);
        assert!((passed as f64 - expected).abs() < 5.0 * expected.sqrt(), "{passed} {expected}");
    }

    /// FILTER-1, computed independently for single keys. Some of their high halves are even and some are odd.
    #[test]
    fn the_probes_are_those_of_the_specification() {
        let mut odd = 0;
        for key in [&b"key"[..], b"a", b"b", b"c", b"d", b"e", b"f", b"g"] {
            let hash = xxh3_64(key);
            odd += hash >> 32 & 1;
            let (start, step) = (hash as u32, (hash >> 32) as u32 | 1);
            let mut expected = [0_u8; 2];
            for i in 0..6_u32 {
                let at = start.wrapping_add(step.wrapping_mul(i));
                let bit = (u64::from(at) * 16) >> 32;
                expected[bit as usize / 8] |= 1 << (bit % 8);
            }
            assert_eq!(build(&[KeyHash::of(key)]), expected);
            let all = (0..6_u32).map(|i| u64::from(start.wrapping_add(step.wrapping_mul(i))));
            assert!(KeyHash::of(key).probes(1 << 32).eq(all));
        }
        assert!((1..8).contains(&odd));
    }
}
