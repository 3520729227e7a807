//! `ringer check`: looks for damage in a database.

use std::path::PathBuf;

use ringer::{CheckReport, Database, Depth, Error, Options};
use serde_json::json;

use crate::exit::{self, Failure};
use crate::show::{self, Output, Style, count};
use crate::{interrupt, open, progress};

/// Findings name the 4 KiB page of the file that they start in.
const PAGE_BYTES: u64 = 4096;

/// Check a database for damage.
///
/// Prints one line per finding, and exits with status 1 if there is any. Never writes.
#[derive(clap::Args)]
pub(crate) struct Check {
    /// The database file.
    #[arg(value_name = "DB")]
    path: PathBuf,
    /// Check only what opening reads, and both superblocks [default: check every page].
    #[arg(long, conflicts_with = "deep")]
    quick: bool,
    /// Also look up every key, and verify every posting.
    #[arg(long)]
    deep: bool,
}

impl Check {
    pub(crate) fn run(&self, style: Style) -> Result<(), Failure> {
        let depth = match (self.quick, self.deep) {
            (true, _) => Depth::Quick,
            (_, true) => Depth::Deep,
            _ => Depth::Full,
        };
        match Database::open_read_only(&self.path, Options::default()) {
            Ok(reader) => open::warn_of_hidden_commits(&reader, style)?,
            Err(error @ Error::NotADatabase { .. }) => return Err(error.into()),
            // The check reads the file, not the log.
            Err(error @ (Error::LogMissing { .. } | Error::LogDamaged { .. })) => {
                exit::say(&format!("warning: {error}"));
            }
            // A database that cannot be opened can still be checked.
            Err(_) => {}
        }
        interrupt::end_at_once("the check did not end, and nothing was changed");
        // A deep check rebuilds the postings and looks up every key.
        let file = self.path.metadata().map_or(0, |found| found.len());
        let expected = if depth == Depth::Deep { 2 * file } else { file };
        let bar = progress::moved(style, "checking", expected);
        let report = Database::check(&self.path, depth);
        drop(bar);
        let report = report?;
        match self.print(&report, style) {
            // The findings determine the status even if nobody reads them.
            Err(Failure::OutputClosed) => {}
            other => other?,
        }
        if report.findings.is_empty() { Ok(()) } else { Err(Failure::Findings) }
    }

    fn print(&self, report: &CheckReport, style: Style) -> Result<(), Failure> {
        let mut out = Output::new();
        for finding in &report.findings {
            if style.json {
                out.line(json!({
                    "file": show::json_key(self.path.as_os_str().as_encoded_bytes()),
                    "page": finding.offset / PAGE_BYTES,
                    "extent": finding.extent,
                    "offset": finding.offset,
                    "rule": finding.rule,
                    "detail": finding.detail,
                    "effect": finding.effect,
                    "fix": finding.fix,
                }))?;
            } else {
                out.line(format_args!(
                    "{}: byte {} ({}): {}; {}; {}",
                    show::path(&self.path),
                    finding.offset,
                    finding.rule,
                    finding.detail,
                    finding.effect,
                    finding.fix
                ))?;
            }
        }
        out.flush()?;
        if !style.quiet && !style.json {
            exit::say(&format!(
                "{} in {} and {}",
                count(report.findings.len() as u64, "finding"),
                count(report.segments as u64, "segment"),
                count(report.rows, "row")
            ));
        }
        Ok(())
    }
}
