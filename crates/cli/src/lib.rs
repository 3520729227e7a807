//! The `ringer` command-line tool. Each command has its own file and uses only Ringer's public interface.
//!
//! It is a library so that tests and fuzz targets can run commands without a process. Programs should use the crate `ringer`,
//! because the public items here may change at any time.

mod arguments;
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
mod results;
mod show;
mod sources;
mod staged;
mod table;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser;
use ringer::Sketcher;

#[doc(hidden)]
pub use dataset::fuzzed;

use arguments::Arguments;
use input::{Records, Worker};

/// Runs the command line of this process.
pub fn main() -> ExitCode {
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
    // clap exits with status 2 on bad usage, and prints help and version itself.
    let Arguments { command, style } = Arguments::parse();
    exit::report(command.run(style))
}

/// Runs a command line that starts with the program's name. Returns `None` if it is invalid or asks for help.
#[doc(hidden)]
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> Option<ExitCode> {
    let Arguments { command, style } = Arguments::try_parse_from(arguments).ok()?;
    Some(exit::report(command.run(style)))
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
