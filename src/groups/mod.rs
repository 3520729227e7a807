//! Which sets look like each other? All pairs, clusters and triples of a database.
//!
//! In: a snapshot and a least resemblance or cosine. Out: each pair of sets that a [query](crate::query) for one of
//! them would find, exactly once ([`Pairs`]); clusters of sets that hang together ([`Clusters`]); threes that
//! are alike all together, which pairs alone cannot tell ([`Triples`]); clusters that grow with the database
//! ([`Clustering`]). As everywhere the answer is defined by the data alone, not by how rows are stored.
//!
//! How: all live rows are [read](roster) in key order, and rows with equal signatures become one *group*, so
//! that a hundred thousand copies are one line and not five billion pairs. A pair that is alike enough differs
//! in few samples, so it agrees in at least one of a few [`columns`] of samples; sorting the groups by
//! each column brings such pairs [together](join). They are verified on their signatures, and passed over
//! where they come together once more. What is left is sorted, and given in the order of keys.

mod ask;
mod clustering;
mod clusters;
mod columns;
mod exact;
mod found;
mod join;
mod measure;
mod pairs;
mod roster;
mod roster_exact;
mod sorting;
mod stop;
mod triples;

pub use ask::Pairs;
pub use clustering::{Clustering, Joined};
pub use clusters::{Cluster, Clusters, Linkage};
pub use found::{Found, Group, Members, Pair, Phase, Progress, Report};
pub use triples::{Triple, Triples};
