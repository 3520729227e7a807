//! `ringer repair`: rebuilds derived data.

use std::path::PathBuf;

use ringer::Database;
use serde_json::json;

use crate::exit::{self, Failure};
use crate::interrupt;
use crate::show::{Output, Style, count};

/// Rebuild damaged derived data.
///
/// This is the postings, the filters, the order of keys, and one superblock from the other. Drops no readable row. If rows themselves are damaged, the command fails; use `ringer salvage` then.
#[derive(clap::Args)]
pub(crate) struct Repair {
    /// The database file.
    #[arg(value_name = "DB")]
    path: PathBuf,
}

impl Repair {
    pub(crate) fn run(&self, style: Style) -> Result<(), Failure> {
        interrupt::end_at_once("no row is lost; run the same command again");
        let report = Database::repair(&self.path, &style.options())?;
        if style.json {
            let mut out = Output::new();
            out.line(json!({ "superblock": report.superblock, "segments": report.segments }))?;
            return out.flush();
        }
        if !style.quiet {
            let superblock = if report.superblock { "1 superblock and " } else { "" };
            let segments = count(report.segments.len() as u64, "segment");
            exit::say(&match (report.superblock, report.segments.len()) {
                (false, 0) => "nothing to repair".to_string(),
                _ => format!("rebuilt {superblock}{segments}"),
            });
        }
        Ok(())
    }
}
