//! Writing: commits, checkpoints, bulk loads, merges and vacuum, in the steps of `format-spec/steps.md`.
//!
//! In: batches of operations by key. Out: durable states, each published to readers as a whole. This module does not
//! know queries. One [`Writer`] has these parts, and each part owns its locks:
//!
//! | part | holds |
//! |---|---|
//! | `CommitQueue` | waiting batches, and the turn to commit them |
//! | `FileSide` | the database file: its end, its superblock, the file of the commit mark, the lock against other writers |
//! | `LogSide` | the write-ahead log |
//! | `Published` | the state that readers see |
//! | `Backlog` | pending checkpoints and merges |
//! | `Context` | what all parts share: path, scheme, page cache, and whether the database may still be written |
//!
//! [`lock_order`](crate::sync::lock_order) defines the order in which locks are taken. Debug builds check it.

mod activity;
mod append;
mod background;
mod backlog;
pub mod batch;
pub mod bulk;
mod checkpoint;
mod commit;
mod commit_queue;
mod context;
mod file_side;
mod log_side;
mod merge;
pub mod merge_policy;
pub mod pack;
mod published;
pub mod recovered;
pub mod reindex;
mod replacement;
mod vacuum;
pub mod writer;

pub use activity::Activity;
pub use background::Background;
pub use batch::Batch;
pub use bulk::BulkLoad;
pub use commit::Committed;
pub use writer::Writer;
