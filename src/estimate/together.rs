//! The joint resemblance of several sets, and the sizes of their intersection and union.
//!
//! In: signatures of one scheme. Out: the size of the intersection of all sets over that of their union, or both sizes,
//! each with its error. The formula depends on the scheme, and the result is clamped to what the sizes of the sets allow.

use super::bounded::{bias_bound, share, tells_size, with_systematic_error};
use super::joint::{JointMeasures, joint};
use super::many::Patterns;
use super::{Estimate, Law};
use crate::error::{Error, Result};
use crate::scheme::{Cardinality, Measure, Sampler, Universe};
use crate::sketch::Signature;

/// The resemblance of two or more sets: the intersection of all over the union of all. It is 0 if any of them is
/// empty, and undefined if all are.
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
        let (requested, measure) = ("the resemblance", scheme.measure.name());
        return Err(Error::OtherMeasure { requested, measure });
    }
    let mut patterns = Patterns::new(signatures.len(), scheme.bits)?;
    if signatures.iter().all(|s| s.is_empty()) {
        return Err(Error::Undefined { measure: "the resemblance of empty sets" });
    }
    if signatures.iter().any(|s| s.is_empty()) {
        return Ok(Estimate::exact(0.0));
    }
    if let Some((shared, union)) = counted(signatures) {
        return Ok(Estimate::exact(shared / union.max(1.0)));
    }
    add_samples(&mut patterns, signatures)?;
    let sizes: Option<Vec<Cardinality>> = signatures.iter().map(|s| s.cardinality()).collect();
    let most = sizes.as_deref().map_or(1.0, most_resemblance);
    // The union is at least as large as the largest set. This bound gives the larger error.
    let union = match scheme.sampler {
        Sampler::OnePermutation if tells_size(scheme) => {
            sizes.iter().flatten().map(|size| size.value).reduce(f64::max)
        }
        Sampler::OnePermutation
        | Sampler::Independent
        | Sampler::Lazy
        | Sampler::EveryBin
        | Sampler::Weighted
        | Sampler::SignProjection => None,
    };
    match (scheme.universe, sizes) {
        (Universe::Bounded(universe), Some(sizes)) => {
            // With all sizes at the middle, the lower end and the upper end of their levels.
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
            let bias = bias_bound(scheme.sampler, scheme.samples, Law::of(scheme), universe);
            Ok(at_most(with_systematic_error(estimate, spread, bias), most))
        }
        _ => Ok(at_most(patterns.sparse(union)?, most)),
    }
}

/// The resemblance of two or more sets, the number of elements that all of them have, and the number that any has.
///
/// For three sets and more this needs their sizes, as [`Comparison::intersection`](super::Comparison::intersection)
/// does, and signatures of at most eight sets. A query planner can compare the sizes of joins with it.
///
/// ```
/// use ringer::{Scheme, Sketcher, measures_of};
/// let sketcher = Sketcher::new(&Scheme::precise());
/// let sets: Vec<Vec<u64>> = (0..3).map(|i| (100 * i..1000 + 100 * i).collect()).collect();
/// let signatures = sets.iter().map(|s| sketcher.sketch(s)).collect::<Result<Vec<_>, _>>()?;
/// let all: Vec<_> = signatures.iter().collect();
/// let measures = measures_of(&all)?;
/// let near = |size: ringer::Estimate, counted: f64| (size.value - counted).abs() < 4.0 * size.std_error;
/// assert!(near(measures.intersection, 800.0) && near(measures.union, 1200.0), "{measures:?}");
/// # Ok::<(), ringer::Error>(())
/// ```
pub fn measures_of(signatures: &[&Signature]) -> Result<JointMeasures> {
    if let [first, second] = signatures {
        let pair = first.compare(second)?;
        let (intersection, union) = (pair.intersection()?, pair.union()?);
        return Ok(JointMeasures { resemblance: pair.resemblance()?, intersection, union });
    }
    let resemblance = resemblance_of(signatures)?;
    let [first, ..] = signatures else {
        return Err(Error::invalid("no signatures", "give at least two"));
    };
    let (scheme, requested) = (first.scheme(), "intersection and union");
    if scheme.measure != Measure::Jaccard {
        return Err(Error::OtherMeasure { requested, measure: scheme.measure.name() });
    }
    if let Some((shared, union)) = counted(signatures) {
        let [intersection, union] = [shared, union].map(Estimate::exact);
        return Ok(JointMeasures { resemblance, intersection, union });
    }
    let sizes: Option<Vec<Cardinality>> = signatures.iter().map(|s| s.cardinality()).collect();
    let missing = || Error::NoCardinality { measure: requested, field: scheme.cardinality.name() };
    let sizes = sizes.ok_or_else(missing)?;
    let filled: Vec<&Signature> = signatures.iter().filter(|s| !s.is_empty()).copied().collect();
    if filled.len() < signatures.len() {
        let size = || sizes.iter().find(|size| size.value > 0.0).map(of_size);
        let union = match filled.len() {
            0 | 1 => size().unwrap_or(Estimate::exact(0.0)),
            _ => measures_of(&filled)?.union,
        };
        return Ok(JointMeasures { resemblance, intersection: Estimate::exact(0.0), union });
    }
    let mut patterns = Patterns::new(signatures.len(), scheme.bits)?;
    add_samples(&mut patterns, signatures)?;
    let universe = match scheme.universe {
        Universe::Bounded(universe) => Some(universe),
        Universe::Open => None,
    };
    joint(&patterns, resemblance, &sizes, universe)
}

/// A size as an estimate.
fn of_size(size: &Cardinality) -> Estimate {
    let std_error = size.half_width / 3.0_f64.sqrt();
    Estimate { value: size.value, std_error, low: size.least(), high: size.most() }
}

fn add_samples(patterns: &mut Patterns, signatures: &[&Signature]) -> Result<()> {
    let samples = signatures.first().map_or(0, |first| first.scheme().samples as usize);
    (0..samples).try_for_each(|sample| {
        let values: Vec<u16> = signatures.iter().filter_map(|s| s.sample(sample)).collect();
        patterns.add(&values)
    })
}

/// The exact sizes of intersection and union, if the signatures include their sets.
fn counted(signatures: &[&Signature]) -> Option<(f64, f64)> {
    if !signatures.first()?.scheme().elements.are_exact() {
        return None;
    }
    let sets: Option<Vec<&[u64]>> = signatures.iter().map(|s| s.elements()).collect();
    let mut all: Vec<u64> = sets?.concat();
    all.sort_unstable();
    let runs = all.chunk_by(|a, b| a == b);
    let (union, shared) = runs.fold((0_u64, 0_u64), |(union, shared), run| {
        (union + 1, shared + u64::from(run.len() == signatures.len()))
    });
    Some((shared as f64, union as f64))
}

/// The resemblance if the sets are nested: the smallest in all others, and all in the largest.
fn most_resemblance(sizes: &[Cardinality]) -> f64 {
    let smallest = sizes.iter().map(Cardinality::most).fold(f64::INFINITY, f64::min);
    let largest = sizes.iter().map(Cardinality::least).fold(1.0, f64::max);
    (smallest / largest).clamp(0.0, 1.0)
}

/// The estimate clamped to what the sizes allow. No error exceeds the remaining range.
fn at_most(e: Estimate, most: f64) -> Estimate {
    Estimate {
        value: e.value.min(most),
        std_error: e.std_error.min(most),
        low: e.low.min(most),
        high: e.high.min(most),
    }
}
