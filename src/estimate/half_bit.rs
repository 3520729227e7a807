//! b = 1/2: each stored bit is the XOR of two 1-bit samples. For very high resemblance.
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
    let root = (2.0 * agreement - 1.0).max(0.0).sqrt();
    (root + 1.0 - 2.0 * chance.c1) / (2.0 - 2.0 * chance.c2)
}

/// The variance of the estimate from one stored bit; divide by how many there are.
pub fn variance(agreement: f64, chance: &Chance) -> f64 {
    let t = agreement;
    let slope = 1.0 - chance.c2;
    t * (1.0 - t) / (4.0 * slope * slope * (2.0 * t - 1.0))
}

/// The bias of the estimate from one stored bit, to first order; divide by how many there are.
pub fn bias(agreement: f64, chance: &Chance) -> f64 {
    let t = agreement;
    -t * (1.0 - t) / (2.0 * (2.0 - 2.0 * chance.c2) * (2.0 * t - 1.0).powf(1.5))
}

/// The resemblance above which half bits have less variance than as many whole ones.
pub fn break_even(chance: &Chance) -> f64 {
    let one_bit_agreement = (1.0 + 1.0 / 3.0_f64.sqrt()) / 2.0;
    chance.resemblance(one_bit_agreement)
}
