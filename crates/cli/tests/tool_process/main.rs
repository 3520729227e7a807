//! What the `ringer` command leaves behind when it is killed, refused resources or given hostile input.

mod actions;
mod failing_calls;
mod files_touched;
mod hostile_input;
mod kill;
mod limited_resources;
mod rows;
#[path = "../tool/run.rs"]
mod run;
mod shared_folder;
mod strace;
