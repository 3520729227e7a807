#![doc = include_str!("../README.md")]
//!
//! # Modules
//!
//! Data flows down: a module may use those above it. Those without a link are private; the crate's own tests reach them through
//! the hidden module `internals`.
//!
//! | module | question it answers |
//! |---|---|
//! | [`error`], [`limits`], [`options`], [`scheme`] | names and numbers: what makes two signatures comparable? |
//! | `serialize` | with the feature `serde`: what do keys and schemes look like to serializers? |
//! | `sync` | which locks and threads: those of the system, or those that a scheduler tries in many orders? |
//! | `kernel` | here are words: what does this processor do fastest with them? |
//! | [`features`] | here is a document: which set is it? |
//! | [`sketch`] | here is a set: what is its signature, and how many samples agree? |
//! | [`estimate`] | so many samples agree: how alike are the sets, and how sure is that? |
//! | `matching` | here are two signatures and a threshold: do the sets match? |
//! | `format` | here are bytes from a disk: what do they say, and may they be believed? |
//! | `store` | here is a position, a page, a segment, a key: give me what is there, and keep what I give |
//! | `index` | here are posting lists: which ids are in several of them? |
//! | `ingest` | here are operations: make them durable and visible, all or none |
//! | [`query`] | here is a set, a key or a signature: what looks like it? |
//! | `care` | here is whatever a crash left: bring it in order, say what is wrong, save the rest |
//! | [`groups`] | here is a database: which of its sets look like each other? |
//! | [`db`] | the database that a program opens, reads and writes |
#![cfg_attr(
    not(feature = "internals"),
    allow(unreachable_pub, reason = "the feature `internals` shows private modules to tests")
)]

pub mod error;
pub mod limits;
pub mod options;
pub mod scheme;

#[cfg(feature = "serde")]
mod serialize;
mod sync;

mod kernel;

pub mod features;

pub mod sketch;

pub mod estimate;

mod matching;

mod format;

mod store;

mod index;

mod ingest;

pub mod query;

mod care;

pub mod groups;

pub mod db;

#[cfg(feature = "internals")]
#[doc(hidden)]
pub mod internals;

pub use db::{
    Activity, Batch, BulkLoad, CheckReport, Committed, Database, Depth, Finding, OpenReport,
    Reader, RepairReport, SalvageReport, Snapshot, Stat, Stored,
};
pub use error::{Error, Result};
pub use estimate::{Accept, Comparison, Estimate, resemblance_of};
pub use groups::{
    Cluster, Clustering, Clusters, Found, Group, Linkage, Pair, Pairs, Triple, Triples,
};
pub use options::{HotTierKind, Options, Recovery};
pub use query::{Answer, Explanation, Like, Lost, Match, Originals, Plan, Query};
pub use scheme::{Parameters, Scheme, presets};
pub use sketch::{Signature, Signatures, Sketcher, Stream};
pub use store::companions::is_companion;

/// The programs in the guide, as doc tests.
#[cfg(doctest)]
mod guide {
    #[doc = include_str!("../docs/choosing-a-scheme.md")]
    struct ChoosingAScheme;
    #[doc = include_str!("../docs/getting-started.md")]
    struct GettingStarted;
    #[doc = include_str!("../docs/limits.md")]
    struct Limits;
    #[doc = include_str!("../docs/tuning.md")]
    struct Tuning;
    #[doc = include_str!("../docs/what-a-query-finds.md")]
    struct WhatAQueryFinds;
    #[doc = include_str!("../docs/what-an-estimate-means.md")]
    struct WhatAnEstimateMeans;
}
