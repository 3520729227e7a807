//! The command line as a whole: a command, and how its output looks.

use clap::Parser;

use crate::commands::Command;
use crate::show::Style;

/// Finds sets that look alike: near-duplicate files, documents, baskets.
#[derive(Parser)]
#[command(name = "ringer", version, arg_required_else_help = true, propagate_version = true)]
#[command(
    after_help = "Exit status: 0 done, 1 findings or no such key, 2 usage, 3 input or output, \
4 locked by another process, 5 damaged or refused file, 6 limit exceeded, 130 interrupted."
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
    #[command(flatten)]
    pub(crate) style: Style,
}
