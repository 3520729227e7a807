//! Lists the files below the paths of the command line.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use ringer::is_companion;
use walkdir::{DirEntry, WalkDir};

use super::document::DocumentLimits;
use crate::exit::Failure;
use crate::interrupt;
use crate::problems::{Problem, Problems, Reason};
use crate::show;

/// The options for files and documents.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Walk {
    /// Follow symbolic links inside folders. Loops are detected and skipped.
    #[arg(long)]
    pub(crate) follow_links: bool,
    /// Stop at the first file or line that cannot be used, instead of skipping it.
    #[arg(long)]
    pub(crate) strict: bool,
    /// Skip documents whose normalised text is longer than BYTES [default: 268435456].
    #[arg(long, value_name = "BYTES")]
    pub(crate) max_text: Option<u64>,
    /// Skip documents with more than N features, including repeated ones [default: 67108864; unlimited for chunks of
    /// files].
    #[arg(long, value_name = "N")]
    pub(crate) max_features: Option<u64>,
}

impl Walk {
    /// The limits of one document.
    pub(crate) fn limits(&self) -> DocumentLimits {
        DocumentLimits { text: self.max_text, features: self.max_features }
    }
}

/// The files below some paths.
pub(crate) struct Files<'a> {
    pub(crate) paths: &'a [PathBuf],
    pub(crate) walk: &'a Walk,
    /// The database, which is not an input even if it is in one of the folders.
    pub(crate) database: Option<&'a Path>,
}

impl Files<'_> {
    /// All files, in order. A named path that does not exist is an error.
    pub(crate) fn find(&self, problems: &mut Problems) -> Result<Vec<PathBuf>, Failure> {
        let mut files = Vec::new();
        for root in self.paths {
            let unreadable =
                |what: &dyn std::fmt::Display| format!("cannot read {}: {what}", show::path(root));
            match root.metadata() {
                Err(error) => return Err(Failure::Io(unreadable(&error))),
                Ok(found) if !found.is_dir() && !found.is_file() => {
                    let message = unreadable(&"it is neither a file nor a folder");
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
                    // Links on the command line are followed. Links inside folders are followed only with --follow-links.
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

    /// The same, but a file that is reached by two paths is listed once.
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

/// The message about an entry of a folder that cannot be read.
fn walk_message(error: &walkdir::Error, root: &Path) -> String {
    let path = show::path(error.path().unwrap_or(root));
    match (error.io_error(), error.loop_ancestor()) {
        (_, Some(ancestor)) => {
            format!(
                "cannot read {path}: it is a link to its parent folder {}",
                show::path(ancestor)
            )
        }
        (Some(error), None) => format!("cannot read {path}: {error}"),
        (None, None) => format!("cannot read {path}"),
    }
}

/// Whether this is a symbolic link to a file, named on the command line.
fn is_named_file(entry: &DirEntry) -> bool {
    entry.depth() == 0 && entry.path().is_file()
}
