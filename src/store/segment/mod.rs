//! Segments: immutable runs of rows, sorted by key. Layout: `format-spec/segment.md`.
//!
//! "Here is a key, give me its row. Here is a row, give me its key. Here is an id, give me its signature and its
//! rows." A [`Segment`] answers from pages, through the cache. A [`writer::SegmentWriter`] takes rows in key order
//! and makes a segment.

mod duplicates;
pub mod known;
pub mod postings;
pub mod reader;
pub mod records;
pub mod rows;
pub mod scan;
pub mod tombstones;
pub mod writer;

pub use postings::{FoundList, ListReader, PostingCursor, Wanted};
pub use reader::{Found, Segment};
pub use tombstones::Tombstones;
