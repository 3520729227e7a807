//! Bytes and typed views: what is on disk, field by field, as `format-spec/` has it.
//!
//! In: bytes from anywhere. Out: checked values, or an error that cites the broken rule. This room does no
//! I/O and never panics; where the bytes come from is the concern of [`crate::store`].

pub mod hot_part;
