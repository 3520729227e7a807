//! The builder of a query.
//!
//! In: what to look for, and conditions. Out: an answer, or an error before anything is read.

use std::borrow::Cow;

use super::answer::{Answer, Scores};
use super::exact;
use super::explain::{Explanation, Plan, Trace};
use super::originals::Originals;
use super::search::{self, SearchOptions};
use crate::error::Result;
use crate::estimate::Accept;
use crate::matching::{Requirements, Threshold};
use crate::sketch::{Document, Signature, Sketcher};
use crate::store::state::State;

/// Matches that are returned when neither a number nor a threshold was asked for.
const DEFAULT_TOP: usize = 10;

/// Candidates that are compared before an answer is truncated.
const DEFAULT_MAX_CANDIDATES: usize = 100_000;

/// What to look for.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Like<'a> {
    /// Sets like the set of this text, by [its features in the scheme](Sketcher::sketch_text).
    Text(&'a str),
    /// Sets like the set of these [bytes of a file](Sketcher::sketch_bytes).
    Bytes(&'a [u8]),
    /// Sets like the set of this [HTML page](Sketcher::sketch_html).
    Html(&'a [u8]),
    /// Sets like this set of features. Where the database measures by weights, a feature that occurs n times has the
    /// weight n.
    Features(&'a [u64]),
    /// Sets like this set of features with weights, or like this vector.
    Weighted(&'a [(u64, f64)]),
    /// Sets like a stored set. The set itself is left out.
    Key(&'a [u8]),
    /// Sets like the set with this signature, which must be of the database's scheme.
    Signature(&'a Signature),
}

impl<'a> Like<'a> {
    /// The features of what to look for, unless only a key, a signature or weights are given.
    pub(super) fn features(self, sketcher: &Sketcher) -> Result<Option<Cow<'a, [u64]>>> {
        let document = match self {
            Like::Text(text) => Document::text(text),
            Like::Bytes(bytes) => Document::bytes(bytes),
            Like::Html(page) => Document::html(page),
            Like::Features(features) => return Ok(Some(Cow::Borrowed(features))),
            Like::Weighted(_) | Like::Key(_) | Like::Signature(_) => return Ok(None),
        };
        sketcher.features_of(document).map(Cow::Owned).map(Some)
    }
}

/// A question to a snapshot.
///
/// ```
/// use ringer::{Database, Like, Options, Scheme};
/// let folder = tempfile::tempdir()?;
/// let db = Database::create(folder.path().join("x.ringer"), &Scheme::near_duplicate(), Options::default())?;
/// db.put("a", &(0..100).collect::<Vec<_>>())?;
/// db.put("b", &(5..105).collect::<Vec<_>>())?;
/// db.put("c", &(900..999).collect::<Vec<_>>())?;
/// let answer = db.snapshot().query(Like::Key(b"a")).min_resemblance(0.5).run()?;
/// assert_eq!(&*answer.matches[0].key, b"b");
/// assert!(answer.matches[0].similarity().low > 0.7);
/// assert_eq!(answer.matches.len(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
#[must_use = "a query does nothing until it is run"]
pub struct Query<'a> {
    pub(super) state: &'a State,
    pub(super) sketcher: &'a Sketcher,
    pub(super) like: Like<'a>,
    pub(super) originals: Option<&'a Originals<'a>>,
    requirements: Requirements,
    top: Option<usize>,
    plan: Option<Plan>,
    max_candidates: usize,
    pub(super) with_values: bool,
}

impl<'a> Query<'a> {
    /// A query to a state. `sketcher` is one of the database's scheme.
    #[doc(hidden)]
    pub fn new(state: &'a State, sketcher: &'a Sketcher, like: Like<'a>) -> Query<'a> {
        Query {
            state,
            sketcher,
            like,
            originals: None,
            requirements: Requirements::default(),
            top: None,
            plan: None,
            max_candidates: DEFAULT_MAX_CANDIDATES,
            with_values: false,
        }
    }

    /// Returns the best n matches only. Default: all matches if there is a [threshold](Query::min_resemblance), and the
    /// best 10 otherwise.
    pub fn top(mut self, n: usize) -> Query<'a> {
        self.top = Some(n);
        self
    }

    /// Sets the least resemblance, weighted or not, from 0 to 1. By default the estimate must reach it;
    /// [`accept`](Query::accept) and [`verify`](Query::verify) change that. A database of vectors rejects it:
    /// [`Error::OtherMeasure`](crate::Error::OtherMeasure).
    pub fn min_resemblance(mut self, resemblance: f64) -> Query<'a> {
        self.requirements.threshold = Some(Threshold::resemblance(resemblance));
        self
    }

    /// Sets the least cosine, from -1 to 1, by the same rules. A database of sets rejects it:
    /// [`Error::OtherMeasure`](crate::Error::OtherMeasure).
    pub fn min_cosine(mut self, cosine: f64) -> Query<'a> {
        self.requirements.threshold = Some(Threshold::cosine(cosine));
        self
    }

    /// Sets the least similarity in the measure of the database.
    pub fn min_similarity(mut self, similarity: f64) -> Query<'a> {
        self.requirements.threshold = Some(Threshold::similarity(similarity));
        self
    }

    /// Sets the least number of slots that a match has in common with the query. Default: the scheme's number.
    pub fn min_matches(mut self, slots: u32) -> Query<'a> {
        self.requirements.min_matches = Some(slots);
        self
    }

    /// Compares every signature, so that sets without matching slots are found too. The threshold still applies, and
    /// [`accept`](Query::accept) says to what. Queries of a scheme without slots are always exhaustive.
    pub fn exhaustive(mut self) -> Query<'a> {
        self.requirements.exhaustive = true;
        self
    }

    /// Lets slots match if their values differ in one bit. This finds more for small b and many samples per slot, and reads
    /// one more posting list for each bit of a value. Slot values must not be hashed.
    pub fn within_hamming_1(mut self) -> Query<'a> {
        self.requirements.within_hamming_1 = true;
        self
    }

    /// Sets the plan, instead of the one with the least estimated cost. The answer is the same.
    pub fn plan(mut self, plan: Plan) -> Query<'a> {
        self.plan = Some(plan);
        self
    }

    /// Sets how many distinct candidates are compared before the answer is [truncated](Answer::truncated). Default 100,000.
    /// A candidate takes 8 bytes while the query runs.
    pub fn max_candidates(mut self, candidates: usize) -> Query<'a> {
        self.max_candidates = candidates;
        self
    }

    /// Sets what must reach the threshold: the estimate (the default), or one of the ends of its 99.9 % interval.
    pub fn accept(mut self, accept: Accept) -> Query<'a> {
        self.requirements.accept = accept;
        self
    }

    /// Decides by the sets themselves. With a threshold, common elements are counted for all sets that
    /// [possibly](Accept::Possible) reach it, and those that do are returned. Without one, the best candidates by their
    /// signatures, a few times as many as are wanted, are counted and ranked. Sets that cannot be read again, or have
    /// changed, are left out, and [`Originals::lost`] lists them. Works for sets without weights only, and not for a
    /// [`Like::Signature`] that has no set.
    pub fn verify(mut self, originals: &'a Originals<'a>) -> Query<'a> {
        self.originals = Some(originals);
        self
    }

    /// Returns the [value](super::Match::value) of each match. Values are read for the final matches only; without this
    /// option none is read.
    ///
    /// ```
    /// use ringer::{Database, Like, Scheme};
    /// let db = Database::in_memory(&Scheme::near_duplicate())?;
    /// let mut batch = db.batch();
    /// batch.put("a", &(0..100).collect::<Vec<_>>())?.with_value("shelf 7")?;
    /// db.commit(batch)?;
    /// let set: Vec<u64> = (5..105).collect();
    /// let answer = db.snapshot().query(Like::Features(&set)).with_values().run()?;
    /// assert_eq!(answer.matches[0].value.as_deref(), Some(&b"shelf 7"[..]));
    /// # Ok::<(), ringer::Error>(())
    /// ```
    pub fn with_values(mut self) -> Query<'a> {
        self.with_values = true;
        self
    }

    /// Finds the answer.
    pub fn run(&self) -> Result<Answer> {
        search::search(self, None)
    }

    /// Finds the answer, and returns keys, equal samples and similarities only. The matches are the same as those of
    /// [`run`](Query::run). No interval is computed, as [`Match::similarity`](super::Match::similarity) does, so this is
    /// for programs that only rank.
    ///
    /// ```
    /// use ringer::{Database, Like, Scheme};
    /// let db = Database::in_memory(&Scheme::near_duplicate())?;
    /// db.put("a", &(0..100).collect::<Vec<_>>())?;
    /// db.put("b", &(5..105).collect::<Vec<_>>())?;
    /// let best = db.snapshot().query(Like::Key(b"a")).top(1).scores()?;
    /// assert_eq!(&*best.scores[0].key, b"b");
    /// assert!(best.scores[0].similarity > 0.7);
    /// # Ok::<(), ringer::Error>(())
    /// ```
    pub fn scores(&self) -> Result<Scores> {
        self.run().map(Scores::from)
    }

    /// Finds the answer, and reports how it was found.
    pub fn explain(&self) -> Result<Explanation> {
        let mut trace = Trace::default();
        let answer = search::search(self, Some(&mut trace))?;
        let conditions = self.search_options()?.conditions;
        Ok(Explanation::new(self, conditions, answer, trace))
    }

    /// Whether matches are decided by counting common elements.
    pub(super) fn counts_elements(&self) -> bool {
        self.originals.is_some() || self.state.scheme.elements.are_exact()
    }

    /// What was asked for, checked against the scheme.
    pub(super) fn search_options(&self) -> Result<SearchOptions> {
        let scheme = &self.state.scheme;
        let conditions = self.requirements.check(scheme)?;
        if self.counts_elements() {
            exact::check(scheme, self.like)?;
        }
        let scan_only = self.requirements.exhaustive || scheme.slots.count == 0;
        let all = if conditions.has_threshold() { usize::MAX } else { DEFAULT_TOP };
        Ok(SearchOptions {
            conditions,
            top: self.top.unwrap_or(all),
            plan: if scan_only { Some(Plan::Scan) } else { self.plan },
            max_candidates: self.max_candidates,
        })
    }
}
