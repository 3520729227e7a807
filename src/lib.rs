//! Ringer is an embedded database for set similarity. It answers the question *which stored sets resemble this one?*
//!
//! # The idea
//!
//! A set can be anything: the words of a text, the chunks of a file, a shopping basket. The *resemblance* of two sets
//! is the size of their intersection divided by the size of their union. Ringer keeps a small *signature* of each set,
//! by default 64 samples of 8 bits. The share of equal samples of two signatures estimates the resemblance. An index
//! over groups of samples finds similar signatures without comparing all of them.
//!
//! # A first example
//!
//! ```
//! use ringer::{Database, Like, Scheme};
//!
//! # fn main() -> ringer::Result<()> {
//! let db = Database::in_memory(&Scheme::default())?;
//! db.put_text("a", "Never put off till tomorrow what you can do today.")?;
//! db.put_text("b", "never put off till tomorrow what you can do today, they say")?;
//!
//! let answer = db.snapshot().query(Like::Key(b"a")).top(5).run()?;
//! let found = &answer.matches[0];
//! assert_eq!(&*found.key, b"b");
//! println!("{:.2}", found.similarity()); // the estimate, its standard error and its 95 % interval
//! # Ok(())
//! # }
//! ```
//!
//! [`Database::create`] makes a database in a file instead, and [`Database::open`] opens it again. A commit is durable
//! when it returns.
//!
//! # Concepts
//!
//! - A [`Scheme`] fixes what makes two signatures comparable: how documents become sets, how sets are sampled, and how
//!   many samples and bits are kept. It is stored in the file. [`Options`] say how a database is run. They never change
//!   an answer.
//! - A [`Database`] handle is cheap to clone. One process writes; any number of [readers](Reader) read.
//! - A [`Snapshot`] is a state of the database. It answers [queries](Snapshot::query), [pairs](Snapshot::pairs),
//!   [clusters](Snapshot::clusters) and [triples](Snapshot::triples).
//! - An [`Estimate`] has a value, a standard error and a 95 % interval. The interval holds for the matches that are
//!   reported. An exact value says so: see [`Comparison::is_exact`].
//! - A threshold can mean three things: the estimate reaches it, the true value possibly does, or it certainly does
//!   ([`Accept`]).
//! - [`Originals`] give Ringer the sets again, so that it counts common elements instead of estimating.
//!
//! # Modules
//!
//! | module | what it is for |
//! |---|---|
//! | [`db`] | the database: open, read, write, check, repair |
//! | [`query`], [`groups`] | find sets that resemble a given one; find sets that resemble each other |
//! | [`features`] | turn documents into sets |
//! | [`sketch`] | turn sets into signatures, without a database |
//! | [`estimate`] | estimates, thresholds, and choosing a scheme |
//! | [`scheme`], [`options`], [`limits`], [`error`] | schemes and presets, tuning, limits, errors |
//!
//! # Cargo features
//!
//! All are off by default.
//!
//! - `serde`: `serde::Serialize` for results, statistics and reports.
//! - `tracing`: spans for commits, checkpoints, merges, vacuum, opening and queries, and events with their numbers, for
//!   subscribers of the crate `tracing`. Spans and events have the target `ringer` and the level DEBUG. They contain no
//!   keys, sets or paths. Some are recorded while locks are held, so a subscriber must not call the database.
//!
//! The guide in `docs/` is organised by task. `ARCHITECTURE.md` describes the code, and `format-spec/` every byte of a
//! file.
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
mod trace;

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

mod maintenance;

pub mod groups;

pub mod db;

#[cfg(feature = "internals")]
#[doc(hidden)]
pub mod internals;

pub use db::{
    Activity, Batch, BulkLoad, CheckReport, Committed, Database, Depth, Finding, OpenReport,
    Reader, ReindexReport, RepairReport, SalvageReport, Snapshot, Stat, Stored,
};
pub use error::{Error, Result};
pub use estimate::{Accept, Comparison, Estimate, JointMeasures, measures_of, resemblance_of};
pub use groups::{
    Cluster, Clustering, Clusters, Found, Group, Linkage, Pair, Pairs, Triple, Triples,
};
pub use options::{LogKind, Options, Recovery};
pub use query::{Answer, Explanation, Like, Lost, Match, Originals, Plan, Query, Score, Scores};
pub use scheme::{Parameters, Scheme, presets};
pub use sketch::{Signature, Signatures, Sketcher, Stream};
pub use store::companions::is_companion;

/// The programs in the README and the guide, as doc tests.
#[cfg(doctest)]
mod guide {
    #[doc = include_str!("../README.md")]
    struct Readme;
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
