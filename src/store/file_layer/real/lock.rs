//! The writer's lock: an advisory lock on an empty file beside the database (STEP-11).
//!
//! In: an open directory and a name. Out: the lock, or that somebody holds it. Never waits. A link, a directory
//! or a file with something in it is no lock, and is left as it is. A process forked from the holder shares the
//! lock's open file, so dropping it there must neither remove the file nor unlock it.

use std::ffi::{OsStr, OsString};
use std::fs::{File, TryLockError};
use std::io;
use std::sync::Arc;
use std::time::Duration;

use super::super::{Access, Lock, Rights};
use super::check_regular;
use super::system::{self, Folder};

/// How often a lock is tried again because its file was removed between opening and locking it. Each
/// time somebody else held the lock, so after so many the answer is that it is held.
const ATTEMPTS: usize = 64;

/// How often a lock is looked at again that is held, perhaps only by somebody who asks whether it is, or that
/// may not be opened, perhaps only because whoever makes it has not set its rights yet.
const LOOKS: usize = 3;

/// A lock that this process holds until it is dropped.
#[derive(Debug)]
pub(super) struct RealLock {
    folder: Arc<Folder>,
    name: OsString,
    file: File,
    process: u32,
}

impl Lock for RealLock {
    fn rights(&self) -> io::Result<Option<Rights>> {
        system::rights(&self.file)
    }
}

impl Drop for RealLock {
    fn drop(&mut self) {
        if self.process != std::process::id() {
            return;
        }
        // Whoever replaced the file, or wrote to it, against the rules, keeps theirs. A file that cannot be
        // removed is left: it stands for no lock once this one is freed.
        let ours = stands_for(&self.folder, &self.name, &self.file).unwrap_or(false);
        if ours && self.file.metadata().is_ok_and(|found| found.len() == 0) {
            let _ = self.folder.remove_file(&self.name);
        }
        let _ = self.file.unlock();
    }
}

/// What came of trying to lock an open file.
#[derive(Debug)]
pub(super) enum Attempt {
    Taken(RealLock),
    /// Somebody else holds it.
    Held,
    /// The file was removed since it was opened.
    Stale,
}

/// Whether somebody holds a lock. Makes no file.
pub(super) fn is_locked(folder: &Folder, name: &OsStr) -> io::Result<bool> {
    // Looked at first: opening a device may do something. A link is no lock, as when it is taken.
    let Some(found) = folder.look(name)? else { return Ok(false) };
    check_regular(found.kind)?;
    let file = match folder.open_file(name, Access::Read) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        file => file?,
    };
    check_regular(system::look_at(&file)?.kind)?;
    match file.try_lock_shared() {
        Ok(()) => Ok(false),
        Err(TryLockError::WouldBlock) => Ok(true),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Takes a lock.
pub(super) fn try_lock(
    folder: &Arc<Folder>,
    name: &OsStr,
    rights: Option<&Rights>,
) -> io::Result<Option<RealLock>> {
    let mut looks = LOOKS;
    let mut look_again = || {
        std::thread::sleep(Duration::from_millis(1));
        looks = looks.saturating_sub(1);
        looks > 0
    };
    for _ in 0..ATTEMPTS {
        let file = match open(folder, name, rights) {
            Ok(Some(file)) => file,
            Ok(None) => continue,
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied && look_again() => {
                continue;
            }
            Err(error) => return Err(error),
        };
        match lock_opened(folder, name, file)? {
            Attempt::Taken(lock) => return Ok(Some(lock)),
            Attempt::Held if look_again() => {}
            Attempt::Held => return Ok(None),
            Attempt::Stale => {}
        }
    }
    Ok(None)
}

/// Opens the file of a lock, or makes it; `None` if it came or went just now.
fn open(folder: &Folder, name: &OsStr, rights: Option<&Rights>) -> io::Result<Option<File>> {
    let Some(found) = folder.look(name)? else { return create(folder, name, rights) };
    check_regular(found.kind)?;
    let opened = match folder.open_file(name, Access::Write) {
        // To lock a file, reading it is enough.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            folder.open_file(name, Access::Read)
        }
        opened => opened,
    };
    let file = match opened {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file?,
    };
    check_regular(system::look_at(&file)?.kind)?;
    check_empty(&file)?;
    Ok(Some(file))
}

fn create(folder: &Folder, name: &OsStr, rights: Option<&Rights>) -> io::Result<Option<File>> {
    let made = match rights {
        Some(_) => folder.open_file(name, Access::CreateNew),
        None => folder.create_usual(name),
    };
    let file = match made {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(None),
        file => file?,
    };
    if let Some(rights) = rights
        && let Err(error) = system::set_rights(&file, rights)
    {
        // Nobody else may open it.
        let _ = folder.remove_file(name);
        return Err(error);
    }
    Ok(Some(file))
}

/// A lock holds nothing: a file with something in it is somebody's.
fn check_empty(file: &File) -> io::Result<()> {
    match file.metadata()?.len() {
        0 => Ok(()),
        _ => Err(io::ErrorKind::AlreadyExists.into()),
    }
}

/// Locks a file that was opened by this name. The last holder removes the file before it frees the lock:
/// then this would be a lock on a file that nobody else will find.
pub(super) fn lock_opened(folder: &Arc<Folder>, name: &OsStr, file: File) -> io::Result<Attempt> {
    match file.try_lock() {
        Ok(()) if stands_for(folder, name, &file)? => {
            let (folder, name) = (Arc::clone(folder), name.to_os_string());
            Ok(Attempt::Taken(RealLock { folder, name, file, process: std::process::id() }))
        }
        Ok(()) => Ok(Attempt::Stale),
        Err(TryLockError::WouldBlock) => Ok(Attempt::Held),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Whether the name still belongs to this open file.
fn stands_for(folder: &Folder, name: &OsStr, file: &File) -> io::Result<bool> {
    let Some(named) = folder.look(name)? else { return Ok(false) };
    Ok(named.identity.is_same(&system::look_at(file)?.identity))
}
