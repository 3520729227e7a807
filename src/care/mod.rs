//! How a database is brought in order: creation, recovery at open, checks, repair, salvage.
//!
//! In: a path, or bytes that may be damaged in any way. Out: a writer on a whole state and a report of
//! what was found, or an error that says what to do; and, where asked, findings or a new database with
//! everything that could still be read.

pub mod check;
mod check_sets;
pub mod create;
mod failing_disk;
pub mod recovery;
pub mod repair;
pub mod salvage;

pub use check::{CheckReport, Depth, Finding};
pub use recovery::OpenReport;
pub use repair::RepairReport;
pub use salvage::SalvageReport;
