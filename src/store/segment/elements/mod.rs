//! The kept sets of a segment. Layout: `format-spec/elements.md`.
//!
//! "Here is an id, give me its elements." A [`SetReader`] answers from pages, through the cache. An
//! [`ElementsWriter`] takes encoded sets in the order of their ids.

mod reader;
mod rebuilt;
mod writer;

pub use reader::SetReader;
pub use writer::ElementsWriter;

#[cfg(test)]
mod tests;
