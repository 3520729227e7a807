//! The interface to the file system. All disk access of the store goes through these traits, except for sled's own
//! files.
//!
//! In: paths, offsets and bytes. Out: bytes, and the errors of an operating system. A layer must not know what the
//! bytes mean.
//!
//! There are three layers. [`real`] is the operating system. [`memory`] keeps files in memory, and can open a database
//! from bytes alone. [`faulty`] records every change, can rebuild the disk that a crash at any point would leave, and
//! can make any operation fail. So a crash test is an ordinary test.
//!
//! A layer promises what POSIX promises and no more. A write may be lost, torn or reordered until the file is
//! synced. A name may be lost until its directory is synced.

#[cfg(any(test, feature = "internals"))]
pub mod faulty;
pub mod memory;
#[cfg(any(unix, windows))]
pub mod real;
#[cfg(test)]
mod tests;

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A file system.
pub trait FileLayer: Send + Sync + fmt::Debug {
    /// Whether its paths are those of the operating system, so that code outside of the layer can use them.
    fn is_real(&self) -> bool {
        false
    }

    /// Returns a layer that is bound to `folder`. It resolves names in the directory that has this path now, even if
    /// the directory is moved later. It follows no links and rejects paths outside of the directory. Returns `None` if
    /// the layer has neither links nor moves to guard against.
    fn anchored(&self, _folder: &Path) -> io::Result<Option<Arc<dyn FileLayer>>> {
        Ok(None)
    }

    /// Opens a file. `CreateNew` fails with `AlreadyExists` if the name is taken. A new file is private to its
    /// owner until [`File::set_rights`].
    fn open(&self, path: &Path, access: Access) -> io::Result<Arc<dyn File>>;

    /// Returns the kind of the entry at a path, or `None` if there is none. Follows links, unless the layer is
    /// anchored.
    fn kind(&self, path: &Path) -> io::Result<Option<Kind>>;

    /// Returns the path without links and relative components. The file must exist.
    fn canonical(&self, path: &Path) -> io::Result<PathBuf>;

    /// Creates a hard link `to` to the file `from`. Fails with `AlreadyExists` instead of replacing anything.
    fn link(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Renames a file or directory, and replaces a file that has the new name.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Renames a file or directory. Fails with `AlreadyExists` instead of replacing anything.
    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        match self.kind(to)? {
            Some(_) => Err(io::ErrorKind::AlreadyExists.into()),
            None => self.rename(from, to),
        }
    }

    /// Returns the identity of the file that has a name, or `None`. Does not follow links.
    fn identity(&self, path: &Path) -> io::Result<Option<Identity>> {
        match self.open(path, Access::Read) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            file => file?.identity().map(Some),
        }
    }

    /// Removes one name of a file.
    fn remove_file(&self, path: &Path) -> io::Result<()>;

    /// Creates a directory. Its parent must exist. The directory is private to its owner until
    /// [`FileLayer::set_dir_rights`].
    fn create_dir(&self, path: &Path) -> io::Result<()>;

    /// Returns the names in a directory, sorted.
    fn names(&self, path: &Path) -> io::Result<Vec<OsString>>;

    /// Removes a directory and its contents.
    fn remove_dir_all(&self, path: &Path) -> io::Result<()>;

    /// Grants access to a directory to everyone who may use a file with these rights, if the layer supports rights.
    fn set_dir_rights(&self, _path: &Path, _rights: &Rights) -> io::Result<()> {
        Ok(())
    }

    /// Returns the maximum length of a name in a directory, in bytes.
    fn longest_name(&self, _folder: &Path) -> io::Result<usize> {
        Ok(255)
    }

    /// Returns the bytes that files in a directory may still take, if the layer knows.
    fn free_bytes(&self, _folder: &Path) -> io::Result<Option<u64>> {
        Ok(None)
    }

    /// Makes the names in a directory durable.
    fn sync_dir(&self, path: &Path) -> io::Result<()>;

    /// Whether somebody holds the lock of this name. Creates no file.
    fn is_locked(&self, _path: &Path) -> io::Result<bool> {
        Ok(false)
    }

    /// Takes the lock of this name, and creates its file if needed. Returns `None` if somebody holds the lock.
    /// Never waits. A file that is not empty is not a lock, and gives `AlreadyExists`. A new file gets `rights`, or
    /// the system's default. Dropping the lock removes the file and then releases the lock.
    fn try_lock(&self, path: &Path, rights: Option<&Rights>) -> io::Result<Option<Box<dyn Lock>>>;
}

/// An open file, read and written at offsets. Threads may share it.
pub trait File: Send + Sync + fmt::Debug {
    /// Reads some bytes at `offset`. Returns 0 only at the end of the file, or if `buffer` is empty.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;

    /// Writes all bytes at `offset`. On failure, any part of them may have been written.
    fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()>;

    /// Makes data and length durable.
    fn sync(&self) -> io::Result<()>;

    /// Truncates the file, or extends it with zeros.
    fn set_len(&self, length: u64) -> io::Result<()>;

    /// Returns the length in bytes.
    fn length(&self) -> io::Result<u64>;

    /// Returns the identity of the file.
    fn identity(&self) -> io::Result<Identity>;

    /// Returns who may use the file, if the layer supports rights.
    fn rights(&self) -> io::Result<Option<Rights>> {
        Ok(None)
    }

    /// Sets mode and group, and the owner where the system allows it. If the group cannot be set, the mode is narrowed,
    /// so that nobody gains access who may not use the file that the rights came from.
    fn set_rights(&self, _rights: &Rights) -> io::Result<()> {
        Ok(())
    }

    /// Takes the file's own lock, which is kept until [`File::unlock`], or until the handle is dropped here and in all
    /// processes forked meanwhile. Returns `false` if another handle holds it. Never waits. The lock does not keep
    /// anyone from reading or writing.
    fn try_lock(&self) -> io::Result<bool> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Releases the lock that this handle holds, also for forked processes.
    fn unlock(&self) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Whether another handle holds the file's own lock. Fails if that cannot be examined. Not for the holder.
    fn is_locked(&self) -> io::Result<bool> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Reads until `buffer` is full or the file ends, and returns the number of bytes.
    fn read_up_to(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut done = 0;
        while done < buffer.len() {
            match self.read_at(&mut buffer[done..], offset + done as u64) {
                Ok(0) => break,
                Ok(n) => done += n,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(done)
    }
}

/// A held writer lock.
pub trait Lock: Send + Sync + fmt::Debug {
    /// Returns the rights of the lock file, if the layer supports rights.
    fn rights(&self) -> io::Result<Option<Rights>> {
        Ok(None)
    }
}

/// Who may use a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rights {
    /// The permission bits.
    pub mode: u32,
    /// The owner. `None` means whoever creates the file.
    pub owner: Option<u32>,
    /// The group.
    pub group: u32,
}

impl Rights {
    /// Returns the rights for a copy, which belongs to whoever creates it.
    pub fn of_copy(self) -> Rights {
        Rights { owner: None, ..self }
    }
}

/// How a file is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// An existing file, for reading.
    Read,
    /// An existing file, for reading and writing.
    Write,
    /// A new file, for reading and writing.
    CreateNew,
}

/// The kind of a file system entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A FIFO, a device, or something else.
    Other,
}

/// The identity of a file, independent of its names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity {
    /// The device it is on.
    pub device: u64,
    /// Its inode number.
    pub inode: u64,
    /// The number of its names (hard links).
    pub links: u64,
}

impl Identity {
    /// Whether both are the same file. Ignores the link count, which may have changed.
    pub fn is_same(&self, other: &Identity) -> bool {
        (self.device, self.inode) == (other.device, other.inode)
    }
}
