//! An open directory on Unix, and the names in it.
//!
//! In: names without a slash. Out: open files, and the system's own errors. Every call is relative to the open
//! directory. So moving or replacing a directory above it changes nothing. New files are created with `O_EXCL` and
//! mode 0600. Only [`Folder::open_followed`] and [`Folder::look_through`] follow links.

use std::ffi::{OsStr, OsString};
use std::fs::{File, TryLockError};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

use rustix::fs::{self, AtFlags, FileType, Mode, OFlags, Stat};

use super::super::{Access, Identity, Kind, Rights};

/// An open directory.
#[derive(Debug)]
pub(super) struct Folder(OwnedFd);

/// What was found under a name.
#[derive(Debug, Clone, Copy)]
pub(super) struct Looked {
    pub(super) kind: Kind,
    pub(super) identity: Identity,
}

/// Opens a directory with no more than search permission, which using its names needs anyway.
#[cfg(any(target_os = "linux", target_os = "android"))]
const SEARCH: OFlags = OFlags::PATH;
#[cfg(not(any(target_os = "linux", target_os = "android")))]
const SEARCH: OFlags = OFlags::RDONLY;

/// `O_NONBLOCK` has no effect on a regular file. Without it, opening a FIFO would block.
const PLAIN: OFlags = OFlags::CLOEXEC.union(OFlags::NONBLOCK).union(OFlags::NOCTTY);

/// The modes of new files and directories, until their rights are set.
const OWNER_FILE: Mode = Mode::from_raw_mode(0o600);
const OWNER_FOLDER: Mode = Mode::from_raw_mode(0o700);

impl Folder {
    /// Opens a directory by its path. Follows links on the way.
    pub(super) fn open(path: &Path) -> io::Result<Folder> {
        let flags = SEARCH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Folder(fs::open(path, flags, Mode::empty())?))
    }

    /// Opens a subdirectory.
    pub(super) fn sub(&self, name: &OsStr) -> io::Result<Folder> {
        let flags = SEARCH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(Folder(fs::openat(&self.0, name, flags, Mode::empty())?))
    }

    /// Returns what has a name, if anything.
    pub(super) fn look(&self, name: &OsStr) -> io::Result<Option<Looked>> {
        self.look_with(name, AtFlags::SYMLINK_NOFOLLOW)
    }

    /// Like [`look`](Folder::look), but follows a link.
    pub(super) fn look_through(&self, name: &OsStr) -> io::Result<Option<Looked>> {
        self.look_with(name, AtFlags::empty())
    }

    fn look_with(&self, name: &OsStr, flags: AtFlags) -> io::Result<Option<Looked>> {
        match fs::statat(&self.0, name, flags).map_err(io::Error::from) {
            Ok(found) => Ok(Some(looked(&found))),
            Err(error) if super::is_absence(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Opens a file. The caller checks the kind before and after opening.
    pub(super) fn open_file(&self, name: &OsStr, access: Access) -> io::Result<File> {
        let flags = match access {
            Access::Read => OFlags::RDONLY,
            Access::Write => OFlags::RDWR,
            Access::CreateNew => OFlags::RDWR | OFlags::CREATE | OFlags::EXCL,
        };
        Ok(fs::openat(&self.0, name, flags | OFlags::NOFOLLOW | PLAIN, OWNER_FILE)?.into())
    }

    /// Opens an existing file, and follows a link.
    pub(super) fn open_followed(&self, name: &OsStr, access: Access) -> io::Result<File> {
        let flags = if access == Access::Read { OFlags::RDONLY } else { OFlags::RDWR };
        Ok(fs::openat(&self.0, name, flags | PLAIN, Mode::empty())?.into())
    }

    /// Creates a file with the system's default rights.
    pub(super) fn create_usual(&self, name: &OsStr) -> io::Result<File> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | PLAIN;
        Ok(fs::openat(&self.0, name, flags, Mode::from_raw_mode(0o666))?.into())
    }

    pub(super) fn link(&self, from: &OsStr, to: &Folder, to_name: &OsStr) -> io::Result<()> {
        Ok(fs::linkat(&self.0, from, &to.0, to_name, AtFlags::empty())?)
    }

    pub(super) fn rename(&self, from: &OsStr, to: &Folder, to_name: &OsStr) -> io::Result<()> {
        Ok(fs::renameat(&self.0, from, &to.0, to_name)?)
    }

    /// Renames without replacing anything. Not all file systems support that in one call. A hard link and a removal
    /// do it in two, but not all file systems have hard links. The last resort is to check the name first.
    pub(super) fn rename_new(&self, from: &OsStr, to: &Folder, to_name: &OsStr) -> io::Result<()> {
        #[cfg(any(target_vendor = "apple", target_os = "linux", target_os = "android"))]
        {
            use rustix::fs::RenameFlags;
            let renamed = fs::renameat_with(&self.0, from, &to.0, to_name, RenameFlags::NOREPLACE);
            match renamed.map_err(io::Error::from) {
                Err(error) if !is_final(&error) => {}
                renamed => return renamed,
            }
        }
        match self.link(from, to, to_name) {
            Ok(()) => return self.remove_file(from),
            Err(error) if is_final(&error) => return Err(error),
            Err(_) => {}
        }
        match to.look(to_name)? {
            Some(_) => Err(io::ErrorKind::AlreadyExists.into()),
            None => self.rename(from, to, to_name),
        }
    }

    pub(super) fn remove_file(&self, name: &OsStr) -> io::Result<()> {
        Ok(fs::unlinkat(&self.0, name, AtFlags::empty())?)
    }

    pub(super) fn create_dir(&self, name: &OsStr) -> io::Result<()> {
        Ok(fs::mkdirat(&self.0, name, OWNER_FOLDER)?)
    }

    pub(super) fn remove_dir_all(&self, name: &OsStr) -> io::Result<()> {
        let inner = self.sub(name)?;
        for entry in inner.names()? {
            match inner.look(&entry)? {
                Some(found) if found.kind == Kind::Directory => inner.remove_dir_all(&entry)?,
                _ => inner.remove_file(&entry)?,
            }
        }
        Ok(fs::unlinkat(&self.0, name, AtFlags::REMOVEDIR)?)
    }

    pub(super) fn names(&self) -> io::Result<Vec<OsString>> {
        let mut names = Vec::new();
        for entry in fs::Dir::new(self.readable()?)? {
            let name = OsStr::from_bytes(entry?.file_name().to_bytes()).to_os_string();
            if name != "." && name != ".." {
                names.push(name);
            }
        }
        names.sort();
        Ok(names)
    }

    pub(super) fn sync(&self) -> io::Result<()> {
        Ok(fs::fsync(self.readable()?)?)
    }

    pub(super) fn longest_name(&self) -> io::Result<usize> {
        let limit = fs::fstatvfs(&self.0)?.f_namemax;
        Ok(usize::try_from(limit).ok().filter(|limit| *limit > 0).unwrap_or(255))
    }

    /// Returns the bytes that this user may still write on the device. Some file systems do not count blocks.
    pub(super) fn free_bytes(&self) -> io::Result<Option<u64>> {
        let found = fs::fstatvfs(&self.0)?;
        Ok((found.f_blocks > 0).then(|| found.f_bavail.saturating_mul(found.f_frsize)))
    }

    /// Sets the rights of a directory from those of a file in it: whoever may read the file may list the directory,
    /// and its owner always may. Fails unless this process has just created the directory.
    pub(super) fn set_rights(&self, rights: &Rights) -> io::Result<()> {
        let folder = self.readable()?;
        let found = fs::fstat(&folder)?;
        let own = found.st_uid == rustix::process::geteuid().as_raw();
        if !own || found.st_mode & 0o077 != 0 {
            let cause =
                "somebody else put a directory there: look who may write to the one above it";
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, cause));
        }
        let mode = rights.mode & 0o666;
        let mode = mode | (mode & 0o444) >> 2 | 0o700;
        set_rights(&folder, &Rights { mode, ..*rights })
    }

    /// Reopens the directory for reading, where search permission is not enough.
    fn readable(&self) -> io::Result<OwnedFd> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(fs::openat(&self.0, ".", flags, Mode::empty())?)
    }
}

/// Whether another way to rename would fail too.
fn is_final(error: &io::Error) -> bool {
    use io::ErrorKind::{AlreadyExists, NotFound, StorageFull};
    matches!(error.kind(), AlreadyExists | NotFound | StorageFull)
}

fn looked(found: &Stat) -> Looked {
    let kind = match FileType::from_raw_mode(found.st_mode) {
        FileType::RegularFile => Kind::File,
        FileType::Directory => Kind::Directory,
        _ => Kind::Other,
    };
    #[allow(
        clippy::cast_lossless,
        clippy::unnecessary_cast,
        clippy::useless_conversion,
        reason = "the fields have other widths on other systems"
    )]
    let identity = Identity {
        device: found.st_dev as u64,
        inode: found.st_ino as u64,
        links: found.st_nlink as u64,
    };
    Looked { kind, identity }
}

pub(super) fn look_at(file: &File) -> io::Result<Looked> {
    Ok(looked(&fs::fstat(file)?))
}

pub(super) fn rights(file: &File) -> io::Result<Option<Rights>> {
    let found = file.metadata()?;
    let mode = found.mode() & 0o777;
    Ok(Some(Rights { mode, owner: Some(found.uid()), group: found.gid() }))
}

/// Sets group, then mode, then owner. In this order, nobody without the rights can use the file at any time.
pub(super) fn set_rights(file: impl rustix::fd::AsFd, rights: &Rights) -> io::Result<()> {
    let (found, mut mode) = (fs::fstat(&file)?, rights.mode & 0o777);
    let refused = |error: rustix::io::Errno| {
        let kind = io::Error::from(error).kind();
        matches!(kind, io::ErrorKind::PermissionDenied | io::ErrorKind::Unsupported)
            || kind == io::ErrorKind::InvalidInput
    };
    if found.st_gid != rights.group {
        let group = Some(rustix::fs::Gid::from_raw(rights.group));
        match fs::fchown(&file, None, group) {
            // The file keeps another group. To the database its members are others, so they get only the rights of
            // others.
            Err(error) if refused(error) => mode &= 0o707 | (mode & 0o007) << 3,
            other => other?,
        }
    }
    #[allow(clippy::useless_conversion, reason = "modes have other widths on other systems")]
    let mode = Mode::from_raw_mode(mode.try_into().unwrap_or(0o600));
    match fs::fchmod(&file, mode) {
        // The file system has no modes.
        Err(error) if refused(error) => {}
        other => other?,
    }
    match rights.owner {
        Some(owner) if owner != found.st_uid => {
            match fs::fchown(&file, Some(rustix::fs::Uid::from_raw(owner)), None) {
                Err(error) if refused(error) => Ok(()),
                other => Ok(other?),
            }
        }
        _ => Ok(()),
    }
}

/// Takes the advisory lock of a file.
pub(super) fn try_lock(file: &File) -> io::Result<bool> {
    match file.try_lock() {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

pub(super) fn is_locked(file: &File) -> io::Result<bool> {
    super::lock::is_held(file)
}

pub(super) fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    file.read_at(buffer, offset)
}

pub(super) fn write_all_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
    file.write_all_at(bytes, offset)
}
