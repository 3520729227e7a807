//! The `ringer` command-line tool. One file a command, and nothing but the library's public interface.

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

/// Finds sets that look alike: near-duplicate files, documents, baskets.
#[derive(Parser)]
#[command(name = "ringer", version, arg_required_else_help = true, propagate_version = true)]
#[command(
    after_help = "Exit status: 0 done, 1 findings or no such key, 2 usage, 3 input or output, \
4 locked by another process, 5 damaged or refused file, 6 limit exceeded, 130 interrupted."
)]
struct Arguments {
    #[command(subcommand)]
    command: commands::Command,
    #[command(flatten)]
    style: show::Style,
}

fn main() -> ExitCode {
    std::panic::set_hook(Box::new(|panic| {
        exit::say(&format!("error: ringer has a bug, please report it: {panic}"));
    }));
    // clap leaves with status 2 on bad usage, and prints help and version itself.
    let Arguments { command, style } = Arguments::parse();
    exit::report(command.run(style))
}
