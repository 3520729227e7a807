//! The memtable: the rows committed since the last checkpoint, in memory, with every version.
//!
//! In: commits, in order. Out: the version of a key that a reader sees, ranges in key order, and signatures found
//! by their slots ([`FreshView`]). It must not know about files.
//!
//! A reader names a commit and sees the newest versions up to it. So a snapshot does not change while the writer
//! goes on. Versions are dropped only with the whole table, after its checkpoint.
//!
//! Keys and versions are in growing arrays, and a hash table finds a key. Only ranges and checkpoints need key
//! order. It is brought up to date when they ask for it. Equal signatures are stored once.

mod chains;
mod distinct;
mod owners;

use std::ops::Bound;
use std::sync::Arc;

use byteorder::{BigEndian, ByteOrder};
use hashbrown::HashTable;
use xxhash_rust::xxh3::xxh3_64;

use self::distinct::Distinct;
use self::owners::Owners;
use crate::format::batch::Put;
use crate::kernel::Rows;
use crate::scheme::Scheme;
use crate::sketch::Signature;
use crate::sync::lock_order::MEMTABLE;
use crate::sync::{RankedReadGuard, RankedRwLock, RankedWriteGuard};

/// One version of a key: a new signature, or `None` if the key was deleted.
#[derive(Debug, Clone)]
pub struct Version {
    /// The commit that wrote it.
    pub sequence: u64,
    /// The new signature.
    pub signature: Option<Signature>,
    /// The value that was stored with it.
    pub value: Option<Arc<[u8]>>,
}

/// A key and the version that a reader sees.
pub type Fresh = (Box<[u8]>, Version);

/// The newest version of a key, borrowed from the table.
#[derive(Debug, Clone, Copy)]
pub struct FreshRow<'a> {
    /// The key.
    pub key: &'a [u8],
    /// The commit that wrote it.
    pub sequence: u64,
    /// Whether the key was deleted. The fields below then have no meaning.
    pub deleted: bool,
    /// The planes of the new signature.
    pub planes: &'a [u64],
    /// The cardinality code.
    pub code: u32,
    /// Whether this is the empty set.
    pub empty: bool,
    /// The encoded set, if sets are kept.
    pub set: &'a [u8],
    /// The value, if it has one.
    pub value: Option<&'a [u8]>,
}

/// The rows since the last checkpoint, shared by one writer and any number of readers.
#[derive(Debug)]
pub struct Memtable {
    scheme: Arc<Scheme>,
    inner: RankedRwLock<MEMTABLE, Inner>,
}

#[derive(Debug)]
struct Inner {
    /// The bytes of all keys, concatenated.
    bytes: Vec<u8>,
    keys: Vec<Key>,
    versions: Vec<Row>,
    /// The values of versions that have one.
    values: Vec<Arc<[u8]>>,
    value_bytes: usize,
    signatures: Distinct,
    /// Which keys have, or had, each signature.
    owners: Owners,
    /// Key numbers by the hash of the key.
    by_hash: HashTable<u32>,
    /// Key numbers in key order. Covers the first `in_order.len()` keys.
    in_order: Vec<u32>,
    last: u64,
}

#[derive(Debug, Clone, Copy)]
struct Key {
    /// The first eight bytes as a number. Most comparisons need no more.
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
    /// The previous version of the same key, or `NONE`.
    older: u32,
    /// The number of its value in `values`, or `NONE`.
    value: u32,
    what: What,
}

#[derive(Debug, Clone, Copy)]
enum What {
    Deleted,
    Empty,
    /// The number of its signature in `signatures`.
    Signature(u32),
}

const NONE: u32 = u32::MAX;

/// Approximate bytes of a value, without its own.
const VALUE_BYTES: usize = 48;

impl Memtable {
    /// Creates an empty table.
    pub fn new(scheme: &Arc<Scheme>) -> Memtable {
        let inner = Inner {
            bytes: Vec::new(),
            keys: Vec::new(),
            versions: Vec::new(),
            values: Vec::new(),
            value_bytes: 0,
            signatures: Distinct::new(scheme),
            owners: Owners::default(),
            by_hash: HashTable::new(),
            in_order: Vec::new(),
            last: 0,
        };
        Memtable { scheme: Arc::clone(scheme), inner: RankedRwLock::new(inner) }
    }

    /// Returns the scheme of its signatures.
    pub fn scheme(&self) -> &Arc<Scheme> {
        &self.scheme
    }

    fn read(&self) -> RankedReadGuard<'_, MEMTABLE, Inner> {
        self.inner.read()
    }

    fn write(&self) -> RankedWriteGuard<'_, MEMTABLE, Inner> {
        self.inner.write()
    }

    /// Returns the table after bringing its key order up to date.
    fn ordered(&self) -> RankedReadGuard<'_, MEMTABLE, Inner> {
        let inner = self.read();
        if inner.in_order.len() == inner.keys.len() {
            return inner;
        }
        drop(inner);
        let mut inner = self.write();
        inner.order();
        inner.downgrade()
    }

    /// Applies a commit. Its sequence must be above all earlier ones.
    pub fn apply<'a>(
        &self,
        sequence: u64,
        operations: impl Iterator<Item = (&'a [u8], Option<Put<'a>>)>,
    ) {
        let mut inner = self.write();
        operations.for_each(|(key, put)| inner.push(sequence, key, put));
        inner.last = sequence;
    }

    /// Returns the version of a key as of commit `sequence`, or `None` if no commit up to it touched the key.
    pub fn get(&self, key: &[u8], sequence: u64) -> Option<Version> {
        let inner = self.read();
        let row = inner.find(key)?.at(&inner, sequence)?;
        Some(self.version(&inner, row))
    }

    /// Whether any commit up to `sequence` touched the key. The caller may hold a view of an older memtable. That cannot
    /// deadlock: only the newest memtable has a writer, and that writer holds no other memtable.
    pub fn has(&self, key: &[u8], sequence: u64) -> bool {
        let inner = self.inner.read_beside();
        inner.find(key).is_some_and(|found| found.at(&inner, sequence).is_some())
    }

    /// Returns a view for finding signatures. It blocks commits while it is held.
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
        Version { sequence: row.sequence, signature, value: inner.value(row).cloned() }
    }

    /// Returns up to `most` keys within bounds, in key order, as of commit `sequence`. Includes deleted keys.
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

    /// Visits the newest version of each key, in key order. Blocks commits meanwhile, so use it only on tables that
    /// take no more of them.
    pub fn each<E>(&self, mut visit: impl FnMut(FreshRow<'_>) -> Result<(), E>) -> Result<(), E> {
        let inner = self.ordered();
        let mut planes = vec![0; self.scheme.words_per_signature()];
        let empty_set: &[u8] = if self.scheme.elements.are_kept() { &[0] } else { &[] };
        inner.in_order.iter().try_for_each(|number| {
            let key = &inner.keys[*number as usize];
            let row = inner.versions[key.newest as usize];
            let Row { sequence, what, .. } = row;
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
                value: inner.value(row).map(|value| &**value),
            })
        })
    }

    /// Returns the number of versions, the measure of the table's size.
    pub fn versions(&self) -> usize {
        self.read().versions.len()
    }

    /// Returns the approximate number of bytes in use.
    pub fn bytes(&self) -> usize {
        let inner = self.read();
        inner.bytes.len()
            + inner.signatures.bytes()
            + inner.owners.bytes()
            + inner.keys.len() * (size_of::<Key>() + 12)
            + inner.versions.len() * size_of::<Row>()
            + inner.value_bytes
    }

    /// Whether a version has a value.
    pub fn has_values(&self) -> bool {
        !self.read().values.is_empty()
    }

    /// Returns the last commit in the table, or 0.
    pub fn last(&self) -> u64 {
        self.read().last
    }
}

/// The distinct signatures of a memtable, numbered from 0, and the keys that have them.
#[derive(Debug)]
pub struct FreshView<'a> {
    inner: RankedReadGuard<'a, MEMTABLE, Inner>,
}

impl FreshView<'_> {
    /// Returns the number of distinct signatures.
    pub fn signatures(&self) -> u32 {
        self.inner.signatures.len()
    }

    /// Returns all signatures, in order of their numbers.
    pub fn rows(&self) -> Rows<'_> {
        self.inner.signatures.rows()
    }

    /// Returns the cardinality code of a signature.
    pub fn code(&self, number: u32) -> u32 {
        self.inner.signatures.code(number)
    }

    /// Appends the elements of a signature's set, if the scheme keeps sets.
    pub fn elements(&self, number: u32, into: &mut Vec<u64>) {
        self.inner.signatures.elements(number, into);
    }

    /// Prefetches what [`with_value`](FreshView::with_value) will read for these slots and values.
    pub fn prefetch(&self, wanted: impl Iterator<Item = (usize, u32)> + Clone) {
        self.inner.signatures.prefetch(wanted);
    }

    /// Returns the numbers of all signatures that have this value in this slot, each once and in no order. May
    /// include signatures that do not.
    pub fn with_value(&self, slot: usize, value: u32) -> impl Iterator<Item = u32> + '_ {
        self.inner.signatures.with_value(slot, value)
    }

    /// Returns the keys that have a signature as of commit `sequence`, in ascending order.
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
    /// Returns the newest version up to a commit.
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

    /// Returns the value of a version.
    fn value(&self, row: Row) -> Option<&Arc<[u8]>> {
        self.values.get(row.value as usize)
    }

    /// Adds a value, and returns its number.
    fn push_value(&mut self, value: Option<&Arc<[u8]>>) -> u32 {
        let Some(value) = value else { return NONE };
        self.values.push(Arc::clone(value));
        self.value_bytes += value.len() + VALUE_BYTES;
        self.values.len() as u32 - 1
    }

    fn push(&mut self, sequence: u64, key: &[u8], put: Option<Put<'_>>) {
        let newest = self.versions.len() as u32;
        let what = match put {
            None => What::Deleted,
            Some((signature, _)) if signature.is_empty() => What::Empty,
            Some((signature, _)) => What::Signature(self.signatures.add(signature)),
        };
        let value = self.push_value(put.and_then(|(_, value)| value));
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
        self.versions.push(Row { sequence, older, value, what });
    }

    /// Brings the key order up to date: sorts the new keys and merges them in.
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

/// The first eight bytes of a key, as a number that sorts as the keys do.
fn prefix(key: &[u8]) -> u64 {
    let mut bytes = [0; 8];
    bytes.iter_mut().zip(key).for_each(|(to, from)| *to = *from);
    BigEndian::read_u64(&bytes)
}

#[cfg(test)]
mod tests;
