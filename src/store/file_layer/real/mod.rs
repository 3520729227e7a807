//! The operating system's files.
//!
//! In: paths and positions. Out: bytes, and the system's own errors, unchanged. It must not know what the
//! bytes mean, and it never waits: a FIFO or device at a path is refused, and a held lock is an answer.

#[cfg_attr(unix, path = "unix.rs")]
#[cfg_attr(windows, path = "windows.rs")]
mod system;
#[cfg(test)]
mod tests;

use std::fs::{self, Metadata, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf, absolute};
use std::sync::Arc;
use std::time::Duration;

use super::{Access, File, FileLayer, Identity, Kind, Lock};

/// How often a lock is tried again because its file was removed between opening and locking it. Each
/// time somebody else held the lock, so after so many the answer is that it is held.
const LOCK_ATTEMPTS: usize = 64;

/// The file system of this machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct RealFiles;

impl FileLayer for RealFiles {
    fn is_real(&self) -> bool {
        true
    }

    fn open(&self, path: &Path, access: Access) -> io::Result<Arc<dyn File>> {
        let mut options = OpenOptions::new();
        options.read(true).write(access != Access::Read);
        if access == Access::CreateNew {
            options.create_new(true);
        } else {
            // Opening a FIFO would wait for its other end.
            check_regular(&fs::metadata(path)?)?;
        }
        let file = options.open(path)?;
        // The name may have come to stand for something else since.
        check_regular(&file.metadata()?)?;
        Ok(Arc::new(RealFile(file)))
    }

    fn kind(&self, path: &Path) -> io::Result<Option<Kind>> {
        match fs::metadata(path) {
            Ok(found) => Ok(Some(kind_of(&found))),
            Err(error) if is_absence(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn canonical(&self, path: &Path) -> io::Result<PathBuf> {
        fs::canonicalize(path)
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::hard_link(from, to)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn create_dir(&self, path: &Path) -> io::Result<()> {
        fs::create_dir(path)
    }

    fn remove_dir_all(&self, path: &Path) -> io::Result<()> {
        fs::remove_dir_all(path)
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        // The parent of a bare file name is the empty path.
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        if !fs::metadata(path)?.is_dir() {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        system::sync_dir(path)
    }

    fn copy_permissions(&self, from: &Path, to: &Path) -> io::Result<()> {
        let allowed = fs::metadata(from)?.permissions();
        let is_folder = fs::metadata(to)?.is_dir();
        fs::set_permissions(to, if is_folder { system::of_folder(&allowed) } else { allowed })
    }

    fn is_locked(&self, path: &Path) -> io::Result<bool> {
        // Looked at first: opening a FIFO would wait for its other end. A link is no lock, as when it is taken.
        let opened = fs::symlink_metadata(path).and_then(|found| {
            check_regular(&found)?;
            fs::File::open(path)
        });
        let file = match opened {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            file => file?,
        };
        check_regular(&file.metadata()?)?;
        match file.try_lock_shared() {
            Ok(()) => Ok(false),
            Err(fs::TryLockError::WouldBlock) => Ok(true),
            Err(fs::TryLockError::Error(error)) => Err(error),
        }
    }

    fn try_lock(&self, path: &Path) -> io::Result<Option<Box<dyn Lock>>> {
        let path = absolute(path)?;
        let mut looks = 3;
        for _ in 0..LOCK_ATTEMPTS {
            match fs::symlink_metadata(&path) {
                Ok(found) => check_regular(&found)?,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
            let mut options = OpenOptions::new();
            let file = options.read(true).write(true).create(true).truncate(false).open(&path)?;
            check_regular(&file.metadata()?)?;
            match lock_opened(&path, file)? {
                Attempt::Taken(lock) => return Ok(Some(Box::new(lock))),
                // Perhaps only by somebody who asks whether it is held.
                Attempt::Held if looks > 0 => {
                    looks -= 1;
                    std::thread::sleep(Duration::from_millis(1));
                }
                Attempt::Held => return Ok(None),
                Attempt::Stale => {}
            }
        }
        Ok(None)
    }
}

/// An open file of the operating system.
#[derive(Debug)]
struct RealFile(fs::File);

impl File for RealFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        system::read_at(&self.0, buffer, offset)
    }

    fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        system::write_all_at(&self.0, bytes, offset)
    }

    fn sync(&self) -> io::Result<()> {
        // Flushes a changed length too: without it the data could not be read back.
        self.0.sync_data()
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        self.0.set_len(length)
    }

    fn length(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    fn identity(&self) -> io::Result<Identity> {
        Ok(system::identity(&self.0.metadata()?))
    }
}

/// A lock that this process holds until it is dropped.
#[derive(Debug)]
struct RealLock {
    path: PathBuf,
    file: fs::File,
}

impl Lock for RealLock {}

impl Drop for RealLock {
    fn drop(&mut self) {
        // Whoever replaced the file, against the rules, keeps theirs. A file that cannot be removed is
        // left: it stands for no lock once this one is freed.
        if stands_for(&self.path, &self.file).unwrap_or(false) {
            let _ = fs::remove_file(&self.path);
        }
        let _ = self.file.unlock();
    }
}

/// What came of trying to lock an open file.
#[derive(Debug)]
enum Attempt {
    Taken(RealLock),
    /// Somebody else holds it.
    Held,
    /// The file was removed since it was opened.
    Stale,
}

/// Locks a file that was opened by this name. The last holder removes the file before it frees the lock:
/// then this would be a lock on a file that nobody else will find.
fn lock_opened(path: &Path, file: fs::File) -> io::Result<Attempt> {
    match file.try_lock() {
        Ok(()) if stands_for(path, &file)? => {
            Ok(Attempt::Taken(RealLock { path: path.to_path_buf(), file }))
        }
        Ok(()) => Ok(Attempt::Stale),
        Err(TryLockError::WouldBlock) => Ok(Attempt::Held),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Whether the name still belongs to this open file.
fn stands_for(path: &Path, file: &fs::File) -> io::Result<bool> {
    let named = match fs::symlink_metadata(path) {
        Ok(named) => system::identity(&named),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    };
    let opened = system::identity(&file.metadata()?);
    Ok((named.device, named.inode) == (opened.device, opened.inode))
}

fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

fn kind_of(found: &Metadata) -> Kind {
    match found {
        found if found.is_file() => Kind::File,
        found if found.is_dir() => Kind::Directory,
        _ => Kind::Other,
    }
}

fn check_regular(found: &Metadata) -> io::Result<()> {
    match kind_of(found) {
        Kind::File => Ok(()),
        Kind::Directory => Err(io::ErrorKind::IsADirectory.into()),
        Kind::Other => Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file")),
    }
}
