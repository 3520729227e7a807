//! `ringer delete`: deletes keys.

use std::ffi::OsString;
use std::path::PathBuf;

use serde_json::json;

use crate::exit::{self, Failure};
use crate::open;
use crate::show::{self, Output, Style, count};

/// Delete keys in one commit.
///
/// Exits with status 1 if a key does not exist; the other keys are deleted all the same.
#[derive(clap::Args)]
pub(crate) struct Delete {
    /// The database file.
    #[arg(value_name = "DB")]
    path: PathBuf,
    /// The keys to delete.
    #[arg(value_name = "KEY", required = true)]
    keys: Vec<OsString>,
}

impl Delete {
    pub(crate) fn run(&self, style: Style) -> Result<(), Failure> {
        let db = open::to_write(&self.path, style)?;
        let snapshot = db.snapshot();
        let mut absent = Vec::new();
        let mut batch = db.batch();
        for key in self.keys.iter().map(|key| open::key(key)) {
            if !snapshot.contains(key)? {
                absent.push(key);
            }
            batch.delete(key)?;
        }
        let committed = db.commit(batch)?;
        drop(snapshot);
        db.close()?;
        if style.json {
            let mut out = Output::new();
            let absent: Vec<_> = absent.iter().map(|key| show::json_key(key)).collect();
            out.line(json!({ "deleted": committed.deleted, "absent": absent }))?;
            out.flush()?;
        } else if !style.quiet {
            exit::say(&format!("deleted {}", count(committed.deleted as u64, "set")));
        }
        for key in &absent {
            exit::say(&format!("error: no set is stored under the key `{}`", show::key(key)));
        }
        if absent.is_empty() { Ok(()) } else { Err(Failure::Findings) }
    }
}
