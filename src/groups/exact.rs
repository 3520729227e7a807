//! Pairs that are possible, decided by a look at the sets.
//!
//! In: pairs of groups. Out: for each its exact similarity, computed in parallel; or that a set could not be read again.

use rayon::prelude::*;

use super::pairs::Edge;
use super::roster::Roster;
use crate::error::{Error, Result};
use crate::estimate::Counts;
use crate::query::Originals;
use crate::scheme::{Measure, Scheme};
use crate::sketch::Sketcher;
use crate::sync::can_spread;

/// The exact similarity of the sets under two keys; `None` if it cannot be told.
pub(super) type Check<'a> = Box<dyn Fn(&[u8], &[u8]) -> Result<Option<f64>> + Sync + 'a>;

/// How sets are looked at.
pub(super) enum Exact<'a> {
    /// Their elements are counted, as the caller can read them again.
    Originals(&'a Originals<'a>),
    /// Their elements are counted, as the database keeps them.
    Kept(Box<Originals<'a>>),
    /// A function knows their similarity.
    Check(Check<'a>),
}

/// What a look at two sets said.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Outcome {
    Counts(Counts),
    Similarity(f64),
    /// One of the sets could not be read again.
    Lost,
}

impl Outcome {
    pub(super) fn similarity(self) -> Option<f64> {
        match self {
            Outcome::Counts(counts) => Some(counts.resemblance()),
            Outcome::Similarity(similarity) => Some(similarity),
            Outcome::Lost => None,
        }
    }
}

impl<'a> Exact<'a> {
    /// Where sets are read from, if elements are counted.
    pub(super) fn originals(&self) -> Option<&Originals<'a>> {
        match self {
            Exact::Originals(originals) => Some(originals),
            Exact::Kept(originals) => Some(originals),
            Exact::Check(_) => None,
        }
    }

    /// Refuses to count elements where they have weights.
    pub(super) fn check_scheme(&self, scheme: &Scheme) -> Result<()> {
        match self.originals() {
            Some(_) if scheme.measure != Measure::Jaccard => Err(Error::OtherMeasure {
                asked: "the number of common elements",
                measure: scheme.measure.name(),
            }),
            _ => Ok(()),
        }
    }

    /// Looks at the sets of some pairs, in parallel.
    pub(super) fn decide(
        &self,
        roster: &Roster<'_>,
        sketcher: &Sketcher,
        edges: &mut [Edge],
    ) -> Result<()> {
        let decide = |edge: &mut Edge| -> Result<()> {
            edge.outcome = Some(self.compare(roster, sketcher, edge.a, edge.b)?);
            Ok(())
        };
        if can_spread() {
            edges.par_iter_mut().try_for_each(decide)
        } else {
            edges.iter_mut().try_for_each(decide)
        }
    }

    /// Looks at the sets of two groups.
    pub(super) fn compare(
        &self,
        roster: &Roster<'_>,
        sketcher: &Sketcher,
        a: u32,
        b: u32,
    ) -> Result<Outcome> {
        let (first, second) = (roster.name(a)?, roster.name(b)?);
        if let Exact::Check(check) = self {
            let similarity = check(&first, &second)?;
            return Ok(similarity
                .filter(|s| !s.is_nan())
                .map_or(Outcome::Lost, Outcome::Similarity));
        }
        let set = |key: &[u8], group| match self.originals() {
            Some(originals) => originals.set(key, sketcher, || Ok(roster.signature(group))),
            None => Ok(None),
        };
        match (set(&first, a)?, set(&second, b)?) {
            (Some(first), Some(second)) => Ok(Outcome::Counts(Counts::of(&first, &second))),
            _ => Ok(Outcome::Lost),
        }
    }
}
