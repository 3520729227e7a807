//! How a run ends early: by an error, or because somebody had enough.

use std::ops::ControlFlow;

use super::found::{Phase, Progress};
use crate::error::Error;

/// Why a run ends before its end.
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

/// A step of a run.
pub(super) type Step<T = ()> = Result<T, Stop>;

/// Told how far a run has come, and asked whether it should go on.
pub(super) type Tell<'a> = Box<dyn FnMut(Progress) -> ControlFlow<()> + 'a>;

/// Steps between two calls.
const EVERY: u64 = 4096;

/// Tells now and then.
#[derive(Default)]
pub(super) struct Teller<'a>(pub(super) Option<Tell<'a>>);

impl Teller<'_> {
    /// Tells of every few thousandth step.
    pub(super) fn tick(&mut self, phase: Phase, done: u64, total: u64) -> Step {
        if done.is_multiple_of(EVERY) { self.tell(phase, done, total) } else { Ok(()) }
    }

    /// Tells.
    pub(super) fn tell(&mut self, phase: Phase, done: u64, total: u64) -> Step {
        let Some(tell) = &mut self.0 else { return Ok(()) };
        if tell(Progress { phase, done, total }).is_break() { Err(Stop::Cancelled) } else { Ok(()) }
    }
}
