//! Sketches without a database: signatures, slots, samples and comparisons of columns.
//!
//! In: a scheme and columns. Out: signatures and numpy arrays. The Python class `ringerdb.Sketcher` is the interface to
//! this.

use std::sync::Arc;

use numpy::ndarray::{ArrayView1, ArrayView2};
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use rayon::prelude::*;
use ringer::features::{Extractor, Media};
use ringer::scheme::CardinalityField;
use ringer::{Error, Like, Scheme, Signature};

use crate::columns::{Column, Rows, Scratch};
use crate::failure::{Failure, Outcome};
use crate::signatures::Signatures;
use crate::work::{Run, Watch, detached, watched};

/// Rows that are compared between two looks at the clock.
const BLOCK: usize = 1 << 12;

/// A sketcher of one scheme.
#[pyclass(frozen, module = "ringerdb._core", name = "Sketcher")]
pub(crate) struct Sketcher {
    pub(crate) sketcher: Arc<ringer::Sketcher>,
}

/// The scheme of options of `ringer create`, such as `--features=ids`.
pub(crate) fn scheme_of(options: Vec<String>) -> Outcome<Scheme> {
    ringer_cli::scheme_of(options.into_iter().map(Into::into)).map_err(Failure::invalid)
}

#[pymethods]
impl Sketcher {
    #[new]
    fn new(options: Vec<String>) -> Outcome<Sketcher> {
        Ok(Sketcher { sketcher: Arc::new(ringer::Sketcher::new(&scheme_of(options)?)) })
    }

    #[staticmethod]
    fn from_scheme(scheme: &[u8]) -> Outcome<Sketcher> {
        let scheme = Scheme::from_bytes(scheme)?;
        Ok(Sketcher { sketcher: Arc::new(ringer::Sketcher::new(&scheme)) })
    }

    /// The 48 bytes of the scheme.
    fn scheme_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.sketcher.scheme().to_bytes())
    }

    /// The scheme as text, and its parts by name.
    fn scheme(&self) -> (String, Vec<(&'static str, String)>) {
        let scheme = self.sketcher.scheme();
        (scheme.to_string(), scheme.described().into())
    }

    /// Samples, bits, slots and bytes of a signature, and the seed.
    fn shape(&self) -> (u32, u8, usize, usize, u64) {
        let scheme = self.sketcher.scheme();
        let slots = self.sketcher.slot_reader().count();
        (scheme.samples, scheme.bits, slots, self.sketcher.signature_bytes(), scheme.seed)
    }

    fn signatures(
        &self,
        py: Python<'_>,
        kind: &str,
        data: &Bound<'_, PyAny>,
        run: Run,
    ) -> Outcome<Signatures> {
        let column = Column::new(kind, data, self.sketcher.scheme())?;
        Signatures::of_column(py, &column, &self.sketcher, &run)
    }

    /// The set of one text, ascending.
    fn features<'py>(
        &self,
        py: Python<'py>,
        text: &Bound<'_, PyAny>,
    ) -> Outcome<Bound<'py, PyArray1<u64>>> {
        let text = crate::columns::key(text)?;
        let set = detached(py, || {
            let mut extractor = Extractor::of_scheme(self.sketcher.scheme());
            let mut set = Vec::new();
            extractor.extract(&text, Media::Plain, &mut set)?;
            set.sort_unstable();
            set.dedup();
            Ok(set)
        })?;
        Ok(PyArray1::from_vec(py, set))
    }

    /// Signatures of samples that another program made: a row of samples for each set. Rows that are `empty` stand for the
    /// empty set.
    fn pack_samples(
        &self,
        py: Python<'_>,
        samples: PyReadonlyArray2<'_, u64>,
        empty: PyReadonlyArray1<'_, bool>,
        run: Run,
    ) -> Outcome<Signatures> {
        let (samples, empty) = (samples.as_array(), empty.as_array());
        check_samples(self.sketcher.scheme(), samples, empty)?;
        let write = |(): &mut (), row, bytes: &mut [u8]| {
            match empty[row] {
                true => bytes[bytes.len() - 1] = 1,
                false => pack(self.sketcher.scheme(), row, samples.row(row), bytes)?,
            }
            Ok(true)
        };
        Signatures::of_rows(py, samples.nrows(), &self.sketcher, &run, || (), write)
    }

    /// The address from which each row of a column is read, so that a test can see what is copied. 0 for null rows.
    fn _addresses(&self, kind: &str, data: &Bound<'_, PyAny>) -> Outcome<Vec<usize>> {
        let column = Column::new(kind, data, self.sketcher.scheme())?;
        let (rows, mut scratch) = (column.rows()?, Scratch::default());
        let mut address = |row| {
            rows.visit(row, &self.sketcher, &mut scratch, |like| {
                Ok(match like {
                    Some(Like::Bytes(text)) => text.as_ptr().addr(),
                    Some(Like::Features(set)) => set.as_ptr().addr(),
                    Some(Like::Weighted(set)) => set.as_ptr().addr(),
                    _ => 0,
                })
            })
        };
        (0..rows.len()).map(&mut address).collect()
    }

    /// The slot values of signatures, a row for each.
    fn slots<'py>(
        &self,
        py: Python<'py>,
        data: &Bound<'_, PyAny>,
        run: Run,
    ) -> Outcome<Bound<'py, PyArray2<u64>>> {
        let reader = self.sketcher.slot_reader();
        self.rows_of(py, data, &run, reader.count(), |signature, values| {
            let mut read = vec![0; reader.count()];
            reader.read(signature.planes(), &mut read);
            values.iter_mut().zip(read).for_each(|(value, read)| *value = u64::from(read));
        })
    }

    /// The samples of signatures, a row for each.
    fn samples<'py>(
        &self,
        py: Python<'py>,
        data: &Bound<'_, PyAny>,
        run: Run,
    ) -> Outcome<Bound<'py, PyArray2<u64>>> {
        let samples = self.sketcher.scheme().samples as usize;
        self.rows_of(py, data, &run, samples, |signature, values| {
            for (j, value) in values.iter_mut().enumerate() {
                *value = u64::from(signature.sample(j).unwrap_or_default());
            }
        })
    }

    /// Which rows are sets that are not empty.
    fn are_sets<'py>(
        &self,
        py: Python<'py>,
        data: &Bound<'_, PyAny>,
    ) -> Outcome<Bound<'py, PyArray1<bool>>> {
        let read = self.read(py, data, &Run::default())?;
        let is_set = |one: &Option<Signature>| one.as_ref().is_some_and(|one| !one.is_empty());
        Ok(PyArray1::from_iter(py, read.iter().map(is_set)))
    }

    /// The similarity of row i of one column with row i of another.
    fn compare<'py>(
        &self,
        py: Python<'py>,
        a: &Bound<'_, PyAny>,
        b: &Bound<'_, PyAny>,
        run: Run,
    ) -> Outcome<Bound<'py, PyArray1<f64>>> {
        let (a, b) = (self.read(py, a, &run)?, self.read(py, b, &run)?);
        if a.len() != b.len() {
            let (a, b) = (a.len(), b.len());
            return Err(Failure::invalid(format!(
                "there are {a} signatures on one side and {b} on the other"
            )));
        }
        let values = watched(py, &run, |watch| {
            watch.set_total(a.len());
            let mut values = vec![0.0; a.len()];
            for (block, values) in values.chunks_mut(BLOCK).enumerate() {
                watch.check()?;
                values.par_iter_mut().enumerate().try_for_each(|(i, value)| {
                    let row = block * BLOCK + i;
                    *value = similarity(a[row].as_ref(), b[row].as_ref())?;
                    Ok::<(), Failure>(())
                })?;
                watch.set((block * BLOCK + values.len()) as u64, a.len() as u64);
            }
            Ok(values)
        })?;
        Ok(PyArray1::from_vec(py, values))
    }

    /// The similarity of each row of one column with each row of another.
    fn matrix<'py>(
        &self,
        py: Python<'py>,
        a: &Bound<'_, PyAny>,
        b: &Bound<'_, PyAny>,
        run: Run,
    ) -> Outcome<Bound<'py, PyArray2<f64>>> {
        let (a, b) = (self.read(py, a, &run)?, self.read(py, b, &run)?);
        let shape = [a.len(), b.len()];
        let cells = a.len().checked_mul(b.len()).filter(|cells| cells.checked_mul(8).is_some());
        let cells =
            cells.ok_or_else(|| Failure::Named("OverLimit", "the matrix is too large".into()))?;
        let mut values = Vec::new();
        values.try_reserve_exact(cells).map_err(|_| {
            Failure::Named(
                "OverLimit",
                format!("there is no memory for a matrix of {cells} numbers"),
            )
        })?;
        values.resize(cells, 0.0);
        let values = watched(py, &run, |watch| {
            watch.set_total(a.len());
            let rows = values.par_chunks_mut(b.len().max(1)).zip(&a);
            rows.try_for_each(|(row, a)| {
                watch.check()?;
                for (value, b) in row.iter_mut().zip(&b) {
                    *value = similarity(a.as_ref(), b.as_ref())?;
                }
                watch.step();
                Ok::<(), Failure>(())
            })?;
            Ok(values)
        })?;
        Ok(PyArray1::from_vec(py, values).reshape(shape)?)
    }
}

impl Sketcher {
    pub(crate) fn new_shared(sketcher: &Arc<ringer::Sketcher>) -> Sketcher {
        Sketcher { sketcher: Arc::clone(sketcher) }
    }

    /// The signatures of a column of signatures.
    fn read(
        &self,
        py: Python<'_>,
        data: &Bound<'_, PyAny>,
        run: &Run,
    ) -> Outcome<Vec<Option<Signature>>> {
        let column = Column::new("signatures", data, self.sketcher.scheme())?;
        let rows = column.rows()?;
        watched(py, run, |watch: &Watch| {
            let read = |scratch: &mut Scratch, row| {
                watch.check()?;
                rows.signature(row, &self.sketcher, scratch)
            };
            (0..rows.len()).into_par_iter().map_init(Scratch::default, read).collect()
        })
    }

    /// A matrix with `width` numbers for each signature. Rows of null signatures are zeros.
    fn rows_of<'py>(
        &self,
        py: Python<'py>,
        data: &Bound<'_, PyAny>,
        run: &Run,
        width: usize,
        read: impl Fn(&Signature, &mut [u64]) + Sync + Send,
    ) -> Outcome<Bound<'py, PyArray2<u64>>> {
        let signatures = self.read(py, data, run)?;
        let shape = [signatures.len(), width];
        let values = watched(py, run, |watch| {
            watch.set_total(signatures.len());
            let mut values = vec![0; signatures.len() * width];
            let rows = values.par_chunks_mut(width.max(1)).zip(&signatures);
            rows.try_for_each(|(values, signature)| {
                watch.check()?;
                if let Some(signature) = signature {
                    read(signature, values);
                }
                watch.step();
                Ok::<(), Failure>(())
            })?;
            Ok(values)
        })?;
        Ok(PyArray1::from_vec(py, values).reshape(shape)?)
    }
}

/// Refuses samples that are not those of signatures of the scheme.
fn check_samples(
    scheme: &Scheme,
    samples: ArrayView2<'_, u64>,
    empty: ArrayView1<'_, bool>,
) -> Outcome<()> {
    if scheme.cardinality != CardinalityField::None || scheme.elements.are_kept() {
        let message = "signatures of samples have neither sizes nor sets; use a scheme without cardinality and keep_sets";
        return Err(Failure::invalid(message));
    }
    let (rows, columns) = samples.dim();
    if columns != scheme.samples as usize || empty.len() != rows {
        let message = format!("there are {columns} samples in a row, not {}", scheme.samples);
        return Err(Failure::invalid(message));
    }
    Ok(())
}

/// Puts the samples of a row into the bytes of its signature, which are zeros (SIG-2, SIG-8).
fn pack(
    scheme: &Scheme,
    row: usize,
    samples: ArrayView1<'_, u64>,
    bytes: &mut [u8],
) -> Outcome<()> {
    let (bits, plane) = (usize::from(scheme.bits), scheme.words_per_plane() * 8);
    for (j, sample) in samples.iter().enumerate() {
        if sample >> bits != 0 {
            let message = format!("row {row}: sample {sample} has more than {bits} bits");
            return Err(Failure::invalid(message));
        }
        for i in (0..bits).filter(|i| sample >> i & 1 == 1) {
            bytes[i * plane + j / 8] |= 1 << (j % 8);
        }
    }
    Ok(())
}

/// The similarity of two signatures; NaN if one is null, or if it is undefined because both sets are empty.
fn similarity(a: Option<&Signature>, b: Option<&Signature>) -> Outcome<f64> {
    let (Some(a), Some(b)) = (a, b) else { return Ok(f64::NAN) };
    match a.compare(b) {
        Ok(comparison) => Ok(comparison.similarity_value()),
        Err(Error::Undefined { .. }) => Ok(f64::NAN),
        Err(error) => Err(error.into()),
    }
}

/// The set of a row: extracted from a text, or as it was given. Ascending, without repeats. Empty if the row is null.
pub(crate) fn set_of(
    rows: Rows<'_>,
    row: usize,
    sketcher: &ringer::Sketcher,
    extractor: &mut Extractor,
    scratch: &mut Scratch,
) -> Outcome<Option<Vec<u64>>> {
    rows.visit(row, sketcher, scratch, |like| {
        let mut set = match like {
            None => return Ok(None),
            Some(Like::Bytes(text)) => {
                let mut set = Vec::new();
                extractor.extract(text, Media::Plain, &mut set)?;
                set
            }
            Some(Like::Features(set)) => set.to_vec(),
            Some(_) => return Err(Error::Undefined { measure: "the set of a signature" }),
        };
        set.sort_unstable();
        set.dedup();
        Ok(Some(set))
    })
}
