//! `ringer dedup` on datasets: rows of JSONL and Parquet in, kept rows out.

#[cfg(unix)]
mod denied;
mod formats;
mod hostile_shards;
mod invalid_input;
mod kept_rows;
#[cfg(unix)]
mod kill;
mod memory;
mod oracle;
mod output;
#[cfg(feature = "parquet")]
mod parquet_fields;
#[cfg(feature = "parquet")]
mod parquet_files;
mod real_data;
mod stored_rows;
