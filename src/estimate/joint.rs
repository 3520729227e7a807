//! The sizes of the intersection and of the union of several sets.
//!
//! In: how often each pattern of agreement occurred, the resemblance with its error, and the sizes of the sets. Out: both
//! sizes with their errors. For three sets, inclusion and exclusion give `u = (f1 + f2 + f3 - a12 - a13 - a23) / (1 -
//! R)` and `a = R u` (004, 1.4), where `aij = Rij/(1 + Rij) (fi + fj)`. More sets continue this by the size of the subset
//! ([`super::many_dense`]). As R comes near 1 both terms of the fraction come near 0. There, `f <= u <= f' / R` is what
//! counts, for the largest size f and the smallest size f'.

use super::many::{Patterns, Rates};
use super::many_dense::intersection_and_union;
use super::{Estimate, Z95};
use crate::error::{Error, Result};
use crate::limits::MAX_SETS_DENSE;
use crate::scheme::Cardinality;

/// What two or more sets have in common. See [`measures_of`](super::measures_of).
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct JointMeasures {
    /// The size of the intersection over that of the union.
    pub resemblance: Estimate,
    /// The number of elements that all sets have.
    pub intersection: Estimate,
    /// The number of elements that at least one set has.
    pub union: Estimate,
}

/// The size of an open universe.
const OPEN: f64 = 18_446_744_073_709_551_616.0;

/// The measures of sets that are not empty, at most eight. `universe` is the size of a bounded universe.
pub(super) fn joint(
    patterns: &Patterns,
    resemblance: Estimate,
    sizes: &[Cardinality],
    universe: Option<u64>,
) -> Result<JointMeasures> {
    if sizes.len() > MAX_SETS_DENSE {
        return Err(Error::invalid(
            format!("the intersection and union of {} sets", sizes.len()),
            format!("their sizes can be estimated for at most {MAX_SETS_DENSE} sets"),
        ));
    }
    let whole = universe.map_or(OPEN, |universe| universe as f64);
    let solve = |sizes: &[f64], agree: Rates<'_>| {
        let shares: Vec<f64> = sizes.iter().map(|f| (f / whole).clamp(1.0 / whole, 1.0)).collect();
        intersection_and_union(&shares, patterns.bits(), agree).map(|share| share * whole)
    };
    let middle: Vec<f64> = sizes.iter().map(|size| size.value).collect();
    let of = |part: usize| {
        let (value, variance) = patterns.evaluate(|agree| solve(&middle, agree)[part]);
        let change = |i: usize| {
            let at = |end: f64| {
                let mut moved = middle.clone();
                moved[i] += end * sizes[i].half_width;
                patterns.evaluate_observed(|agree| solve(&moved, agree)[part])
            };
            if sizes[i].half_width > 0.0 { (at(1.0) - at(-1.0)) / 2.0 } else { 0.0 }
        };
        Solved { value, variance, changes: (0..sizes.len()).map(change).collect() }
    };
    let range = Range::of(&resemblance, sizes);
    // Samples that depend on each other raise all variances as they raise that of the resemblance.
    let (_, plain) = patterns.evaluate(|agree| {
        let [intersection, union] = solve(&middle, agree);
        intersection / union
    });
    let factor = (resemblance.std_error.powi(2) / plain).max(1.0);
    let factor = if factor.is_finite() { factor } else { 1.0 };
    let (intersection, union) = (of(0), of(1));
    let r = resemblance.value.clamp(0.0, 1.0);
    let value = if union.value.is_finite() { union.value } else { range.largest };
    let value = value.max(range.largest).min(range.most_union(r)).max(range.largest);
    let union_ends = [range.largest, range.most_union(resemblance.low)];
    let shared_ends =
        [resemblance.low * range.largest, range.smallest.min(resemblance.high * union_ends[1])];
    let shared = intersection.within(r * value, factor, shared_ends);
    Ok(JointMeasures {
        resemblance,
        // The interval of the resemblance alone is wider where few samples agree or differ.
        intersection: Estimate {
            low: shared.low.min(resemblance.low * value).max(shared_ends[0]),
            high: shared.high.max(resemblance.high * value).min(shared_ends[1]),
            ..shared
        },
        union: union.within(value, factor, union_ends),
    })
}

/// What sets of these sizes can have.
struct Range {
    largest: f64,
    smallest: f64,
    all: f64,
}

impl Range {
    fn of(resemblance: &Estimate, sizes: &[Cardinality]) -> Range {
        let largest = sizes.iter().map(Cardinality::least).fold(1.0, f64::max);
        let smallest = sizes.iter().map(Cardinality::most).fold(f64::INFINITY, f64::min);
        let all: f64 = sizes.iter().map(Cardinality::most).sum();
        // Every element of the intersection is in all sets.
        let twice = (sizes.len() - 1) as f64 * resemblance.low.max(0.0);
        Range { largest, smallest, all: all / (1.0 + twice) }
    }

    /// The largest union of sets of this resemblance.
    fn most_union(&self, resemblance: f64) -> f64 {
        let most = if resemblance > 0.0 { self.smallest / resemblance } else { f64::INFINITY };
        most.min(self.all).max(self.largest)
    }
}

/// A size, before it is clamped.
struct Solved {
    value: f64,
    variance: f64,
    /// How much half the width of each size's level moves it.
    changes: Vec<f64>,
}

impl Solved {
    /// The estimate of a size that is known to be between two ends.
    fn within(&self, value: f64, factor: f64, [least, most]: [f64; 2]) -> Estimate {
        let most = most.max(least);
        let value = value.clamp(least, most);
        let level: f64 = self.changes.iter().map(|change| change * change / 3.0).sum();
        let bias: f64 = self.changes.iter().map(|change| change.abs()).sum();
        let sampling = (self.variance * factor).sqrt();
        let limit =
            |error: f64| if error.is_finite() { error.min(most - least) } else { most - least };
        let (sampling, bias) = (limit(sampling), limit(bias));
        Estimate {
            value,
            // The standard deviation of a number between two ends is at most half of their distance.
            std_error: limit((sampling * sampling + level).sqrt()).min((most - least) / 2.0),
            low: (value - Z95 * sampling - bias).clamp(least, most),
            high: (value + Z95 * sampling + bias).clamp(least, most),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(sizes: [u64; 3]) -> Vec<Cardinality> {
        sizes.map(Cardinality::exact).to_vec()
    }

    /// Three sets of which these numbers of samples agree: all, 1 and 2, 1 and 3, 2 and 3, none.
    fn observed(bits: u8, counts: [u32; 5]) -> Patterns {
        let mut patterns = Patterns::new(3, bits).unwrap();
        let values = [[1, 1, 1], [1, 1, 2], [1, 2, 1], [1, 2, 2], [0, 1, 2]];
        for (values, count) in values.iter().zip(counts) {
            patterns.add_many(values, count).unwrap();
        }
        patterns
    }

    /// Sets of known regions, with the rates of agreement that theorem 2 of 004 gives them, have their counted sizes.
    #[test]
    fn three_sets_follow_inclusion_and_exclusion() {
        // f1 = 990, f2 = 960, f3 = 980, a12 = 700, a13 = 690, a23 = 710, a = 600, so u = 1430.
        let [r12, r13, r23, r] = [700.0 / 1250.0, 690.0 / 1280.0, 710.0 / 1230.0, 600.0 / 1430.0];
        for bits in [2, 4, 8] {
            let m = f64::from(bits).exp2();
            let pair = |r: f64| (1.0 + (m - 1.0) * r) / m;
            let all = ((m - 1.0) * (m - 2.0) * r + (m - 1.0) * (r12 + r13 + r23) + 1.0) / (m * m);
            let only = [r12, r13, r23].map(|r| pair(r) - all);
            let rates = [all, only[0], only[1], only[2], 1.0 - all - only.iter().sum::<f64>()];
            let patterns = observed(bits, rates.map(|rate| (rate * 1e6).round() as u32));
            let r = patterns.sparse(None).unwrap();
            let measures = joint(&patterns, r, &sizes([990, 960, 980]), None).unwrap();
            assert!((measures.union.value - 1430.0).abs() < 0.5, "b {bits}: {measures:?}");
            assert!((measures.intersection.value - 600.0).abs() < 0.3, "b {bits}: {measures:?}");
            // In a universe of 100 million places these sets are as sparse.
            let bounded = joint(&patterns, r, &sizes([990, 960, 980]), Some(100_000_000)).unwrap();
            assert!((bounded.union.value - measures.union.value).abs() < 1.0, "{bounded:?}");
        }
    }

    /// The error of the intersection and of the union, from the spread of simulated counts.
    #[test]
    fn the_error_is_that_of_simulated_counts() {
        let rates = [0.45, 0.13, 0.11, 0.15, 0.16];
        let mut random = testkit::random::Random(41);
        let mut draw = |k: u32| {
            let mut counts = [0; 5];
            for _ in 0..k {
                let mut left = random.unit();
                let cell = rates.iter().position(|rate| {
                    left -= rate;
                    left < 0.0
                });
                counts[cell.unwrap_or(4)] += 1;
            }
            let patterns = observed(8, counts);
            let r = patterns.sparse(None).unwrap();
            joint(&patterns, r, &sizes([990, 960, 980]), None).unwrap()
        };
        let all: Vec<JointMeasures> = (0..1000).map(|_| draw(1000)).collect();
        for part in [|m: &JointMeasures| m.intersection, |m: &JointMeasures| m.union] {
            let mean = all.iter().map(|m| part(m).value).sum::<f64>() / 1000.0;
            let spread = all.iter().map(|m| (part(m).value - mean).powi(2)).sum::<f64>() / 1000.0;
            let stated = all.iter().map(|m| part(m).std_error.powi(2)).sum::<f64>() / 1000.0;
            let ratio = (stated / spread).sqrt();
            // A thousand repetitions tell a standard deviation to 2.2 %.
            assert!((0.91..1.09).contains(&ratio), "stated error is {ratio:.3} of observed");
        }
    }

    /// Where all samples agree, or all but one, the sizes alone limit both numbers.
    #[test]
    fn equal_sets_have_their_own_size() {
        for counts in [[128, 0, 0, 0, 0], [127, 1, 0, 0, 0], [127, 0, 0, 0, 1]] {
            let patterns = observed(4, counts);
            let r = patterns.sparse(None).unwrap();
            let measures = joint(&patterns, r, &sizes([500, 500, 500]), None).unwrap();
            let Estimate { value, low, high, std_error } = measures.union;
            assert!((500.0..=510.0).contains(&value) && low == 500.0, "{measures:?}");
            assert!(high < 530.0 && std_error < 15.0, "{measures:?}");
            assert!(measures.intersection.high <= 500.0 && measures.intersection.value > 490.0);
        }
    }

    /// Sizes that are known to a level add its error.
    #[test]
    fn coarse_sizes_widen_the_error() {
        let patterns = observed(8, [54, 18, 15, 20, 21]);
        let r = patterns.sparse(None).unwrap();
        let exact = joint(&patterns, r, &sizes([990, 960, 980]), None).unwrap();
        let coarse = |size: &Cardinality| Cardinality { half_width: 30.0, ..*size };
        let coarse: Vec<Cardinality> = sizes([990, 960, 980]).iter().map(coarse).collect();
        let coarse = joint(&patterns, r, &coarse, None).unwrap();
        assert!(coarse.union.std_error > exact.union.std_error + 1.0, "{coarse:?} {exact:?}");
        assert!(coarse.union.high > exact.union.high + 30.0, "{coarse:?} {exact:?}");
        assert!(exact.union.high < 1650.0, "sizes alone limit the union: {exact:?}");
        assert_eq!(coarse.union.value, exact.union.value);
    }
}
