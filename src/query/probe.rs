//! The way through posting lists.
//!
//! List lengths are known before anything is read, so the shortest lists are read first. Popular elements
//! make a few lists hold nearly all postings: those are put off, and left unread if no signature that is
//! in them alone could have enough slots in common or enter the ranking any more.

use super::explain::{Plan, Work};
use super::part::{FreshPart, Part, SegmentPart};
use super::scan;
use super::verify::Search;
use crate::error::Result;
use crate::index::{Candidate, Candidates, Postings, merge};
use crate::store::segment::{FoundList, ListReader, PostingCursor};

/// Nanoseconds, measured on one machine: only their ratios matter.
mod cost {
    /// Finding a list.
    pub(super) const LIST: f64 = 60.0;
    /// A posting, read and counted.
    pub(super) const POSTING: f64 = 3.0;
    /// A candidate, compared with the query.
    pub(super) const CANDIDATE: f64 = 50.0;
    /// A signature in a scan whose slots are counted.
    pub(super) const SLOTS: f64 = 20.0;
    /// A word of a signature in a scan.
    pub(super) const WORD: f64 = 0.4;
    /// A page in a scan.
    pub(super) const PAGE: f64 = 60.0;
}

/// Lists shorter than this are not worth putting off.
const HEAVY: u64 = 1024;

/// More entries than a bucket of different values usually has.
const BUCKET: u64 = 8;

/// Most postings that are held at once to be sorted: 2 MiB of them, whatever the size of a segment.
const MOST_SORTED: u64 = 1 << 19;

impl Postings for PostingCursor<'_> {
    fn next_block(&mut self) -> Result<&[u32]> {
        PostingCursor::next_block(self)
    }
}

/// What both ways would cost.
#[derive(Debug, Clone, Copy)]
pub(super) struct Costs {
    /// `None` if it is out of the question.
    pub(super) probe: Option<f64>,
    pub(super) scan: f64,
}

impl Costs {
    /// The plan that was asked for, or the one that costs less.
    pub(super) fn choose(self, asked: Option<Plan>) -> Plan {
        let cheaper = self.probe.is_some_and(|probe| probe <= self.scan);
        asked.unwrap_or(if cheaper { Plan::Probe } else { Plan::Scan })
    }
}

/// Candidates of all parts together.
#[derive(Debug)]
pub(super) struct Tally {
    /// How many more may be looked at.
    pub(super) left: usize,
    pub(super) truncated: bool,
    pub(super) by_lists: Vec<u64>,
}

impl Tally {
    /// Takes all candidates of a part, or those that there is room for.
    fn take(&mut self, candidates: Candidates, work: &mut Work) -> Vec<Candidate> {
        work.candidates += candidates.seen();
        let (found, dropped) = candidates.finish();
        self.truncated |= dropped;
        self.left -= found.len();
        self.enter(&found);
        found
    }

    /// Takes signatures for which there is room, and some of which may be in too few lists to be candidates:
    /// only those that are in enough take up room, or an answer could be cut short for what is none.
    fn take_unsure(&mut self, found: &[Candidate], least: u32, work: &mut Work) {
        work.candidates += found.len() as u64;
        let sure = found.iter().filter(|candidate| candidate.lists >= least).count();
        self.left = self.left.saturating_sub(sure);
        self.enter(found);
    }

    fn enter(&mut self, found: &[Candidate]) {
        for candidate in found {
            let lists = candidate.lists as usize;
            if self.by_lists.len() <= lists {
                self.by_lists.resize(lists + 1, 0);
            }
            self.by_lists[lists] += 1;
        }
    }
}

/// What a scan of a part would cost, where about so many signatures share a slot with the query.
pub(super) fn scan_cost<P: Part>(part: &P, search: &Search<'_>, sharing: u64) -> f64 {
    let (n, query) = (f64::from(part.signatures()), search.target.rows());
    let each = if scan::rejects(query, search.least_equal()) {
        query.first().len() as f64 * cost::WORD
    } else {
        // Until those that share slots fill the ranking and raise the bar, slots are counted for each.
        let counted = (search.rule.top as f64 / sharing.max(1) as f64).min(1.0);
        let slots = if search.rule.least_slots > 0 { cost::SLOTS * counted } else { 0.0 };
        (query.first().len() + query.rest().len()) as f64 * cost::WORD + slots
    };
    n * each + n / f64::from(part.block_length()) * cost::PAGE
}

/// The lists of a query in a segment, shortest first where that matters.
pub(super) struct SegmentLists<'a> {
    reader: &'a ListReader<'a>,
    lists: &'a mut [FoundList<'a>],
    postings: u64,
    /// Whether a bucket holds one value, so that all lengths are exact.
    exact: bool,
}

impl<'a> SegmentLists<'a> {
    /// The lists that a reader found.
    pub(super) fn new(
        reader: &'a ListReader<'a>,
        lists: &'a mut [FoundList<'a>],
    ) -> SegmentLists<'a> {
        let postings = lists.iter().map(|found| u64::from(found.list.length())).sum();
        // Without a heavy one their order does not matter.
        if postings > HEAVY {
            lists.sort_unstable_by_key(|found| found.list.length());
        }
        let exact = reader.segment().header().posting_shape().low_bits() == 0;
        SegmentLists { reader, lists, postings, exact }
    }

    /// Ids that are in them, as far as is known: the length of a short list may be that of its bucket, nearly
    /// all of it other values.
    pub(super) fn sharing(&self) -> u64 {
        let lengths = self.lists.iter().map(|found| u64::from(found.list.length()));
        lengths.filter(|length| self.exact || *length > BUCKET).sum()
    }

    /// What reading them all would cost.
    pub(super) fn cost(&self) -> f64 {
        self.lists.len() as f64 * cost::LIST
            + self.postings as f64 * cost::POSTING
            + self.sharing() as f64 * cost::CANDIDATE
    }

    /// How many lists come before those that are put off: the first one that is heavy and longer than all
    /// before it together.
    fn light(&self) -> usize {
        let mut sum = 0;
        let heavy = self.lists.iter().position(|found| {
            let length = u64::from(found.list.length());
            let heavy = length > HEAVY && length > sum;
            sum += length;
            heavy
        });
        heavy.filter(|first| *first > 0).unwrap_or(self.lists.len())
    }

    /// Verifies all signatures that the lists lead to.
    pub(super) fn probe(
        &mut self,
        part: &mut SegmentPart<'_>,
        search: &mut Search<'_>,
        tally: &mut Tally,
    ) -> Result<()> {
        let (light, all) = (self.light(), self.lists.len());
        let unread = (all - light) as u32;
        let least = search.rule.least_slots.max(1);
        let mut verified = Vec::new();
        if light < all {
            let in_enough = least.saturating_sub(unread).max(1);
            let (found, dropped) = self.merge(part, search, tally.left, light, in_enough)?.finish();
            // Those that are too many may be so for want of the other lists, which then tell.
            if !dropped {
                search.verify(part, &found, unread)?;
                let hopeless = unread < least || search.most_equal(unread) < search.least_equal();
                if hopeless {
                    search.work.lists_unread += u64::from(unread);
                    tally.take_unsure(&found, least, &mut search.work);
                    return Ok(());
                }
                verified = found;
            }
        }
        let candidates = self.merge(part, search, tally.left, all, least)?;
        let mut found = tally.take(candidates, &mut search.work);
        found.retain(|c| verified.binary_search_by_key(&c.id, |old| old.id).is_err());
        search.verify(part, &found, 0)
    }

    /// The signatures in at least `least` of the first lists, at most so many.
    fn merge(
        &mut self,
        part: &SegmentPart<'_>,
        search: &mut Search<'_>,
        most: usize,
        first: usize,
        least: u32,
    ) -> Result<Candidates> {
        let segment = &part.view.segment;
        let lists = &self.lists[..first];
        let postings: u64 = lists.iter().map(|found| u64::from(found.list.length())).sum();
        search.work.lists_read += lists.len() as u64;
        search.work.postings += postings;
        search.work.bytes += 4 * postings;
        let mut candidates = Candidates::new(most);
        let ids = part.signatures();
        // Windows of counters cost something for every id, sorting for every posting.
        if postings <= (u64::from(ids) / 16 + 1024).min(MOST_SORTED) {
            let all = &mut search.postings;
            all.clear();
            self.reader.read(lists, all)?;
            merge::sorted(all, ids, least, |id, lists| candidates.push(id, lists));
        } else {
            let cursors = lists.iter().map(|found| segment.posting_cursor(&found.list));
            let cursors = cursors.collect::<Result<Vec<_>>>()?;
            merge::dense(cursors, ids, least, |id, lists| candidates.push(id, lists))?;
        }
        Ok(candidates)
    }
}

/// The signatures of a memtable that share slots with the query; `None` if there are so many that a scan
/// costs less.
pub(super) fn fresh_postings(
    part: &FreshPart<'_>,
    search: &Search<'_>,
    most: usize,
) -> Option<Vec<u32>> {
    let mut all = Vec::new();
    part.view.prefetch(search.target.wanted());
    for (slot, value) in search.target.wanted() {
        for id in part.view.with_value(slot, value) {
            if all.len() == most {
                return None;
            }
            all.push(id);
        }
    }
    Some(all)
}

/// What following chains of a memtable with so many entries costs.
pub(super) fn fresh_cost(postings: usize, search: &Search<'_>) -> f64 {
    search.target.values.len() as f64 * cost::LIST
        + postings as f64 * (cost::POSTING + cost::CANDIDATE)
}

/// The postings of a memtable that may be followed before a scan costs less.
pub(super) fn fresh_limit(scan: f64) -> usize {
    (scan / (cost::POSTING + cost::CANDIDATE)) as usize
}

/// Verifies the signatures that chains of a memtable lead to.
pub(super) fn probe_fresh(
    part: &mut FreshPart<'_>,
    mut postings: Vec<u32>,
    search: &mut Search<'_>,
    tally: &mut Tally,
) -> Result<()> {
    search.work.lists_read += search.target.values.len() as u64;
    search.work.postings += postings.len() as u64;
    search.work.bytes += 4 * postings.len() as u64;
    let (ids, least) = (part.signatures(), search.rule.least_slots.max(1));
    let mut candidates = Candidates::new(tally.left);
    merge::sorted(&mut postings, ids, least, |id, _| {
        // Chains lead to others as well, and who is a candidate shows when slots are counted.
        let lists = search.matching_slots(part, id);
        if lists >= least {
            candidates.push(id, lists);
        }
    });
    let found = tally.take(candidates, &mut search.work);
    search.verify(part, &found, 0)
}
