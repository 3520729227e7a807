//! From posting lists to candidates.
//!
//! In: the posting lists of the query's slot values. Out: the signatures that are in enough of them, given to
//! [`Search::compare_candidates`].
//!
//! List lengths are known before anything is read, and the shortest lists are read first. Popular elements make a few
//! lists hold nearly all postings. These long lists come last, and are not read at all if no signature that is in them
//! alone could have enough matching slots or enter the ranking.

use super::explain::Work;
use super::search::Search;
use super::source::{MemtableSource, SegmentSource, SignatureSource};
use crate::error::Result;
use crate::index::{Candidate, Candidates, Postings, merge};
use crate::store::segment::{FoundList, ListReader, PostingCursor, Wanted};

/// Lists up to this length are always read.
const LONG_LIST: u64 = 1024;

/// A bucket of different values usually has fewer entries than this.
const BUCKET: u64 = 8;

/// Postings that are sorted at once, at most: 2 MiB, whatever the size of a segment.
const MAX_SORTED: u64 = 1 << 19;

impl Postings for PostingCursor<'_> {
    fn next_block(&mut self) -> Result<&[u32]> {
        PostingCursor::next_block(self)
    }
}

/// How many more candidates may be compared, in all memtables and segments together.
#[derive(Debug)]
pub(super) struct CandidateBudget {
    left: usize,
    pub(super) truncated: bool,
    /// Candidates by the number of lists that they were in, if that is recorded.
    pub(super) by_lists: Option<Vec<u64>>,
}

impl CandidateBudget {
    pub(super) fn new(max_candidates: usize, recorded: bool) -> CandidateBudget {
        let by_lists = recorded.then(Vec::new);
        CandidateBudget { left: max_candidates, truncated: false, by_lists }
    }

    /// Takes the candidates of a memtable or segment, or as many as the budget allows.
    fn take(&mut self, candidates: Candidates, work: &mut Work) -> Vec<Candidate> {
        work.candidates += candidates.seen();
        let (found, dropped) = candidates.finish();
        self.truncated |= dropped;
        self.left -= found.len();
        self.record(&found);
        found
    }

    /// Takes signatures of which some may be in fewer than `min_lists` lists. Those are no candidates and cost nothing.
    fn take_unsure(&mut self, found: &[Candidate], min_lists: u32, work: &mut Work) {
        work.candidates += found.len() as u64;
        let sure = found.iter().filter(|candidate| candidate.lists >= min_lists).count();
        self.left = self.left.saturating_sub(sure);
        self.record(found);
    }

    fn record(&mut self, found: &[Candidate]) {
        let Some(by_lists) = &mut self.by_lists else { return };
        for candidate in found {
            let lists = candidate.lists as usize;
            if by_lists.len() <= lists {
                by_lists.resize(lists + 1, 0);
            }
            by_lists[lists] += 1;
        }
    }
}

/// The posting lists of a query in one segment, in ascending order of length if any is long.
pub(super) struct SegmentLists<'a> {
    reader: &'a ListReader<'a>,
    lists: &'a mut [FoundList<'a>],
    postings: u64,
    /// Whether each bucket holds one value, so that all lengths are exact.
    exact: bool,
}

impl<'a> SegmentLists<'a> {
    /// Locates the lists of several segments. Returns all lists, and how many each segment has. Each step is taken for
    /// all segments before the next one, so that their cache misses overlap.
    pub(super) fn find(
        readers: &'a [ListReader<'_>],
        wanted: &[Wanted],
    ) -> Result<(Vec<FoundList<'a>>, Vec<usize>)> {
        let mut entries = Vec::with_capacity(readers.len() * wanted.len());
        readers.iter().for_each(|reader| reader.look_up(wanted, &mut entries));
        let mut lists = Vec::with_capacity(entries.len());
        let mut counts = Vec::with_capacity(readers.len());
        for (i, reader) in readers.iter().enumerate() {
            let before = lists.len();
            reader.find(wanted, &entries[i * wanted.len()..][..wanted.len()], &mut lists)?;
            counts.push(lists.len() - before);
        }
        Ok((lists, counts))
    }

    /// The lists that a reader located.
    pub(super) fn new(
        reader: &'a ListReader<'a>,
        lists: &'a mut [FoundList<'a>],
    ) -> SegmentLists<'a> {
        let postings = lists.iter().map(length).sum();
        if postings > LONG_LIST {
            lists.sort_unstable_by_key(length);
        }
        let exact = reader.segment().header().posting_shape().low_bits() == 0;
        SegmentLists { reader, lists, postings, exact }
    }

    pub(super) fn count(&self) -> usize {
        self.lists.len()
    }

    /// Postings in all lists.
    pub(super) fn postings(&self) -> u64 {
        self.postings
    }

    /// Postings in lists whose length is known. The length of a short list may be that of its bucket, which nearly
    /// always holds other values.
    pub(super) fn known_postings(&self) -> u64 {
        self.lists.iter().map(length).filter(|length| self.exact || *length > BUCKET).sum()
    }

    /// How many lists are read first. The others start with a long list that has more postings than all lists before it.
    fn short_lists(&self) -> usize {
        let mut sum = 0;
        let first_long = self.lists.iter().map(length).position(|length| {
            let long = length > LONG_LIST && length > sum;
            sum += length;
            long
        });
        first_long.filter(|first| *first > 0).unwrap_or(self.lists.len())
    }

    /// Compares all signatures that are in enough lists.
    pub(super) fn probe(
        &mut self,
        source: &mut SegmentSource<'_>,
        search: &mut Search<'_>,
        budget: &mut CandidateBudget,
    ) -> Result<()> {
        let (short, all) = (self.short_lists(), self.lists.len());
        let unread = (all - short) as u32;
        let min_lists = search.options.conditions.min_slots.max(1);
        let mut compared = Vec::new();
        if short < all {
            let enough = min_lists.saturating_sub(unread).max(1);
            let candidates = self.merge(source, search, budget.left, short, enough)?;
            let (found, dropped) = candidates.finish();
            // If there are too many, the long lists may still show which of them are in enough lists.
            if !dropped {
                search.compare_candidates(source, &found, unread)?;
                let cannot_enter = search.most_equal(unread) < search.fewest_equal();
                if unread < min_lists || cannot_enter {
                    search.work.lists_unread += u64::from(unread);
                    budget.take_unsure(&found, min_lists, &mut search.work);
                    return Ok(());
                }
                compared = found;
            }
        }
        let candidates = self.merge(source, search, budget.left, all, min_lists)?;
        let mut found = budget.take(candidates, &mut search.work);
        found.retain(|c| compared.binary_search_by_key(&c.id, |old| old.id).is_err());
        search.compare_candidates(source, &found, 0)
    }

    /// The signatures in at least `min_lists` of the first `lists` lists, at most `most` of them.
    fn merge(
        &mut self,
        source: &SegmentSource<'_>,
        search: &mut Search<'_>,
        most: usize,
        lists: usize,
        min_lists: u32,
    ) -> Result<Candidates> {
        let segment = &source.view.segment;
        let lists = &self.lists[..lists];
        let postings: u64 = lists.iter().map(length).sum();
        search.work.lists_read += lists.len() as u64;
        search.work.postings += postings;
        search.work.bytes += 4 * postings;
        let mut candidates = Candidates::new(most);
        let ids = source.signatures();
        // Sorting costs something for each posting, windows of counters for each id.
        if postings <= (u64::from(ids) / 16 + 1024).min(MAX_SORTED) {
            let all = &mut search.postings;
            all.clear();
            self.reader.read(lists, all)?;
            merge::sorted(all, ids, min_lists, |id, lists| candidates.push(id, lists));
        } else {
            let cursors = lists.iter().map(|found| segment.posting_cursor(&found.list));
            let cursors = cursors.collect::<Result<Vec<_>>>()?;
            merge::dense(cursors, ids, min_lists, |id, lists| candidates.push(id, lists))?;
        }
        Ok(candidates)
    }
}

fn length(found: &FoundList<'_>) -> u64 {
    u64::from(found.list.length())
}

/// The signatures of a memtable that share slot values with the query; `None` if there are more than `most`.
pub(super) fn memtable_postings(
    source: &MemtableSource<'_>,
    search: &Search<'_>,
    most: usize,
) -> Option<Vec<u32>> {
    let mut all = Vec::new();
    source.view.prefetch(search.target.matching_values());
    for (slot, value) in search.target.matching_values() {
        for id in source.view.with_value(slot, value) {
            if all.len() == most {
                return None;
            }
            all.push(id);
        }
    }
    Some(all)
}

/// Compares the signatures that the hash chains of a memtable lead to.
pub(super) fn probe_memtable(
    source: &mut MemtableSource<'_>,
    mut postings: Vec<u32>,
    search: &mut Search<'_>,
    budget: &mut CandidateBudget,
) -> Result<()> {
    search.work.lists_read += search.target.slot_values.len() as u64;
    search.work.postings += postings.len() as u64;
    search.work.bytes += 4 * postings.len() as u64;
    let (ids, min_slots) = (source.signatures(), search.options.conditions.min_slots.max(1));
    let mut candidates = Candidates::new(budget.left);
    merge::sorted(&mut postings, ids, min_slots, |id, _| {
        // A chain holds other values too. Only the signature tells how many slots match.
        let slots = search.matching_slots(source, id);
        if slots >= min_slots {
            candidates.push(id, slots);
        }
    });
    let found = budget.take(candidates, &mut search.work);
    search.compare_candidates(source, &found, 0)
}
