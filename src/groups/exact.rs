//! Possible pairs, decided by the sets themselves.
//!
//! In: pairs of groups. Out: the exact similarity of each, computed in parallel, or that a set could not be read.

use rayon::prelude::*;

use super::find::Edge;
use super::signature_table::SignatureTable;
use crate::error::Result;
use crate::estimate::Counts;
use crate::matching::check_countable;
use crate::query::Originals;
use crate::scheme::Scheme;
use crate::sketch::Sketcher;
use crate::sync::can_spread;

/// Returns the exact similarity of the sets under two keys; `None` if it is not known.
pub(super) type Check<'a> = Box<dyn Fn(&[u8], &[u8]) -> Result<Option<f64>> + Sync + 'a>;

/// How exact similarities are found.
pub(super) enum Exact<'a> {
    /// Common elements are counted. The caller reads the sets.
    Originals(&'a Originals<'a>),
    /// Common elements are counted. The database keeps the sets.
    Kept(Box<Originals<'a>>),
    /// The caller computes the similarity.
    Check(Check<'a>),
}

/// What is known exactly about two sets.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Outcome {
    Counts(Counts),
    Similarity(f64),
    /// One of the sets could not be read, or the caller does not know the similarity.
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
    /// Where sets are read, if common elements are counted.
    pub(super) fn originals(&self) -> Option<&Originals<'a>> {
        match self {
            Exact::Originals(originals) => Some(originals),
            Exact::Kept(originals) => Some(originals),
            Exact::Check(_) => None,
        }
    }

    /// Rejects schemes whose sets cannot be counted.
    pub(super) fn check_scheme(&self, scheme: &Scheme) -> Result<()> {
        match self.originals() {
            Some(_) => check_countable(scheme),
            None => Ok(()),
        }
    }

    /// Compares the sets of some pairs, in parallel.
    pub(super) fn decide(
        &self,
        table: &SignatureTable<'_>,
        sketcher: &Sketcher,
        edges: &mut [Edge],
    ) -> Result<()> {
        let decide = |edge: &mut Edge| -> Result<()> {
            edge.outcome = Some(self.compare(table, sketcher, edge.a, edge.b)?);
            Ok(())
        };
        if can_spread() {
            edges.par_iter_mut().try_for_each(decide)
        } else {
            edges.iter_mut().try_for_each(decide)
        }
    }

    /// Compares the sets of two groups. Their smallest keys stand for all of their keys.
    pub(super) fn compare(
        &self,
        table: &SignatureTable<'_>,
        sketcher: &Sketcher,
        a: u32,
        b: u32,
    ) -> Result<Outcome> {
        let (first, second) = (table.smallest_key(a)?, table.smallest_key(b)?);
        if let Exact::Check(check) = self {
            let similarity = check(&first, &second)?;
            return Ok(similarity
                .filter(|s| !s.is_nan())
                .map_or(Outcome::Lost, Outcome::Similarity));
        }
        let set = |key: &[u8], group| match self.originals() {
            Some(originals) => originals.set(key, sketcher, || Ok(table.signature(group))),
            None => Ok(None),
        };
        match (set(&first, a)?, set(&second, b)?) {
            (Some(first), Some(second)) => Ok(Outcome::Counts(Counts::of(&first, &second))),
            (None, _) | (_, None) => Ok(Outcome::Lost),
        }
    }
}
