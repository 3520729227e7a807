//! A directory on Windows, by its path, and the names in it.
//!
//! In: names. Out: open files, and the system's own errors. The standard library has no directory handles, so a
//! link is rejected by a check before the name is used. Somebody who may change the directory can race with that
//! check.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::os::windows::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use super::super::{Access, Identity, Kind, Rights};

/// A directory.
#[derive(Debug)]
pub(super) struct Folder(PathBuf);

/// What was found under a name.
#[derive(Debug, Clone, Copy)]
pub(super) struct Looked {
    pub(super) kind: Kind,
    pub(super) identity: Identity,
}

impl Folder {
    pub(super) fn open(path: &Path) -> io::Result<Folder> {
        let path = std::path::absolute(path)?;
        match fs::metadata(&path)?.is_dir() {
            true => Ok(Folder(path)),
            false => Err(io::ErrorKind::NotADirectory.into()),
        }
    }

    pub(super) fn sub(&self, name: &OsStr) -> io::Result<Folder> {
        match fs::symlink_metadata(self.0.join(name))?.is_dir() {
            true => Ok(Folder(self.0.join(name))),
            false => Err(io::ErrorKind::NotADirectory.into()),
        }
    }

    pub(super) fn look(&self, name: &OsStr) -> io::Result<Option<Looked>> {
        found(fs::symlink_metadata(self.0.join(name)))
    }

    pub(super) fn look_through(&self, name: &OsStr) -> io::Result<Option<Looked>> {
        found(fs::metadata(self.0.join(name)))
    }

    pub(super) fn open_file(&self, name: &OsStr, access: Access) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.read(true).write(access != Access::Read);
        options.create_new(access == Access::CreateNew).open(self.0.join(name))
    }

    pub(super) fn open_followed(&self, name: &OsStr, access: Access) -> io::Result<File> {
        self.open_file(name, access)
    }

    pub(super) fn create_usual(&self, name: &OsStr) -> io::Result<File> {
        self.open_file(name, Access::CreateNew)
    }

    pub(super) fn link(&self, from: &OsStr, to: &Folder, to_name: &OsStr) -> io::Result<()> {
        fs::hard_link(self.0.join(from), to.0.join(to_name))
    }

    pub(super) fn rename(&self, from: &OsStr, to: &Folder, to_name: &OsStr) -> io::Result<()> {
        fs::rename(self.0.join(from), to.0.join(to_name))
    }

    pub(super) fn rename_new(&self, from: &OsStr, to: &Folder, to_name: &OsStr) -> io::Result<()> {
        match self.link(from, to, to_name) {
            Ok(()) => return self.remove_file(from),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Err(error),
            Err(_) => {}
        }
        match to.look(to_name)? {
            Some(_) => Err(io::ErrorKind::AlreadyExists.into()),
            None => self.rename(from, to, to_name),
        }
    }

    pub(super) fn remove_file(&self, name: &OsStr) -> io::Result<()> {
        fs::remove_file(self.0.join(name))
    }

    pub(super) fn create_dir(&self, name: &OsStr) -> io::Result<()> {
        fs::create_dir(self.0.join(name))
    }

    pub(super) fn remove_dir_all(&self, name: &OsStr) -> io::Result<()> {
        fs::remove_dir_all(self.0.join(name))
    }

    pub(super) fn names(&self) -> io::Result<Vec<OsString>> {
        let names = fs::read_dir(&self.0)?.map(|entry| Ok(entry?.file_name()));
        let mut names = names.collect::<io::Result<Vec<_>>>()?;
        names.sort();
        Ok(names)
    }

    /// Does nothing: NTFS keeps names in its journal, and a plain handle cannot flush a directory.
    pub(super) fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    pub(super) fn longest_name(&self) -> io::Result<usize> {
        Ok(255)
    }

    /// The standard library does not know.
    pub(super) fn free_bytes(&self) -> io::Result<Option<u64>> {
        Ok(None)
    }

    /// Does nothing: a directory inherits the rights of its parent.
    pub(super) fn set_rights(&self, _rights: &Rights) -> io::Result<()> {
        Ok(())
    }
}

fn found(found: io::Result<Metadata>) -> io::Result<Option<Looked>> {
    match found {
        Ok(found) => Ok(Some(looked(&found))),
        Err(error) if super::is_absence(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Uses the creation time, in units of 100 ns, as the inode number, because stable std has no file numbers.
fn looked(found: &Metadata) -> Looked {
    let kind = match found {
        found if found.is_file() => Kind::File,
        found if found.is_dir() => Kind::Directory,
        _ => Kind::Other,
    };
    let identity = Identity { device: 0, inode: found.creation_time(), links: 1 };
    Looked { kind, identity }
}

pub(super) fn look_at(file: &File) -> io::Result<Looked> {
    Ok(looked(&file.metadata()?))
}

/// A file inherits the rights of its directory.
pub(super) fn rights(_file: &File) -> io::Result<Option<Rights>> {
    Ok(None)
}

pub(super) fn set_rights(_file: &File, _rights: &Rights) -> io::Result<()> {
    Ok(())
}

/// Does nothing: a lock of the whole file, which is all that the standard library offers, keeps everyone from reading it.
pub(super) fn try_lock(_file: &File) -> io::Result<bool> {
    Ok(true)
}

pub(super) fn is_locked(_file: &File) -> io::Result<bool> {
    Err(io::ErrorKind::Unsupported.into())
}

pub(super) fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    file.seek_read(buffer, offset)
}

pub(super) fn write_all_at(file: &File, mut bytes: &[u8], mut offset: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        match file.seek_write(bytes, offset)? {
            0 => return Err(io::ErrorKind::WriteZero.into()),
            n => {
                bytes = &bytes[n..];
                offset += n as u64;
            }
        }
    }
    Ok(())
}
