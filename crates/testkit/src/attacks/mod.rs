//! What hostile bytes are made to do to the store: one entry function for each attack.
//!
//! In: bytes from a fuzzer or from a file. Out: nothing, or a panic that says which promise broke. The fuzz
//! targets and `tests/forged/fuzz_findings.rs` call the same functions, so that a find is replayed as it was found.
//! An input is read by hand here and not by a derive: a regression file keeps its meaning for good.

#[cfg(unix)]
pub mod arguments;
pub mod checksums;
pub mod database;
pub mod edits;
pub mod hot_log;
pub mod input;
pub mod model;
pub mod pages;
pub mod records;
pub mod seeds;
pub mod watched;

/// Takes any bytes, and panics if something is wrong.
pub type Attack = fn(&[u8]);

/// Every attack with the name of its target, of its corpus and of its folder of regressions.
pub const ALL: &[(&str, Attack)] = &[
    ("records", records::records),
    ("pages", pages::pages),
    ("database", database::database),
    ("hot_log", hot_log::hot_log),
    ("model", model::model),
];
