//! Triples of sets with a high three-way resemblance.
//!
//! The resemblance of three sets is the size of their intersection over the size of their union. It can be low although
//! all three pairs are similar, since each pair may share something else. So the resemblance of each triangle in the graph
//! of pairs is estimated from the samples in which all three sets agree. This needs samples of two bits or more.

use std::ops::ControlFlow;

use super::find::find;
use super::pairs::Pairs;
use super::progress::{Step, finish, go_on};
use super::results::Report;
use super::signature_table::SignatureTable;
use crate::error::{Error, Result};
use crate::estimate::law::check_threshold;
use crate::estimate::many::Patterns;
use crate::estimate::{Accept, Confidence, Estimate, reaches, resemblance_of};
use crate::matching::Threshold;
use crate::scheme::Measure;
use crate::sketch::Sketcher;
use crate::store::state::State;

/// The builder of a search for triples of similar sets.
///
/// Triples are the triangles of [pairs](Pairs) whose estimated three-way resemblance reaches the threshold, in the order
/// of their keys. Three sets never resemble each other more than two of them do, so pairs have the same threshold. But estimates err,
/// and [`min_pair`](Triples::min_pair) admits pairs with slightly lower estimates. Sets with equal signatures count as
/// one set, named by their smallest key. Samples of one bit cannot estimate the resemblance of three sets
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

/// Three sets whose three-way resemblance reaches the threshold.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Triple {
    /// Their keys in ascending order; of several keys with one signature, the smallest.
    #[cfg_attr(feature = "serde", serde(serialize_with = "crate::serialize::keys"))]
    pub keys: [Box<[u8]>; 3],
    /// How many keys have each signature.
    pub key_counts: [u32; 3],
    /// The size of the intersection of all three over the size of their union.
    pub resemblance: Estimate,
    /// Whether the triple does not [certainly](Accept::Certain) reach the threshold.
    pub undecided: bool,
}

impl<'a> Triples<'a> {
    /// The triples of a state.
    pub(crate) fn new(
        state: &'a State,
        sketcher: &'a Sketcher,
        min_resemblance: f64,
    ) -> Triples<'a> {
        let pairs = Pairs::new(state, sketcher, min_resemblance);
        Triples { pairs, min_resemblance, accept: Accept::Estimate }
    }

    /// Sets the least resemblance of two of the three sets. Default: that of all three.
    pub fn min_pair(mut self, resemblance: f64) -> Triples<'a> {
        self.pairs.requirements.threshold = Some(Threshold::similarity(resemblance));
        self
    }

    /// Sets what must reach the threshold: the estimate (the default), or one of the ends of its 99.9 % interval. The interval of
    /// three sets is a 95 % one, widened as if the estimate were normally distributed. The same applies to the pairs of a
    /// triangle.
    pub fn accept(mut self, accept: Accept) -> Triples<'a> {
        self.accept = accept;
        self.pairs = self.pairs.accept(accept);
        self
    }

    /// Sets conditions for the pairs that triangles are made of, limits of the run, and the progress callback:
    /// `.pairs(|pairs| pairs.exhaustive())`.
    pub fn pairs(mut self, set: impl FnOnce(Pairs<'a>) -> Pairs<'a>) -> Triples<'a> {
        self.pairs = set(self.pairs);
        self
    }

    /// Finds all triples, and gives them one after the other to `visit` until it breaks.
    pub fn run(self, mut visit: impl FnMut(Triple) -> ControlFlow<()>) -> Result<Report> {
        let mut report = Report::default();
        let step = self.find_and_visit(&mut report, &mut visit);
        finish(step, report)
    }

    /// Finds all triples and collects them in memory.
    pub fn collect(self) -> Result<Vec<Triple>> {
        let mut all = Vec::new();
        self.run(|triple| {
            all.push(triple);
            ControlFlow::Continue(())
        })?;
        Ok(all)
    }

    fn find_and_visit(
        self,
        report: &mut Report,
        visit: &mut dyn FnMut(Triple) -> ControlFlow<()>,
    ) -> Step {
        let scheme = &self.pairs.state.scheme;
        match scheme.measure {
            Measure::Jaccard | Measure::Weighted => {}
            Measure::Cosine => {
                let (requested, measure) = ("the resemblance of three", scheme.measure.name());
                return Err(Error::OtherMeasure { requested, measure }.into());
            }
        }
        check_threshold(scheme, self.min_resemblance)?;
        // Rejects samples of one bit before anything is read.
        Patterns::new(3, scheme.bits)?;
        let (min, accept, memory) = (self.min_resemblance, self.accept, self.pairs.memory as u64);
        let found = find(self.pairs, report)?;
        let groups = found.table.groups();
        let needed = 4 * (groups as u64 + report.pairs);
        if needed > memory || report.pairs > u64::from(u32::MAX) {
            let what = format!("a graph of {} pairs", report.pairs);
            return Err(Error::OverLimit { what, needed, limit: memory }.into());
        }
        let mut graph = Graph { ends: Vec::with_capacity(groups), targets: Vec::new() };
        let visited = found.each(report, &mut |_, _, edge| {
            graph.ends.resize(edge.a as usize, graph.targets.len() as u32);
            graph.targets.push(edge.b);
            Ok(())
        })?;
        graph.ends.resize(groups, graph.targets.len() as u32);
        let table = &visited.table;
        graph.triangles(&mut |three| {
            let [a, b, c] = three.map(|group| table.signature(group));
            let resemblance = resemblance_of(&[&a, &b, &c])?;
            if !passes(accept, &resemblance, min) {
                return Ok(());
            }
            go_on(visit(triple(table, three, resemblance, min)?))
        })
    }
}

/// The ends of the 99.9 % interval, from those of the 95 % interval.
fn deciding_interval(e: &Estimate) -> (f64, f64) {
    let wider = Confidence::P999.z() / Confidence::P95.z();
    let (low, high) = (e.value - wider * (e.value - e.low), e.value + wider * (e.high - e.value));
    (low.max(0.0), high.min(1.0))
}

fn passes(accept: Accept, resemblance: &Estimate, min: f64) -> bool {
    let (low, high) = deciding_interval(resemblance);
    match accept {
        Accept::Estimate => reaches(resemblance.value, min),
        Accept::Possible => reaches(high, min),
        Accept::Certain => reaches(low, min),
    }
}

fn triple(
    table: &SignatureTable<'_>,
    three: [u32; 3],
    resemblance: Estimate,
    min: f64,
) -> Result<Triple> {
    let [a, b, c] = three;
    Ok(Triple {
        keys: [table.smallest_key(a)?, table.smallest_key(b)?, table.smallest_key(c)?],
        key_counts: three.map(|group| table.members(group).len() as u32),
        resemblance,
        undecided: !passes(Accept::Certain, &resemblance, min),
    })
}

/// The pairs of each group with larger groups, in ascending order.
#[derive(Debug)]
struct Graph {
    /// Where the pairs of each group end.
    ends: Vec<u32>,
    targets: Vec<u32>,
}

impl Graph {
    /// The larger groups that make a pair with this one.
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
