//! A copy of a folder's files, for a reader that would change them. Gone when it is dropped.
//!
//! In: a folder, and a name for the copy. Out: the copy. What the files are is not looked at; folders inside
//! are left out, and files that end in `.generating`: unfinished ones, of which sled could not read the rest.

use std::fs;
use std::path::{Path, PathBuf};

use super::super::at;
use crate::error::Result;

/// A folder that is removed when this is dropped.
#[derive(Debug)]
pub(super) struct Copied(PathBuf);

impl Copied {
    /// Copies the files (HOT-13). The name is ours: what an earlier copy left behind there is removed.
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

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

/// A folder that nobody else can look into.
fn private_dir(path: &Path) -> std::io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

impl Drop for Copied {
    fn drop(&mut self) {
        // What cannot be removed now is removed before the next copy is made.
        let _ = fs::remove_dir_all(&self.0);
    }
}
