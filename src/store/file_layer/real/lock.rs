//! The writer lock: an advisory lock on an empty file beside the database (STEP-11).
//!
//! In: an open directory and a name. Out: the lock, or that somebody holds it. It never waits for the holder.
//!
//! A link, a directory, or a file that is not empty is not a lock, and is left alone. A process forked from the
//! holder shares the open lock file, so dropping the lock there must neither remove the file nor release the lock.

use std::ffi::{OsStr, OsString};
use std::fs::{File, TryLockError};
use std::io;
use std::sync::Arc;
use std::time::Duration;

use super::super::{Access, Lock, Rights};
use super::check_regular;
use super::system::{self, Folder};

/// How often to try again because the file was removed between opening and locking it. Each removal means that
/// somebody else held the lock. After this many, the lock counts as held.
const ATTEMPTS: usize = 64;

/// How often to try again because the lock is held, or because its file cannot be opened. The holder may only be
/// checking the lock. The creator may not have set its rights yet.
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
        // If somebody replaced the file or wrote to it, it is theirs and stays. A file that cannot be removed does
        // no harm: once it is unlocked, it is free to take.
        let ours = stands_for(&self.folder, &self.name, &self.file).unwrap_or(false);
        if ours && self.file.metadata().is_ok_and(|found| found.len() == 0) {
            let _ = self.folder.remove_file(&self.name);
        }
        let _ = self.file.unlock();
    }
}

/// The result of an attempt to lock an open file.
#[derive(Debug)]
pub(super) enum Attempt {
    Taken(RealLock),
    /// Somebody else holds it.
    Held,
    /// The file was removed after it was opened.
    Stale,
}

/// Whether somebody holds a lock. Creates no file.
pub(super) fn is_locked(folder: &Folder, name: &OsStr) -> io::Result<bool> {
    // Check the kind first, because opening a device may have side effects. A link is not a lock.
    let Some(found) = folder.look(name)? else { return Ok(false) };
    check_regular(found.kind)?;
    let file = match folder.open_file(name, Access::Read) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        file => file?,
    };
    check_regular(system::look_at(&file)?.kind)?;
    is_held(&file)
}

/// Whether another open file holds the lock of this one.
pub(super) fn is_held(file: &File) -> io::Result<bool> {
    match file.try_lock_shared() {
        // Unlocked here, because a process that was forked meanwhile would keep it locked.
        Ok(()) => file.unlock().map(|()| false),
        Err(TryLockError::WouldBlock) => Ok(true),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Takes a lock, or returns `None` if it is held.
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

/// Opens or creates a lock file. Returns `None` if it was created or removed at the same time.
fn open(folder: &Folder, name: &OsStr, rights: Option<&Rights>) -> io::Result<Option<File>> {
    let Some(found) = folder.look(name)? else { return create(folder, name, rights) };
    check_regular(found.kind)?;
    let opened = match folder.open_file(name, Access::Write) {
        // Read access is enough to lock a file.
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
        // Without its rights, nobody else could open it.
        let _ = folder.remove_file(name);
        return Err(error);
    }
    Ok(Some(file))
}

/// Fails if a lock file is not empty, because it then belongs to somebody else.
fn check_empty(file: &File) -> io::Result<()> {
    match file.metadata()?.len() {
        0 => Ok(()),
        _ => Err(io::ErrorKind::AlreadyExists.into()),
    }
}

/// Locks a file that was opened under this name. The last holder removes the file before it releases the lock. In
/// that case the lock is on a file that nobody else can find, so it is stale.
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

/// Whether the name still refers to this open file.
fn stands_for(folder: &Folder, name: &OsStr, file: &File) -> io::Result<bool> {
    let Some(named) = folder.look(name)? else { return Ok(false) };
    Ok(named.identity.is_same(&system::look_at(file)?.identity))
}
