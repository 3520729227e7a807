//! What the tests, benches and fuzz targets of Ringer share.
//!
//! | module | what it has |
//! |---|---|
//! | [`oracle`], [`likes`], [`all_pairs`] | brute force: what a database must answer |
//! | [`history`], [`cared`], [`child`] | lives of a database, in memory, on a failing disk and in processes that are killed |
//! | [`attacks`], [`corpus`], [`forged`], [`damaged`], [`swept`] | hostile bytes, what fuzzing kept, forged fields, damaged files |
//! | [`trials`], [`binomial`] | repeated sketches for statistical tests, and the bounds they are held to |
//! | [`real`], [`w2`] | real data sets with known answers, and a synthetic one of any size |
//! | [`traced`], [`unprivileged`], [`folder`], [`allocations`] | programs under `strace`, users without rights, folders, memory in use |
//! | [`spec_tables`] | the tables of `format-spec/` |
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
pub mod cared;
pub mod child;
pub mod corpus;
pub mod damaged;
pub mod folder;
pub mod forged;
pub mod history;
pub mod likes;
pub mod oracle;
pub mod real;
pub mod spec_tables;
pub mod swept;
pub mod traced;
pub mod trials;
#[cfg(unix)]
pub mod unprivileged;
pub mod w2;
