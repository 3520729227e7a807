//! The resemblance of three or more sets: the size of the common intersection over that of the union.
//!
//! In: for each sample, which of the n sets agree with which ([`Patterns`]). Out: the n-way resemblance with its
//! error. Signatures of b bits suffice only if `2^b >= n`; fewer bits are an error.
//!
//! In the open universe a sample in which the sets have d different values has the weight `w(d) = (-1)^(d-1) (d-1)! /
//! ((M-1)(M-2)..(M-d+1))`, M = 2^b, and the mean weight is unbiased. For two and three sets it is the published
//! estimator. For a bounded universe see [`super::many_dense`].

use std::collections::BTreeMap;

use super::confidence::Confidence;
use super::interval::wilson;
use super::many_dense;
use super::small_sets::{unseen, variance_factor};
use super::{Estimate, Z95};
use crate::error::{Error, Result};
use crate::limits::{MAX_SETS_DENSE, MAX_SETS_SPARSE};

/// Which of n sets agree with which, as a restricted growth string: sets that agree have the same number, and numbers
/// are assigned in order of first occurrence. Four bits per set, set 0 lowest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Pattern(u64);

impl Pattern {
    fn of(values: &[u16]) -> Pattern {
        let mut seen: [u16; MAX_SETS_SPARSE] = [0; MAX_SETS_SPARSE];
        let (mut distinct, mut pattern) = (0, 0);
        for (i, value) in values.iter().enumerate() {
            let class = seen[..distinct].iter().position(|s| s == value).unwrap_or_else(|| {
                seen[distinct] = *value;
                distinct += 1;
                distinct - 1
            });
            pattern |= (class as u64) << (4 * i);
        }
        Pattern(pattern)
    }

    /// Every pattern of three sets: all agree, 1 and 2 only, 1 and 3 only, 2 and 3 only, none.
    const OF_THREE: [Pattern; 5] =
        [Pattern(0x000), Pattern(0x100), Pattern(0x010), Pattern(0x110), Pattern(0x210)];

    fn class(self, set: usize) -> u64 {
        self.0 >> (4 * set) & 15
    }

    fn distinct(self, sets: usize) -> u64 {
        1 + (0..sets).map(|set| self.class(set)).max().unwrap_or(0)
    }

    /// Whether all sets of a subset, as a bit mask, agree.
    fn agree(self, subset: usize) -> bool {
        let first = self.class(subset.trailing_zeros() as usize);
        (0..MAX_SETS_DENSE).all(|set| subset >> set & 1 == 0 || self.class(set) == first)
    }
}

/// How often each pattern of agreement occurred in k samples of n sets.
#[derive(Debug, Clone, PartialEq)]
pub struct Patterns {
    sets: usize,
    bits: u8,
    counts: BTreeMap<Pattern, f64>,
}

impl Patterns {
    /// Starts without samples, for `sets` sets with samples of `bits` bits.
    pub fn new(sets: usize, bits: u8) -> Result<Patterns> {
        if !(2..=MAX_SETS_SPARSE).contains(&sets) {
            return Err(Error::invalid(
                format!("{sets} sets"),
                format!("resemblance is defined here for 2 to {MAX_SETS_SPARSE} sets"),
            ));
        }
        let needed = sets.next_power_of_two().trailing_zeros() as u8;
        if bits < needed {
            return Err(Error::TooFewBits { sets, bits, needed });
        }
        Ok(Patterns { sets, bits, counts: BTreeMap::new() })
    }

    /// Adds one sample: the values of all sets, in order.
    pub fn add(&mut self, values: &[u16]) -> Result<()> {
        self.add_many(values, 1)
    }

    /// Adds `count` samples with the same agreement.
    pub fn add_many(&mut self, values: &[u16], count: u32) -> Result<()> {
        if values.len() != self.sets {
            return Err(Error::invalid(
                format!("{} values", values.len()),
                format!("a sample has one value for each of the {} sets", self.sets),
            ));
        }
        *self.counts.entry(Pattern::of(values)).or_default() += f64::from(count);
        Ok(())
    }

    fn samples(&self) -> f64 {
        self.counts.values().sum()
    }

    /// Whether all sets agree in every sample.
    fn all_agree(&self) -> bool {
        self.counts.keys().all(|pattern| pattern.distinct(self.sets) == 1)
    }

    /// The resemblance of sets that are tiny compared with their universe. For samples of one permutation, `union` is
    /// a lower bound of the size of the union, as for [`super::Sampling`].
    pub fn sparse(&self, union: Option<f64>) -> Result<Estimate> {
        let m = f64::from(self.bits).exp2();
        let weight = |pattern: &Pattern| weight(pattern.distinct(self.sets), m);
        self.estimate(union, |cells| {
            let mean: f64 = cells.iter().map(|(p, share)| share * weight(p)).sum();
            let square: f64 = cells.iter().map(|(p, share)| share * weight(p).powi(2)).sum();
            (mean, (square - mean * mean).max(0.0))
        })
    }

    /// The resemblance of sets that fill these shares of a bounded universe, above 0 and at most 1. At most eight
    /// sets.
    pub fn dense(&self, shares: &[f64], union: Option<f64>) -> Result<Estimate> {
        let possible = shares.iter().all(|share| *share > 0.0 && *share <= 1.0);
        if self.sets > MAX_SETS_DENSE || shares.len() != self.sets || !possible {
            return Err(Error::invalid(
                format!("{} sets with {} shares of a bounded universe", self.sets, shares.len()),
                format!(
                    "there must be one share a set, above 0 and at most 1, and at most \
                     {MAX_SETS_DENSE} sets"
                ),
            ));
        }
        let bits = u32::from(self.bits);
        self.estimate(union, |cells| {
            let agree = self.rates(cells);
            let value = |agree: Rates<'_>| many_dense::resemblance(shares, bits, agree);
            (value(&|subset| agree[subset]), delta_variance(cells, &agree, value))
        })
    }

    /// How often the sets of each subset agree. At most eight sets.
    fn rates(&self, cells: &Cells) -> [f64; 1 << MAX_SETS_DENSE] {
        let mut agree = [0.0; 1 << MAX_SETS_DENSE];
        for (subset, rate) in agree.iter_mut().enumerate().take(1 << self.sets).skip(1) {
            *rate = cells.iter().filter(|(p, _)| p.agree(subset)).map(|(_, share)| share).sum();
        }
        agree
    }

    /// A function of the rates at which the sets of each subset agree, and its variance. At most eight sets.
    pub(super) fn evaluate(&self, value: impl Fn(Rates<'_>) -> f64) -> (f64, f64) {
        let smoothed = cells(&self.smoothed());
        let variance = delta_variance(&smoothed, &self.rates(&smoothed), &value);
        (self.evaluate_observed(value), variance / self.samples().max(1.0))
    }

    /// A function of the rates at which the sets of each subset agree. At most eight sets.
    pub(super) fn evaluate_observed(&self, value: impl Fn(Rates<'_>) -> f64) -> f64 {
        let observed = self.rates(&cells(&self.counts));
        value(&|subset| observed[subset])
    }

    /// The number of samples of each pattern, with half a sample added to each pattern: to all five patterns of three
    /// sets. More sets have too many patterns, and only those that occurred are counted.
    fn smoothed(&self) -> BTreeMap<Pattern, f64> {
        let mut smoothed = self.counts.clone();
        if self.sets == 3 {
            Pattern::OF_THREE.iter().for_each(|p| *smoothed.entry(*p).or_default() += 0.0);
            smoothed.values_mut().for_each(|count| *count += 0.5);
        }
        smoothed
    }

    /// The number of bits of a sample.
    pub(super) fn bits(&self) -> u32 {
        u32::from(self.bits)
    }

    /// The estimate by a method that computes R and k times its variance from the shares of patterns. The
    /// variance is that of the smoothed counts.
    fn estimate(
        &self,
        union: Option<f64>,
        method: impl Fn(&Cells) -> (f64, f64),
    ) -> Result<Estimate> {
        let k = self.samples();
        if k < 1.0 {
            return Err(Error::invalid("no samples", "an estimate needs at least one"));
        }
        let (smooth_r, variance) = method(&cells(&self.smoothed()));
        let smooth_r = smooth_r.clamp(0.5 / k, 1.0 - 0.5 / k);
        let r = if self.all_agree() { 1.0 } else { method(&cells(&self.counts)).0 };
        let mut variance = variance / k;
        if let Some(union) = union {
            let factor = variance_factor(union, k as u32).max(1.0);
            variance += (factor - 1.0) * smooth_r * (1.0 - smooth_r) / k;
        }
        let n = (smooth_r * (1.0 - smooth_r) / variance).min(k);
        let (mut low, high) = wilson(r.clamp(0.0, 1.0), n, Confidence::P95);
        if let (true, Some(union)) = (self.all_agree(), union) {
            // The few elements that are not shared may all be unseen.
            low = low.min(1.0 - unseen(union, k as u32) / union.max(1.0));
        }
        let std_error = variance.sqrt();
        Ok(Estimate {
            value: r,
            std_error,
            low: low.min(r - Z95 * std_error).clamp(0.0, 1.0),
            high: high.max(r + Z95 * std_error).clamp(0.0, 1.0),
        })
    }
}

/// How often all sets of a subset agree.
pub(super) type Rates<'a> = &'a dyn Fn(usize) -> f64;

/// Patterns with their shares of all samples.
type Cells = Vec<(Pattern, f64)>;

fn cells(counts: &BTreeMap<Pattern, f64>) -> Cells {
    let total: f64 = counts.values().sum();
    counts.iter().map(|(pattern, count)| (*pattern, count / total)).collect()
}

/// `w(d)`: what a sample with d different values contributes.
fn weight(distinct: u64, m: f64) -> f64 {
    (1..distinct).fold(1.0, |w, i| -w * i as f64 / (m - i as f64))
}

/// k times the variance of a function of agreement rates: the mean square of the influence of each pattern, which is
/// a central difference.
fn delta_variance(cells: &Cells, agree: &[f64], value: impl Fn(Rates<'_>) -> f64) -> f64 {
    const STEP: f64 = 1e-5;
    let moved = |pattern: Pattern, step: f64| {
        value(&|subset| {
            let rate = agree[subset];
            rate + step * (f64::from(u8::from(pattern.agree(subset))) - rate)
        })
    };
    let (mut square, mut mean) = (0.0, 0.0);
    for (pattern, share) in cells {
        let influence = (moved(*pattern, STEP) - moved(*pattern, -STEP)) / (2.0 * STEP);
        square += share * influence * influence;
        mean += share * influence;
    }
    (square - mean * mean).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_name_which_sets_agree() {
        assert_eq!(Pattern::of(&[7, 7, 7]), Pattern::OF_THREE[0]);
        assert_eq!(Pattern::of(&[7, 7, 1]), Pattern::OF_THREE[1]);
        assert_eq!(Pattern::of(&[7, 1, 7]), Pattern::OF_THREE[2]);
        assert_eq!(Pattern::of(&[1, 7, 7]), Pattern::OF_THREE[3]);
        assert_eq!(Pattern::of(&[1, 2, 3]), Pattern::OF_THREE[4]);
        let p = Pattern::of(&[5, 9, 5, 9, 1]);
        assert_eq!(p.distinct(5), 3);
        assert!(p.agree(0b00101) && p.agree(0b01010) && !p.agree(0b00011) && p.agree(0b10000));
    }

    #[test]
    fn too_few_bits_are_an_error() {
        for (sets, needed) in [(2, 1), (3, 2), (4, 2), (5, 3), (8, 3), (9, 4), (16, 4)] {
            assert!(Patterns::new(sets, needed).is_ok());
            let bits = needed - 1;
            let error = Err(Error::TooFewBits { sets, bits, needed });
            assert_eq!(Patterns::new(sets, bits), error);
        }
        assert!(matches!(Patterns::new(17, 16), Err(Error::InvalidArgument { .. })));
        assert!(matches!(Patterns::new(1, 16), Err(Error::InvalidArgument { .. })));
    }

    /// For two sets the weights are the pair estimator: 1 and -1/(M-1).
    #[test]
    fn two_sets_are_the_pair_estimator() {
        let mut patterns = Patterns::new(2, 4).unwrap();
        patterns.add_many(&[1, 1], 70).unwrap();
        patterns.add_many(&[1, 2], 58).unwrap();
        let estimate = patterns.sparse(None).unwrap();
        assert!((estimate.value - 0.516_667).abs() < 1e-6);
        assert!((estimate.std_error - 0.046_933).abs() < 1e-6);
    }
}
