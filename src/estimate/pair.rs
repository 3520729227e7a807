//! The similarity of two sets or vectors, from a count of equal samples.
//!
//! In: x of k samples agree, the law by which they do, and how they were drawn. Out: resemblance or cosine with
//! standard error and interval, and the probability that it reaches a threshold.

use std::f64::consts::PI;

use super::Estimate;
use super::confidence::Confidence;
use super::dependence;
use super::half_bit;
use super::interval::{beta_above, binomial_at_least, proportion};
use super::law::Law;
use super::small_sets::unseen_at;
use crate::scheme::Sampler;

/// How the samples were drawn, as far as the error depends on it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Sampling {
    /// k independent permutations.
    Independent,
    /// One permutation in k bins.
    OnePermutation {
        /// The sum of the two set sizes. Without it the error is that of independent samples, which is up to 26 % too
        /// small for sets of fewer than k elements.
        total_size: Option<f64>,
    },
    /// Every element visits every bin.
    EveryBin {
        /// The sum of the two set sizes. Without it the error is that of independent samples, which is up to 70 % too
        /// large for sets of fewer than k elements.
        total_size: Option<f64>,
    },
}

impl Sampling {
    /// How a sampler draws, with the sum of two set sizes if it is known.
    pub(crate) fn of(sampler: Sampler, total_size: Option<f64>) -> Sampling {
        match sampler {
            Sampler::OnePermutation => Sampling::OnePermutation { total_size },
            Sampler::EveryBin => Sampling::EveryBin { total_size },
            Sampler::Independent | Sampler::Lazy | Sampler::Weighted | Sampler::SignProjection => {
                Sampling::Independent
            }
        }
    }

    /// The sum of the sizes, if the error depends on it and it is known.
    pub(crate) fn total_size(self) -> Option<f64> {
        match self {
            Sampling::OnePermutation { total_size } | Sampling::EveryBin { total_size } => {
                total_size
            }
            Sampling::Independent => None,
        }
    }
}

/// The result of comparing two signatures.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Agreement {
    /// x, the number of equal samples.
    pub equal: u32,
    /// k, the number of samples. At least 1 and at least `equal`.
    pub samples: u32,
    /// How often samples agree.
    pub law: Law,
    /// How they were drawn.
    pub sampling: Sampling,
}

impl Agreement {
    /// The share of samples that agree, at most 1.
    pub(crate) fn rate(&self) -> f64 {
        f64::from(self.equal.min(self.samples)) / f64::from(self.samples.max(1))
    }

    /// The estimate alone.
    pub(crate) fn value(&self) -> f64 {
        self.law.similarity(self.rate())
    }

    /// The variance of the estimate at this share of equal samples, and the variance if samples were independent.
    fn variances(&self, rate: f64) -> (f64, f64) {
        let k = f64::from(self.samples);
        let independent = self.law.variance(rate, k);
        let Some(total) = self.sampling.total_size() else { return (independent, independent) };
        let r = self.law.similarity(rate).clamp(0.0, 1.0);
        let factor = dependence::variance_factor(self.sampling, total / (1.0 + r), self.samples);
        ((independent + (factor - 1.0) * r * (1.0 - r) / k).max(0.0), independent)
    }

    /// The number of independent samples with the same variance. At most k for one permutation, and more if
    /// every element visits every bin.
    fn effective_samples(&self) -> f64 {
        let (variance, independent) = self.variances(self.rate());
        let excess = if independent > 0.0 { variance / independent } else { 1.0 };
        let least = match self.sampling {
            Sampling::EveryBin { .. } => 0.01,
            Sampling::OnePermutation { .. } | Sampling::Independent => 1.0,
        };
        f64::from(self.samples) / excess.max(least)
    }

    /// The standard error. If all samples agree, or none, the formula would give 0, so half a sample is moved.
    fn std_error(&self) -> f64 {
        let k = f64::from(self.samples.max(1));
        let (variance, _) = self.variances(self.rate());
        let (smoothed, _) =
            self.variances(self.rate().clamp(0.5 / (k + 1.0), (k + 0.5) / (k + 1.0)));
        let variance = if variance > 0.0 { variance } else { smoothed };
        let ambiguity = self.law.ambiguity(self.rate(), k);
        // No error exceeds the range of the similarity.
        (variance + ambiguity * ambiguity).sqrt().min(1.0 - self.law.least())
    }

    /// The similarity (for sets, the resemblance by equations 9 and 11) with its 95 % interval.
    pub fn estimate(&self) -> Estimate {
        let (low, high) = self.interval(Confidence::P95);
        Estimate { value: self.value(), std_error: self.std_error(), low, high }
    }

    /// The interval of the similarity.
    ///
    /// It is Wilson's interval for P, converted to a similarity. Below 64 samples it is that of Clopper and Pearson,
    /// and if nearly all samples agree, its upper end is at least theirs. The lower end is 0 if chance alone explains
    /// the count, and the upper end is 1 if all samples agree. In these two cases, one-permutation samples may have
    /// missed the few elements that are shared, or that are not, and the other end of the interval allows for that.
    pub fn interval(&self, confidence: Confidence) -> (f64, f64) {
        let (low, high) = self.agreement_interval(confidence);
        let (mut low, mut high) = self.law.interval(low, high);
        let missed = |union: f64| match self.sampling {
            Sampling::OnePermutation { .. } => unseen_at(union, self.samples, confidence.tail()),
            Sampling::EveryBin { .. } | Sampling::Independent => 0.0,
        };
        let total_size = self.sampling.total_size();
        if self.equal >= self.samples {
            high = 1.0;
            // If a elements of the union are not shared: f = (total + a)/2, R = 1 - a/f.
            let missed = |total: f64| (missed(total / 2.0), total);
            let least = total_size.map(missed).map_or(1.0, |(a, t)| 1.0 - 2.0 * a / (t + a));
            low = low.min(least.max(0.0));
        }
        // For vectors there are no chance agreements: unrelated vectors are at right angles.
        let by_chance = self.law.agreement(0.0);
        let sets = self.law != Law::Sign;
        if sets && binomial_at_least(self.equal, self.samples, by_chance) > confidence.tail() {
            low = 0.0;
            // If a elements are shared: f = total - a, R = a/f.
            let missed = |total: f64| (missed(total).min(total / 2.0), total);
            let most = total_size.map(missed).map_or(0.0, |(a, t)| a / (t - a));
            high = high.max(most);
        }
        (low, high)
    }

    /// The angle between two vectors, from the signs of their projections: unbiased, in radians, with its 95 %
    /// interval.
    pub fn angle(&self) -> Estimate {
        let (low, high) = self.agreement_interval(Confidence::P95);
        let angle = |agreement: f64| PI * (1.0 - agreement);
        let rate = self.rate();
        Estimate {
            value: angle(rate),
            std_error: PI * (rate * (1.0 - rate) / f64::from(self.samples)).sqrt(),
            low: angle(high).max(0.0),
            high: angle(low).min(PI),
        }
    }

    /// Bounds of the probability that samples agree.
    fn agreement_interval(&self, confidence: Confidence) -> (f64, f64) {
        let n = self.effective_samples();
        let x = self.rate() * n;
        let (low, high) = proportion(x, n, self.samples, confidence);
        // Vectors may have opposite directions: few agreements are treated like few differences.
        let low = match self.law {
            Law::Sign => 1.0 - proportion(n - x, n, self.samples, confidence).1,
            Law::Minwise(_) | Law::HalfBit(_) => low,
        };
        (low, high)
    }

    /// The probability that the similarity is at least `threshold`, given the count. Uses Jeffreys' prior on P,
    /// restricted to the possible agreement rates.
    pub fn probability_at_least(&self, threshold: f64) -> f64 {
        let least = self.law.least();
        // The largest possible P is 1: A decreases in r, so C1 is never below C2.
        if threshold <= least {
            return 1.0;
        }
        // Nothing reaches NaN.
        if threshold.is_nan() || threshold > 1.0 {
            return 0.0;
        }
        let n = self.effective_samples();
        let (a, b) = (self.rate() * n + 0.5, (1.0 - self.rate()) * n + 0.5);
        let above = |agreement: f64| beta_above(a, b, agreement.min(1.0));
        let (possible, reached) = match self.law {
            Law::HalfBit(chance) => half_bit::mass(&chance, threshold, above),
            law => (above(law.agreement(least)), above(law.agreement(threshold))),
        };
        if possible > 0.0 { (reached / possible).clamp(0.0, 1.0) } else { 0.0 }
    }
}
