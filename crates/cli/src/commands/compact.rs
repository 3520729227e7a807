//! `ringer compact`: merges all segments and removes dead bytes.

use std::path::PathBuf;

use serde_json::json;

use crate::exit::{self, Failure};
use crate::show::{self, Output, Style};
use crate::{interrupt, open, progress};

/// Merge all segments into one and remove dead bytes from the file.
#[derive(clap::Args)]
pub(crate) struct Compact {
    /// The database file.
    #[arg(value_name = "DB")]
    path: PathBuf,
}

impl Compact {
    pub(crate) fn run(&self, style: Style) -> Result<(), Failure> {
        interrupt::end_at_once(
            "no set is lost; the database stays as large as it was until it is compacted again",
        );
        let db = open::to_write(&self.path, style)?;
        let before = db.stat()?;
        // Removing dead bytes reads and writes each live byte once. Merging segments moves it several more times,
        // because it uses temporary files.
        let live = before.file_bytes.saturating_sub(before.dead_bytes);
        let times = if before.segments > 1 || before.hidden_rows > 0 { 7 } else { 2 };
        let bar = progress::moved(style, "compacting", times * live);
        let compacted = db.compact();
        drop(bar);
        compacted?;
        let after = db.stat()?;
        db.close()?;
        if style.json {
            let mut out = Output::new();
            out.line(json!({
                "segments_before": before.segments,
                "segments": after.segments,
                "file_bytes_before": before.file_bytes,
                "file_bytes": after.file_bytes,
            }))?;
            return out.flush();
        }
        if !style.quiet {
            let [from, to] = [before.file_bytes, after.file_bytes].map(show::bytes);
            let segments = show::count(before.segments as u64, "segment");
            exit::say(&format!(
                "compacted {segments} into {}; the file had {from} and now has {to}",
                after.segments
            ));
        }
        Ok(())
    }
}
