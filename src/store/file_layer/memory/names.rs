//! The names of an in-memory file system.
//!
//! In: canonical paths. Out: files and directories, or the error that an operating system would give. It must not
//! know what the files contain.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use super::ROOT;
use super::inode::{Bytes, Inode};
use crate::sync::atomic::Ordering;

/// What a name refers to.
#[derive(Debug, Clone)]
pub(super) enum Node {
    File(Arc<Inode>),
    Directory(u64),
}

impl Node {
    pub(super) fn number(&self) -> u64 {
        match self {
            Node::File(inode) => inode.number,
            Node::Directory(number) => *number,
        }
    }
}

/// All names. Paths sort by component, so the contents of a directory follow it without a gap.
#[derive(Debug)]
pub(super) struct Names {
    pub(super) nodes: BTreeMap<PathBuf, Node>,
    pub(super) locks: BTreeSet<PathBuf>,
    /// The last inode number in use.
    pub(super) last: u64,
}

impl Names {
    pub(super) fn new() -> Names {
        let nodes = BTreeMap::from([(PathBuf::from("/"), Node::Directory(ROOT))]);
        Names { nodes, locks: BTreeSet::new(), last: ROOT }
    }

    /// Returns an unused inode number.
    pub(super) fn next(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    /// Returns what is at a path. Fails if there is nothing.
    pub(super) fn find(&self, path: &Path) -> io::Result<&Node> {
        if let Some(parent) = path.parent() {
            self.directory(parent)?;
        }
        self.nodes.get(path).ok_or(io::ErrorKind::NotFound.into())
    }

    /// Returns the number of a directory.
    pub(super) fn directory(&self, path: &Path) -> io::Result<u64> {
        match self.nodes.get(path) {
            Some(Node::Directory(number)) => Ok(*number),
            Some(Node::File(_)) => Err(io::ErrorKind::NotADirectory.into()),
            None => match path.parent() {
                Some(parent) => self.directory(parent).and(Err(io::ErrorKind::NotFound.into())),
                None => Err(io::ErrorKind::NotFound.into()),
            },
        }
    }

    fn check_free(&self, path: &Path) -> io::Result<()> {
        if let Some(parent) = path.parent() {
            self.directory(parent)?;
        }
        match self.nodes.contains_key(path) {
            true => Err(io::ErrorKind::AlreadyExists.into()),
            false => Ok(()),
        }
    }

    pub(super) fn create(&mut self, path: PathBuf) -> io::Result<Arc<Inode>> {
        self.check_free(&path)?;
        let inode = Inode::new(self.next(), Bytes::default());
        self.nodes.insert(path, Node::File(Arc::clone(&inode)));
        Ok(inode)
    }

    pub(super) fn create_dir(&mut self, path: PathBuf) -> io::Result<()> {
        self.check_free(&path)?;
        let number = self.next();
        self.nodes.insert(path, Node::Directory(number));
        Ok(())
    }

    pub(super) fn link(&mut self, from: &Path, to: PathBuf) -> io::Result<()> {
        let Node::File(inode) = self.find(from)?.clone() else {
            return Err(io::ErrorKind::PermissionDenied.into());
        };
        self.check_free(&to)?;
        inode.links.fetch_add(1, Ordering::Relaxed);
        self.nodes.insert(to, Node::File(inode));
        Ok(())
    }

    pub(super) fn remove_file(&mut self, path: &Path) -> io::Result<()> {
        match self.find(path)? {
            Node::Directory(_) => Err(io::ErrorKind::IsADirectory.into()),
            Node::File(inode) => {
                inode.links.fetch_sub(1, Ordering::Relaxed);
                self.nodes.remove(path);
                Ok(())
            }
        }
    }

    pub(super) fn rename(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        let node = self.find(from)?.clone();
        if let Some(parent) = to.parent() {
            self.directory(parent)?;
        }
        let is_directory = matches!(node, Node::Directory(_));
        match self.nodes.get(to) {
            // If both names refer to one file, POSIX keeps both.
            Some(there) if there.number() == node.number() => return Ok(()),
            Some(Node::File(_)) if is_directory => {
                return Err(io::ErrorKind::NotADirectory.into());
            }
            Some(Node::File(_)) => self.remove_file(to)?,
            Some(Node::Directory(_)) if !is_directory => {
                return Err(io::ErrorKind::IsADirectory.into());
            }
            Some(Node::Directory(_)) if self.below(to).len() > 1 => {
                return Err(io::ErrorKind::DirectoryNotEmpty.into());
            }
            Some(Node::Directory(_)) | None => {}
        }
        if to.starts_with(from) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        for path in self.below(from) {
            let (Some(node), Ok(rest)) = (self.nodes.remove(&path), path.strip_prefix(from)) else {
                continue;
            };
            // Joining an empty path would add a slash.
            let new = if rest.as_os_str().is_empty() { to.to_path_buf() } else { to.join(rest) };
            self.nodes.insert(new, node);
        }
        Ok(())
    }

    /// Returns an existing path and all paths below it.
    pub(super) fn below(&self, path: &Path) -> Vec<PathBuf> {
        let from = self.nodes.range(path.to_path_buf()..);
        from.map(|(p, _)| p).take_while(|p| p.starts_with(path)).cloned().collect()
    }

    /// Removes a path and everything below it, if it exists.
    pub(super) fn remove_below(&mut self, path: &Path) {
        for path in self.below(path) {
            if let Some(Node::File(inode)) = self.nodes.remove(&path) {
                inode.links.fetch_sub(1, Ordering::Relaxed);
            }
        }
    }
}

/// Makes a path absolute, and removes `.` and `..`.
pub(super) fn tidy(path: &Path) -> PathBuf {
    let mut tidy = PathBuf::from("/");
    for part in path.components() {
        match part {
            Component::Normal(name) => tidy.push(name),
            Component::ParentDir => {
                tidy.pop();
            }
            Component::Prefix(_) | Component::RootDir | Component::CurDir => {}
        }
    }
    tidy
}
