//! Pairs from beginning to end: rows are read, joined, and what was found is decided upon and given.

use std::ops::ControlFlow;

use super::ask::{Check, Pairs, Undecided};
use super::found::{Found, Pair, Phase, Report};
use super::join::Join;
use super::measure::{Measure, Reach};
use super::roster::Roster;
use super::stop::{Step, Stop, Teller};
use crate::error::Result;
use crate::store::sorted_spill::SortedSpill;

/// All pairs of a state, found but not given yet.
pub(super) struct Finding<'a> {
    pub(super) roster: Roster<'a>,
    measure: Measure,
    pairs: SortedSpill,
    min: f64,
    undecided: Undecided,
    check: Option<Check<'a>>,
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
    pub(super) exact: Option<f64>,
}

/// Reads and joins. The report is filled as far as this comes.
pub(super) fn find<'a>(ask: Pairs<'a>, report: &mut Report) -> Step<Finding<'a>> {
    let slots = ask.least_slots()?;
    let mut teller = ask.teller;
    teller.tell(Phase::Reading, 0, 1)?;
    let roster = Roster::read(ask.state, ask.memory, &mut teller)?;
    report.sets = roster.ranks() as u64;
    report.signatures = roster.groups() as u64;
    report.groups = roster.several().len() as u64;
    let reach = if ask.check.is_some() { Reach::High } else { Reach::Estimate };
    let mut measure = Measure::new(&roster, ask.min, slots, reach);
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
        undecided: ask.undecided,
        check: ask.check,
        teller,
        report: *report,
    })
}

impl<'a> Finding<'a> {
    /// Gives all pairs that are not dropped, in order, and the roster at the end.
    pub(super) fn each(
        self,
        visit: &mut dyn FnMut(&Roster<'a>, &mut Measure, Edge) -> Step,
    ) -> Step<(Roster<'a>, Measure)> {
        let Finding { roster, mut measure, pairs, min, undecided, mut check, mut teller, report } =
            self;
        let mut done = 0;
        teller.tell(Phase::Giving, 0, report.pairs)?;
        pairs.drain(&mut |pair| {
            done += 1;
            teller.tick(Phase::Giving, done, report.pairs)?;
            let (a, b) = ((pair >> 32) as u32, pair as u32);
            let equal = measure.count(&roster, a, b);
            let open = measure.undecided(equal, roster.code(a), roster.code(b));
            let mut edge = Edge { a, b, equal, undecided: open, exact: None };
            match &mut check {
                Some(check) if open => {
                    let exact = check(&roster.name(a)?, &roster.name(b)?)?;
                    edge = Edge { exact: Some(exact), undecided: false, ..edge };
                    if exact.is_nan() || exact < min {
                        return Ok(());
                    }
                }
                None if open && undecided == Undecided::Drop => return Ok(()),
                _ => {}
            }
            visit(&roster, &mut measure, edge)
        })?;
        Ok((roster, measure))
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
    let step = find(ask, &mut report).and_then(|finding| give(finding, expand, visit));
    ended(step, report)
}

fn give(
    finding: Finding<'_>,
    expand: usize,
    visit: &mut dyn FnMut(Found<'_>) -> ControlFlow<()>,
) -> Step {
    let drop = finding.undecided == Undecided::Drop;
    let mut giver = Giver { expand, drop, visit, groups: 0, name: None };
    let (roster, mut measure) =
        finding.each(&mut |roster, measure, edge| giver.pair(roster, measure, edge))?;
    giver.groups_before(&roster, &mut measure, None)
}

/// Gives groups and pairs in order.
struct Giver<'v> {
    /// Groups of at most so many keys are taken apart.
    expand: usize,
    /// Whether undecided pairs are dropped.
    drop: bool,
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
        let pair = Pair {
            a: Box::default(),
            b: Box::default(),
            matching_slots: measure.matching_slots(),
            comparison: measure.comparison(equal, code, code),
            undecided: measure.undecided(equal, code, code),
            exact: None,
            a_keys: 1,
            b_keys: 1,
        };
        if pair.undecided && self.drop {
            return Ok(());
        }
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
        let Edge { a, b, equal, undecided, exact } = edge;
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
            comparison: measure.comparison(equal, roster.code(a), roster.code(b)),
            undecided,
            exact,
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
                    true => measure.comparison(equal, roster.code(edge.b), roster.code(edge.a)),
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
