//! The `ringer` command-line tool. One file a command, and nothing but the library's public interface.

mod arguments;
mod commands;
mod exit;
mod grouping;
mod input;
mod interrupt;
mod load;
mod open;
mod problems;
mod progress;
mod show;

use std::process::ExitCode;

use clap::Parser;

use arguments::Arguments;

fn main() -> ExitCode {
    std::panic::set_hook(Box::new(|panic| {
        exit::say(&format!("error: ringer has a bug, please report it: {panic}"));
    }));
    // clap leaves with status 2 on bad usage, and prints help and version itself.
    let Arguments { command, style } = Arguments::parse();
    exit::report(command.run(style))
}
