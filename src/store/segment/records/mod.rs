//! Kept sets and values of a segment. Layout: `format-spec/elements.md` and `format-spec/values.md`.
//!
//! "Here is an id, give me its elements. Here is a row, give me its value." A [`SetReader`] and a [`ValueReader`]
//! answer from pages, through the cache. A [`RecordWriter`] takes encoded records in the order of their ids or rows.

mod reader;
mod rebuilt;
mod sets;
mod values;
mod writer;

pub use sets::SetReader;
pub use values::ValueReader;
pub use writer::RecordWriter;

#[cfg(test)]
mod tests;
