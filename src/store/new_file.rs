//! A new file that gets its name only when it is complete, and never in place of another (step `create`).

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::file_layer::{Access, File, FileLayer, Kind, Lock};
use crate::error::{Error, Result};

/// A file under a temporary name.
#[derive(Debug)]
pub struct NewFile {
    layer: Arc<dyn FileLayer>,
    target: PathBuf,
    path: PathBuf,
    file: Arc<dyn File>,
    /// The lock of the target: so there is one temporary name, and what stands there is a remain.
    _lock: Box<dyn Lock>,
}

impl NewFile {
    /// Starts a file that will be called `target`. Fails at once if anything has that name, or if
    /// companions of another database stand there (STEP-2).
    pub fn create(layer: &Arc<dyn FileLayer>, target: &Path) -> Result<NewFile> {
        check_free(layer, target)?;
        let lock_path = beside(target, "-lock");
        let lock = layer.try_lock(&lock_path).map_err(|e| Error::io("lock", &lock_path, e))?;
        let Some(lock) = lock else { return Err(Error::Locked { path: target.into() }) };
        check_free(layer, target)?;
        let path = temporary_name(target);
        let there = layer.kind(&path).map_err(|error| Error::io("look at", &path, error))?;
        if there == Some(Kind::File) {
            layer.remove_file(&path).map_err(|error| Error::io("remove", &path, error))?;
        }
        let file = layer.open(&path, Access::CreateNew);
        let file = file.map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => Error::Exists { path: path.clone() },
            _ => Error::io("create", &path, error),
        })?;
        let layer = Arc::clone(layer);
        Ok(NewFile { layer, target: target.into(), path, file, _lock: lock })
    }

    /// The file.
    pub fn file(&self) -> &dyn File {
        &*self.file
    }

    /// Its temporary name.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Gives the file, which must be synced, its name, and makes the name durable. Never replaces
    /// anything. If it fails, the name is free again, as far as the disk lets it.
    pub fn name(self) -> Result<()> {
        match self.layer.link(&self.path, &self.target) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                return Err(Error::Exists { path: self.target.clone() });
            }
            linked => linked.map_err(|error| Error::io("name", &self.target, error))?,
        }
        // The lock is still held: what has the name is this file.
        self.settle().inspect_err(|_| drop(self.layer.remove_file(&self.target)))
    }

    /// Leaves the new name only, for good.
    fn settle(&self) -> Result<()> {
        let removed = self.layer.remove_file(&self.path);
        removed.map_err(|error| Error::io("remove", &self.path, error))?;
        let parent = parent_of(&self.target);
        self.layer.sync_dir(parent).map_err(|error| Error::io("sync", parent, error))
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        // After `name` it is gone already; after a failure it goes here if it can.
        let _ = self.layer.remove_file(&self.path);
    }
}

/// The name of a companion of a database.
pub fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

/// The directory that a file is in.
pub fn parent_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// What a file is called until it is complete. Whoever holds the lock of the target may remove it.
pub fn temporary_name(target: &Path) -> PathBuf {
    beside(target, "-new")
}

fn check_free(layer: &Arc<dyn FileLayer>, target: &Path) -> Result<()> {
    for name in ["", "-hot", "-vacuum"] {
        let path = beside(target, name);
        let there = layer.kind(&path).map_err(|error| Error::io("look at", &path, error))?;
        if there.is_some() {
            return Err(Error::Exists { path });
        }
    }
    Ok(())
}
