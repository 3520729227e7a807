//! Which files are meant by some paths.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use ringer::is_companion;
use walkdir::{DirEntry, WalkDir};

use super::document::DocumentLimits;
use crate::exit::Failure;
use crate::interrupt;
use crate::problems::{Problem, Problems, Reason};
use crate::show;

/// Which files to take.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Walk {
    /// Follow symbolic links inside folders. Loops are found and left out.
    #[arg(long)]
    pub(crate) follow_links: bool,
    /// Stop at the first file or line that cannot be used, instead of leaving it out.
    #[arg(long)]
    pub(crate) strict: bool,
    /// Leave out documents whose text is longer than so many bytes after normalisation [default: 268435456].
    #[arg(long, value_name = "BYTES")]
    pub(crate) max_text: Option<u64>,
    /// Leave out documents of more than so many features, repeats counted [default: 67108864; of files that are cut
    /// into chunks, any number].
    #[arg(long, value_name = "N")]
    pub(crate) max_features: Option<u64>,
}

impl Walk {
    /// What one document may take.
    pub(crate) fn limits(&self) -> DocumentLimits {
        DocumentLimits { text: self.max_text, features: self.max_features }
    }
}

/// The files below some paths.
pub(crate) struct Files<'a> {
    pub(crate) paths: &'a [PathBuf],
    pub(crate) walk: &'a Walk,
    /// The database, which is no input even if it lies in a folder that is.
    pub(crate) database: Option<&'a Path>,
}

impl Files<'_> {
    /// All of them, in order. A path that was named and is not there is a mistake, not a file to leave out.
    pub(crate) fn find(&self, problems: &mut Problems) -> Result<Vec<PathBuf>, Failure> {
        let mut files = Vec::new();
        for root in self.paths {
            let unreadable =
                |what: &dyn std::fmt::Display| format!("cannot read {}: {what}", show::path(root));
            match root.metadata() {
                Err(error) => return Err(Failure::Io(unreadable(&error))),
                Ok(found) if !found.is_dir() && !found.is_file() => {
                    let message = unreadable(&"it is neither file nor folder");
                    problems.note(Problem::new(Reason::Unreadable, message))?;
                    continue;
                }
                Ok(_) => {}
            }
            let entries = WalkDir::new(root)
                .follow_links(self.walk.follow_links)
                .sort_by_file_name()
                .into_iter()
                .filter_entry(|entry| !self.is_database(entry));
            for entry in entries {
                if interrupt::asked() {
                    return Err(Failure::Interrupted);
                }
                match entry {
                    // What was named may be reached through a link; what was not, only if asked for.
                    Ok(entry) if entry.file_type().is_file() || is_named_file(&entry) => {
                        files.push(entry.into_path());
                    }
                    Ok(_) => {}
                    Err(error) => {
                        let message = walk_message(&error, root);
                        problems.note(Problem::new(Reason::Unreadable, message))?;
                    }
                }
            }
        }
        files.sort();
        files.dedup();
        Ok(files)
    }

    /// The same, where one file by two ways is one file.
    pub(crate) fn find_distinct(&self, problems: &mut Problems) -> Result<Vec<PathBuf>, Failure> {
        let mut files = self.find(problems)?;
        let mut seen = HashSet::new();
        files.retain(|file| seen.insert(file.canonicalize().unwrap_or_else(|_| file.clone())));
        Ok(files)
    }

    /// Whether this is the database or one of its companions.
    fn is_database(&self, entry: &DirEntry) -> bool {
        let Some(database) = self.database else { return false };
        let Some(name) = database.file_name() else { return false };
        let candidate = name == entry.file_name() || is_companion(name, entry.file_name());
        let parent = |path: &Path| path.canonicalize().ok()?.parent().map(Path::to_path_buf);
        candidate && parent(entry.path()).is_some() && parent(entry.path()) == parent(database)
    }
}

/// What is wrong with an entry of a folder.
fn walk_message(error: &walkdir::Error, root: &Path) -> String {
    let path = show::path(error.path().unwrap_or(root));
    match (error.io_error(), error.loop_ancestor()) {
        (_, Some(ancestor)) => {
            format!("cannot read {path}: it is a link to {} around it", show::path(ancestor))
        }
        (Some(error), None) => format!("cannot read {path}: {error}"),
        (None, None) => format!("cannot read {path}"),
    }
}

/// Whether this is a path of the command line that leads to a file through a symbolic link.
fn is_named_file(entry: &DirEntry) -> bool {
    entry.depth() == 0 && entry.path().is_file()
}
