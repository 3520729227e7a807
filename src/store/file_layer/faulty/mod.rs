//! A file system for crash tests. It records every change, can rebuild the disk that a crash at any point would
//! leave, and can make any operation fail.
//!
//! In: operations. Out: what [`super::memory`] answers, or the armed failure. It must not know what the store does,
//! and assumes only what POSIX promises.
//!
//! A test runs the store on it once and counts the [`operations`](FaultyFiles::operations). Then it makes each of
//! them fail in turn ([`arm`](FaultyFiles::arm)), or opens each disk of
//! [`for_each_crash`](FaultyFiles::for_each_crash). Images hold no locks, because a crash releases them.

mod change;
mod crash;
mod disk;
mod fault;
mod file;
#[cfg(test)]
mod tests;

pub use change::{Change, Place};
pub use crash::{CrashKind, CrashWalk};
pub use fault::{Failure, Fault};

use std::ffi::OsString;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::memory::{Entry, MemoryFiles};
use super::{Access, File, FileLayer, Identity, Kind, Lock, Rights};
use fault::Armed;
use file::FaultyFile;

/// A file system that can fail and crash. Clones share it.
#[derive(Debug, Clone)]
pub struct FaultyFiles {
    running: MemoryFiles,
    start: Arc<[Entry]>,
    state: Arc<Mutex<State>>,
}

/// Locked during a change, so that the record has the true order of changes.
#[derive(Debug, Default)]
struct State {
    changes: Vec<Change>,
    armed: Armed,
    /// Byte ranges of files that cannot be read.
    unreadable: Vec<(u64, Range<u64>)>,
}

impl Default for FaultyFiles {
    fn default() -> FaultyFiles {
        FaultyFiles::new()
    }
}

impl FaultyFiles {
    /// Creates an empty file system.
    pub fn new() -> FaultyFiles {
        FaultyFiles::resume(MemoryFiles::new())
    }

    /// Continues from a disk, all of which counts as durable. For example, to crash again after a crash.
    pub fn resume(disk: MemoryFiles) -> FaultyFiles {
        let start = disk.entries().into();
        FaultyFiles { running: disk, start, state: Arc::default() }
    }

    /// Returns the file system that the next process finds if this one is killed after the first `at` changes.
    /// Nothing is lost. What was not durable is still not durable, because power may fail later.
    pub fn killed_at(&self, at: usize) -> FaultyFiles {
        let walk = self.walk().go_to(at);
        let running = walk.image(CrashKind::Killed).numbered_after(&self.running);
        let mut changes = self.changes();
        changes.truncate(at);
        let state = State { changes, ..State::default() };
        let start = Arc::clone(&self.start);
        FaultyFiles { running, start, state: Arc::new(Mutex::new(state)) }
    }

    /// Returns what the running process sees.
    pub fn running(&self) -> &MemoryFiles {
        &self.running
    }

    /// Returns the number of changes made.
    pub fn operations(&self) -> usize {
        self.state().changes.len()
    }

    /// Returns the changes made, in order.
    pub fn changes(&self) -> Vec<Change> {
        self.state().changes.clone()
    }

    /// Arms a fault in place of any other. It counts operations from here.
    pub fn arm(&self, fault: Fault) {
        self.state().armed.set(Some(fault));
    }

    /// Disarms the fault.
    pub fn disarm(&self) {
        self.state().armed.set(None);
    }

    /// Makes reads that touch these bytes of a file fail from now on.
    pub fn refuse_reads(&self, path: impl AsRef<Path>, bytes: Range<u64>) -> io::Result<()> {
        let inode = self.running.number(path.as_ref())?;
        self.state().unreadable.push((inode, bytes));
        Ok(())
    }

    /// Returns how many operations failed since a fault was armed.
    pub fn tripped(&self) -> usize {
        self.state().armed.tripped
    }

    /// Returns a walk over the crashes of the run so far.
    pub fn walk(&self) -> CrashWalk {
        CrashWalk::new(&self.start, self.changes())
    }

    /// Returns the disk after a crash right after the first `at` changes. For many images use
    /// [`FaultyFiles::for_each_crash`] or [`FaultyFiles::walk`], which do not start over each time.
    pub fn crash_image(&self, at: usize, kind: CrashKind) -> MemoryFiles {
        self.walk().go_to(at).image(kind)
    }

    /// Returns the crashes that are possible right after the first `at` changes. See [`CrashWalk::kinds`].
    pub fn images_at(&self, at: usize) -> Vec<CrashKind> {
        self.walk().go_to(at).kinds()
    }

    /// Visits the disk after each kind of crash, after each number of changes from none to all.
    pub fn for_each_crash(&self, mut visit: impl FnMut(usize, CrashKind, MemoryFiles)) {
        let mut walk = self.walk();
        loop {
            for kind in walk.kinds() {
                visit(walk.at(), kind, walk.image(kind));
            }
            if !walk.step() {
                break;
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes a change and records it, unless a fault strikes.
    fn change<T>(&self, act: impl FnOnce() -> io::Result<(T, Change)>) -> io::Result<T> {
        let mut state = self.state();
        if let Some(failure) = state.armed.trip(false) {
            return Err(failure.error());
        }
        let (value, change) = act()?;
        state.changes.push(change);
        state.armed.count(false);
        Ok(value)
    }

    fn place(&self, path: &Path) -> io::Result<Place> {
        let (directory, name) = self.running.place(path)?;
        Ok(Place { directory, name })
    }

    fn wrap(&self, file: Arc<dyn File>) -> io::Result<Arc<dyn File>> {
        let inode = file.identity()?.inode;
        Ok(Arc::new(FaultyFile { files: self.clone(), file, inode }))
    }
}

impl FileLayer for FaultyFiles {
    fn open(&self, path: &Path, access: Access) -> io::Result<Arc<dyn File>> {
        if access != Access::CreateNew {
            return self.wrap(self.running.open(path, access)?);
        }
        let file = self.change(|| {
            let file = self.running.open(path, access)?;
            let (at, inode) = (self.place(path)?, file.identity()?.inode);
            Ok((file, Change::CreateFile { at, inode }))
        })?;
        self.wrap(file)
    }

    fn kind(&self, path: &Path) -> io::Result<Option<Kind>> {
        self.running.kind(path)
    }

    fn canonical(&self, path: &Path) -> io::Result<PathBuf> {
        self.running.canonical(path)
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.change(|| {
            self.running.link(from, to)?;
            Ok(((), Change::Link { at: self.place(to)?, inode: self.running.number(to)? }))
        })
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.change(|| {
            let (source, inode) = (self.place(from)?, self.running.number(from)?);
            let target = self.place(to)?;
            self.running.rename(from, to)?;
            Ok(((), Change::Rename { from: source, to: target, inode }))
        })
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.change(|| {
            let at = self.place(path)?;
            self.running.remove_file(path)?;
            Ok(((), Change::RemoveFile { at }))
        })
    }

    fn identity(&self, path: &Path) -> io::Result<Option<Identity>> {
        self.running.identity(path)
    }

    fn names(&self, path: &Path) -> io::Result<Vec<OsString>> {
        self.running.names(path)
    }

    fn create_dir(&self, path: &Path) -> io::Result<()> {
        self.change(|| {
            self.running.create_dir(path)?;
            Ok(((), Change::CreateDir { at: self.place(path)?, inode: self.running.number(path)? }))
        })
    }

    fn remove_dir_all(&self, path: &Path) -> io::Result<()> {
        self.place(path)?;
        let path = self.running.canonical(path)?;
        if self.running.kind(&path)? != Some(Kind::Directory) {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        let below = self.running.entries().into_iter().filter(|e| e.path.starts_with(&path));
        // Remove the contents of a directory before the directory.
        for entry in below.collect::<Vec<_>>().into_iter().rev() {
            if entry.bytes.is_some() {
                self.remove_file(&entry.path)?;
                continue;
            }
            self.change(|| {
                let at = self.place(&entry.path)?;
                self.running.remove_dir_all(&entry.path)?;
                Ok(((), Change::RemoveDir { at }))
            })?;
        }
        Ok(())
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        let mut state = self.state();
        if let Some(failure) = state.armed.trip(true) {
            return Err(failure.error());
        }
        self.running.sync_dir(path)?;
        let directory = self.running.number(path)?;
        state.changes.push(Change::SyncDir { directory });
        state.armed.count(true);
        Ok(())
    }

    fn is_locked(&self, path: &Path) -> io::Result<bool> {
        self.running.is_locked(path)
    }

    fn try_lock(&self, path: &Path, rights: Option<&Rights>) -> io::Result<Option<Box<dyn Lock>>> {
        self.running.try_lock(path, rights)
    }
}
