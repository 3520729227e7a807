//! Errors that come from sizes and formulas in a bounded universe.

use super::{Estimate, Law};
use crate::scheme::{Sampler, Scheme};

/// The share of a bounded universe that a set of this size fills. At least one element counts.
pub(super) fn share(size: f64, universe: u64) -> f64 {
    (size / universe as f64).clamp(1.0 / universe as f64, 1.0)
}

/// Whether the cardinality field stores a size, not just a coarse share of the universe.
pub(super) fn tells_size(scheme: &Scheme) -> bool {
    scheme.cardinality.tells_size()
}

/// A bound on the bias of a resemblance in a bounded universe of this size. Formulas for samples of a whole
/// permutation have a bias of at most 1/D. With one permutation in k bins, the agreement has a bias of at most `k /
/// (2 e D)`, because the places of a bin are a small universe of their own.
pub(super) fn bias_bound(sampler: Sampler, samples: u32, law: Law, universe: u64) -> f64 {
    let size = universe as f64;
    let slope = match law {
        Law::Minwise(chance) | Law::HalfBit(chance) => 1.0 - chance.c2,
        Law::Sign => 1.0,
    };
    match sampler {
        Sampler::OnePermutation => {
            (f64::from(samples) / (2.0 * std::f64::consts::E * size) / slope).max(1.0 / size)
        }
        // Other samplers use whole permutations, or do not support bounded universes (SCHEME-14).
        Sampler::Independent
        | Sampler::Lazy
        | Sampler::EveryBin
        | Sampler::Weighted
        | Sampler::SignProjection => 1.0 / size,
    }
}

/// Adds errors that do not shrink with more samples: a spread, and a bound on the bias of the formulas, which also
/// widens the interval.
pub(super) fn with_systematic_error(e: Estimate, spread: f64, bias: f64) -> Estimate {
    Estimate {
        std_error: (e.std_error.powi(2) + spread.powi(2) + bias.powi(2)).sqrt(),
        low: (e.low - bias).max(0.0),
        high: (e.high + bias).min(1.0),
        ..e
    }
}
