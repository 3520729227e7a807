//! Lists the files below the paths of the command line.
//!
//! In: files, folders and lists of files. Out: paths in ascending order, without excluded ones, and without the database and
//! other output of this command.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use ignore::overrides::{Override, OverrideBuilder};
use ignore::{DirEntry, WalkBuilder};
use ringer::is_companion;

use super::document::DocumentLimits;
use crate::exit::Failure;
use crate::interrupt;
use crate::problems::{Problem, Problems, Reason};
use crate::show;
use crate::sources::path_of;

/// The options for files and documents.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Walk {
    /// Follow symbolic links inside folders. Loops are detected and skipped.
    #[arg(long, conflicts_with_all = ["jsonl", "parquet"])]
    pub(crate) follow_links: bool,
    /// Leave out files and folders that match this pattern, as in .gitignore: `*.log`, `build/`, `/drafts`. Can be repeated.
    #[arg(long, value_name = "GLOB", conflicts_with_all = ["jsonl", "parquet"])]
    pub(crate) exclude: Vec<String>,
    /// Leave out what .gitignore files exclude, and .git folders.
    #[arg(long, conflicts_with_all = ["jsonl", "parquet"])]
    pub(crate) gitignore: bool,
    /// Read more paths from this file, one per line or separated by zero bytes. `-` reads standard input.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["jsonl", "parquet"])]
    pub(crate) files_from: Option<PathBuf>,
    /// Stop at the first file or line that cannot be used, instead of skipping it.
    #[arg(long)]
    pub(crate) strict: bool,
    /// Skip texts with fewer than N words. Short texts, such as licence headers, resemble each other by chance.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) min_words: u64,
    /// Treat binary files as text. By default, files with a zero byte in their first 8 KiB are skipped.
    #[arg(long, short = 'a')]
    pub(crate) binary: bool,
    /// Skip documents whose normalised text is longer than SIZE, such as 512MiB [default: 256MiB; files of more than 64MiB
    /// are skipped as well, unless SIZE is larger]. A text and its features are held in memory, once for each thread: if memory
    /// is short, split large texts, or give --threads 1.
    #[arg(long, value_name = "SIZE", value_parser = show::parse_bytes)]
    pub(crate) max_text: Option<usize>,
    /// Skip documents with more than N features, including repeated ones [default: 67108864; unlimited for chunks of
    /// files].
    #[arg(long, value_name = "N")]
    pub(crate) max_features: Option<u64>,
}

impl Walk {
    /// The limits of one document.
    pub(crate) fn limits(&self) -> DocumentLimits {
        DocumentLimits {
            text: self.max_text.map(|bytes| bytes as u64),
            features: self.max_features,
            words: self.min_words,
            binary: self.binary,
        }
    }
}

/// The files below some paths.
pub(crate) struct Files<'a> {
    pub(crate) paths: &'a [PathBuf],
    pub(crate) walk: &'a Walk,
    /// The database, which is not an input even if it is in one of the folders.
    pub(crate) database: Option<&'a Path>,
    /// The page of `--report`, which is not an input either.
    pub(crate) report: Option<&'a Path>,
    /// The folder that files are moved to. It is not searched.
    pub(crate) target: Option<&'a Path>,
}

impl Files<'_> {
    /// All files, in order. A named path that does not exist is an error, and one of a list is a problem.
    pub(crate) fn find(&self, problems: &mut Problems) -> Result<Vec<PathBuf>, Failure> {
        let mut files = Vec::new();
        for root in self.paths {
            if let Err(error) = root.metadata() {
                return Err(Failure::Io(unreadable(root, &error)));
            }
            self.below(root, &mut files, problems)?;
        }
        for root in self.walk.files_from.as_deref().map_or(Ok(Vec::new()), listed)? {
            self.below(&root, &mut files, problems)?;
        }
        files.sort();
        files.dedup();
        Ok(files)
    }

    /// The same, but a file that is reached by two paths, or has two names (hard links), is listed once.
    pub(crate) fn find_distinct(&self, problems: &mut Problems) -> Result<Vec<PathBuf>, Failure> {
        let mut files = self.find(problems)?;
        let mut seen = HashSet::new();
        files.retain(|file| seen.insert(file_id(file)));
        Ok(files)
    }

    /// Adds the files below a path.
    fn below(
        &self,
        root: &Path,
        files: &mut Vec<PathBuf>,
        problems: &mut Problems,
    ) -> Result<(), Failure> {
        let problem = |message| Problem::new(Reason::Unreadable, message);
        match root.metadata() {
            Err(error) => return problems.note(problem(unreadable(root, &error))),
            Ok(found) if !found.is_dir() && !found.is_file() => {
                return problems
                    .note(problem(unreadable(root, &"it is neither a file nor a folder")));
            }
            Ok(_) => {}
        }
        let mut builder = WalkBuilder::new(root);
        builder.standard_filters(false).follow_links(self.walk.follow_links);
        builder.sort_by_file_name(Ord::cmp).overrides(self.excluded(root)?);
        if self.walk.gitignore {
            builder.git_ignore(true).git_exclude(true).parents(true).require_git(false);
        }
        let (database, outputs) =
            (self.database.map(Path::to_path_buf), [self.report, self.target]);
        let outputs: Vec<PathBuf> = outputs.into_iter().flatten().map(Path::to_path_buf).collect();
        builder.filter_entry(move |entry| {
            !is_database(entry, database.as_deref()) && !is_output(entry, &outputs)
        });
        for entry in builder.build() {
            if interrupt::requested() {
                return Err(Failure::Interrupted);
            }
            match entry {
                // Links on the command line are followed. Links inside folders are followed only with --follow-links.
                Ok(entry) if is_file(&entry) => files.push(entry.into_path()),
                Ok(_) => {}
                Err(error) => problems.note(problem(walk_message(&error, root)))?,
            }
        }
        Ok(())
    }

    /// The patterns of `--exclude`. Here a pattern with an exclamation mark excludes.
    fn excluded(&self, root: &Path) -> Result<Override, Failure> {
        let mut builder = OverrideBuilder::new(root);
        let refused = |pattern: &str, error: &ignore::Error| {
            let what = match error {
                // Without the pattern, which is changed before it is parsed.
                ignore::Error::Glob { err, .. } => err.clone(),
                other => other.to_string(),
            };
            Failure::Usage(format!("--exclude {pattern} is not a pattern: {what}"))
        };
        let git = self.walk.gitignore.then_some(".git/");
        for pattern in self.walk.exclude.iter().map(String::as_str).chain(git) {
            builder.add(&format!("!{pattern}")).map_err(|error| refused(pattern, &error))?;
        }
        builder.build().map_err(|error| refused("", &error))
    }
}

fn unreadable(path: &Path, what: &dyn std::fmt::Display) -> String {
    format!("cannot read {}: {what}", show::path(path))
}

/// The paths of a list.
fn listed(list: &Path) -> Result<Vec<PathBuf>, Failure> {
    let mut text = Vec::new();
    let read = match list == Path::new("-") {
        true => io::stdin().read_to_end(&mut text),
        false => File::open(list).and_then(|mut file| file.read_to_end(&mut text)),
    };
    read.map_err(|error| Failure::Io(unreadable(list, &error)))?;
    let end = if text.contains(&0) { 0 } else { b'\n' };
    let lines =
        text.split(|byte| *byte == end).map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    Ok(lines.filter(|line| !line.is_empty()).map(|line| path_of(line).to_path_buf()).collect())
}

/// Whether this is a regular file, or a link to one that the command line names.
fn is_file(entry: &DirEntry) -> bool {
    entry.file_type().is_some_and(|kind| kind.is_file())
        || (entry.depth() == 0 && entry.path().is_file())
}

/// Whether this is output of an earlier run: the page of `--report`, or the folder of `--move`.
fn is_output(entry: &DirEntry, outputs: &[PathBuf]) -> bool {
    let same = |output: &PathBuf| match output.canonicalize() {
        Ok(output) => entry.path().canonicalize().is_ok_and(|path| path == output),
        Err(_) => false,
    };
    let named = |output: &&PathBuf| output.file_name() == Some(entry.file_name());
    entry.depth() > 0 && outputs.iter().filter(named).any(same)
}

/// Whether this is the database or one of its companions.
fn is_database(entry: &DirEntry, database: Option<&Path>) -> bool {
    let Some(database) = database else { return false };
    let Some(name) = database.file_name() else { return false };
    let candidate = name == entry.file_name() || is_companion(name, entry.file_name());
    let parent = |path: &Path| path.canonicalize().ok()?.parent().map(Path::to_path_buf);
    candidate && parent(entry.path()).is_some() && parent(entry.path()) == parent(database)
}

/// The device and the number of a file, or its path if they are not known.
fn file_id(file: &Path) -> (u64, u64, PathBuf) {
    #[cfg(unix)]
    if let Ok(found) = file.metadata() {
        use std::os::unix::fs::MetadataExt;
        return (found.dev(), found.ino(), PathBuf::new());
    }
    (0, 0, file.canonicalize().unwrap_or_else(|_| file.into()))
}

/// The message about an entry of a folder that cannot be read.
fn walk_message(error: &ignore::Error, root: &Path) -> String {
    match error {
        ignore::Error::Loop { ancestor, child } => {
            let folder = show::path(ancestor);
            unreadable(child, &format!("it is a link to its parent folder {folder}"))
        }
        ignore::Error::WithPath { path, err } => walk_message(err, path),
        ignore::Error::WithDepth { err, .. } => walk_message(err, root),
        ignore::Error::Io(error) => unreadable(root, &io_message(error)),
        other => unreadable(root, other),
    }
}

/// The message of the system, without the path that the walk has put before it.
fn io_message(error: &io::Error) -> String {
    let cause = std::error::Error::source(error).or(error.get_ref().map(|inner| inner as _));
    let cause = cause.and_then(|inner: &(dyn std::error::Error + 'static)| inner.source());
    cause.map_or_else(|| error.to_string(), ToString::to_string)
}
