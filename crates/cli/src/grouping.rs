//! What the commands that look at all sets together share: their conditions, their progress, and how clusters
//! are printed.

use std::ops::ControlFlow;

use indicatif::ProgressBar;
use ringer::estimate::planning;
use ringer::groups::{Cluster, Linkage, Pairs, Phase, Progress, Report};
use ringer::scheme::Measure;
use ringer::{Accept, Comparison, Error, Originals, Scheme, Snapshot};
use serde_json::json;

use crate::exit::{self, Failure};
use crate::interrupt;
use crate::progress::{self, Unit};
use crate::results::{self, Results, key_cell};
use crate::show::{self, Output, Style};
use crate::sources;
use crate::table::{Cell, Column, Kind};

/// Which pairs count.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(crate) struct Conditions {
    /// Only pairs with at least so many slots in common [default: as the database says].
    #[arg(long, value_name = "M", conflicts_with = "exhaustive")]
    pub(crate) min_matches: Option<u32>,
    /// Also compare pairs without common slots. Slow where --min is low. What must reach --min stays the same.
    #[arg(long)]
    pub(crate) exhaustive: bool,
    #[command(flatten)]
    pub(crate) reach: Reach,
}

/// What must reach the threshold.
#[derive(Debug, Clone, Copy, Default, clap::Args)]
pub(crate) struct Reach {
    /// Everything that may reach --min: the upper end of the 99.9 % interval does [default: the estimate reaches --min].
    #[arg(long, conflicts_with = "certain")]
    pub(crate) possible: bool,
    /// Only what surely reaches --min: the lower end of the 99.9 % interval does [default: the estimate reaches --min].
    #[arg(long)]
    pub(crate) certain: bool,
}

impl Reach {
    pub(crate) fn accept(self) -> Accept {
        match self {
            Reach { possible: true, .. } => Accept::Possible,
            Reach { certain: true, .. } => Accept::Certain,
            _ => Accept::Estimate,
        }
    }
}

impl Conditions {
    pub(crate) fn put<'a>(&self, mut pairs: Pairs<'a>) -> Pairs<'a> {
        if let Some(slots) = self.min_matches {
            pairs = pairs.min_matches(slots);
        }
        if self.exhaustive {
            pairs = pairs.exhaustive();
        }
        pairs.accept(self.reach.accept())
    }
}

/// A bar that follows a run.
pub(crate) fn bar(style: Style) -> ProgressBar {
    progress::bar(style, "reading", Unit::Things, Some(0))
}

/// Tells a bar how far a run has come, and the run whether someone asked to stop.
pub(crate) fn follow(bar: &ProgressBar) -> impl FnMut(Progress) -> ControlFlow<()> + '_ {
    |progress| {
        bar.set_message(match progress.phase {
            Phase::Reading => "reading",
            Phase::Joining => "comparing",
            _ => "sorting out",
        });
        bar.set_length(progress.total);
        bar.set_position(progress.done);
        if interrupt::asked() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// Runs something that prints as it goes: the first failure to print ends the run, and is what is returned.
pub(crate) fn printing<T>(
    run: impl FnOnce(&mut dyn FnMut(Result<(), Failure>) -> ControlFlow<()>) -> Result<T, Error>,
) -> Result<T, Failure> {
    let mut failure = None;
    let done = run(&mut |printed| match printed {
        Ok(()) => ControlFlow::Continue(()),
        Err(failed) => {
            failure = Some(failed);
            ControlFlow::Break(())
        }
    });
    match failure {
        Some(failure) => Err(failure),
        None => done.map_err(exit::bad_argument),
    }
}

/// Pairs of which the slots find less than this are worth a word.
const GOOD_RECALL: f64 = 0.95;

/// What has to be said at the end of a run.
pub(crate) fn ended(
    report: &Report,
    scheme: &Scheme,
    min: f64,
    conditions: Conditions,
    style: Style,
) -> Result<(), Failure> {
    if report.cancelled {
        return Err(Failure::Interrupted);
    }
    let least = conditions.min_matches.unwrap_or(u32::from(scheme.slots.min_matches));
    let compared = planning::found_by(scheme, min, least, false);
    if !(conditions.exhaustive || style.quiet) && scheme.slots.count > 0 && compared < GOOD_RECALL {
        exit::say(&format!(
            "note: of pairs at {} {min} the index compares {:.0} %, and more of those more alike; --exhaustive compares all",
            scheme.measure.similarity_name(),
            100.0 * compared
        ));
    }
    if report.truncated {
        exit::say("warning: some sets had too many candidates: pairs may be missing");
    }
    Ok(())
}

/// The line above the first row of a table.
pub(crate) fn head(
    rows_before: u64,
    measure: Measure,
    style: Style,
    out: &mut Output,
) -> Result<(), Failure> {
    match rows_before == 0 && !style.json {
        true => out.line(format_args!("{:<15} 95 % interval    keys", measure.similarity_name())),
        false => Ok(()),
    }
}

/// The names of linkages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum LinkageName {
    Strict,
    Connected,
}

impl LinkageName {
    pub(crate) fn linkage(self) -> Linkage {
        match self {
            LinkageName::Strict => Linkage::Strict,
            LinkageName::Connected => Linkage::Connected,
        }
    }
}

/// The columns of a table of clusters: a row for each member, compared with the representative.
pub(crate) fn cluster_columns(measure: Measure) -> Vec<Column> {
    let columns = [("cluster", Kind::Integer), ("key", Kind::Text), ("representative", Kind::Text)];
    results::columns(&columns, measure)
}

/// Clusters, and what they are clusters of.
pub(crate) struct Clustering<'a> {
    pub(crate) snapshot: &'a Snapshot,
    pub(crate) min: f64,
    pub(crate) linkage: Linkage,
    pub(crate) conditions: Conditions,
    pub(crate) style: Style,
    /// `file`, `set`.
    pub(crate) thing: &'static str,
    /// The keys that are asked about, in order, if not all are: clusters without any of them are left out, and
    /// other members are marked.
    pub(crate) asked: Option<&'a [Vec<u8>]>,
    /// Where sets can be read again, if clusters are decided by them.
    pub(crate) originals: Option<&'a Originals<'a>>,
    /// Whether keys are paths of files, which may be the same byte for byte.
    pub(crate) files: bool,
}

impl Clustering<'_> {
    /// Finds and prints them. Gives the report, the number of clusters and of their members.
    pub(crate) fn print(&self, results: &mut Results) -> Result<(Report, u64, u64), Failure> {
        let (mut clusters, mut members) = (0, 0);
        let bar = bar(self.style);
        let ask = self.snapshot.clusters(self.min).linkage(self.linkage);
        let ask = ask.pairs(|pairs| {
            let pairs = self.conditions.put(pairs).progress(follow(&bar));
            match self.originals {
                Some(originals) => pairs.verify(originals),
                None => pairs,
            }
        });
        let report = printing(|printed| {
            ask.run(|cluster| match self.is_asked_for(&cluster) {
                Ok(true) => {
                    clusters += 1;
                    members += cluster.keys.len() as u64;
                    bar.suspend(|| printed(self.one(clusters, cluster, results)))
                }
                Ok(false) => ControlFlow::Continue(()),
                Err(error) => printed(Err(error.into())),
            })
        });
        bar.finish_and_clear();
        results.lines.flush()?;
        Ok((report?, clusters, members))
    }

    fn asks_about(&self, key: &[u8]) -> bool {
        self.asked.is_none_or(|asked| asked.binary_search_by(|one| one[..].cmp(key)).is_ok())
    }

    fn is_asked_for(&self, cluster: &Cluster<'_>) -> Result<bool, Error> {
        for key in cluster.keys.clone() {
            if self.asks_about(&key?) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn one(&self, number: u64, cluster: Cluster<'_>, results: &mut Results) -> Result<(), Failure> {
        if results.is_table() {
            return self.rows(number, cluster, results);
        }
        let out = &mut results.lines;
        let lowest = cluster.lowest.similarity();
        if results.style.json {
            let (mut keys, mut earlier) = (Vec::new(), Vec::new());
            for key in cluster.keys {
                let key = key?;
                keys.push(show::json_key(&key));
                if !self.asks_about(&key) {
                    earlier.push(show::json_key(&key));
                }
            }
            let measure = cluster.lowest.measure();
            let least = format!("min_{}", measure.similarity_name());
            let mut line = json!({
                "cluster": number,
                "keys": keys,
                (least): if measure == Measure::Cosine { lowest.value } else { lowest.clamped() },
                "representative": show::json_key(&cluster.representative),
                "exact": cluster.lowest.is_exact(),
            });
            if !earlier.is_empty() {
                line["earlier"] = earlier.into();
            }
            return out.line(line);
        }
        let size = cluster.keys.len() as u64;
        out.line(format_args!("group {number}: {}", show::count(size, self.thing)))?;
        let first = &cluster.representative;
        for key in cluster.keys {
            let key = key?;
            let mark = if self.asks_about(&key) { "" } else { "  (from an earlier run)" };
            let shown = show::key(&key) + mark;
            if key == *first {
                out.line(format_args!("                 {shown}"))?;
                continue;
            }
            let comparison = self.compare(first, &key)?;
            out.line(format_args!("  {:<13}  {shown}", self.alike(first, &key, &comparison)))?;
        }
        Ok(())
    }

    /// The members as rows of a table.
    fn rows(
        &self,
        number: u64,
        cluster: Cluster<'_>,
        results: &mut Results,
    ) -> Result<(), Failure> {
        let first = &cluster.representative;
        for key in cluster.keys {
            let key = key?;
            let mut row = vec![Cell::Integer(number), key_cell(&key), key_cell(first)];
            row.extend(results::cells(&self.compare(first, &key)?));
            results.row(row)?;
        }
        Ok(())
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> Result<Comparison, Error> {
        match self.originals {
            Some(originals) => self.snapshot.compare_exactly(a, b, originals),
            None => self.snapshot.compare(a, b),
        }
    }

    /// How alike two keys are, for people.
    fn alike(&self, first: &[u8], key: &[u8], comparison: &Comparison) -> String {
        let same_set = comparison.is_exact() && comparison.similarity().value == 1.0;
        if self.files && same_set && sources::same_bytes(first, key) {
            return "identical".into();
        }
        show::similarity_of(comparison)
    }
}
