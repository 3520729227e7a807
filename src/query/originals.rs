//! Reads original sets, so that answers are exact.
//!
//! In: a function from keys to sets. Out: sets in ascending order without repeats. Each set is checked against the
//! stored signature of its key, so that an exact answer is about the sets that were stored. Recently used sets are
//! cached. Keys whose set is gone or has changed are recorded.

use std::collections::BTreeMap;
use std::sync::Arc;

use lru::LruCache;

use crate::error::Result;
use crate::sketch::{Signature, Sketcher};
use crate::store::state::State;
use crate::sync::Ranked;
use crate::sync::lock_order::ORIGINALS;

/// The most bytes in the cache, by default.
const DEFAULT_MEMORY: usize = 256 << 20;

/// About how many bytes a cached set takes beside its key, elements and signature.
const BYTES_PER_SET: usize = 128;

/// Reads a set by its key; `None` if it is gone.
type Fetch<'a> = Box<dyn Fn(&[u8]) -> Result<Option<Vec<u64>>> + Sync + 'a>;

/// Where the original sets of a database can be read, so that queries, pairs and clusters count common elements instead
/// of estimating.
///
/// The function returns the elements of the set that was stored under a key, in any order, or `None` if the set is
/// gone. Several threads call it at once. If it fails, the request fails with its error. A set whose signature is not
/// the stored one has changed. Sets that are gone or have changed are not compared with anything;
/// [`lost`](Originals::lost) lists them.
///
/// ```
/// use std::collections::HashMap;
/// use ringer::{Database, Options, Originals, Scheme};
/// let folder = tempfile::tempdir()?;
/// let db = Database::create(folder.path().join("x.ringer"), &Scheme::near_duplicate(), Options::default())?;
/// let sets = HashMap::from([
///     (&b"a"[..], (0..100).collect::<Vec<u64>>()),
///     (b"b", (5..105).collect()),
///     (b"c", (9..109).collect()),
/// ]);
/// for (key, set) in &sets {
///     db.put(key, set)?;
/// }
/// let originals = Originals::new(|key| Ok(sets.get(key).cloned()));
/// let pairs = db.snapshot().pairs(0.9).verify(&originals).collect()?;
/// let pair = pairs.last().expect("b and c share 96 of 104 elements");
/// assert!(pair.comparison.is_exact());
/// assert_eq!(pair.similarity().value, 96.0 / 104.0);
/// assert!(originals.lost().is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Originals<'a> {
    fetch: Fetch<'a>,
    memory: usize,
    /// Whether sets are known to be those that were sketched, so that their signatures are not checked.
    kept: bool,
    cache: Ranked<ORIGINALS, Cache>,
    lost: Ranked<ORIGINALS, BTreeMap<Box<[u8]>, Lost>>,
}

/// Why an original could not be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Lost {
    /// The set cannot be read any more.
    Gone,
    /// The set is not the one whose signature is stored.
    Changed,
}

/// Sets that were used recently.
struct Cache {
    sets: LruCache<Box<[u8]>, Cached>,
    bytes: usize,
}

impl std::fmt::Debug for Originals<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Originals").field("memory", &self.memory).finish_non_exhaustive()
    }
}

impl<'a> Originals<'a> {
    /// Returns originals that a function reads by key.
    pub fn new(fetch: impl Fn(&[u8]) -> Result<Option<Vec<u64>>> + Sync + 'a) -> Originals<'a> {
        let cache = Cache { sets: LruCache::unbounded(), bytes: 0 };
        Originals {
            fetch: Box::new(fetch),
            memory: DEFAULT_MEMORY,
            kept: false,
            cache: Ranked::new(cache),
            lost: Ranked::default(),
        }
    }

    /// Returns the sets that a database keeps.
    pub(crate) fn kept(state: &'a State) -> Originals<'a> {
        let fetch = |key: &[u8]| {
            let stored = state.signature(key)?;
            Ok(stored.and_then(|signature| signature.elements().map(<[u64]>::to_vec)))
        };
        Originals { kept: true, ..Originals::new(fetch) }
    }

    /// Trusts that every set is the one that was sketched, in ascending order and without repeats, so that its
    /// signature is not computed again. Other sets give wrong counts.
    pub fn trusted(mut self) -> Originals<'a> {
        self.kept = true;
        self
    }

    /// Sets how many bytes of sets may be cached, by default 256 MiB. Each thread holds up to two more sets.
    pub fn memory(mut self, bytes: usize) -> Originals<'a> {
        self.memory = bytes;
        self
    }

    /// Returns the keys whose sets could not be used so far, in ascending order.
    pub fn lost(&self) -> Vec<(Box<[u8]>, Lost)> {
        self.lost.lock().iter().map(|(key, lost)| (key.clone(), *lost)).collect()
    }

    /// The set under a key. If it is gone or does not have the stored signature, records it as lost and returns `None`.
    pub(crate) fn set(
        &self,
        key: &[u8],
        sketcher: &Sketcher,
        stored: impl FnOnce() -> Result<Signature>,
    ) -> Result<Option<Arc<[u64]>>> {
        let cached = self.cache.lock().sets.get(key).cloned();
        if self.kept
            && let Some(cached) = cached
        {
            return Ok(Some(cached.set));
        }
        let stored = if self.kept { None } else { Some(stored()?) };
        // The set under the key may have been replaced since it was cached.
        if let (Some(cached), Some(stored)) = (cached, &stored)
            && cached.has_signature(stored)
        {
            return Ok(Some(cached.set));
        }
        let Some(mut set) = (self.fetch)(key)? else {
            self.lost.lock().insert(key.into(), Lost::Gone);
            return Ok(None);
        };
        let mut signature = None;
        if let Some(stored) = stored {
            set.sort_unstable();
            set.dedup();
            let now = sketcher.sketch(&set)?;
            if !same_signature(&now, &stored) {
                self.lost.lock().insert(key.into(), Lost::Changed);
                return Ok(None);
            }
            signature = Some(stored);
        }
        self.lost.lock().remove(key);
        let cached = Cached { set: set.into(), signature };
        self.keep(key, &cached);
        Ok(Some(cached.set))
    }

    fn keep(&self, key: &[u8], new: &Cached) {
        let bytes = |key: &[u8], cached: &Cached| {
            let signature = cached.signature.as_ref().map_or(0, |s| size_of_val(s.planes()));
            key.len() + size_of_val(&*cached.set) + signature + BYTES_PER_SET
        };
        let new_bytes = bytes(key, new);
        if new_bytes > self.memory {
            return;
        }
        let mut cache = self.cache.lock();
        cache.bytes += new_bytes;
        if let Some(old) = cache.sets.put(key.into(), new.clone()) {
            cache.bytes -= bytes(key, &old);
        }
        while cache.bytes > self.memory {
            let Some((key, old)) = cache.sets.pop_lru() else { break };
            cache.bytes -= bytes(&key, &old);
        }
    }
}

/// A set in the cache.
#[derive(Clone)]
struct Cached {
    set: Arc<[u64]>,
    /// The stored signature of its key. Kept sets need none.
    signature: Option<Signature>,
}

impl Cached {
    fn has_signature(&self, stored: &Signature) -> bool {
        self.signature.as_ref().is_some_and(|signature| same_signature(signature, stored))
    }
}

/// Whether two signatures are equal, apart from kept elements.
fn same_signature(a: &Signature, b: &Signature) -> bool {
    a.planes() == b.planes()
        && a.is_empty() == b.is_empty()
        && a.cardinality_code() == b.cardinality_code()
}
