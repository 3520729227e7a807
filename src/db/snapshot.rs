//! A fixed view of a database.
//!
//! In: a state and keys, ranges or questions. Out: rows in key order, comparisons, and the builders of queries, pairs,
//! clusters and triples. A snapshot never reads a later state.

use std::iter::FusedIterator;
use std::ops::{Bound, RangeBounds};
use std::sync::Arc;

use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::estimate::{Comparison, Counts};
use crate::groups::{Clustering, Clusters, Joined, Pairs, Triples};
use crate::query::{Answer, Like, Originals, Query};
use crate::scheme::Scheme;
use crate::sketch::{Signature, Sketcher};
use crate::store::range::Walk;
use crate::store::state::{State, Stored};
use crate::sync::can_spread;

/// A fixed view of a database. Later commits, merges and vacuums do not change what it shows.
#[derive(Debug, Clone)]
pub struct Snapshot {
    state: Arc<State>,
    sketcher: Arc<Sketcher>,
}

impl Snapshot {
    pub(super) fn new(state: Arc<State>, sketcher: Arc<Sketcher>) -> Snapshot {
        Snapshot { state, sketcher }
    }

    /// Returns the scheme of all signatures.
    pub fn scheme(&self) -> &Scheme {
        &self.state.scheme
    }

    /// Returns the sequence of the last commit that the snapshot shows.
    pub fn sequence(&self) -> u64 {
        self.state.sequence
    }

    /// Returns the set that is stored under a key, and its value.
    pub fn get(&self, key: impl AsRef<[u8]>) -> Result<Option<Stored>> {
        self.state.get(key.as_ref())
    }

    /// Returns the value that was stored with a key; `None` if there is no such key, or if it has no value. It reads no
    /// signature. Use it for the keys of pairs and clusters.
    ///
    /// ```
    /// use ringer::{Database, Scheme};
    ///
    /// let db = Database::in_memory(&Scheme::default())?;
    /// let mut batch = db.batch();
    /// batch.put_text("a", "Never put off till tomorrow")?.with_value("Franklin")?;
    /// db.commit(batch)?;
    /// assert_eq!(db.snapshot().value("a")?.as_deref(), Some(&b"Franklin"[..]));
    /// # Ok::<(), ringer::Error>(())
    /// ```
    pub fn value(&self, key: impl AsRef<[u8]>) -> Result<Option<Arc<[u8]>>> {
        self.state.value(key.as_ref())
    }

    /// Whether there may be values: false only if no key has one. It reads nothing.
    pub fn has_values(&self) -> bool {
        self.state.has_values()
    }

    /// Compares the signatures of two stored sets.
    pub fn compare(&self, a: impl AsRef<[u8]>, b: impl AsRef<[u8]>) -> Result<Comparison> {
        self.signature(a.as_ref())?.compare(&self.signature(b.as_ref())?)
    }

    /// Compares two stored sets by counting the elements of the originals. If an original cannot be read or has changed, the
    /// comparison remains an estimate, and [`Originals::lost`] has its key.
    pub fn compare_exactly(
        &self,
        a: impl AsRef<[u8]>,
        b: impl AsRef<[u8]>,
        originals: &Originals<'_>,
    ) -> Result<Comparison> {
        let (a, b) = (a.as_ref(), b.as_ref());
        let comparison = self.compare(a, b)?;
        let set = |key| originals.set(key, &self.sketcher, || self.signature(key));
        match (set(a)?, set(b)?) {
            (Some(first), Some(second)) => Ok(comparison.with_counts(Counts::of(&first, &second))),
            _ => Ok(comparison),
        }
    }

    fn signature(&self, key: &[u8]) -> Result<Signature> {
        self.state.signature(key)?.ok_or_else(|| Error::NoSuchKey { key: key.into() })
    }

    /// Starts a query for sets that are similar to a given one. See [`Query`] for its options.
    pub fn query<'a>(&'a self, like: Like<'a>) -> Query<'a> {
        Query::new(&self.state, &self.sketcher, like)
    }

    /// Runs many queries in parallel, and returns the answers in the same order. `refine` sets the options of each query.
    ///
    /// ```no_run
    /// # use ringer::{Database, Like, Options};
    /// # let db = Database::open("x.ringer", Options::default())?;
    /// let sets: Vec<Vec<u64>> = vec![vec![1, 2, 3], vec![3, 4, 5]];
    /// let queries: Vec<Like<'_>> = sets.iter().map(|set| Like::Features(set)).collect();
    /// let answers = db.snapshot().query_all(&queries, |query| query.top(3));
    /// # Ok::<(), ringer::Error>(())
    /// ```
    pub fn query_all<'a>(
        &'a self,
        queries: &[Like<'a>],
        refine: impl Fn(Query<'a>) -> Query<'a> + Sync,
    ) -> Vec<Result<Answer>> {
        let answer = |like: &Like<'a>| refine(self.query(*like)).run();
        if can_spread() {
            queries.par_iter().map(answer).collect()
        } else {
            queries.iter().map(answer).collect()
        }
    }

    /// Starts a search for all pairs of sets with at least this resemblance, or cosine if the database measures that. See
    /// [`Pairs`] for its options.
    pub fn pairs(&self, min: f64) -> Pairs<'_> {
        Pairs::new(&self.state, &self.sketcher, min)
    }

    /// Starts a search for clusters of similar sets, linked by pairs of at least this similarity. See [`Clusters`] for its
    /// options.
    pub fn clusters(&self, min: f64) -> Clusters<'_> {
        Clusters::new(&self.state, &self.sketcher, min)
    }

    /// Adds a stored set to clusters that the caller keeps. This takes one query. If every set joins after it was stored,
    /// the clusters are those of [`clusters`](Snapshot::clusters).
    pub fn join(&self, clusters: &mut Clustering, key: impl AsRef<[u8]>) -> Result<Joined> {
        clusters.join(&self.state, &self.sketcher, key.as_ref())
    }

    /// Starts a search for triples of sets with at least this three-way resemblance. See [`Triples`] for its options.
    pub fn triples(&self, min_resemblance: f64) -> Triples<'_> {
        Triples::new(&self.state, &self.sketcher, min_resemblance)
    }

    /// Whether a set is stored under a key. It reads no signature.
    pub fn contains(&self, key: impl AsRef<[u8]>) -> Result<bool> {
        self.state.contains(key.as_ref())
    }

    /// Returns the number of sets. It takes a lookup for each row of the memtables.
    pub fn len(&self) -> Result<u64> {
        self.state.live_rows()
    }

    /// Whether there are no sets.
    pub fn is_empty(&self) -> Result<bool> {
        Ok(self.keys::<&[u8]>(..).next().transpose()?.is_none())
    }

    /// Iterates over all sets in key order, comparing keys as unsigned bytes.
    ///
    /// ```
    /// # use ringer::{Database, Scheme};
    /// # let db = Database::in_memory(&Scheme::default())?;
    /// # db.put_text("a", "some text")?;
    /// for row in &db.snapshot() {
    ///     let (key, stored) = row?;
    ///     println!("{}: commit {}", key.escape_ascii(), stored.sequence);
    /// }
    /// # assert_eq!(db.snapshot().iter().count(), 1);
    /// # Ok::<(), ringer::Error>(())
    /// ```
    pub fn iter(&self) -> Range<'_> {
        self.range::<&[u8]>(..)
    }

    /// Iterates over the sets whose keys are within bounds, in key order.
    pub fn range<K: AsRef<[u8]>>(&self, bounds: impl RangeBounds<K>) -> Range<'_> {
        Range { walk: Lazy::new(&self.state, &bounds) }
    }

    /// Iterates over the keys within bounds, in order. It reads no signatures.
    pub fn keys<K: AsRef<[u8]>>(&self, bounds: impl RangeBounds<K>) -> Keys<'_> {
        Keys { walk: Lazy::new(&self.state, &bounds) }
    }

    /// Iterates over the sets whose keys start with a prefix, in key order.
    pub fn prefix(&self, prefix: impl AsRef<[u8]>) -> Range<'_> {
        Range { walk: Lazy::prefix(&self.state, prefix.as_ref()) }
    }

    /// Iterates over the keys that start with a prefix, in order.
    pub fn prefix_keys(&self, prefix: impl AsRef<[u8]>) -> Keys<'_> {
        Keys { walk: Lazy::prefix(&self.state, prefix.as_ref()) }
    }
}

/// A walk that starts with the first call of `next`, which can then return the error of starting.
#[derive(Debug)]
enum Lazy<'a> {
    Waiting(&'a State, Bound<Box<[u8]>>, Bound<Box<[u8]>>),
    Walking(Box<Walk<'a>>),
    Done,
}

impl<'a> Lazy<'a> {
    fn new<K: AsRef<[u8]>>(state: &'a State, bounds: &impl RangeBounds<K>) -> Lazy<'a> {
        let own = |bound: Bound<&K>| bound.map(|key| key.as_ref().into());
        Lazy::Waiting(state, own(bounds.start_bound()), own(bounds.end_bound()))
    }

    fn prefix(state: &'a State, prefix: &[u8]) -> Lazy<'a> {
        Lazy::Waiting(state, Bound::Included(prefix.into()), after_prefix(prefix))
    }

    /// Takes one step of the walk. An error ends the walk.
    fn step<T>(
        &mut self,
        step: impl FnOnce(&mut Walk<'a>) -> Result<Option<T>>,
    ) -> Option<Result<T>> {
        if let Lazy::Waiting(state, from, to) = self {
            let bounds = (from.as_ref().map(|k| &**k), to.as_ref().map(|k| &**k));
            match Walk::new(state, bounds.0, bounds.1) {
                Ok(walk) => *self = Lazy::Walking(Box::new(walk)),
                Err(error) => {
                    *self = Lazy::Done;
                    return Some(Err(error));
                }
            }
        }
        let Lazy::Walking(walk) = self else { return None };
        let next = step(walk).transpose();
        if !matches!(next, Some(Ok(_))) {
            *self = Lazy::Done;
        }
        next
    }
}

/// Returns the upper bound of all keys that start with a prefix.
fn after_prefix(prefix: &[u8]) -> Bound<Box<[u8]>> {
    let cut = prefix.iter().rposition(|byte| *byte < u8::MAX);
    cut.map_or(Bound::Unbounded, |last| {
        let mut after: Box<[u8]> = prefix[..=last].into();
        after[last] += 1;
        Bound::Excluded(after)
    })
}

/// An iterator over sets and their keys, in key order. It ends after an error.
#[derive(Debug)]
#[must_use = "nothing is read until the iterator is"]
pub struct Range<'a> {
    walk: Lazy<'a>,
}

impl Iterator for Range<'_> {
    type Item = Result<(Box<[u8]>, Stored)>;

    fn next(&mut self) -> Option<Self::Item> {
        self.walk.step(Walk::next_row)
    }
}

impl FusedIterator for Range<'_> {}

/// An iterator over keys, in order. It ends after an error.
#[derive(Debug)]
#[must_use = "nothing is read until the iterator is"]
pub struct Keys<'a> {
    walk: Lazy<'a>,
}

impl Iterator for Keys<'_> {
    type Item = Result<Box<[u8]>>;

    fn next(&mut self) -> Option<Self::Item> {
        self.walk.step(Walk::next_key)
    }
}

impl FusedIterator for Keys<'_> {}

/// Iterates over all sets in key order.
impl<'a> IntoIterator for &'a Snapshot {
    type Item = Result<(Box<[u8]>, Stored)>;
    type IntoIter = Range<'a>;

    fn into_iter(self) -> Range<'a> {
        self.iter()
    }
}
