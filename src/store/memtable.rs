//! Fresh rows in memory: what was committed since the last checkpoint, by key, with every version.
//!
//! A reader names the commit it stands at and sees the newest version not after it, so a snapshot stays
//! as it is while the writer goes on. Versions are dropped with the whole table, after its checkpoint.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ops::Bound;
use std::sync::{PoisonError, RwLock};

use crate::sketch::Signature;

/// What became of a key in one commit: a new signature, or `None` where it was deleted.
#[derive(Debug, Clone)]
pub struct Version {
    /// The commit.
    pub sequence: u64,
    /// The new signature.
    pub signature: Option<Signature>,
}

/// A key's versions, the newest apart from the others.
#[derive(Debug)]
struct Versions {
    newest: Version,
    older: Vec<Version>,
}

impl Versions {
    fn at(&self, sequence: u64) -> Option<&Version> {
        let all = std::iter::once(&self.newest).chain(self.older.iter().rev());
        all.into_iter().find(|version| version.sequence <= sequence)
    }
}

#[derive(Debug, Default)]
struct Inner {
    keys: BTreeMap<Box<[u8]>, Versions>,
    versions: usize,
    bytes: usize,
    last: u64,
}

/// A table of fresh rows. Shared by one writer and any number of readers.
#[derive(Debug, Default)]
pub struct Memtable {
    inner: RwLock<Inner>,
}

/// A key with the version that a reader sees.
pub type Fresh = (Box<[u8]>, Version);

impl Memtable {
    /// Applies a commit, which must come after all that are there.
    pub fn apply(&self, sequence: u64, operations: Vec<(Box<[u8]>, Option<Signature>)>) {
        let mut inner = self.inner.write().unwrap_or_else(PoisonError::into_inner);
        let inner = &mut *inner;
        for (key, signature) in operations {
            inner.versions += 1;
            inner.bytes += key.len() + signature.as_ref().map_or(0, |s| 8 * s.planes().len());
            let version = Version { sequence, signature };
            match inner.keys.entry(key) {
                Entry::Vacant(entry) => {
                    entry.insert(Versions { newest: version, older: Vec::new() });
                }
                Entry::Occupied(mut entry) => {
                    let versions = entry.get_mut();
                    let older = std::mem::replace(&mut versions.newest, version);
                    versions.older.push(older);
                }
            }
        }
        inner.last = sequence;
    }

    /// What became of a key by the commit `sequence`; `None` if it was not touched.
    pub fn get(&self, key: &[u8], sequence: u64) -> Option<Version> {
        let inner = self.inner.read().unwrap_or_else(PoisonError::into_inner);
        inner.keys.get(key)?.at(sequence).cloned()
    }

    /// Whether a key was touched by the commit `sequence`.
    pub fn has(&self, key: &[u8], sequence: u64) -> bool {
        let inner = self.inner.read().unwrap_or_else(PoisonError::into_inner);
        inner.keys.get(key).is_some_and(|versions| versions.at(sequence).is_some())
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
        if is_empty_range(from, to) {
            return Vec::new();
        }
        let inner = self.inner.read().unwrap_or_else(PoisonError::into_inner);
        let keys = inner.keys.range::<[u8], _>((from, to));
        let seen = keys.filter_map(|(key, versions)| Some((key, versions.at(sequence)?)));
        seen.take(most).map(|(key, version)| (key.clone(), version.clone())).collect()
    }

    /// Visits the newest version of each key, in key order. Commits wait meanwhile, so this is for tables
    /// that take no more.
    pub fn each<E>(
        &self,
        mut visit: impl FnMut(&[u8], &Version) -> Result<(), E>,
    ) -> Result<(), E> {
        let inner = self.inner.read().unwrap_or_else(PoisonError::into_inner);
        inner.keys.iter().try_for_each(|(key, versions)| visit(key, &versions.newest))
    }

    /// How many versions it holds: the measure of its size.
    pub fn versions(&self) -> usize {
        self.inner.read().unwrap_or_else(PoisonError::into_inner).versions
    }

    /// Bytes of keys and signatures in it.
    pub fn bytes(&self) -> usize {
        self.inner.read().unwrap_or_else(PoisonError::into_inner).bytes
    }

    /// The last commit in it; 0 if there is none.
    pub fn last(&self) -> u64 {
        self.inner.read().unwrap_or_else(PoisonError::into_inner).last
    }
}

/// Whether no key lies within bounds. `BTreeMap::range` panics on some of those.
pub fn is_empty_range(from: Bound<&[u8]>, to: Bound<&[u8]>) -> bool {
    match (from, to) {
        (Bound::Included(a), Bound::Included(b)) => a > b,
        (Bound::Included(a) | Bound::Excluded(a), Bound::Excluded(b)) => a >= b,
        (Bound::Excluded(a), Bound::Included(b)) => a >= b,
        _ => false,
    }
}
