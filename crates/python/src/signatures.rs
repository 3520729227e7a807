//! Signatures of many rows.
//!
//! In: a column and a sketcher. Out: one Python `bytes` object with all signatures. Arrow and numpy both refer to it, so
//! neither needs a copy.

use std::sync::Arc;

use arrow::array::{Array, FixedSizeBinaryArray};
use arrow::buffer::{Buffer, NullBuffer};
use arrow::datatypes::Field;
use bytes::Bytes;
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyCapsule, PyTuple};
use pyo3_arrow::ffi::to_array_pycapsules;
use rayon::prelude::*;
use ringer::{Error, Scheme, Sketcher};

use crate::columns::{Column, Scratch};
use crate::failure::{Failure, Outcome};
use crate::work::{Run, Watch, watched};

/// Rows that are sketched together.
const BLOCK: usize = 1 << 13;

/// The signatures of a column, as bytes of equal length. Null rows have null signatures.
///
/// It is an Arrow array of `FixedSizeBinary`: `pyarrow.array(signatures)` and `signatures.to_numpy()` refer to the same
/// memory.
#[pyclass(frozen, module = "ringerdb", name = "Signatures")]
pub(crate) struct Signatures {
    bytes: Py<PyBytes>,
    rows: usize,
    width: usize,
    nulls: Option<NullBuffer>,
    scheme: Scheme,
}

impl Signatures {
    /// Sketches all rows of a column.
    pub(crate) fn of_column(
        py: Python<'_>,
        column: &Column<'_>,
        sketcher: &Sketcher,
        run: &Run,
    ) -> Outcome<Signatures> {
        let rows = column.rows()?;
        if sketcher.scheme().elements.are_kept() {
            let message = "signatures of a scheme that keeps sets do not include the sets; use a scheme without keep_sets";
            return Err(Failure::invalid(message));
        }
        let write = |scratch: &mut Scratch, row, bytes: &mut [u8]| {
            let signature = rows.signature(row, sketcher, scratch)?;
            if let Some(signature) = &signature {
                bytes.copy_from_slice(&signature.to_bytes());
            }
            Ok(signature.is_some())
        };
        Signatures::of_rows(py, rows.len(), sketcher, run, Scratch::default, write)
    }

    /// Signatures that `write` makes: the bytes of a row, which are zeros, or `false` if the row is null. `memory` makes what a
    /// thread keeps from row to row.
    pub(crate) fn of_rows<M>(
        py: Python<'_>,
        count: usize,
        sketcher: &Sketcher,
        run: &Run,
        memory: impl Fn() -> M + Sync + Send,
        write: impl Fn(&mut M, usize, &mut [u8]) -> Outcome<bool> + Sync + Send,
    ) -> Outcome<Signatures> {
        let width = sketcher.signature_bytes();
        let mut present = vec![true; count];
        let all = |watch: &Watch, bytes: &mut [u8], present: &mut [bool]| {
            watch.set_total(count);
            let blocks = bytes.chunks_mut(BLOCK * width).zip(present.chunks_mut(BLOCK));
            for (block, (bytes, present)) in blocks.enumerate() {
                let each = bytes.par_chunks_mut(width).zip(present).enumerate().with_min_len(8);
                each.map_init(&memory, |memory, (i, (bytes, present))| {
                    watch.check()?;
                    *present = write(memory, block * BLOCK + i, bytes)?;
                    watch.step();
                    Ok::<(), Failure>(())
                })
                .collect::<Outcome<()>>()?;
            }
            Ok(())
        };
        let length = count.checked_mul(width).filter(|length| isize::try_from(*length).is_ok());
        let length = length.ok_or_else(|| Failure::Named("OverLimit", "too many rows".into()))?;
        let mut failure = None;
        let bytes = PyBytes::new_with(py, length, |bytes| {
            let done = watched(py, run, |watch| all(watch, bytes, &mut present));
            failure = done.err();
            Ok(())
        })?;
        if let Some(failure) = failure {
            return Err(failure);
        }
        let nulls = present.contains(&false).then(|| NullBuffer::from(present));
        let (bytes, scheme) = (bytes.unbind(), sketcher.scheme().clone());
        Ok(Signatures { bytes, rows: count, width, nulls, scheme })
    }

    /// Refuses signatures of another scheme.
    pub(crate) fn check_scheme(&self, scheme: &Scheme) -> Outcome<()> {
        if self.scheme == *scheme {
            return Ok(());
        }
        let [stored, requested] = [scheme, &self.scheme].map(|scheme| Box::new(scheme.clone()));
        Err(Error::SchemeMismatch { stored, requested }.into())
    }

    fn array(&self, py: Python<'_>) -> Outcome<FixedSizeBinaryArray> {
        let owner = PyBackedBytes::from(self.bytes.bind(py).clone());
        let buffer = Buffer::from(Bytes::from_owner(owner));
        let width =
            i32::try_from(self.width).map_err(|_| Failure::invalid("signatures are too long"))?;
        Ok(FixedSizeBinaryArray::try_new_with_len(width, buffer, self.nulls.clone(), self.rows)?)
    }
}

#[pymethods]
impl Signatures {
    fn __len__(&self) -> usize {
        self.rows
    }

    /// The bytes of each signature.
    #[getter]
    fn width(&self) -> usize {
        self.width
    }

    /// How many rows are null.
    #[getter]
    fn null_count(&self) -> usize {
        self.nulls.as_ref().map_or(0, NullBuffer::null_count)
    }

    fn __getitem__<'py>(
        &self,
        py: Python<'py>,
        row: isize,
    ) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let from_start = if row < 0 { row.checked_add_unsigned(self.rows) } else { Some(row) };
        let place =
            from_start.and_then(|row| usize::try_from(row).ok()).filter(|row| *row < self.rows);
        let place = place.ok_or_else(|| PyIndexError::new_err(format!("there is no row {row}")))?;
        if self.nulls.as_ref().is_some_and(|nulls| nulls.is_null(place)) {
            return Ok(None);
        }
        let bytes = self.bytes.bind(py).as_bytes();
        Ok(Some(PyBytes::new(py, &bytes[place * self.width..(place + 1) * self.width])))
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyCapsule>>,
    ) -> Outcome<Bound<'py, PyTuple>> {
        let array = self.array(py)?;
        let field = Arc::new(Field::new("signature", array.data_type().clone(), true));
        Ok(to_array_pycapsules(py, field, &array, requested_schema)?)
    }

    /// A read-only matrix of bytes, one row for each signature, in the same memory. Null rows are zeros.
    fn to_numpy<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let numpy = py.import("numpy")?;
        let flat = numpy.call_method1("frombuffer", (&self.bytes, numpy.getattr("uint8")?))?;
        flat.call_method1("reshape", (self.rows, self.width))
    }

    /// A pyarrow array in the same memory.
    fn to_arrow<'py>(slf: &Bound<'py, Signatures>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("pyarrow")?.call_method1("array", (slf,))
    }

    fn __repr__(&self) -> String {
        format!("Signatures(rows={}, width={})", self.rows, self.width)
    }
}
