//! Columns of sets.
//!
//! In: a list of sets, Arrow lists, or numpy values with offsets. Out: the elements of any row. Strings are tokens and are
//! hashed when their row is read. Values of 64 bits without a sign are not copied.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Int64Array, UInt64Array};
use arrow::buffer::NullBuffer;
use arrow::compute::{CastOptions, cast, cast_with_options};
use arrow::datatypes::{DataType, Int64Type, UInt64Type};
use numpy::{PyReadonlyArray1, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};
use ringer::features;

use super::arrow::chunks;
use super::objects::{element, is_null};
use super::texts::Texts;
use crate::failure::{Failure, Outcome};

/// The values of Arrow lists, where each row ends and the next begins, and which rows are null.
pub(super) type Parts = (ArrayRef, Vec<usize>, Option<NullBuffer>);

/// A column of sets.
pub(crate) struct Lists {
    chunks: Vec<Chunk>,
    /// The number of rows before each chunk, and the number of all rows.
    starts: Vec<usize>,
    tokens: bool,
}

struct Chunk {
    values: Values,
    /// Where each row ends, and the next begins.
    offsets: Vec<usize>,
    nulls: Option<NullBuffer>,
}

enum Values {
    Owned(Vec<u64>),
    Unsigned(UInt64Array),
    Signed(Int64Array),
    Tokens(Texts),
}

impl Lists {
    pub(crate) fn new(data: &Bound<'_, PyAny>) -> Outcome<Lists> {
        if data.is_instance_of::<PyString>() || data.is_instance_of::<PyBytes>() {
            return Err(Failure::invalid("sets is a single text; give a list of sets"));
        }
        let (chunks, mut tokens) = match chunks(data)? {
            Some(arrays) => (arrays.iter().map(of_array).collect::<Outcome<Vec<_>>>()?, false),
            None => {
                let (chunk, tokens) = of_objects(data)?;
                (vec![chunk], tokens)
            }
        };
        let mut starts = vec![0];
        for chunk in &chunks {
            starts.push(starts[starts.len() - 1] + chunk.offsets.len() - 1);
            tokens |= matches!(chunk.values, Values::Tokens(_));
        }
        Ok(Lists { chunks, starts, tokens })
    }

    pub(crate) fn len(&self) -> usize {
        self.starts[self.chunks.len()]
    }

    /// Whether there are elements that were strings.
    pub(crate) fn has_tokens(&self) -> bool {
        self.tokens
    }

    /// The elements of a row; `None` if it is null. `set` is used if they have to be converted.
    pub(crate) fn read<'a>(
        &'a self,
        row: usize,
        set: &'a mut Vec<u64>,
    ) -> Outcome<Option<&'a [u64]>> {
        let number = self.starts.partition_point(|start| *start <= row) - 1;
        let (chunk, row_in_chunk) = (&self.chunks[number], row - self.starts[number]);
        if chunk.nulls.as_ref().is_some_and(|nulls| nulls.is_null(row_in_chunk)) {
            return Ok(None);
        }
        let places = chunk.offsets[row_in_chunk]..chunk.offsets[row_in_chunk + 1];
        let null = || Failure::invalid(format!("row {row}: an element is null"));
        let has_null = |array: &dyn Array| {
            array.nulls().is_some_and(|nulls| places.clone().any(|place| nulls.is_null(place)))
        };
        set.clear();
        match &chunk.values {
            Values::Owned(values) => return Ok(Some(&values[places])),
            Values::Unsigned(values) if has_null(values) => return Err(null()),
            Values::Signed(values) if has_null(values) => return Err(null()),
            Values::Unsigned(values) => return Ok(Some(&values.values()[places])),
            Values::Signed(values) => {
                for value in &values.values()[places] {
                    set.push(u64::try_from(*value).map_err(|_| {
                        Failure::invalid(format!(
                            "row {row}: element {value}: elements are not negative"
                        ))
                    })?);
                }
            }
            Values::Tokens(tokens) => {
                for place in places {
                    set.push(features::token(tokens.get(place).ok_or_else(null)?));
                }
            }
        }
        Ok(Some(set))
    }
}

/// The values of an Arrow list, where its rows begin and end, and which rows are null. `what` names it in messages.
pub(super) fn parts_of(array: &ArrayRef, what: &str) -> Outcome<Parts> {
    let (values, offsets) = match array.data_type() {
        DataType::List(_) => {
            let list = array.as_list::<i32>();
            (list.values(), list.offsets().iter().map(|end| *end as usize).collect())
        }
        DataType::LargeList(_) => {
            let list = array.as_list::<i64>();
            (list.values(), list.offsets().iter().map(|end| *end as usize).collect())
        }
        DataType::FixedSizeList(_, width) => {
            let (list, width) = (array.as_fixed_size_list(), *width as usize);
            (list.values(), (0..=list.len()).map(|row| row * width).collect())
        }
        DataType::ListView(inner) => {
            return parts_of(&cast(array, &DataType::List(inner.clone()))?, what);
        }
        DataType::LargeListView(inner) => {
            return parts_of(&cast(array, &DataType::LargeList(inner.clone()))?, what);
        }
        other => {
            let message = format!("{what}: a column of {other} cannot be used; give lists");
            return Err(Failure::invalid(message));
        }
    };
    Ok((Arc::clone(values), offsets, array.nulls().cloned()))
}

fn of_array(array: &ArrayRef) -> Outcome<Chunk> {
    if *array.data_type() == DataType::Null {
        let nulls = Some(NullBuffer::new_null(array.len()));
        let offsets = vec![0; array.len() + 1];
        return Ok(Chunk { values: Values::Owned(Vec::new()), offsets, nulls });
    }
    let (values, offsets, nulls) = parts_of(array, "sets")?;
    Ok(Chunk { values: of_values(&values)?, offsets, nulls })
}

fn of_values(values: &ArrayRef) -> Outcome<Values> {
    let strict = CastOptions { safe: false, ..CastOptions::default() };
    Ok(match values.data_type() {
        DataType::UInt64 => Values::Unsigned(values.as_primitive::<UInt64Type>().clone()),
        DataType::Int64 => Values::Signed(values.as_primitive::<Int64Type>().clone()),
        kind if kind.is_integer() => {
            let wide = cast_with_options(values, &DataType::Int64, &strict)?;
            Values::Signed(wide.as_primitive::<Int64Type>().clone())
        }
        DataType::Dictionary(_, inner) => of_values(&cast(values, inner)?)?,
        _ => Values::Tokens(Texts::of_values(values)?),
    })
}

/// Rows that are Python objects: lists, tuples, sets, arrays.
fn of_objects(data: &Bound<'_, PyAny>) -> Outcome<(Chunk, bool)> {
    let (mut values, mut offsets, mut nulls) = (Vec::new(), vec![0], Vec::new());
    let mut tokens = false;
    for (row, object) in data.try_iter()?.enumerate() {
        let object = object?;
        let null = is_null(&object)?;
        if !null {
            let refused = |_| {
                let kind = object.get_type();
                Failure::invalid(format!("row {row} is {kind}; a set is a list of its elements"))
            };
            if object.is_instance_of::<PyString>() || object.is_instance_of::<PyBytes>() {
                let message = format!("row {row} is a text; a set is a list of its elements");
                return Err(Failure::invalid(message));
            }
            for one in object.try_iter().map_err(refused)? {
                let (element, token) = element(&one?, row)?;
                values.push(element);
                tokens |= token;
            }
        }
        nulls.push(!null);
        offsets.push(values.len());
    }
    let nulls = nulls.contains(&false).then(|| NullBuffer::from(nulls));
    Ok((Chunk { values: Values::Owned(values), offsets, nulls }, tokens))
}

/// Sets as one numpy array of elements and the places where rows begin and end.
pub(crate) struct Numbers<'py> {
    values: PyReadonlyArray1<'py, u64>,
    offsets: Vec<usize>,
}

impl<'py> Numbers<'py> {
    /// Checks the offsets: they ascend from 0 or more to at most the number of values.
    pub(super) fn new(
        values: PyReadonlyArray1<'py, u64>,
        offsets: &PyReadonlyArray1<'py, i64>,
    ) -> Outcome<Numbers<'py>> {
        let offsets: Option<Vec<usize>> =
            offsets.as_array().iter().map(|offset| usize::try_from(*offset).ok()).collect();
        let offsets = offsets.filter(|offsets| {
            offsets.is_sorted() && offsets.last().is_some_and(|last| *last <= values.len())
        });
        let offsets = offsets.ok_or_else(|| {
            Failure::invalid(format!(
                "offsets must ascend from 0 to at most the number of values, {}, with one more than there are rows",
                values.len()
            ))
        })?;
        Ok(Numbers { values, offsets })
    }

    pub(super) fn parts(&self) -> Outcome<(&[u64], &[usize])> {
        let contiguous = |_| Failure::invalid("a numpy array must be contiguous, in C order");
        Ok((self.values.as_slice().map_err(contiguous)?, &self.offsets))
    }
}
