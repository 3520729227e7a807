//! Where bytes live: files, pages in memory, segments, and the commits that wait for a checkpoint.
//!
//! In: typed views of [`crate::format`] and positions. Out: durable bytes and verified pages. This room
//! knows how a step is made safe; which step comes when is decided in `ingest` and `care`.

pub mod companions;
pub mod file_layer;
pub mod hot_tier;
pub mod memtable;
pub mod new_file;
pub mod page_cache;
pub mod page_source;
pub mod page_table;
pub mod range;
pub mod segment;
pub mod sorted_spill;
pub mod spill;
pub mod state;
pub mod state_file;
