//! File systems in memory as tests see them: made from bytes, looked into, copied.
//!
//! In: names with their bytes. Out: a file system that holds them, and back.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::MemoryFiles;
use super::inode::{Bytes, Inode};
use super::names::{Names, Node, tidy};
use crate::sync::atomic::Ordering;

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

impl MemoryFiles {
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
    pub(in super::super) fn numbered_after(self, other: &MemoryFiles) -> MemoryFiles {
        let last = other.table().last;
        let mut names = self.table();
        names.last = names.last.max(last);
        drop(names);
        self
    }

    /// The number of the directory that holds the last part of a path, and that part.
    pub(in super::super) fn place(&self, path: &Path) -> io::Result<(u64, std::ffi::OsString)> {
        let path = tidy(path);
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(io::ErrorKind::ResourceBusy.into());
        };
        Ok((self.table().directory(parent)?, name.to_os_string()))
    }

    /// The number of what stands at a path.
    pub(in super::super) fn number(&self, path: &Path) -> io::Result<u64> {
        self.table().find(&tidy(path)).map(Node::number)
    }
}

impl Names {
    /// Adds names that another file system had, with their numbers.
    pub(super) fn fill(&mut self, entries: impl IntoIterator<Item = Entry>) {
        let mut inodes: HashMap<u64, Arc<Inode>> = HashMap::new();
        for Entry { path, number, bytes } in entries {
            self.last = self.last.max(number);
            let node = match (bytes, inodes.get(&number)) {
                (None, _) => Node::Directory(number),
                (Some(_), Some(inode)) => {
                    inode.links.fetch_add(1, Ordering::Relaxed);
                    Node::File(Arc::clone(inode))
                }
                (Some(bytes), None) => {
                    let inode = Inode::new(number, bytes);
                    inodes.insert(number, Arc::clone(&inode));
                    Node::File(inode)
                }
            };
            self.nodes.insert(path, node);
        }
    }
}
