//! Which signatures share slot values with this one?
//!
//! In: posting lists, each with the ascending ids of the signatures that have one value in one slot. Out: the ids
//! that are in at least a given number of lists, with that number. This module must not know what an id refers to,
//! nor where lists are stored.
//!
//! There are two ways to count, with equal results: [`merge::sorted`] for few postings and [`merge::dense`] for
//! many. A visitor decides what happens to an id: it can be counted, collected in [`Candidates`], or added to a
//! histogram.

pub mod candidates;
pub mod merge;

pub use candidates::{Candidate, Candidates};
pub use merge::Postings;
