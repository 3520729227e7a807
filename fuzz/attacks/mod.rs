//! What hostile bytes are made to do to the store: one entry function for each attack.
//!
//! In: bytes from a fuzzer or from a file. Out: nothing, or a panic that says which promise broke. The fuzz
//! targets and `tests/regressions.rs` call the same functions, so that a find is replayed as it was found.
//! An input is read by hand here and not by a derive: a regression file keeps its meaning for good.
#![allow(dead_code, reason = "each target uses a part of it")]

pub(crate) mod allocations;
#[cfg(unix)]
pub(crate) mod arguments;
pub(crate) mod checksums;
pub(crate) mod database;
pub(crate) mod edits;
pub(crate) mod hot_log;
pub(crate) mod input;
#[path = "../../tests/likes/mod.rs"]
pub(crate) mod likes;
pub(crate) mod model;
pub(crate) mod pages;
pub(crate) mod records;
pub(crate) mod seeds;
pub(crate) mod watched;

/// Takes any bytes, and panics if something is wrong.
pub(crate) type Attack = fn(&[u8]);

/// Every attack with the name of its target, of its corpus and of its folder of regressions.
pub(crate) const ALL: &[(&str, Attack)] = &[
    ("records", records::records),
    ("pages", pages::pages),
    ("database", database::database),
    ("hot_log", hot_log::hot_log),
    ("model", model::model),
];
