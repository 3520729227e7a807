//! `ringer stat`: shows what a database contains and how much space it takes.

use std::path::{Path, PathBuf};

use ringer::estimate::capacity;
use serde_json::json;

use crate::exit::{self, Failure};
use crate::show::{self, Output, Style};
use crate::{interrupt, open};

/// Show the scheme, the number of sets and segments, and the bytes they take.
#[derive(clap::Args)]
pub(crate) struct Stat {
    /// The database file.
    #[arg(value_name = "DB")]
    path: PathBuf,
}

/// What to do about a database that has outgrown its slots.
fn outgrown(path: &Path, stat: &ringer::Stat) -> String {
    let path = show::path(path);
    let help = match capacity::slots_for(&stat.scheme, stat.sets) {
        Ok(_) => format!("run `ringer reindex {path} --sets {}`", stat.sets),
        Err(_) => "add the sets to a database that was created with --sets".to_string(),
    };
    format!(
        "warning: the database has outgrown its slots: about {:.0} unrelated sets share slots with each query by chance; \
         {help}",
        stat.chance_candidates
    )
}

impl Stat {
    pub(crate) fn run(&self, style: Style) -> Result<(), Failure> {
        interrupt::end_at_once("nothing was changed");
        let reader = open::to_read(&self.path, style)?;
        let stat = reader.stat()?;
        let (clean, writer) = (reader.is_clean(), reader.has_writer()?);
        let a_set = |bytes: u64| bytes as f64 / stat.sets.max(1) as f64;
        let mut out = Output::new();
        if style.json {
            let parameters: serde_json::Map<String, serde_json::Value> = stat
                .scheme
                .described()
                .into_iter()
                .map(|(name, value)| (name.to_string(), value.to_string().into()))
                .collect();
            out.line(json!({
                "scheme": stat.scheme.to_string(),
                "features": stat.scheme.features.to_string(),
                "measure": stat.scheme.measure.name(),
                "sampler": stat.scheme.sampler.name(),
                "packing": stat.scheme.packing.name(),
                "samples": stat.scheme.samples,
                "bits": stat.scheme.bits,
                "seed": stat.scheme.seed,
                "slots": stat.scheme.slots.count,
                "samples_per_slot": stat.scheme.slots.samples_per_slot,
                "value_bits": stat.scheme.slots.value_bits,
                "min_matches": stat.scheme.slots.min_matches,
                "parameters": parameters,
                "sets": stat.sets,
                "chance_candidates": stat.chance_candidates,
                "outgrown": stat.has_outgrown_slots(),
                "commit": stat.sequence,
                "segments": stat.segments,
                "rows": stat.rows,
                "hidden_rows": stat.hidden_rows,
                "distinct_signatures": stat.distinct_signatures,
                "file_bytes": stat.file_bytes,
                "signature_bytes": stat.signature_bytes,
                "key_bytes": stat.key_page_bytes,
                "posting_bytes": stat.posting_bytes,
                "element_bytes": stat.element_bytes,
                "value_bytes": stat.value_bytes,
                "dead_bytes": stat.dead_bytes,
                "bytes_a_set": a_set(stat.file_bytes),
                "cache_bytes": style.options().cache_bytes,
                "cached_bytes": stat.cached_bytes,
                "cache_hits": stat.cache_hits,
                "cache_misses": stat.cache_misses,
                "clean": clean,
                "writer": writer,
                "commits_in_log": reader.commits_in_log(),
            }))?;
            return out.flush();
        }
        out.line("scheme")?;
        for (name, value) in stat.scheme.described() {
            out.line(format_args!("  {name:<18} {value}"))?;
        }
        let duplicates = stat.rows.saturating_sub(stat.distinct_signatures);
        out.line(format_args!("sets                 {}", stat.sets))?;
        if stat.scheme.slots.count > 0 {
            out.line(format_args!("chance candidates    {:.1} per query", stat.chance_candidates))?;
        }
        out.line(format_args!("segments             {}", stat.segments))?;
        out.line(format_args!("rows of segments     {} ({} hidden)", stat.rows, stat.hidden_rows))?;
        out.line(format_args!(
            "distinct signatures  {} ({duplicates} rows share one)",
            stat.distinct_signatures
        ))?;
        let in_log = match reader.commits_in_log() {
            0 => String::new(),
            waiting => format!(" ({waiting} in the log, not yet checkpointed)"),
        };
        out.line(format_args!("commits              {}{in_log}", stat.sequence))?;
        let parts = [
            ("file", stat.file_bytes),
            ("  signatures", stat.signature_bytes),
            ("  keys", stat.key_page_bytes),
            ("  postings", stat.posting_bytes),
            ("  kept sets", stat.element_bytes),
            ("  values", stat.value_bytes),
            ("  dead", stat.dead_bytes),
        ];
        let keeps = stat.scheme.elements.are_kept();
        let shown = |name: &str| match name {
            "  kept sets" => keeps,
            "  values" => stat.value_bytes > 0,
            _ => true,
        };
        for (name, bytes) in parts.into_iter().filter(|(name, _)| shown(name)) {
            let (total, each) = (show::bytes(bytes), a_set(bytes));
            out.line(format_args!("{name:<20} {total} ({each:.1} bytes per set)"))?;
        }
        out.line(format_args!(
            "cache                up to {} in each command (--cache)",
            show::bytes(style.options().cache_bytes as u64)
        ))?;
        let state = match (writer, clean) {
            (true, _) => "open for writing elsewhere",
            (false, true) => "closed",
            (false, false) => "not closed: the last writer ended without closing it",
        };
        out.line(format_args!("state                {state}"))?;
        out.flush()?;
        if stat.has_outgrown_slots() {
            exit::say(&outgrown(&self.path, &stat));
        }
        Ok(())
    }
}
