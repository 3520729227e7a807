//! Fresh rows in memory: what was committed since the last checkpoint, by key, with every version.
//!
//! A reader names the commit it stands at and sees the newest version not after it, so a snapshot stays
//! as it is while the writer goes on. Versions are dropped with the whole table, after its checkpoint.
//!
//! Keys and versions lie in growing arrays; a hash table finds a key. Key order is needed by ranges and
//! checkpoints only, and is brought up to date when they ask. Equal signatures are kept once, and are
//! found by their slots ([`FreshView`]).

mod chains;
mod distinct;
mod owners;

use std::ops::Bound;
use std::sync::Arc;

use hashbrown::HashTable;
use xxhash_rust::xxh3::xxh3_64;

use self::distinct::Distinct;
use self::owners::Owners;
use crate::kernel::Rows;
use crate::scheme::Scheme;
use crate::sketch::Signature;
use crate::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

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
    /// Its encoded set, if sets are kept.
    pub set: &'a [u8],
}

/// A table of fresh rows. Shared by one writer and any number of readers.
#[derive(Debug)]
pub struct Memtable {
    scheme: Arc<Scheme>,
    inner: RwLock<Inner>,
}

#[derive(Debug)]
struct Inner {
    /// The bytes of all keys, one after the other.
    bytes: Vec<u8>,
    keys: Vec<Key>,
    versions: Vec<Row>,
    signatures: Distinct,
    /// Who has, or had, each signature.
    owners: Owners,
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
    /// The version of its key before it, or `NONE`.
    older: u32,
    what: What,
}

#[derive(Debug, Clone, Copy)]
enum What {
    Deleted,
    Empty,
    /// The number of its signature.
    Signature(u32),
}

const NONE: u32 = u32::MAX;

impl Memtable {
    /// An empty table.
    pub fn new(scheme: &Arc<Scheme>) -> Memtable {
        let inner = Inner {
            bytes: Vec::new(),
            keys: Vec::new(),
            versions: Vec::new(),
            signatures: Distinct::new(scheme),
            owners: Owners::default(),
            by_hash: HashTable::new(),
            in_order: Vec::new(),
            last: 0,
        };
        Memtable { scheme: Arc::clone(scheme), inner: RwLock::new(inner) }
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

    /// A view for finding signatures. Commits wait while it is held.
    pub fn view(&self) -> FreshView<'_> {
        FreshView { inner: self.read() }
    }

    fn version(&self, inner: &Inner, row: Row) -> Version {
        let words = self.scheme.words_per_signature();
        let signature = |planes: Box<[u64]>, code, empty, elements: Vec<u64>| {
            let elements = self.scheme.elements.are_kept().then(|| elements.into());
            Signature::from_planes(Arc::clone(&self.scheme), planes, code, empty, elements)
        };
        let signature = match row.what {
            What::Deleted => None,
            What::Empty => Some(signature(vec![0; words].into(), 0, true, Vec::new())),
            What::Signature(number) => {
                let planes = inner.signatures.planes(number).collect();
                let mut elements = Vec::new();
                inner.signatures.elements(number, &mut elements);
                Some(signature(planes, inner.signatures.code(number), false, elements))
            }
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
        let mut planes = vec![0; self.scheme.words_per_signature()];
        let empty_set: &[u8] = if self.scheme.elements.are_kept() { &[0] } else { &[] };
        inner.in_order.iter().try_for_each(|number| {
            let key = &inner.keys[*number as usize];
            let Row { sequence, what, .. } = inner.versions[key.newest as usize];
            let (code, set) = match what {
                What::Signature(number) => {
                    let words = inner.signatures.planes(number);
                    planes.iter_mut().zip(words).for_each(|(to, from)| *to = from);
                    (inner.signatures.code(number), inner.signatures.set(number))
                }
                What::Deleted | What::Empty => {
                    planes.fill(0);
                    (0, empty_set)
                }
            };
            visit(FreshRow {
                key: inner.key_bytes(key),
                sequence,
                deleted: matches!(what, What::Deleted),
                planes: &planes,
                code,
                empty: matches!(what, What::Empty),
                set,
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
            + inner.signatures.bytes()
            + inner.owners.bytes()
            + inner.keys.len() * (size_of::<Key>() + 12)
            + inner.versions.len() * size_of::<Row>()
    }

    /// The last commit in it; 0 if there is none.
    pub fn last(&self) -> u64 {
        self.read().last
    }
}

/// The signatures of a memtable, numbered from 0, and who has them.
#[derive(Debug)]
pub struct FreshView<'a> {
    inner: RwLockReadGuard<'a, Inner>,
}

impl FreshView<'_> {
    /// How many distinct signatures there are.
    pub fn signatures(&self) -> u32 {
        self.inner.signatures.len()
    }

    /// All of them, in the order of their numbers.
    pub fn rows(&self) -> Rows<'_> {
        self.inner.signatures.rows()
    }

    /// The cardinality code of one.
    pub fn code(&self, number: u32) -> u32 {
        self.inner.signatures.code(number)
    }

    /// Appends the elements of the set of one, if the scheme keeps sets.
    pub fn elements(&self, number: u32, into: &mut Vec<u64>) {
        self.inner.signatures.elements(number, into);
    }

    /// [`with_value`](FreshView::with_value) will be asked for each of these slots and values soon.
    pub fn prefetch(&self, wanted: impl Iterator<Item = (usize, u32)> + Clone) {
        self.inner.signatures.prefetch(wanted);
    }

    /// The numbers of all signatures that have a value in a slot, and of some that have not, each once, in
    /// no order.
    pub fn with_value(&self, slot: usize, value: u32) -> impl Iterator<Item = u32> + '_ {
        self.inner.signatures.with_value(slot, value)
    }

    /// The keys that have a signature at the commit `sequence`, rising.
    pub fn keys_of(&self, number: u32, sequence: u64) -> impl Iterator<Item = &[u8]> {
        let inner = &*self.inner;
        inner.owners.of(number).filter_map(move |key| {
            let key = &inner.keys[key as usize];
            let has = matches!(key.at(inner, sequence)?.what, What::Signature(n) if n == number);
            has.then(|| inner.key_bytes(key))
        })
    }
}

impl Key {
    /// The newest version not after a commit.
    fn at(&self, inner: &Inner, sequence: u64) -> Option<Row> {
        let mut number = self.newest;
        while number != NONE {
            let row = &inner.versions[number as usize];
            if row.sequence <= sequence {
                return Some(*row);
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
        let newest = self.versions.len() as u32;
        let what = match signature {
            None => What::Deleted,
            Some(signature) if signature.is_empty() => What::Empty,
            Some(signature) => What::Signature(self.signatures.add(signature)),
        };
        let (keys, bytes, hash) = (&mut self.keys, &mut self.bytes, xxh3_64(key));
        let found = self.by_hash.find(hash, |number| {
            let found = &keys[*number as usize];
            found.hash == hash && bytes[found.start..][..usize::from(found.length)] == *key
        });
        let mut older = NONE;
        let key = match found {
            Some(number) => {
                let found = &mut keys[*number as usize];
                older = std::mem::replace(&mut found.newest, newest);
                *number
            }
            None => {
                let number = keys.len() as u32;
                let (prefix, start, length) = (prefix(key), bytes.len(), key.len() as u16);
                keys.push(Key { prefix, hash, start, length, newest });
                bytes.extend_from_slice(key);
                self.by_hash.insert_unique(hash, number, |number| keys[*number as usize].hash);
                number
            }
        };
        if let What::Signature(signature) = what {
            self.owners.add(signature, key, |key| {
                let Key { start, length, .. } = keys[key as usize];
                &bytes[start..][..usize::from(length)]
            });
        }
        self.versions.push(Row { sequence, older, what });
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
    use crate::sketch::{Sketcher, SlotReader};
    use std::collections::{BTreeMap, BTreeSet, HashSet};

    /// Against a map of maps: every key at every commit, and ranges while keys are still coming in.
    #[test]
    fn every_commit_can_be_read_again() {
        let scheme = Arc::new(Scheme::precise());
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
        found_by_their_slots(&table, &oracle);
    }

    /// Every key that has a signature is found at every commit, by each of the signature's slots.
    fn found_by_their_slots(
        table: &Memtable,
        oracle: &BTreeMap<Vec<u8>, BTreeMap<u64, Option<Signature>>>,
    ) {
        let (view, reader) = (table.view(), SlotReader::new(&table.scheme));
        let all = oracle.values().flat_map(BTreeMap::values).flatten();
        let all: Vec<&Signature> = all.filter(|signature| !signature.is_empty()).collect();
        let distinct: HashSet<&[u64]> = all.iter().map(|signature| signature.planes()).collect();
        assert_eq!(view.signatures() as usize, distinct.len());
        let mut values = vec![0; reader.count()];
        for (signature, at) in all.into_iter().zip((0..).map(|i| i % 302)) {
            let seen = oracle.iter().filter(|(_, versions)| {
                let last = versions.range(..=at).next_back();
                last.is_some_and(|(_, found)| found.as_ref() == Some(signature))
            });
            let expected: BTreeSet<&[u8]> = seen.map(|(key, _)| &**key).collect();
            reader.read(signature.planes(), &mut values);
            for (slot, value) in values.iter().enumerate() {
                let numbers: Vec<u32> = view.with_value(slot, *value).collect();
                assert_eq!(numbers.iter().collect::<HashSet<_>>().len(), numbers.len());
                let same = |number: &u32| {
                    let planes: Vec<u64> = view.inner.signatures.planes(*number).collect();
                    planes == signature.planes()
                        && view.code(*number) == signature.cardinality_code()
                };
                let number = numbers.into_iter().find(same).unwrap();
                assert!(view.keys_of(number, at).eq(expected.iter().copied()), "all, in order");
            }
        }
    }
}
