//! A file system in memory.
//!
//! In: paths and bytes. Out: bytes, and the errors that an operating system gives. It must not know what the bytes
//! mean. It touches no disk, so it can open a database from bytes alone. [`super::faulty`] builds on it.
//!
//! A relative path starts at the root. There are no symbolic links, so a path is made canonical without lookups.
//! Inode numbers are never reused.

#[cfg(any(test, feature = "internals"))]
mod images;
mod inode;
mod names;
#[cfg(test)]
mod tests;

#[cfg(any(test, feature = "internals"))]
pub use images::Entry;
#[cfg(any(test, feature = "internals"))]
pub use inode::Bytes;
#[cfg(any(test, feature = "internals"))]
pub(super) use inode::write;

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{Access, File, FileLayer, Identity, Kind, Lock, Rights};
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::lock_order::MEMORY_NAMES;
use crate::sync::{Ranked, RankedGuard};
use inode::{Inode, MemoryFile};
use names::{Names, Node, tidy};

/// The default limit of a file's length. A length read from damaged bytes must not exhaust the machine's memory.
const DEFAULT_LIMIT: u64 = 1 << 30;

/// The inode number of the root directory.
pub const ROOT: u64 = 1;

/// A file system in memory. Clones share it.
#[derive(Debug, Clone)]
pub struct MemoryFiles {
    names: Arc<Ranked<MEMORY_NAMES, Names>>,
    limit: Arc<AtomicU64>,
}

impl Default for MemoryFiles {
    fn default() -> MemoryFiles {
        MemoryFiles::new()
    }
}

impl MemoryFiles {
    /// Creates a file system with only a root directory.
    pub fn new() -> MemoryFiles {
        let limit = Arc::new(AtomicU64::new(DEFAULT_LIMIT));
        MemoryFiles { names: Arc::new(Ranked::new(Names::new())), limit }
    }

    /// Limits the length of files from now on. Longer writes fail with `StorageFull`.
    pub fn limited_to(self, bytes: u64) -> MemoryFiles {
        self.limit.store(bytes, Ordering::Relaxed);
        self
    }

    fn table(&self) -> RankedGuard<'_, MEMORY_NAMES, Names> {
        self.names.lock()
    }

    fn handle(&self, inode: &Arc<Inode>, writable: bool) -> Arc<dyn File> {
        Arc::new(MemoryFile::new(Arc::clone(inode), writable, Arc::clone(&self.limit)))
    }
}

impl FileLayer for MemoryFiles {
    fn open(&self, path: &Path, access: Access) -> io::Result<Arc<dyn File>> {
        let path = tidy(path);
        let mut names = self.table();
        if access == Access::CreateNew {
            return Ok(self.handle(&names.create(path)?, true));
        }
        match names.find(&path)? {
            Node::File(inode) => Ok(self.handle(inode, access == Access::Write)),
            Node::Directory(_) => Err(io::ErrorKind::IsADirectory.into()),
        }
    }

    fn kind(&self, path: &Path) -> io::Result<Option<Kind>> {
        Ok(self.table().nodes.get(&tidy(path)).map(|node| match node {
            Node::File(_) => Kind::File,
            Node::Directory(_) => Kind::Directory,
        }))
    }

    fn canonical(&self, path: &Path) -> io::Result<PathBuf> {
        let path = tidy(path);
        self.table().find(&path)?;
        Ok(path)
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.table().link(&tidy(from), tidy(to))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.table().rename(&tidy(from), &tidy(to))
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.table().remove_file(&tidy(path))
    }

    fn create_dir(&self, path: &Path) -> io::Result<()> {
        self.table().create_dir(tidy(path))
    }

    fn identity(&self, path: &Path) -> io::Result<Option<Identity>> {
        Ok(self.table().nodes.get(&tidy(path)).map(|node| match node {
            Node::File(inode) => inode.identity(),
            Node::Directory(number) => Identity { device: 0, inode: *number, links: 1 },
        }))
    }

    fn names(&self, path: &Path) -> io::Result<Vec<OsString>> {
        let path = tidy(path);
        let names = self.table();
        names.directory(&path)?;
        let here = names.below(&path).into_iter().filter(|below| below.parent() == Some(&path));
        Ok(here.filter_map(|below| below.file_name().map(OsString::from)).collect())
    }

    fn remove_dir_all(&self, path: &Path) -> io::Result<()> {
        let path = tidy(path);
        let mut names = self.table();
        names.find(&path)?;
        names.directory(&path)?;
        if path.parent().is_none() {
            return Err(io::ErrorKind::ResourceBusy.into());
        }
        names.remove_below(&path);
        Ok(())
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        self.table().directory(&tidy(path)).map(|_| ())
    }

    fn is_locked(&self, path: &Path) -> io::Result<bool> {
        Ok(self.table().locks.contains(&tidy(path)))
    }

    fn try_lock(&self, path: &Path, _: Option<&Rights>) -> io::Result<Option<Box<dyn Lock>>> {
        let path = tidy(path);
        let mut names = self.table();
        if names.locks.contains(&path) {
            return Ok(None);
        }
        match names.nodes.get(&path) {
            Some(Node::File(inode)) if inode.bytes().is_empty() => {}
            Some(Node::File(_)) => return Err(io::ErrorKind::AlreadyExists.into()),
            Some(Node::Directory(_)) => return Err(io::ErrorKind::IsADirectory.into()),
            None => drop(names.create(path.clone())?),
        }
        names.locks.insert(path.clone());
        Ok(Some(Box::new(MemoryLock { files: self.clone(), path })))
    }
}

/// A lock held in this file system.
#[derive(Debug)]
struct MemoryLock {
    files: MemoryFiles,
    path: PathBuf,
}

impl Lock for MemoryLock {}

impl Drop for MemoryLock {
    fn drop(&mut self) {
        let mut names = self.files.table();
        // The file may already be gone, with its directory.
        let _ = names.remove_file(&self.path);
        names.locks.remove(&self.path);
    }
}
