//! What is asked: a query with its conditions, checked before anything is read.

use super::answer::Answer;
use super::exact;
use super::explain::{Explanation, Plan};
use super::originals::Originals;
use super::search;
use crate::error::{Error, Result};
use crate::estimate::law::check_threshold;
use crate::estimate::{Accept, TOLERANCE};
use crate::scheme::{Measure, Scheme};
use crate::sketch::{Signature, Sketcher};
use crate::store::state::State;

/// Matches that are given when neither a number nor a threshold was asked for.
const DEFAULT_TOP: usize = 10;

/// Candidates that are looked at before an answer is cut short.
const DEFAULT_MAX_CANDIDATES: usize = 100_000;

/// What to look for.
#[derive(Debug, Clone, Copy)]
pub enum Like<'a> {
    /// The likes of this set of features. Where the database measures by weights, each counts as often as it comes.
    Features(&'a [u64]),
    /// The likes of this set of features with weights, or of this vector.
    Weighted(&'a [(u64, f64)]),
    /// The likes of a stored set, itself left out.
    Key(&'a [u8]),
    /// The likes of the set that has this signature, which must be of the database's scheme.
    Signature(&'a Signature),
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
    top: Option<usize>,
    threshold: Option<Threshold>,
    min_matches: Option<u32>,
    exhaustive: bool,
    within_hamming_1: bool,
    plan: Option<Plan>,
    max_candidates: usize,
    accept: Accept,
    pub(super) originals: Option<&'a Originals<'a>>,
}

impl<'a> Query<'a> {
    /// A query for the likes of something. `sketcher` is one of the database's scheme.
    pub fn new(state: &'a State, sketcher: &'a Sketcher, like: Like<'a>) -> Query<'a> {
        Query {
            state,
            sketcher,
            like,
            top: None,
            threshold: None,
            min_matches: None,
            exhaustive: false,
            within_hamming_1: false,
            plan: None,
            max_candidates: DEFAULT_MAX_CANDIDATES,
            accept: Accept::Estimate,
            originals: None,
        }
    }

    /// The best n only. Default: all that are [alike enough](Query::min_resemblance), or the best 10 if it was not
    /// said what that is.
    pub fn top(mut self, n: usize) -> Query<'a> {
        self.top = Some(n);
        self
    }

    /// Only sets whose resemblance, weighted or not, is at least this, from 0 to 1. By default the estimate must reach it;
    /// [`accept`](Query::accept) and [`verify`](Query::verify) ask for more. A database of vectors refuses it:
    /// [`Error::OtherMeasure`].
    pub fn min_resemblance(mut self, resemblance: f64) -> Query<'a> {
        self.threshold = Some(Threshold { least: resemblance, of: Some("resemblance") });
        self
    }

    /// Only vectors whose cosine is at least this, by the same rules, from -1 to 1. A database of sets refuses it:
    /// [`Error::OtherMeasure`].
    pub fn min_cosine(mut self, cosine: f64) -> Query<'a> {
        self.threshold = Some(Threshold { least: cosine, of: Some("cosine") });
        self
    }

    /// The same for whatever the database measures.
    pub fn min_similarity(mut self, similarity: f64) -> Query<'a> {
        self.threshold = Some(Threshold { least: similarity, of: None });
        self
    }

    /// Only sets with at least so many slots in common with the query. Default: the scheme's number.
    pub fn min_matches(mut self, slots: u32) -> Query<'a> {
        self.min_matches = Some(slots);
        self
    }

    /// All sets, with or without slots in common: every signature is compared. What [must reach the
    /// threshold](Query::accept) still decides, so that sets whose estimate is too low are left out. A scheme without slots
    /// has no other queries.
    pub fn exhaustive(mut self) -> Query<'a> {
        self.exhaustive = true;
        self
    }

    /// Slots whose values differ in one bit count as common, too. Finds more for small b and many samples
    /// a slot, and reads one list more for each bit of a value. Needs values that are not hashed.
    pub fn within_hamming_1(mut self) -> Query<'a> {
        self.within_hamming_1 = true;
        self
    }

    /// How to find the answer, instead of what seems to cost least. The answer is the same.
    pub fn plan(mut self, plan: Plan) -> Query<'a> {
        self.plan = Some(plan);
        self
    }

    /// Distinct candidates that are looked at before the answer is cut short and says so. Default 100,000.
    /// Candidates take 8 bytes each while the query runs.
    pub fn max_candidates(mut self, candidates: usize) -> Query<'a> {
        self.max_candidates = candidates;
        self
    }

    /// What must reach the least similarity: the estimate (the default), or one of the ends of its 99.9 % interval.
    pub fn accept(mut self, accept: Accept) -> Query<'a> {
        self.accept = accept;
        self
    }

    /// Decides by the sets themselves. With a least resemblance, elements are counted for all sets that
    /// [possibly](Accept::Possible) reach it, and those that do are given. Without one, the best candidates by their
    /// signatures, a few times as many as are wanted, are counted and ranked. Sets that cannot be read again, or have changed,
    /// are left out, and [`Originals::lost`] lists them. For sets without weights only; not for [`Like::Signature`],
    /// which has no set.
    pub fn verify(mut self, originals: &'a Originals<'a>) -> Query<'a> {
        self.originals = Some(originals);
        self
    }

    /// Finds the answer.
    pub fn run(&self) -> Result<Answer> {
        Ok(search::search(self)?.answer)
    }

    /// Finds the answer and says how.
    pub fn explain(&self) -> Result<Explanation> {
        let mut explanation = search::search(self)?;
        if let (Like::Features(features), Measure::Jaccard) = (self.like, self.state.scheme.measure)
        {
            explanation.elements = Some(self.sketcher.count_distinct(features) as f64);
        }
        explanation.shared_donors = self.sketcher.shared_donors();
        Ok(explanation)
    }

    /// The conditions, if they make sense.
    pub(super) fn rule(&self) -> Result<Rule> {
        let scheme = &self.state.scheme;
        let slots = u32::from(scheme.slots.count);
        let threshold = match self.threshold {
            None => f64::NEG_INFINITY,
            Some(threshold) => threshold.checked(scheme)?,
        };
        let least_slots = match self.min_matches {
            Some(m) if m == 0 || m > slots => {
                let limit =
                    format!("the scheme has slots {}: at least 1, at most all", scheme.slots);
                return Err(Error::invalid(format!("min_matches {m}"), limit));
            }
            Some(m) => m,
            None if self.exhaustive => 0,
            None => u32::from(scheme.slots.min_matches),
        };
        if self.within_hamming_1 && !unfolded(scheme) {
            return Err(Error::invalid(
                "within_hamming_1",
                format!(
                    "slots {} are hashed or missing, and hashes have no neighbours",
                    scheme.slots
                ),
            ));
        }
        let plan = if self.exhaustive || slots == 0 { Some(Plan::Scan) } else { self.plan };
        let all = if self.threshold.is_some() { usize::MAX } else { DEFAULT_TOP };
        if self.originals.is_some() || scheme.elements.are_exact() {
            exact::check(scheme, self.like)?;
        }
        Ok(Rule {
            top: self.top.unwrap_or(all),
            threshold,
            accept: self.accept,
            least_slots,
            within_hamming_1: self.within_hamming_1,
            plan,
            max_candidates: self.max_candidates,
        })
    }
}

/// How alike matches must be.
#[derive(Debug, Clone, Copy)]
struct Threshold {
    least: f64,
    /// The similarity that is meant, unless it is whatever the scheme measures.
    of: Option<&'static str>,
}

impl Threshold {
    /// The number, if the scheme measures what is meant and can reach it.
    fn checked(self, scheme: &Scheme) -> Result<f64> {
        if let Some(asked) = self.of
            && asked != scheme.measure.similarity_name()
        {
            return Err(Error::OtherMeasure { asked, measure: scheme.measure.name() });
        }
        check_threshold(scheme, self.least)?;
        Ok(self.least)
    }
}

fn unfolded(scheme: &Scheme) -> bool {
    let slots = scheme.slots;
    let bits = u32::from(slots.samples_per_slot) * u32::from(scheme.bits);
    slots.count > 0 && bits == u32::from(slots.value_bits)
}

/// Which rows are matches, and how many are wanted.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rule {
    pub(super) top: usize,
    /// The least similarity.
    pub(super) threshold: f64,
    /// What must reach it.
    pub(super) accept: Accept,
    /// The least number of common slots; 0 lifts the rule.
    pub(super) least_slots: u32,
    pub(super) within_hamming_1: bool,
    /// The plan, if it may not be chosen.
    pub(super) plan: Option<Plan>,
    pub(super) max_candidates: usize,
}

impl Rule {
    /// The least estimate that a match can have, up to rounding.
    pub(super) fn least_value(&self) -> f64 {
        match self.accept {
            Accept::Estimate | Accept::Certain => self.threshold - TOLERANCE,
            Accept::Possible => f64::NEG_INFINITY,
        }
    }
}
