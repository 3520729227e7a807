//! The disks that a crash can leave.
//!
//! In: the changes of a run and a kind of crash. Out: a file system as the next process finds it, which
//! shares nothing with the run. It must not know what is in the files.

use std::collections::BTreeSet;
use std::ops::Range;

use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::super::memory::{Bytes, Entry, MemoryFiles, write};
use super::change::Change;
use super::disk::{Disk, Unsynced, View};

/// What a device writes at once or not at all.
const SECTOR: u64 = 512;

/// How many unsynced writes are each lost, torn and garbled at one point of a run: the newest half, and
/// as many spread over the older ones. What is left out here was new at an earlier point.
const WRITES_AT_A_POINT: usize = 16;

/// How the run ended. An index counts the unsynced changes of bytes, oldest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CrashKind {
    /// The process was killed: everything is there.
    Killed,
    /// The power went: only synced bytes and synced names are there.
    NothingUnsynced,
    /// All bytes are there, but only synced names.
    LostNames,
    /// All names are there, but only synced bytes.
    LostData,
    /// All is there but this change of bytes.
    LostWrite(usize),
    /// All is there, but of this write only so many sectors, counted from the one it starts in.
    TornWrite(usize, u64),
    /// All is there, but where this write made the file longer are zeros, and elsewhere the old bytes.
    UnwrittenGrowth(usize),
    /// All is there, but one sector of this write is garbage, as far as the write covers it.
    GarbageSector(usize),
    /// All is there, but only the first half of each unsynced write.
    EveryWriteTorn,
    /// All names are there, and each unsynced change of bytes by itself is there, lost, torn or in part
    /// garbage, as this number has it.
    Mixed(u64),
}

/// A walk over the points of a run. A step costs what the change costs; an image shares the bytes of all
/// files that it does not alter.
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

    /// How many changes were made at this point.
    pub fn at(&self) -> usize {
        self.at
    }

    /// The changes of the run, those to come too.
    pub fn changes(&self) -> &[Change] {
        &self.changes
    }

    /// Makes the next change; `false` if there is none.
    pub fn step(&mut self) -> bool {
        let Some(change) = self.changes.get(self.at) else { return false };
        self.disk.apply(change);
        self.at += 1;
        true
    }

    /// Goes on to where `at` changes were made, or to the end of the run. Never back.
    pub fn go_to(mut self, at: usize) -> CrashWalk {
        while self.at < at && self.step() {}
        self
    }

    /// The crashes that can happen here, without those that leave the same disk as another: at most
    /// seven, and six for each of [`WRITES_AT_A_POINT`] writes.
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

    /// The disk after a crash here. A kind that cannot happen here leaves what [`CrashKind::Killed`] does.
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

    /// Whether a crash leaves other bytes in a file than those of a view.
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

    /// What a crash does to one unsynced change, as a crash that does nothing else; `None` if it arrives.
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

    /// Makes a change of bytes as it arrives in a crash of this kind.
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

/// How many sectors a write touches. It writes something.
fn sectors_of(offset: u64, length: u64) -> u64 {
    (offset + length - 1) / SECTOR - offset / SECTOR + 1
}

/// Where the last of so many sectors ends, counted from the one that `offset` is in.
fn sector_end(offset: u64, sectors: u64) -> u64 {
    (offset / SECTOR).saturating_add(sectors).saturating_mul(SECTOR)
}

/// The part of a write that is in one of its sectors.
fn garbage_range(offset: u64, length: u64, seed: u64) -> Range<u64> {
    let sector = xxh3_64_with_seed(b"sector", seed) % sectors_of(offset, length);
    let (start, end) = (sector_end(offset, sector), sector_end(offset, sector + 1));
    start.max(offset)..end.min(offset + length)
}

/// Which of so many unsynced changes are tried: all of a few.
fn spread(all: usize) -> impl Iterator<Item = usize> {
    let newest = all.min(WRITES_AT_A_POINT / 2);
    let older = all - newest;
    let some = older.min(WRITES_AT_A_POINT - newest);
    (0..some).map(move |i| i * older / some).chain(older..all)
}
