//! How rows get in: commits, checkpoints, bulk loads, merges, vacuum. Steps: `format-spec/steps.md`.
//!
//! In: batches of operations by key. Out: durable states that readers see at once. One [`Writer`] does it all. It is made
//! of parts that own their locks:
//!
//! | part | holds |
//! |---|---|
//! | `CommitQueue` | batches that wait, and the turn to commit them |
//! | `FileSide` | the database file: its end, its superblock, the file of the commit mark, the lock against other writers |
//! | `HotSide` | the hot tier |
//! | `Published` | the state that readers see |
//! | `Backlog` | checkpoints and merges that are left to do |
//! | `Context` | what never changes: path, scheme, page cache; and whether the database may still be written |
//!
//! `lock_order` states the order in which their locks are taken, and debug builds check it.

mod activity;
mod append;
mod backlog;
pub mod batch;
pub mod bulk;
mod checkpoint;
mod commit;
mod commit_queue;
mod context;
mod file_side;
mod hot_side;
mod lock_order;
mod maintenance;
mod merge;
pub mod merge_policy;
pub mod pack;
mod published;
pub mod recovered;
mod vacuum;
pub mod writer;

pub use activity::Activity;
pub use batch::Batch;
pub use bulk::BulkLoad;
pub use commit::Committed;
pub use maintenance::Maintenance;
pub use writer::Writer;
