//! Which sets are similar to each other? All pairs, clusters and triples of a database.
//!
//! In: a snapshot and a threshold. Out: each pair of sets that a [query](crate::query) for one of them would find, exactly
//! once ([`Pairs`]); clusters of sets that pairs link ([`Clusters`]); triples with a high three-way resemblance, which
//! pairs alone cannot show ([`Triples`]); clusters that grow with the database ([`Clustering`]). The data alone defines
//! an answer, not how rows are stored.
//!
//! # The way of a pair
//!
//! 1. `signature_table.rs` reads all live rows in key order. Rows with equal signatures become one *group*, so that a
//!    hundred thousand duplicates are one entry and not five billion pairs. `split_groups.rs` splits groups whose sets differ,
//!    where sets can be read.
//! 2. `join.rs` brings groups together. A matching pair differs in few samples, so it agrees in at least one of a few
//!    columns of samples, which `columns.rs` chooses. Sorting all groups by each column (`radix.rs`) makes such pairs
//!    neighbours. Pairs are compared on their signatures (`compare.rs`) by the [rule](crate::matching) that queries use.
//! 3. `find.rs` visits the pairs that were found in key order, and lets `exact.rs` count common elements where sets can be
//!    read.
//! 4. `emit.rs` gives pairs and groups to the caller; `clusters.rs` and `triples.rs` build on the same pairs.
//!
//! `pairs.rs` has the builder, `results.rs` what the caller gets, `progress.rs` progress and cancellation.

mod clustering;
mod clusters;
mod columns;
mod compare;
mod emit;
mod exact;
mod find;
mod join;
mod pairs;
mod progress;
mod radix;
mod results;
mod signature_table;
mod split_groups;
mod triples;

pub use clustering::{Clustering, Joined};
pub use clusters::{Cluster, Clusters, Linkage};
pub use pairs::Pairs;
pub use results::{Found, Group, Members, Pair, Phase, Progress, Report};
pub use triples::{Triple, Triples};
