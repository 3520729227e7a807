//! Pairs from reading to deciding.
//!
//! In: what was asked for. Out: the pairs that match, one after the other, in key order. Rows are read and joined first;
//! then common elements are counted, if sets can be read.

use super::compare::Comparer;
use super::exact::{Exact, Outcome};
use super::join::Join;
use super::pairs::Pairs;
use super::progress::{Reporter, Step};
use super::results::{Phase, Report};
use super::signature_table::SignatureTable;
use crate::error::Result;
use crate::estimate::{Comparison, reaches};
use crate::query::Originals;
use crate::sketch::Sketcher;
use crate::store::sorted_spill::SortedSpill;

/// Pairs whose elements are counted in parallel before they are visited.
const BATCH: usize = 4096;

/// All pairs that match by their signatures, not visited yet.
pub(super) struct FoundPairs<'a> {
    pub(super) table: SignatureTable<'a>,
    comparer: Comparer<'a>,
    /// The smaller group in the upper half, the larger one in the lower half.
    pairs: SortedSpill,
    pub(super) exact: Option<Exact<'a>>,
    sketcher: &'a Sketcher,
    reporter: Reporter<'a>,
    /// How many pairs there are.
    count: u64,
}

/// A pair of groups that matches.
#[derive(Debug, Clone, Copy)]
pub(super) struct Edge {
    pub(super) a: u32,
    pub(super) b: u32,
    /// Equal samples.
    pub(super) equal: u32,
    /// Whether the pair does not certainly reach the threshold.
    pub(super) undecided: bool,
    /// What counting common elements gave, if sets can be read.
    pub(super) outcome: Option<Outcome>,
}

impl Edge {
    /// The same pair with its groups exchanged.
    pub(super) fn swapped(self) -> Edge {
        let outcome = self.outcome.map(|outcome| match outcome {
            Outcome::Counts(counts) => Outcome::Counts(counts.swapped()),
            Outcome::Similarity(_) | Outcome::Lost => outcome,
        });
        Edge { a: self.b, b: self.a, outcome, ..self }
    }

    pub(super) fn comparison(
        &self,
        table: &SignatureTable<'_>,
        comparer: &Comparer<'_>,
    ) -> Comparison {
        let estimated = comparer.comparison(self.equal, table.code(self.a), table.code(self.b));
        match self.outcome {
            Some(Outcome::Counts(counts)) => estimated.with_counts(counts),
            Some(Outcome::Similarity(similarity)) => estimated.with_similarity(similarity),
            Some(Outcome::Lost) | None => estimated,
        }
    }
}

/// Reads all rows and joins them. `report` is filled as far as this comes.
pub(super) fn find<'a>(mut request: Pairs<'a>, report: &mut Report) -> Step<FoundPairs<'a>> {
    let (state, sketcher) = (request.state, request.sketcher);
    if request.exact.is_none() && state.scheme.elements.are_exact() {
        request.exact = Some(Exact::Kept(Box::new(Originals::kept(state))));
    }
    let mut conditions = request.conditions()?;
    if request.exact.is_some() {
        conditions = conditions.before_counting();
    }
    let mut reporter = request.reporter;
    reporter.report(Phase::Reading, 0, 1)?;
    let mut table = SignatureTable::read(state, request.memory, &mut reporter)?;
    if let Some(originals) = request.exact.as_ref().and_then(Exact::originals) {
        table.split_groups(originals, sketcher, &mut reporter)?;
    }
    report.sets = table.ranks() as u64;
    report.signatures = table.groups() as u64;
    report.groups = table.shared_groups().len() as u64;
    let mut comparer = Comparer::new(&table, sketcher.slot_reader(), conditions);
    let join = Join::new(&table, &mut comparer, request.max_candidates, &mut reporter);
    let joined = join.run(request.plan)?;
    report.compared = joined.compared;
    report.pairs = joined.found;
    report.truncated = joined.truncated;
    let (pairs, exact, count) = (joined.pairs, request.exact, joined.found);
    Ok(FoundPairs { table, comparer, pairs, exact, sketcher, reporter, count })
}

/// What is left when all pairs have been visited.
pub(super) struct Visited<'a> {
    pub(super) table: SignatureTable<'a>,
    pub(super) comparer: Comparer<'a>,
    exact: Option<Exact<'a>>,
    sketcher: &'a Sketcher,
}

impl Visited<'_> {
    /// Compares two groups, exactly if sets can be read.
    pub(super) fn compare(&self, a: u32, b: u32) -> Result<Comparison> {
        let Visited { table, comparer, exact, sketcher } = self;
        let outcome = exact.as_ref().map(|exact| exact.compare(table, sketcher, a, b));
        let (equal, outcome) = (comparer.count_equal(table, a, b), outcome.transpose()?);
        Ok(Edge { a, b, equal, undecided: false, outcome }.comparison(table, comparer))
    }
}

impl<'a> FoundPairs<'a> {
    /// Visits all pairs that match, in key order. `report` counts those whose sets could not be read.
    pub(super) fn each(
        self,
        report: &mut Report,
        visit: &mut dyn FnMut(&SignatureTable<'a>, &mut Comparer<'a>, Edge) -> Step,
    ) -> Step<Visited<'a>> {
        let FoundPairs { table, mut comparer, pairs, exact, sketcher, mut reporter, count } = self;
        let (threshold, mut done) = (comparer.threshold(), 0);
        reporter.report(Phase::Giving, 0, count)?;
        let mut batch: Vec<Edge> = Vec::new();
        let mut visit_batch = |batch: &mut Vec<Edge>, comparer: &mut Comparer<'a>| -> Step {
            if let Some(exact) = &exact {
                exact.decide(&table, sketcher, batch)?;
            }
            for edge in batch.drain(..) {
                match edge.outcome.map(Outcome::similarity) {
                    Some(None) => report.lost += 1,
                    Some(Some(similarity)) if !reaches(similarity, threshold) => {}
                    Some(Some(_)) => visit(&table, comparer, Edge { undecided: false, ..edge })?,
                    None => visit(&table, comparer, edge)?,
                }
            }
            Ok(())
        };
        // Without sets to count there is nothing to do in parallel.
        let most = if exact.is_some() { BATCH } else { 1 };
        pairs.drain(&mut |pair| {
            done += 1;
            reporter.tick(Phase::Giving, done, count)?;
            let (a, b) = ((pair >> 32) as u32, pair as u32);
            let equal = comparer.count_equal(&table, a, b);
            let undecided = most == 1 && comparer.undecided(equal, table.code(a), table.code(b));
            batch.push(Edge { a, b, equal, undecided, outcome: None });
            if batch.len() >= most { visit_batch(&mut batch, &mut comparer) } else { Ok(()) }
        })?;
        visit_batch(&mut batch, &mut comparer)?;
        Ok(Visited { table, comparer, exact, sketcher })
    }
}
