//! `ringer repair`: derived data anew.

use std::path::PathBuf;

use ringer::{Database, Options};
use serde_json::json;

use crate::exit::{self, Failure};
use crate::show::{Output, Style, count};

/// Make derived data anew: postings, filters, the order of keys, a superblock from its twin.
///
/// Drops no readable row. If rows themselves are damaged it refuses, and `ringer salvage` is what is left.
#[derive(clap::Args)]
pub(crate) struct Repair {
    /// The database.
    #[arg(value_name = "DB")]
    path: PathBuf,
}

impl Repair {
    pub(crate) fn run(&self, style: Style) -> Result<(), Failure> {
        let report = Database::repair(&self.path, &Options::default())?;
        if style.json {
            let mut out = Output::new();
            out.line(json!({ "superblock": report.superblock, "segments": report.segments }))?;
            return out.flush();
        }
        if !style.quiet {
            let superblock = if report.superblock { "a superblock and " } else { "" };
            let segments = count(report.segments.len() as u64, "segment");
            exit::say(&match (report.superblock, report.segments.len()) {
                (false, 0) => "there was nothing to repair".to_string(),
                _ => format!("made anew: {superblock}{segments}"),
            });
        }
        Ok(())
    }
}
