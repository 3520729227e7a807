//! The law of a scheme: how often samples agree, given the similarity.
//!
//! In: what a scheme measures and packs, and the shares of the universe that sets fill. Out: the probability that
//! samples agree for any similarity, and the inverse. Every estimate, threshold and recall goes through here, so
//! queries, pairs and plans treat all measures in the same way.

use std::f64::consts::PI;

use super::chance::Chance;
use super::half_bit;
use crate::error::{Error, Result};
use crate::scheme::{Measure, Packing, Scheme};

/// The law by which samples agree. It increases with the similarity, except as noted at [`Law::HalfBit`].
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Law {
    /// Samples of sets, weighted or not: `P = C1 + (1 - C2) R` (equation 5).
    Minwise(Chance),
    /// XOR of pairs of 1-bit samples: `T = P^2 + (1 - P)^2`. In a bounded universe, 1-bit samples of disjoint sets
    /// may agree less than half of the time. Then T first decreases.
    HalfBit(Chance),
    /// Signs of projections: `P = 1 - angle / pi`. The similarity is the cosine of the angle.
    Sign,
}

impl From<Chance> for Law {
    fn from(chance: Chance) -> Law {
        Law::Minwise(chance)
    }
}

impl Law {
    /// The law of a scheme, for sets that are tiny compared with their universe.
    pub fn of(scheme: &Scheme) -> Law {
        Law::with_chance(scheme, Chance::sparse(u32::from(scheme.bits)))
    }

    /// The law of a scheme, for sets that fill the shares r1 and r2 of their universe.
    pub fn dense(scheme: &Scheme, r1: f64, r2: f64) -> Law {
        Law::with_chance(scheme, Chance::dense(u32::from(scheme.bits), r1, r2))
    }

    fn with_chance(scheme: &Scheme, chance: Chance) -> Law {
        match (scheme.measure, scheme.packing) {
            (Measure::Cosine, _) => Law::Sign,
            (_, Packing::XorPairs) => Law::HalfBit(chance),
            (_, Packing::LowBits) => Law::Minwise(chance),
        }
    }

    /// The least possible similarity. The greatest is 1.
    pub fn least(&self) -> f64 {
        match self {
            Law::Sign => -1.0,
            Law::Minwise(_) | Law::HalfBit(_) => 0.0,
        }
    }

    /// The probability that samples agree.
    pub fn agreement(&self, similarity: f64) -> f64 {
        match self {
            Law::Minwise(chance) => chance.agreement(similarity),
            Law::HalfBit(chance) => half_bit::agreement(chance.agreement(similarity)),
            Law::Sign => 1.0 - similarity.clamp(-1.0, 1.0).acos() / PI,
        }
    }

    /// The similarity for an agreement rate. For minwise samples it is unbiased and not clamped. The others have a
    /// bias of second order (`half_bit::bias`; for a cosine, half of the angle's variance times the cosine). Never
    /// decreases.
    pub fn similarity(&self, agreement: f64) -> f64 {
        match self {
            Law::Minwise(chance) => chance.resemblance(agreement),
            Law::HalfBit(chance) => half_bit::resemblance(agreement, chance),
            Law::Sign => (PI * (1.0 - agreement)).cos(),
        }
    }

    /// The variance of the similarity from this many independent samples, by the delta method.
    pub fn variance(&self, agreement: f64, samples: f64) -> f64 {
        match self {
            Law::Minwise(chance) => chance.variance(agreement) / samples,
            Law::HalfBit(chance) => half_bit::variance_of(agreement, samples, chance),
            Law::Sign => {
                let slope = PI * (PI * (1.0 - agreement)).sin();
                slope * slope * agreement * (1.0 - agreement) / samples
            }
        }
    }

    /// The additional error if another similarity has the same agreement: half bits cannot distinguish P from 1 - P.
    /// The estimate is the greater one, and either may be true.
    pub fn ambiguity(&self, agreement: f64, samples: f64) -> f64 {
        let Law::HalfBit(chance) = self else { return 0.0 };
        // The agreement is itself uncertain. If sets are tiny compared with their universe, P is never below one
        // half.
        let error = (agreement * (1.0 - agreement) / samples).sqrt();
        let least = 1.0 - half_bit::one_bit_agreement(agreement - error);
        if chance.c1 >= 0.5 || least < chance.c1 {
            return 0.0;
        }
        let p = half_bit::one_bit_agreement(agreement);
        (chance.resemblance(p) - chance.resemblance((1.0 - p).max(chance.c1))) / 2.0_f64.sqrt()
    }

    /// The least and the greatest similarity whose agreement is in `low..=high`, clamped to the possible range.
    pub fn interval(&self, low: f64, high: f64) -> (f64, f64) {
        let possible = |p: f64| self.similarity(p).clamp(self.least(), 1.0);
        let (mut least, greatest) = (possible(low), possible(high));
        if let Law::HalfBit(chance) = self {
            // T does not distinguish P from 1 - P. If the lower of the two is possible, it counts, too.
            let mirrored = |t: f64| 1.0 - half_bit::one_bit_agreement(t);
            if mirrored(low) >= chance.c1 {
                least = chance.resemblance(mirrored(high).max(chance.c1)).clamp(0.0, least);
            }
        }
        (least, greatest)
    }
}

/// Rejects a threshold that the measure of a scheme cannot have.
pub(crate) fn check_threshold(scheme: &Scheme, threshold: f64) -> Result<()> {
    let least = Law::of(scheme).least();
    if (least..=1.0).contains(&threshold) {
        return Ok(());
    }
    let what = scheme.measure.similarity_name();
    Err(Error::invalid(
        format!("least {what} {threshold}"),
        format!("it must be from {least} to 1"),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheme::{Parameters, Sampler, Slots, Universe, presets};

    #[test]
    fn there_and_back() {
        let laws = [
            Law::of(&Scheme::precise()),
            Law::Minwise(Chance::dense(2, 0.3, 0.3)),
            Law::HalfBit(Chance::sparse(1)),
            Law::Sign,
        ];
        for law in laws {
            let span = 1.0 - law.least();
            let mut before = -1.0;
            for step in 0..=100 {
                let similarity = law.least() + span * f64::from(step) / 100.0;
                let agreement = law.agreement(similarity);
                assert!(agreement > before && agreement <= 1.0 + 1e-12, "{law:?} {similarity}");
                assert!((law.similarity(agreement) - similarity).abs() < 1e-7, "{law:?}");
                before = agreement;
            }
        }
    }

    /// The variance is that of the binomial distribution carried through the law: against its exact sum.
    #[test]
    fn variances_are_those_of_counts() {
        use statrs::distribution::{Binomial, Discrete};
        let k = 4096;
        let laws = [Law::Minwise(Chance::sparse(4)), Law::HalfBit(Chance::sparse(1)), Law::Sign];
        for law in laws {
            for similarity in [0.3, 0.6, 0.9, 0.99] {
                let p = law.agreement(similarity);
                let counts = Binomial::new(p, k).unwrap();
                let moment = |f: &dyn Fn(f64) -> f64| -> f64 {
                    (0..=k).map(|x| counts.pmf(x) * f(law.similarity(x as f64 / k as f64))).sum()
                };
                let mean = moment(&|s| s);
                let variance = moment(&|s| (s - mean) * (s - mean));
                let ratio = law.variance(p, k as f64) / variance;
                assert!((ratio - 1.0).abs() < 0.1, "{law:?} {similarity}: {ratio}");
            }
        }
    }

    #[test]
    fn schemes_have_their_laws() {
        assert_eq!(Law::of(&Scheme::precise()), Law::Minwise(Chance::sparse(4)));
        assert_eq!(Law::of(&Scheme::new(presets::COSINE).unwrap()), Law::Sign);
        assert_eq!(
            Law::of(&Scheme::new(presets::WEIGHTED).unwrap()),
            Law::Minwise(Chance::sparse(8))
        );
        let pairs = Parameters {
            packing: Packing::XorPairs,
            sampler: Sampler::Independent,
            universe: Universe::Bounded(1000),
            bits: 1,
            slots: Slots::NONE,
            ..presets::PRECISE
        };
        let pairs = Scheme::new(pairs).unwrap();
        assert_eq!(Law::dense(&pairs, 0.2, 0.3), Law::HalfBit(Chance::dense(1, 0.2, 0.3)));
    }

    /// In a bounded universe half bits cannot tell low resemblances from their mirror images.
    #[test]
    fn intervals_hold_both_of_what_cannot_be_told_apart() {
        let chance = Chance::dense(1, 0.6, 0.6);
        let law = Law::HalfBit(chance);
        for r in [0.0, 0.05, 0.2, 0.35, 0.5, 0.9] {
            let t = law.agreement(r);
            let (low, high) = law.interval(t - 0.02, t + 0.02);
            assert!(low <= r + 1e-9 && r <= high + 1e-9, "{r}: {low} {high}");
        }
        // High resemblances have no mirror image.
        let t = law.agreement(0.9);
        assert!(law.interval(t - 0.02, t + 0.02).0 > 0.85);
    }
}
