//! The `ringer` command-line tool. Each command has its own file and uses only Ringer's public interface.
//!
//! It is a library so that tests and fuzz targets can run commands without a process. Programs should use the crate `ringer`,
//! because the public items here may change at any time.

mod actions;
mod arguments;
mod clustering;
mod commands;
mod compression;
mod dataset;
mod exit;
mod grouping;
mod input;
mod interrupt;
mod load;
mod open;
#[cfg(feature = "parquet")]
mod parquet;
mod problems;
mod progress;
mod report;
mod results;
mod show;
mod sources;
mod staged;
mod table;
mod usage;
mod weighting;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser;
use ringer::{Scheme, Sketcher};

#[doc(hidden)]
pub use dataset::fuzzed;

use arguments::Arguments;
use input::{Records, Worker};

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    ExitCode::from(main_with(std::env::args_os()))
}

/// Runs a command line that starts with the program's name, in a process that does nothing else, and returns its exit
/// status.
#[doc(hidden)]
pub fn main_with(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    std::panic::set_hook(Box::new(|panic| {
        if exit::panics_are_caught() {
            return;
        }
        // A damaged log can make sled panic in the thread that reads it, or in one of its own. The library catches that and
        // reports the damage.
        let thread = std::thread::current();
        let name = thread.name().unwrap_or_default();
        if name == "ringer-replay" || name.starts_with("sled-io-") {
            return;
        }
        // This panic is not a bug: the system has no memory for a thread's stack. As after a kill, everything that was
        // acknowledged is stored.
        if panic.payload_as_str().is_some_and(|text| text.contains("Cannot allocate memory")) {
            exit::say(
                "error: out of memory: raise the memory limit of this process, or close other programs",
            );
            std::process::exit(3);
        }
        exit::say(&format!("error: ringer has a bug, please report it: {panic}"));
    }));
    let Arguments { command, style } = match Arguments::try_parse_from(arguments) {
        Ok(arguments) => arguments,
        Err(error) => return usage::report(&error),
    };
    if let Some(threads) = style.threads {
        // If threads cannot be started, the command that needs them says so.
        let _ = rayon::ThreadPoolBuilder::new().num_threads(threads.into()).build_global();
    }
    exit::report(command.run(style))
}

/// Runs a command line that starts with the program's name. Returns `None` if it is invalid or asks for help.
#[doc(hidden)]
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> Option<ExitCode> {
    let Arguments { command, style } = Arguments::try_parse_from(arguments).ok()?;
    Some(ExitCode::from(exit::report(command.run(style))))
}

/// Parses lines as `add --sets` or `add --jsonl` does, with the fields `id` and `text`, and sketches them.
#[doc(hidden)]
pub fn sketch_lines(lines: &[u8], json: bool, weighted: bool, sketcher: &Sketcher) {
    let [key_field, text_field] = ["id", "text"].map(String::from);
    let features = sketcher.scheme().features;
    let records = match json {
        true => Records::Json { key_field, text_field, features, weighted },
        false => Records::Sets { weighted },
    };
    let mut worker = Worker::new(sketcher);
    for line in lines.split(|byte| *byte == b'\n') {
        if let Ok(Some((key, content))) = records.parse(line) {
            assert!(!key.is_empty());
            drop(worker.of_content(&content));
        }
    }
}

/// The bytes that this process has read and written, if the system counts them. By them, work of the library that reports no
/// progress is followed.
#[doc(hidden)]
pub fn bytes_moved() -> Option<u64> {
    progress::bytes_moved()
}

/// The scheme of these options of `ringer create`, such as `--features=ids`, or a message.
#[doc(hidden)]
pub fn scheme_of(options: impl IntoIterator<Item = OsString>) -> Result<Scheme, String> {
    commands::scheme_of(options)
}
