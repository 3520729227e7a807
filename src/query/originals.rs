//! Exact answers: where the sets themselves can be read again.
//!
//! In: a function from keys to sets. Out: the same sets in ascending order without repeats, each checked against the
//! signature that is stored for its key, so that an exact answer is one about the stored sets. Sets that were used
//! lately stay in memory, up to a limit. Keys whose set is gone, or is another one by now, are remembered and reported.

use std::collections::BTreeMap;
use std::sync::Arc;

use lru::LruCache;

use crate::error::Result;
use crate::sketch::{Signature, Sketcher};
use crate::store::state::State;
use crate::sync::{Mutex, MutexGuard, PoisonError};

/// Bytes of sets that are kept for the next use.
const DEFAULT_MEMORY: usize = 256 << 20;

/// Bytes that a set takes beside its elements, about.
const BYTES_PER_SET: usize = 128;

/// Reads a set by its key; `None` if there is none any more.
type Fetch<'a> = Box<dyn Fn(&[u8]) -> Result<Option<Vec<u64>>> + Sync + 'a>;

/// Where the original sets of a database can be read again, so that queries, pairs and clusters count common elements instead of
/// estimating.
///
/// The function is called from several threads at once. An error that it returns ends the run. It gives the features that were
/// stored under the key, in any order; `None` where they are gone. A set whose signature is not the stored one has
/// changed since. Neither is compared with anything: [`lost`](Originals::lost) lists them.
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
    /// Whether sets are read from the database itself, and need no comparison with their signatures.
    kept: bool,
    lately: Mutex<Lately>,
    lost: Mutex<BTreeMap<Box<[u8]>, Lost>>,
}

/// Why an original could not be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Lost {
    /// There is no set under the key any more.
    Gone,
    /// The set is not the one whose signature is stored.
    Changed,
}

/// Sets that were used lately.
struct Lately {
    sets: LruCache<Box<[u8]>, Known>,
    bytes: usize,
}

impl std::fmt::Debug for Originals<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Originals").field("memory", &self.memory).finish_non_exhaustive()
    }
}

impl<'a> Originals<'a> {
    /// Originals that a function reads.
    pub fn new(fetch: impl Fn(&[u8]) -> Result<Option<Vec<u64>>> + Sync + 'a) -> Originals<'a> {
        let lately = Lately { sets: LruCache::unbounded(), bytes: 0 };
        Originals {
            fetch: Box::new(fetch),
            memory: DEFAULT_MEMORY,
            kept: false,
            lately: Mutex::new(lately),
            lost: Mutex::new(BTreeMap::new()),
        }
    }

    /// The sets that a database keeps itself.
    pub(crate) fn kept(state: &'a State) -> Originals<'a> {
        let fetch = |key: &[u8]| {
            let stored = state.get(key)?;
            Ok(stored.and_then(|stored| stored.signature.elements().map(<[u64]>::to_vec)))
        };
        Originals { kept: true, ..Originals::new(fetch) }
    }

    /// Bytes of sets that may be kept for their next use; default 256 MiB. Two sets for each thread come on top.
    pub fn memory(mut self, bytes: usize) -> Originals<'a> {
        self.memory = bytes;
        self
    }

    /// The keys whose sets could not be used so far, in order.
    pub fn lost(&self) -> Vec<(Box<[u8]>, Lost)> {
        locked(&self.lost).iter().map(|(key, lost)| (key.clone(), *lost)).collect()
    }

    /// The set under a key, if it is the one that has this signature.
    pub(crate) fn set(
        &self,
        key: &[u8],
        sketcher: &Sketcher,
        stored: impl FnOnce() -> Result<Signature>,
    ) -> Result<Option<Arc<[u64]>>> {
        let known = locked(&self.lately).sets.get(key).cloned();
        if self.kept
            && let Some(known) = known
        {
            return Ok(Some(known.set));
        }
        let stored = if self.kept { None } else { Some(stored()?) };
        // A set under the key may have been replaced since it was read.
        if let (Some(known), Some(stored)) = (known, &stored)
            && known.is_of(stored)
        {
            return Ok(Some(known.set));
        }
        let Some(mut set) = (self.fetch)(key)? else {
            locked(&self.lost).insert(key.into(), Lost::Gone);
            return Ok(None);
        };
        let mut signature = None;
        if let Some(stored) = stored {
            set.sort_unstable();
            set.dedup();
            let now = sketcher.sketch(&set)?;
            if !same(&now, &stored) {
                locked(&self.lost).insert(key.into(), Lost::Changed);
                return Ok(None);
            }
            signature = Some(stored);
        }
        locked(&self.lost).remove(key);
        let known = Known { set: set.into(), signature };
        self.keep(key, &known);
        Ok(Some(known.set))
    }

    fn keep(&self, key: &[u8], known: &Known) {
        let bytes = |key: &[u8], known: &Known| {
            let signature = known.signature.as_ref().map_or(0, |s| size_of_val(s.planes()));
            key.len() + size_of_val(&*known.set) + signature + BYTES_PER_SET
        };
        let new = bytes(key, known);
        if new > self.memory {
            return;
        }
        let mut lately = locked(&self.lately);
        lately.bytes += new;
        if let Some(old) = lately.sets.put(key.into(), known.clone()) {
            lately.bytes -= bytes(key, &old);
        }
        while lately.bytes > self.memory {
            let Some((key, known)) = lately.sets.pop_lru() else { break };
            lately.bytes -= bytes(&key, &known);
        }
    }
}

/// A set that was read.
#[derive(Clone)]
struct Known {
    set: Arc<[u64]>,
    /// What was stored for it. Sets that the database keeps need none.
    signature: Option<Signature>,
}

impl Known {
    fn is_of(&self, stored: &Signature) -> bool {
        self.signature.as_ref().is_some_and(|signature| same(signature, stored))
    }
}

/// Whether two signatures are those of one set, as far as they tell. Neither need carry it.
fn same(a: &Signature, b: &Signature) -> bool {
    a.planes() == b.planes()
        && a.is_empty() == b.is_empty()
        && a.cardinality_code() == b.cardinality_code()
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
