//! The conditions of queries and of pairs.
//!
//! In: dicts of the Python part. Out: builders of the library with these conditions. Also ends runs that the caller
//! cancels, and refuses results over the limit. Threads and progress are in `work`.

use std::ops::ControlFlow;

use pyo3::prelude::*;
use ringer::groups::{Linkage, Pairs, Progress, Report};
use ringer::{Accept, Query};

use crate::failure::{Failure, Outcome};
use crate::table::Values;
use crate::work::Watch;

/// The conditions of a query: top, min, min_matches, exhaustive, within_one_bit, accept; and whether values are read.
#[derive(Debug, Clone, Copy, FromPyObject)]
pub(crate) struct Conditions {
    #[pyo3(item)]
    top: Option<usize>,
    #[pyo3(item)]
    min: Option<f64>,
    #[pyo3(item)]
    min_matches: Option<u32>,
    #[pyo3(item)]
    exhaustive: bool,
    #[pyo3(item)]
    within_one_bit: bool,
    #[pyo3(item, from_py_with = accept)]
    accept: Accept,
    #[pyo3(item)]
    pub(crate) values: bool,
}

/// The conditions of pairs.
#[derive(Debug, Clone, Copy, FromPyObject)]
pub(crate) struct PairConditions {
    #[pyo3(item)]
    pub(crate) min: f64,
    #[pyo3(item)]
    min_matches: Option<u32>,
    #[pyo3(item)]
    exhaustive: bool,
    #[pyo3(item, from_py_with = accept)]
    pub(crate) accept: Accept,
    #[pyo3(item)]
    memory: usize,
    #[pyo3(item)]
    limit: usize,
    #[pyo3(item)]
    pub(crate) values: bool,
}

fn accept(name: &Bound<'_, PyAny>) -> PyResult<Accept> {
    match name.extract::<&str>()? {
        "estimate" => Ok(Accept::Estimate),
        "possible" => Ok(Accept::Possible),
        "certain" => Ok(Accept::Certain),
        other => {
            let message = format!("accept `{other}`: choose one of estimate, possible, certain");
            Err(Failure::invalid(message).into())
        }
    }
}

/// The linkage with this name.
pub(crate) fn linkage(name: &str) -> Outcome<Linkage> {
    match name {
        "connected" => Ok(Linkage::Connected),
        "strict" => Ok(Linkage::Strict),
        other => {
            Err(Failure::invalid(format!("linkage `{other}`: choose one of connected, strict")))
        }
    }
}

impl Conditions {
    pub(crate) fn put<'a>(&self, mut query: Query<'a>) -> Query<'a> {
        query = query.accept(self.accept);
        if let Some(top) = self.top {
            query = query.top(top);
        }
        if let Some(min) = self.min {
            query = query.min_similarity(min);
        }
        if let Some(slots) = self.min_matches {
            query = query.min_matches(slots);
        }
        if self.values {
            query = query.with_values();
        }
        if self.within_one_bit {
            query = query.within_hamming_1();
        }
        if self.exhaustive { query.exhaustive() } else { query }
    }
}

impl PairConditions {
    pub(crate) fn put<'a>(&self, mut pairs: Pairs<'a>, watch: &'a Watch) -> Pairs<'a> {
        if let Some(slots) = self.min_matches {
            pairs = pairs.min_matches(slots);
        }
        if self.exhaustive {
            pairs = pairs.exhaustive();
        }
        pairs.accept(self.accept).memory(self.memory).progress(follow(watch))
    }

    /// Refuses values that take more than the memory.
    pub(crate) fn check_values(&self, values: [&Values; 2]) -> Outcome<()> {
        let bytes: usize = values.into_iter().map(Values::bytes).sum();
        if bytes <= self.memory {
            return Ok(());
        }
        let message = format!(
            "the values of the pairs take more than memory = {} bytes; raise it, or read values with db.value",
            self.memory
        );
        Err(Failure::Named("OverLimit", message))
    }

    /// Refuses more rows than the limit.
    pub(crate) fn check(&self, rows: usize) -> Outcome<()> {
        if rows <= self.limit {
            return Ok(());
        }
        let message = format!(
            "there are more than {} rows; raise the threshold or the limit, or ask for clusters",
            self.limit
        );
        Err(Failure::Named("OverLimit", message))
    }
}

/// A callback that notes progress, and ends the run when the work should stop.
pub(crate) fn follow(watch: &Watch) -> impl FnMut(Progress) -> ControlFlow<()> + '_ {
    |progress| {
        watch.set(progress.done, progress.total);
        if watch.is_stopped() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// Turns a run that was ended early into an error.
pub(crate) fn finished(
    report: Result<Report, ringer::Error>,
    failure: Option<Failure>,
) -> Outcome<Report> {
    if let Some(failure) = failure {
        return Err(failure);
    }
    let report = report?;
    if report.cancelled { Err(ringer::Error::Interrupted.into()) } else { Ok(report) }
}
