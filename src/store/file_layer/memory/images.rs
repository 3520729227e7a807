//! Builds, inspects and copies in-memory file systems, for tests.
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
    /// The full path.
    pub path: PathBuf,
    /// The number of the file or directory. Two names of one file share it.
    pub number: u64,
    /// The contents of a file, or `None` for a directory.
    pub bytes: Option<Bytes>,
}

impl MemoryFiles {
    /// Adds a file and the directories above it. Replaces what had its name.
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

    /// Returns the contents of a file, or `None` if there is no such file.
    pub fn contents(&self, path: impl AsRef<Path>) -> Option<Vec<u8>> {
        match self.table().nodes.get(&tidy(path.as_ref())) {
            Some(Node::File(inode)) => Some(inode.bytes().to_vec()),
            _ => None,
        }
    }

    /// Returns the paths of all files, in order.
    pub fn files(&self) -> Vec<PathBuf> {
        self.entries().into_iter().filter(|e| e.bytes.is_some()).map(|e| e.path).collect()
    }

    /// Returns all names, each directory before its contents. Bytes are shared until they change.
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

    /// Creates a file system with these names. Each directory must come before its contents.
    pub fn from_entries(entries: impl IntoIterator<Item = Entry>) -> MemoryFiles {
        let files = MemoryFiles::new();
        files.table().fill(entries);
        files
    }

    /// Makes this file system use no inode number that `other` has used.
    pub(in super::super) fn numbered_after(self, other: &MemoryFiles) -> MemoryFiles {
        let last = other.table().last;
        let mut names = self.table();
        names.last = names.last.max(last);
        drop(names);
        self
    }

    /// Returns the number of the directory that contains a path, and the last component of the path.
    pub(in super::super) fn place(&self, path: &Path) -> io::Result<(u64, std::ffi::OsString)> {
        let path = tidy(path);
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(io::ErrorKind::ResourceBusy.into());
        };
        Ok((self.table().directory(parent)?, name.to_os_string()))
    }

    /// Returns the number of the file or directory at a path.
    pub(in super::super) fn number(&self, path: &Path) -> io::Result<u64> {
        self.table().find(&tidy(path)).map(Node::number)
    }
}

impl Names {
    /// Adds names from another file system, with their numbers.
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
