//! What `pairs`, `clusters`, `triples` and `dedup` share: conditions on pairs, progress, final notes, and printing clusters.

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
    /// Compare only pairs with at least M equal slots [default: the database's setting].
    #[arg(long, value_name = "M", conflicts_with = "exhaustive")]
    pub(crate) min_matches: Option<u32>,
    /// Also compare pairs without equal slots. This is slow if --min is low. The meaning of --min stays the same.
    #[arg(long)]
    pub(crate) exhaustive: bool,
    #[command(flatten)]
    pub(crate) reach: Reach,
}

/// What has to reach the threshold.
#[derive(Debug, Clone, Copy, Default, clap::Args)]
pub(crate) struct Reach {
    /// Accept everything that may reach --min: the upper end of its 99.9 % interval does. By default the estimate itself must
    /// reach --min.
    #[arg(long, conflicts_with = "certain")]
    pub(crate) possible: bool,
    /// Accept only what surely reaches --min: the lower end of its 99.9 % interval does. By default the estimate itself must
    /// reach --min.
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

/// A progress bar for a run over all sets.
pub(crate) fn bar(style: Style) -> ProgressBar {
    progress::bar(style, "reading", Unit::Things, Some(0))
}

/// A callback that moves the bar and stops the run after an interrupt.
pub(crate) fn follow(bar: &ProgressBar) -> impl FnMut(Progress) -> ControlFlow<()> + '_ {
    |progress| {
        bar.set_message(match progress.phase {
            Phase::Reading => "reading",
            Phase::Joining => "comparing",
            _ => "grouping",
        });
        bar.set_length(progress.total);
        bar.set_position(progress.done);
        if interrupt::asked() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// Runs something that prints results as it finds them. The first failure to print ends the run and is returned.
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

/// Below this recall of the index at the threshold, a note is printed.
const GOOD_RECALL: f64 = 0.95;

/// Ends a run: reports an interrupt, low recall of the index, and truncated candidate lists.
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
            "note: the index compares {:.0} % of the pairs at {} {min}, and more of the more similar ones; \
             --exhaustive compares all pairs",
            100.0 * compared,
            scheme.measure.similarity_name()
        ));
    }
    if report.truncated {
        exit::say("warning: some sets had more than 100,000 candidates, so pairs may be missing");
    }
    Ok(())
}

/// Prints the header line above the first row of a table.
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

/// A request for clusters.
pub(crate) struct Clustering<'a> {
    pub(crate) snapshot: &'a Snapshot,
    pub(crate) min: f64,
    pub(crate) linkage: Linkage,
    pub(crate) conditions: Conditions,
    pub(crate) style: Style,
    /// What a member is called in the output: `file` or `set`.
    pub(crate) thing: &'static str,
    /// Sorted keys of this run, if the database holds others as well. Clusters without any of these keys are not printed,
    /// and other members are marked.
    pub(crate) asked: Option<&'a [Vec<u8>]>,
    /// The original sets, if clusters are decided by exact comparison.
    pub(crate) originals: Option<&'a Originals<'a>>,
    /// Whether keys are paths, so that identical files can be marked.
    pub(crate) files: bool,
}

impl Clustering<'_> {
    /// Finds and prints the clusters. Returns the report, the number of clusters and the number of their members.
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

    /// Adds the members as rows of a table.
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

    /// The similarity of two keys as text.
    fn alike(&self, first: &[u8], key: &[u8], comparison: &Comparison) -> String {
        let same_set = comparison.is_exact() && comparison.similarity().value == 1.0;
        if self.files && same_set && sources::same_bytes(first, key) {
            return "identical".into();
        }
        show::similarity_of(comparison)
    }
}
