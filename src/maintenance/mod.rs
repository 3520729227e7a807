//! Creation, opening, recovery, check, repair, salvage and reindexing of databases.
//!
//! In: a path to a file that may be damaged in any way. Out: what a reader shows, a writer with a report of what
//! recovery did, a list of findings, or a new database with everything readable; otherwise an error that says what to do. This module does
//! not know queries.

pub mod check;
mod check_records;
pub mod create;
mod failing_disk;
pub mod reading;
pub mod recovery;
pub mod reindex;
pub mod repair;
pub mod salvage;

pub use check::{CheckReport, Depth, Finding};
pub use recovery::OpenReport;
pub use reindex::ReindexReport;
pub use repair::RepairReport;
pub use salvage::SalvageReport;
