//! The command line as a whole: one command, and the options that every command has.

use clap::Parser;

use crate::commands::Command;
use crate::show::Style;

/// Find similar sets: near-duplicate files, documents, shopping baskets.
#[derive(Parser)]
#[command(name = "ringer", version, arg_required_else_help = true, propagate_version = true)]
#[command(
    after_help = "Exit status: 0 success; 1 findings, key not found, or no match; 2 usage error; \
3 I/O error, or none of the input could be used; 4 locked by another process; 5 damaged or refused file; \
6 limit exceeded; 130 interrupted."
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
    #[command(flatten)]
    pub(crate) style: Style,
}
