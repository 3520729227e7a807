//! Opens databases, and tells the user about their state.

use std::ffi::OsStr;
use std::path::Path;

use ringer::scheme::{Features, Measure};
use ringer::{Database, Error, OpenReport, Options, Reader, Scheme};
use serde_json::json;

use crate::exit::{self, Failure};
use crate::show::{self, Output, Style};

/// Opens a database for reading, and warns about commits that cannot be seen.
pub(crate) fn to_read(path: &Path, style: Style) -> Result<Reader, Failure> {
    let reader = Database::open_read_only(path, Options::default())
        .map_err(|error| unopened(path, error))?;
    warn_of_unsealed(&reader, style)?;
    Ok(reader)
}

/// Warns about commits that are only in the log, where a reader does not see them.
pub(crate) fn warn_of_unsealed(reader: &Reader, style: Style) -> Result<(), Failure> {
    let unsealed = reader.unsealed();
    if unsealed > 0 && style.json {
        let mut out = Output::new();
        out.line(json!({ "unsealed": unsealed }))?;
        out.flush()?;
    } else if unsealed > 0 {
        exit::say(&format!(
            "warning: {} only in the log and not shown until the writer's next checkpoint or, if the writer was killed, until \
             the next command that writes",
            match unsealed {
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
pub(crate) fn to_write(path: &Path) -> Result<Database, Failure> {
    let db = Database::open(path, Options::default()).map_err(|error| unopened(path, error))?;
    tell(db.open_report());
    Ok(db)
}

/// The error about a database that cannot be opened. It says what to do if the file does not exist.
fn unopened(path: &Path, error: Error) -> Failure {
    let shown = show::path(path);
    match &error {
        Error::Io { .. } if matches!(path.try_exists(), Ok(false)) => Failure::Io(format!(
            "there is no database {shown}: check the path, or create it with `ringer create {shown}`"
        )),
        _ => error.into(),
    }
}

fn tell(report: &OpenReport) {
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

/// The bytes of a key from the command line.
pub(crate) fn key(argument: &OsStr) -> &[u8] {
    argument.as_encoded_bytes()
}
