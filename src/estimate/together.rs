//! The joint resemblance of several sets.
//!
//! In: signatures of one scheme. Out: the size of the intersection of all sets over that of their union, with its
//! error. The formula depends on the scheme, and the result is clamped to what the sizes of the sets allow.

use super::bounded::{bias_bound, share, tells_size, with_systematic_error};
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
    if let Some(exact) = counted(signatures) {
        return Ok(Estimate::exact(exact));
    }
    for sample in 0..scheme.samples as usize {
        let values: Vec<u16> = signatures.iter().filter_map(|s| s.sample(sample)).collect();
        patterns.add(&values)?;
    }
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

/// The exact resemblance, if the signatures include their sets.
fn counted(signatures: &[&Signature]) -> Option<f64> {
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
    Some(shared as f64 / union.max(1) as f64)
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
