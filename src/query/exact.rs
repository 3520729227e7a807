//! Matches decided and ranked by the sets themselves.
//!
//! In: matches by signatures, more than are wanted. Out: those that are alike enough, by exact resemblance, best first.

use std::sync::Arc;

use super::answer::Match;
use super::ask::{Like, Query, Rule};
use super::originals::Originals;
use crate::error::{Error, Result};
use crate::estimate::{Accept, Counts, reaches};
use crate::scheme::{Measure, Scheme};

/// Candidates that are counted for each match that is wanted, where no threshold says which are possible.
const CANDIDATES_PER_MATCH: usize = 4;

/// The same for those who want very few.
const LEAST_CANDIDATES: usize = 32;

/// Refuses what has no sets to count.
pub(super) fn check(scheme: &Scheme, like: Like<'_>) -> Result<()> {
    if scheme.measure != Measure::Jaccard {
        let (asked, measure) = ("the number of common elements", scheme.measure.name());
        return Err(Error::OtherMeasure { asked, measure });
    }
    match like {
        Like::Signature(signature) if signature.elements().is_none() => Err(Error::invalid(
            "verification of a query by signature",
            "a signature has no elements to count; query by features or by key",
        )),
        _ => Ok(()),
    }
}

/// The rule by which signatures are searched, so that nothing is missed that the sets would let in.
pub(super) fn loosened(rule: Rule) -> Rule {
    if rule.threshold > f64::NEG_INFINITY {
        return Rule { accept: Accept::Possible, top: usize::MAX, ..rule };
    }
    let top = rule.top.saturating_mul(CANDIDATES_PER_MATCH).max(LEAST_CANDIDATES);
    Rule { top: if rule.top == 0 { 0 } else { top }, ..rule }
}

/// Counts the elements that matches share with the query, and ranks them by that.
pub(super) fn rank(
    query: &Query<'_>,
    originals: &Originals<'_>,
    rule: Rule,
    matches: Vec<Match>,
) -> Result<Vec<Match>> {
    let (state, sketcher) = (query.state, query.sketcher);
    let stored = |key: &[u8]| match state.get(key)? {
        Some(stored) => Ok(stored.signature),
        None => Err(Error::NoSuchKey { key: key.into() }),
    };
    let own = match query.like {
        Like::Features(features) => {
            let mut set = features.to_vec();
            set.sort_unstable();
            set.dedup();
            Some(set.into())
        }
        Like::Key(key) => originals.set(key, sketcher, || stored(key))?,
        Like::Signature(signature) => signature.elements().map(Arc::from),
        Like::Weighted(_) => None,
    };
    let Some(own) = own else { return Ok(Vec::new()) };
    let mut exact = Vec::new();
    for found in matches {
        let Some(set) = originals.set(&found.key, sketcher, || stored(&found.key))? else {
            continue;
        };
        let counts = Counts::of(&own, &set);
        if reaches(counts.resemblance(), rule.threshold) {
            let comparison = found.comparison.with_counts(counts);
            exact.push((counts.resemblance(), Match { comparison, ..found }));
        }
    }
    exact.sort_by(|(a, first), (b, second)| {
        let alike = b.total_cmp(a).then(second.matching_slots.cmp(&first.matching_slots));
        alike.then_with(|| first.key.cmp(&second.key))
    });
    exact.truncate(rule.top);
    Ok(exact.into_iter().map(|(_, found)| found).collect())
}
