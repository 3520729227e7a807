//! Where bytes live: files, pages in memory, segments, and the commits that wait for a checkpoint.
//!
//! In: typed views of [`crate::format`] and positions. Out: durable bytes and verified pages. This room
//! knows how a step is made safe; which step comes when is decided in `ingest` and `care`.

pub mod file_layer;
pub mod hot_tier;
