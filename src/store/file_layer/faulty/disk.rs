//! Tracks which changes of a run are durable.
//!
//! In: the changes of a run, one by one. Out: the bytes and names that a crash leaves. It must not know how crashes
//! are chosen.
//!
//! A file has its bytes as of the last sync, its bytes as the process sees them, and the changes in between. A
//! directory has its names as of the last sync, and its names as the process sees them. Names and bytes are
//! independent: a synced file may have no durable name, and a durable name may refer to an empty file.
//!
//! A rename into another directory is durable when that directory is synced. Until then the old name stays, even if
//! the old directory is synced.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::super::memory::{Bytes, Entry, ROOT, write};
use super::change::{Change, Place};

/// The disk at a point of a run.
#[derive(Debug)]
pub(super) struct Disk {
    files: BTreeMap<u64, Contents>,
    directories: BTreeMap<u64, Names>,
    /// Renames whose target directory was not synced since, in order.
    moves: Vec<Move>,
    unsynced: Vec<Unsynced>,
}

#[derive(Debug, Default)]
struct Contents {
    durable: Bytes,
    current: Bytes,
    /// Whether a sync failed. What it should have written never becomes durable.
    doubted: bool,
}

impl Contents {
    /// Creates durable contents. While both views share their bytes, nothing is unsynced.
    fn of(bytes: &Bytes) -> Contents {
        Contents { durable: Bytes::clone(bytes), current: Bytes::clone(bytes), doubted: false }
    }
}

type Listing = BTreeMap<OsString, u64>;

#[derive(Debug, Default)]
struct Names {
    durable: Listing,
    current: Listing,
}

#[derive(Debug)]
struct Move {
    from: Place,
    to: Place,
    inode: u64,
}

/// A write or change of length that is not durable yet.
#[derive(Debug)]
pub(super) struct Unsynced {
    pub(super) inode: u64,
    pub(super) change: Change,
    /// Whether it made the file longer.
    pub(super) grew: bool,
    /// Whether a sync of it failed.
    doubtful: bool,
}

/// Selects the durable or the current state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum View {
    Durable,
    Current,
}

impl Disk {
    /// Creates a disk on which these names and their bytes are durable.
    pub(super) fn new(start: &[Entry]) -> Disk {
        let mut disk = Disk {
            files: BTreeMap::new(),
            directories: BTreeMap::new(),
            moves: Vec::new(),
            unsynced: Vec::new(),
        };
        let mut numbers: BTreeMap<&Path, u64> = BTreeMap::new();
        for entry in start {
            numbers.insert(&entry.path, entry.number);
            let parent = entry.path.parent().and_then(|parent| numbers.get(parent));
            if let (Some(parent), Some(name)) = (parent, entry.path.file_name()) {
                let names = disk.directories.entry(*parent).or_default();
                names.durable.insert(name.to_os_string(), entry.number);
                names.current.insert(name.to_os_string(), entry.number);
            }
            match &entry.bytes {
                None => drop(disk.directories.entry(entry.number).or_default()),
                Some(bytes) => {
                    disk.files.insert(entry.number, Contents::of(bytes));
                }
            }
        }
        disk
    }

    /// Makes the next change of the run.
    pub(super) fn apply(&mut self, change: &Change) {
        match change {
            Change::Write { inode, .. } | Change::SetLen { inode, .. } => {
                let contents = self.files.entry(*inode).or_default();
                let before = contents.current.len();
                apply_to(Arc::make_mut(&mut contents.current), change);
                let grew = contents.current.len() > before;
                let (inode, change) = (*inode, change.clone());
                self.unsynced.push(Unsynced { inode, change, grew, doubtful: false });
            }
            Change::Sync { inode } => self.sync(*inode),
            Change::FailedSync { inode } => {
                self.files.entry(*inode).or_default().doubted = true;
                for unsynced in self.unsynced.iter_mut().filter(|u| u.inode == *inode) {
                    unsynced.doubtful = true;
                }
            }
            Change::CreateFile { at, inode } => {
                self.files.insert(*inode, Contents::of(&Bytes::default()));
                self.current(at.directory).insert(at.name.clone(), *inode);
            }
            Change::CreateDir { at, inode } => {
                self.directories.insert(*inode, Names::default());
                self.current(at.directory).insert(at.name.clone(), *inode);
            }
            Change::Link { at, inode } => {
                self.current(at.directory).insert(at.name.clone(), *inode);
            }
            Change::Rename { from, to, inode } => self.rename(from, to, *inode),
            Change::RemoveFile { at } | Change::RemoveDir { at } => {
                self.current(at.directory).remove(&at.name);
            }
            Change::SyncDir { directory } => self.sync_dir(*directory),
        }
    }

    fn sync(&mut self, inode: u64) {
        let contents = self.files.entry(inode).or_default();
        if contents.doubted {
            let kept = self.unsynced.iter().filter(|u| u.inode == inode && !u.doubtful);
            let durable = Arc::make_mut(&mut contents.durable);
            kept.for_each(|u| apply_to(durable, &u.change));
        } else {
            contents.durable = Bytes::clone(&contents.current);
        }
        self.unsynced.retain(|u| u.inode != inode);
    }

    fn rename(&mut self, from: &Place, to: &Place, inode: u64) {
        let there = self.current(to.directory).insert(to.name.clone(), inode);
        // If both names refer to one file, both stay.
        if there != Some(inode) {
            self.current(from.directory).remove(&from.name);
            self.moves.push(Move { from: from.clone(), to: to.clone(), inode });
        }
    }

    fn sync_dir(&mut self, directory: u64) {
        // A move into this directory becomes durable now, and so do earlier moves of the same file.
        let mut last = BTreeMap::new();
        for (i, m) in self.moves.iter().enumerate().filter(|(_, m)| m.to.directory == directory) {
            last.insert(m.inode, i);
        }
        for (i, m) in std::mem::take(&mut self.moves).into_iter().enumerate() {
            if last.get(&m.inode).is_none_or(|&last| i > last) {
                self.moves.push(m);
                continue;
            }
            let names = self.directories.entry(m.from.directory).or_default();
            let is_it = |listing: &Listing| listing.get(&m.from.name) == Some(&m.inode);
            if is_it(&names.durable) && !is_it(&names.current) {
                names.durable.remove(&m.from.name);
            }
        }
        let mut durable = self.current(directory).clone();
        for m in self.moves.iter().filter(|m| m.from.directory == directory) {
            durable.entry(m.from.name.clone()).or_insert(m.inode);
        }
        self.directories.entry(directory).or_default().durable = durable;
    }

    fn current(&mut self, directory: u64) -> &mut Listing {
        &mut self.directories.entry(directory).or_default().current
    }

    /// Returns the changes of bytes that are not durable, in order.
    pub(super) fn unsynced(&self) -> &[Unsynced] {
        &self.unsynced
    }

    /// Returns the bytes of a file.
    pub(super) fn bytes(&self, inode: u64, view: View) -> Bytes {
        let contents = self.files.get(&inode);
        contents.map_or_else(Bytes::default, |contents| match view {
            View::Durable => Bytes::clone(&contents.durable),
            View::Current => Bytes::clone(&contents.current),
        })
    }

    /// Returns the bytes of a file after `arrive` has applied each unsynced change. It gets the change's index in
    /// [`Disk::unsynced`].
    pub(super) fn bytes_where(
        &self,
        inode: u64,
        arrive: impl Fn(usize, &Unsynced, &mut Vec<u8>),
    ) -> Bytes {
        let mut bytes = self.bytes(inode, View::Durable);
        for (i, unsynced) in self.unsynced.iter().enumerate().filter(|(_, u)| u.inode == inode) {
            arrive(i, unsynced, Arc::make_mut(&mut bytes));
        }
        bytes
    }

    /// Returns all names of a view, each directory before its contents, with `bytes` as the contents of files.
    pub(super) fn entries(&self, view: View, bytes: impl Fn(u64) -> Bytes) -> Vec<Entry> {
        let (mut entries, mut seen) = (Vec::new(), BTreeSet::new());
        let mut open = vec![(PathBuf::from("/"), ROOT)];
        while let Some((path, number)) = open.pop() {
            if let Some(names) = self.directories.get(&number) {
                // A directory has one name. Only moves that overtook each other can give it two.
                if !seen.insert(number) {
                    continue;
                }
                let listing = match view {
                    View::Durable => &names.durable,
                    View::Current => &names.current,
                };
                open.extend(listing.iter().map(|(name, number)| (path.join(name), *number)));
                entries.push(Entry { path, number, bytes: None });
            } else {
                entries.push(Entry { path, number, bytes: Some(bytes(number)) });
            }
        }
        entries
    }
}

/// Applies a change of bytes.
pub(super) fn apply_to(all: &mut Vec<u8>, change: &Change) {
    match change {
        Change::Write { offset, bytes, .. } => write(all, *offset as usize, bytes),
        Change::SetLen { length, .. } => all.resize(*length as usize, 0),
        _ => {}
    }
}
