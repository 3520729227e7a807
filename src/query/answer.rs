//! What a query returns: matches, best first.

use std::sync::Arc;

use crate::error::Result;
use crate::estimate::{Comparison, Estimate};

/// The matches of a query.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Answer {
    /// Best first: by similarity, then by the number of matching slots, then by key.
    pub matches: Vec<Match>,
    /// Whether there were more candidates than [`max_candidates`](super::Query::max_candidates), so that matches may be
    /// missing. Of a segment or memtable with too many candidates, only those with the most matching slots were compared.
    pub truncated: bool,
}

/// The matches of a query without intervals.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Scores {
    /// The sets that [`Answer::matches`] has, in the same order.
    pub scores: Vec<Score>,
    /// Whether matches may be missing: [`Answer::truncated`].
    pub truncated: bool,
}

/// A set that matches the query, and how similar it is.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Score {
    /// Its key.
    #[cfg_attr(feature = "serde", serde(serialize_with = "crate::serialize::key"))]
    pub key: Box<[u8]>,
    /// How many samples its signature has in common with that of the query, including chance agreements.
    pub equal_samples: u32,
    /// The estimated similarity, or the exact one if sets were counted. It has no interval.
    pub similarity: f64,
}

impl From<Answer> for Scores {
    fn from(answer: Answer) -> Scores {
        let score = |found: Match| Score {
            equal_samples: found.comparison.equal_samples(),
            similarity: found.comparison.similarity_value(),
            key: found.key,
        };
        Scores {
            scores: answer.matches.into_iter().map(score).collect(),
            truncated: answer.truncated,
        }
    }
}

/// A set that matches the query.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Match {
    /// Its key.
    #[cfg_attr(feature = "serde", serde(serialize_with = "crate::serialize::key"))]
    pub key: Box<[u8]>,
    /// How many slots it has in common with the query.
    pub matching_slots: u32,
    /// All measures of the two sets. The query is the first set.
    pub comparison: Comparison,
    /// The value that was stored with it, if the query asked for [values](super::Query::with_values) and it has one.
    #[cfg_attr(feature = "serde", serde(serialize_with = "crate::serialize::value"))]
    pub value: Option<Arc<[u8]>>,
}

impl Match {
    /// Returns the similarity of the sets: their resemblance, or the cosine if the database measures that.
    pub fn similarity(&self) -> Estimate {
        self.comparison.similarity()
    }

    /// Returns the containment of the query in the match.
    pub fn containment_of_query(&self) -> Result<Estimate> {
        self.comparison.containment_of_first()
    }

    /// Returns the containment of the match in the query.
    pub fn containment_in_query(&self) -> Result<Estimate> {
        self.comparison.containment_of_second()
    }
}
