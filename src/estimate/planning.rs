//! Expected properties of a scheme before there is data: error, space and recall.
//!
//! In: a resemblance, bits, samples, slots. Out: the numbers for choosing a scheme.

use super::chance::Chance;
use super::interval::binomial_at_least;
use super::law::Law;
use crate::scheme::{Scheme, Slots};

/// B(b), the bits a signature needs for one unit of accuracy: b times k times the variance. The ratio of two storage
/// factors is the ratio of signature sizes at equal error.
pub fn storage_factor(bits: u32, r1: f64, r2: f64, resemblance: f64) -> f64 {
    let chance = Chance::dense(bits, r1, r2);
    f64::from(bits) * chance.variance(chance.agreement(resemblance))
}

/// The number of samples for a standard error of at most `error` at this resemblance.
///
/// ```
/// use ringer::estimate::{Chance, planning::required_samples};
/// assert_eq!(required_samples(0.05, 0.5, &Chance::sparse(4)), 114);
/// ```
pub fn required_samples(error: f64, resemblance: f64, chance: &Chance) -> u64 {
    required_by(error, resemblance, &Law::Minwise(*chance))
}

/// The same for any law.
pub fn required_by(error: f64, similarity: f64, law: &Law) -> u64 {
    // The variance times the number of samples, which usually does not depend on that number.
    const MANY: f64 = 1e9;
    let variance = law.variance(law.agreement(similarity), MANY) * MANY;
    (variance / (error * error)).ceil().max(1.0) as u64
}

/// The standard error of a scheme at this resemblance or cosine, for sets that are tiny compared with their universe.
pub fn standard_error(scheme: &Scheme, similarity: f64) -> f64 {
    let law = Law::of(scheme);
    law.variance(law.agreement(similarity), f64::from(scheme.samples)).sqrt()
}

/// The probability that a slot of g samples agrees, if each sample agrees with probability `agreement`: all of them
/// agree, or, if the value is hashed to v bits, one in `2^v` of the other cases.
pub fn slot_agreement(agreement: f64, slots: &Slots, bits: u8) -> f64 {
    let all = agreement.powi(i32::from(slots.samples_per_slot));
    all + (1.0 - all) * folded_alike(slots, bits)
}

/// The probability that different samples of a slot have the same value: 0 if values are not hashed.
pub(super) fn folded_alike(slots: &Slots, bits: u8) -> f64 {
    let folded = u32::from(slots.samples_per_slot) * u32::from(bits) > u32::from(slots.value_bits);
    if folded { (-f64::from(slots.value_bits)).exp2() } else { 0.0 }
}

/// The probability that two values of a slot, not hashed, differ in at most one bit, if samples agree with
/// probability `agreement` and differ in one bit with probability `one_bit`.
pub fn slot_agreement_within_1(agreement: f64, one_bit: f64, slots: &Slots) -> f64 {
    let g = i32::from(slots.samples_per_slot);
    agreement.powi(g) + f64::from(g) * agreement.powi(g - 1) * one_bit
}

/// The probability that at least `min_matches` of `count` slots agree, if each does with probability `slot`.
pub fn at_least(min_matches: u32, count: u32, slot: f64) -> f64 {
    binomial_at_least(min_matches, count, slot)
}

/// The probability that a set of this resemblance or cosine is found through the slots of a scheme. Assumes
/// independent samples, and sets that are tiny compared with their universe. One-permutation samples of large sets
/// are nearly independent. For sets of a known size use [`Recall`](super::recall::Recall).
///
/// ```
/// use ringer::{Scheme, estimate::planning::found};
/// assert!(found(&Scheme::precise(), 0.7) > 0.9999);
/// ```
pub fn found(scheme: &Scheme, similarity: f64) -> f64 {
    found_by(scheme, similarity, u32::from(scheme.slots.min_matches), false)
}

/// The same if at least `min_matches` slots must match. Slots that differ in one bit may count.
pub fn found_by(scheme: &Scheme, similarity: f64, min_matches: u32, within_1: bool) -> f64 {
    let slot = slot_found(scheme, similarity, within_1);
    at_least(min_matches, u32::from(scheme.slots.count), slot)
}

/// The probability that a slot of two sets of this resemblance or cosine agrees.
pub(super) fn slot_found(scheme: &Scheme, similarity: f64, within_1: bool) -> f64 {
    let agreement = Law::of(scheme).agreement(similarity);
    if within_1 {
        let one_bit = (1.0 - agreement) * one_bit_of_different(scheme.bits);
        slot_agreement_within_1(agreement, one_bit, &scheme.slots)
    } else {
        slot_agreement(agreement, &scheme.slots, scheme.bits)
    }
}

/// The probability that differing samples differ in one bit. Their bits are random but not all the same, and b of
/// `2^b - 1` cases differ in one bit.
pub(super) fn one_bit_of_different(bits: u8) -> f64 {
    let bits = f64::from(bits);
    bits / (bits.exp2() - 1.0)
}

/// The expected number of unrelated sets, of `sets`, that share at least `min_matches` slots with the query by
/// chance.
pub fn accidental(scheme: &Scheme, sets: u64, min_matches: u32) -> f64 {
    let slot = slot_agreement(Law::of(scheme).agreement(0.0), &scheme.slots, scheme.bits);
    sets as f64 * at_least(min_matches, u32::from(scheme.slots.count), slot)
}

/// The exponent of locality-sensitive hashing with b-bit samples, for a near distance `near` and a far
/// one `ratio` times as large: `ln P(1 - near) / ln P(1 - ratio near)` (equation 31).
pub fn lsh_exponent(chance: &Chance, near: f64, ratio: f64) -> f64 {
    chance.agreement(1.0 - near).ln() / chance.agreement(1.0 - ratio * near).ln()
}
