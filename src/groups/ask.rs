//! What is asked: all pairs, with their conditions, checked before anything is read.

use std::fmt;
use std::ops::ControlFlow;

use super::exact::Exact;
use super::found::{Found, Pair, Progress, Report};
use super::pairs;
use super::stop::Teller;
use crate::error::{Error, Result};
use crate::estimate::Accept;
use crate::estimate::law::check_threshold;
use crate::query::{Originals, Plan};
use crate::sketch::Sketcher;
use crate::store::state::State;

/// Others that a set is compared with in one column before its pairs are cut short.
const DEFAULT_MAX_CANDIDATES: usize = 100_000;

/// Bytes of memory that a run may take.
const DEFAULT_MEMORY: usize = 1 << 30;

/// All pairs of sets that look like each other: a question to a snapshot.
///
/// A pair is given if its sets have at least m slots in common and their resemblance, or cosine where the database measures
/// that, is at least the number asked for: exactly what a [query](crate::Query) for one of them would find, and each pair once.
/// By default the estimate must reach it; [`accept`](Pairs::accept) asks for pairs that possibly or certainly do, and
/// [`verify`](Pairs::verify) decides by the sets themselves.
/// Empty sets have no likes. Sets whose signatures are equal are one [group](super::Group); pairs are between groups,
/// named by their smallest keys, unless [`expand`](Pairs::expand) takes them apart.
///
/// Found are the pairs in the order of their keys: by `a`, then by `b`; before the pairs of an `a` that is a
/// group comes the group.
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
/// let (mut copies, mut pairs) = (0, vec![]);
/// snapshot.pairs(0.7).run(|found| {
///     match found {
///         Found::Group(group) => copies += group.len(),
///         Found::Pair(pair) => pairs.push(pair),
///     }
///     ControlFlow::Continue(())
/// })?;
/// assert_eq!(copies, 2);                                       // "a" and "a, again"
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
    pub(super) min: f64,
    min_matches: Option<u32>,
    exhaustive: bool,
    pub(super) expand: usize,
    pub(super) plan: Option<Plan>,
    pub(super) max_candidates: usize,
    pub(super) memory: usize,
    pub(super) accept: Accept,
    pub(super) exact: Option<Exact<'a>>,
    pub(super) teller: Teller<'a>,
}

impl fmt::Debug for Pairs<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pairs")
            .field("min", &self.min)
            .field("min_matches", &self.min_matches)
            .field("exhaustive", &self.exhaustive)
            .field("expand", &self.expand)
            .field("plan", &self.plan)
            .field("max_candidates", &self.max_candidates)
            .field("memory", &self.memory)
            .field("accept", &self.accept)
            .finish_non_exhaustive()
    }
}

impl<'a> Pairs<'a> {
    /// The pairs of a state.
    pub(crate) fn new(state: &'a State, sketcher: &'a Sketcher, min: f64) -> Pairs<'a> {
        Pairs {
            state,
            sketcher,
            min,
            min_matches: None,
            exhaustive: false,
            expand: 1,
            plan: None,
            max_candidates: DEFAULT_MAX_CANDIDATES,
            memory: DEFAULT_MEMORY,
            accept: Accept::Estimate,
            exact: None,
            teller: Teller::default(),
        }
    }

    /// Only pairs with at least so many slots in common. Default: the scheme's number.
    pub fn min_matches(mut self, slots: u32) -> Pairs<'a> {
        self.min_matches = Some(slots);
        self
    }

    /// Also pairs that have no slots in common: every pair is compared by its signatures, and what [must reach the
    /// threshold](Pairs::accept) still decides. The higher the least similarity, the less that costs; where it is low, all
    /// pairs of signatures are compared. A scheme without slots has no other pairs.
    pub fn exhaustive(mut self) -> Pairs<'a> {
        self.exhaustive = true;
        self
    }

    /// Takes groups of equal signatures apart: all pairs of their keys are given, and no group. A hundred
    /// thousand copies make five billion pairs. They come in the order of their groups.
    pub fn expand(self) -> Pairs<'a> {
        self.expand_up_to(usize::MAX)
    }

    /// Takes groups of at most so many keys apart, and gives larger ones as groups.
    pub fn expand_up_to(mut self, keys: usize) -> Pairs<'a> {
        self.expand = keys;
        self
    }

    /// How to find the pairs, instead of what seems to cost least: by columns of samples that likes must agree in
    /// ([`Plan::Probe`], where there are any), or by comparing all with all ([`Plan::Scan`]). The pairs are the
    /// same.
    pub fn plan(mut self, plan: Plan) -> Pairs<'a> {
        self.plan = Some(plan);
        self
    }

    /// Distinct signatures that one is compared with because of the same column of samples, before its pairs
    /// are cut short and the [report](Report::truncated) says so. Default 100,000.
    pub fn max_candidates(mut self, candidates: usize) -> Pairs<'a> {
        self.max_candidates = candidates;
        self
    }

    /// Bytes of memory that may be taken, pages that a database keeps not counted; a database that needs more
    /// is refused with [`Error::OverLimit`]. Default 1 GiB. A set takes 40 bytes and its signature, or 36 if
    /// another has the same.
    pub fn memory(mut self, bytes: usize) -> Pairs<'a> {
        self.memory = bytes;
        self
    }

    /// What must reach the least similarity: the estimate (the default), or one of the ends of its 99.9 % interval.
    pub fn accept(mut self, accept: Accept) -> Pairs<'a> {
        self.accept = accept;
        self
    }

    /// Decides by the sets themselves: elements are counted for all pairs that [possibly](Accept::Possible) are alike enough, and
    /// a pair is given if its exact resemblance is. Sets whose signatures are equal make a group only if they are equal themselves.
    /// Sets that cannot be read again, or have changed, are left out; [`Originals::lost`] lists them, and
    /// the [report](Report::lost) counts the pairs that were dropped for it. For sets without weights only.
    pub fn verify(mut self, originals: &'a Originals<'a>) -> Pairs<'a> {
        self.exact = Some(Exact::Originals(originals));
        self
    }

    /// The same where the caller computes the exact similarity of the sets under two keys, for any measure. Pairs for which the
    /// function gives `None` are dropped and counted in the [report](Report::lost); its error ends the run. It is called
    /// from several threads. Of groups of equal signatures the smallest keys are asked about, and speak for the
    /// others; a group itself is not asked about.
    pub fn check(
        mut self,
        exact: impl Fn(&[u8], &[u8]) -> Result<Option<f64>> + Sync + 'a,
    ) -> Pairs<'a> {
        self.exact = Some(Exact::Check(Box::new(exact)));
        self
    }

    /// Tells from time to time how far the run has come; it ends early if the function breaks.
    pub fn progress(mut self, tell: impl FnMut(Progress) -> ControlFlow<()> + 'a) -> Pairs<'a> {
        self.teller.0 = Some(Box::new(tell));
        self
    }

    /// Finds all pairs and groups, and gives them one after the other to `visit`, until it breaks.
    pub fn run(self, mut visit: impl FnMut(Found<'_>) -> ControlFlow<()>) -> Result<Report> {
        pairs::run(self, &mut visit)
    }

    /// Finds all pairs and gives them together, in memory. Groups are left out: [`expand`](Pairs::expand)
    /// gives their pairs.
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

    /// The fewest common slots, if what is asked makes sense; 0 lifts the rule.
    pub(super) fn least_slots(&self) -> Result<u32> {
        check_threshold(&self.state.scheme, self.min)?;
        if let Some(exact) = &self.exact {
            exact.check_scheme(&self.state.scheme)?;
        }
        let slots = self.state.scheme.slots;
        match self.min_matches {
            Some(m) if m == 0 || m > u32::from(slots.count) => {
                let limit = format!("the scheme has slots {slots}: at least 1, at most all");
                Err(Error::invalid(format!("min_matches {m}"), limit))
            }
            Some(m) => Ok(m),
            None if self.exhaustive => Ok(0),
            None => Ok(u32::from(slots.min_matches)),
        }
    }
}
