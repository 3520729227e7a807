//! `ringer dedup` on datasets: rows of JSONL or Parquet files in, kept rows out.
//!
//! Memory does not grow with the texts. The input is read twice:
//!
//! 1. [`collect`]: every row is taken apart and sketched ([`blocks`], [`read`]). Signatures go to a working database, keys and
//!    sets to a [`spill`] file. With `--db`, rows that resemble what earlier runs kept ([`stored`]) are removed at once.
//! 2. [`groups`]: similar rows are grouped. Candidates come from the signatures; the sets decide.
//! 3. [`write`]: the input is read again, and kept rows are copied to the output.
//!
//! Output has a temporary name until it is complete ([`crate::staged`]). A row that cannot be judged is kept.

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
mod row;
mod run;
mod shards;
mod spill;
mod stored;
mod summary;
mod write;

pub(crate) use arguments::DatasetArguments;
#[cfg(feature = "parquet")]
pub(crate) use row::{Fields, Row, Value, named};
pub(crate) use run::Job;

use crate::exit::Failure;

/// Says that this build has no Parquet.
pub(crate) fn no_parquet() -> Failure {
    Failure::Usage(
        "this build of ringer cannot read or write Parquet: build it with `--features parquet`"
            .into(),
    )
}
