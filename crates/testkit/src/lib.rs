//! Shared support for the tests, benches and fuzz targets of Ringer.
//!
//! | module | contents |
//! |---|---|
//! | [`oracle`], [`query_oracle`], [`all_pairs`] | brute force: the correct answers of a database |
//! | [`history`], [`maintenance`], [`meddled`], [`child`] | scripted histories of a database in memory, on a failing disk, between the steps of a reader, and in child processes that are killed |
//! | [`attacks`], [`corpus`], [`forged`], [`damaged`], [`complete_file`] | attacks with hostile bytes, the fuzzing corpora, forged fields, damaged files |
//! | [`trials`], [`binomial`] | repeated sketches for statistical tests, and their bounds |
//! | [`real`], [`workload`] | real data sets with known answers, and a synthetic one of any size |
//! | [`inject`], [`unprivileged`], [`folder`], [`allocations`] | programs under `strace`, unprivileged users, folders, memory in use |
//! | [`spec_tables`] | the offset tables of `format-spec/` |
#![allow(
    clippy::new_without_default,
    clippy::len_without_is_empty,
    reason = "nobody asks for a default of these, and none is empty"
)]
#![allow(missing_docs, reason = "support for tests: an item whose name says it all needs no more")]

pub mod all_pairs;
pub mod allocations;
pub mod attacks;
pub mod binomial;
pub mod child;
pub mod complete_file;
pub mod corpus;
pub mod damaged;
pub mod folder;
pub mod forged;
pub mod history;
pub mod inject;
pub mod maintenance;
pub mod meddled;
pub mod oracle;
pub mod query_oracle;
pub mod random;
pub mod real;
pub mod scale;
pub mod spec_tables;
pub mod trials;
#[cfg(unix)]
pub mod unprivileged;
pub mod workload;
