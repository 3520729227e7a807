//! `ringer pack`: writes a compact copy.

use std::path::PathBuf;

use serde_json::json;

use crate::exit::{self, Failure};
use crate::show::{self, Output, Style};
use crate::{interrupt, open};

/// Write a compact copy of a database.
///
/// The copy has all commits, those in the write-ahead log included, in one segment and without dead bytes. The original
/// is not changed.
#[derive(clap::Args)]
pub(crate) struct Pack {
    /// The database file.
    #[arg(value_name = "DB")]
    path: PathBuf,
    /// The path of the copy. It must not exist.
    #[arg(value_name = "FILE")]
    target: PathBuf,
}

impl Pack {
    pub(crate) fn run(&self, style: Style) -> Result<(), Failure> {
        interrupt::end_at_once("the database is as it was; the copy was not created");
        let reader = open::to_read(&self.path, style)?;
        open::folder_of(&self.target)?;
        reader.pack(&self.target)?;
        let bytes = std::fs::metadata(&self.target).map_or(0, |found| found.len());
        if style.json {
            let mut out = Output::new();
            let target = show::json_key(self.target.as_os_str().as_encoded_bytes());
            out.line(json!({ "packed": target, "file_bytes": bytes }))?;
            return out.flush();
        }
        if !style.quiet {
            let target = show::path(&self.target);
            exit::say(&format!("wrote {target} ({})", show::bytes(bytes)));
        }
        Ok(())
    }
}
