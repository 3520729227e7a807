//! Results that are costly to compute and often needed again.

use std::hash::Hash;

use hashbrown::HashMap;

/// The most entries. A full map is emptied before the next entry is added. The common entries come back soon.
const CAPACITY: usize = 1 << 16;

/// A bounded map from questions to their answers. A join looks up an answer for every pair, so hashing must be fast.
#[derive(Debug)]
pub(super) struct Memo<K, V>(HashMap<K, V>);

impl<K, V> Default for Memo<K, V> {
    fn default() -> Memo<K, V> {
        Memo(HashMap::new())
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
}
