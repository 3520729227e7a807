//! Creates a file that gets its name only when it is complete, and never replaces another (step `create`).
//!
//! In: a target path and the id of a database. Out: a file to write, and its durable name at the end. It must not
//! know what is written.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::companions::{self, Companion, Leftover, anchored, parent_of};
use super::file_layer::{Access, File, FileLayer, Lock, Rights};
use crate::error::{Error, Result};
use crate::format::DatabaseId;

/// A file that still has a temporary name.
#[derive(Debug)]
pub struct NewFile {
    layer: Arc<dyn FileLayer>,
    target: PathBuf,
    path: PathBuf,
    file: Arc<dyn File>,
    rights: Option<Rights>,
    /// The process that created it. A forked child must not remove the file.
    process: u32,
    /// The target's lock. While it is held, the temporary name belongs to this writer, and a file found there is a
    /// leftover.
    _lock: Box<dyn Lock>,
}

impl NewFile {
    /// Starts a file that will be named `target`. Fails if that name or one of its companions is taken, or if the
    /// name cannot be used (STEP-2). The file gets `rights`, or the system's default for new files, just before its
    /// name.
    pub fn create(
        layer: &Arc<dyn FileLayer>,
        target: &Path,
        database: DatabaseId,
        rights: Option<Rights>,
    ) -> Result<NewFile> {
        let layer = anchored(layer, target)?;
        companions::check_name(&*layer, target)?;
        check_free(&*layer, target)?;
        let lock_path = Companion::Lock.path(target);
        let lock = layer.try_lock(&lock_path, rights.as_ref());
        let lock = lock.map_err(|error| exists_or("lock", &lock_path, error))?;
        let Some(lock) = lock else { return Err(Error::Locked { path: target.into() }) };
        check_free(&*layer, target)?;
        let path = Companion::New.path(target);
        if companions::remove_leftover(&*layer, &path, None, None)? == Leftover::Theirs {
            return Err(Error::Exists { path });
        }
        let usual = lock.rights().map_err(|error| Error::io("look at", &lock_path, error))?;
        let file = layer.open(&path, Access::CreateNew);
        let file = file.map_err(|error| exists_or("create", &path, error))?;
        let (rights, process) = (rights.or(usual), std::process::id());
        let new =
            NewFile { layer, target: target.into(), path, file, rights, process, _lock: lock };
        companions::write_mark(new.file(), new.path(), database)?;
        Ok(new)
    }

    /// Returns the file system, with the file's directory kept open.
    pub fn layer(&self) -> &Arc<dyn FileLayer> {
        &self.layer
    }

    /// Returns the file.
    pub fn file(&self) -> &dyn File {
        &*self.file
    }

    /// Returns the temporary name.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Sets the rights and the final name of the file, which must be synced, and makes the name durable. Never
    /// replaces anything. On failure it frees the name again, as far as the disk allows.
    pub fn name(self) -> Result<()> {
        if let Some(rights) = &self.rights {
            let set = self.file.set_rights(rights);
            set.map_err(|error| Error::io("set the rights of", &self.path, error))?;
        }
        if !companions::has_name(&*self.layer, &self.path, self.file())? {
            return Err(Error::Replaced { path: self.path.clone() });
        }
        let renamed = self.layer.rename_new(&self.path, &self.target);
        renamed.map_err(|error| exists_or("name", &self.target, error))?;
        self.settle().inspect_err(|_| {
            drop(companions::remove_own(&*self.layer, &self.target, self.file()));
        })
    }

    /// Makes the name durable, and only then clears the temporary mark.
    fn settle(&self) -> Result<()> {
        let parent = parent_of(&self.target);
        self.layer.sync_dir(parent).map_err(|error| Error::io("sync", parent, error))?;
        companions::clear_mark(self.file(), &self.target)?;
        self.file.sync().map_err(|error| Error::io("sync", &self.target, error))
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        // After `name` the temporary name is already gone. After a failure it is removed here, if possible.
        if self.process == std::process::id() {
            let _ = companions::remove_own(&*self.layer, &self.path, self.file());
        }
    }
}

/// Maps an I/O error, reporting a taken name as `Exists`.
fn exists_or(operation: &'static str, path: &Path, error: io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::AlreadyExists => Error::Exists { path: path.into() },
        _ => Error::io(operation, path, error),
    }
}

fn check_free(layer: &dyn FileLayer, target: &Path) -> Result<()> {
    use Companion::{Log, LogCopy, NewLog, Vacuum};
    let beside = [Log, NewLog, LogCopy, Vacuum].map(|name| name.path(target));
    for path in std::iter::once(target.to_path_buf()).chain(beside) {
        let there = layer.kind(&path).map_err(|error| Error::io("look at", &path, error))?;
        if there.is_some() {
            return Err(Error::Exists { path });
        }
    }
    Ok(())
}
