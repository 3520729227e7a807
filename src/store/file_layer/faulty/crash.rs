//! The disks that a crash can leave.
//!
//! In: the changes of a run, and a kind of crash. Out: the file system that the next process finds. It shares no
//! state with the run. It must not know what the files contain.

use std::collections::BTreeSet;
use std::ops::Range;

use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::super::memory::{Bytes, Entry, MemoryFiles, write};
use super::change::Change;
use super::disk::{Disk, Unsynced, View};

/// The number of bytes that a device writes atomically.
const SECTOR: u64 = 512;

/// How many unsynced writes are lost, torn and garbled, one at a time, at each point of a run. Half are the newest,
/// and half are spread over the older ones. A write left out here was among the newest at an earlier point.
const WRITES_AT_A_POINT: usize = 16;

/// How a run ended. An index counts the unsynced changes of bytes, oldest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CrashKind {
    /// The process was killed: nothing is lost.
    Killed,
    /// Power failed: only synced bytes and synced names remain.
    NothingUnsynced,
    /// All bytes remain, but only synced names.
    LostNames,
    /// All names remain, but only synced bytes.
    LostData,
    /// Only this change of bytes is lost.
    LostWrite(usize),
    /// Only this many sectors of this write arrive, counted from the one it starts in.
    TornWrite(usize, u64),
    /// Only the growth of this write arrives: zeros beyond the old end, and old bytes elsewhere.
    UnwrittenGrowth(usize),
    /// One sector of this write is garbage, as far as the write covers it.
    GarbageSector(usize),
    /// Only the first half of each unsynced write arrives.
    EveryWriteTorn,
    /// All names remain. Each unsynced change of bytes arrives, is lost, is torn or is partly garbage, chosen by
    /// this seed.
    Mixed(u64),
}

/// A walk over the points of a run. A step costs as much as its change. An image shares the bytes of all files that
/// it does not alter.
#[derive(Debug)]
pub struct CrashWalk {
    changes: Vec<Change>,
    disk: Disk,
    at: usize,
}

impl CrashWalk {
    pub(super) fn new(start: &[Entry], changes: Vec<Change>) -> CrashWalk {
        CrashWalk { changes, disk: Disk::new(start), at: 0 }
    }

    /// Returns the number of changes made so far.
    pub fn at(&self) -> usize {
        self.at
    }

    /// Returns all changes of the run, including later ones.
    pub fn changes(&self) -> &[Change] {
        &self.changes
    }

    /// Makes the next change. Returns `false` if there is none.
    pub fn step(&mut self) -> bool {
        let Some(change) = self.changes.get(self.at) else { return false };
        self.disk.apply(change);
        self.at += 1;
        true
    }

    /// Moves forward to where `at` changes were made, or to the end of the run. Never moves back.
    pub fn go_to(mut self, at: usize) -> CrashWalk {
        while self.at < at && self.step() {}
        self
    }

    /// Returns the crashes that are possible here, without those that leave the same disk as another. There are at
    /// most seven, and six for each of [`WRITES_AT_A_POINT`] writes.
    pub fn kinds(&self) -> Vec<CrashKind> {
        let place = |entry: Entry| (entry.path, entry.number);
        let current =
            self.disk.entries(View::Current, |inode| self.disk.bytes(inode, View::Current));
        let files: BTreeSet<u64> =
            current.iter().filter(|e| e.bytes.is_some()).map(|e| e.number).collect();
        let lost_data = files.iter().any(|&inode| {
            let [durable, current] =
                [View::Durable, View::Current].map(|v| self.disk.bytes(inode, v));
            !Bytes::ptr_eq(&durable, &current)
        });
        let durable = self.disk.entries(View::Durable, |_| Bytes::default());
        let lost_names = !durable.into_iter().map(place).eq(current.into_iter().map(place));

        let mut kinds = vec![CrashKind::Killed];
        if lost_data || lost_names {
            kinds.push(CrashKind::NothingUnsynced);
        }
        if lost_data && lost_names {
            kinds.extend([CrashKind::LostNames, CrashKind::LostData]);
        }
        let unsynced = self.disk.unsynced();
        let seen = |&i: &usize| files.contains(&unsynced[i].inode);
        let candidates: Vec<usize> = (0..unsynced.len()).filter(seen).collect();
        if candidates.len() > 1 {
            kinds.extend([CrashKind::EveryWriteTorn, CrashKind::Mixed(0), CrashKind::Mixed(1)]);
        }
        for i in spread(candidates.len()).map(|i| candidates[i]) {
            if candidates.len() > 1 {
                kinds.push(CrashKind::LostWrite(i));
            }
            kinds_of_write(i, &unsynced[i], &mut kinds);
        }
        kinds
    }

    /// Returns the disk after a crash here. A kind that is not possible here acts like [`CrashKind::Killed`].
    pub fn image(&self, kind: CrashKind) -> MemoryFiles {
        let (names, data) = match kind {
            CrashKind::NothingUnsynced => (View::Durable, View::Durable),
            CrashKind::LostNames => (View::Durable, View::Current),
            CrashKind::LostData => (View::Current, View::Durable),
            _ => (View::Current, View::Current),
        };
        MemoryFiles::from_entries(self.disk.entries(names, |inode| {
            if !self.alters(kind, inode) {
                return self.disk.bytes(inode, data);
            }
            self.disk.bytes_where(inode, |i, unsynced, all| match self.fate(kind, i, unsynced) {
                Some(fate) => self.arrive(fate, unsynced, all),
                None => super::disk::apply_to(all, &unsynced.change),
            })
        }))
    }

    /// Whether a crash may leave bytes in a file that are those of neither view.
    fn alters(&self, kind: CrashKind, inode: u64) -> bool {
        let unsynced = self.disk.unsynced();
        match kind {
            CrashKind::Killed
            | CrashKind::NothingUnsynced
            | CrashKind::LostNames
            | CrashKind::LostData => false,
            CrashKind::LostWrite(i)
            | CrashKind::TornWrite(i, _)
            | CrashKind::UnwrittenGrowth(i)
            | CrashKind::GarbageSector(i) => unsynced.get(i).is_some_and(|u| u.inode == inode),
            CrashKind::EveryWriteTorn | CrashKind::Mixed(_) => {
                unsynced.iter().any(|u| u.inode == inode)
            }
        }
    }

    /// Returns what a crash does to one unsynced change, as a kind of its own, or `None` if the change arrives.
    fn fate(&self, kind: CrashKind, i: usize, unsynced: &Unsynced) -> Option<CrashKind> {
        let half = match &unsynced.change {
            Change::Write { offset, bytes, .. } => sectors_of(*offset, bytes.len() as u64) / 2,
            _ => 0,
        };
        match kind {
            CrashKind::LostWrite(at)
            | CrashKind::TornWrite(at, _)
            | CrashKind::UnwrittenGrowth(at)
            | CrashKind::GarbageSector(at) => (at == i).then_some(kind),
            CrashKind::EveryWriteTorn => Some(CrashKind::TornWrite(i, half)),
            CrashKind::Mixed(seed) => {
                let place = ((self.at as u64) << 32 | i as u64).to_le_bytes();
                match xxh3_64_with_seed(&place, seed) % 5 {
                    0 => Some(CrashKind::LostWrite(i)),
                    1 => Some(CrashKind::TornWrite(i, half)),
                    2 => Some(CrashKind::GarbageSector(i)),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// Applies a change of bytes as it arrives after a crash of this kind.
    fn arrive(&self, kind: CrashKind, unsynced: &Unsynced, all: &mut Vec<u8>) {
        if let CrashKind::LostWrite(_) = kind {
            return;
        }
        let Change::Write { offset, bytes, .. } = &unsynced.change else {
            return super::disk::apply_to(all, &unsynced.change);
        };
        let start = *offset as usize;
        match kind {
            CrashKind::TornWrite(_, sectors) => {
                let kept = sector_end(*offset, sectors).saturating_sub(*offset);
                write(all, start, &bytes[..bytes.len().min(kept as usize)]);
            }
            CrashKind::UnwrittenGrowth(_) => all.resize(all.len().max(start + bytes.len()), 0),
            _ => {
                write(all, start, bytes);
                let seed = (self.at as u64) << 32 | offset;
                let garbage = garbage_range(*offset, bytes.len() as u64, seed);
                for at in garbage {
                    all[at as usize] = xxh3_64_with_seed(&at.to_le_bytes(), seed) as u8;
                }
            }
        }
    }
}

fn kinds_of_write(i: usize, unsynced: &Unsynced, kinds: &mut Vec<CrashKind>) {
    let Change::Write { offset, bytes, .. } = &unsynced.change else { return };
    let sectors = sectors_of(*offset, bytes.len() as u64);
    let mut boundaries = vec![1, sectors / 2, sectors - 1];
    boundaries.dedup();
    kinds.extend(
        boundaries
            .into_iter()
            .filter(|&b| b > 0 && b < sectors)
            .map(|b| CrashKind::TornWrite(i, b)),
    );
    if unsynced.grew {
        kinds.push(CrashKind::UnwrittenGrowth(i));
    }
    kinds.push(CrashKind::GarbageSector(i));
}

/// Returns how many sectors a write touches. `length` must not be 0.
fn sectors_of(offset: u64, length: u64) -> u64 {
    (offset + length - 1) / SECTOR - offset / SECTOR + 1
}

/// Returns the end of `sectors` sectors, counted from the one that contains `offset`.
fn sector_end(offset: u64, sectors: u64) -> u64 {
    (offset / SECTOR).saturating_add(sectors).saturating_mul(SECTOR)
}

/// Returns the part of a write that is in one random sector of it.
fn garbage_range(offset: u64, length: u64, seed: u64) -> Range<u64> {
    let sector = xxh3_64_with_seed(b"sector", seed) % sectors_of(offset, length);
    let (start, end) = (sector_end(offset, sector), sector_end(offset, sector + 1));
    start.max(offset)..end.min(offset + length)
}

/// Returns which of `all` unsynced changes are tried: all, if they are few.
fn spread(all: usize) -> impl Iterator<Item = usize> {
    let newest = all.min(WRITES_AT_A_POINT / 2);
    let older = all - newest;
    let some = older.min(WRITES_AT_A_POINT - newest);
    (0..some).map(move |i| i * older / some).chain(older..all)
}
