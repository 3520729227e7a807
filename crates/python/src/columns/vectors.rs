//! Columns of vectors in Arrow lists of numbers.
//!
//! In: lists of equal length. Out: the coordinates of any row. Lists of 64-bit floats are not copied.

use arrow::array::{Array, ArrayRef, AsArray, Float64Array};
use arrow::buffer::NullBuffer;
use arrow::compute::{CastOptions, cast_with_options};
use arrow::datatypes::{DataType, Float64Type};
use pyo3::prelude::*;

use super::arrow::chunks;
use super::lists::parts_of;
use crate::failure::{Failure, Outcome};

/// A column of vectors.
pub(crate) struct Vectors {
    chunks: Vec<Chunk>,
    /// The number of rows before each chunk, and the number of all rows.
    starts: Vec<usize>,
}

struct Chunk {
    values: Float64Array,
    offsets: Vec<usize>,
    nulls: Option<NullBuffer>,
}

impl Vectors {
    /// Reads Arrow data; `None` if it is something else.
    pub(crate) fn new(data: &Bound<'_, PyAny>) -> Outcome<Option<Vectors>> {
        let Some(arrays) = chunks(data)? else { return Ok(None) };
        let (mut vectors, mut width) = (Vectors { chunks: Vec::new(), starts: vec![0] }, None);
        for array in &arrays {
            let chunk = of_array(array)?;
            let start = vectors.len();
            for (row, ends) in chunk.offsets.windows(2).enumerate() {
                if chunk.is_null(row) {
                    continue;
                }
                let (row, found) = (start + row, ends[1] - ends[0]);
                if (ends[0]..ends[1]).any(|place| chunk.values.is_null(place)) {
                    return Err(Failure::invalid(format!("row {row}: a coordinate is null")));
                }
                let width = *width.get_or_insert(found);
                if found != width {
                    let message = format!("row {row} has {found} coordinates, and others {width}");
                    return Err(Failure::invalid(message));
                }
            }
            vectors.starts.push(start + chunk.offsets.len() - 1);
            vectors.chunks.push(chunk);
        }
        Ok(Some(vectors))
    }

    pub(crate) fn len(&self) -> usize {
        self.starts[self.chunks.len()]
    }

    /// The coordinates of a row; `None` if it is null.
    pub(crate) fn get(&self, row: usize) -> Option<&[f64]> {
        let number = self.starts.partition_point(|start| *start <= row) - 1;
        let (chunk, row) = (&self.chunks[number], row - self.starts[number]);
        let places = chunk.offsets[row]..chunk.offsets[row + 1];
        (!chunk.is_null(row)).then(|| &chunk.values.values()[places])
    }
}

impl Chunk {
    fn is_null(&self, row: usize) -> bool {
        self.nulls.as_ref().is_some_and(|nulls| nulls.is_null(row))
    }
}

fn of_array(array: &ArrayRef) -> Outcome<Chunk> {
    let (values, offsets, nulls) = parts_of(array, "vectors")?;
    let kind = values.data_type();
    if !kind.is_numeric() {
        let message = format!("vectors: lists of {kind} cannot be used; give lists of numbers");
        return Err(Failure::invalid(message));
    }
    let strict = CastOptions { safe: false, ..CastOptions::default() };
    let values = cast_with_options(&values, &DataType::Float64, &strict)?;
    Ok(Chunk { values: values.as_primitive::<Float64Type>().clone(), offsets, nulls })
}
