//! Opening databases, and saying what whoever asks ought to know about their state.

use std::ffi::OsStr;
use std::path::Path;

use ringer::scheme::{Features, Measure};
use ringer::{Database, OpenReport, Options, Reader, Scheme};
use serde_json::json;

use crate::exit::{self, Failure};
use crate::show::{self, Output, Style};

/// Opens a database for reading, and warns if commits are not seen that way.
pub(crate) fn to_read(path: &Path, style: Style) -> Result<Reader, Failure> {
    let reader = Database::open_read_only(path, Options::default())?;
    warn_of_unsealed(&reader, style)?;
    Ok(reader)
}

/// Warns if commits wait beside the file.
pub(crate) fn warn_of_unsealed(reader: &Reader, style: Style) -> Result<(), Failure> {
    let unsealed = reader.unsealed();
    if unsealed > 0 && style.json {
        let mut out = Output::new();
        out.line(json!({ "unsealed": unsealed }))?;
        out.flush()?;
    } else if unsealed > 0 {
        exit::say(&format!(
            "warning: {unsealed} commits wait beside the file and are not seen: they are after the \
             writer's next checkpoint or, if it was killed, after the next command that writes"
        ));
    }
    Ok(())
}

/// Refuses a new file in a folder that is not there, by the folder's name.
pub(crate) fn folder_of(path: &Path) -> Result<(), Failure> {
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => return Ok(()),
    };
    if folder.is_dir() {
        return Ok(());
    }
    let (path, folder) = (show::path(path), show::path(folder));
    Err(Failure::Io(format!("cannot make {path}: there is no folder {folder}")))
}

/// Opens a database for writing, and says what a crash had left.
pub(crate) fn to_write(path: &Path) -> Result<Database, Failure> {
    let db = Database::open(path, Options::default())?;
    tell(db.open_report());
    Ok(db)
}

fn tell(report: &OpenReport) {
    if report.clean {
        return;
    }
    let mut told = vec!["the last writer did not close the database".to_string()];
    if report.commits_replayed > 0 {
        told.push(format!("{} commits were taken from its hot tier", report.commits_replayed));
    }
    if report.bytes_cut > 0 {
        told.push(format!("{} bytes of an unfinished step were cut off", report.bytes_cut));
    }
    if report.superblock_repaired {
        told.push("a superblock was written again".into());
    }
    exit::say(&format!("note: {}", told.join("; ")));
}

/// Refuses weights where a database has no use for them.
pub(crate) fn check_weighted(scheme: &Scheme) -> Result<(), Failure> {
    if scheme.measure == Measure::Jaccard {
        let message =
            "--weighted: this database's sets have no weights; make one with --sampler weighted";
        return Err(Failure::Usage(message.into()));
    }
    match scheme.features {
        Features::Tokens | Features::Ids => Ok(()),
        features => Err(Failure::Usage(format!(
            "--weighted: elements with weights are tokens or ids, and this database has features {features}"
        ))),
    }
}

/// A key from the command line: its bytes.
pub(crate) fn key(argument: &OsStr) -> &[u8] {
    argument.as_encoded_bytes()
}
