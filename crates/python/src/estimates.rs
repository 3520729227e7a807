//! Small results as Python objects: estimates, comparisons and matches.
//!
//! In: values of the library. Out: objects that compute an estimate when it is asked for, because an interval takes longer
//! than the query that found the match.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

use crate::columns::key_object;
use crate::failure::Outcome;

/// A value with its error: `value`, `std_error`, and the 95 % interval from `low` to `high`.
#[pyclass(frozen, module = "ringerdb", name = "Estimate")]
#[derive(Debug, Clone, Copy)]
pub(crate) struct Estimate(pub(crate) ringer::Estimate);

#[pymethods]
impl Estimate {
    /// The estimate. It is not clamped to the possible range.
    #[getter]
    fn value(&self) -> f64 {
        self.0.value
    }

    /// Its standard error. 0 if the value is exact.
    #[getter]
    fn std_error(&self) -> f64 {
        self.0.std_error
    }

    /// The lower end of the 95 % interval.
    #[getter]
    fn low(&self) -> f64 {
        self.0.low
    }

    /// The upper end of the 95 % interval.
    #[getter]
    fn high(&self) -> f64 {
        self.0.high
    }

    fn __float__(&self) -> f64 {
        self.0.value
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }

    fn __repr__(&self) -> String {
        let ringer::Estimate { value, std_error, low, high } = self.0;
        format!("Estimate(value={value:?}, std_error={std_error:?}, low={low:?}, high={high:?})")
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Estimate>().is_ok_and(|other| other.get().0 == self.0)
    }

    fn __hash__(&self) -> u64 {
        self.0.value.to_bits() ^ self.0.std_error.to_bits().rotate_left(1)
    }
}

/// What the signatures of two sets say about them. Each measure is an `Estimate`.
#[pyclass(frozen, module = "ringerdb", name = "Comparison")]
#[derive(Debug, Clone, Copy)]
pub(crate) struct Comparison(pub(crate) ringer::Comparison);

#[pymethods]
impl Comparison {
    /// The resemblance of sets, or the cosine of vectors, whichever the scheme measures.
    #[getter]
    fn similarity(&self) -> Estimate {
        Estimate(self.0.similarity())
    }

    /// The unbiased estimate from equal samples alone, without set sizes. It may be below 0, or above what sets of these
    /// sizes can have. Use it for averages over many pairs. For single pairs, `similarity` is more accurate.
    #[getter]
    fn unbiased(&self) -> Estimate {
        Estimate(self.0.unbiased())
    }

    /// The most likely similarity, from the order of samples and the sizes of the sets. For sets that fill a good part of
    /// a bounded universe, its error can be half of that of `similarity`. It needs `estimate`, a universe, independent
    /// samples and exact sizes; otherwise it equals `similarity`.
    #[getter]
    fn likelihood(&self) -> Estimate {
        Estimate(self.0.likelihood())
    }

    /// The size of the intersection over the size of the union.
    #[getter]
    fn resemblance(&self) -> Outcome<Estimate> {
        Ok(Estimate(self.0.resemblance()?))
    }

    /// The cosine of the angle between two vectors.
    #[getter]
    fn cosine(&self) -> Outcome<Estimate> {
        Ok(Estimate(self.0.cosine()?))
    }

    /// The angle between two vectors in radians, which is estimated without bias.
    #[getter]
    fn angle(&self) -> Outcome<Estimate> {
        Ok(Estimate(self.0.angle()?))
    }

    /// The share of the first set that is in the second.
    #[getter]
    fn containment_of_first(&self) -> Outcome<Estimate> {
        Ok(Estimate(self.0.containment_of_first()?))
    }

    /// The share of the second set that is in the first.
    #[getter]
    fn containment_of_second(&self) -> Outcome<Estimate> {
        Ok(Estimate(self.0.containment_of_second()?))
    }

    /// The share of the smaller set that is in the other, whichever that is: 1 if one set contains the other.
    #[getter]
    fn overlap(&self) -> Outcome<Estimate> {
        Ok(Estimate(self.0.overlap()?))
    }

    /// The number of common elements.
    #[getter]
    fn intersection(&self) -> Outcome<Estimate> {
        Ok(Estimate(self.0.intersection()?))
    }

    /// The number of elements of either set.
    #[getter]
    fn union(&self) -> Outcome<Estimate> {
        Ok(Estimate(self.0.union()?))
    }

    /// The number of elements that are in one set only.
    #[getter]
    fn hamming(&self) -> Outcome<Estimate> {
        Ok(Estimate(self.0.hamming()?))
    }

    /// The number of equal samples, including chance agreements.
    #[getter]
    fn equal_samples(&self) -> u32 {
        self.0.equal_samples()
    }

    /// Whether the similarity was counted on the sets themselves.
    #[getter]
    fn is_exact(&self) -> bool {
        self.0.is_exact()
    }

    /// Whether the similarity may be this or more: the upper end of its 99.9 % interval reaches it.
    fn possibly_at_least(&self, threshold: f64) -> bool {
        self.0.possibly_at_least(threshold)
    }

    /// Whether the similarity is certainly this or more: the lower end of its 99.9 % interval reaches it.
    fn certainly_at_least(&self, threshold: f64) -> bool {
        self.0.certainly_at_least(threshold)
    }

    /// The probability that the similarity is at least this.
    fn probability_at_least(&self, threshold: f64) -> f64 {
        self.0.probability_at_least(threshold)
    }

    fn __repr__(&self) -> String {
        format!("Comparison(similarity={})", self.0.similarity())
    }
}

/// A stored set that matches a query.
#[pyclass(frozen, module = "ringerdb", name = "Match")]
#[derive(Debug)]
pub(crate) struct Match(pub(crate) ringer::Match);

#[pymethods]
impl Match {
    /// Its key.
    #[getter]
    fn key<'py>(&self, py: Python<'py>) -> Bound<'py, PyAny> {
        key_object(py, &self.0.key)
    }

    /// Its similarity to the query.
    #[getter]
    fn similarity(&self) -> Estimate {
        Estimate(self.0.similarity())
    }

    /// How many slots it has in common with the query.
    #[getter]
    fn matching_slots(&self) -> u32 {
        self.0.matching_slots
    }

    /// The value that is stored with its key; None if it has none, or if the query did not ask for values.
    #[getter]
    fn value<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        self.0.value.as_deref().map(|value| PyBytes::new(py, value))
    }

    /// All measures. The query is the first set.
    #[getter]
    fn comparison(&self) -> Comparison {
        Comparison(self.0.comparison)
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let parts = (self.key(py), self.similarity(), self.matching_slots()).into_pyobject(py)?;
        Ok(parts.cast_into::<PyTuple>()?.try_iter()?.into_any())
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let key = self.key(py).repr()?;
        let (similarity, slots) = (self.0.similarity(), self.0.matching_slots);
        Ok(format!("Match(key={key}, similarity={similarity:.4}, matching_slots={slots})"))
    }
}
