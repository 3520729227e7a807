//! Pairs from beginning to end: rows are read, joined, and what was found is decided upon and given.

use std::ops::ControlFlow;

use super::ask::Pairs;
use super::exact::{Exact, Outcome};
use super::found::{Found, Pair, Phase, Report};
use super::join::Join;
use super::measure::Measure;
use super::roster::Roster;
use super::stop::{Step, Stop, Teller};
use crate::error::Result;
use crate::estimate::{Accept, Comparison, reaches};
use crate::query::Originals;
use crate::sketch::Sketcher;
use crate::store::sorted_spill::SortedSpill;

/// Pairs that are looked at in parallel before they are given.
const BATCH: usize = 4096;

/// All pairs of a state, found but not given yet.
pub(super) struct Finding<'a> {
    pub(super) roster: Roster<'a>,
    measure: Measure,
    pairs: SortedSpill,
    min: f64,
    exact: Option<Exact<'a>>,
    sketcher: &'a Sketcher,
    teller: Teller<'a>,
    pub(super) report: Report,
}

/// A pair of groups that is to be given.
#[derive(Debug, Clone, Copy)]
pub(super) struct Edge {
    pub(super) a: u32,
    pub(super) b: u32,
    pub(super) equal: u32,
    pub(super) undecided: bool,
    /// What the sets themselves said.
    pub(super) outcome: Option<Outcome>,
}

impl Edge {
    /// The same seen from the other set.
    fn swapped(self) -> Edge {
        let outcome = self.outcome.map(|outcome| match outcome {
            Outcome::Counts(counts) => Outcome::Counts(counts.swapped()),
            other => other,
        });
        Edge { a: self.b, b: self.a, outcome, ..self }
    }

    /// What is known of the two groups.
    pub(super) fn comparison(&self, roster: &Roster<'_>, measure: &Measure) -> Comparison {
        let signatures = measure.comparison(self.equal, roster.code(self.a), roster.code(self.b));
        match self.outcome {
            Some(Outcome::Counts(counts)) => signatures.with_counts(counts),
            Some(Outcome::Similarity(similarity)) => signatures.with_similarity(similarity),
            Some(Outcome::Lost) | None => signatures,
        }
    }
}

/// Reads and joins. The report is filled as far as this comes.
pub(super) fn find<'a>(mut ask: Pairs<'a>, report: &mut Report) -> Step<Finding<'a>> {
    if ask.exact.is_none() && ask.state.scheme.elements.are_exact() {
        ask.exact = Some(Exact::Kept(Box::new(Originals::kept(ask.state))));
    }
    let slots = ask.least_slots()?;
    let mut teller = ask.teller;
    teller.tell(Phase::Reading, 0, 1)?;
    let mut roster = Roster::read(ask.state, ask.memory, &mut teller)?;
    if let Some(originals) = ask.exact.as_ref().and_then(Exact::originals) {
        roster.tell_apart(originals, ask.sketcher, &mut teller)?;
    }
    report.sets = roster.ranks() as u64;
    report.signatures = roster.groups() as u64;
    report.groups = roster.several().len() as u64;
    let accept = if ask.exact.is_some() { Accept::Possible } else { ask.accept };
    let mut measure = Measure::new(&roster, ask.min, slots, accept);
    let join = Join::new(&roster, &mut measure, ask.max_candidates, &mut teller);
    let joined = join.run(ask.plan)?;
    report.compared = joined.compared;
    report.pairs = joined.found;
    report.truncated = joined.truncated;
    Ok(Finding {
        roster,
        measure,
        pairs: joined.pairs,
        min: ask.min,
        exact: ask.exact,
        sketcher: ask.sketcher,
        teller,
        report: *report,
    })
}

/// What is left when all pairs have been given.
pub(super) struct Given<'a> {
    pub(super) roster: Roster<'a>,
    pub(super) measure: Measure,
    pub(super) exact: Option<Exact<'a>>,
    pub(super) sketcher: &'a Sketcher,
}

impl Given<'_> {
    /// How two groups compare, exactly where sets are looked at.
    pub(super) fn compare(&self, a: u32, b: u32) -> Result<Comparison> {
        let Given { roster, measure, exact, sketcher } = self;
        let outcome = exact.as_ref().map(|exact| exact.compare(roster, sketcher, a, b));
        let (equal, outcome) = (measure.count(roster, a, b), outcome.transpose()?);
        Ok(Edge { a, b, equal, undecided: false, outcome }.comparison(roster, measure))
    }
}

impl<'a> Finding<'a> {
    /// Gives all pairs that are alike enough, in order. `report` counts those that could not be verified.
    pub(super) fn each(
        self,
        report: &mut Report,
        visit: &mut dyn FnMut(&Roster<'a>, &mut Measure, Edge) -> Step,
    ) -> Step<Given<'a>> {
        let Finding { roster, mut measure, pairs, min, exact, sketcher, mut teller, report: found } =
            self;
        let mut done = 0;
        teller.tell(Phase::Giving, 0, found.pairs)?;
        let mut batch: Vec<Edge> = Vec::new();
        let mut give = |batch: &mut Vec<Edge>, measure: &mut Measure| -> Step {
            if let Some(exact) = &exact {
                exact.decide(&roster, sketcher, batch)?;
            }
            for edge in batch.drain(..) {
                match edge.outcome.map(Outcome::similarity) {
                    Some(None) => report.lost += 1,
                    Some(Some(similarity)) if !reaches(similarity, min) => {}
                    Some(Some(_)) => visit(&roster, measure, Edge { undecided: false, ..edge })?,
                    None => visit(&roster, measure, edge)?,
                }
            }
            Ok(())
        };
        // Without a look at sets there is nothing to do in parallel.
        let most = if exact.is_some() { BATCH } else { 1 };
        pairs.drain(&mut |pair| {
            done += 1;
            teller.tick(Phase::Giving, done, found.pairs)?;
            let (a, b) = ((pair >> 32) as u32, pair as u32);
            let equal = measure.count(&roster, a, b);
            let undecided = most == 1 && measure.undecided(equal, roster.code(a), roster.code(b));
            batch.push(Edge { a, b, equal, undecided, outcome: None });
            if batch.len() >= most { give(&mut batch, &mut measure) } else { Ok(()) }
        })?;
        give(&mut batch, &mut measure)?;
        Ok(Given { roster, measure, exact, sketcher })
    }
}

/// Turns the end of a run into a report.
pub(super) fn ended(step: Step, mut report: Report) -> Result<Report> {
    match step {
        Ok(()) => Ok(report),
        Err(Stop::Failed(error)) => Err(error),
        Err(Stop::Cancelled) => {
            report.cancelled = true;
            Ok(report)
        }
    }
}

pub(super) fn go_on(flow: ControlFlow<()>) -> Step {
    if flow.is_break() { Err(Stop::Cancelled) } else { Ok(()) }
}

/// Finds all pairs and groups and gives them.
pub(super) fn run(
    ask: Pairs<'_>,
    visit: &mut dyn FnMut(Found<'_>) -> ControlFlow<()>,
) -> Result<Report> {
    let (expand, mut report) = (ask.expand, Report::default());
    let step = find(ask, &mut report).and_then(|finding| give(finding, &mut report, expand, visit));
    ended(step, report)
}

fn give(
    finding: Finding<'_>,
    report: &mut Report,
    expand: usize,
    visit: &mut dyn FnMut(Found<'_>) -> ControlFlow<()>,
) -> Step {
    let equal_sets = finding.exact.as_ref().and_then(Exact::originals).is_some();
    let mut giver = Giver { expand, equal_sets, visit, groups: 0, name: None };
    let mut given =
        finding.each(report, &mut |roster, measure, edge| giver.pair(roster, measure, edge))?;
    giver.groups_before(&given.roster, &mut given.measure, None)
}

/// Gives groups and pairs in order.
struct Giver<'v> {
    /// Groups of at most so many keys are taken apart.
    expand: usize,
    /// Whether the sets of a group are known to be equal, and not only their signatures.
    equal_sets: bool,
    visit: &'v mut dyn FnMut(Found<'_>) -> ControlFlow<()>,
    /// Groups of several keys that were given.
    groups: usize,
    /// The name of the last `a`.
    name: Option<(u32, Box<[u8]>)>,
}

impl Giver<'_> {
    /// Gives the groups up to one; all of them without.
    fn groups_before(
        &mut self,
        roster: &Roster<'_>,
        measure: &mut Measure,
        last: Option<u32>,
    ) -> Step {
        while let Some(group) = roster.several().nth(self.groups) {
            if last.is_some_and(|last| group > last) {
                break;
            }
            self.groups += 1;
            if roster.members(group).len() <= self.expand {
                self.copies(roster, measure, group)?;
            } else {
                go_on((self.visit)(Found::Group(roster.group(group))))?;
            }
        }
        Ok(())
    }

    /// All pairs of a group's own keys.
    fn copies(&mut self, roster: &Roster<'_>, measure: &mut Measure, group: u32) -> Step {
        let (members, code) = (roster.members(group), roster.code(group));
        measure.look(roster, group, group);
        let equal = roster.scheme().samples;
        if !self.equal_sets && !measure.passes(equal, code, code) {
            return Ok(());
        }
        let comparison = measure.comparison(equal, code, code);
        let pair = Pair {
            a: Box::default(),
            b: Box::default(),
            matching_slots: measure.matching_slots(),
            comparison: if self.equal_sets { comparison.with_similarity(1.0) } else { comparison },
            undecided: !self.equal_sets && measure.undecided(equal, code, code),
            a_keys: 1,
            b_keys: 1,
        };
        for (i, a) in members.iter().enumerate() {
            let a = roster.key(*a)?;
            for b in &members[i + 1..] {
                let pair = Pair { a: a.clone(), b: roster.key(*b)?, ..pair.clone() };
                go_on((self.visit)(Found::Pair(pair)))?;
            }
        }
        Ok(())
    }

    fn pair(&mut self, roster: &Roster<'_>, measure: &mut Measure, edge: Edge) -> Step {
        let Edge { a, b, undecided, .. } = edge;
        self.groups_before(roster, measure, Some(a))?;
        measure.look(roster, a, b);
        let name = match &self.name {
            Some((group, name)) if *group == a => name,
            _ => &self.name.insert((a, roster.name(a)?)).1,
        };
        // Of a group that stays one, the smallest key stands for all.
        let named = |group| match roster.members(group) {
            all if all.len() <= self.expand => (all, 1),
            all => (&all[..1], all.len() as u32),
        };
        let ((members, a_keys), (others, b_keys)) = (named(a), named(b));
        let pair = Pair {
            a: name.clone(),
            b: roster.name(b)?,
            matching_slots: measure.matching_slots(),
            comparison: edge.comparison(roster, measure),
            undecided,
            a_keys,
            b_keys,
        };
        if members.len() + others.len() == 2 {
            return go_on((self.visit)(Found::Pair(pair)));
        }
        for a in members {
            let a = roster.key(*a)?;
            for b in others {
                let (a, b) = (a.clone(), roster.key(*b)?);
                // The smaller key first. The comparison goes with its sets.
                let swap = a > b;
                let comparison = match swap {
                    true => edge.swapped().comparison(roster, measure),
                    false => pair.comparison,
                };
                let (a, b) = if swap { (b, a) } else { (a, b) };
                let (a_keys, b_keys) = if swap { (b_keys, a_keys) } else { (a_keys, b_keys) };
                let pair = Pair { a, b, comparison, a_keys, b_keys, ..pair.clone() };
                go_on((self.visit)(Found::Pair(pair)))?;
            }
        }
        Ok(())
    }
}
