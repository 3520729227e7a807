//! The operating system's files.
//!
//! In: paths and positions. Out: bytes, and the system's own errors, unchanged. It must not know what the bytes
//! mean. It never blocks: it rejects a FIFO or device, and reports a held lock.
//!
//! [`RealFiles`] takes any path, and follows a link to a database. If it is [`anchored`](FileLayer::anchored) to a
//! directory, it keeps that directory open, uses only names in or below it, and follows no link.

mod anchored;
mod lock;
#[cfg_attr(unix, path = "unix.rs")]
#[cfg_attr(windows, path = "windows.rs")]
mod system;
#[cfg(test)]
mod tests;

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{Access, File, FileLayer, Identity, Kind, Lock, Rights};
use anchored::AnchoredFiles;
use system::Folder;

/// The file system of this machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct RealFiles;

impl FileLayer for RealFiles {
    fn is_real(&self) -> bool {
        true
    }

    fn anchored(&self, folder: &Path) -> io::Result<Option<Arc<dyn FileLayer>>> {
        Ok(Some(Arc::new(AnchoredFiles::new(folder)?)))
    }

    fn open(&self, path: &Path, access: Access) -> io::Result<Arc<dyn File>> {
        let (folder, name) = place(path)?;
        if access == Access::CreateNew {
            return opened(folder.open_file(&name, access)?);
        }
        if let Some(found) = folder.look_through(&name)? {
            check_regular(found.kind)?;
        }
        opened(folder.open_followed(&name, access)?)
    }

    fn kind(&self, path: &Path) -> io::Result<Option<Kind>> {
        let found = place(path).and_then(|(folder, name)| folder.look_through(&name));
        kind_of(found.map(|found| found.map(|found| found.kind)))
    }

    fn canonical(&self, path: &Path) -> io::Result<PathBuf> {
        fs::canonicalize(path)
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        let ((from, name), (to, new_name)) = (place(from)?, place(to)?);
        from.link(&name, &to, &new_name)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let ((from, name), (to, new_name)) = (place(from)?, place(to)?);
        from.rename(&name, &to, &new_name)
    }

    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        let ((from, name), (to, new_name)) = (place(from)?, place(to)?);
        from.rename_new(&name, &to, &new_name)
    }

    fn identity(&self, path: &Path) -> io::Result<Option<Identity>> {
        let (folder, name) = place(path)?;
        Ok(folder.look(&name)?.map(|found| found.identity))
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        let (folder, name) = place(path)?;
        folder.remove_file(&name)
    }

    fn create_dir(&self, path: &Path) -> io::Result<()> {
        let (folder, name) = place(path)?;
        folder.create_dir(&name)
    }

    fn names(&self, path: &Path) -> io::Result<Vec<OsString>> {
        Folder::open(shown(path))?.names()
    }

    fn remove_dir_all(&self, path: &Path) -> io::Result<()> {
        let (folder, name) = place(path)?;
        folder.remove_dir_all(&name)
    }

    fn set_dir_rights(&self, path: &Path, rights: &Rights) -> io::Result<()> {
        let (folder, name) = place(path)?;
        folder.sub(&name)?.set_rights(rights)
    }

    fn longest_name(&self, folder: &Path) -> io::Result<usize> {
        Folder::open(shown(folder))?.longest_name()
    }

    fn free_bytes(&self, folder: &Path) -> io::Result<Option<u64>> {
        Folder::open(shown(folder))?.free_bytes()
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        Folder::open(shown(path))?.sync()
    }

    fn is_locked(&self, path: &Path) -> io::Result<bool> {
        let (folder, name) = place(path)?;
        lock::is_locked(&folder, &name)
    }

    fn try_lock(&self, path: &Path, rights: Option<&Rights>) -> io::Result<Option<Box<dyn Lock>>> {
        let (folder, name) = place(path)?;
        taken(lock::try_lock(&Arc::new(folder), &name, rights))
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
        // This also flushes a changed length, which is needed to read the data back.
        self.0.sync_data()
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        self.0.set_len(length)
    }

    fn length(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    fn identity(&self) -> io::Result<Identity> {
        Ok(system::look_at(&self.0)?.identity)
    }

    fn rights(&self) -> io::Result<Option<Rights>> {
        system::rights(&self.0)
    }

    fn set_rights(&self, rights: &Rights) -> io::Result<()> {
        system::set_rights(&self.0, rights)
    }

    fn try_lock(&self) -> io::Result<bool> {
        system::try_lock(&self.0)
    }

    fn unlock(&self) -> io::Result<()> {
        self.0.unlock()
    }

    fn is_locked(&self) -> io::Result<bool> {
        system::is_locked(&self.0)
    }
}

/// Opens the parent directory of a path, and returns it with the last name.
fn place(path: &Path) -> io::Result<(Folder, OsString)> {
    match path.file_name() {
        Some(name) => {
            Ok((Folder::open(shown(path.parent().unwrap_or(Path::new(""))))?, name.into()))
        }
        // The root, or a path that ends in `..`.
        None => Ok((Folder::open(shown(path))?, OsStr::new(".").into())),
    }
}

/// Replaces the empty path, the parent of a bare file name, by `.`.
fn shown(path: &Path) -> &Path {
    if path.as_os_str().is_empty() { Path::new(".") } else { path }
}

/// Wraps an open file. Checks its kind again, because the name may have been replaced since the first check.
fn opened(file: fs::File) -> io::Result<Arc<dyn File>> {
    check_regular(system::look_at(&file)?.kind)?;
    Ok(Arc::new(RealFile(file)))
}

fn taken(lock: io::Result<Option<lock::RealLock>>) -> io::Result<Option<Box<dyn Lock>>> {
    Ok(lock?.map(|lock| Box::new(lock) as Box<dyn Lock>))
}

fn kind_of(found: io::Result<Option<Kind>>) -> io::Result<Option<Kind>> {
    match found {
        Err(error) if is_absence(&error) => Ok(None),
        found => found,
    }
}

fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

fn check_regular(kind: Kind) -> io::Result<()> {
    match kind {
        Kind::File => Ok(()),
        Kind::Directory => Err(io::ErrorKind::IsADirectory.into()),
        Kind::Other => Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file")),
    }
}
