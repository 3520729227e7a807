//! What looks like this?
//!
//! In: a set, a key or a signature. Out: the sets that look like it, best first, each with an estimate and
//! its error ([`Query`]).
//!
//! An answer is defined by the data alone: the live rows with at least m slots in common with the query
//! that are alike enough. How it is found never changes it. Each part of a database, a segment or a
//! memtable, is [probed](probe) through its posting lists or [scanned](scan), whichever costs less;
//! candidates are [verified](verify) on their signatures, first planes first, and [ranked](rank). Matching
//! slots are counted from the signatures, so that a list can only say where to look.

mod answer;
mod ask;
mod exact;
mod explain;
mod originals;
mod part;
mod probe;
mod rank;
mod scan;
mod score;
mod search;
mod target;
mod verify;

pub use answer::{Answer, Match};
pub use ask::{Like, Query};
pub use explain::{Explanation, PartPlan, Plan, Work};
pub use originals::{Lost, Originals};
