//! Columns of sets whose elements have weights.
//!
//! In: a list of mappings from elements to weights, or Arrow maps. Out: pairs of element and weight.

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type, UInt64Type};
use pyo3::intern;
use pyo3::prelude::*;
use ringer::features;

use super::arrow::chunks;
use super::objects::{element, is_null};
use super::texts::Texts;
use crate::failure::{Failure, Outcome};

/// A column of weighted sets.
#[derive(Default)]
pub(crate) struct Weights {
    values: Vec<(u64, f64)>,
    /// Where each row begins and ends; `None` for null rows.
    rows: Vec<Option<(usize, usize)>>,
    tokens: bool,
}

impl Weights {
    pub(crate) fn new(data: &Bound<'_, PyAny>) -> Outcome<Weights> {
        let mut weights = Weights::default();
        match chunks(data)? {
            Some(arrays) => arrays.iter().try_for_each(|array| weights.add_array(array))?,
            None => weights.add_objects(data)?,
        }
        Ok(weights)
    }

    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are elements that were strings.
    pub(crate) fn has_tokens(&self) -> bool {
        self.tokens
    }

    pub(crate) fn get(&self, row: usize) -> Option<&[(u64, f64)]> {
        self.rows[row].map(|(start, end)| &self.values[start..end])
    }

    fn add_objects(&mut self, data: &Bound<'_, PyAny>) -> Outcome<()> {
        for (row, object) in data.try_iter()?.enumerate() {
            let object = object?;
            if is_null(&object)? {
                self.rows.push(None);
                continue;
            }
            let start = self.values.len();
            let items = object.call_method0(intern!(data.py(), "items")).map_err(|_| {
                let kind = object.get_type();
                let message = format!(
                    "row {row} is {kind}; a weighted set is a dict from elements to weights"
                );
                Failure::invalid(message)
            })?;
            for item in items.try_iter()? {
                let (one, weight): (Bound<'_, PyAny>, Bound<'_, PyAny>) = item?.extract()?;
                let (element, token) = element(&one, row)?;
                let weight = weight.extract().map_err(|_| {
                    Failure::invalid(format!("row {row}: the weight of {one} is not a number"))
                })?;
                self.values.push((element, weight));
                self.tokens |= token;
            }
            self.rows.push(Some((start, self.values.len())));
        }
        Ok(())
    }

    fn add_array(&mut self, array: &ArrayRef) -> Outcome<()> {
        let DataType::Map(..) = array.data_type() else {
            let kind = array.data_type();
            let message = format!(
                "weighted: a column of {kind} cannot be used; give maps from elements to weights"
            );
            return Err(Failure::invalid(message));
        };
        let map = array.as_map();
        let weights = cast(map.values(), &DataType::Float64)?;
        let weights = weights.as_primitive::<Float64Type>();
        let keys = map.keys();
        let numbers = keys.data_type().is_integer();
        let numbers = numbers.then(|| cast(keys, &DataType::UInt64)).transpose()?;
        let tokens = if numbers.is_none() { Some(Texts::of_values(keys)?) } else { None };
        self.tokens |= tokens.is_some();
        for row in 0..map.len() {
            if map.is_null(row) {
                self.rows.push(None);
                continue;
            }
            let start = self.values.len();
            let ends = &map.offsets()[row..];
            for place in ends[0] as usize..ends[1] as usize {
                let number = numbers.as_ref().map(AsArray::as_primitive::<UInt64Type>);
                let element = match (number, &tokens) {
                    (Some(numbers), _) => numbers.is_valid(place).then(|| numbers.value(place)),
                    (None, Some(tokens)) => tokens.get(place).map(features::token),
                    (None, None) => None,
                };
                match element {
                    Some(element) if weights.is_valid(place) => {
                        self.values.push((element, weights.value(place)));
                    }
                    _ => {
                        return Err(Failure::invalid(format!(
                            "row {row}: an element or weight is null or negative"
                        )));
                    }
                }
            }
            self.rows.push(Some((start, self.values.len())));
        }
        Ok(())
    }
}
