//! A file system of byte vectors.
//!
//! In: paths and bytes. Out: the same errors that an operating system gives for the same mistakes. It
//! must not know what the bytes mean, and touches no disk: it opens a database from bytes alone, and it
//! is the running view under [`super::faulty`].
//!
//! A relative path counts from the root. There are no symbolic links, so a path is made canonical by its
//! parts alone. Inode numbers are never used again.

mod inode;
mod names;
#[cfg(test)]
mod tests;

pub use inode::Bytes;
#[cfg(any(test, feature = "internals"))]
pub(super) use inode::write;

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{Access, File, FileLayer, Identity, Kind, Lock, Rights};
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::{Mutex, MutexGuard, PoisonError};
use inode::{Inode, MemoryFile};
use names::{Names, Node, tidy};

/// The longest a file may become unless told otherwise. A length read from damaged bytes must not take
/// the memory of the machine.
const DEFAULT_LIMIT: u64 = 1 << 30;

/// The number of the root directory.
pub const ROOT: u64 = 1;

/// A file system in memory. A clone is the same file system.
#[derive(Debug, Clone)]
pub struct MemoryFiles {
    names: Arc<Mutex<Names>>,
    limit: Arc<AtomicU64>,
}

/// A name in a copy of the file system.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The whole path.
    pub path: PathBuf,
    /// The number of the file or directory. Two names of one file have the same.
    pub number: u64,
    /// What is in a file; `None` for a directory.
    pub bytes: Option<Bytes>,
}

impl Default for MemoryFiles {
    fn default() -> MemoryFiles {
        MemoryFiles::new()
    }
}

impl MemoryFiles {
    /// A file system with a root and nothing in it.
    pub fn new() -> MemoryFiles {
        let limit = Arc::new(AtomicU64::new(DEFAULT_LIMIT));
        MemoryFiles { names: Arc::new(Mutex::new(Names::new())), limit }
    }

    /// The same file system with a file, in place of what had its name, and the directories above it.
    pub fn with_file(self, path: impl AsRef<Path>, bytes: impl Into<Vec<u8>>) -> MemoryFiles {
        let path = tidy(path.as_ref());
        let mut names = self.table();
        names.remove_below(&path);
        let above: Vec<_> = path.ancestors().skip(1).collect();
        for directory in above.into_iter().rev() {
            if !matches!(names.nodes.get(directory), Some(Node::Directory(_))) {
                names.remove_below(directory);
                let number = names.next();
                names.nodes.insert(directory.to_path_buf(), Node::Directory(number));
            }
        }
        let inode = Inode::new(names.next(), Arc::new(bytes.into()));
        names.nodes.insert(path, Node::File(inode));
        drop(names);
        self
    }

    /// The same file system, where no file grows beyond `bytes` from now on: `StorageFull` says so.
    pub fn limited_to(self, bytes: u64) -> MemoryFiles {
        self.limit.store(bytes, Ordering::Relaxed);
        self
    }

    /// What is in a file; `None` if there is no such file.
    pub fn contents(&self, path: impl AsRef<Path>) -> Option<Vec<u8>> {
        match self.table().nodes.get(&tidy(path.as_ref())) {
            Some(Node::File(inode)) => Some(inode.bytes().to_vec()),
            _ => None,
        }
    }

    /// The paths of all files, in order.
    pub fn files(&self) -> Vec<PathBuf> {
        self.entries().into_iter().filter(|e| e.bytes.is_some()).map(|e| e.path).collect()
    }

    /// All names, a directory before what is in it. The bytes are shared until they change.
    pub fn entries(&self) -> Vec<Entry> {
        let names = self.table();
        let entry = |(path, node): (&PathBuf, &Node)| {
            let bytes = match node {
                Node::File(inode) => Some(inode.bytes()),
                Node::Directory(_) => None,
            };
            Entry { path: path.clone(), number: node.number(), bytes }
        };
        names.nodes.iter().map(entry).collect()
    }

    /// A new file system with these names, of which each directory comes before what is in it.
    pub fn from_entries(entries: impl IntoIterator<Item = Entry>) -> MemoryFiles {
        let files = MemoryFiles::new();
        files.table().fill(entries);
        files
    }

    /// The same file system, which gives no number again that another one gave.
    #[cfg(any(test, feature = "internals"))]
    pub(super) fn numbered_after(self, other: &MemoryFiles) -> MemoryFiles {
        let last = other.table().last;
        let mut names = self.table();
        names.last = names.last.max(last);
        drop(names);
        self
    }

    /// The number of the directory that holds the last part of a path, and that part.
    #[cfg(any(test, feature = "internals"))]
    pub(super) fn place(&self, path: &Path) -> io::Result<(u64, std::ffi::OsString)> {
        let path = tidy(path);
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(io::ErrorKind::ResourceBusy.into());
        };
        Ok((self.table().directory(parent)?, name.to_os_string()))
    }

    /// The number of what stands at a path.
    #[cfg(any(test, feature = "internals"))]
    pub(super) fn number(&self, path: &Path) -> io::Result<u64> {
        self.table().find(&tidy(path)).map(Node::number)
    }

    fn table(&self) -> MutexGuard<'_, Names> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn handle(&self, inode: &Arc<Inode>, writable: bool) -> Arc<dyn File> {
        let (inode, limit) = (Arc::clone(inode), Arc::clone(&self.limit));
        Arc::new(MemoryFile { inode, writable, limit })
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
        // The file may be gone already, with its directory.
        let _ = names.remove_file(&self.path);
        names.locks.remove(&self.path);
    }
}
