//! A new file that gets its name only when it is complete, and never in place of another (step `create`).

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::file_layer::{Access, File, FileLayer};
use crate::error::{Error, Result};

/// A file under a temporary name.
#[derive(Debug)]
pub struct NewFile {
    layer: Arc<dyn FileLayer>,
    target: PathBuf,
    path: PathBuf,
    file: Arc<dyn File>,
}

impl NewFile {
    /// Starts a file that will be called `target`. Fails at once if anything has that name.
    pub fn create(layer: &Arc<dyn FileLayer>, target: &Path) -> Result<NewFile> {
        let there = layer.kind(target).map_err(|error| Error::io("look at", target, error))?;
        if there.is_some() {
            return Err(Error::Exists { path: target.into() });
        }
        for attempt in 0..100 {
            let path = temporary_name(target, attempt);
            match layer.open(&path, Access::CreateNew) {
                Ok(file) => {
                    let layer = Arc::clone(layer);
                    return Ok(NewFile { layer, target: target.into(), path, file });
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(Error::io("create", &path, error)),
            }
        }
        Err(Error::Exists { path: temporary_name(target, 99) })
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
    /// anything.
    pub fn name(self) -> Result<()> {
        match self.layer.link(&self.path, &self.target) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                return Err(Error::Exists { path: self.target.clone() });
            }
            linked => linked.map_err(|error| Error::io("name", &self.target, error))?,
        }
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

/// The directory that a file is in.
pub fn parent_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn temporary_name(target: &Path, attempt: u32) -> PathBuf {
    let mut name: OsString = target.as_os_str().to_owned();
    name.push(format!("-new{attempt}"));
    PathBuf::from(name)
}
