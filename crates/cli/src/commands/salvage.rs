//! `ringer salvage`: copies the readable rows of a damaged database.

use std::path::PathBuf;

use ringer::Database;
use serde_json::json;

use crate::exit::{self, Failure};
use crate::show::{self, Output, Style, count};
use crate::{interrupt, open, progress};

/// Copy every row with valid checksums from a damaged database into a new one.
///
/// The damaged database is not changed. Exits with status 1 if something could not be saved.
#[derive(clap::Args)]
pub(crate) struct Salvage {
    /// The damaged database.
    #[arg(value_name = "SRC")]
    source: PathBuf,
    /// The path of the new database. It must not exist.
    #[arg(value_name = "DST")]
    target: PathBuf,
}

impl Salvage {
    pub(crate) fn run(&self, style: Style) -> Result<(), Failure> {
        open::folder_of(&self.target)?;
        interrupt::end_at_once(
            "the damaged database is as it was; the new one is not complete and was not created",
        );
        // Rows are read and written twice, the second time from and to temporary files.
        let file = self.source.metadata().map_or(0, |found| found.len());
        let bar = progress::moved(style, "saving rows", 9 * file / 2);
        let report = Database::salvage(&self.source, &self.target, style.options());
        drop(bar);
        let report = report?;
        if style.json {
            let mut out = Output::new();
            out.line(json!({
                "sets": report.sets,
                "segments": report.segments,
                "segments_lost": report.segments_lost,
                "rows_without_signature": report.rows_without_signature,
                "rows_without_value": report.rows_without_value,
                "rows_without_key": report.rows_without_key,
                "commits_replayed": report.commits_replayed,
                "commits_lost": report.commits_lost.map(|(first, last)| [first, last]),
                "log_damage": report.log_damage,
                "bytes_unreadable": report.bytes_unreadable,
                "deletions_may_return": report.deletions_may_return,
            }))?;
            out.flush()?;
        } else if !style.quiet {
            exit::say(&format!(
                "saved {} from {}; lost {}, {} without a signature and {} without a key",
                count(report.sets, "set"),
                count(report.segments as u64, "readable segment"),
                count(report.segments_lost as u64, "whole segment"),
                count(report.rows_without_signature, "row"),
                count(report.rows_without_key, "row"),
            ));
            if report.rows_without_value > 0 {
                exit::say(&format!(
                    "warning: {} saved without a value, because it could not be read",
                    show::count_was(report.rows_without_value, "row"),
                ));
            }
            if report.bytes_unreadable > 0 {
                exit::say(&format!(
                    "warning: {} of the file could not be read from the disk",
                    count(report.bytes_unreadable, "byte"),
                ));
            }
            if let Some(damage) = &report.log_damage {
                let lost = match report.commits_lost {
                    Some((first, last)) => format!("commits {first} to {last} are lost"),
                    None => "the last commits may be lost".into(),
                };
                exit::say(&format!("warning: the log is damaged ({damage}): {lost}"));
            }
            if report.deletions_may_return {
                exit::say("warning: deleted rows may have reappeared");
            }
        }
        let lost = report.segments_lost as u64
            + report.rows_without_signature
            + report.rows_without_value
            + report.rows_without_key
            + report.bytes_unreadable
            + u64::from(report.log_damage.is_some())
            + u64::from(report.deletions_may_return);
        if lost == 0 { Ok(()) } else { Err(Failure::Findings) }
    }
}
