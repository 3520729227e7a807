//! Columns that Python gives: texts, sets, weighted sets, vectors and signatures.
//!
//! In: a kind, and lists, numpy arrays or Arrow data. Out: rows that can be read from any thread without the GIL. Arrow
//! and numpy data is not copied, nor are Python strings. What a row means for a database is the library's matter.

mod arrow;
mod lists;
mod objects;
mod texts;
mod vectors;
mod weights;

use numpy::{PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;
use ringer::scheme::Features;
use ringer::{Error, Like, Scheme, Signature, Sketcher};

use crate::failure::{Failure, Outcome};
use crate::signatures::Signatures;
use lists::Lists;
pub(crate) use objects::{Text, key, key_object};
pub(crate) use texts::Texts;
use vectors::Vectors;
use weights::Weights;

/// A column, with the Python objects that own its data.
pub(crate) enum Column<'py> {
    Texts(Texts),
    Lists(Lists),
    Numbers(lists::Numbers<'py>),
    Weights(Weights),
    Vectors(Vectors),
    Coordinates(PyReadonlyArray2<'py, f64>),
    Signatures(Texts),
    Matrix(PyReadonlyArray2<'py, u8>),
}

/// The rows of a column, for any thread.
#[derive(Clone, Copy)]
pub(crate) enum Rows<'a> {
    Texts(&'a Texts),
    Lists(&'a Lists),
    Numbers(&'a [u64], &'a [usize]),
    Weights(&'a Weights),
    Vectors(&'a Vectors),
    Coordinates(&'a [f64], [usize; 2]),
    Signatures(&'a Texts),
    Matrix(&'a [u8], [usize; 2]),
}

/// Memory of one thread for the row that it reads.
#[derive(Default)]
pub(crate) struct Scratch {
    set: Vec<u64>,
    weighted: Vec<(u64, f64)>,
}

impl<'py> Column<'py> {
    /// Reads a column of a kind: `texts`, `sets`, `weighted`, `vectors` or `signatures`, to be used with a scheme.
    pub(crate) fn new(kind: &str, data: &Bound<'py, PyAny>, scheme: &Scheme) -> Outcome<Self> {
        if kind != "signatures" && scheme.is_foreign() {
            return Err(Error::ForeignScheme.into());
        }
        let column = match kind {
            "texts" => Column::Texts(Texts::new(data, kind)?),
            "sets" => match data.extract() {
                Ok((values, offsets)) if data.is_instance_of::<pyo3::types::PyTuple>() => {
                    Column::Numbers(lists::Numbers::new(values, &offsets)?)
                }
                _ => Column::Lists(Lists::new(data)?),
            },
            "weighted" => Column::Weights(Weights::new(data)?),
            "vectors" => match Vectors::new(data)? {
                Some(vectors) => Column::Vectors(vectors),
                None => Column::Coordinates(data.extract()?),
            },
            "signatures" => match data.extract() {
                Ok(matrix) => Column::Matrix(matrix),
                Err(_) => {
                    if let Ok(signatures) = data.cast::<Signatures>() {
                        signatures.get().check_scheme(scheme)?;
                    }
                    Column::Signatures(Texts::new(data, kind)?)
                }
            },
            other => return Err(Failure::invalid(format!("there are no columns of {other}"))),
        };
        let has_tokens = match &column {
            Column::Lists(lists) => lists.has_tokens(),
            Column::Weights(weights) => weights.has_tokens(),
            _ => false,
        };
        if has_tokens && scheme.features != Features::Tokens {
            return Err(Failure::invalid(format!(
                "elements are str, but a scheme with features `{}` takes {}",
                scheme.features,
                if scheme.features == Features::Ids { "numbers" } else { "texts" }
            )));
        }
        Ok(column)
    }

    /// The rows.
    pub(crate) fn rows(&self) -> Outcome<Rows<'_>> {
        let contiguous = |_| Failure::invalid("a numpy array must be contiguous, in C order");
        let shape = |shape: &[usize]| [shape[0], shape[1]];
        Ok(match self {
            Column::Texts(texts) => Rows::Texts(texts),
            Column::Lists(lists) => Rows::Lists(lists),
            Column::Numbers(numbers) => {
                let (values, offsets) = numbers.parts()?;
                Rows::Numbers(values, offsets)
            }
            Column::Weights(weights) => Rows::Weights(weights),
            Column::Vectors(vectors) => Rows::Vectors(vectors),
            Column::Coordinates(array) => {
                Rows::Coordinates(array.as_slice().map_err(contiguous)?, shape(array.shape()))
            }
            Column::Signatures(bytes) => Rows::Signatures(bytes),
            Column::Matrix(array) => {
                Rows::Matrix(array.as_slice().map_err(contiguous)?, shape(array.shape()))
            }
        })
    }
}

impl Rows<'_> {
    pub(crate) fn len(&self) -> usize {
        match self {
            Rows::Texts(texts) | Rows::Signatures(texts) => texts.len(),
            Rows::Lists(lists) => lists.len(),
            Rows::Numbers(_, offsets) => offsets.len().saturating_sub(1),
            Rows::Weights(weights) => weights.len(),
            Rows::Vectors(vectors) => vectors.len(),
            Rows::Coordinates(_, [rows, _]) | Rows::Matrix(_, [rows, _]) => *rows,
        }
    }

    /// Calls `visit` with the content of a row, or with `None` if the row is null.
    pub(crate) fn visit<T>(
        &self,
        row: usize,
        sketcher: &Sketcher,
        scratch: &mut Scratch,
        visit: impl FnOnce(Option<Like<'_>>) -> Result<T, Error>,
    ) -> Outcome<T> {
        let in_row = |error| Failure::Row(row, error);
        let Scratch { set, weighted } = scratch;
        let signature;
        let like = match self {
            Rows::Texts(texts) => texts.get(row).map(Like::Bytes),
            Rows::Lists(lists) => lists.read(row, set)?.map(Like::Features),
            Rows::Numbers(values, offsets) => {
                Some(Like::Features(&values[offsets[row]..offsets[row + 1]]))
            }
            Rows::Weights(weights) => weights.get(row).map(Like::Weighted),
            Rows::Vectors(_) | Rows::Coordinates(..) => {
                let vector = match self {
                    Rows::Vectors(vectors) => vectors.get(row),
                    Rows::Coordinates(values, [_, width]) => {
                        Some(&values[row * width..(row + 1) * width])
                    }
                    _ => None,
                };
                vector.map(|vector| {
                    let there = (0..).zip(vector).filter(|(_, coordinate)| **coordinate != 0.0);
                    weighted.clear();
                    weighted.extend(there.map(|(element, coordinate)| (element, *coordinate)));
                    Like::Weighted(weighted)
                })
            }
            Rows::Signatures(_) | Rows::Matrix(..) => {
                let bytes = match self {
                    Rows::Signatures(texts) => texts.get(row),
                    Rows::Matrix(bytes, [_, width]) => Some(&bytes[row * width..(row + 1) * width]),
                    _ => None,
                };
                let read = bytes.map(|bytes| sketcher.signature_from_bytes(bytes));
                signature = read.transpose().map_err(in_row)?;
                signature.as_ref().map(Like::Signature)
            }
        };
        visit(like).map_err(in_row)
    }

    /// The signature of a row, or `None` if the row is null.
    pub(crate) fn signature(
        &self,
        row: usize,
        sketcher: &Sketcher,
        scratch: &mut Scratch,
    ) -> Outcome<Option<Signature>> {
        self.visit(row, sketcher, scratch, |like| {
            like.map(|like| sketch(sketcher, like)).transpose()
        })
    }
}

/// The signature of what a row contains.
fn sketch(sketcher: &Sketcher, like: Like<'_>) -> Result<Signature, Error> {
    match like {
        Like::Bytes(bytes) => sketcher.sketch_bytes(bytes),
        Like::Features(set) => sketcher.sketch(set),
        Like::Weighted(set) => sketcher.sketch_weighted(set),
        Like::Signature(signature) => Ok(signature.clone()),
        // Rows have no other contents.
        _ => Err(Error::Undefined { measure: "the signature of a key" }),
    }
}
