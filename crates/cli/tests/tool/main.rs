//! Output, exit status and errors of the `ringer` command.

#[cfg(unix)]
mod actions;
mod add;
#[cfg(unix)]
mod arguments;
mod dataset;
mod dedup;
mod export;
mod foreign;
mod guide;
mod increments;
#[cfg(unix)]
mod input_options;
mod limits;
mod maintenance;
mod measures;
#[cfg(all(target_os = "linux", feature = "parquet"))]
mod messages;
#[cfg(unix)]
mod planted_links;
#[cfg(unix)]
mod progress;
mod query;
mod query_files;
mod reindex;
mod report;
#[cfg(unix)]
mod reserved_names;
mod run;
#[cfg(unix)]
mod transcript;
mod values;
mod verify;
mod weights;
