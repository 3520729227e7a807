//! Fresh rows in memory: what was committed since the last checkpoint, by key, with every version.
//!
//! A reader names the commit it stands at and sees the newest version not after it, so a snapshot stays
//! as it is while the writer goes on. Versions are dropped with the whole table, after its checkpoint.
//!
//! Keys, versions and words lie in four growing arrays; a hash table finds a key. Key order is needed by
//! ranges and checkpoints only, and is brought up to date when they ask.

use std::ops::Bound;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use hashbrown::HashTable;
use xxhash_rust::xxh3::xxh3_64;

use crate::scheme::Scheme;
use crate::sketch::Signature;

/// What became of a key in one commit: a new signature, or `None` where it was deleted.
#[derive(Debug, Clone)]
pub struct Version {
    /// The commit.
    pub sequence: u64,
    /// The new signature.
    pub signature: Option<Signature>,
}

/// A key with the version that a reader sees.
pub type Fresh = (Box<[u8]>, Version);

/// The newest version of a key, where it lies.
#[derive(Debug, Clone, Copy)]
pub struct FreshRow<'a> {
    /// The key.
    pub key: &'a [u8],
    /// The commit.
    pub sequence: u64,
    /// Whether the key was deleted; then there is nothing else.
    pub deleted: bool,
    /// The words of the new signature.
    pub planes: &'a [u64],
    /// Its cardinality code.
    pub code: u32,
    /// Whether it is that of the empty set.
    pub empty: bool,
}

/// A table of fresh rows. Shared by one writer and any number of readers.
#[derive(Debug)]
pub struct Memtable {
    scheme: Arc<Scheme>,
    inner: RwLock<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    /// The bytes of all keys, one after the other.
    bytes: Vec<u8>,
    keys: Vec<Key>,
    versions: Vec<Row>,
    /// The words of all signatures that have any.
    planes: Vec<u64>,
    /// Key numbers by the hash of the key.
    by_hash: HashTable<u32>,
    /// Key numbers in key order: those of the first keys, as many as there are numbers here.
    in_order: Vec<u32>,
    last: u64,
}

#[derive(Debug, Clone, Copy)]
struct Key {
    /// The first eight bytes as a number: most comparisons need no more.
    prefix: u64,
    hash: u64,
    start: usize,
    length: u16,
    newest: u32,
}

/// One version of a key.
#[derive(Debug, Clone, Copy)]
struct Row {
    sequence: u64,
    /// The version before it, or `NONE`.
    older: u32,
    code: u32,
    what: What,
}

#[derive(Debug, Clone, Copy)]
enum What {
    Deleted,
    Empty,
    /// Where its words start.
    Words(usize),
}

const NONE: u32 = u32::MAX;

impl Memtable {
    /// An empty table.
    pub fn new(scheme: &Arc<Scheme>) -> Memtable {
        Memtable { scheme: Arc::clone(scheme), inner: RwLock::default() }
    }

    fn read(&self) -> RwLockReadGuard<'_, Inner> {
        self.inner.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Inner> {
        self.inner.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// The table with its keys in order.
    fn ordered(&self) -> RwLockReadGuard<'_, Inner> {
        let inner = self.read();
        if inner.in_order.len() == inner.keys.len() {
            return inner;
        }
        drop(inner);
        let mut inner = self.write();
        inner.order();
        RwLockWriteGuard::downgrade(inner)
    }

    /// Applies a commit, which must come after all that are there.
    pub fn apply<'a>(
        &self,
        sequence: u64,
        operations: impl Iterator<Item = (&'a [u8], Option<&'a Signature>)>,
    ) {
        let mut inner = self.write();
        operations.for_each(|(key, signature)| inner.push(sequence, key, signature));
        inner.last = sequence;
    }

    /// What became of a key by the commit `sequence`; `None` if it was not touched.
    pub fn get(&self, key: &[u8], sequence: u64) -> Option<Version> {
        let inner = self.read();
        let row = inner.find(key)?.at(&inner, sequence)?;
        Some(self.version(&inner, row))
    }

    /// Whether a key was touched by the commit `sequence`.
    pub fn has(&self, key: &[u8], sequence: u64) -> bool {
        let inner = self.read();
        inner.find(key).is_some_and(|found| found.at(&inner, sequence).is_some())
    }

    fn version(&self, inner: &Inner, row: Row) -> Version {
        let words = self.scheme.words_per_signature();
        let signature = |planes: Box<[u64]>, empty| {
            Signature::from_planes(Arc::clone(&self.scheme), planes, row.code, empty)
        };
        let signature = match row.what {
            What::Deleted => None,
            What::Empty => Some(signature(vec![0; words].into(), true)),
            What::Words(start) => Some(signature(inner.planes[start..start + words].into(), false)),
        };
        Version { sequence: row.sequence, signature }
    }

    /// The next keys within bounds, at most `most`, as they were at the commit `sequence`, deleted ones
    /// too.
    pub fn next(
        &self,
        from: Bound<&[u8]>,
        to: Bound<&[u8]>,
        sequence: u64,
        most: usize,
    ) -> Vec<Fresh> {
        let inner = self.ordered();
        let key_of = |number: &u32| inner.key_bytes(&inner.keys[*number as usize]);
        let start = match from {
            Bound::Included(from) => inner.in_order.partition_point(|n| key_of(n) < from),
            Bound::Excluded(from) => inner.in_order.partition_point(|n| key_of(n) <= from),
            Bound::Unbounded => 0,
        };
        let keys = inner.in_order[start..].iter().take_while(|number| match to {
            Bound::Included(to) => key_of(number) <= to,
            Bound::Excluded(to) => key_of(number) < to,
            Bound::Unbounded => true,
        });
        let seen = keys.filter_map(|number| {
            let row = inner.keys[*number as usize].at(&inner, sequence)?;
            Some((key_of(number).into(), self.version(&inner, row)))
        });
        seen.take(most).collect()
    }

    /// Visits the newest version of each key, in key order. Commits wait meanwhile, so this is for tables
    /// that take no more.
    pub fn each<E>(&self, mut visit: impl FnMut(FreshRow<'_>) -> Result<(), E>) -> Result<(), E> {
        let inner = self.ordered();
        let words = self.scheme.words_per_signature();
        let zeros = vec![0; words];
        inner.in_order.iter().try_for_each(|number| {
            let key = &inner.keys[*number as usize];
            let Row { sequence, code, what, .. } = inner.versions[key.newest as usize];
            visit(FreshRow {
                key: inner.key_bytes(key),
                sequence,
                deleted: matches!(what, What::Deleted),
                planes: match what {
                    What::Words(start) => &inner.planes[start..start + words],
                    What::Deleted | What::Empty => &zeros,
                },
                code,
                empty: matches!(what, What::Empty),
            })
        })
    }

    /// How many versions it holds: the measure of its size.
    pub fn versions(&self) -> usize {
        self.read().versions.len()
    }

    /// Bytes that it takes, about.
    pub fn bytes(&self) -> usize {
        let inner = self.read();
        inner.bytes.len()
            + 8 * inner.planes.len()
            + inner.keys.len() * (size_of::<Key>() + 12)
            + inner.versions.len() * size_of::<Row>()
    }

    /// The last commit in it; 0 if there is none.
    pub fn last(&self) -> u64 {
        self.read().last
    }
}

impl Key {
    /// The newest version not after a commit.
    fn at(&self, inner: &Inner, sequence: u64) -> Option<Row> {
        let mut number = self.newest;
        while number != NONE {
            let row = inner.versions[number as usize];
            if row.sequence <= sequence {
                return Some(row);
            }
            number = row.older;
        }
        None
    }
}

impl Inner {
    fn key_bytes(&self, key: &Key) -> &[u8] {
        &self.bytes[key.start..][..usize::from(key.length)]
    }

    fn find(&self, key: &[u8]) -> Option<&Key> {
        let hash = xxh3_64(key);
        let number = self.by_hash.find(hash, |number| {
            let found = &self.keys[*number as usize];
            found.hash == hash && self.key_bytes(found) == key
        })?;
        Some(&self.keys[*number as usize])
    }

    fn push(&mut self, sequence: u64, key: &[u8], signature: Option<&Signature>) {
        let what = match signature {
            None => What::Deleted,
            Some(signature) if signature.is_empty() => What::Empty,
            Some(signature) => {
                self.planes.extend_from_slice(signature.planes());
                What::Words(self.planes.len() - signature.planes().len())
            }
        };
        let code = signature.map_or(0, Signature::cardinality_code);
        let (keys, bytes, hash) = (&mut self.keys, &mut self.bytes, xxh3_64(key));
        let found = self.by_hash.find(hash, |number| {
            let found = &keys[*number as usize];
            found.hash == hash && bytes[found.start..][..usize::from(found.length)] == *key
        });
        let newest = self.versions.len() as u32;
        let mut older = NONE;
        match found {
            Some(number) => {
                let found = &mut keys[*number as usize];
                older = std::mem::replace(&mut found.newest, newest);
            }
            None => {
                let number = keys.len() as u32;
                let (prefix, start, length) = (prefix(key), bytes.len(), key.len() as u16);
                keys.push(Key { prefix, hash, start, length, newest });
                bytes.extend_from_slice(key);
                self.by_hash.insert_unique(hash, number, |number| keys[*number as usize].hash);
            }
        }
        self.versions.push(Row { sequence, older, code, what });
    }

    /// Brings the order of keys up to date: new ones are sorted and merged in.
    fn order(&mut self) {
        let old = std::mem::take(&mut self.in_order);
        let mut new: Vec<u32> = (old.len() as u32..self.keys.len() as u32).collect();
        new.sort_unstable_by(|a, b| self.compare(*a, *b));
        let mut merged = Vec::with_capacity(self.keys.len());
        let mut old = &old[..];
        for number in new {
            let before = old.partition_point(|o| self.compare(*o, number).is_lt());
            merged.extend_from_slice(&old[..before]);
            merged.push(number);
            old = &old[before..];
        }
        merged.extend_from_slice(old);
        self.in_order = merged;
    }

    fn compare(&self, a: u32, b: u32) -> std::cmp::Ordering {
        let (a, b) = (&self.keys[a as usize], &self.keys[b as usize]);
        a.prefix.cmp(&b.prefix).then_with(|| self.key_bytes(a).cmp(self.key_bytes(b)))
    }
}

/// The first bytes of a key, in an order that agrees with that of keys.
fn prefix(key: &[u8]) -> u64 {
    let mut bytes = [0; 8];
    bytes.iter_mut().zip(key).for_each(|(to, from)| *to = *from);
    u64::from_be_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sketch::Sketcher;
    use std::collections::BTreeMap;

    /// Against a map of maps: every key at every commit, and ranges while keys are still coming in.
    #[test]
    fn every_commit_can_be_read_again() {
        let scheme = Arc::new(Scheme::near_duplicate());
        let sketcher = Sketcher::new(&scheme);
        let table = Memtable::new(&scheme);
        let mut oracle: BTreeMap<Vec<u8>, BTreeMap<u64, Option<Signature>>> = BTreeMap::new();
        let mut random = 7_u64;
        let mut draw = |below: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(99);
            (random >> 33) % below
        };
        for sequence in 1..=300 {
            let mut operations = BTreeMap::new();
            for _ in 0..=draw(4) {
                let n = draw(40);
                let key = format!("{}{n}", "a".repeat(n as usize % 12)).into_bytes();
                let set: Vec<u64> = (0..draw(3)).map(|i| n + i).collect();
                let put = draw(3) > 0;
                operations.insert(key, put.then(|| sketcher.sketch(&set).unwrap()));
            }
            table.apply(sequence, operations.iter().map(|(k, s)| (&**k, s.as_ref())));
            for (key, signature) in operations {
                oracle.entry(key).or_default().insert(sequence, signature);
            }
            let at = 1 + draw(sequence);
            let seen = |versions: &BTreeMap<u64, Option<Signature>>| {
                versions.range(..=at).next_back().map(|(s, signature)| (*s, signature.clone()))
            };
            for (key, versions) in &oracle {
                let found = table.get(key, at).map(|v| (v.sequence, v.signature));
                assert_eq!(found, seen(versions));
                assert_eq!(table.has(key, at), seen(versions).is_some());
            }
            if draw(5) == 0 {
                let from = format!("a{}", draw(9)).into_bytes();
                let expected: Vec<_> = oracle
                    .range(from.clone()..)
                    .filter_map(|(key, versions)| Some((key.clone(), seen(versions)?)))
                    .take(10)
                    .collect();
                let found = table.next(Bound::Included(&from), Bound::Unbounded, at, 10);
                let found: Vec<_> = found
                    .into_iter()
                    .map(|(k, v)| (k.to_vec(), (v.sequence, v.signature)))
                    .collect();
                assert_eq!(found, expected);
            }
        }
        assert_eq!((table.last(), table.get(b"absent", 300).is_none()), (300, true));
    }
}
