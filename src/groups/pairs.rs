//! The builder of a search for pairs.
//!
//! In: a threshold and conditions. Out: pairs and groups in key order, or an error before anything is read.

use std::fmt;
use std::ops::ControlFlow;

use super::emit;
use super::exact::Exact;
use super::progress::Reporter;
use super::results::{Found, Pair, Progress, Report};
use crate::error::Result;
use crate::estimate::Accept;
use crate::matching::{Conditions, Requirements, Threshold};
use crate::query::{Originals, Plan};
use crate::sketch::Sketcher;
use crate::store::state::State;

/// Signatures that one signature is compared with in a column before its pairs are truncated.
const DEFAULT_MAX_CANDIDATES: usize = 100_000;

/// Bytes of memory that a run may take.
const DEFAULT_MEMORY: usize = 1 << 30;

/// The builder of a search for all pairs of sets that match.
///
/// Two sets are a pair if they have at least m slots in common and their similarity reaches the threshold: exactly what a
/// [query](crate::Query) for one of them would find. Each pair comes once. The similarity is the resemblance, or the
/// cosine where the database measures that. By default the estimate must reach the threshold;
/// [`accept`](Pairs::accept) asks for pairs that possibly or certainly do, and [`verify`](Pairs::verify) decides by the
/// sets themselves. Empty sets are in no pair.
///
/// Sets with equal signatures are one [group](super::Group). Pairs are between groups, named by their smallest keys,
/// unless [`expand`](Pairs::expand) is set.
///
/// Pairs come in the order of their keys: by `a`, then by `b`. If `a` is a group, the group comes before its pairs.
///
/// ```
/// use std::ops::ControlFlow;
/// use ringer::{Database, Found, Options, Scheme};
/// let folder = tempfile::tempdir()?;
/// let db = Database::create(folder.path().join("x.ringer"), &Scheme::near_duplicate(), Options::default())?;
/// db.put("a", &(0..100).collect::<Vec<_>>())?;
/// db.put("a, again", &(0..100).collect::<Vec<_>>())?;
/// db.put("b", &(5..105).collect::<Vec<_>>())?;
/// db.put("c", &(900..999).collect::<Vec<_>>())?;
///
/// let snapshot = db.snapshot();
/// let (mut duplicates, mut pairs) = (0, vec![]);
/// snapshot.pairs(0.7).run(|found| {
///     match found {
///         Found::Group(group) => duplicates += group.len(),
///         Found::Pair(pair) => pairs.push(pair),
///     }
///     ControlFlow::Continue(())
/// })?;
/// assert_eq!(duplicates, 2);                                       // "a" and "a, again"
/// assert_eq!(pairs.len(), 1);
/// assert_eq!((&*pairs[0].a, &*pairs[0].b), (&b"a"[..], &b"b"[..]));
/// assert_eq!(pairs[0].a_keys, 2);
/// println!("{:.2}", pairs[0].similarity());
///
/// assert_eq!(snapshot.pairs(0.7).expand().collect()?.len(), 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "nothing is looked for until it is run"]
pub struct Pairs<'a> {
    pub(super) state: &'a State,
    pub(super) sketcher: &'a Sketcher,
    pub(super) requirements: Requirements,
    pub(super) expand: usize,
    pub(super) plan: Option<Plan>,
    pub(super) max_candidates: usize,
    pub(super) memory: usize,
    pub(super) exact: Option<Exact<'a>>,
    pub(super) reporter: Reporter<'a>,
}

impl fmt::Debug for Pairs<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pairs")
            .field("requirements", &self.requirements)
            .field("expand", &self.expand)
            .field("plan", &self.plan)
            .field("max_candidates", &self.max_candidates)
            .field("memory", &self.memory)
            .finish_non_exhaustive()
    }
}

impl<'a> Pairs<'a> {
    /// The pairs of a state. `sketcher` is one of the database's scheme.
    pub(crate) fn new(state: &'a State, sketcher: &'a Sketcher, min: f64) -> Pairs<'a> {
        Pairs {
            state,
            sketcher,
            requirements: Requirements {
                threshold: Some(Threshold::similarity(min)),
                ..Requirements::default()
            },
            expand: 1,
            plan: None,
            max_candidates: DEFAULT_MAX_CANDIDATES,
            memory: DEFAULT_MEMORY,
            exact: None,
            reporter: Reporter::default(),
        }
    }

    /// Sets the least number of slots that a pair has in common. Default: the scheme's number.
    pub fn min_matches(mut self, slots: u32) -> Pairs<'a> {
        self.requirements.min_matches = Some(slots);
        self
    }

    /// Finds pairs without matching slots too. The threshold still applies, and [`accept`](Pairs::accept) says to what. A
    /// high threshold makes this cheap; with a low one, all pairs of signatures are compared. Pairs of a scheme without
    /// slots are always exhaustive.
    pub fn exhaustive(mut self) -> Pairs<'a> {
        self.requirements.exhaustive = true;
        self
    }

    /// Expands groups of equal signatures: all pairs of their keys are given, and no group. A hundred thousand duplicates make
    /// five billion pairs. They come in the order of their groups.
    pub fn expand(self) -> Pairs<'a> {
        self.expand_up_to(usize::MAX)
    }

    /// Expands groups of at most so many keys. Larger ones stay groups.
    pub fn expand_up_to(mut self, keys: usize) -> Pairs<'a> {
        self.expand = keys;
        self
    }

    /// Sets the plan, instead of the one with the least estimated cost: [`Plan::Probe`] sorts by columns of samples in
    /// which matching pairs agree, if there are any; [`Plan::Scan`] compares all signatures with each other. The pairs are
    /// the same.
    pub fn plan(mut self, plan: Plan) -> Pairs<'a> {
        self.plan = Some(plan);
        self
    }

    /// Sets how many distinct signatures one signature is compared with in a column of samples, before its pairs are
    /// [truncated](Report::truncated). Default 100,000.
    pub fn max_candidates(mut self, candidates: usize) -> Pairs<'a> {
        self.max_candidates = candidates;
        self
    }

    /// Sets how many bytes of memory the run may take, without the page cache. If it needs more, it fails with
    /// [`Error::OverLimit`](crate::Error::OverLimit). Default 1 GiB. A set takes 40 bytes and its signature, or 36 bytes if
    /// another set has the same signature.
    pub fn memory(mut self, bytes: usize) -> Pairs<'a> {
        self.memory = bytes;
        self
    }

    /// Sets what must reach the threshold: the estimate (the default), or one of the ends of its 99.9 % interval.
    pub fn accept(mut self, accept: Accept) -> Pairs<'a> {
        self.requirements.accept = accept;
        self
    }

    /// Decides by the sets themselves. Common elements are counted for all pairs that [possibly](Accept::Possible) reach the
    /// threshold, and a pair is given if its exact resemblance does. Sets with equal signatures are a group only if the
    /// sets are equal. Sets that cannot be read again, or have changed, are left out; [`Originals::lost`] lists them, and
    /// the [report](Report::lost) counts the pairs that were dropped. Works for sets without weights only.
    pub fn verify(mut self, originals: &'a Originals<'a>) -> Pairs<'a> {
        self.exact = Some(Exact::Originals(originals));
        self
    }

    /// Decides by a function that returns the exact similarity of the sets under two keys, for any measure. If it returns
    /// `None`, the pair is dropped and counted in the [report](Report::lost). Its error ends the run. It is called from
    /// several threads. The smallest key of a group stands for all its keys; the function is not called for two keys of
    /// one group.
    pub fn check(
        mut self,
        exact: impl Fn(&[u8], &[u8]) -> Result<Option<f64>> + Sync + 'a,
    ) -> Pairs<'a> {
        self.exact = Some(Exact::Check(Box::new(exact)));
        self
    }

    /// Reports progress from time to time. The run ends early if the function breaks.
    pub fn progress(mut self, report: impl FnMut(Progress) -> ControlFlow<()> + 'a) -> Pairs<'a> {
        self.reporter.0 = Some(Box::new(report));
        self
    }

    /// Finds all pairs and groups, and gives them one after the other to `visit` until it breaks.
    pub fn run(self, mut visit: impl FnMut(Found<'_>) -> ControlFlow<()>) -> Result<Report> {
        emit::run(self, &mut visit)
    }

    /// Finds all pairs and collects them in memory. Groups are left out; [`expand`](Pairs::expand) gives their pairs.
    pub fn collect(self) -> Result<Vec<Pair>> {
        let mut all = Vec::new();
        self.run(|found| {
            if let Found::Pair(pair) = found {
                all.push(pair);
            }
            ControlFlow::Continue(())
        })?;
        Ok(all)
    }

    /// What was asked for, checked against the scheme.
    pub(super) fn conditions(&self) -> Result<Conditions> {
        let conditions = self.requirements.check(&self.state.scheme)?;
        if let Some(exact) = &self.exact {
            exact.check_scheme(&self.state.scheme)?;
        }
        Ok(conditions)
    }
}
