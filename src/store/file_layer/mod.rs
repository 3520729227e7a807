//! The only door to the file system: everything that the store does to a disk goes through these two
//! traits (sled's own files excepted).
//!
//! Three layers implement them: [`real`], the operating system; [`memory`], a file system of byte
//! vectors, which also opens a database from bytes alone; and [`faulty`], which records every change,
//! rebuilds the disk that a crash at any point would leave, and can fail any operation. So a crash test
//! is an ordinary test.
//!
//! What a layer promises is what POSIX promises and no more: a write may be lost, torn or reordered until
//! the file is synced; a name may be lost until its directory is synced.

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

/// A file system, or something that behaves like one.
pub trait FileLayer: Send + Sync + fmt::Debug {
    /// Whether its paths are those of the operating system, so that others may use them, too.
    fn is_real(&self) -> bool {
        false
    }

    /// The same file system, with every name in `folder` looked up in the directory that has this path now,
    /// also if it is moved later, and without following links. Paths outside of it are refused. `None` if the
    /// layer has neither links nor moves to guard against.
    fn anchored(&self, _folder: &Path) -> io::Result<Option<Arc<dyn FileLayer>>> {
        Ok(None)
    }

    /// Opens a file. `CreateNew` fails with `AlreadyExists` if anything has that name, and makes a file that
    /// nobody else may open: see [`File::set_rights`].
    fn open(&self, path: &Path, access: Access) -> io::Result<Arc<dyn File>>;

    /// What stands at a path, if anything. A link is followed, unless the layer is anchored.
    fn kind(&self, path: &Path) -> io::Result<Option<Kind>>;

    /// The path without links and relative parts. The file must exist.
    fn canonical(&self, path: &Path) -> io::Result<PathBuf>;

    /// Gives the file `from` the name `to` too, and fails with `AlreadyExists` rather than replace
    /// anything. The caller removes the name `from`.
    fn link(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Gives a file or directory a new name, replacing a file of that name.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Gives a file a new name, and fails with `AlreadyExists` rather than replace anything.
    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        match self.kind(to)? {
            Some(_) => Err(io::ErrorKind::AlreadyExists.into()),
            None => self.rename(from, to),
        }
    }

    /// Which file has a name now; `None` if there is none. A link is not followed.
    fn identity(&self, path: &Path) -> io::Result<Option<Identity>> {
        match self.open(path, Access::Read) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            file => file?.identity().map(Some),
        }
    }

    /// Removes a name of a file.
    fn remove_file(&self, path: &Path) -> io::Result<()>;

    /// Makes a directory that nobody else may look into: see [`FileLayer::set_dir_rights`]. Its parent must
    /// exist.
    fn create_dir(&self, path: &Path) -> io::Result<()>;

    /// The names in a directory, in order.
    fn names(&self, path: &Path) -> io::Result<Vec<OsString>>;

    /// Removes a directory and what is in it.
    fn remove_dir_all(&self, path: &Path) -> io::Result<()>;

    /// Lets those look into a directory that a file with these rights is for, as far as the layer knows of
    /// rights.
    fn set_dir_rights(&self, _path: &Path, _rights: &Rights) -> io::Result<()> {
        Ok(())
    }

    /// How many bytes a name in a directory may have.
    fn longest_name(&self, _folder: &Path) -> io::Result<usize> {
        Ok(255)
    }

    /// Makes the names in a directory durable.
    fn sync_dir(&self, path: &Path) -> io::Result<()>;

    /// Whether somebody holds the lock that a file of this name stands for. Makes no file.
    fn is_locked(&self, _path: &Path) -> io::Result<bool> {
        Ok(false)
    }

    /// Takes the lock that a file of this name stands for, making the file if need be; `None` if
    /// somebody holds it. Never waits. A file that is not empty is no lock: `AlreadyExists`. A new file gets
    /// these rights, or those that the system gives new files. Dropping the lock removes the file, then frees
    /// the lock.
    fn try_lock(&self, path: &Path, rights: Option<&Rights>) -> io::Result<Option<Box<dyn Lock>>>;
}

/// An open file, read and written at positions. Shared by threads.
pub trait File: Send + Sync + fmt::Debug {
    /// Reads some bytes at `offset`; 0 only at the end of the file (or of `buffer`).
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;

    /// Writes all bytes at `offset`, or fails after having written any part of them.
    fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()>;

    /// Makes data and length durable.
    fn sync(&self) -> io::Result<()>;

    /// Cuts or extends (with zeros) the file.
    fn set_len(&self, length: u64) -> io::Result<()>;

    /// The length in bytes.
    fn length(&self) -> io::Result<u64>;

    /// Which file it is.
    fn identity(&self) -> io::Result<Identity>;

    /// Who may use it, as far as the layer knows of rights.
    fn rights(&self) -> io::Result<Option<Rights>> {
        Ok(None)
    }

    /// Gives the file these rights: mode and group and, where the system allows it, the owner. Where it does
    /// not allow the group, the mode is narrowed instead: nobody may use the file who may not use the one that
    /// the rights came from.
    fn set_rights(&self, _rights: &Rights) -> io::Result<()> {
        Ok(())
    }

    /// Reads bytes until `buffer` is full or the file ends, and says how many.
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
    /// The rights of its file, as far as the layer knows of rights.
    fn rights(&self) -> io::Result<Option<Rights>> {
        Ok(None)
    }
}

/// Who may use a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rights {
    /// Permission bits.
    pub mode: u32,
    /// The owner; `None` leaves a file with whoever makes it.
    pub owner: Option<u32>,
    /// The group.
    pub group: u32,
}

impl Rights {
    /// The rights of a copy: it belongs to whoever makes it.
    pub fn of_copy(self) -> Rights {
        Rights { owner: None, ..self }
    }
}

/// How a file is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// An existing file, to be read.
    Read,
    /// An existing file, to be read and written.
    Write,
    /// A new file, to be read and written.
    CreateNew,
}

/// What a name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A FIFO, device or the like.
    Other,
}

/// Which file an open file is, whatever its names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity {
    /// The device it is on.
    pub device: u64,
    /// Its number there.
    pub inode: u64,
    /// How many names it has.
    pub links: u64,
}

impl Identity {
    /// Whether both are one file, however many names it had at each time.
    pub fn is_same(&self, other: &Identity) -> bool {
        (self.device, self.inode) == (other.device, other.inode)
    }
}
