//! Progress reports, and how a run ends early: by an error, or because the caller cancelled it.

use std::ops::ControlFlow;

use super::results::{Phase, Progress, Report};
use crate::error::Error;

/// Why a run ends early.
#[derive(Debug)]
pub(super) enum Stop {
    Failed(Error),
    Cancelled,
}

impl From<Error> for Stop {
    fn from(error: Error) -> Stop {
        Stop::Failed(error)
    }
}

/// The result of a step of a run.
pub(super) type Step<T = ()> = Result<T, Stop>;

/// Turns the end of a run into its result. A cancelled run has a report too.
pub(super) fn finish(step: Step, mut report: Report) -> crate::Result<Report> {
    match step {
        Ok(()) => Ok(report),
        Err(Stop::Failed(error)) => Err(error),
        Err(Stop::Cancelled) => {
            report.cancelled = true;
            Ok(report)
        }
    }
}

/// Goes on unless the caller broke off.
pub(super) fn go_on(flow: ControlFlow<()>) -> Step {
    if flow.is_break() { Err(Stop::Cancelled) } else { Ok(()) }
}

/// The caller's function, which may cancel the run.
pub(super) type Callback<'a> = Box<dyn FnMut(Progress) -> ControlFlow<()> + 'a>;

/// Steps between two ticks that are reported.
const EVERY: u64 = 4096;

/// Reports progress to the caller, if it asked for that.
#[derive(Default)]
pub(super) struct Reporter<'a>(pub(super) Option<Callback<'a>>);

impl Reporter<'_> {
    /// Reports every few thousandth step.
    pub(super) fn tick(&mut self, phase: Phase, done: u64, total: u64) -> Step {
        if done.is_multiple_of(EVERY) { self.report(phase, done, total) } else { Ok(()) }
    }

    pub(super) fn report(&mut self, phase: Phase, done: u64, total: u64) -> Step {
        let Some(callback) = &mut self.0 else { return Ok(()) };
        go_on(callback(Progress { phase, done, total }))
    }
}
