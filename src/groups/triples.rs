//! Threes: sets that are alike all together.
//!
//! The resemblance of three sets is the size of what all have over that of what any has. Three pairs that are
//! alike do not make it high: each pair may share something else. So every triangle of the graph of pairs is
//! looked at, and its resemblance is estimated from the samples in which all three agree, which needs samples
//! of two bits or more.

use std::ops::ControlFlow;

use super::ask::Pairs;
use super::found::Report;
use super::measure::Measure;
use super::pairs::{self, Given, ended, go_on};
use super::roster::Roster;
use super::stop::Step;
use crate::error::{Error, Result};
use crate::estimate::law::check_threshold;
use crate::estimate::many::Patterns;
use crate::estimate::{Accept, Confidence, Estimate, reaches};
use crate::scheme;
use crate::sketch::Sketcher;
use crate::store::state::State;

/// Threes of sets that look like each other: a question to a snapshot.
///
/// Given are the triangles of [pairs](Pairs) whose estimated three-way resemblance is at least the number asked
/// for, in the order of their keys. Three sets are never more alike than two of them, so pairs need no more;
/// but estimates err, and [`min_pair`](Triples::min_pair) lets pairs in that seem a little less alike. Sets with
/// equal signatures count as one, which is named by their smallest key. Samples of one bit cannot tell
/// ([`Error::TooFewBits`]), nor can signs of vectors ([`Error::OtherMeasure`]).
///
/// ```
/// use std::ops::ControlFlow;
/// use ringer::{Database, Options, Scheme};
/// let folder = tempfile::tempdir()?;
/// let db = Database::create(folder.path().join("x.ringer"), &Scheme::precise(), Options::default())?;
/// db.put("a", &(0..1000).collect::<Vec<_>>())?;
/// db.put("b", &(100..1100).collect::<Vec<_>>())?;
/// db.put("c", &(200..1200).collect::<Vec<_>>())?;
///
/// let mut found = 0;
/// db.snapshot().triples(0.5).run(|triple| {
///     found += 1;
///     assert!(triple.resemblance.low < 2.0 / 3.0 && 2.0 / 3.0 < triple.resemblance.high);
///     ControlFlow::Continue(())
/// })?;
/// assert_eq!(found, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[must_use = "nothing is looked for until it is run"]
pub struct Triples<'a> {
    pairs: Pairs<'a>,
    min_resemblance: f64,
    accept: Accept,
}

/// Three sets that have something in common.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Triple {
    /// Their keys, rising; of several with one signature, the smallest.
    pub keys: [Box<[u8]>; 3],
    /// How many keys have each signature.
    pub copies: [u32; 3],
    /// The size of what all three have over that of what any has.
    pub resemblance: Estimate,
    /// Whether the triple does not [certainly](Accept::Certain) reach the least resemblance asked for.
    pub undecided: bool,
}

impl<'a> Triples<'a> {
    /// The threes of a state.
    pub(crate) fn new(
        state: &'a State,
        sketcher: &'a Sketcher,
        min_resemblance: f64,
    ) -> Triples<'a> {
        let pairs = Pairs::new(state, sketcher, min_resemblance);
        Triples { pairs, min_resemblance, accept: Accept::Estimate }
    }

    /// The least estimated resemblance of two of the three. Default: that of all three.
    pub fn min_pair(mut self, resemblance: f64) -> Triples<'a> {
        self.pairs.min = resemblance;
        self
    }

    /// What must reach the least resemblance: the estimate (the default), or one of the ends of its interval. Intervals of three sets
    /// are 95 % ones, widened to 99.9 % as if they were normal. The pairs of a triangle are accepted alike.
    pub fn accept(mut self, accept: Accept) -> Triples<'a> {
        self.accept = accept;
        self.pairs = self.pairs.accept(accept);
        self
    }

    /// Puts conditions to the pairs that triangles are made of, and says what the run may take and whom it
    /// tells of its progress: `.pairs(|pairs| pairs.exhaustive())`.
    pub fn pairs(mut self, ask: impl FnOnce(Pairs<'a>) -> Pairs<'a>) -> Triples<'a> {
        self.pairs = ask(self.pairs);
        self
    }

    /// Finds all threes, and gives them one after the other to `visit`, until it breaks.
    pub fn run(self, mut visit: impl FnMut(Triple) -> ControlFlow<()>) -> Result<Report> {
        let mut report = Report::default();
        let step = self.go(&mut report, &mut visit);
        ended(step, report)
    }

    /// Finds all threes and gives them together, in memory.
    pub fn collect(self) -> Result<Vec<Triple>> {
        let mut all = Vec::new();
        self.run(|triple| {
            all.push(triple);
            ControlFlow::Continue(())
        })?;
        Ok(all)
    }

    fn go(self, report: &mut Report, visit: &mut dyn FnMut(Triple) -> ControlFlow<()>) -> Step {
        let scheme = &self.pairs.state.scheme;
        if scheme.measure == scheme::Measure::Cosine {
            let (asked, measure) = ("the resemblance of three", scheme.measure.name());
            return Err(Error::OtherMeasure { asked, measure }.into());
        }
        check_threshold(scheme, self.min_resemblance)?;
        // Refuses samples of one bit before anything is read.
        Patterns::new(3, scheme.bits)?;
        let (min, accept, memory) = (self.min_resemblance, self.accept, self.pairs.memory as u64);
        let finding = pairs::find(self.pairs, report)?;
        let groups = finding.roster.groups();
        let needed = 4 * (groups as u64 + report.pairs);
        if needed > memory || report.pairs > u64::from(u32::MAX) {
            let what = format!("a graph of {} pairs", report.pairs);
            return Err(Error::OverLimit { what, needed, limit: memory }.into());
        }
        let mut graph = Graph { ends: Vec::with_capacity(groups), targets: Vec::new() };
        let Given { roster, mut measure, .. } = finding.each(report, &mut |_, _, edge| {
            graph.ends.resize(edge.a as usize, graph.targets.len() as u32);
            graph.targets.push(edge.b);
            Ok(())
        })?;
        graph.ends.resize(groups, graph.targets.len() as u32);
        graph.triangles(&mut |three| {
            let resemblance = measure.three_way(&roster, three)?;
            if !passes(accept, &resemblance, min) {
                return Ok(());
            }
            go_on(visit(triple(&roster, three, resemblance, min)?))
        })
    }
}

/// The ends of an interval, moved away from the value as far as 99.9 % are beyond 95 %.
fn decisive(e: &Estimate) -> (f64, f64) {
    let wider = Confidence::P999.z() / Confidence::P95.z();
    let (low, high) = (e.value - wider * (e.value - e.low), e.value + wider * (e.high - e.value));
    (low.max(0.0), high.min(1.0))
}

fn passes(accept: Accept, resemblance: &Estimate, min: f64) -> bool {
    let (low, high) = decisive(resemblance);
    match accept {
        Accept::Estimate => reaches(resemblance.value, min),
        Accept::Possible => reaches(high, min),
        Accept::Certain => reaches(low, min),
    }
}

fn triple(roster: &Roster<'_>, three: [u32; 3], resemblance: Estimate, min: f64) -> Result<Triple> {
    let [a, b, c] = three;
    Ok(Triple {
        keys: [roster.name(a)?, roster.name(b)?, roster.name(c)?],
        copies: three.map(|group| roster.members(group).len() as u32),
        resemblance,
        undecided: !passes(Accept::Certain, &resemblance, min),
    })
}

/// Each group with the larger ones that it makes a pair with, rising.
#[derive(Debug)]
struct Graph {
    /// Where the pairs of each group end.
    ends: Vec<u32>,
    targets: Vec<u32>,
}

impl Graph {
    fn larger(&self, group: u32) -> &[u32] {
        let start = group.checked_sub(1).map_or(0, |before| self.ends[before as usize]);
        &self.targets[start as usize..self.ends[group as usize] as usize]
    }

    /// All triangles, in order.
    fn triangles(&self, visit: &mut dyn FnMut([u32; 3]) -> Step) -> Step {
        for a in 0..self.ends.len() as u32 {
            let mut others = self.larger(a);
            while let [b, rest @ ..] = others {
                let mut thirds = self.larger(*b);
                for c in rest {
                    thirds = &thirds[thirds.partition_point(|third| third < c)..];
                    if thirds.first() == Some(c) {
                        visit([a, *b, *c])?;
                    }
                }
                others = rest;
            }
        }
        Ok(())
    }
}

impl Measure {
    /// The resemblance of three groups.
    fn three_way(&mut self, roster: &Roster<'_>, three: [u32; 3]) -> Result<Estimate> {
        let signatures = three.map(|group| roster.signature(group));
        let [a, b, c] = &signatures;
        crate::estimate::resemblance_of(&[a, b, c])
    }
}
