//! A query from its question to its answer: every part of the database is searched in its way, and all
//! share one ranking.

use super::answer::{Answer, Match};
use super::ask::Query;
use super::exact;
use super::explain::{Explanation, PartPlan, Plan, Work};
use super::originals::Originals;
use super::part::{FreshPart, Part, SegmentPart};
use super::probe::{self, Costs, SegmentLists, Tally};
use super::target::Target;
use super::verify::Search;
use crate::error::Result;
use crate::store::memtable::FreshView;
use crate::store::segment::{FoundList, ListReader, Wanted};
use crate::store::state::{SegmentView, State};

/// Segments whose lists are found together, at most.
const TOGETHER: usize = 16;

/// Lists that are found together, unless one segment has more: what is known of them takes 72 bytes each.
const LISTS_TOGETHER: usize = 1 << 14;

/// Finds the answer to a query.
pub(super) fn search(query: &Query<'_>) -> Result<Explanation> {
    let (state, asked) = (query.state, query.rule()?);
    let kept = state.scheme.elements.are_exact().then(|| Originals::kept(state));
    let originals = query.originals.or(kept.as_ref());
    let rule = if originals.is_some() { exact::loosened(asked) } else { asked };
    let target = Target::new(state, query.sketcher, query.like, rule.within_hamming_1)?;
    let mut explanation = Explanation {
        answer: Answer { matches: Vec::new(), truncated: false },
        parts: Vec::new(),
        work: Work::default(),
        candidates_by_lists: Vec::new(),
        pages_read: 0,
        min_matches: rule.least_slots,
        scheme: (*state.scheme).clone(),
        within_hamming_1: rule.within_hamming_1,
        threshold: rule.threshold.is_finite().then_some((rule.threshold, rule.accept)),
        verified: originals.is_some(),
        elements: target.signature.cardinality().map(|size| size.value),
        shared_donors: None,
    };
    if target.signature.is_empty() || rule.top == 0 {
        return Ok(explanation);
    }
    let misses = pages_read(state);
    let mut search = Search::new(&target, rule);
    let mut tally = Tally { left: rule.max_candidates, truncated: false, by_lists: Vec::new() };
    for (i, table) in state.memtables().enumerate() {
        let view = table.view();
        if view.signatures() > 0 {
            explanation.parts.push(search_fresh(state, i, view, &mut search, &mut tally)?);
        }
    }
    let wanted = wanted(state, &target, rule.plan)?;
    let together = (LISTS_TOGETHER / wanted.len().max(1)).clamp(1, TOGETHER);
    for views in state.segments.chunks(together) {
        let readers: Vec<ListReader<'_>> =
            views.iter().map(|view| ListReader::new(&view.segment)).collect();
        let (mut lists, counts) = find_lists(&readers, &wanted)?;
        let mut rest = &mut lists[..];
        for ((view, reader), count) in views.iter().zip(&readers).zip(counts) {
            let (own, others) = rest.split_at_mut(count);
            rest = others;
            let lists = SegmentLists::new(reader, own);
            explanation.parts.push(search_segment(state, view, lists, &mut search, &mut tally)?);
        }
    }
    explanation.parts.iter().for_each(|part| explanation.work += part.work);
    explanation.candidates_by_lists = tally.by_lists;
    explanation.pages_read = pages_read(state) - misses;
    let Search { ranking, scorer, .. } = search;
    let matches = ranking.finish().into_iter().map(|found| Match {
        comparison: scorer.comparison(found.equal, found.code),
        key: found.key,
        matching_slots: found.slots,
    });
    let matches = match originals {
        Some(originals) => exact::rank(query, originals, asked, matches.collect())?,
        None => matches.collect(),
    };
    explanation.answer = Answer { matches, truncated: tally.truncated };
    Ok(explanation)
}

/// The slots and values whose lists are wanted; none where lists are not followed.
fn wanted(state: &State, target: &Target<'_>, plan: Option<Plan>) -> Result<Vec<Wanted>> {
    let first = state.segments.first().filter(|_| plan != Some(Plan::Scan));
    let Some(first) = first else { return Ok(Vec::new()) };
    // Slots and values are the same in all segments.
    let shape = first.segment.header().posting_shape();
    target.wanted().map(|(slot, value)| Wanted::new(shape, slot, value)).collect()
}

/// The lists of each segment, with how many each has. Each step is taken for all of them: while one waits for
/// memory, so do the others.
fn find_lists<'r>(
    readers: &'r [ListReader<'_>],
    wanted: &[Wanted],
) -> Result<(Vec<FoundList<'r>>, Vec<usize>)> {
    let mut asked = Vec::with_capacity(readers.len() * wanted.len());
    readers.iter().for_each(|reader| reader.ask(wanted, &mut asked));
    let mut lists = Vec::with_capacity(asked.len());
    let mut counts = Vec::with_capacity(readers.len());
    for (i, reader) in readers.iter().enumerate() {
        let before = lists.len();
        reader.find(wanted, &asked[i * wanted.len()..][..wanted.len()], &mut lists)?;
        counts.push(lists.len() - before);
    }
    Ok((lists, counts))
}

/// Pages that any reader of these segments has read from the file.
fn pages_read(state: &State) -> u64 {
    state.segments.first().map_or(0, |view| view.segment.cache_misses())
}

fn search_fresh(
    state: &State,
    i: usize,
    view: FreshView<'_>,
    search: &mut Search<'_>,
    tally: &mut Tally,
) -> Result<PartPlan> {
    let mut part = FreshPart::new(state, i, view);
    let most = match search.rule.plan {
        Some(Plan::Scan) => 0,
        Some(Plan::Probe) => usize::MAX,
        None => probe::fresh_limit(probe::scan_cost(&part, search, 0)),
    };
    let postings = if most == 0 { None } else { probe::fresh_postings(&part, search, most) };
    let sharing = postings.as_ref().map_or(part.signatures().into(), |all| all.len() as u64);
    let scan = probe::scan_cost(&part, search, sharing);
    let probe = postings.as_ref().map(|all| probe::fresh_cost(all.len(), search));
    let plan = Costs { probe, scan }.choose(search.rule.plan);
    match (plan, postings) {
        (Plan::Probe, Some(postings)) => probe::probe_fresh(&mut part, postings, search, tally)?,
        _ => search.scan(&mut part)?,
    }
    let work = search.end_part();
    let signatures = part.signatures();
    Ok(PartPlan { segment: None, signatures, plan, probe_cost: probe, scan_cost: scan, work })
}

fn search_segment(
    state: &State,
    view: &SegmentView,
    lists: SegmentLists<'_>,
    search: &mut Search<'_>,
    tally: &mut Tally,
) -> Result<PartPlan> {
    let mut part = SegmentPart::new(state, view);
    let lists = Some(lists).filter(|_| search.rule.plan != Some(Plan::Scan));
    let sharing = lists.as_ref().map_or(0, SegmentLists::sharing);
    let scan = probe::scan_cost(&part, search, sharing);
    let probe = lists.as_ref().map(SegmentLists::cost);
    let plan = Costs { probe, scan }.choose(search.rule.plan);
    match (plan, lists) {
        (Plan::Probe, Some(mut lists)) => lists.probe(&mut part, search, tally)?,
        _ => search.scan(&mut part)?,
    }
    let work = search.end_part();
    let (segment, signatures) = (Some(view.segment.id()), part.signatures());
    Ok(PartPlan { segment, signatures, plan, probe_cost: probe, scan_cost: scan, work })
}
