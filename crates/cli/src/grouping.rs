//! What `pairs`, `clusters`, `triples` and `dedup` share: conditions on pairs, progress, and final notes.

use std::ops::ControlFlow;

use indicatif::ProgressBar;
use ringer::estimate::planning;
use ringer::groups::{Linkage, Pairs, Phase, Progress, Report};
use ringer::scheme::Measure;
use ringer::{Accept, Error, Scheme};

use crate::exit::{self, Failure};
use crate::interrupt;
use crate::progress::{self, Unit};
use crate::show::{Output, Style};

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
    progress::bar(style, "reading", Unit::Things, Some(1))
}

/// A callback that moves the bar and stops the run after an interrupt.
pub(crate) fn follow(
    bar: &ProgressBar,
    style: Style,
) -> impl FnMut(Progress) -> ControlFlow<()> + '_ {
    // The bar has said so.
    let mut said = "reading";
    move |progress| {
        let phase = match progress.phase {
            Phase::Reading => "reading",
            Phase::Joining => "comparing",
            _ => "grouping",
        };
        bar.set_message(phase);
        if phase != said {
            said = phase;
            if style.verbose {
                bar.suspend(|| exit::say(phase));
            }
        }
        bar.set_length(progress.total);
        bar.set_position(progress.done);
        if interrupt::requested() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// Prints a result. The bar is moved out of its way only if they share a terminal: that takes longer than most results.
pub(crate) fn row<T>(bar: &ProgressBar, on_terminal: bool, print: impl FnOnce() -> T) -> T {
    if on_terminal { bar.suspend(print) } else { print() }
}

/// Runs something that prints results as it finds them. The first failure to print ends the run and is returned, and an
/// interrupt cancels it.
pub(crate) fn printing<T>(
    run: impl FnOnce(&mut dyn FnMut(Result<(), Failure>) -> ControlFlow<()>) -> Result<T, Error>,
) -> Result<T, Failure> {
    let mut failure = None;
    let done = run(&mut |printed| match printed {
        Ok(()) if interrupt::requested() => ControlFlow::Break(()),
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
            "note: the index compares {:.0} % of the pairs at {} {min}, and a larger share of more similar pairs; \
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
