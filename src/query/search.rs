//! Runs a query. In: a query and the state that it reads. Out: the answer, best match first.
//!
//! [`search`] visits all memtables and segments. [`Search`] compares their candidates with the query and keeps the best
//! matches in one ranking.

use std::cell::Cell;
use std::cmp::Reverse;

use super::answer::{Answer, Match};
use super::exact;
use super::explain::{Plan, Trace, Work};
use super::originals::Originals;
use super::plan;
use super::probe::{CandidateBudget, SegmentLists};
use super::ranking::{Position, Ranked, Ranking};
use super::request::{Like, Query};
use super::source::SignatureSource;
use super::target::{SlotBuffers, Target};
use crate::error::Result;
use crate::index::Candidate;
use crate::kernel::{Kernel, Row, prefetch};
use crate::matching::{Conditions, MatchRule};
use crate::store::page_source::Keep;
use crate::store::segment::{ListReader, Wanted};
use crate::store::state::State;
use crate::trace::{event, span};

/// The most segments whose posting lists are located together.
const SEGMENTS_AT_ONCE: usize = 16;

/// The most posting lists that are located together, unless one segment has more. Each takes 72 bytes.
const LISTS_AT_ONCE: usize = 1 << 14;

/// The number of candidates that are compared at once: enough to overlap their cache misses, few enough that their
/// pages take little memory.
pub(super) const BATCH: usize = 64;

/// What a search must return, and how.
#[derive(Debug, Clone, Copy)]
pub(super) struct SearchOptions {
    pub(super) conditions: Conditions,
    pub(super) top: usize,
    /// The plan to use; `None` for the cheaper one.
    pub(super) plan: Option<Plan>,
    pub(super) max_candidates: usize,
}

/// Finds the answer to a query. `trace` records how.
pub(super) fn search(query: &Query<'_>, mut trace: Option<&mut Trace>) -> Result<Answer> {
    let (state, asked) = (query.state, query.search_options()?);
    span!("query", segments = state.segments.len());
    let kept = state.scheme.elements.are_exact().then(|| Originals::kept(state));
    let originals = query.originals.or(kept.as_ref());
    let options = if originals.is_some() { exact::first_pass(asked) } else { asked };
    // To count elements takes the features themselves. They are extracted once, for the signature as well.
    let features = match originals {
        Some(_) => query.like.features(query.sketcher)?,
        None => None,
    };
    let like = features.as_deref().map_or(query.like, Like::Features);
    let target = Target::new(state, query.sketcher, like, options.conditions.within_hamming_1)?;
    if let Some(trace) = &mut trace {
        trace.elements = target.signature.cardinality().map(|size| size.value);
    }
    if target.signature.is_empty() || options.top == 0 {
        return Ok(Answer { matches: Vec::new(), truncated: false });
    }
    let cache_misses = cache_misses(state);
    let mut search = Search::new(&target, options);
    let mut budget = CandidateBudget::new(options.max_candidates, trace.is_some());
    search.memtables(state, &mut budget, trace.as_deref_mut())?;
    search.segments(state, &mut budget, trace.as_deref_mut())?;
    let truncated = budget.truncated;
    if let Some(trace) = trace {
        trace.candidates_by_lists = budget.by_lists.unwrap_or_default();
        trace.pages_read = self::cache_misses(state) - cache_misses;
    }
    let matches = search.matches();
    let mut matches = match originals {
        Some(originals) => exact::rank(query, features, originals, asked, matches)?,
        None => matches,
    };
    if query.with_values {
        for found in &mut matches {
            found.value = state.value(&found.key)?;
        }
    }
    event!("answered", matches = matches.len(), truncated = truncated);
    Ok(Answer { matches, truncated })
}

/// The number of pages that all readers of these segments have read from the file.
fn cache_misses(state: &State) -> u64 {
    state.segments.first().map_or(0, |view| view.segment.cache_misses())
}

/// The state of a search: the target, and the best matches so far.
pub(super) struct Search<'a> {
    pub(super) target: &'a Target<'a>,
    pub(super) options: SearchOptions,
    pub(super) rule: MatchRule,
    pub(super) ranking: Ranking,
    /// The number of the memtable or segment that is being searched.
    source: u32,
    /// The work done in that memtable or segment.
    pub(super) work: Work,
    pub(super) kernel: Kernel,
    /// The last bound of the ranking, and the fewest equal samples that reach it.
    last_bound: Cell<(f64, u32)>,
    /// A reused buffer for postings that are being sorted.
    pub(super) postings: Vec<u32>,
    buffers: SlotBuffers,
}

impl<'a> Search<'a> {
    fn new(target: &'a Target<'a>, options: SearchOptions) -> Search<'a> {
        let rule = MatchRule::new(target.signature.shared_scheme(), options.conditions);
        Search {
            target,
            options,
            ranking: Ranking::new(options.top, options.conditions.least_estimate()),
            rule,
            source: 0,
            work: Work::default(),
            kernel: Kernel::best(),
            last_bound: Cell::new((f64::NAN, 0)),
            postings: Vec::new(),
            buffers: SlotBuffers::default(),
        }
    }

    fn memtables(
        &mut self,
        state: &State,
        budget: &mut CandidateBudget,
        mut trace: Option<&mut Trace>,
    ) -> Result<()> {
        for (i, table) in state.memtables().enumerate() {
            let view = table.view();
            if view.signatures() > 0 {
                let part = plan::search_memtable(state, i, view, self, budget)?;
                trace.iter_mut().for_each(|trace| trace.parts.push(part));
            }
        }
        Ok(())
    }

    fn segments(
        &mut self,
        state: &State,
        budget: &mut CandidateBudget,
        mut trace: Option<&mut Trace>,
    ) -> Result<()> {
        let wanted = self.wanted_lists(state)?;
        let at_once = (LISTS_AT_ONCE / wanted.len().max(1)).clamp(1, SEGMENTS_AT_ONCE);
        for views in state.segments.chunks(at_once) {
            let readers: Vec<ListReader<'_>> =
                views.iter().map(|view| ListReader::new(&view.segment)).collect();
            let (mut lists, counts) = SegmentLists::find(&readers, &wanted)?;
            let mut rest = &mut lists[..];
            for ((view, reader), count) in views.iter().zip(&readers).zip(counts) {
                let (own, others) = rest.split_at_mut(count);
                rest = others;
                let lists = SegmentLists::new(reader, own);
                let part = plan::search_segment(state, view, lists, self, budget)?;
                trace.iter_mut().for_each(|trace| trace.parts.push(part));
            }
        }
        Ok(())
    }

    /// The slots and values whose posting lists are wanted; none if every segment is scanned.
    fn wanted_lists(&self, state: &State) -> Result<Vec<Wanted>> {
        let first = state.segments.first().filter(|_| self.options.plan != Some(Plan::Scan));
        let Some(first) = first else { return Ok(Vec::new()) };
        // All segments have the same slots and values.
        let shape = first.segment.header().posting_shape();
        let values = self.target.matching_values();
        values.map(|(slot, value)| Wanted::new(shape, slot, value)).collect()
    }

    /// Ends the search of a memtable or segment, and returns the work done there.
    pub(super) fn end_source(&mut self) -> Work {
        self.source += 1;
        std::mem::take(&mut self.work)
    }

    /// The fewest equal samples with which a signature can still enter the ranking.
    pub(super) fn fewest_equal(&self) -> u32 {
        let (bound, (last, fewest)) = (self.ranking.bound(), self.last_bound.get());
        if bound == last {
            return fewest;
        }
        let fewest = self.rule.fewest_equal_with(bound, self.target.signature.cardinality_code());
        self.last_bound.set((bound, fewest));
        fewest
    }

    /// The most samples that can equal those of the query if at most `matching` slots match. In each of the other
    /// slots, at least one sample differs.
    pub(super) fn most_equal(&self, matching: u32) -> u32 {
        let samples = self.target.rows().samples();
        samples - (self.target.slot_values.len() as u32).saturating_sub(matching)
    }

    /// How many slots a loaded signature has in common with the query.
    pub(super) fn matching_slots<S: SignatureSource>(&mut self, source: &S, id: u32) -> u32 {
        self.target.matching_slots(source.row(id), &mut self.buffers)
    }

    /// Compares candidates with the query. Candidates in several lists come first, since they are likely to raise the
    /// bound for the others. `unread` lists were not read, so a candidate may match in as many more slots.
    pub(super) fn compare_candidates<S: SignatureSource>(
        &mut self,
        source: &mut S,
        candidates: &[Candidate],
        unread: u32,
    ) -> Result<()> {
        let mut batch = [0; BATCH];
        for in_several in [true, false] {
            let (mut fewest, mut n) = (self.fewest_equal(), 0);
            for candidate in candidates.iter().filter(|c| (c.lists > 1) == in_several) {
                if self.most_equal(candidate.lists + unread) < fewest {
                    continue;
                }
                batch[n] = candidate.id;
                n += 1;
                if n == BATCH {
                    self.compare_batch(source, &batch)?;
                    (fewest, n) = (self.fewest_equal(), 0);
                }
            }
            if n > 0 {
                self.compare_batch(source, &batch[..n])?;
            }
        }
        Ok(())
    }

    /// Compares the first planes of signatures, then all planes of those that could still enter the ranking.
    fn compare_batch<S: SignatureSource>(&mut self, source: &mut S, ids: &[u32]) -> Result<()> {
        source.load(ids, Keep::Recent)?;
        let source = &*source;
        let (query, fewest, n) = (self.target.rows(), self.fewest_equal(), ids.len());
        let mut rows: Vec<(u32, Row<'_>)> = ids.iter().map(|id| (*id, source.row(*id))).collect();
        for (_, (first, rest)) in &rows {
            prefetch(first);
            prefetch(rest);
        }
        let mut counts = [0; BATCH];
        let first_planes = rows.iter().map(|(_, row)| (row.0, &[][..]));
        self.kernel.count_equal_each(query.first_only(), first_planes, &mut counts[..n]);
        self.work.compared += n as u64;
        self.work.bytes += (n * 8 * query.first().len()) as u64;
        let mut counts = counts.iter();
        rows.retain(|_| counts.next().is_some_and(|count| u32::from(*count) >= fewest));
        self.compare_all_planes(source, &rows)
    }

    /// Compares all planes of at most [`BATCH`] loaded signatures.
    pub(super) fn compare_all_planes<S: SignatureSource>(
        &mut self,
        source: &S,
        rows: &[(u32, Row<'_>)],
    ) -> Result<()> {
        let (query, n) = (self.target.rows(), rows.len());
        let mut counts = [0; BATCH];
        self.kernel.count_equal_each(query, rows.iter().map(|(_, row)| *row), &mut counts[..n]);
        self.work.verified += n as u64;
        self.work.bytes += (n * 8 * query.rest().len()) as u64;
        // The best come first and raise the bound, so that fewer keys are looked up.
        let (fewest, mut best_first, mut enough) = (self.fewest_equal(), [0; BATCH], 0);
        for (i, count) in (0_u8..).zip(&counts[..n]) {
            best_first[enough] = i;
            enough += usize::from(u32::from(*count) >= fewest);
        }
        best_first[..enough].sort_unstable_by_key(|i| Reverse(counts[usize::from(*i)]));
        for i in best_first[..enough].iter().map(|i| usize::from(*i)) {
            self.consider(source, rows[i].0, u32::from(counts[i]))?;
        }
        Ok(())
    }

    /// Applies the matching rule to a loaded signature with `equal` equal samples. If it matches, all of its keys enter
    /// the ranking.
    pub(super) fn consider<S: SignatureSource>(
        &mut self,
        source: &S,
        id: u32,
        equal: u32,
    ) -> Result<()> {
        if source.is_empty_set(id) {
            return Ok(());
        }
        let query_code = self.target.signature.cardinality_code();
        // Codes are stored apart from the planes, so reading one may cost a cache miss.
        let code = if self.rule.needs_codes() { source.code(id) } else { 0 };
        let estimate = self.rule.estimate(equal, query_code, code);
        if estimate < self.ranking.bound() || !self.rule.interval_passes(equal, query_code, code) {
            return Ok(());
        }
        let slots = self.matching_slots(source, id);
        if slots < self.options.conditions.min_slots || !self.ranking.may_enter(estimate, slots) {
            return Ok(());
        }
        let position = Position { source: self.source, id };
        if source.keys_ascend() && self.ranking.is_behind(estimate, slots, position) {
            return Ok(());
        }
        let (target, ranking) = (self.target, &mut self.ranking);
        source.keys(id, &mut |key| {
            if target.is_own_key(key) {
                return true;
            }
            // Keys ascend: if one is too large to enter, so are all after it.
            ranking.admits(estimate, slots, key)
                && ranking.offer(Ranked { estimate, slots, key: key.into(), equal, code, position })
        })
    }

    /// The matches, best first.
    fn matches(self) -> Vec<Match> {
        let Search { ranking, rule, target, .. } = self;
        let query_code = target.signature.cardinality_code();
        let matches = ranking.finish().into_iter().map(|found| Match {
            comparison: rule.comparison(found.equal, query_code, found.code),
            key: found.key,
            value: None,
            matching_slots: found.slots,
        });
        matches.collect()
    }
}
