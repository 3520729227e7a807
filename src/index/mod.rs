//! Which signatures share slots with this one?
//!
//! In: posting lists, each the rising ids of the signatures that have one value in one slot. Out: ids
//! with the number of lists that they are in, at least a given number. Knows nothing of what ids stand
//! for, nor of where lists are kept.
//!
//! There are two ways to count, with one result: [`merge::sorted`] for few postings, [`merge::dense`]
//! for many. What is done with an id is up to a visitor: it may be counted, collected
//! ([`Candidates`]), or entered in a histogram.

pub mod candidates;
pub mod merge;

pub use candidates::{Candidate, Candidates};
pub use merge::Postings;
