//! `ringer reindex`: gives a database other slots, or fewer bits, from the stored signatures.

use std::ops::ControlFlow;
use std::path::PathBuf;

use ringer::estimate::capacity;
use ringer::estimate::planning::found;
use ringer::{Database, Error, ReindexReport, Scheme};
use serde_json::json;

use super::slots::SlotChoices;
use crate::exit::{self, Failure};
use crate::show::{self, Output, Style};
use crate::{interrupt, open, progress};

/// Rebuild the index with other slots, or keep fewer bits, from the stored signatures.
///
/// The sources are not needed. Use it when a database has outgrown its slots: `ringer stat` says so. Bits cannot become more,
/// and nothing else of a scheme can change. The new file replaces the old one when it is complete; until then, it takes up to
/// twice its size beside the old one.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  ringer reindex web.ringer --sets 100000000
  ringer reindex web.ringer --slots 16 --samples-per-slot 4
  ringer reindex web.ringer --bits 4")]
pub(crate) struct Reindex {
    /// The database file.
    #[arg(value_name = "DB")]
    path: PathBuf,
    #[command(flatten)]
    slots: SlotChoices,
    /// Bits to keep of each sample (b). Estimates get less accurate, and the bits are gone.
    #[arg(long, value_name = "B")]
    bits: Option<u8>,
}

impl Reindex {
    pub(crate) fn run(&self, style: Style) -> Result<(), Failure> {
        if self.slots.is_empty() && self.bits.is_none() {
            let message = "say what to change: --sets N, --slots L, --samples-per-slot G, --value-bits V, --min-matches M or --bits B";
            return Err(Failure::Usage(message.into()));
        }
        self.slots.check()?;
        interrupt::listen("the database is as it was");
        let before = Database::open_read_only(&self.path, style.options())
            .and_then(|reader| reader.stat())
            .map_err(|error| open::unopened(&self.path, error))?;
        let scheme = self.scheme(&before.scheme).map_err(bad_change)?;
        // Rows are read once. The new file is written to temporary files, read back and written again.
        let live = before.file_bytes.saturating_sub(before.dead_bytes);
        let bar = progress::moved(style, "reindexing", 5 * live);
        let stop = |_, _| match interrupt::requested() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        };
        let done = Database::reindex_with(&self.path, &scheme, &style.options(), stop);
        drop(bar);
        let report = done.map_err(bad_change)?;
        open::tell(&report.open);
        show(&scheme, &report, self.slots.sets(), style)
    }

    /// The scheme that the options ask for.
    fn scheme(&self, stored: &Scheme) -> Result<Scheme, Error> {
        let bits = self.bits.unwrap_or(stored.bits);
        let parameters = stored.with_bits(bits);
        // Without an index, fewer bits need no slots.
        let given = !self.slots.is_empty() || stored.slots.count > 0;
        let most = if self.slots.changes_length() { 32 } else { stored.slots.value_bits };
        let parameters = if given { self.slots.apply(parameters, false, most) } else { parameters };
        let scheme = Scheme::new(parameters)?;
        // Said before the slots are chosen, which would fail for another reason.
        stored.check_derives(&scheme)?;
        match self.slots.sets() {
            None => Ok(scheme),
            Some(sets) => Scheme::new(scheme.with_slots(capacity::slots_for(&scheme, sets)?)),
        }
    }
}

/// What the options ask for is not possible: a usage error.
fn bad_change(error: Error) -> Failure {
    match error {
        Error::NotDerivable { .. } => Failure::Usage(error.to_string()),
        Error::Interrupted => Failure::Interrupted,
        other => exit::bad_argument(other),
    }
}

/// Reports the chance candidates for `planned` sets, or for those that are stored.
fn show(
    scheme: &Scheme,
    report: &ReindexReport,
    planned: Option<u64>,
    style: Style,
) -> Result<(), Failure> {
    let before = &report.scheme_before;
    let sets = planned.unwrap_or(report.sets);
    let chance = |scheme: &Scheme| capacity::chance_candidates(scheme, sets);
    let at = if before.slots.count > 0 { capacity::made_for(before) } else { 0.5 };
    let recall = |scheme: &Scheme| if scheme.slots.count > 0 { found(scheme, at) } else { 1.0 };
    if style.json {
        let mut out = Output::new();
        out.line(json!({
            "rewritten": report.rewritten,
            "sets": report.sets,
            "planned_sets": planned,
            "commits_replayed": report.open.commits_replayed,
            "scheme": scheme.to_string(),
            "bits": scheme.bits,
            "slots": scheme.slots.count,
            "samples_per_slot": scheme.slots.samples_per_slot,
            "value_bits": scheme.slots.value_bits,
            "min_matches": scheme.slots.min_matches,
            "chance_candidates_before": chance(before),
            "chance_candidates": chance(scheme),
            "similarity": at,
            "found_before": recall(before),
            "found": recall(scheme),
            "needed_bytes": report.needed_bytes,
            "file_bytes_before": report.file_bytes_before,
            "file_bytes": report.file_bytes,
        }))?;
        return out.flush();
    }
    if style.quiet {
        return Ok(());
    }
    if !report.rewritten {
        exit::say("nothing to do: the database has this scheme already");
        return Ok(());
    }
    let [from, to] = [report.file_bytes_before, report.file_bytes].map(show::bytes);
    exit::say(&format!(
        "reindexed {}: {} bits, {}; the file had {from} and now has {to}",
        show::count(report.sets, "set"),
        scheme.bits,
        scheme.slots,
    ));
    let name = scheme.measure.similarity_name();
    exit::say(&format!(
        "chance candidates per query among {}: {:.1}, before {:.1}; found at {name} {at:.2}: {:.3}, before {:.3}",
        show::count(sets, "set"),
        chance(scheme),
        chance(before),
        recall(scheme),
        recall(before),
    ));
    Ok(())
}
