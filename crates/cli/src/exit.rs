//! How the tool ends: an exit status for each kind of failure, and one line on standard error that says what to do.
//!
//! 0 success; 1 findings, key not found, or no match; 2 usage error; 3 I/O error, or none of the input could be used;
//! 4 locked by another process; 5 damaged or refused file; 6 limit exceeded; 130 interrupted.

use std::cell::Cell;
use std::io::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};

use ringer::Error;

use crate::input::refusal;
use crate::{interrupt, show};

/// Why a command does not end with status 0.
pub(crate) enum Failure {
    /// Findings were printed, a missing key was reported, or a query found nothing.
    Findings,
    /// The arguments contradict each other, or do not fit the database.
    Usage(String),
    /// Something could not be read or written.
    Io(String),
    /// A limit was exceeded.
    Limit(String),
    /// The library returned an error.
    Library(Error),
    /// The user interrupted the command. Everything that was reported as stored is stored.
    Interrupted,
    /// The reader of standard output is gone. This is not an error.
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

/// Turns an argument that the library rejected into a usage error.
pub(crate) fn bad_argument(error: Error) -> Failure {
    match error {
        Error::InvalidArgument { .. } => Failure::Usage(error.to_string()),
        other => Failure::Library(other),
    }
}

/// Prints the error, if any, and returns the exit status.
pub(crate) fn report(result: Result<(), Failure>) -> u8 {
    let (status, message) = match result {
        Ok(()) | Err(Failure::OutputClosed) => return 0,
        Err(Failure::Findings) => return 1,
        Err(Failure::Interrupted | Failure::Library(Error::Interrupted)) => {
            interrupt::tell();
            return 130;
        }
        Err(Failure::Usage(message)) => (2, message),
        Err(Failure::Io(message)) => (3, message),
        Err(Failure::Limit(message)) => (6, message),
        Err(Failure::Library(error)) => (status_of(&error), message_of(&error)),
    };
    say(&format!("error: {message}"));
    status
}

/// The message of an error of the library, in terms of commands where the library speaks of calls.
fn message_of(error: &Error) -> String {
    match error {
        Error::Locked { path } => format!(
            "{} is open for writing in another process: wait until that process closes it; commands that only read work \
             meanwhile",
            show::path(path)
        ),
        Error::ForeignScheme => "this database has sketches of another program, which cannot be compared with texts or sets, \
             because their hash functions differ: query it by --key, or with signatures from Python (docs/python.md)"
            .into(),
        other => refusal(other),
    }
}

fn status_of(error: &Error) -> u8 {
    match error {
        Error::NoSuchKey { .. } => 1,
        Error::OtherMeasure { .. } | Error::ForeignScheme | Error::NotDerivable { .. } => 2,
        Error::Io { .. }
        | Error::NoSpace { .. }
        | Error::TooLittleSpace { .. }
        | Error::Poisoned { .. }
        | Error::Replaced { .. }
        | Error::Forked { .. }
        | Error::Closed { .. } => 3,
        Error::Locked { .. } => 4,
        // Here the limit was broken by stored data, not by the command line.
        Error::InvalidArgument { .. }
        | Error::OverLimit { .. }
        | Error::DocumentTooLarge { .. }
        | Error::NoCardinality { .. }
        | Error::TooFewBits { .. }
        | Error::Undefined { .. } => 6,
        _ => 5,
    }
}

/// Prints a line on standard error. A failure to print is ignored.
pub(crate) fn say(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}

thread_local! {
    static CAUGHT: Cell<bool> = const { Cell::new(false) };
}

/// Whether [`without_panic`] catches panics of this thread, so that no message is needed.
pub(crate) fn panics_are_caught() -> bool {
    CAUGHT.get()
}

/// Calls third-party code that may panic on damaged input. Returns `None` if it does.
#[cfg_attr(not(feature = "parquet"), expect(dead_code, reason = "only Parquet needs it"))]
pub(crate) fn without_panic<T>(call: impl FnOnce() -> T) -> Option<T> {
    let before = CAUGHT.replace(true);
    let called = catch_unwind(AssertUnwindSafe(call));
    CAUGHT.set(before);
    called.ok()
}
