//! All live sets of a state in key order, and their distinct signatures in memory.
//!
//! In: a state. Out: ranks (the live rows that are not empty, numbered in key order), and groups (their
//! distinct signatures, numbered in the order of their smallest keys). So numbers of groups compare as the keys
//! that name them, and are the same wherever rows live. A rank takes eight bytes, a group its signature and
//! some thirty bytes while groups are made and sorted.

use std::ops::Bound;
use std::sync::Arc;

use hashbrown::HashTable;
use xxhash_rust::xxh3::xxh3_64;
use zerocopy::IntoBytes;

use super::found::{Group, Phase};
use super::sorting::Sorting;
use super::stop::{Step, Teller};
use crate::error::{Error, Result};
use crate::kernel::{Row, Rows, prefetch};
use crate::scheme::Scheme;
use crate::sketch::Signature;
use crate::store::range::{Source, Walk};
use crate::store::segment::rows::SignatureCursor;
use crate::store::state::{SegmentView, State};

/// Bytes that a row takes: its place.
const ROW_BYTES: u64 = 8;

/// Bytes that a row takes beside if its signature is that of another: the two while they are gathered, with room to
/// grow, and its rank among the members, with that of the first.
const COPY_BYTES: u64 = 16 + 8;

/// Bytes that a distinct signature takes beside its planes: code, first rank, and then two entries of eight bytes
/// while they are sorted and a number while equal ones become one; or, as it was equal to another, what a copy takes.
const GROUP_BYTES: u64 = 4 + 4 + 24;

/// Bytes for each signature of a segment in which some have several rows: its group.
const SHARED_BYTES: u64 = 4;

/// No group.
const NONE: u32 = u32::MAX;

/// The segment of rows that are in no segment.
const FRESH: u32 = u32::MAX;

/// Where a row is: a segment of the state and a row there, or the number of a key that was kept.
#[derive(Debug, Clone, Copy)]
struct Place {
    segment: u32,
    row: u32,
}

/// The sets of a state.
#[derive(Debug)]
pub(crate) struct Roster<'a> {
    state: &'a State,
    places: Vec<Place>,
    /// Keys of rows that are in a memtable.
    fresh: Vec<Box<[u8]>>,
    /// All planes of each group.
    planes: Vec<u64>,
    codes: Vec<u32>,
    /// The first rank of each group.
    firsts: Vec<u32>,
    /// Groups of several keys, with the place of their first rank in `members`.
    several: Vec<(u32, u32)>,
    /// Ranks of those groups, group after group.
    members: Vec<u32>,
}

impl<'a> Roster<'a> {
    /// Reads all live rows.
    pub(super) fn read(
        state: &'a State,
        memory: usize,
        teller: &mut Teller<'_>,
    ) -> Step<Roster<'a>> {
        let (rows, ids) = bounds(state, memory)?;
        let words = state.scheme.words_per_signature();
        let mut roster = Roster {
            state,
            places: Vec::with_capacity(rows),
            fresh: Vec::new(),
            planes: Vec::with_capacity(ids * words),
            codes: Vec::with_capacity(ids),
            firsts: Vec::with_capacity(ids),
            several: Vec::new(),
            members: Vec::new(),
        };
        let mut shared: Vec<Vec<u32>> =
            state.segments.iter().map(|view| vec![NONE; shared_ids(view)]).collect();
        let mut known = HashTable::new();
        let mut cursors: Vec<SignatureCursor<'_>> =
            state.segments.iter().map(|view| SignatureCursor::new(&view.segment)).collect();
        let (mut planes, mut copies, mut done) = (Vec::new(), Vec::new(), 0);
        let mut walk = Walk::new(state, Bound::Unbounded, Bound::Unbounded)?;
        while let Some((key, source)) = walk.next_source()? {
            done += 1;
            teller.tick(Phase::Reading, done, rows as u64)?;
            let (rank, next) = (roster.places.len() as u32, roster.firsts.len() as u32);
            match source {
                Source::Fresh(stored) if stored.signature.is_empty() => continue,
                Source::Fresh(stored) => {
                    roster.places.push(Place { segment: FRESH, row: roster.fresh.len() as u32 });
                    roster.fresh.push(key);
                    let (planes, code) =
                        (stored.signature.planes(), stored.signature.cardinality_code());
                    match roster.look_up(planes, code, &mut known) {
                        Some(group) => copies.push((group, rank)),
                        None => roster.push(planes, code, rank),
                    }
                }
                // Memory was asked for by what the manifest says.
                Source::Row(_, segment, _) if done > rows as u64 => {
                    let detail = "more rows can be seen than the manifest says".into();
                    return Err(segment.lost("LIVE-3", detail).into());
                }
                Source::Row(_, segment, found) if segment.is_empty_id(found.id) => continue,
                Source::Row(i, _, found) => {
                    roster.places.push(Place { segment: i as u32, row: found.row });
                    match shared[i].get_mut(found.id as usize) {
                        Some(group) if *group != NONE => {
                            copies.push((*group, rank));
                            continue;
                        }
                        Some(group) => *group = next,
                        None => {}
                    }
                    let code = cursors[i].read(found.id, &mut planes)?;
                    roster.push(&planes, code, rank);
                }
            };
        }
        drop((shared, known));
        roster.unite(&mut copies, teller)?;
        roster.gather(copies);
        Ok(roster)
    }

    /// A new group, of the last rank.
    fn push(&mut self, planes: &[u64], code: u32, rank: u32) {
        self.planes.extend_from_slice(planes);
        self.codes.push(code);
        self.firsts.push(rank);
    }

    /// The group of a signature among those of memtables, or nothing if it will be the next one.
    fn look_up(&self, planes: &[u64], code: u32, known: &mut HashTable<u32>) -> Option<u32> {
        let same = |group: &u32| self.code(*group) == code && self.planes(*group) == planes;
        let hash = hash_of(planes, code);
        if let Some(group) = known.find(hash, same) {
            return Some(*group);
        }
        let next = self.firsts.len() as u32;
        known.insert_unique(hash, next, |group| hash_of(self.planes(*group), self.code(*group)));
        None
    }

    /// Makes groups of equal signatures one: writers should store these once in a segment, but need not, and
    /// segments know nothing of each other. By sorting: to look each up in a table would wait for memory
    /// each time.
    fn unite(&mut self, copies: &mut Vec<(u32, u32)>, teller: &mut Teller<'_>) -> Step {
        let groups = 0..self.firsts.len() as u32;
        let mut entries: Vec<u64> = groups
            .clone()
            .map(|group| {
                let hash = hash_of(self.planes(group), self.code(group));
                (hash & !u64::from(u32::MAX)) | u64::from(group)
            })
            .collect();
        let (mut sorting, total) = (Sorting::default(), self.places.len() as u64);
        // For each group the first that is equal to it.
        let mut first: Vec<u32> = groups.collect();
        let mut any = false;
        for part in 0..sorting.part(&entries) {
            teller.tell(Phase::Reading, total, total)?;
            let sorted = sorting.sort(part, &mut entries);
            for run in sorted.chunk_by_mut(|a, b| a >> 32 == b >> 32).filter(|run| run.len() > 1) {
                let signature = |entry: u64| (self.planes(entry as u32), self.code(entry as u32));
                run.sort_unstable_by(|a, b| signature(*a).cmp(&signature(*b)).then(a.cmp(b)));
                for same in run.chunk_by(|a, b| signature(*a) == signature(*b)) {
                    same.iter().for_each(|entry| first[*entry as u32 as usize] = same[0] as u32);
                    any |= same.len() > 1;
                }
            }
        }
        drop((entries, sorting));
        if any {
            self.close_up(first, copies);
        }
        Ok(())
    }

    /// Takes out the groups to which another is equal that comes before.
    fn close_up(&mut self, mut first: Vec<u32>, copies: &mut Vec<(u32, u32)>) {
        let words = self.state.scheme.words_per_signature();
        let mut kept = 0;
        for group in 0..first.len() {
            let equal = first[group] as usize;
            if equal != group {
                // That one has its new number already.
                first[group] = first[equal];
                copies.push((group as u32, self.firsts[group]));
                continue;
            }
            first[group] = kept as u32;
            self.planes.copy_within(group * words..(group + 1) * words, kept * words);
            self.codes[kept] = self.codes[group];
            self.firsts[kept] = self.firsts[group];
            kept += 1;
        }
        self.planes.truncate(kept * words);
        self.codes.truncate(kept);
        self.firsts.truncate(kept);
        copies.iter_mut().for_each(|(group, _)| *group = first[*group as usize]);
    }

    /// Brings the ranks of each group of several together.
    fn gather(&mut self, mut copies: Vec<(u32, u32)>) {
        copies.sort_unstable();
        self.members.reserve_exact(2 * copies.len());
        let mut last = None;
        for (group, rank) in copies {
            if last.replace(group) != Some(group) {
                self.several.push((group, self.members.len() as u32));
                self.members.push(self.firsts[group as usize]);
            }
            self.members.push(rank);
        }
    }

    /// Makes other groups: of each the old group whose signature it has, and its ranks, rising. Groups come in the order of
    /// their first ranks.
    pub(super) fn replace_groups(&mut self, groups: &[(u32, Vec<u32>)]) {
        let words = self.state.scheme.words_per_signature();
        let mut planes = Vec::with_capacity(groups.len() * words);
        groups.iter().for_each(|(old, _)| planes.extend_from_slice(self.planes(*old)));
        self.codes = groups.iter().map(|(old, _)| self.code(*old)).collect();
        self.firsts = groups.iter().map(|(_, ranks)| ranks[0]).collect();
        self.planes = planes;
        self.several.clear();
        self.members.clear();
        for (group, (_, ranks)) in (0..).zip(groups).filter(|(_, (_, ranks))| ranks.len() > 1) {
            self.several.push((group, self.members.len() as u32));
            self.members.extend_from_slice(ranks);
        }
    }

    pub(super) fn scheme(&self) -> &Arc<Scheme> {
        &self.state.scheme
    }

    /// How many sets there are.
    pub(super) fn ranks(&self) -> usize {
        self.places.len()
    }

    /// How many distinct signatures.
    pub(super) fn groups(&self) -> usize {
        self.firsts.len()
    }

    /// The groups of several keys, rising.
    pub(super) fn several(&self) -> impl ExactSizeIterator<Item = u32> + '_ {
        self.several.iter().map(|(group, _)| *group)
    }

    /// How many keys the groups of several have together.
    pub(super) fn keys_of_several(&self) -> usize {
        self.members.len()
    }

    /// The ranks of a group, rising.
    pub(super) fn members(&self, group: u32) -> &[u32] {
        match self.several.binary_search_by_key(&group, |(group, _)| *group) {
            Err(_) => std::slice::from_ref(&self.firsts[group as usize]),
            Ok(i) => {
                let start = self.several[i].1 as usize;
                let end = self.several.get(i + 1).map_or(self.members.len(), |s| s.1 as usize);
                &self.members[start..end]
            }
        }
    }

    /// A group as its users see it.
    pub(super) fn group(&self, group: u32) -> Group<'_> {
        Group { roster: self, ranks: self.members(group) }
    }

    /// The key of a rank.
    pub(super) fn key(&self, rank: u32) -> Result<Box<[u8]>> {
        match self.places[rank as usize] {
            Place { segment: FRESH, row } => Ok(self.fresh[row as usize].clone()),
            Place { segment, row } => {
                let segment = &self.state.segments[segment as usize].segment;
                segment.key_of_row(row).map(Vec::into_boxed_slice)
            }
        }
    }

    /// The smallest key of a group.
    pub(super) fn name(&self, group: u32) -> Result<Box<[u8]>> {
        self.key(self.firsts[group as usize])
    }

    pub(super) fn code(&self, group: u32) -> u32 {
        self.codes[group as usize]
    }

    pub(super) fn codes(&self) -> &[u32] {
        &self.codes
    }

    /// The planes of a group, one after the other.
    pub(super) fn planes(&self, group: u32) -> &[u64] {
        let words = self.state.scheme.words_per_signature();
        &self.planes[group as usize * words..][..words]
    }

    /// The planes of all groups, one after the other.
    pub(super) fn all_planes(&self) -> &[u64] {
        &self.planes
    }

    /// Those of a group for the kernels.
    pub(super) fn row(&self, group: u32) -> Row<'_> {
        self.planes(group).split_at(self.state.scheme.first_words())
    }

    /// The same as a query of the kernels.
    pub(super) fn rows(&self, group: u32) -> Rows<'_> {
        let (first, rest) = self.row(group);
        Rows::of_whole(&self.state.scheme, first, rest)
    }

    /// The signature will be read soon.
    pub(super) fn prefetch(&self, group: u32) {
        // It may lie over two lines of the cache.
        let planes = self.planes(group);
        prefetch(planes);
        prefetch(&planes[planes.len().min(8) - 1..]);
    }

    /// The signature of a group.
    pub(super) fn signature(&self, group: u32) -> Signature {
        let scheme = Arc::clone(&self.state.scheme);
        Signature::without_elements(scheme, self.planes(group).into(), self.code(group))
    }
}

/// A number that is equal where signatures are.
fn hash_of(planes: &[u64], code: u32) -> u64 {
    xxh3_64(planes.as_bytes()) ^ u64::from(code) << 32
}

/// Signatures of a segment, if some have several rows.
fn shared_ids(view: &SegmentView) -> usize {
    let header = view.segment.header();
    if header.ids < header.rows { header.ids as usize } else { 0 }
}

/// At most so many rows and distinct signatures, if memory allows them.
fn bounds(state: &State, memory: usize) -> Result<(usize, usize)> {
    let (mut rows, mut ids, mut shared) = (0_u64, 0_u64, 0_u64);
    for view in &*state.segments {
        shared += shared_ids(view) as u64;
        rows += u64::from(view.live_rows);
        ids += u64::from(view.segment.header().ids.min(view.live_rows));
    }
    for table in state.memtables() {
        let (versions, signatures) = (table.versions() as u64, table.view().signatures());
        rows += versions;
        ids += u64::from(signatures).min(versions);
    }
    let what = || format!("a comparison of {rows} sets");
    if rows >= u64::from(u32::MAX) {
        return Err(Error::invalid(what(), "there are fewer than 2^32 - 1"));
    }
    let each = GROUP_BYTES + 8 * state.scheme.words_per_signature() as u64;
    let copies = rows.saturating_sub(ids);
    let needed = rows * ROW_BYTES + ids * each + copies * COPY_BYTES + shared * SHARED_BYTES;
    if needed > memory as u64 {
        return Err(Error::OverLimit { what: what(), needed, limit: memory as u64 });
    }
    Ok((rows as usize, ids as usize))
}
