//! From failures of the library to Python exceptions.
//!
//! In: an error of the library, a message, a Python exception or a panic. Out: an exception of `ringerdb.errors`, with the
//! library's message. Work without the GIL returns a [`Failure`]; it becomes an exception once the GIL is held again.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;
use ringer::Error;

/// Why a call fails.
#[derive(Debug)]
pub(crate) enum Failure {
    Library(Error),
    /// An error of the library about one row of a column.
    Row(usize, Error),
    /// An exception of this package, by its name, and its message.
    Named(&'static str, String),
    /// An exception that Python code or PyO3 raised.
    Python(PyErr),
    /// A panic. It is a bug, and must not cross into Python as one.
    Panic(String),
}

/// The result of a call.
pub(crate) type Outcome<T> = Result<T, Failure>;

impl Failure {
    pub(crate) fn invalid(message: impl Into<String>) -> Failure {
        Failure::Named("InvalidArgument", message.into())
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure::Library(error)
    }
}

impl From<PyErr> for Failure {
    fn from(error: PyErr) -> Failure {
        Failure::Python(error)
    }
}

impl From<pyo3_arrow::error::PyArrowError> for Failure {
    fn from(error: pyo3_arrow::error::PyArrowError) -> Failure {
        Failure::Python(error.into())
    }
}

impl From<arrow::error::ArrowError> for Failure {
    fn from(error: arrow::error::ArrowError) -> Failure {
        Failure::invalid(format!("the Arrow data cannot be used: {error}"))
    }
}

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> PyErr {
        match failure {
            Failure::Library(error) => exception(class_of(&error), message_of(&error)),
            Failure::Row(row, error) => {
                exception(class_of(&error), format!("row {row}: {}", message_of(&error)))
            }
            Failure::Named(class, message) => exception(class, message),
            Failure::Python(error) => error,
            Failure::Panic(message) => {
                exception("Error", format!("ringerdb has a bug, please report it: {message}"))
            }
        }
    }
}

/// The exception for an error of the library.
fn class_of(error: &Error) -> &'static str {
    match error {
        Error::InvalidArgument { .. }
        | Error::Undefined { .. }
        | Error::NoCardinality { .. }
        | Error::OtherMeasure { .. }
        | Error::TooFewBits { .. }
        | Error::NotDerivable { .. }
        | Error::NotDocuments { .. } => "InvalidArgument",
        Error::SchemeMismatch { .. } | Error::ForeignScheme => "SchemeMismatch",
        Error::UnsupportedFormat { .. } | Error::NotADatabase { .. } => "UnsupportedFormat",
        Error::OverLimit { .. } | Error::DocumentTooLarge { .. } => "OverLimit",
        Error::NoSuchKey { .. } => "NoSuchKey",
        Error::NoSpace { .. } | Error::TooLittleSpace { .. } => "NoSpace",
        Error::Io { .. }
        | Error::Exists { .. }
        | Error::NotOurs { .. }
        | Error::ReservedName { .. }
        | Error::Replaced { .. }
        | Error::Poisoned { .. } => "IoError",
        Error::Locked { .. } => "LockedError",
        Error::Closed { .. } | Error::Forked { .. } => "ClosedError",
        Error::Interrupted => "Error",
        // Damage of the file or of the log, and variants of later versions of the library.
        _ => "CorruptError",
    }
}

/// The message of an error of the library, in terms of Python where the library speaks of its own calls.
fn message_of(error: &Error) -> String {
    match error {
        Error::NotDocuments { features, .. } => format!(
            "a scheme with features `{features}` takes sets, not documents; give set= or sets="
        ),
        other => other.to_string(),
    }
}

/// An exception of `ringerdb.errors` with a message.
fn exception(class: &str, message: String) -> PyErr {
    static MODULE: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
    Python::attach(|py| {
        let module = MODULE.get_or_try_init(py, || py.import("ringerdb.errors").map(Bound::unbind));
        let class = module.and_then(|module| module.bind(py).getattr(class));
        match class.and_then(|class| Ok(class.cast_into::<PyType>()?)) {
            Ok(class) => PyErr::from_type(class, message),
            Err(error) => error,
        }
    })
}
