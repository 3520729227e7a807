//! Attacks on the store with hostile bytes: one entry function per attack.
//!
//! In: bytes from a fuzzer or from a file. Out: nothing, or a panic that names the broken promise. The fuzz targets
//! and `tests/forged/fuzz_findings.rs` call the same functions, so a finding replays exactly. Inputs are decoded by
//! hand rather than by a derive, so a regression file keeps its meaning.

#[cfg(unix)]
pub mod arguments;
pub mod checksums;
pub mod database;
pub mod edits;
pub mod input;
pub mod log;
pub mod model;
pub mod pages;
pub mod records;
pub mod seeds;
pub mod watched;

/// A function that takes arbitrary bytes and panics if something is wrong.
pub type Attack = fn(&[u8]);

/// Every attack with its name, which is also that of its fuzz target, corpus and regression folder.
pub const ALL: &[(&str, Attack)] = &[
    ("records", records::records),
    ("pages", pages::pages),
    ("database", database::database),
    ("log", log::log),
    ("model", model::model),
];
