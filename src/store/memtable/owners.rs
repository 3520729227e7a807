//! Maps a signature to the keys that have, or had, it, smallest key first.
//!
//! A query needs only the smallest keys of a signature, so a hundred thousand duplicate rows must cost it no more
//! than ten. Most signatures have one key. Only signatures with several keys get an ordered map. The memtable
//! decides whether a key still has the signature as of a reader's commit.

use std::collections::{BTreeMap, HashMap};

/// Approximate bytes of a map entry, without the key.
const ENTRY_BYTES: usize = 40;

/// Key numbers by signature number.
#[derive(Debug, Default)]
pub(super) struct Owners {
    /// The first key that had each signature.
    first: Vec<u32>,
    /// All keys of each signature that several keys have had.
    several: HashMap<u32, BTreeMap<Box<[u8]>, u32>>,
    bytes: usize,
}

impl Owners {
    /// Records that a key has a signature, which may be the next new one. `bytes_of` returns the bytes of this key
    /// and of any earlier key.
    pub(super) fn add<'b>(&mut self, signature: u32, key: u32, bytes_of: impl Fn(u32) -> &'b [u8]) {
        let Some(first) = self.first.get(signature as usize).copied() else {
            return self.first.push(key);
        };
        if first == key {
            return;
        }
        let keys = self.several.entry(signature).or_insert_with(|| {
            self.bytes += bytes_of(first).len() + ENTRY_BYTES;
            BTreeMap::from([(bytes_of(first).into(), first)])
        });
        if keys.insert(bytes_of(key).into(), key).is_none() {
            self.bytes += bytes_of(key).len() + ENTRY_BYTES;
        }
    }

    /// Returns the keys that have, or had, a signature, in ascending order, each once.
    pub(super) fn of(&self, signature: u32) -> impl Iterator<Item = u32> + '_ {
        let several = self.several.get(&signature);
        let alone = if several.is_none() { self.first.get(signature as usize) } else { None };
        several.into_iter().flat_map(BTreeMap::values).chain(alone).copied()
    }

    /// Returns the approximate number of bytes in use.
    pub(super) fn bytes(&self) -> usize {
        4 * self.first.len() + self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_rise_and_come_once() {
        let keys: Vec<&[u8]> = vec![b"m", b"z", b"a", b"", b"aa", b"other"];
        let mut owners = Owners::default();
        let add = |owners: &mut Owners, signature, key: u32| {
            owners.add(signature, key, |key| keys[key as usize]);
        };
        let of = |owners: &Owners, signature| owners.of(signature).collect::<Vec<_>>();
        add(&mut owners, 0, 0);
        add(&mut owners, 1, 5);
        (0..3).for_each(|_| add(&mut owners, 0, 0));
        assert_eq!((of(&owners, 0), of(&owners, 1), of(&owners, 2)), (vec![0], vec![5], vec![]));
        let before = owners.bytes();
        (1..5).for_each(|key| add(&mut owners, 0, key));
        assert_eq!(of(&owners, 0), [3, 2, 4, 0, 1]);
        let after = owners.bytes();
        assert!(after > before + 5 * ENTRY_BYTES);
        (0..5).for_each(|key| add(&mut owners, 0, key));
        assert_eq!((of(&owners, 0), owners.bytes()), (vec![3, 2, 4, 0, 1], after));
        assert_eq!(of(&owners, 1), [5]);
    }
}
