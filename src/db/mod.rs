//! The database: what a program opens, reads and writes. It wires the rooms above and holds no algorithm.

mod database;
mod open;
mod reader;
mod snapshot;
mod stat;

pub use crate::care::{CheckReport, Depth, Finding, OpenReport, RepairReport, SalvageReport};
pub use crate::ingest::{Activity, Batch, BulkLoad, Committed};
pub use crate::store::state::Stored;
pub use database::Database;
pub use reader::Reader;
pub use snapshot::{Keys, Range, Snapshot};
pub use stat::Stat;
