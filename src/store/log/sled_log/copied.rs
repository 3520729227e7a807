//! A copy of a directory's files, for a reader that would change the originals. Dropping it removes the copy.
//!
//! In: a directory, and a name for the copy. Out: the copy. It must not know what the files contain. It leaves out
//! subdirectories, and files that end in `.generating`: those are unfinished, and sled could not read past them.

use std::fs;
use std::path::{Path, PathBuf};

use super::super::at;
use crate::error::Result;

/// A directory that is removed on drop.
#[derive(Debug)]
pub(super) struct Copied(PathBuf);

impl Copied {
    /// Copies the files (LOG-13). The name is ours, so an earlier copy found there is removed.
    pub(super) fn of(folder: &Path, copy: PathBuf) -> Result<Copied> {
        if copy.exists() {
            at(&copy, "remove", fs::remove_dir_all(&copy))?;
        }
        at(&copy, "create", private_dir(&copy))?;
        let copied = Copied(copy);
        for entry in at(folder, "read", fs::read_dir(folder))? {
            let entry = at(folder, "read", entry)?;
            let name = entry.file_name();
            let unfinished = name.to_string_lossy().ends_with(".generating");
            if !unfinished && at(folder, "look at", entry.file_type())?.is_file() {
                let to = copied.path().join(name);
                at(&entry.path(), "copy", fs::copy(entry.path(), to))?;
            }
        }
        Ok(copied)
    }

    /// Returns the path of the copy.
    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

/// Creates a directory that only its owner can access.
fn private_dir(path: &Path) -> std::io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

impl Drop for Copied {
    fn drop(&mut self) {
        // If this fails, the next replay removes it.
        let _ = fs::remove_dir_all(&self.0);
    }
}
