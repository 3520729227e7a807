//! `ringer dedup` on datasets: rows of JSONL and Parquet in, kept rows out.

mod formats;
mod hostile_shards;
mod invalid_input;
mod kept_rows;
#[cfg(unix)]
mod kill;
mod oracle;
mod output;
#[cfg(feature = "parquet")]
mod parquet_fields;
#[cfg(feature = "parquet")]
mod parquet_files;
mod stored_rows;
