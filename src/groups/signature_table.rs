//! All live sets of a state in key order, and their distinct signatures in memory.
//!
//! In: a state. Out: *ranks*, the live rows that are not empty, numbered in key order; and *groups*, their distinct
//! signatures, numbered in the order of their smallest keys. So the order of groups is the order of their smallest keys,
//! wherever rows are stored. A rank takes eight bytes. A group takes its signature, and about thirty bytes while groups
//! are made and sorted.

use std::ops::Bound;
use std::sync::Arc;

use hashbrown::HashTable;
use xxhash_rust::xxh3::xxh3_64;
use zerocopy::IntoBytes;

use super::progress::{Reporter, Step};
use super::radix::RadixSort;
use super::results::{Group, Phase};
use crate::error::{Error, Result};
use crate::kernel::{Row, Rows, prefetch};
use crate::scheme::Scheme;
use crate::sketch::Signature;
use crate::store::range::{Source, Walk};
use crate::store::segment::rows::SignatureCursor;
use crate::store::state::{SegmentView, State};

/// Bytes of a row: its location.
const ROW_BYTES: u64 = 8;

/// Further bytes of a row whose signature another row has too: an entry of `duplicates`, in a vector that may be half
/// empty, and its rank and that of the first row in `members`.
const DUPLICATE_BYTES: u64 = 16 + 8;

/// Bytes of a distinct signature beside its planes: code and first rank, and 24 bytes while equal signatures are united.
const GROUP_BYTES: u64 = 4 + 4 + 24;

/// Bytes for each signature of a segment with duplicate rows: its group.
const SHARED_BYTES: u64 = 4;

/// No group.
const NONE: u32 = u32::MAX;

/// Stands for the segment of rows that are in a memtable.
const MEMTABLE: u32 = u32::MAX;

/// Where a row is: a segment of the state and a row there, or [`MEMTABLE`] and a position in `memtable_keys`.
#[derive(Debug, Clone, Copy)]
struct Location {
    segment: u32,
    row: u32,
}

/// The sets of a state, grouped by signature.
#[derive(Debug)]
pub(crate) struct SignatureTable<'a> {
    state: &'a State,
    /// The row of each rank.
    locations: Vec<Location>,
    memtable_keys: Vec<Box<[u8]>>,
    /// All planes of all groups.
    planes: Vec<u64>,
    /// The cardinality code of each group.
    codes: Vec<u32>,
    /// The first rank of each group.
    firsts: Vec<u32>,
    /// Groups of several keys, each with the position of its first rank in `members`.
    shared: Vec<(u32, u32)>,
    /// The ranks of those groups, group after group.
    members: Vec<u32>,
}

impl<'a> SignatureTable<'a> {
    /// Reads all live rows.
    pub(super) fn read(
        state: &'a State,
        memory: usize,
        reporter: &mut Reporter<'_>,
    ) -> Step<SignatureTable<'a>> {
        let (rows, ids) = bounds(state, memory)?;
        let words = state.scheme.words_per_signature();
        let mut table = SignatureTable {
            state,
            locations: Vec::with_capacity(rows),
            memtable_keys: Vec::new(),
            planes: Vec::with_capacity(ids * words),
            codes: Vec::with_capacity(ids),
            firsts: Vec::with_capacity(ids),
            shared: Vec::new(),
            members: Vec::new(),
        };
        // The groups of ids that several rows of a segment may have.
        let mut groups_of_ids: Vec<Vec<u32>> =
            state.segments.iter().map(|view| vec![NONE; shared_ids(view)]).collect();
        let mut memtable_groups = HashTable::new();
        let mut cursors: Vec<SignatureCursor<'_>> =
            state.segments.iter().map(|view| SignatureCursor::new(&view.segment)).collect();
        let (mut planes, mut duplicates, mut done) = (Vec::new(), Vec::new(), 0);
        let mut walk = Walk::new(state, Bound::Unbounded, Bound::Unbounded)?;
        while let Some((key, source)) = walk.next_source()? {
            done += 1;
            reporter.tick(Phase::Reading, done, rows as u64)?;
            let (rank, next) = (table.locations.len() as u32, table.firsts.len() as u32);
            match source {
                Source::Fresh(stored) if stored.signature.is_empty() => continue,
                Source::Fresh(stored) => {
                    let row = table.memtable_keys.len() as u32;
                    table.locations.push(Location { segment: MEMTABLE, row });
                    table.memtable_keys.push(key);
                    let (planes, code) =
                        (stored.signature.planes(), stored.signature.cardinality_code());
                    match table.memtable_group(planes, code, &mut memtable_groups) {
                        Some(group) => duplicates.push((group, rank)),
                        None => table.push(planes, code, rank),
                    }
                }
                // Memory was reserved for as many rows as the manifest says.
                Source::Row(_, segment, _) if done > rows as u64 => {
                    let detail = "it has more visible rows than the manifest says".into();
                    return Err(segment.lost("TOMB-3", detail).into());
                }
                Source::Row(_, segment, found) if segment.is_empty_id(found.id) => continue,
                Source::Row(i, _, found) => {
                    table.locations.push(Location { segment: i as u32, row: found.row });
                    match groups_of_ids[i].get_mut(found.id as usize) {
                        Some(group) if *group != NONE => {
                            duplicates.push((*group, rank));
                            continue;
                        }
                        Some(group) => *group = next,
                        None => {}
                    }
                    let code = cursors[i].read(found.id, &mut planes)?;
                    table.push(&planes, code, rank);
                }
            };
        }
        drop((groups_of_ids, memtable_groups));
        table.unite(&mut duplicates, reporter)?;
        table.collect_members(duplicates);
        Ok(table)
    }

    /// Adds a group whose first rank is `rank`.
    fn push(&mut self, planes: &[u64], code: u32, rank: u32) {
        self.planes.extend_from_slice(planes);
        self.codes.push(code);
        self.firsts.push(rank);
    }

    /// The group of a signature in a memtable. Returns `None` for a new signature, and enters the next group for it.
    fn memtable_group(
        &self,
        planes: &[u64],
        code: u32,
        groups: &mut HashTable<u32>,
    ) -> Option<u32> {
        let same = |group: &u32| self.code(*group) == code && self.planes(*group) == planes;
        let hash = hash_of(planes, code);
        if let Some(group) = groups.find(hash, same) {
            return Some(*group);
        }
        let next = self.firsts.len() as u32;
        groups.insert_unique(hash, next, |group| hash_of(self.planes(*group), self.code(*group)));
        None
    }

    /// Unites groups with equal signatures. Different segments can have the same signature, and one segment may have it
    /// more than once. Sorting is faster than a hash table here, which would miss the cache for each signature.
    fn unite(&mut self, duplicates: &mut Vec<(u32, u32)>, reporter: &mut Reporter<'_>) -> Step {
        let groups = 0..self.firsts.len() as u32;
        let mut entries: Vec<u64> = groups
            .clone()
            .map(|group| {
                let hash = hash_of(self.planes(group), self.code(group));
                (hash & !u64::from(u32::MAX)) | u64::from(group)
            })
            .collect();
        let (mut sort, total) = (RadixSort::default(), self.locations.len() as u64);
        // For each group the first one with the same signature.
        let mut first: Vec<u32> = groups.collect();
        let mut any = false;
        for bucket in 0..sort.distribute(&entries) {
            reporter.report(Phase::Reading, total, total)?;
            let sorted = sort.sort(bucket, &mut entries);
            for run in sorted.chunk_by_mut(|a, b| a >> 32 == b >> 32).filter(|run| run.len() > 1) {
                let signature = |entry: u64| (self.planes(entry as u32), self.code(entry as u32));
                run.sort_unstable_by(|a, b| signature(*a).cmp(&signature(*b)).then(a.cmp(b)));
                for same in run.chunk_by(|a, b| signature(*a) == signature(*b)) {
                    same.iter().for_each(|entry| first[*entry as u32 as usize] = same[0] as u32);
                    any |= same.len() > 1;
                }
            }
        }
        drop((entries, sort));
        if any {
            self.remove_duplicates(first, duplicates);
        }
        Ok(())
    }

    /// Removes each group that equals an earlier one. `first` has the first equal group of each.
    fn remove_duplicates(&mut self, mut first: Vec<u32>, duplicates: &mut Vec<(u32, u32)>) {
        let words = self.state.scheme.words_per_signature();
        let mut kept = 0;
        for group in 0..first.len() {
            let equal = first[group] as usize;
            if equal != group {
                // The earlier group has its new number already.
                first[group] = first[equal];
                duplicates.push((group as u32, self.firsts[group]));
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
        duplicates.iter_mut().for_each(|(group, _)| *group = first[*group as usize]);
    }

    /// Collects the ranks of each group of several keys. `duplicates` has a group and a rank for each row but the first.
    fn collect_members(&mut self, mut duplicates: Vec<(u32, u32)>) {
        duplicates.sort_unstable();
        self.members.reserve_exact(2 * duplicates.len());
        let mut last = None;
        for (group, rank) in duplicates {
            if last.replace(group) != Some(group) {
                self.shared.push((group, self.members.len() as u32));
                self.members.push(self.firsts[group as usize]);
            }
            self.members.push(rank);
        }
    }

    /// Replaces all groups. Each new group has the old group whose signature it has, and its ranks in ascending order. The
    /// new groups must be in the order of their first ranks.
    pub(super) fn replace_groups(&mut self, groups: &[(u32, Vec<u32>)]) {
        let words = self.state.scheme.words_per_signature();
        let mut planes = Vec::with_capacity(groups.len() * words);
        groups.iter().for_each(|(old, _)| planes.extend_from_slice(self.planes(*old)));
        self.codes = groups.iter().map(|(old, _)| self.code(*old)).collect();
        self.firsts = groups.iter().map(|(_, ranks)| ranks[0]).collect();
        self.planes = planes;
        self.shared.clear();
        self.members.clear();
        for (group, (_, ranks)) in (0..).zip(groups).filter(|(_, (_, ranks))| ranks.len() > 1) {
            self.shared.push((group, self.members.len() as u32));
            self.members.extend_from_slice(ranks);
        }
    }

    pub(super) fn scheme(&self) -> &Arc<Scheme> {
        &self.state.scheme
    }

    /// How many sets there are.
    pub(super) fn ranks(&self) -> usize {
        self.locations.len()
    }

    /// How many distinct signatures there are.
    pub(super) fn groups(&self) -> usize {
        self.firsts.len()
    }

    /// The groups of several keys, ascending.
    pub(super) fn shared_groups(&self) -> impl ExactSizeIterator<Item = u32> + '_ {
        self.shared.iter().map(|(group, _)| *group)
    }

    /// How many keys the groups of several keys have together.
    pub(super) fn keys_in_shared_groups(&self) -> usize {
        self.members.len()
    }

    /// The ranks of a group, ascending.
    pub(super) fn members(&self, group: u32) -> &[u32] {
        match self.shared.binary_search_by_key(&group, |(group, _)| *group) {
            Err(_) => std::slice::from_ref(&self.firsts[group as usize]),
            Ok(i) => {
                let start = self.shared[i].1 as usize;
                let end = self.shared.get(i + 1).map_or(self.members.len(), |s| s.1 as usize);
                &self.members[start..end]
            }
        }
    }

    /// A group for the caller.
    pub(super) fn group(&self, group: u32) -> Group<'_> {
        Group { table: self, ranks: self.members(group) }
    }

    /// The key of a rank.
    pub(super) fn key(&self, rank: u32) -> Result<Box<[u8]>> {
        match self.locations[rank as usize] {
            Location { segment: MEMTABLE, row } => Ok(self.memtable_keys[row as usize].clone()),
            Location { segment, row } => {
                let segment = &self.state.segments[segment as usize].segment;
                segment.key_of_row(row).map(Vec::into_boxed_slice)
            }
        }
    }

    /// The smallest key of a group.
    pub(super) fn smallest_key(&self, group: u32) -> Result<Box<[u8]>> {
        self.key(self.firsts[group as usize])
    }

    /// The cardinality code of a group.
    pub(super) fn code(&self, group: u32) -> u32 {
        self.codes[group as usize]
    }

    /// The cardinality codes of all groups.
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

    /// The planes of a group, as a row for the kernels.
    pub(super) fn row(&self, group: u32) -> Row<'_> {
        self.planes(group).split_at(self.state.scheme.first_words())
    }

    /// The planes of a group, as a query for the kernels.
    pub(super) fn rows(&self, group: u32) -> Rows<'_> {
        let (first, rest) = self.row(group);
        Rows::of_whole(&self.state.scheme, first, rest)
    }

    /// Loads a signature that will be read soon into the cache.
    pub(super) fn prefetch(&self, group: u32) {
        // It may span two cache lines.
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

/// A hash of a signature.
fn hash_of(planes: &[u64], code: u32) -> u64 {
    xxh3_64(planes.as_bytes()) ^ u64::from(code) << 32
}

/// The number of signatures of a segment if it has duplicate rows, 0 otherwise.
fn shared_ids(view: &SegmentView) -> usize {
    let header = view.segment.header();
    if header.ids < header.rows { header.ids as usize } else { 0 }
}

/// Upper bounds of the rows and distinct signatures, if there is enough memory for them.
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
        return Err(Error::invalid(what(), "at most 2^32 - 2 sets can be compared at once"));
    }
    let each = GROUP_BYTES + 8 * state.scheme.words_per_signature() as u64;
    let duplicates = rows.saturating_sub(ids);
    let needed =
        rows * ROW_BYTES + ids * each + duplicates * DUPLICATE_BYTES + shared * SHARED_BYTES;
    if needed > memory as u64 {
        return Err(Error::OverLimit { what: what(), needed, limit: memory as u64 });
    }
    Ok((rows as usize, ids as usize))
}
