//! How rows get in: commits, checkpoints, bulk loads, merges, vacuum. Steps: `format-spec/steps.md`.
//!
//! In: batches of operations by key. Out: durable states that readers see at once. One [`Writer`] does it
//! all; its locks are taken in this order and never the other way round:
//!
//! 1. `commits`: sequences and the hot tier. Held while a group of commits is made durable.
//! 2. `file`, the append lock: the database file's end and its superblock. Held while a checkpoint is
//!    made, and at the end of merges and bulk loads, never while those build.
//! 3. `mark` and `published`: held for moments.

mod append;
pub mod batch;
pub mod bulk;
mod checkpoint;
mod commit;
mod maintenance;
mod merge;
pub mod merge_policy;
pub mod pack;
mod vacuum;
pub mod writer;

pub use batch::Batch;
pub use bulk::BulkLoad;
pub use commit::Committed;
pub use maintenance::Maintenance;
pub use writer::Writer;
