//! The `ringer` command. Everything it does is in the library beside it.

use std::process::ExitCode;

fn main() -> ExitCode {
    ringer_cli::main()
}
