//! How the tool ends: an exit status for each kind of failure, and one line that says what to do.
//!
//! 0 done, 1 findings or a key that is not there, 2 usage, 3 input or output, 4 locked by another process,
//! 5 damaged or refused file, 6 limit exceeded, 130 interrupted.

use std::cell::Cell;
use std::io::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

use ringer::Error;

/// Why a command did not end as hoped for.
pub(crate) enum Failure {
    /// There are findings, and they were printed; or a key is not there, and that was said.
    Findings,
    /// The arguments make no sense together.
    Usage(String),
    /// Something could not be read or written.
    Io(String),
    /// A limit was exceeded.
    Limit(String),
    /// The library refused.
    Library(Error),
    /// Someone asked us to stop. All that was counted is stored.
    Interrupted,
    /// Whoever read our output has gone: nothing is wrong.
    OutputClosed,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
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

/// An argument that the library refused: wrong usage, whatever limit it broke.
pub(crate) fn bad_argument(error: Error) -> Failure {
    match error {
        Error::InvalidArgument { .. } => Failure::Usage(error.to_string()),
        other => Failure::Library(other),
    }
}

/// Says what went wrong on standard error and gives the status.
pub(crate) fn report(result: Result<(), Failure>) -> ExitCode {
    let (status, message) = match result {
        Ok(()) | Err(Failure::OutputClosed) => return ExitCode::SUCCESS,
        Err(Failure::Findings) => return ExitCode::from(1),
        Err(Failure::Interrupted) => return ExitCode::from(130),
        Err(Failure::Usage(message)) => (2, message),
        Err(Failure::Io(message)) => (3, message),
        Err(Failure::Limit(message)) => (6, message),
        Err(Failure::Library(Error::Interrupted)) => return ExitCode::from(130),
        Err(Failure::Library(error)) => (status_of(&error), error.to_string()),
    };
    say(&format!("error: {message}"));
    ExitCode::from(status)
}

fn status_of(error: &Error) -> u8 {
    match error {
        Error::NoSuchKey { .. } => 1,
        Error::OtherMeasure { .. } => 2,
        Error::Io { .. }
        | Error::NoSpace { .. }
        | Error::Poisoned { .. }
        | Error::Replaced { .. }
        | Error::Forked { .. }
        | Error::Closed { .. } => 3,
        Error::Locked { .. } => 4,
        // Of stored sets too many, too long, too large: not of what the command line says.
        Error::InvalidArgument { .. }
        | Error::OverLimit { .. }
        | Error::DocumentTooLarge { .. }
        | Error::NoCardinality { .. }
        | Error::TooFewBits { .. }
        | Error::Undefined { .. } => 6,
        _ => 5,
    }
}

/// A line on standard error. That it cannot be written is no reason to fail.
pub(crate) fn say(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}

thread_local! {
    static CAUGHT: Cell<bool> = const { Cell::new(false) };
}

/// Whether a panic of this thread is caught by [`without_panic`], and not worth a message.
pub(crate) fn panics_are_caught() -> bool {
    CAUGHT.get()
}

/// Calls code of others that may panic when its input is damaged. `None` if it does.
#[cfg_attr(not(feature = "parquet"), expect(dead_code, reason = "only Parquet needs it"))]
pub(crate) fn without_panic<T>(call: impl FnOnce() -> T) -> Option<T> {
    let before = CAUGHT.replace(true);
    let called = catch_unwind(AssertUnwindSafe(call));
    CAUGHT.set(before);
    called.ok()
}
