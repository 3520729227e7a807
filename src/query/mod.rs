//! Queries: which stored sets are similar to a given one?
//!
//! In: a set, a key or a signature. Out: the stored sets that match it, best first, each with an estimate and its error
//! ([`Query`]).
//!
//! The data alone defines an answer: the live rows that [match](crate::matching). How they are found never changes it.
//!
//! # The way of a candidate
//!
//! 1. `search.rs`: [`search`](search::search) goes through the memtables and segments of a snapshot. `plan.rs` chooses
//!    for each of them whether to probe its posting lists or to scan its signatures, by the estimated cost.
//! 2. `probe.rs` reads the posting lists of the query's slot values. A signature id that is in enough lists becomes a
//!    candidate. `scan.rs` takes all signatures instead.
//! 3. `search.rs`: [`Search`](search::Search) compares candidates with the query, lowest bit planes first, applies the
//!    matching rule and puts matches into the ranking. Matching slots are counted on the signatures, so a posting list
//!    only says where to look.
//!
//! Around this way: `request.rs` has the builder, `target.rs` the query's signature and slot values, `source.rs` access to
//! the signatures and keys of a segment or memtable, `ranking.rs` the best matches so far. `exact.rs` counts common
//! elements where sets can be read, from `originals.rs`. `answer.rs` and `explain.rs` are what comes back.

mod answer;
mod exact;
mod explain;
mod originals;
mod plan;
mod probe;
mod ranking;
mod request;
mod scan;
mod search;
mod source;
mod target;

pub use answer::{Answer, Match, Score, Scores};
pub use explain::{Explanation, PartPlan, Plan, Work};
pub use originals::{Lost, Originals};
pub use request::{Like, Query};
