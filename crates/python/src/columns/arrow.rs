//! Arrow data behind `__arrow_c_array__` or `__arrow_c_stream__`.
//!
//! In: a Python object. Out: its arrays, one for each chunk. A table with a single column counts as that column. Encoded
//! columns (dictionaries) are decoded.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::compute::cast;
use arrow::datatypes::DataType;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3_arrow::input::AnyArray;

use crate::failure::{Failure, Outcome};

/// The chunks of an Arrow column, or `None` if the object has neither method.
pub(super) fn chunks(data: &Bound<'_, PyAny>) -> Outcome<Option<Vec<ArrayRef>>> {
    let py = data.py();
    let methods = [intern!(py, "__arrow_c_array__"), intern!(py, "__arrow_c_stream__")];
    if !(data.hasattr(methods[0])? || data.hasattr(methods[1])?) {
        return Ok(None);
    }
    let (chunks, _) = data.extract::<AnyArray>()?.into_chunked_array()?.into_inner();
    chunks.into_iter().map(plain).collect::<Outcome<_>>().map(Some)
}

/// Decodes a dictionary, and replaces a table of one column by the column.
fn plain(array: ArrayRef) -> Outcome<ArrayRef> {
    match array.data_type() {
        DataType::Struct(fields) if fields.len() == 1 => {
            plain(Arc::clone(array.as_struct().column(0)))
        }
        DataType::Struct(fields) => {
            let names: Vec<&str> = fields.iter().map(|field| field.name().as_str()).collect();
            Err(Failure::invalid(format!(
                "a table is not a column: choose one of its columns ({})",
                names.join(", ")
            )))
        }
        DataType::Dictionary(_, values) => Ok(cast(&array, values)?),
        _ => Ok(array),
    }
}
