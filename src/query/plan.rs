//! Probe or scan: the choice for one memtable or segment, by estimated cost.

use super::explain::{PartPlan, Plan};
use super::probe::{self, CandidateBudget, SegmentLists};
use super::scan;
use super::search::Search;
use super::source::{MemtableSource, SegmentSource, SignatureSource};
use crate::error::Result;
use crate::store::memtable::FreshView;
use crate::store::state::{SegmentView, State};

/// Nanoseconds, measured on one machine. Only their ratios matter.
mod cost {
    /// Locating a posting list.
    pub(super) const LIST: f64 = 60.0;
    /// Reading and counting a posting.
    pub(super) const POSTING: f64 = 3.0;
    /// Comparing a candidate with the query.
    pub(super) const CANDIDATE: f64 = 50.0;
    /// Counting the matching slots of a signature in a scan.
    pub(super) const SLOTS: f64 = 20.0;
    /// Comparing a word of a signature in a scan.
    pub(super) const WORD: f64 = 0.4;
    /// Loading a page in a scan.
    pub(super) const PAGE: f64 = 60.0;
}

/// Searches memtable `i` of a state, counted from the newest.
pub(super) fn search_memtable(
    state: &State,
    i: usize,
    view: FreshView<'_>,
    search: &mut Search<'_>,
    budget: &mut CandidateBudget,
) -> Result<PartPlan> {
    let mut source = MemtableSource::new(state, i, view);
    let requested = search.options.plan;
    // Beyond this many postings a scan costs less.
    let most = match requested {
        Some(Plan::Scan) => 0,
        Some(Plan::Probe) => usize::MAX,
        None => (scan_cost(&source, search, 0) / (cost::POSTING + cost::CANDIDATE)) as usize,
    };
    let postings = if most == 0 { None } else { probe::memtable_postings(&source, search, most) };
    let sharing = postings.as_ref().map_or(source.signatures().into(), |all| all.len() as u64);
    let scan_cost = scan_cost(&source, search, sharing);
    let probe_cost = postings.as_ref().map(|all| {
        search.target.slot_values.len() as f64 * cost::LIST
            + all.len() as f64 * (cost::POSTING + cost::CANDIDATE)
    });
    let plan = choose(requested, probe_cost, scan_cost);
    match (plan, postings) {
        (Plan::Probe, Some(postings)) => {
            probe::probe_memtable(&mut source, postings, search, budget)?;
        }
        (Plan::Probe, None) | (Plan::Scan, _) => search.scan(&mut source)?,
    }
    let (signatures, work) = (source.signatures(), search.end_source());
    Ok(PartPlan { segment: None, signatures, plan, probe_cost, scan_cost, work })
}

/// Searches a segment, of which the query's posting lists are located.
pub(super) fn search_segment(
    state: &State,
    view: &SegmentView,
    lists: SegmentLists<'_>,
    search: &mut Search<'_>,
    budget: &mut CandidateBudget,
) -> Result<PartPlan> {
    let mut source = SegmentSource::new(state, view);
    let requested = search.options.plan;
    let lists = Some(lists).filter(|_| requested != Some(Plan::Scan));
    let scan_cost =
        scan_cost(&source, search, lists.as_ref().map_or(0, SegmentLists::known_postings));
    let probe_cost = lists.as_ref().map(|lists| {
        lists.count() as f64 * cost::LIST
            + lists.postings() as f64 * cost::POSTING
            + lists.known_postings() as f64 * cost::CANDIDATE
    });
    let plan = choose(requested, probe_cost, scan_cost);
    match (plan, lists) {
        (Plan::Probe, Some(mut lists)) => lists.probe(&mut source, search, budget)?,
        (Plan::Probe, None) | (Plan::Scan, _) => search.scan(&mut source)?,
    }
    let (segment, signatures) = (Some(view.segment.id()), source.signatures());
    let work = search.end_source();
    Ok(PartPlan { segment, signatures, plan, probe_cost, scan_cost, work })
}

/// The plan that was asked for, or the cheaper one. Without a cost a probe is not possible.
fn choose(requested: Option<Plan>, probe_cost: Option<f64>, scan_cost: f64) -> Plan {
    let cheaper = probe_cost.is_some_and(|probe| probe <= scan_cost);
    requested.unwrap_or(if cheaper { Plan::Probe } else { Plan::Scan })
}

/// What a scan would cost if about `sharing` signatures share a slot with the query.
fn scan_cost<S: SignatureSource>(source: &S, search: &Search<'_>, sharing: u64) -> f64 {
    let (n, query) = (f64::from(source.signatures()), search.target.rows());
    let first_words = query.first().len() as f64;
    let each = if scan::first_planes_reject(query, search.fewest_equal()) {
        first_words * cost::WORD
    } else {
        // Slots are counted for each signature until the matches fill the ranking and raise its bound.
        let counted = (search.options.top as f64 / sharing.max(1) as f64).min(1.0);
        let min_slots = search.options.conditions.min_slots;
        let slots = if min_slots > 0 { cost::SLOTS * counted } else { 0.0 };
        (first_words + query.rest().len() as f64) * cost::WORD + slots
    };
    n * each + n / f64::from(source.block_length()) * cost::PAGE
}
