//! What comes back: matches, best first.

use crate::error::Result;
use crate::estimate::{Comparison, Estimate};

/// The sets that were found.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// Best first: by similarity, then by the number of common slots, then by key.
    pub matches: Vec<Match>,
    /// Whether there were more candidates than may be looked at
    /// ([`max_candidates`](super::Query::max_candidates)), so that matches may be missing. Of a segment or
    /// memtable that has too many, those with the most slots in common were looked at.
    pub truncated: bool,
}

/// A set that looks like the query.
#[derive(Debug, Clone, PartialEq)]
pub struct Match {
    /// Its key.
    pub key: Box<[u8]>,
    /// How many slots it has in common with the query.
    pub matching_slots: u32,
    /// What the two signatures say about the sets: all measures, the query being the first set.
    pub comparison: Comparison,
}

impl Match {
    /// How alike the sets are: their resemblance, or the cosine where the database measures that.
    pub fn similarity(&self) -> Estimate {
        self.comparison.similarity()
    }

    /// How much of the query lies in the match.
    pub fn containment_of_query(&self) -> Result<Estimate> {
        self.comparison.containment_of_first()
    }

    /// How much of the match lies in the query.
    pub fn containment_in_query(&self) -> Result<Estimate> {
        self.comparison.containment_of_second()
    }
}
