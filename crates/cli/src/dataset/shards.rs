//! Lists the files of a dataset, called shards.
//!
//! In: files, folders and patterns from the command line. Out: shards in order, each with its compression and its path below
//! the output folder.

use std::collections::HashMap;
use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use walkdir::WalkDir;

use crate::compression::Compression;
use crate::exit::Failure;
#[cfg(feature = "parquet")]
use crate::parquet;
#[cfg(feature = "parquet")]
use crate::problems::{Problem, Problems, Reason};
use crate::show;

/// The file format of a dataset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    Jsonl,
    Parquet,
}

impl Format {
    /// The endings of the files that are read from a folder.
    fn endings(self) -> &'static [&'static str] {
        match self {
            Format::Jsonl => &[".jsonl", ".jsonl.gz", ".jsonl.zst"],
            Format::Parquet => &[".parquet"],
        }
    }
}

/// One file of a dataset.
#[derive(Debug)]
pub(crate) struct Shard {
    /// The file to read.
    pub(crate) path: PathBuf,
    /// Its name in messages.
    pub(crate) name: String,
    /// Its name in the list of groups and in keys.
    pub(crate) file: String,
    /// Its path below the output folder.
    pub(crate) output: PathBuf,
    pub(crate) compression: Compression,
    stamp: Stamp,
}

/// Length and time of a file, to detect changes between two passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    length: u64,
    modified: Option<SystemTime>,
}

impl Stamp {
    fn of(found: &Metadata) -> Stamp {
        Stamp { length: found.len(), modified: found.modified().ok() }
    }
}

impl Shard {
    fn new(path: PathBuf, output: PathBuf) -> Result<Shard, Failure> {
        let name = show::path(&path);
        let found = fs::metadata(&path).map_err(|error| unreadable(&name, &error))?;
        if !found.is_file() {
            return Err(unreadable(&name, &"it is not a regular file"));
        }
        let (file, compression) =
            (path.to_string_lossy().into_owned(), Compression::of_name(&path));
        Ok(Shard { path, name, file, output, compression, stamp: Stamp::of(&found) })
    }

    /// Standard input, copied to a file that can be read twice.
    pub(crate) fn of_standard_input(copy: PathBuf) -> Result<Shard, Failure> {
        let shard = Shard::new(copy, PathBuf::from("stdin.jsonl"))?;
        let (name, file) = ("standard input".into(), "-".into());
        Ok(Shard { name, file, compression: Compression::None, ..shard })
    }

    /// Fails if the file has changed since it was listed.
    pub(crate) fn check_unchanged(&self) -> Result<(), Failure> {
        let found = fs::metadata(&self.path).map_err(|error| unreadable(&self.name, &error))?;
        if Stamp::of(&found) == self.stamp {
            return Ok(());
        }
        Err(changed(self))
    }

    /// The key of a row that has none of its own. Rows are numbered from 1.
    pub(crate) fn key_of_row(&self, number: u64) -> Vec<u8> {
        format!("{}:{number}", self.file).into_bytes()
    }

    /// The size of the file in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.stamp.length
    }
}

/// The error when a shard has changed during the run.
pub(crate) fn changed(shard: &Shard) -> Failure {
    Failure::Io(format!(
        "{} changed while it was being read: nothing was written; run the command again",
        shard.name
    ))
}

pub(crate) fn unreadable(name: &str, why: &dyn std::fmt::Display) -> Failure {
    Failure::Io(format!("cannot read {name}: {why}"))
}

/// Lists the shards. Of a folder, these are all files of the format, in the order of their names.
pub(crate) fn list(inputs: &[PathBuf], format: Format) -> Result<Vec<Shard>, Failure> {
    let mut shards = Vec::new();
    for input in inputs {
        let paths = expand(input)?;
        for path in paths {
            match path.is_dir() {
                true => list_folder(&path, format, &mut shards)?,
                false => {
                    let name = path.file_name().unwrap_or_default().into();
                    shards.push(Shard::new(path, name)?);
                }
            }
        }
    }
    check_names(&shards)?;
    Ok(shards)
}

/// The paths of an argument: the path itself, or the matches of a pattern that the shell did not expand.
fn expand(input: &Path) -> Result<Vec<PathBuf>, Failure> {
    let pattern = input.to_str().filter(|text| text.contains(['*', '?', '[']) && !input.exists());
    let Some(pattern) = pattern else { return Ok(vec![input.to_path_buf()]) };
    let refused = |why: &dyn std::fmt::Display| {
        Failure::Usage(format!("{pattern} is not a valid pattern: {why}"))
    };
    let mut paths = Vec::new();
    for path in glob::glob(pattern).map_err(|error| refused(&error))? {
        paths.push(path.map_err(|error| unreadable(&show::path(error.path()), &error.error()))?);
    }
    if paths.is_empty() {
        return Err(Failure::Io(format!("no file matches {pattern}")));
    }
    Ok(paths)
}

fn list_folder(folder: &Path, format: Format, shards: &mut Vec<Shard>) -> Result<(), Failure> {
    let before = shards.len();
    for entry in WalkDir::new(folder).sort_by_file_name() {
        let entry = entry
            .map_err(|error| unreadable(&show::path(error.path().unwrap_or(folder)), &error))?;
        let name = entry.file_name().to_string_lossy();
        if !entry.path().is_file() || !format.endings().iter().any(|end| name.ends_with(end)) {
            continue;
        }
        let output = entry.path().strip_prefix(folder).unwrap_or(entry.path()).to_path_buf();
        shards.push(Shard::new(entry.into_path(), output)?);
    }
    if shards.len() == before {
        let endings = format.endings().join(", ");
        return Err(Failure::Io(format!(
            "the folder {} has no files that end in {endings}",
            show::path(folder)
        )));
    }
    Ok(())
}

/// Fails if writing an output would replace a shard.
pub(crate) fn check_not_replaced(shards: &[Shard], output: &Path) -> Result<(), Failure> {
    let Ok(output) = fs::canonicalize(output) else { return Ok(()) };
    let inside =
        |shard: &&Shard| fs::canonicalize(&shard.path).is_ok_and(|path| path.starts_with(&output));
    match shards.iter().find(inside) {
        Some(shard) => Err(Failure::Usage(format!(
            "{} would replace the input {}: choose another name for the output",
            show::path(&output),
            shard.name
        ))),
        None => Ok(()),
    }
}

/// Fails if two shards would be written to one file.
fn check_names(shards: &[Shard]) -> Result<(), Failure> {
    let mut seen: HashMap<&Path, &Shard> = HashMap::new();
    for shard in shards {
        if let Some(other) = seen.insert(&shard.output, shard) {
            let same = fs::canonicalize(&other.path).ok() == fs::canonicalize(&shard.path).ok();
            return Err(Failure::Usage(match same {
                true => format!("{} is given twice: name it once", shard.name),
                false => format!(
                    "{} and {} would both be written to {}: rename one, or give the folder above them",
                    other.name,
                    shard.name,
                    show::path(&shard.output)
                ),
            }));
        }
    }
    Ok(())
}

/// Reads the schema of every Parquet file, and records those that differ from the first.
#[cfg(feature = "parquet")]
pub(crate) fn check_schemas(shards: &[Shard], problems: &mut Problems) -> Result<(), Failure> {
    let mut first = None;
    for shard in shards {
        let schema =
            parquet::guarded(|| parquet::open(&shard.path).map(|file| parquet::schema(&file)));
        let schema = schema.map_err(|error| unreadable(&shard.name, &error))?;
        let (other, name) = first.get_or_insert_with(|| (schema.clone(), &shard.name));
        if other.get_fields() != schema.get_fields() {
            let message = format!("{} has other columns than {name}", shard.name);
            problems.note_about(Problem::new(Reason::OtherSchema, message))?;
        }
    }
    Ok(())
}
