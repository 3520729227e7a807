//! How the tool ends: an exit status for each kind of failure, and one line that says what to do.

use std::io::{self, Write};
use std::process::ExitCode;

/// Why a command failed.
pub(crate) enum Failure {
    /// The arguments make no sense together.
    Usage(String),
    /// Something could not be read or written.
    Io(String),
    /// The library refused.
    Library(ringer::Error),
    /// Whoever read our output has gone: nothing is wrong.
    OutputClosed,
}

impl From<ringer::Error> for Failure {
    fn from(error: ringer::Error) -> Failure {
        Failure::Library(error)
    }
}

/// A failure to write to standard output.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Failure::OutputClosed,
            _ => Failure::Io(format!("cannot write the output: {error}")),
        }
    }
}

/// Says what went wrong on standard error and gives the status: 0 done, 2 usage, 3 input or output,
/// 5 damaged or refused, 6 limit exceeded.
pub(crate) fn report(result: Result<(), Failure>) -> ExitCode {
    let (status, message) = match result {
        Ok(()) | Err(Failure::OutputClosed) => return ExitCode::SUCCESS,
        Err(Failure::Usage(message)) => (2, message),
        Err(Failure::Io(message)) => (3, message),
        Err(Failure::Library(error)) => {
            let status = match error {
                ringer::Error::InvalidArgument { .. } => 6,
                _ => 5,
            };
            (status, error.to_string())
        }
    };
    say(&format!("error: {message}"));
    ExitCode::from(status)
}

/// A line on standard error. That it cannot be written is no reason to fail.
pub(crate) fn say(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}
