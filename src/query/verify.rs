//! Candidates become matches: signatures are compared, their first planes first, and what can still enter the ranking
//! is looked up.

use std::cell::Cell;
use std::cmp::Reverse;

use super::ask::Rule;
use super::explain::Work;
use super::part::Part;
use super::rank::{Place, Ranked, Ranking};
use super::score::Scorer;
use super::target::{Scratch, Target};
use crate::error::Result;
use crate::index::Candidate;
use crate::kernel::{Kernel, Row, prefetch};
use crate::store::page_source::Keep;

/// Candidates compared in one go: enough for the processor to wait for many at once, few enough that
/// pages which are read for them need little memory.
pub(super) const BATCH: usize = 64;

/// The state of a search: what is looked for, and what was found so far.
pub(super) struct Search<'a> {
    pub(super) target: &'a Target<'a>,
    pub(super) rule: Rule,
    pub(super) scorer: Scorer,
    pub(super) ranking: Ranking,
    /// The number of the part that is being searched.
    pub(super) part: u32,
    /// What was done there.
    pub(super) work: Work,
    pub(super) kernel: Kernel,
    /// The bound of the ranking when that was last asked, and the fewest equal samples that reach it.
    bar: Cell<(f64, u32)>,
    /// Memory for postings that are being sorted.
    pub(super) postings: Vec<u32>,
    scratch: Scratch,
}

impl<'a> Search<'a> {
    pub(super) fn new(target: &'a Target<'a>, rule: Rule) -> Search<'a> {
        Search {
            target,
            rule,
            scorer: Scorer::new(&target.signature),
            ranking: Ranking::new(rule.top, rule.least_value()),
            part: 0,
            work: Work::default(),
            kernel: Kernel::best(),
            bar: Cell::new((f64::NAN, 0)),
            postings: Vec::new(),
            scratch: Scratch::default(),
        }
    }

    /// Goes on to the next part: what was done in this one.
    pub(super) fn end_part(&mut self) -> Work {
        self.part += 1;
        std::mem::take(&mut self.work)
    }

    /// The fewest equal samples that can still enter.
    pub(super) fn least_equal(&self) -> u32 {
        let (bound, (last, least)) = (self.ranking.bound(), self.bar.get());
        if bound == last {
            return least;
        }
        let least = self.scorer.least_equal(bound);
        self.bar.set((bound, least));
        least
    }

    /// The most samples that a signature can have in common with the query if only so many slots can
    /// match: each of the others has a sample that differs.
    pub(super) fn most_equal(&self, matching: u32) -> u32 {
        let samples = self.target.rows().samples();
        samples - (self.target.values.len() as u32).saturating_sub(matching)
    }

    /// How many slots a loaded signature has in common with the query.
    pub(super) fn matching_slots<P: Part>(&mut self, part: &P, id: u32) -> u32 {
        self.target.matching_slots(part.row(id), &mut self.scratch)
    }

    /// Compares candidates with the query, in the given order of groups: first those in several lists, which
    /// are likely to raise the bar for the others. Up to `unread` more slots may match than lists say.
    pub(super) fn verify<P: Part>(
        &mut self,
        part: &mut P,
        candidates: &[Candidate],
        unread: u32,
    ) -> Result<()> {
        let mut batch = [0; BATCH];
        for several in [true, false] {
            let (mut least, mut n) = (self.least_equal(), 0);
            for candidate in candidates.iter().filter(|c| (c.lists > 1) == several) {
                if self.most_equal(candidate.lists + unread) < least {
                    continue;
                }
                batch[n] = candidate.id;
                n += 1;
                if n == BATCH {
                    self.verify_batch(part, &batch)?;
                    (least, n) = (self.least_equal(), 0);
                }
            }
            if n > 0 {
                self.verify_batch(part, &batch[..n])?;
            }
        }
        Ok(())
    }

    fn verify_batch<P: Part>(&mut self, part: &mut P, ids: &[u32]) -> Result<()> {
        part.load(ids, Keep::Recent)?;
        self.refine(&*part, ids)
    }

    /// Compares loaded signatures: the first planes of all, then all planes of those that could enter.
    fn refine<P: Part>(&mut self, part: &P, ids: &[u32]) -> Result<()> {
        let (query, least, n) = (self.target.rows(), self.least_equal(), ids.len());
        let mut found: Vec<(u32, Row<'_>)> = ids.iter().map(|id| (*id, part.row(*id))).collect();
        for (_, (first, rest)) in &found {
            prefetch(first);
            prefetch(rest);
        }
        let mut counts = [0; BATCH];
        let first_planes = found.iter().map(|(_, row)| (row.0, &[][..]));
        self.kernel.count_equal_each(query.first_only(), first_planes, &mut counts[..n]);
        self.work.compared += n as u64;
        self.work.bytes += (n * 8 * query.first().len()) as u64;
        let mut counts = counts.iter();
        found.retain(|_| counts.next().is_some_and(|count| u32::from(*count) >= least));
        self.compare_whole(part, &found)
    }

    /// Compares all planes of some loaded signatures, at most a batch of them.
    pub(super) fn compare_whole<P: Part>(
        &mut self,
        part: &P,
        found: &[(u32, Row<'_>)],
    ) -> Result<()> {
        let (query, n) = (self.target.rows(), found.len());
        let mut counts = [0; BATCH];
        let rows = found.iter().map(|(_, row)| *row);
        self.kernel.count_equal_each(query, rows, &mut counts[..n]);
        self.work.verified += n as u64;
        self.work.bytes += (n * 8 * query.rest().len()) as u64;
        // The best first: keys of those that they leave no room for need not be looked up.
        let (least, mut best_first, mut enough) = (self.least_equal(), [0; BATCH], 0);
        for (i, count) in (0_u8..).zip(&counts[..n]) {
            best_first[enough] = i;
            enough += usize::from(u32::from(*count) >= least);
        }
        best_first[..enough].sort_unstable_by_key(|i| Reverse(counts[usize::from(*i)]));
        for i in best_first[..enough].iter().map(|i| usize::from(*i)) {
            self.consider(part, found[i].0, u32::from(counts[i]))?;
        }
        Ok(())
    }

    /// Takes a loaded signature with so many equal samples into the ranking, with all keys that have it,
    /// if it can enter.
    pub(super) fn consider<P: Part>(&mut self, part: &P, id: u32, equal: u32) -> Result<()> {
        if part.is_empty(id) {
            return Ok(());
        }
        // The code stands apart from the planes, and most often it does not matter.
        let mut code = 0;
        if self.scorer.needs_code() {
            code = part.code(id);
        }
        let value = self.scorer.value(equal, code);
        let Rule { accept, threshold, .. } = self.rule;
        if value < self.ranking.bound() || !self.scorer.passes(accept, equal, code, threshold) {
            return Ok(());
        }
        let slots = self.matching_slots(part, id);
        if slots < self.rule.least_slots || !self.ranking.may_enter(value, slots) {
            return Ok(());
        }
        let place = Place { part: self.part, id };
        if part.keys_rise() && self.ranking.is_late(value, slots, place) {
            return Ok(());
        }
        code = part.code(id);
        let (target, ranking) = (self.target, &mut self.ranking);
        part.keys(id, &mut |key| {
            if target.is_itself(key) {
                return true;
            }
            // Keys rise: those after one that is too large are too large as well.
            ranking.admits(value, slots, key)
                && ranking.offer(Ranked { value, slots, key: key.into(), equal, code, place })
        })
    }
}
