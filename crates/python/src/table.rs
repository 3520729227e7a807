//! Tables of results.
//!
//! In: keys, numbers and estimates, row by row. Out: an Arrow table that other libraries read without a copy. Keys are
//! strings, or binaries if one of the table's keys is not UTF-8. Values are binaries, and null for keys without one.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Float64Array, Int64Array, LargeBinaryArray};
use arrow::array::{LargeStringArray, RecordBatch, StructArray};
use arrow::buffer::{Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow::datatypes::{DataType, Field, Float64Type, Int64Type, Schema};
use numpy::PyArray1;
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule, PyList};
use pyo3_arrow::ffi::{ArrayIterator, to_stream_pycapsule};

use crate::columns::key_object;
use crate::failure::Outcome;

/// A column while it is filled.
#[derive(Debug)]
pub(crate) enum Filling {
    Keys(Keys),
    Numbers(Vec<f64>),
    Integers(Vec<i64>),
    Values(Values),
}

/// Keys, one after the other.
#[derive(Debug)]
pub(crate) struct Keys {
    bytes: Vec<u8>,
    ends: Vec<i64>,
}

impl Default for Keys {
    fn default() -> Keys {
        Keys { bytes: Vec::new(), ends: vec![0] }
    }
}

impl Keys {
    pub(crate) fn push(&mut self, key: &[u8]) {
        self.bytes.extend_from_slice(key);
        self.ends.push(self.bytes.len() as i64);
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len() - 1
    }

    pub(crate) fn get(&self, row: usize) -> &[u8] {
        &self.bytes[self.ends[row] as usize..self.ends[row + 1] as usize]
    }

    fn is_text(&self) -> bool {
        str::from_utf8(&self.bytes).is_ok() && {
            let starts = self.ends.iter().map(|end| *end as usize);
            starts
                .into_iter()
                .all(|start| self.bytes.get(start).is_none_or(|byte| byte & 0xc0 != 0x80))
        }
    }

    fn into_array(self, text: bool) -> ArrayRef {
        let offsets = OffsetBuffer::new(ScalarBuffer::from(self.ends));
        let array = LargeBinaryArray::new(offsets, Buffer::from_vec(self.bytes), None);
        if text && let Ok(texts) = LargeStringArray::try_from_binary(array.clone()) {
            return Arc::new(texts);
        }
        Arc::new(array)
    }
}

/// Values that are stored with keys, one after the other; null for keys without one.
#[derive(Debug, Default)]
pub(crate) struct Values {
    present: Vec<bool>,
    values: Keys,
}

impl Values {
    pub(crate) fn push(&mut self, value: Option<&[u8]>) {
        self.present.push(value.is_some());
        self.values.push(value.unwrap_or_default());
    }

    pub(crate) fn bytes(&self) -> usize {
        self.values.bytes.len()
    }

    fn into_array(self) -> ArrayRef {
        let offsets = OffsetBuffer::new(ScalarBuffer::from(self.values.ends));
        let nulls = NullBuffer::from(self.present);
        Arc::new(LargeBinaryArray::new(offsets, Buffer::from_vec(self.values.bytes), Some(nulls)))
    }
}

/// The four columns of an estimate.
#[derive(Debug, Default)]
pub(crate) struct Estimates([Vec<f64>; 4]);

impl Estimates {
    pub(crate) fn push(&mut self, estimate: &ringer::Estimate) {
        let ringer::Estimate { value, std_error, low, high } = *estimate;
        for (column, number) in self.0.iter_mut().zip([value, std_error, low, high]) {
            column.push(number);
        }
    }

    /// The columns, after others.
    pub(crate) fn after<const N: usize>(
        self,
        columns: [(&'static str, Filling); N],
    ) -> Vec<(&'static str, Filling)> {
        let names = ["similarity", "std_error", "low", "high"];
        let own = names.into_iter().zip(self.0.map(Filling::Numbers));
        columns.into_iter().chain(own).collect()
    }
}

/// The rows of a result. `ringerdb.Rows` extends this class.
#[pyclass(frozen, subclass, module = "ringerdb._core", name = "Table")]
#[derive(Debug)]
pub(crate) struct Table {
    batch: RecordBatch,
}

impl Table {
    pub(crate) fn new(columns: Vec<(&'static str, Filling)>) -> Outcome<Table> {
        let text = columns.iter().all(|(_, column)| match column {
            Filling::Keys(keys) => keys.is_text(),
            Filling::Numbers(_) | Filling::Integers(_) | Filling::Values(_) => true,
        });
        let mut fields = Vec::new();
        let mut arrays: Vec<ArrayRef> = Vec::new();
        for (name, column) in columns {
            let nullable = matches!(column, Filling::Values(_));
            let array = match column {
                Filling::Keys(keys) => keys.into_array(text),
                Filling::Numbers(numbers) => Arc::new(Float64Array::from(numbers)),
                Filling::Integers(integers) => Arc::new(Int64Array::from(integers)),
                Filling::Values(values) => values.into_array(),
            };
            fields.push(Field::new(name, array.data_type().clone(), nullable));
            arrays.push(array);
        }
        Ok(Table { batch: RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)? })
    }
}

#[pymethods]
impl Table {
    #[new]
    fn copy(other: &Bound<'_, Table>) -> Table {
        Table { batch: other.get().batch.clone() }
    }

    fn __len__(&self) -> usize {
        self.batch.num_rows()
    }

    #[getter]
    fn names(&self) -> Vec<String> {
        self.batch.schema().fields().iter().map(|field| field.name().clone()).collect()
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyCapsule>>,
    ) -> Outcome<Bound<'py, PyCapsule>> {
        let array: ArrayRef = Arc::new(StructArray::from(self.batch.clone()));
        let field = Arc::new(Field::new("", array.data_type().clone(), false));
        let reader = Box::new(ArrayIterator::new(vec![Ok(array)], field));
        Ok(to_stream_pycapsule(py, reader, requested_schema)?)
    }

    /// A column as a numpy array, or as a list if it has keys or values.
    fn column<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let schema = self.batch.schema();
        let found = schema.column_with_name(name);
        let (place, field) = found.ok_or_else(|| PyKeyError::new_err(name.to_string()))?;
        let column = self.batch.column(place);
        match column.data_type() {
            DataType::Float64 => {
                let values = column.as_primitive::<Float64Type>().values();
                Ok(PyArray1::from_slice(py, values).into_any())
            }
            DataType::Int64 => {
                let values = column.as_primitive::<Int64Type>().values();
                Ok(PyArray1::from_slice(py, values).into_any())
            }
            _ => objects(py, column, field),
        }
    }

    /// The rows from `start` to `stop` as lists, one for each column.
    fn part<'py>(
        &self,
        py: Python<'py>,
        start: usize,
        stop: usize,
    ) -> PyResult<Bound<'py, PyList>> {
        let stop = stop.min(self.batch.num_rows());
        let part = self.batch.slice(start.min(stop), stop.saturating_sub(start));
        let schema = part.schema();
        let columns = part.columns().iter().zip(schema.fields());
        let columns = columns.map(|(column, field)| objects(py, column, field));
        PyList::new(py, columns.collect::<PyResult<Vec<_>>>()?)
    }
}

/// A column as a list.
fn objects<'py>(py: Python<'py>, column: &ArrayRef, field: &Field) -> PyResult<Bound<'py, PyAny>> {
    let list = match column.data_type() {
        DataType::Float64 => PyList::new(py, column.as_primitive::<Float64Type>().values().iter()),
        DataType::Int64 => PyList::new(py, column.as_primitive::<Int64Type>().values().iter()),
        DataType::LargeUtf8 => {
            let keys = column.as_string::<i64>();
            PyList::new(py, (0..keys.len()).map(|row| keys.value(row)).collect::<Vec<_>>())
        }
        // Only a column of values can be null.
        _ if field.is_nullable() => {
            let values = column.as_binary::<i64>();
            let value = |row| values.is_valid(row).then(|| PyBytes::new(py, values.value(row)));
            PyList::new(py, (0..values.len()).map(value).collect::<Vec<_>>())
        }
        _ => {
            let keys = column.as_binary::<i64>();
            let key = |row| key_object(py, keys.value(row));
            PyList::new(py, (0..keys.len()).map(key).collect::<Vec<_>>())
        }
    };
    list.map(Bound::into_any)
}
