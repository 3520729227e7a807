//! What the `ringer` command says, returns and refuses, command by command.

mod add;
#[cfg(unix)]
mod arguments;
mod dataset;
mod dedup;
mod guide;
mod limits;
mod maintenance;
mod measures;
#[cfg(all(target_os = "linux", feature = "parquet"))]
mod messages;
#[cfg(unix)]
mod planted_links;
mod query;
#[cfg(unix)]
mod reserved_names;
mod run;
mod verify;
