//! Threes: sets that are alike all together.

use super::ask::Pairs;
use crate::estimate::Estimate;

/// Threes of sets that look like each other: a question to a snapshot.
#[derive(Debug)]
#[must_use = "nothing is looked for until it is run"]
pub struct Triples<'a> {
    pairs: Pairs<'a>,
    min_resemblance: f64,
}

/// Three sets with a common part.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Triple {
    /// Their keys, rising; of groups, the smallest keys.
    pub keys: [Box<[u8]>; 3],
    /// The size of what all three have over that of what any has.
    pub resemblance: Estimate,
    /// Whether the 95 % interval holds the least resemblance asked for.
    pub undecided: bool,
}
