//! Intersection, union, containment, overlap and Hamming distance from resemblance and sizes.
//!
//! In: an estimate of R and two sizes, each with the half width of its field. Out: the measure, with an error by the
//! delta method that includes the uncertainty of the sizes. R is first clamped to what sets of these sizes can have,
//! since an intersection larger than either set makes no sense.

use super::Estimate;
use crate::scheme::Cardinality;

/// Two sizes and a resemblance. The sizes are not negative.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measures {
    /// The resemblance.
    pub resemblance: Estimate,
    /// The size of the first set.
    pub first: Cardinality,
    /// The size of the second set.
    pub second: Cardinality,
}

/// A measure as a function of R and the two sizes, with its partial derivatives.
struct Formula {
    value: fn(r: f64, f1: f64, f2: f64) -> f64,
    /// The same as a function of the counted elements of both sets, without rounding errors.
    counted: fn(shared: f64, f1: f64, f2: f64) -> f64,
    by_r: fn(r: f64, f1: f64, f2: f64) -> f64,
    by_f1: fn(r: f64, f1: f64, f2: f64) -> f64,
    by_f2: fn(r: f64, f1: f64, f2: f64) -> f64,
}

const INTERSECTION: Formula = Formula {
    value: |r, f1, f2| r / (1.0 + r) * (f1 + f2),
    counted: |shared, _, _| shared,
    by_r: |r, f1, f2| (f1 + f2) / ((1.0 + r) * (1.0 + r)),
    by_f1: |r, _, _| r / (1.0 + r),
    by_f2: |r, _, _| r / (1.0 + r),
};

const UNION: Formula = Formula {
    value: |r, f1, f2| (f1 + f2) / (1.0 + r),
    counted: |shared, f1, f2| f1 + f2 - shared,
    by_r: |r, f1, f2| -(f1 + f2) / ((1.0 + r) * (1.0 + r)),
    by_f1: |r, _, _| 1.0 / (1.0 + r),
    by_f2: |r, _, _| 1.0 / (1.0 + r),
};

const HAMMING: Formula = Formula {
    value: |r, f1, f2| (1.0 - r) / (1.0 + r) * (f1 + f2),
    counted: |shared, f1, f2| f1 + f2 - 2.0 * shared,
    by_r: |r, f1, f2| -2.0 * (f1 + f2) / ((1.0 + r) * (1.0 + r)),
    by_f1: |r, _, _| (1.0 - r) / (1.0 + r),
    by_f2: |r, _, _| (1.0 - r) / (1.0 + r),
};

const CONTAINMENT: Formula = Formula {
    value: |r, f1, f2| r / (1.0 + r) * (1.0 + f2 / f1),
    counted: |shared, f1, _| shared / f1,
    by_r: |r, f1, f2| (1.0 + f2 / f1) / ((1.0 + r) * (1.0 + r)),
    by_f1: |r, f1, f2| -r / (1.0 + r) * f2 / (f1 * f1),
    by_f2: |r, f1, _| r / (1.0 + r) / f1,
};

impl Measures {
    /// The number of elements in both sets: `R/(1+R) (f1+f2)`.
    pub fn intersection(&self) -> Estimate {
        self.apply(&INTERSECTION, upper(self.first).min(upper(self.second)))
    }

    /// The number of elements in either set: `(f1+f2)/(1+R)`.
    pub fn union(&self) -> Estimate {
        self.apply(&UNION, f64::INFINITY)
    }

    /// The share of the first set, which is not empty, that is in the second: intersection over f1.
    pub fn containment_of_first(&self) -> Estimate {
        self.apply(&CONTAINMENT, 1.0)
    }

    /// The share of the second set, which is not empty, that is in the first: intersection over f2.
    pub fn containment_of_second(&self) -> Estimate {
        Measures { first: self.second, second: self.first, ..*self }.containment_of_first()
    }

    /// The overlap coefficient of two sets that are not empty: the share of the smaller one that is in the other, which is
    /// the greater of the two containments.
    pub fn overlap(&self) -> Estimate {
        let [first, second] = [self.containment_of_first(), self.containment_of_second()];
        let greater = if first.value < second.value { second } else { first };
        // Sizes that are known to a level may hide which set is smaller, so both intervals count.
        Estimate { low: first.low.max(second.low), high: first.high.max(second.high), ..greater }
    }

    /// The number of elements in exactly one of the sets: `(1-R)/(1+R) (f1+f2)`.
    pub fn hamming(&self) -> Estimate {
        self.apply(&HAMMING, f64::INFINITY)
    }

    /// All measures are monotonic in each argument, so the ends of the interval are at corners.
    fn apply(&self, formula: &Formula, most: f64) -> Estimate {
        let possible = |r: f64| r.clamp(0.0, self.most_resemblance());
        let (r, f1, f2) = (possible(self.resemblance.value), self.first.value, self.second.value);
        if self.are_counted() {
            // A whole number, of which R has lost a few bits.
            let shared = (r / (1.0 + r) * (f1 + f2)).round();
            return Estimate::exact((formula.counted)(shared, f1, f2));
        }
        let [by_r, by_f1, by_f2] =
            [formula.by_r, formula.by_f1, formula.by_f2].map(|slope| slope(r, f1, f2));
        // The size is anywhere in its level: a uniform error has the variance half_width^2 / 3.
        let level = |by: f64, size: Cardinality| by * by * size.half_width * size.half_width / 3.0;
        let variance = (by_r * self.resemblance.std_error).powi(2)
            + level(by_f1, self.first)
            + level(by_f2, self.second);
        // At R = 0 the derivatives by size are 0, but their signs are those for a larger R.
        let [sign_f1, sign_f2] =
            [formula.by_f1, formula.by_f2].map(|slope| slope(r.max(1e-6), f1, f2));
        let corner = |up: bool| {
            let size = |by: f64, size| if (by > 0.0) == up { upper(size) } else { lower(size) };
            let r = if (by_r > 0.0) == up { self.resemblance.high } else { self.resemblance.low };
            let end =
                (formula.value)(possible(r), size(sign_f1, self.first), size(sign_f2, self.second));
            end.max(0.0).min(most)
        };
        let (low, high) = (corner(false), corner(true));
        let value = (formula.value)(r, f1, f2).max(low).min(high);
        // The standard deviation of a number between two ends is at most half of their distance.
        let [one, other] = [0.0, self.most_resemblance()].map(|r| (formula.value)(r, f1, f2));
        let sizes = self.first.half_width + self.second.half_width;
        let widest = ((one - other).abs() / 2.0 + sizes).min(most / 2.0);
        let std_error = if widest > 0.0 { variance.sqrt().min(widest) } else { variance.sqrt() };
        Estimate { value, std_error, low, high }
    }

    /// Whether the elements of both sets, and those that they share, have been counted.
    fn are_counted(&self) -> bool {
        let Estimate { std_error, low, high, .. } = self.resemblance;
        let vague = self.first.half_width + self.second.half_width;
        std_error == 0.0 && low == high && vague == 0.0
    }

    /// The resemblance if the smaller set is contained in the larger one.
    fn most_resemblance(&self) -> f64 {
        let within = |a: Cardinality, b: Cardinality| {
            if lower(b) > 0.0 { upper(a) / lower(b) } else { 1.0 }
        };
        within(self.first, self.second).min(within(self.second, self.first)).clamp(0.0, 1.0)
    }
}

/// The largest possible size.
fn upper(size: Cardinality) -> f64 {
    size.value + size.half_width
}

/// The smallest possible size. A set that is not empty has an element.
fn lower(size: Cardinality) -> f64 {
    (size.value - size.half_width).max(size.value.min(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sets of 1 to 60 elements, and some that are so large that R loses many bits.
    #[test]
    fn counted_measures_are_those_of_the_sets() {
        let small = (1..=60_u64).flat_map(|f1| (1..=60).map(move |f2| (f1, f2)));
        for (f1, f2) in small.chain([(3_000_000_000, 4_000_000_000), (4_294_967_295, 7)]) {
            for shared in [0, 1, f1.min(f2) / 3, f1.min(f2) - 1, f1.min(f2)] {
                let union = f1 + f2 - shared;
                let measures = Measures {
                    resemblance: Estimate::exact(shared as f64 / union as f64),
                    first: Cardinality::exact(f1),
                    second: Cardinality::exact(f2),
                };
                let exact = |value: f64| Estimate::exact(value);
                assert_eq!(measures.intersection(), exact(shared as f64));
                assert_eq!(measures.union(), exact(union as f64));
                assert_eq!(measures.hamming(), exact((union - shared) as f64));
                assert_eq!(measures.containment_of_first(), exact(shared as f64 / f1 as f64));
                assert_eq!(measures.containment_of_second(), exact(shared as f64 / f2 as f64));
            }
        }
    }
}
