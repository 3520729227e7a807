//! `ringer dedup` on datasets: rows of JSONL or Parquet files in, kept rows out.
//!
//! Memory does not grow with the texts. The input is read in steps 1 and 3:
//!
//! 1. [`collect`] parses and sketches every row ([`blocks`], [`read`]). Signatures go to a working database, keys and sets to a
//!    [`spill`] file. With `--db`, rows that resemble a row kept by an earlier run ([`stored`]) are removed at once.
//! 2. [`groups`] groups similar rows. Signatures find candidates; the sets decide.
//! 3. [`write`] reads the input again and copies the kept rows to the output.
//!
//! Output has a temporary name until it is complete ([`crate::staged`]). A row that cannot be compared is kept.

mod arguments;
mod blocks;
mod collect;
#[doc(hidden)]
pub mod fuzzed;
mod groups;
mod json;
mod lines;
mod list;
mod read;
mod reported;
mod row;
mod run;
mod shards;
mod spill;
mod stored;
mod summary;
mod write;

pub(crate) use arguments::DatasetArguments;
pub(crate) use row::KeepRow;
#[cfg(feature = "parquet")]
pub(crate) use row::{Fields, Row, Value, named};
pub(crate) use run::Job;

use crate::exit::Failure;

/// The error of a build without Parquet.
pub(crate) fn no_parquet() -> Failure {
    Failure::Usage(
        "this build of ringer does not support Parquet: build it with `--features parquet`".into(),
    )
}
