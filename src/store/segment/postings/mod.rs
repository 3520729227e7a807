//! Postings: which signatures of a segment have a value in a slot. Layout: `format-spec/postings.md`.
//!
//! "Here is a slot and a value, give me the ids." Postings are derived from the signatures and canonical: equal
//! signatures give equal bytes. So `check` can rebuild and compare them.

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
