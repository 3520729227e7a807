//! The way through posting lists.
//!
//! List lengths are known before anything is read, so the shortest lists are read first. Popular elements
//! make a few lists hold nearly all postings: those are put off, and left unread if no signature that is
//! in them alone could have enough slots in common or enter the ranking any more.

use super::explain::{Plan, Work};
use super::part::{FreshPart, Part, SegmentPart};
use super::verify::Search;
use crate::error::Result;
use crate::index::{Candidate, Candidates, Postings, merge};
use crate::store::segment::{ListReader, PostingCursor, PostingList};

/// Nanoseconds, measured on one machine: only their ratios matter.
mod cost {
    /// Finding a list.
    pub(super) const LIST: f64 = 60.0;
    /// A posting, read and counted.
    pub(super) const POSTING: f64 = 3.0;
    /// A candidate, compared with the query.
    pub(super) const CANDIDATE: f64 = 15.0;
    /// A word of plane 0 in a scan.
    pub(super) const WORD: f64 = 0.4;
    /// A page in a scan.
    pub(super) const PAGE: f64 = 60.0;
    /// A slot of a signature, read and compared.
    pub(super) const SLOT: f64 = 8.0;
}

/// Lists shorter than this are not worth putting off, nor are so many entries of chains.
const HEAVY: u64 = 1024;

/// More than a bucket of different values usually has.
const BUCKET: u64 = 64;

impl Postings for PostingCursor<'_> {
    fn next_block(&mut self) -> Result<&[u32]> {
        PostingCursor::next_block(self)
    }
}

/// What both ways would cost.
#[derive(Debug, Clone, Copy)]
pub(super) struct Costs {
    pub(super) probe: f64,
    pub(super) scan: f64,
}

impl Costs {
    /// The plan that was asked for, or the one that costs less.
    pub(super) fn choose(self, asked: Option<Plan>) -> Plan {
        asked.unwrap_or(if self.probe <= self.scan { Plan::Probe } else { Plan::Scan })
    }
}

/// Candidates of all parts together.
#[derive(Debug, Clone)]
pub(super) struct Tally {
    /// How many more may be looked at.
    pub(super) left: usize,
    pub(super) truncated: bool,
    pub(super) by_lists: Vec<u64>,
}

impl Tally {
    fn take(&mut self, candidates: Candidates, work: &mut Work) -> Vec<Candidate> {
        work.candidates += candidates.seen();
        let (found, dropped) = candidates.finish();
        self.truncated |= dropped;
        self.left -= found.len();
        for candidate in &found {
            let lists = candidate.lists as usize;
            if self.by_lists.len() <= lists {
                self.by_lists.resize(lists + 1, 0);
            }
            self.by_lists[lists] += 1;
        }
        found
    }
}

/// What a scan of a part would cost.
pub(super) fn scan_cost<P: Part>(part: &P, search: &Search<'_>) -> f64 {
    let (n, words) = (f64::from(part.signatures()), search.target.rows().words() as f64);
    n * words * cost::WORD + n / f64::from(part.block_length()) * cost::PAGE
}

/// What a scan costs on top where few signatures share a slot with the query: until those that do fill the
/// ranking and raise the bar, the slots of each signature are read to find that they do not match.
pub(super) fn slots_cost<P: Part>(part: &P, search: &Search<'_>, postings: u64) -> f64 {
    let query = search.target.rows();
    // Of signatures that have nothing to do with the query, so many samples agree.
    let by_chance = query.samples() >> query.bits();
    if search.rule.least_slots == 0 || search.least_equal() > by_chance {
        return 0.0;
    }
    let read = (search.rule.top as f64 / postings.max(1) as f64).min(1.0);
    read * f64::from(part.signatures()) * search.target.values.len() as f64 * cost::SLOT
}

/// The lists of a query in a segment, shortest first.
pub(super) struct SegmentLists<'a> {
    reader: ListReader<'a>,
    lists: Vec<PostingList>,
    postings: u64,
}

impl<'a> SegmentLists<'a> {
    /// Finds the lists; reads none.
    pub(super) fn find(part: &SegmentPart<'a>, search: &Search<'_>) -> Result<SegmentLists<'a>> {
        let mut wanted = Vec::with_capacity(search.target.values.len());
        for slot in 0..search.target.values.len() {
            wanted.extend(search.target.values_of(slot).map(|value| (slot, value)));
        }
        let mut reader = ListReader::new(&part.view.segment);
        let mut lists = reader.find(&wanted)?;
        lists.sort_unstable_by_key(PostingList::length);
        let postings = lists.iter().map(|list| u64::from(list.length())).sum();
        Ok(SegmentLists { reader, lists, postings })
    }

    /// What reading them all would cost.
    pub(super) fn cost(&self) -> f64 {
        self.lists.len() as f64 * cost::LIST
            + self.postings as f64 * (cost::POSTING + cost::CANDIDATE)
    }

    /// Ids that are in them, as far as is known: the length of a short list may be that of its bucket, nearly
    /// all of it other values.
    pub(super) fn certain(&self) -> u64 {
        let lengths = self.lists.iter().map(|list| u64::from(list.length()));
        lengths.filter(|length| *length > BUCKET).sum()
    }

    /// How many lists come before those that are put off: the first one that is heavy and longer than all
    /// before it together.
    fn light(&self) -> usize {
        let mut sum = 0;
        let heavy = self.lists.iter().position(|list| {
            let length = u64::from(list.length());
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
        let least = search.rule.least_slots;
        let before = (tally.clone(), search.work.candidates);
        let found = self.merge(part, search, tally, light, least.saturating_sub(unread).max(1))?;
        search.verify(part, &found, unread)?;
        if light == all {
            return Ok(());
        }
        let hopeless = unread < least || search.most_equal(unread) < search.least_equal();
        if hopeless {
            search.work.lists_unread += u64::from(unread);
            return Ok(());
        }
        // All lists together count candidates anew, and say whether there are too many of them. Those that
        // were verified already are left out.
        (*tally, search.work.candidates) = before;
        let mut more = self.merge(part, search, tally, all, least.max(1))?;
        more.retain(|c| found.binary_search_by_key(&c.id, |old| old.id).is_err());
        search.verify(part, &more, 0)
    }

    /// The signatures in at least `least` of the first lists.
    fn merge(
        &mut self,
        part: &SegmentPart<'_>,
        search: &mut Search<'_>,
        tally: &mut Tally,
        first: usize,
        least: u32,
    ) -> Result<Vec<Candidate>> {
        let segment = &part.view.segment;
        let lists = &self.lists[..first];
        let postings: u64 = lists.iter().map(|list| u64::from(list.length())).sum();
        search.work.lists_read += lists.len() as u64;
        search.work.postings += postings;
        search.work.bytes += 4 * postings;
        let mut candidates = Candidates::new(tally.left);
        let ids = part.signatures();
        // Windows of counters cost something for every id, sorting for every posting.
        if postings <= u64::from(ids) / 16 + 1024 {
            let mut all = Vec::with_capacity(postings as usize);
            self.reader.read(lists, &mut all)?;
            merge::sorted(&mut all, ids, least, |id, lists| candidates.push(id, lists));
        } else {
            let cursors = lists.iter().map(|list| segment.posting_cursor(list));
            let cursors = cursors.collect::<Result<Vec<_>>>()?;
            merge::dense(cursors, ids, least, |id, lists| candidates.push(id, lists))?;
        }
        Ok(tally.take(candidates, &mut search.work))
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
    for slot in 0..search.target.values.len() {
        for value in search.target.values_of(slot) {
            for id in part.view.with_value(slot, value) {
                if all.len() == most {
                    return None;
                }
                all.push(id);
            }
        }
    }
    Some(all)
}

/// What chains of a memtable cost, and how many of their entries cost as much as a scan.
pub(super) fn fresh_cost(postings: usize, search: &Search<'_>) -> f64 {
    search.target.values.len() as f64 * cost::LIST
        + postings as f64 * (cost::POSTING + cost::CANDIDATE)
}

/// The postings of a memtable that may be followed before a scan costs less.
pub(super) fn fresh_limit(scan: f64) -> usize {
    // What is within microseconds is followed in any case: it says what a scan would find.
    ((scan / (cost::POSTING + cost::CANDIDATE)) as usize).max(HEAVY as usize)
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
    merge::sorted(&mut postings, ids, least, |id, lists| candidates.push(id, lists));
    let found = tally.take(candidates, &mut search.work);
    search.verify(part, &found, 0)
}
