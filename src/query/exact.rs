//! Matches decided and ranked by the sets themselves.
//!
//! In: matches by signatures, more than are wanted. Out: those whose exact resemblance passes, best first.

use std::borrow::Cow;
use std::sync::Arc;

use super::answer::Match;
use super::originals::Originals;
use super::request::{Like, Query};
use super::search::SearchOptions;
use crate::error::{Error, Result};
use crate::estimate::{Counts, reaches};
use crate::matching::check_countable;
use crate::scheme::Scheme;

/// Candidates that are counted for each wanted match, if there is no threshold.
const CANDIDATES_PER_MATCH: usize = 4;

/// Candidates that are counted at least, if there is no threshold.
const MIN_CANDIDATES: usize = 32;

/// Rejects queries that have no set to count.
pub(super) fn check(scheme: &Scheme, like: Like<'_>) -> Result<()> {
    check_countable(scheme)?;
    match like {
        Like::Signature(signature) if signature.elements().is_none() => Err(Error::invalid(
            "verification of a query by signature",
            "a signature has no elements to count; query by features or by key",
        )),
        Like::Signature(_)
        | Like::Text(_)
        | Like::Bytes(_)
        | Like::Html(_)
        | Like::Features(_)
        | Like::Weighted(_)
        | Like::Key(_) => Ok(()),
    }
}

/// The options for the search by signatures. With a threshold it finds all sets that may reach it. Without one it finds a
/// few times as many as are wanted.
pub(super) fn first_pass(requested: SearchOptions) -> SearchOptions {
    if requested.conditions.has_threshold() {
        let conditions = requested.conditions.before_counting();
        return SearchOptions { conditions, top: usize::MAX, ..requested };
    }
    let top = requested.top.saturating_mul(CANDIDATES_PER_MATCH).max(MIN_CANDIDATES);
    SearchOptions { top: if requested.top == 0 { 0 } else { top }, ..requested }
}

/// Counts the elements that matches share with the query, and ranks them by exact resemblance. `features` are those of the
/// query, if it has any.
pub(super) fn rank(
    query: &Query<'_>,
    features: Option<Cow<'_, [u64]>>,
    originals: &Originals<'_>,
    requested: SearchOptions,
    matches: Vec<Match>,
) -> Result<Vec<Match>> {
    let (state, sketcher) = (query.state, query.sketcher);
    let stored =
        |key: &[u8]| state.signature(key)?.ok_or_else(|| Error::NoSuchKey { key: key.into() });
    let of_features = |features: Cow<'_, [u64]>| {
        let mut set = features.into_owned();
        set.sort_unstable();
        set.dedup();
        set.into()
    };
    let own = match query.like {
        Like::Text(_) | Like::Bytes(_) | Like::Html(_) | Like::Features(_) => {
            features.map(of_features)
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
        if reaches(counts.resemblance(), requested.conditions.threshold) {
            let comparison = found.comparison.with_counts(counts);
            exact.push((counts.resemblance(), Match { comparison, ..found }));
        }
    }
    exact.sort_by(|(a, first), (b, second)| {
        let alike = b.total_cmp(a).then(second.matching_slots.cmp(&first.matching_slots));
        alike.then_with(|| first.key.cmp(&second.key))
    });
    exact.truncate(requested.top);
    Ok(exact.into_iter().map(|(_, found)| found).collect())
}
