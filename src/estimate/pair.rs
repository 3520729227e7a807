//! The resemblance of two sets from a count of equal samples.
//!
//! In: x of k samples agree, the chance agreements, and how the samples were drawn. Out: resemblance
//! with standard error and interval, and the probability that it reaches a threshold.

use super::Estimate;
use super::chance::Chance;
use super::interval::{beta_above, binomial_at_least, proportion};
use super::small_sets::{unseen, variance_factor};

/// How the samples were drawn, as far as the error depends on it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Sampling {
    /// k independent permutations.
    Independent,
    /// One permutation in k bins.
    OnePermutation {
        /// The sum of the two set sizes. Without it the error is stated as for independent samples,
        /// which is up to 26 % too small for sets of fewer than k elements.
        total_size: Option<f64>,
    },
}

/// What was seen when two signatures were compared.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Agreement {
    /// x, how many samples are equal.
    pub equal: u32,
    /// k, how many there are; at least 1 and at least `equal`.
    pub samples: u32,
    /// How samples agree by chance.
    pub chance: Chance,
    /// How they were drawn.
    pub sampling: Sampling,
}

impl Agreement {
    /// The share of samples that agree; more than all of them count as all.
    fn rate(&self) -> f64 {
        f64::from(self.equal.min(self.samples)) / f64::from(self.samples.max(1))
    }

    /// The sum of the sizes, where the error depends on it and it is known.
    fn total_size(&self) -> Option<f64> {
        match self.sampling {
            Sampling::OnePermutation { total_size } => total_size,
            Sampling::Independent => None,
        }
    }

    /// The resemblance, cut to what is possible.
    fn r(&self) -> f64 {
        self.chance.resemblance(self.rate()).clamp(0.0, 1.0)
    }

    /// The estimate alone.
    pub(crate) fn value(&self) -> f64 {
        self.chance.resemblance(self.rate())
    }

    /// The variance of the estimate, and what it would be for independent samples.
    fn variances(&self) -> (f64, f64) {
        let (r, k) = (self.r(), f64::from(self.samples));
        let independent = self.chance.variance(self.rate()) / k;
        let factor =
            self.total_size().map_or(1.0, |total| variance_factor(total / (1.0 + r), self.samples));
        ((independent + (factor - 1.0) * r * (1.0 - r) / k).max(0.0), independent)
    }

    /// How many independent samples would know as much: k, or fewer.
    fn effective_samples(&self) -> f64 {
        let (variance, independent) = self.variances();
        let excess = if independent > 0.0 { variance / independent } else { 1.0 };
        f64::from(self.samples) / excess.max(1.0)
    }

    /// The resemblance (equations 9 and 11) with its 95 % interval.
    ///
    /// The interval is Wilson's for P carried over to R; below 64 samples it is Clopper and Pearson's, and
    /// where all but a few samples agree its upper end is at least theirs. Its lower end is 0 whenever chance alone explains the count, and its upper end is 1 when all
    /// samples agree. At these two ends one-permutation samples may have missed the few elements that
    /// are shared, or that are not, and the other end of the interval allows for that ([`unseen`]).
    pub fn resemblance(&self) -> Estimate {
        let (variance, _) = self.variances();
        let n = self.effective_samples();
        let (low, high) = proportion(self.rate() * n, n, self.samples);
        let to_r = |p: f64| self.chance.resemblance(p).clamp(0.0, 1.0);
        let (mut low, mut high) = (to_r(low), to_r(high));
        if self.equal >= self.samples {
            high = 1.0;
            // a of the union are not shared: f = (total + a)/2, R = 1 - a/f.
            let missed = |total: f64| (unseen(total / 2.0, self.samples), total);
            let least = self.total_size().map(missed).map_or(1.0, |(a, t)| 1.0 - 2.0 * a / (t + a));
            low = low.min(least.max(0.0));
        }
        if binomial_at_least(self.equal, self.samples, self.chance.c1) > 0.025 {
            low = 0.0;
            // a are shared: f = total - a, R = a/f.
            let missed = |total: f64| (unseen(total, self.samples).min(total / 2.0), total);
            let most = self.total_size().map(missed).map_or(0.0, |(a, t)| a / (t - a));
            high = high.max(most);
        }
        Estimate { value: self.value(), std_error: variance.sqrt(), low, high }
    }

    /// The probability that the resemblance is at least `threshold`, given what was seen: Jeffreys'
    /// prior on P, cut to the agreement rates that are possible.
    pub fn probability_at_least(&self, threshold: f64) -> f64 {
        // The largest possible P is 1: A falls in r, so C1 is never below C2.
        if threshold <= 0.0 {
            return 1.0;
        }
        if threshold > 1.0 {
            return 0.0;
        }
        let n = self.effective_samples();
        let (a, b) = (self.rate() * n + 0.5, (1.0 - self.rate()) * n + 0.5);
        let possible = beta_above(a, b, self.chance.c1);
        let reached = beta_above(a, b, self.chance.agreement(threshold).min(1.0));
        if possible > 0.0 { (reached / possible).clamp(0.0, 1.0) } else { 0.0 }
    }
}
