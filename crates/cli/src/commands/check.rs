//! `ringer check`: is the database whole?

use std::path::PathBuf;

use ringer::{CheckReport, Database, Depth, Error, Options};
use serde_json::json;

use crate::exit::{self, Failure};
use crate::open;
use crate::show::{self, Output, Style, count};

/// Findings name the page of 4 KiB that they start in, as disks and dumps count them.
const PAGE_BYTES: u64 = 4096;

/// Look for damage. Never writes. One line a finding, and status 1 if there is one.
#[derive(clap::Args)]
pub(crate) struct Check {
    /// The database.
    #[arg(value_name = "DB")]
    path: PathBuf,
    /// Only what opening reads, and both superblocks [default: every page].
    #[arg(long, conflicts_with = "deep")]
    quick: bool,
    /// Also every key as a reader finds it, and every posting.
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
            Ok(reader) => open::warn_of_unsealed(&reader, style)?,
            Err(error @ Error::NotADatabase { .. }) => return Err(error.into()),
            // What cannot be opened is what a check is for.
            Err(_) => {}
        }
        let report = Database::check(&self.path, depth)?;
        match self.print(&report, style) {
            // That nobody listens changes nothing about what was found.
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
                    "block": finding.block,
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
