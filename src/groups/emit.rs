//! Pairs and groups, given to the caller in key order.

use std::ops::ControlFlow;

use super::compare::Comparer;
use super::exact::Exact;
use super::find::{Edge, FoundPairs, find};
use super::pairs::Pairs;
use super::progress::{Step, finish, go_on};
use super::results::{Found, Pair, Report};
use super::signature_table::SignatureTable;
use crate::error::Result;

/// Finds all pairs and groups, and gives them to the caller.
pub(super) fn run(
    request: Pairs<'_>,
    visit: &mut dyn FnMut(Found<'_>) -> ControlFlow<()>,
) -> Result<Report> {
    let (expand, mut report) = (request.expand, Report::default());
    let step = find(request, &mut report).and_then(|found| emit(found, &mut report, expand, visit));
    finish(step, report)
}

fn emit(
    found: FoundPairs<'_>,
    report: &mut Report,
    expand: usize,
    visit: &mut dyn FnMut(Found<'_>) -> ControlFlow<()>,
) -> Step {
    let equal_sets = found.exact.as_ref().and_then(Exact::originals).is_some();
    let mut emitter = Emitter { expand, equal_sets, visit, groups: 0, last_key: None };
    let mut visited =
        found.each(report, &mut |table, comparer, edge| emitter.pair(table, comparer, edge))?;
    emitter.groups_up_to(&visited.table, &mut visited.comparer, None)
}

/// Gives groups and pairs to the caller.
struct Emitter<'v> {
    /// Groups of at most so many keys are expanded into pairs.
    expand: usize,
    /// Whether the sets of a group are known to be equal, and not only their signatures.
    equal_sets: bool,
    visit: &'v mut dyn FnMut(Found<'_>) -> ControlFlow<()>,
    /// Groups of several keys that were emitted.
    groups: usize,
    /// The last `a`, with its smallest key.
    last_key: Option<(u32, Box<[u8]>)>,
}

impl Emitter<'_> {
    /// Emits the groups of several keys up to `last`, or all that are left.
    fn groups_up_to(
        &mut self,
        table: &SignatureTable<'_>,
        comparer: &mut Comparer<'_>,
        last: Option<u32>,
    ) -> Step {
        while let Some(group) = table.shared_groups().nth(self.groups) {
            if last.is_some_and(|last| group > last) {
                break;
            }
            self.groups += 1;
            if table.members(group).len() <= self.expand {
                self.duplicates(table, comparer, group)?;
            } else {
                go_on((self.visit)(Found::Group(table.group(group))))?;
            }
        }
        Ok(())
    }

    /// Emits all pairs of a group's own keys.
    fn duplicates(
        &mut self,
        table: &SignatureTable<'_>,
        comparer: &mut Comparer<'_>,
        group: u32,
    ) -> Step {
        let (members, code) = (table.members(group), table.code(group));
        comparer.align(table, group, group);
        let equal = table.scheme().samples;
        if !self.equal_sets && !comparer.passes(equal, code, code) {
            return Ok(());
        }
        let comparison = comparer.comparison(equal, code, code);
        let pair = Pair {
            a: Box::default(),
            b: Box::default(),
            matching_slots: comparer.matching_slots(),
            comparison: if self.equal_sets { comparison.with_similarity(1.0) } else { comparison },
            undecided: !self.equal_sets && comparer.undecided(equal, code, code),
            a_keys: 1,
            b_keys: 1,
        };
        for (i, a) in members.iter().enumerate() {
            let a = table.key(*a)?;
            for b in &members[i + 1..] {
                let pair = Pair { a: a.clone(), b: table.key(*b)?, ..pair.clone() };
                go_on((self.visit)(Found::Pair(pair)))?;
            }
        }
        Ok(())
    }

    /// Emits a pair of groups, after the groups that come before it.
    fn pair(
        &mut self,
        table: &SignatureTable<'_>,
        comparer: &mut Comparer<'_>,
        edge: Edge,
    ) -> Step {
        let Edge { a, b, undecided, .. } = edge;
        self.groups_up_to(table, comparer, Some(a))?;
        comparer.align(table, a, b);
        let a_key = match &self.last_key {
            Some((group, key)) if *group == a => key,
            Some(_) | None => &self.last_key.insert((a, table.smallest_key(a)?)).1,
        };
        // The smallest key stands for all keys of a group that is not expanded.
        let named = |group| match table.members(group) {
            all if all.len() <= self.expand => (all, 1),
            all => (&all[..1], all.len() as u32),
        };
        let ((members, a_keys), (others, b_keys)) = (named(a), named(b));
        let pair = Pair {
            a: a_key.clone(),
            b: table.smallest_key(b)?,
            matching_slots: comparer.matching_slots(),
            comparison: edge.comparison(table, comparer),
            undecided,
            a_keys,
            b_keys,
        };
        if members.len() + others.len() == 2 {
            return go_on((self.visit)(Found::Pair(pair)));
        }
        for a in members {
            let a = table.key(*a)?;
            for b in others {
                let (a, b) = (a.clone(), table.key(*b)?);
                // The smaller key comes first, and the comparison has the same order.
                let swap = a > b;
                let comparison = match swap {
                    true => edge.swapped().comparison(table, comparer),
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
