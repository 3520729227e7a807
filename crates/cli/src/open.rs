//! Opens databases, and tells the user about their state.

use std::ffi::OsStr;
use std::path::Path;

use ringer::scheme::{Features, Measure};
use ringer::{Database, Error, OpenReport, Options, Reader, Scheme};
use serde_json::json;

use crate::exit::{self, Failure};
use crate::show::{self, Output, Style};

/// Opens a database for reading. It shows every acknowledged commit.
pub(crate) fn to_read(path: &Path, style: Style) -> Result<Reader, Failure> {
    read_with(path, style, style.options())
}

/// The same for many queries: the cache holds the whole file, if there is enough memory.
pub(crate) fn to_read_much(path: &Path, style: Style) -> Result<Reader, Failure> {
    let mut options = style.options();
    if style.cache.is_none() {
        let file = path.metadata().map_or(0, |found| found.len());
        let most = free_memory().map_or(MOST_CACHE, |free| free / 2);
        options.cache_bytes = options.cache_bytes.max(file.min(most) as usize);
    }
    read_with(path, style, options)
}

/// The largest cache where the free memory is not known.
const MOST_CACHE: u64 = 1 << 30;

/// The memory that programs can use without others being swapped out, in bytes.
fn free_memory() -> Option<u64> {
    let known = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = known.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? << 10)
}

fn read_with(path: &Path, style: Style, options: Options) -> Result<Reader, Failure> {
    if style.verbose {
        exit::say(&format!(
            "opening {} to read it, with a cache of {}",
            show::path(path),
            show::bytes(options.cache_bytes as u64)
        ));
    }
    let reader = Database::open_read_only(path, options).map_err(|error| unopened(path, error))?;
    warn_of_hidden_commits(&reader, style)?;
    Ok(reader)
}

/// Warns about commits in a log of the kind sled, which a program may have chosen and readers cannot read.
pub(crate) fn warn_of_hidden_commits(reader: &Reader, style: Style) -> Result<(), Failure> {
    let hidden = reader.hidden_commits();
    if hidden > 0 && style.json {
        let mut out = Output::new();
        out.line(json!({ "unsealed": hidden }))?;
        out.flush()?;
    } else if hidden > 0 {
        exit::say(&format!(
            "warning: {} only in a log of the kind sled and not shown until the writer's next checkpoint or, if the writer was \
             killed, until the next command that writes",
            match hidden {
                1 => "1 commit is".to_string(),
                more => format!("{more} commits are"),
            }
        ));
    }
    Ok(())
}

/// Rejects a new file in a folder that does not exist, with the name of the folder.
pub(crate) fn folder_of(path: &Path) -> Result<(), Failure> {
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => return Ok(()),
    };
    if folder.is_dir() {
        return Ok(());
    }
    let (path, folder) = (show::path(path), show::path(folder));
    Err(Failure::Io(format!(
        "cannot create {path}: the folder {folder} does not exist; create it first"
    )))
}

/// Opens a database for writing, and reports what recovery did.
pub(crate) fn to_write(path: &Path, style: Style) -> Result<Database, Failure> {
    if style.verbose {
        exit::say(&format!("opening {} to change it", show::path(path)));
    }
    let db = Database::open(path, style.options()).map_err(|error| unopened(path, error))?;
    tell(db.open_report());
    Ok(db)
}

/// The error about a database that cannot be opened. It says what to do if the file does not exist.
pub(crate) fn unopened(path: &Path, error: Error) -> Failure {
    let shown = show::path(path);
    match &error {
        Error::Io { .. } if matches!(path.try_exists(), Ok(false)) => Failure::Io(format!(
            "there is no database {shown}: check the path, or create it with `ringer create {shown}`"
        )),
        _ => error.into(),
    }
}

/// Says what recovery did, if the last writer did not close the database.
pub(crate) fn tell(report: &OpenReport) {
    if report.clean {
        return;
    }
    let mut told = vec!["the last writer did not close the database".to_string()];
    if report.commits_replayed > 0 {
        told.push(format!(
            "{} recovered from its log",
            show::count_was(report.commits_replayed, "commit")
        ));
    }
    if report.bytes_cut > 0 {
        told.push(format!(
            "{} of an unfinished write removed",
            show::count_was(report.bytes_cut, "byte")
        ));
    }
    if report.superblock_repaired {
        told.push("a damaged superblock was restored".into());
    }
    exit::say(&format!("note: {}", told.join("; ")));
}

/// Rejects sets and documents for a database whose signatures another program's sketches made.
pub(crate) fn check_sketches(scheme: &Scheme) -> Result<(), Failure> {
    if scheme.is_foreign() { Err(Error::ForeignScheme.into()) } else { Ok(()) }
}

/// Rejects `--weighted` for a database whose sets have no weights.
pub(crate) fn check_weighted(scheme: &Scheme) -> Result<(), Failure> {
    if scheme.measure == Measure::Jaccard {
        let message = "--weighted: the sets of this database have no weights: leave out --weighted, or create a database \
             with --sampler weighted";
        return Err(Failure::Usage(message.into()));
    }
    match scheme.features {
        Features::Tokens | Features::Ids => Ok(()),
        features => Err(Failure::Usage(format!(
            "--weighted: only tokens and ids can have weights, and this database has the features {features}: \
             create one with --features tokens or --features ids"
        ))),
    }
}

/// Rejects a threshold that no similarity of this database can reach or miss.
pub(crate) fn check_min(option: &str, min: f64, scheme: &Scheme) -> Result<(), Failure> {
    let (name, least) = match scheme.measure {
        Measure::Cosine => ("cosine", -1.0),
        _ => ("resemblance", 0.0),
    };
    match (least..=1.0).contains(&min) {
        true => Ok(()),
        false => Err(Failure::Usage(format!(
            "{option} {min} is not a {name}: give a number from {least} to 1"
        ))),
    }
}

/// Rejects a text for a database of numbers, and says what the database is.
pub(crate) fn check_text(option: &str, scheme: &Scheme) -> Result<(), Failure> {
    match scheme.features {
        Features::Ids => Err(Failure::Usage(format!(
            "{option}: this database holds sets of numbers: ask with --set '1 2 3', or create a database of texts with \
             `ringer create`"
        ))),
        _ => Ok(()),
    }
}

/// The bytes of a key from the command line.
pub(crate) fn key(argument: &OsStr) -> &[u8] {
    argument.as_encoded_bytes()
}
