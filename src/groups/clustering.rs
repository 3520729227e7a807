//! Clusters that grow with a database: a new set joins them by one query.
//!
//! In: stored keys, one after the other. Out: the cluster of each key, as a run over the whole database finds it, since
//! connected components do not depend on the order of pairs. Deleted and replaced sets are not noticed: what they linked
//! stays linked.

use hashbrown::HashTable;
use xxhash_rust::xxh3::xxh3_64;

use crate::error::{Error, Result};
use crate::estimate::Accept;
use crate::query::{Like, Query};
use crate::sketch::Sketcher;
use crate::store::state::State;

/// Connected clusters of keys, kept by the caller.
///
/// It lives in memory, and takes about 40 bytes and the key itself for each key. To keep it longer, store what
/// [`iter`](Clustering::iter) gives, and [`link`](Clustering::link) that again.
///
/// ```
/// use ringer::{Clustering, Database, Options, Scheme};
/// let folder = tempfile::tempdir()?;
/// let db = Database::create(folder.path().join("x.ringer"), &Scheme::near_duplicate(), Options::default())?;
/// let mut clusters = Clustering::new(0.7)?;
/// for (key, from) in [("b", 0_u64), ("a", 5), ("z", 900)] {
///     db.put(key, &(from..from + 100).collect::<Vec<_>>())?;
///     db.snapshot().join(&mut clusters, key)?;
/// }
/// assert_eq!(clusters.representative("b"), Some(&b"a"[..]));
/// assert_eq!(clusters.representative("z"), Some(&b"z"[..]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Clustering {
    min: f64,
    accept: Accept,
    keys: Vec<Box<[u8]>>,
    /// For each key a smaller one of its cluster, or itself if it is the smallest: a union-find forest.
    parents: Vec<u32>,
    by_hash: HashTable<u32>,
}

/// The result of a key that joined.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Joined {
    /// The smallest key of its cluster.
    pub representative: Box<[u8]>,
    /// How many sets it matches.
    pub matches: usize,
    /// Whether there were more candidates than a query compares, so that matches may be missing.
    pub truncated: bool,
}

impl Clustering {
    /// Returns clusters without keys. Sets are linked if their similarity is at least `min`, from 0 to 1: the resemblance, or the cosine
    /// where the database measures that.
    pub fn new(min: f64) -> Result<Clustering> {
        if !(0.0..=1.0).contains(&min) {
            return Err(Error::invalid(
                format!("least similarity {min}"),
                "it must be from 0 to 1",
            ));
        }
        let by_hash = HashTable::new();
        let accept = Accept::default();
        Ok(Clustering { min, accept, keys: Vec::new(), parents: Vec::new(), by_hash })
    }

    /// Sets what must reach the least similarity: the estimate (the default), or one of the ends of its 99.9 % interval. Call this
    /// before the first key joins, so that the same rule decides about all keys.
    #[must_use]
    pub fn accept(mut self, accept: Accept) -> Clustering {
        self.accept = accept;
        self
    }

    /// Returns the number of keys.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether there are no keys.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Returns the least similarity of linked sets.
    pub fn min_similarity(&self) -> f64 {
        self.min
    }

    /// Returns the smallest key of a key's cluster, which may be itself; `None` if it never joined.
    pub fn representative(&self, key: impl AsRef<[u8]>) -> Option<&[u8]> {
        let number = self.find(key.as_ref())?;
        Some(&self.keys[self.root(number) as usize])
    }

    /// Iterates over all keys in no particular order, each with the smallest key of its cluster.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        (0..).zip(&self.keys).map(|(i, key)| (&**key, &*self.keys[self.root(i) as usize]))
    }

    /// Links two keys. A key linked with itself is only added.
    pub fn link(&mut self, a: impl AsRef<[u8]>, b: impl AsRef<[u8]>) {
        let (a, b) = (self.number_or_add(a.as_ref()), self.number_or_add(b.as_ref()));
        let (a, b) = (self.root_with_halving(a), self.root_with_halving(b));
        let smaller = self.keys[a as usize] <= self.keys[b as usize];
        let (low, high) = if smaller { (a, b) } else { (b, a) };
        self.parents[high as usize] = low;
    }

    /// Returns the clusters of two keys or more: keys in ascending order, clusters in the order of their first keys.
    pub fn clusters(&self) -> Vec<Vec<&[u8]>> {
        let mut all: Vec<(&[u8], &[u8])> = self.iter().map(|(key, first)| (first, key)).collect();
        all.sort_unstable();
        let several = all.chunk_by(|a, b| a.0 == b.0).filter(|cluster| cluster.len() > 1);
        several.map(|cluster| cluster.iter().map(|(_, key)| *key).collect()).collect()
    }

    /// Adds a stored key, and links it with all sets that match it.
    pub(crate) fn join(
        &mut self,
        state: &State,
        sketcher: &Sketcher,
        key: &[u8],
    ) -> Result<Joined> {
        let query = Query::new(state, sketcher, Like::Key(key));
        let answer = query.min_similarity(self.min).accept(self.accept).run()?;
        self.link(key, key);
        answer.matches.iter().for_each(|found| self.link(key, &found.key));
        let representative = self.representative(key).unwrap_or(key).into();
        Ok(Joined { representative, matches: answer.matches.len(), truncated: answer.truncated })
    }

    /// The number of a key.
    fn find(&self, key: &[u8]) -> Option<u32> {
        self.by_hash.find(xxh3_64(key), |number| *self.keys[*number as usize] == *key).copied()
    }

    /// The number of a key, which is added if it is new.
    fn number_or_add(&mut self, key: &[u8]) -> u32 {
        if let Some(number) = self.find(key) {
            return number;
        }
        let (number, keys) = (self.keys.len() as u32, &mut self.keys);
        keys.push(key.into());
        self.parents.push(number);
        let hash_of = |number: &u32| xxh3_64(&keys[*number as usize]);
        self.by_hash.insert_unique(xxh3_64(key), number, hash_of);
        number
    }

    /// The smallest key of a cluster.
    fn root(&self, mut number: u32) -> u32 {
        while self.parents[number as usize] != number {
            number = self.parents[number as usize];
        }
        number
    }

    /// The same. Halves the path to the root.
    fn root_with_halving(&mut self, mut number: u32) -> u32 {
        while self.parents[number as usize] != number {
            let grandparent = self.parents[self.parents[number as usize] as usize];
            self.parents[number as usize] = grandparent;
            number = grandparent;
        }
        number
    }
}
