//! Forged files: every number of every record and page changed, with correct checksums.

pub mod fields;
pub mod images;
pub mod values;
