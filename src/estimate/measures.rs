//! Intersection, union, containment and Hamming distance from resemblance and sizes.
//!
//! In: an estimate of R and two sizes, each with the half width of its field. Out: the measure with an
//! error by the delta method, to which the sizes' own uncertainty is added. R is cut to 0..=1 first:
//! these are for reading, and sizes of impossible sets help nobody.

use super::Estimate;
use crate::scheme::Cardinality;

/// What two sizes and a resemblance say.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measures {
    /// The resemblance.
    pub resemblance: Estimate,
    /// The size of the first set.
    pub first: Cardinality,
    /// The size of the second set.
    pub second: Cardinality,
}

/// A measure as a function of R and the two sizes.
type Measure = fn(r: f64, f1: f64, f2: f64) -> f64;

impl Measures {
    /// How many elements both sets have: `R/(1+R) (f1+f2)`.
    pub fn intersection(&self) -> Estimate {
        let most = (self.first.value + self.first.half_width)
            .min(self.second.value + self.second.half_width);
        self.apply(|r, f1, f2| r / (1.0 + r) * (f1 + f2), most)
    }

    /// How many elements either set has: `(f1+f2)/(1+R)`.
    pub fn union(&self) -> Estimate {
        self.apply(|r, f1, f2| (f1 + f2) / (1.0 + r), f64::INFINITY)
    }

    /// How much of the first set lies in the second: intersection over f1.
    pub fn containment_of_first(&self) -> Estimate {
        self.apply(|r, f1, f2| r / (1.0 + r) * (1.0 + f2 / f1), 1.0)
    }

    /// How much of the second set lies in the first: intersection over f2.
    pub fn containment_of_second(&self) -> Estimate {
        self.apply(|r, f1, f2| r / (1.0 + r) * (1.0 + f1 / f2), 1.0)
    }

    /// How many elements exactly one of the sets has: `(1-R)/(1+R) (f1+f2)`.
    pub fn hamming(&self) -> Estimate {
        self.apply(|r, f1, f2| (1.0 - r) / (1.0 + r) * (f1 + f2), f64::INFINITY)
    }

    /// All measures are monotonic in each argument, so the interval ends are at corners.
    fn apply(&self, measure: Measure, most: f64) -> Estimate {
        let r = self.resemblance.clamped();
        let (f1, f2) = (self.first.value, self.second.value);
        // Central differences; each measure is smooth on these scales.
        let slope = |at: &dyn Fn(f64) -> f64, step: f64| (at(step) - at(-step)) / (2.0 * step);
        let by_r = slope(&|e| measure(r + e, f1, f2), 1e-6);
        let by_f1 = slope(&|e| measure(r, f1 + e, f2), 1e-4 * f1.max(1.0));
        let by_f2 = slope(&|e| measure(r, f1, f2 + e), 1e-4 * f2.max(1.0));
        // A field's value is anywhere in its level: a uniform error has variance half_width^2 / 3.
        let level = |by: f64, size: Cardinality| by * by * size.half_width * size.half_width / 3.0;
        let variance = (by_r * self.resemblance.std_error).powi(2)
            + level(by_f1, self.first)
            + level(by_f2, self.second);
        let corner = |towards: f64| {
            let end = |by: f64| towards * by.signum();
            let r = if end(by_r) > 0.0 { self.resemblance.high } else { self.resemblance.low };
            let f1 = f1 + end(by_f1) * self.first.half_width;
            let f2 = f2 + end(by_f2) * self.second.half_width;
            measure(r, f1, f2).clamp(0.0, most)
        };
        Estimate {
            value: measure(r, f1, f2),
            std_error: variance.sqrt(),
            low: corner(-1.0),
            high: corner(1.0),
        }
    }
}
