//! Where two signatures, or more, meet.
//!
//! In: signatures of one scheme. Out: every measure of their sets that the scheme allows, each with
//! its error. Counting is the kernels' work and the formulas are in the files beside this one; here it
//! is decided which formula a scheme asks for.

use super::many::Patterns;
use super::measures::Measures;
use super::pair::{Agreement, Sampling};
use super::{Chance, Estimate, Law};
use crate::error::{Error, Result};
use crate::scheme::{Cardinality, CardinalityField, Measure, Sampler, Scheme, Universe};
use crate::sketch::Signature;

/// What two signatures say about their sets.
///
/// ```
/// use ringer::{Scheme, Sketcher};
/// let sketcher = Sketcher::new(&Scheme::precise());
/// let a = sketcher.sketch(&(0..1000).collect::<Vec<_>>())?;
/// let b = sketcher.sketch(&(500..1500).collect::<Vec<_>>())?;
/// let comparison = a.compare(&b)?;
/// let r = comparison.resemblance()?;
/// assert!(r.low < 1.0 / 3.0 && 1.0 / 3.0 < r.high);
/// assert!(comparison.probability_at_least(0.9) < 1e-6);
/// assert!((comparison.containment_of_first()?.value - 0.5).abs() < 0.2);
/// # Ok::<(), ringer::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Comparison {
    agreement: Agreement,
    sizes: Option<(Cardinality, Cardinality)>,
    field: CardinalityField,
    bits: u32,
    measure: Measure,
    universe: Universe,
    /// Exactly one of the sets is empty: the resemblance is known exactly.
    one_empty: bool,
}

impl Comparison {
    /// A comparison of sets of these sizes whose signatures agree in `equal` samples.
    pub(crate) fn new(
        scheme: &Scheme,
        equal: u32,
        sizes: Option<(Cardinality, Cardinality)>,
        one_empty: bool,
    ) -> Comparison {
        let law = match (scheme.universe, sizes) {
            (Universe::Bounded(size), Some((f1, f2))) => {
                Law::dense(scheme, share(f1.value, size), share(f2.value, size))
            }
            _ => Law::of(scheme),
        };
        let total_size = sizes.filter(|_| tells_size(scheme)).map(|(f1, f2)| f1.value + f2.value);
        let sampling = match scheme.sampler {
            Sampler::OnePermutation => Sampling::OnePermutation { total_size },
            _ => Sampling::Independent,
        };
        Comparison {
            agreement: Agreement { equal, samples: scheme.samples, law, sampling },
            sizes,
            field: scheme.cardinality,
            bits: u32::from(scheme.bits),
            measure: scheme.measure,
            universe: scheme.universe,
            one_empty,
        }
    }

    /// What the scheme measures.
    pub fn measure(&self) -> Measure {
        self.measure
    }

    /// How many samples are equal, chance agreements included.
    pub fn equal_samples(&self) -> u32 {
        self.agreement.equal
    }

    /// What the scheme measures: the resemblance of sets, weighted or not, or the cosine of vectors.
    ///
    /// In a bounded universe the error also holds what comes from elsewhere: sizes that are known only to
    /// a level of their field, and formulas that are exact for large universes only (1/D).
    pub fn similarity(&self) -> Estimate {
        if self.one_empty {
            return Estimate::exact(0.0);
        }
        let estimate = self.agreement.estimate();
        let (Universe::Bounded(size), Some((f1, f2))) = (self.universe, self.sizes) else {
            return estimate;
        };
        let ends = |f: Cardinality| [f.value - f.half_width, f.value + f.half_width];
        let (mut low, mut high) = (estimate, estimate);
        for (f1, f2) in ends(f1).iter().flat_map(|f1| ends(f2).map(|f2| (*f1, f2))) {
            let chance = Chance::dense(self.bits, share(f1, size), share(f2, size));
            let law = match self.agreement.law {
                Law::HalfBit(_) => Law::HalfBit(chance),
                _ => Law::Minwise(chance),
            };
            let corner = Agreement { law, ..self.agreement }.estimate();
            low = Estimate {
                value: low.value.min(corner.value),
                low: low.low.min(corner.low),
                ..low
            };
            high = Estimate {
                value: high.value.max(corner.value),
                high: high.high.max(corner.high),
                ..high
            };
        }
        with_systematic_error(
            Estimate { low: low.low, high: high.high, ..estimate },
            (high.value - low.value) / 2.0 / 3.0_f64.sqrt(),
            1.0 / size as f64,
        )
    }

    /// The value of [`similarity`](Comparison::similarity) alone, for ranking.
    pub(crate) fn similarity_value(&self) -> f64 {
        if self.one_empty { 0.0 } else { self.agreement.value() }
    }

    /// Intersection over union; of weighted sets, the sum of the smaller weights over the sum of the larger ones. Signatures
    /// of vectors do not tell it: [`Error::OtherMeasure`].
    pub fn resemblance(&self) -> Result<Estimate> {
        match self.measure {
            Measure::Cosine => Err(self.other_measure("the resemblance")),
            Measure::Jaccard | Measure::Weighted => Ok(self.similarity()),
        }
    }

    /// The cosine of the angle between two vectors. Signatures of sets do not tell it: [`Error::OtherMeasure`].
    pub fn cosine(&self) -> Result<Estimate> {
        match self.measure {
            Measure::Cosine => Ok(self.similarity()),
            Measure::Jaccard | Measure::Weighted => Err(self.other_measure("the cosine")),
        }
    }

    /// The angle between two vectors in radians: what signs of projections tell without bias. Signatures of sets
    /// do not tell it: [`Error::OtherMeasure`].
    pub fn angle(&self) -> Result<Estimate> {
        match self.measure {
            Measure::Cosine => Ok(self.agreement.angle()),
            Measure::Jaccard | Measure::Weighted => Err(self.other_measure("the angle")),
        }
    }

    /// The probability that the [similarity](Comparison::similarity) is at least `threshold`, given what was seen.
    pub fn probability_at_least(&self, threshold: f64) -> f64 {
        if self.one_empty {
            return if threshold <= 0.0 { 1.0 } else { 0.0 };
        }
        self.agreement.probability_at_least(threshold)
    }

    /// How many elements both sets have.
    pub fn intersection(&self) -> Result<Estimate> {
        self.of_sizes("the intersection", Measures::intersection)
    }

    /// How many elements either set has.
    pub fn union(&self) -> Result<Estimate> {
        self.of_sizes("the union", Measures::union)
    }

    /// How many elements exactly one of the sets has.
    pub fn hamming(&self) -> Result<Estimate> {
        self.of_sizes("the Hamming distance", Measures::hamming)
    }

    /// How much of the first set lies in the second; undefined when the first is empty.
    pub fn containment_of_first(&self) -> Result<Estimate> {
        self.containment(|(first, _)| first, Measures::containment_of_first)
    }

    /// How much of the second set lies in the first; undefined when the second is empty.
    pub fn containment_of_second(&self) -> Result<Estimate> {
        self.containment(|(_, second)| second, Measures::containment_of_second)
    }

    fn containment(
        &self,
        whole: fn((Cardinality, Cardinality)) -> Cardinality,
        formula: fn(&Measures) -> Estimate,
    ) -> Result<Estimate> {
        let measure = "containment";
        self.check_sets(measure)?;
        let sizes = self.sizes.ok_or(self.no_sizes(measure))?;
        if whole(sizes).value == 0.0 {
            return Err(Error::Undefined { measure });
        }
        if self.one_empty {
            return Ok(Estimate::exact(0.0));
        }
        self.of_sizes(measure, formula)
    }

    fn of_sizes(
        &self,
        measure: &'static str,
        formula: fn(&Measures) -> Estimate,
    ) -> Result<Estimate> {
        self.check_sets(measure)?;
        let (first, second) = self.sizes.ok_or(self.no_sizes(measure))?;
        Ok(formula(&Measures { resemblance: self.similarity(), first, second }))
    }

    /// Refuses what only sets without weights have.
    fn check_sets(&self, asked: &'static str) -> Result<()> {
        match self.measure {
            Measure::Jaccard => Ok(()),
            Measure::Weighted | Measure::Cosine => Err(self.other_measure(asked)),
        }
    }

    fn other_measure(&self, asked: &'static str) -> Error {
        Error::OtherMeasure { asked, measure: self.measure.name() }
    }

    fn no_sizes(&self, measure: &'static str) -> Error {
        Error::NoCardinality { measure, field: self.field.name() }
    }
}

/// The share of a bounded universe that a set of this size fills; at least one element of it.
fn share(size: f64, universe: u64) -> f64 {
    (size / universe as f64).clamp(1.0 / universe as f64, 1.0)
}

/// Whether the cardinality field tells a size, and not only a share of the universe to a level or two.
fn tells_size(scheme: &Scheme) -> bool {
    matches!(scheme.cardinality, CardinalityField::Log8 | CardinalityField::Exact)
}

/// Adds to the error what does not shrink with more samples: a spread, and a bound on the bias of the
/// formulas by which the interval is widened, too.
fn with_systematic_error(e: Estimate, spread: f64, bias: f64) -> Estimate {
    Estimate {
        std_error: (e.std_error.powi(2) + spread.powi(2) + bias.powi(2)).sqrt(),
        low: (e.low - bias).max(0.0),
        high: (e.high + bias).min(1.0),
        ..e
    }
}

impl Signature {
    /// Everything the two signatures say about their sets. Signatures of different schemes are
    /// refused, and two empty sets are [`Error::Undefined`].
    pub fn compare(&self, other: &Signature) -> Result<Comparison> {
        let equal = self.count_equal(other)?;
        if self.is_empty() && other.is_empty() {
            return Err(Error::Undefined { measure: "the resemblance of empty sets" });
        }
        let sizes = self.cardinality().zip(other.cardinality());
        let one_empty = self.is_empty() || other.is_empty();
        if one_empty && self.scheme().measure == Measure::Cosine {
            return Err(Error::Undefined { measure: "the cosine with an empty vector" });
        }
        Ok(Comparison::new(self.scheme(), equal, sizes, one_empty))
    }

    /// The resemblance with another set: 0 if one of them is empty, undefined if both are.
    pub fn resemblance(&self, other: &Signature) -> Result<Estimate> {
        self.compare(other)?.resemblance()
    }

    /// The cosine of the angle to another vector: undefined if one of them is empty, that is, all 0.
    pub fn cosine(&self, other: &Signature) -> Result<Estimate> {
        self.compare(other)?.cosine()
    }
}

/// The resemblance of two sets or more: the intersection of all over the union of all. It is 0 if any
/// of them is empty, and undefined if all are.
///
/// ```
/// use ringer::{Scheme, Sketcher, resemblance_of};
/// let sketcher = Sketcher::new(&Scheme::precise());
/// let sets: Vec<Vec<u64>> = (0..3).map(|i| (100 * i..1000).collect()).collect();
/// let signatures = sets.iter().map(|s| sketcher.sketch(s)).collect::<Result<Vec<_>, _>>()?;
/// let all: Vec<_> = signatures.iter().collect();
/// let r = resemblance_of(&all)?;
/// assert!(r.low < 0.8 && 0.8 < r.high);
/// # Ok::<(), ringer::Error>(())
/// ```
pub fn resemblance_of(signatures: &[&Signature]) -> Result<Estimate> {
    let [first, rest @ ..] = signatures else {
        return Err(Error::invalid("no signatures", "give at least two"));
    };
    if let [second] = rest {
        return first.resemblance(second);
    }
    rest.iter().try_for_each(|s| s.check_scheme(first.shared_scheme()))?;
    let scheme = first.scheme();
    if scheme.measure == Measure::Cosine {
        let (asked, measure) = ("the resemblance", scheme.measure.name());
        return Err(Error::OtherMeasure { asked, measure });
    }
    let mut patterns = Patterns::new(signatures.len(), scheme.bits)?;
    if signatures.iter().all(|s| s.is_empty()) {
        return Err(Error::Undefined { measure: "the resemblance of empty sets" });
    }
    if signatures.iter().any(|s| s.is_empty()) {
        return Ok(Estimate::exact(0.0));
    }
    for sample in 0..scheme.samples as usize {
        let values: Vec<u16> = signatures.iter().filter_map(|s| s.sample(sample)).collect();
        patterns.add(&values)?;
    }
    let sizes: Option<Vec<Cardinality>> = signatures.iter().map(|s| s.cardinality()).collect();
    // The largest set is the least that the union can be, which states the larger error.
    let union = match scheme.sampler {
        Sampler::OnePermutation if tells_size(scheme) => {
            sizes.iter().flatten().map(|size| size.value).reduce(f64::max)
        }
        _ => None,
    };
    match (scheme.universe, sizes) {
        (Universe::Bounded(universe), Some(sizes)) => {
            // With all sizes at the middle, the lower and the upper end of their levels.
            let at = |end: f64| {
                let shares = sizes.iter().map(|f| share(f.value + end * f.half_width, universe));
                patterns.dense(&shares.collect::<Vec<_>>(), union)
            };
            let (middle, lower, upper) = (at(0.0)?, at(-1.0)?, at(1.0)?);
            let estimate = Estimate {
                low: middle.low.min(lower.low).min(upper.low),
                high: middle.high.max(lower.high).max(upper.high),
                ..middle
            };
            let spread = (upper.value - lower.value).abs() / 2.0 / 3.0_f64.sqrt();
            Ok(with_systematic_error(estimate, spread, 1.0 / universe as f64))
        }
        _ => patterns.sparse(union),
    }
}
