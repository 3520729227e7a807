//! `ringer delete`: deletes keys.

use std::ffi::OsString;
use std::path::PathBuf;

use serde_json::json;

use crate::exit::{self, Failure};
use crate::show::{self, Output, Style, count};
use crate::{interrupt, open};

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
        interrupt::listen("no key was deleted");
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
        if interrupt::requested() {
            drop(snapshot);
            db.close()?;
            return Err(Failure::Interrupted);
        }
        // A commit cannot stop in the middle. If the process ends now, all keys are deleted or none is.
        interrupt::now_safe(
            "the keys may be deleted, all or none; list them with `ringer keys`".into(),
        );
        let committed = db.commit(batch)?;
        drop(snapshot);
        interrupt::now_safe("the keys are deleted".into());
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
