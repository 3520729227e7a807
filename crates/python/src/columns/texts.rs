//! Columns of texts, keys or other bytes.
//!
//! In: a list of `str` or `bytes`, or Arrow strings or binaries. Out: the bytes of any row. Nothing is copied.

use arrow::array::{
    Array, ArrayRef, AsArray, BinaryArray, BinaryViewArray, FixedSizeBinaryArray, LargeBinaryArray,
    LargeStringArray, StringArray, StringViewArray,
};
use arrow::datatypes::DataType;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

use super::arrow::chunks;
use super::objects::{Text, is_null};
use crate::failure::{Failure, Outcome};

/// A column of bytes.
pub(crate) struct Texts {
    chunks: Vec<Chunk>,
    /// The number of rows before each chunk, and the number of all rows.
    starts: Vec<usize>,
}

enum Chunk {
    Objects(Vec<Option<Text>>),
    Utf8(StringArray),
    LargeUtf8(LargeStringArray),
    Utf8View(StringViewArray),
    Binary(BinaryArray),
    LargeBinary(LargeBinaryArray),
    BinaryView(BinaryViewArray),
    Fixed(FixedSizeBinaryArray),
    Nulls(usize),
}

impl Texts {
    /// Reads a column; `what` names it in messages.
    pub(crate) fn new(data: &Bound<'_, PyAny>, what: &str) -> Outcome<Texts> {
        if data.is_instance_of::<PyString>() || data.is_instance_of::<PyBytes>() {
            return Err(Failure::invalid(format!("{what} is a single text; give a list of texts")));
        }
        let chunks = match chunks(data)? {
            Some(arrays) => {
                arrays.iter().map(|array| of_array(array, what)).collect::<Outcome<_>>()?
            }
            None => vec![Chunk::Objects(of_objects(data, what)?)],
        };
        Ok(Texts::of_chunks(chunks))
    }

    /// The strings in the values of an Arrow list.
    pub(super) fn of_values(values: &ArrayRef) -> Outcome<Texts> {
        Ok(Texts::of_chunks(vec![of_array(values, "a set")?]))
    }

    fn of_chunks(chunks: Vec<Chunk>) -> Texts {
        let mut starts = vec![0];
        chunks.iter().for_each(|chunk| starts.push(starts[starts.len() - 1] + chunk.len()));
        Texts { chunks, starts }
    }

    pub(crate) fn len(&self) -> usize {
        self.starts[self.chunks.len()]
    }

    /// The bytes of a row; `None` if it is null.
    pub(crate) fn get(&self, row: usize) -> Option<&[u8]> {
        let chunk = self.starts.partition_point(|start| *start <= row) - 1;
        self.chunks[chunk].get(row - self.starts[chunk])
    }

    /// The bytes of all rows together.
    pub(crate) fn bytes(&self) -> usize {
        (0..self.len()).filter_map(|row| self.get(row)).map(<[u8]>::len).sum()
    }

    /// The first row that is null.
    pub(crate) fn first_null(&self) -> Option<usize> {
        (0..self.len()).find(|row| self.get(*row).is_none())
    }
}

impl Chunk {
    fn len(&self) -> usize {
        match self {
            Chunk::Objects(texts) => texts.len(),
            Chunk::Utf8(array) => array.len(),
            Chunk::LargeUtf8(array) => array.len(),
            Chunk::Utf8View(array) => array.len(),
            Chunk::Binary(array) => array.len(),
            Chunk::LargeBinary(array) => array.len(),
            Chunk::BinaryView(array) => array.len(),
            Chunk::Fixed(array) => array.len(),
            Chunk::Nulls(rows) => *rows,
        }
    }

    fn get(&self, row: usize) -> Option<&[u8]> {
        match self {
            Chunk::Objects(texts) => texts[row].as_ref().map(Text::bytes),
            Chunk::Utf8(array) => array.is_valid(row).then(|| array.value(row).as_bytes()),
            Chunk::LargeUtf8(array) => array.is_valid(row).then(|| array.value(row).as_bytes()),
            Chunk::Utf8View(array) => array.is_valid(row).then(|| array.value(row).as_bytes()),
            Chunk::Binary(array) => array.is_valid(row).then(|| array.value(row)),
            Chunk::LargeBinary(array) => array.is_valid(row).then(|| array.value(row)),
            Chunk::BinaryView(array) => array.is_valid(row).then(|| array.value(row)),
            Chunk::Fixed(array) => array.is_valid(row).then(|| array.value(row)),
            Chunk::Nulls(_) => None,
        }
    }
}

fn of_array(array: &ArrayRef, what: &str) -> Outcome<Chunk> {
    Ok(match array.data_type() {
        DataType::Utf8 => Chunk::Utf8(array.as_string().clone()),
        DataType::LargeUtf8 => Chunk::LargeUtf8(array.as_string().clone()),
        DataType::Utf8View => Chunk::Utf8View(array.as_string_view().clone()),
        DataType::Binary => Chunk::Binary(array.as_binary().clone()),
        DataType::LargeBinary => Chunk::LargeBinary(array.as_binary().clone()),
        DataType::BinaryView => Chunk::BinaryView(array.as_binary_view().clone()),
        DataType::FixedSizeBinary(_) => Chunk::Fixed(array.as_fixed_size_binary().clone()),
        DataType::Null => Chunk::Nulls(array.len()),
        other => {
            let message =
                format!("{what}: a column of {other} cannot be used; give strings or binaries");
            return Err(Failure::invalid(message));
        }
    })
}

fn of_objects(data: &Bound<'_, PyAny>, what: &str) -> Outcome<Vec<Option<Text>>> {
    let mut texts = Vec::with_capacity(data.len().unwrap_or(0));
    let rows = data.try_iter().map_err(|_| {
        let kind = data.get_type();
        Failure::invalid(format!("{what} is {kind}; give a list, a numpy array or an Arrow column"))
    })?;
    for (row, object) in rows.enumerate() {
        let object = object?;
        let null = is_null(&object)?;
        texts.push(match null {
            true => None,
            false => Some(Text::new(&object, || format!("row {row} of {what}"))?),
        });
    }
    Ok(texts)
}
