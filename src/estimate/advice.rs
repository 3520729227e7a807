//! Advice on the choice of a scheme.
//!
//! In: the least resemblance that matters, the standard error allowed there, and the number of sets. Out: for each
//! number of bits, a scheme that meets this, with its costs, smallest first. Half a bit is included where it pays.
//! The formulas are those of [`super::planning`]; the size of the index follows `format-spec/postings.md`.

use super::chance::Chance;
use super::half_bit;
use super::law::Law;
use super::planning::{accidental, found, required_by, standard_error};
use crate::error::{Error, Result};
use crate::limits::{MAX_SAMPLES, MAX_VALUE_BITS};
use crate::scheme::{Packing, Parameters, Sampler, Scheme, Slots, presets};

/// The recall that advice aims at.
const RECALL: f64 = 0.99;

/// A query may compare one in this many sets in vain.
const IN_VAIN: f64 = 1e-3;

/// What may be kept of a sample: some bits, or the XOR of pairs of one bit.
const KEPT: [(u8, Packing); 7] = [
    (1, Packing::XorPairs),
    (1, Packing::LowBits),
    (2, Packing::LowBits),
    (4, Packing::LowBits),
    (6, Packing::LowBits),
    (8, Packing::LowBits),
    (16, Packing::LowBits),
];

/// A scheme and its expected properties.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Advice {
    /// The scheme, with the features, universe and seed of the default.
    pub scheme: Scheme,
    /// Bytes per set in a large compacted database, without the key.
    pub bytes_a_set: f64,
    /// The part of these bytes that belongs to the index.
    pub index_bytes_a_set: f64,
    /// The standard error at the least resemblance.
    pub std_error: f64,
    /// The probability that a set of the least resemblance is found.
    pub found: f64,
    /// The average number of unrelated sets that a query compares.
    pub in_vain: f64,
}

/// Schemes for sets of resemblance `min` or more, estimated with a standard error of at most `error` there, in a
/// database of `sets` sets. Smallest first. If no index can find 99 % of such sets without comparing most of the
/// others too, the scheme has no index.
///
/// ```
/// use ringer::estimate::advice::advise;
/// let best = &advise(0.8, 0.05, 1_000_000)?[0];
/// assert!(best.std_error <= 0.05 && best.found >= 0.99 && best.bytes_a_set < 100.0);
/// # Ok::<(), ringer::Error>(())
/// ```
pub fn advise(min: f64, error: f64, sets: u64) -> Result<Vec<Advice>> {
    if !(min > 0.0 && min <= 1.0) {
        let limit = "give a resemblance above 0 and at most 1";
        return Err(Error::invalid(format!("least resemblance {min}"), limit));
    }
    if !(error > 0.0 && error < 1.0) {
        return Err(Error::invalid(
            format!("standard error {error}"),
            "give a number above 0 and below 1",
        ));
    }
    let pays =
        |packing| packing == Packing::LowBits || min > half_bit::break_even(&Chance::sparse(1));
    let kept = KEPT.iter().filter(|(_, packing)| pays(*packing));
    let mut all: Vec<Advice> =
        kept.filter_map(|(bits, packing)| keeping(*bits, *packing, min, error, sets)).collect();
    if all.is_empty() {
        return Err(Error::invalid(
            format!("standard error {error}"),
            format!("it takes more than {MAX_SAMPLES} samples: allow a larger one"),
        ));
    }
    all.sort_by(|a, b| {
        let without_index = |advice: &Advice| advice.scheme.slots.count == 0;
        let first = without_index(a).cmp(&without_index(b));
        first.then(a.bytes_a_set.total_cmp(&b.bytes_a_set))
    });
    Ok(all)
}

/// The scheme with samples of this many bits, or `None` if it would need too many samples.
fn keeping(bits: u8, packing: Packing, min: f64, error: f64, sets: u64) -> Option<Advice> {
    let sampler = match packing {
        Packing::LowBits => Sampler::EveryBin,
        // The samples of a pair are independent.
        Packing::XorPairs => Sampler::Lazy,
    };
    let parameters = Parameters { bits, packing, sampler, ..presets::NEAR_DUPLICATE };
    let any_samples = Parameters { slots: Slots::NONE, ..parameters };
    let law = Law::of(&Scheme::new(any_samples).ok()?);
    // The error falls from one half on: more similar sets are estimated more accurately.
    let needed = required_by(error, min, &law).max(required_by(error, min.max(0.5), &law));
    // Signatures are stored in words of 64 samples.
    let samples = needed.checked_next_multiple_of(64).filter(|k| *k <= u64::from(MAX_SAMPLES))?;
    let parameters = Parameters { samples: samples as u32, ..parameters };
    let with_slots = |slots| Scheme::new(Parameters { slots, ..parameters }).ok();
    let slots = (1..=64u16).rev().find_map(|g| fitting_slots(&with_slots, g, bits, min, sets));
    let scheme = with_slots(slots.unwrap_or(Slots::NONE))?;
    Some(expected(scheme, min, sets))
}

/// The least number of slots of g samples that reach the recall, if there are enough samples for them and hardly any
/// other sets are found.
fn fitting_slots(
    with_slots: &impl Fn(Slots) -> Option<Scheme>,
    g: u16,
    bits: u8,
    min: f64,
    sets: u64,
) -> Option<Slots> {
    let value_bits = (u32::from(g) * u32::from(bits)).min(u32::from(MAX_VALUE_BITS)) as u8;
    let slots = |count| Slots { count, samples_per_slot: g, value_bits, min_matches: 1 };
    let finds = |count: u16| with_slots(slots(count)).is_some_and(|s| found(&s, min) >= RECALL);
    // Recall increases with the number of slots, and so does the number of samples they need.
    let most =
        (1..=15).map(|i| 1u16 << i).take_while(|l| with_slots(slots(*l)).is_some()).last()?;
    let valid = |count: &u16| with_slots(slots(*count)).is_some();
    let most = (most..=2 * most.min(1 << 14)).take_while(valid).last()?;
    if !finds(most) {
        return None;
    }
    let (mut low, mut high) = (0, most);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if finds(middle) { high = middle } else { low = middle }
    }
    let scheme = with_slots(slots(high))?;
    (accidental(&scheme, sets, 1) <= (IN_VAIN * sets as f64).max(1.0)).then_some(scheme.slots)
}

fn expected(scheme: Scheme, min: f64, sets: u64) -> Advice {
    let signature =
        8.0 * scheme.words_per_signature() as f64 + f64::from(scheme.cardinality.bits()) / 8.0;
    let index = index_bytes(&scheme, sets);
    let has_index = scheme.slots.count > 0;
    Advice {
        bytes_a_set: signature + index,
        index_bytes_a_set: index,
        std_error: standard_error(&scheme, min),
        found: if has_index { found(&scheme, min) } else { 1.0 },
        in_vain: if has_index { accidental(&scheme, sets, 1) } else { sets as f64 },
        scheme,
    }
}

/// Bytes of the index per set. Each slot has an entry, with the bits of a value or of an id, whichever is more, and
/// its share of the directory (`format-spec/postings.md`), where buckets share blocks of 64 bytes.
fn index_bytes(scheme: &Scheme, sets: u64) -> f64 {
    let (sets, value_bits) = (sets.max(1), f64::from(scheme.slots.value_bits));
    let id_bits = f64::from(u64::BITS - (sets - 1).leading_zeros());
    let buckets = id_bits.min(value_bits).exp2();
    let in_block = (360.0 / (1.0 + (sets as f64 / buckets).ceil())).floor().max(1.0);
    let directory = 512.0 / in_block * buckets / sets as f64;
    f64::from(scheme.slots.count) * (id_bits.max(value_bits) + directory) / 8.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_keeps_what_it_says() {
        for min in [0.2, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 1.0] {
            for error in [0.2, 0.05, 0.02] {
                let all = advise(min, error, 1_000_000).unwrap();
                for advice in &all {
                    assert!(advice.std_error <= error, "{min} {error} {advice:?}");
                    assert!(advice.found >= RECALL, "{min} {error} {advice:?}");
                    let no_index = advice.scheme.slots.count == 0;
                    assert!(no_index || advice.in_vain <= 1000.0, "{min} {error} {advice:?}");
                }
                let indexed = all.iter().filter(|advice| advice.scheme.slots.count > 0);
                assert!(indexed.is_sorted_by_key(|advice| advice.bytes_a_set), "{min} {error}");
            }
        }
    }

    /// By measurement the default scheme takes 136.7 bytes a set of a million, the precise one 152.4.
    #[test]
    fn bytes_are_those_of_the_default_scheme() {
        let advice = expected(Scheme::near_duplicate(), 0.7, 1_000_000);
        assert!((advice.bytes_a_set - 136.7).abs() < 2.0, "{advice:?}");
        let precise = expected(Scheme::precise(), 0.7, 1_000_000);
        assert!((precise.bytes_a_set - 152.4).abs() < 2.0, "{precise:?}");
    }

    /// Half bits are advised from R = .5774 on, and take fewer bytes for their signatures than whole ones then.
    #[test]
    fn half_bits_are_advised_where_they_pay() {
        let signature = |advice: &Advice| advice.bytes_a_set - advice.index_bytes_a_set;
        for (min, pays) in [(0.3, false), (0.577, false), (0.578, true), (0.8, true), (0.95, true)]
        {
            let all = advise(min, 0.01, 1_000_000).unwrap();
            let with = |packing: Packing| {
                all.iter().find(|a| a.scheme.packing == packing && a.scheme.bits == 1)
            };
            let (half, whole) = (with(Packing::XorPairs), with(Packing::LowBits).unwrap());
            assert_eq!(half.is_some(), pays, "{min}");
            if let Some(half) = half {
                assert!(signature(half) <= signature(whole), "{min}: {half:?} {whole:?}");
            }
        }
    }

    #[test]
    fn nonsense_is_refused() {
        for (min, error) in
            [(0.0, 0.05), (1.1, 0.05), (f64::NAN, 0.05), (0.5, 0.0), (0.5, f64::NAN)]
        {
            assert!(advise(min, error, 1000).is_err(), "{min} {error}");
        }
        assert!(advise(0.5, 1e-6, 1000).is_err());
        assert!(advise(0.5, 0.05, 0).is_ok() && advise(0.5, 0.05, u64::MAX).is_ok());
    }
}
