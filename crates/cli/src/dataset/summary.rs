//! The summary at the end of a run.

use std::time::Duration;

use serde_json::json;

use super::groups::Decisions;
use super::shards::Shard;
use super::spill::Spill;
use crate::exit::{self, Failure};
use crate::problems::Problems;
use crate::show::{self, Output, Style, count};

/// How many files and groups the summary lists.
const MOST_NAMED: usize = 5;

/// The numbers of a run.
pub(crate) struct Summary<'a> {
    pub(crate) rows: u64,
    pub(crate) unjudged: u64,
    pub(crate) min: f64,
    pub(crate) shards: &'a [Shard],
    pub(crate) starts: &'a [u64],
    pub(crate) decisions: &'a Decisions,
    pub(crate) spill: &'a Spill,
    pub(crate) elapsed: Duration,
}

impl Summary<'_> {
    /// Prints the summary as text on standard error, or as JSON on standard output. If rows went to standard output, JSON goes
    /// to standard error as well.
    pub(crate) fn print(
        &self,
        style: Style,
        problems: &Problems,
        rows_on_output: bool,
    ) -> Result<(), Failure> {
        let removed = self.decisions.removed();
        let kept = self.rows - removed;
        let seconds = self.elapsed.as_secs_f64();
        if style.json {
            let files: Vec<_> = self
                .files()
                .map(|(shard, rows, removed)| json!({"file": shard.file, "rows": rows, "removed": removed}))
                .collect();
            let largest: Vec<_> = self
                .largest()
                .map(|(size, key)| json!({"rows": size, "key": show::json_key(&key)}))
                .collect();
            let line = json!({
                "rows": self.rows,
                "kept": kept,
                "removed": removed,
                "groups": self.decisions.groups,
                "unjudged": self.unjudged,
                "problems": problems.json(),
                "files": files,
                "largest_groups": largest,
                "seconds": seconds,
            });
            if rows_on_output {
                exit::say(&line.to_string());
                return Ok(());
            }
            let mut out = Output::new();
            out.line(line)?;
            return out.flush();
        }
        if style.quiet {
            return Ok(());
        }
        let share = 100.0 * removed as f64 / self.rows.max(1) as f64;
        exit::say(&format!(
            "{}: kept {kept}, removed {removed} ({share:.1} %) in {} with resemblance {} or more",
            count(self.rows, "row"),
            count(self.decisions.groups, "group"),
            self.min
        ));
        if self.unjudged > 0 {
            exit::say(&format!(
                "kept without comparison: {} ({})",
                count(self.unjudged, "row"),
                problems.unjudged()
            ));
        }
        for (size, key) in self.largest().filter(|(size, _)| *size > 2).take(MOST_NAMED) {
            exit::say(&format!(
                "large group: {} similar to {}",
                count(size, "row"),
                show::key(&key)
            ));
        }
        let mut files: Vec<_> = self.files().filter(|(_, _, removed)| *removed > 0).collect();
        if self.shards.len() > 1 {
            files.sort_by_key(|(_, _, removed)| std::cmp::Reverse(*removed));
            for (shard, rows, removed) in files.iter().take(MOST_NAMED) {
                let share = 100.0 * *removed as f64 / *rows as f64;
                exit::say(&format!(
                    "{}: removed {removed} of {rows} rows ({share:.1} %)",
                    shard.name
                ));
            }
        }
        let rate = self.rows as f64 / seconds.max(1e-9);
        exit::say(&format!("{seconds:.1} s, {rate:.0} rows per second"));
        Ok(())
    }

    fn files(&self) -> impl Iterator<Item = (&Shard, u64, u64)> {
        self.shards.iter().enumerate().map(|(i, shard)| {
            let rows = self.starts[i]..self.starts[i + 1];
            let count = rows.end - rows.start;
            (shard, count, self.decisions.removed_in(rows))
        })
    }

    fn largest(&self) -> impl Iterator<Item = (u64, Vec<u8>)> {
        self.decisions
            .largest
            .iter()
            .map(|(size, row)| (*size, self.spill.key(*row).ok().flatten().unwrap_or_default()))
    }
}
