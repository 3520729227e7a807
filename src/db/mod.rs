//! The public handles: a [`Database`] for writing, a [`Reader`], and the [`Snapshot`] of either.
//!
//! In: calls of a program. Out: calls of the modules that do the work. This module has no algorithm of its own.

mod database;
mod open;
mod reader;
mod snapshot;
mod stat;

pub use crate::ingest::{Activity, Batch, BulkLoad, Committed};
pub use crate::maintenance::{
    CheckReport, Depth, Finding, OpenReport, ReindexReport, RepairReport, SalvageReport,
};
pub use crate::store::state::Stored;
pub use database::Database;
pub use reader::Reader;
pub use snapshot::{Keys, Range, Snapshot};
pub use stat::Stat;
