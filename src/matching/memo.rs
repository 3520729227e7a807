//! Results that are costly to compute and often needed again.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, Hasher, RandomState};

/// The most entries. A full map is emptied before the next entry is added. The common entries come back soon.
const CAPACITY: usize = 1 << 16;

/// A bounded map from questions to their answers.
#[derive(Debug)]
pub(super) struct Memo<K, V>(HashMap<K, V, Folding>);

impl<K, V> Default for Memo<K, V> {
    fn default() -> Memo<K, V> {
        Memo(HashMap::with_hasher(Folding::new()))
    }
}

impl<K: Eq + Hash, V: Copy> Memo<K, V> {
    /// The value of a key, if it was computed before.
    pub(super) fn get(&self, key: &K) -> Option<V> {
        self.0.get(key).copied()
    }

    /// Keeps a value, and returns it.
    pub(super) fn insert(&mut self, key: K, value: V) -> V {
        if self.0.len() >= CAPACITY {
            self.0.clear();
        }
        self.0.insert(key, value);
        value
    }
}

/// Hashes a few integers several times as fast as SipHash: a join looks up answers for every pair. It starts with a random
/// state, so that no input can be made whose keys collide.
#[derive(Debug, Clone, Copy)]
struct Folding(u64);

impl Folding {
    /// 2^64 divided by the golden ratio.
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

    fn new() -> Folding {
        Folding(RandomState::new().hash_one(0))
    }
}

impl BuildHasher for Folding {
    type Hasher = Folding;

    fn build_hasher(&self) -> Folding {
        *self
    }
}

impl Hasher for Folding {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64((*byte).into()));
    }

    fn write_u32(&mut self, value: u32) {
        self.write_u64(value.into());
    }

    fn write_u64(&mut self, value: u64) {
        let product = u128::from(self.0 ^ value) * u128::from(Folding::FACTOR);
        self.0 = (product >> 64) as u64 ^ product as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_memo_starts_again() {
        let mut memo = Memo::default();
        for key in 0..=CAPACITY {
            assert_eq!(memo.insert(key, key + 1), key + 1);
        }
        assert_eq!(memo.get(&0), None);
        assert_eq!(memo.get(&CAPACITY), Some(CAPACITY + 1));
        assert_eq!(memo.0.len(), 1);
    }

    /// As many different hashes, in their upper and in their lower bits, as random numbers would have.
    #[test]
    fn hashes_of_small_keys_are_spread() {
        let hasher = Folding::new();
        for shift in [0, 48] {
            let keys = (0..256_u32).flat_map(|a| (0..256_u32).map(move |b| (a, b)));
            let hashes = keys.map(|key| hasher.hash_one(key) >> shift & 0xffff);
            let different = hashes.collect::<std::collections::HashSet<u64>>().len();
            // Random numbers would have 41,427, give or take 80.
            assert!(different > 38_000, "{different} {hasher:?}");
        }
    }
}
