//! b = 1/2: each stored bit is the XOR of two 1-bit samples. For very high resemblance. From R = .58 on (sparse sets)
//! its error is less than that of 1-bit samples of the same size. Towards R = 1 it has half of their variance.
//!
//! In: the share T of stored bits that agree, and the chance agreements of 1-bit samples. Out: the resemblance, its
//! variance and bias, and the resemblance from which half bits are better than whole ones. (In the CACM paper the
//! square root is printed over too much: it covers `max(2T - 1, 0)` only.)

use super::chance::Chance;

/// The probability that two stored bits agree, from that of the 1-bit samples: `P^2 + (1-P)^2`.
pub fn agreement(one_bit_agreement: f64) -> f64 {
    let p = one_bit_agreement;
    p * p + (1.0 - p) * (1.0 - p)
}

/// R from the share of agreeing bits. T cannot distinguish P from 1 - P: if P is below one half, the result is as if
/// it were 1 - P.
pub fn resemblance(agreement: f64, chance: &Chance) -> f64 {
    chance.resemblance(one_bit_agreement(agreement))
}

/// The agreement of 1-bit samples, at least one half, for a share of agreeing bits.
pub fn one_bit_agreement(agreement: f64) -> f64 {
    (1.0 + (2.0 * agreement - 1.0).max(0.0).sqrt()) / 2.0
}

/// The variance of the estimate from one stored bit. Divide by the number of bits.
pub fn variance(agreement: f64, chance: &Chance) -> f64 {
    let t = agreement;
    let slope = 1.0 - chance.c2;
    t * (1.0 - t) / (4.0 * slope * slope * (2.0 * t - 1.0))
}

/// The variance of the estimate from this many stored bits.
///
/// Near one half the formula is unbounded, while the estimate is not: `2T - 1` itself has an error of `1/sqrt(k)`. It
/// is taken as at least half of that, which at T = 1/2 gives exactly the mean square of the estimate.
pub fn variance_of(agreement: f64, bits: f64, chance: &Chance) -> f64 {
    let t = agreement.max(0.5 + 0.25 / bits.max(1.0).sqrt());
    variance(t.min(1.0), chance) / bits
}

/// The bias of the estimate from one stored bit, to first order. Divide by the number of bits.
#[cfg(any(test, feature = "internals"))]
pub fn bias(agreement: f64, chance: &Chance) -> f64 {
    let t = agreement;
    -t * (1.0 - t) / (2.0 * (2.0 - 2.0 * chance.c2) * (2.0 * t - 1.0).powf(1.5))
}

/// The resemblance above which half bits have less variance than the same number of whole bits.
pub fn break_even(chance: &Chance) -> f64 {
    let one_bit_agreement = (1.0 + 1.0 / 3.0_f64.sqrt()) / 2.0;
    chance.resemblance(one_bit_agreement)
}

/// The share of the distribution of T that belongs to any resemblance, and to those from a threshold on. `above(t)`
/// is the probability that T is at least t.
///
/// In bounded universes two resemblances may have the same T. Then each gets half.
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
