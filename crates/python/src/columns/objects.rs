//! Single Python objects: keys, texts, elements.
//!
//! In: an object. Out: its bytes, or a number, or a message that says what is allowed. Strings that UTF-8 cannot represent
//! are refused.

use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};
use pyo3::types::{PyBytes, PyFloat, PyString};
use ringer::features;

use crate::failure::{Failure, Outcome};

/// A `str` or `bytes` object. Its bytes can be read from any thread, and are not copied.
#[derive(Debug)]
pub(crate) enum Text {
    Str(PyBackedStr),
    Bytes(PyBackedBytes),
}

impl Text {
    /// Reads an object; `what` names it in messages.
    pub(crate) fn new(object: &Bound<'_, PyAny>, what: impl Fn() -> String) -> Outcome<Text> {
        if let Ok(text) = object.cast::<PyString>() {
            let text = PyBackedStr::try_from(text.clone()).map_err(|_| {
                Failure::invalid(format!(
                    "{} has a surrogate, which UTF-8 cannot represent; encode it, for example with os.fsencode",
                    what()
                ))
            })?;
            return Ok(Text::Str(text));
        }
        match object.cast::<PyBytes>() {
            Ok(bytes) => Ok(Text::Bytes(bytes.clone().into())),
            Err(_) => {
                let kind = object.get_type().name()?;
                Err(Failure::invalid(format!("{} is {kind}; it must be str or bytes", what())))
            }
        }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Text::Str(text) => text.as_bytes(),
            Text::Bytes(bytes) => bytes,
        }
    }
}

/// The bytes of a key.
pub(crate) fn key(object: &Bound<'_, PyAny>) -> Outcome<Vec<u8>> {
    Text::new(object, || "the key".into()).map(|key| key.bytes().to_vec())
}

/// A key as Python sees it: `str`, or `bytes` if it is not UTF-8.
pub(crate) fn key_object<'py>(py: Python<'py>, key: &[u8]) -> Bound<'py, PyAny> {
    match str::from_utf8(key) {
        Ok(text) => PyString::new(py, text).into_any(),
        Err(_) => PyBytes::new(py, key).into_any(),
    }
}

/// Whether an object stands for a missing value: `None`, NaN, or the NA of pandas.
pub(super) fn is_null(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    if object.is_none() {
        return Ok(true);
    }
    if let Ok(number) = object.cast::<PyFloat>() {
        return Ok(number.value().is_nan());
    }
    Ok(object.get_type().name()?.to_str()? == "NAType")
}

/// An element of a set, and whether it is a token.
pub(super) fn element(object: &Bound<'_, PyAny>, row: usize) -> Outcome<(u64, bool)> {
    if object.is_instance_of::<PyString>() || object.is_instance_of::<PyBytes>() {
        let token = Text::new(object, || format!("row {row}: an element"))?;
        return Ok((features::token(token.bytes()), true));
    }
    object.extract().map(|number| (number, false)).map_err(|_| {
        let shown = object.repr().map(|repr| repr.to_string()).unwrap_or_default();
        let shown: String = shown.chars().take(60).collect();
        Failure::invalid(format!(
            "row {row}: element {shown}: an element is an int from 0 to 2**64 - 1, or a str"
        ))
    })
}
