//! b = 1/2: each stored bit is the XOR of two 1-bit samples. For very high resemblance: from R = .58 on (sparse sets) it errs
//! less than 1-bit samples of as many bytes, towards R = 1 with half of their variance.
//!
//! In: the share T of stored bits that agree, and the chance agreements of 1-bit samples. Out: the
//! resemblance, its variance and bias, and from which resemblance on half bits beat whole ones. (The
//! square root in the CACM paper is printed over too much: it covers `max(2T - 1, 0)` only.)

use super::chance::Chance;

/// Probability that two stored bits agree, from that of the 1-bit samples: `P^2 + (1-P)^2`.
pub fn agreement(one_bit_agreement: f64) -> f64 {
    let p = one_bit_agreement;
    p * p + (1.0 - p) * (1.0 - p)
}

/// R from the share of agreeing bits. T cannot tell P from 1 - P: resemblances so low that P is below
/// one half come out above it.
pub fn resemblance(agreement: f64, chance: &Chance) -> f64 {
    chance.resemblance(one_bit_agreement(agreement))
}

/// The agreement of 1-bit samples, at least one half, for a share of agreeing bits.
pub fn one_bit_agreement(agreement: f64) -> f64 {
    (1.0 + (2.0 * agreement - 1.0).max(0.0).sqrt()) / 2.0
}

/// The variance of the estimate from one stored bit; divide by how many there are.
pub fn variance(agreement: f64, chance: &Chance) -> f64 {
    let t = agreement;
    let slope = 1.0 - chance.c2;
    t * (1.0 - t) / (4.0 * slope * slope * (2.0 * t - 1.0))
}

/// The variance of the estimate from so many stored bits.
///
/// Near one half the formula has no bound, while the estimate has: `2T - 1` is uncertain by `1/sqrt(k)` itself. It counts as
/// half of that at least, which at T = 1/2 gives just the mean square of the estimate.
pub fn variance_of(agreement: f64, bits: f64, chance: &Chance) -> f64 {
    let t = agreement.max(0.5 + 0.25 / bits.max(1.0).sqrt());
    variance(t.min(1.0), chance) / bits
}

/// The bias of the estimate from one stored bit, to first order; divide by how many there are.
#[cfg(any(test, feature = "internals"))]
pub fn bias(agreement: f64, chance: &Chance) -> f64 {
    let t = agreement;
    -t * (1.0 - t) / (2.0 * (2.0 - 2.0 * chance.c2) * (2.0 * t - 1.0).powf(1.5))
}

/// The resemblance above which half bits have less variance than as many whole ones.
pub fn break_even(chance: &Chance) -> f64 {
    let one_bit_agreement = (1.0 + 1.0 / 3.0_f64.sqrt()) / 2.0;
    chance.resemblance(one_bit_agreement)
}

/// The share of what `above` says of T that belongs to any resemblance, and to those from a threshold on. `above(t)` is the
/// probability that T is at least t.
///
/// Where two resemblances belong to one T, which is so in bounded universes only, each has half of it.
pub(crate) fn mass(chance: &Chance, threshold: f64, above: impl Fn(f64) -> f64) -> (f64, f64) {
    let possible = above(0.5);
    let p = chance.agreement(threshold);
    let reached = above(agreement(p));
    // Up to here 1 - P is possible, too.
    let disjoint = agreement(chance.c1);
    let shared = (reached - above(disjoint)) / 2.0;
    if p >= 1.0 - chance.c1 {
        (possible, reached)
    } else if p >= 0.5 {
        (possible, reached - shared)
    } else {
        (possible, possible - shared)
    }
}
