//! Storage: files, cached pages, segments, the memtable and the write-ahead log.
//!
//! In: typed views of [`crate::format`], and positions. Out: durable bytes and verified pages. This module makes
//! each step crash-safe. Which step runs when is decided in `ingest`, and in recovery, check and repair.

pub mod companions;
pub mod file_layer;
pub mod log;
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
