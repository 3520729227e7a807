//! The `ringer` command-line tool. One file a command, and nothing but the library's public interface.

mod dedup;
mod exit;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Finds sets that look alike: near-duplicate files, documents, baskets.
#[derive(Parser)]
#[command(version, arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Dedup(dedup::Dedup),
}

fn main() -> ExitCode {
    // clap leaves with status 2 on bad usage, and prints help and version itself.
    let result = match Arguments::parse().command {
        Command::Dedup(command) => command.run(),
    };
    exit::report(result)
}
