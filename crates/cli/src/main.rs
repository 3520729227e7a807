//! The `ringer` command. The library of this crate has all of its code.

use std::process::ExitCode;

fn main() -> ExitCode {
    ringer_cli::main()
}
