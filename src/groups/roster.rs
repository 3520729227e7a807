//! All live sets of a state in key order, and their distinct signatures in memory.
//!
//! In: a state. Out: ranks (the live rows that are not empty, numbered in key order), and groups (their
//! distinct signatures, numbered in the order of their smallest keys). So numbers of groups compare as the keys
//! that name them, and are the same wherever rows live. A rank takes eight bytes, a group its signature and
//! some twenty bytes.

use std::ops::Bound;
use std::sync::Arc;

use hashbrown::HashTable;
use xxhash_rust::xxh3::xxh3_64;
use zerocopy::IntoBytes;

use super::found::{Group, Phase};
use super::stop::{Step, Teller};
use crate::error::{Error, Result};
use crate::kernel::{Row, Rows, prefetch};
use crate::scheme::Scheme;
use crate::sketch::Signature;
use crate::store::range::{Source, Walk};
use crate::store::segment::rows::SignatureCursor;
use crate::store::state::State;

/// Bytes that a row takes: its place.
const ROW_BYTES: u64 = 8;

/// Bytes that a distinct signature takes beside its planes: code, first rank, place in the hash table (at
/// worst), and two entries of eight bytes while columns are sorted.
const GROUP_BYTES: u64 = 4 + 4 + 12 + 16;

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
        let mut known = HashTable::with_capacity(ids);
        let mut cursors: Vec<SignatureCursor<'_>> =
            state.segments.iter().map(|view| SignatureCursor::new(&view.segment)).collect();
        let (mut planes, mut copies, mut done) = (Vec::new(), Vec::new(), 0);
        let mut walk = Walk::new(state, Bound::Unbounded, Bound::Unbounded)?;
        while let Some((key, source)) = walk.next_source()? {
            done += 1;
            teller.tick(Phase::Reading, done, rows as u64)?;
            let code = match source {
                Source::Fresh(stored) if stored.signature.is_empty() => continue,
                Source::Fresh(stored) => {
                    planes.clear();
                    planes.extend_from_slice(stored.signature.planes());
                    roster.places.push(Place { segment: FRESH, row: roster.fresh.len() as u32 });
                    roster.fresh.push(key);
                    stored.signature.cardinality_code()
                }
                Source::Row(_, segment, found) if segment.is_empty_id(found.id) => continue,
                Source::Row(i, _, found) => {
                    roster.places.push(Place { segment: i as u32, row: found.row });
                    cursors[i].read(found.id, &mut planes)?
                }
            };
            roster.enter(&planes, code, &mut known, &mut copies);
        }
        roster.gather(copies);
        Ok(roster)
    }

    /// Takes the signature of the last rank: a new group, or another member of one.
    fn enter(
        &mut self,
        planes: &[u64],
        code: u32,
        known: &mut HashTable<u32>,
        copies: &mut Vec<(u32, u32)>,
    ) {
        let (rank, words) = (self.places.len() as u32 - 1, planes.len());
        let hash_of = |planes: &[u64], code| xxh3_64(planes.as_bytes()) ^ u64::from(code);
        let hash = hash_of(planes, code);
        let of = |group: u32| &self.planes[group as usize * words..][..words];
        let same = |group: &u32| self.codes[*group as usize] == code && of(*group) == planes;
        if let Some(group) = known.find(hash, same) {
            copies.push((*group, rank));
            return;
        }
        let codes = &self.codes;
        known.insert_unique(hash, self.firsts.len() as u32, |group| {
            hash_of(of(*group), codes[*group as usize])
        });
        self.planes.extend_from_slice(planes);
        self.codes.push(code);
        self.firsts.push(rank);
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

    /// The same for the kernels.
    pub(super) fn row(&self, group: u32) -> Row<'_> {
        self.planes(group).split_at(self.state.scheme.words_per_plane())
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
        Signature::from_planes(scheme, self.planes(group).into(), self.code(group), false)
    }
}

/// At most so many rows and distinct signatures, if memory allows them.
fn bounds(state: &State, memory: usize) -> Result<(usize, usize)> {
    let (mut rows, mut ids) = (0_u64, 0_u64);
    for view in &*state.segments {
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
    let needed = rows * ROW_BYTES + ids * each;
    if needed > memory as u64 {
        return Err(Error::OverLimit { what: what(), needed, limit: memory as u64 });
    }
    Ok((rows as usize, ids as usize))
}
