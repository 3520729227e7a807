//! Postings: which signatures of a segment have a value in a slot. Layout: `format-spec/postings.md`.
//!
//! In: a slot and a value. Out: the ids of the signatures that have this value there. The bytes of the postings follow
//! from the signatures alone, so `check` can rebuild and compare them.

mod check;
mod columns;
mod many;
mod pages;
mod reader;
mod writer;

pub use many::{FoundList, ListReader, Wanted};
#[cfg(test)]
use pages::NewPostings;
pub use reader::PostingCursor;
pub use writer::PostingsWriter;

pub(super) use pages::place_at;

#[cfg(test)]
mod tests;
