//! Advice on the choice of a scheme.
//!
//! In: the least resemblance that matters, the standard error allowed there, and the number of sets. Out: for each
//! number of bits, a scheme that meets this, with its costs, smallest first. Half a bit is included where it pays.
//! The formulas are those of [`super::planning`] and [`super::capacity`].

use super::capacity::{self, Wanted, chance_candidates};
use super::chance::Chance;
use super::half_bit;
use super::law::Law;
use super::planning::{found, required_by, standard_error};
use crate::error::{Error, Result};
use crate::limits::MAX_SAMPLES;
use crate::scheme::{Packing, Parameters, Sampler, Scheme, Slots, presets};

/// The recall that advice aims at.
const RECALL: f64 = 0.99;

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
    /// The average number of unrelated sets that a query compares. With an index, at most
    /// [`CHANCE_CANDIDATES`](super::capacity::CHANCE_CANDIDATES).
    pub chance_candidates: f64,
}

/// Schemes for sets of resemblance `min` or more, estimated with a standard error of at most `error` there, in a
/// database of `sets` sets. Smallest first. If no index can find 99 % of such sets without comparing more than ten others
/// by chance, the scheme has no index.
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
    let wanted = Wanted { similarity: min, recall: RECALL };
    let slots = capacity::longest_slots(parameters, wanted, sets).unwrap_or(Slots::NONE);
    let scheme = Scheme::new(Parameters { slots, ..parameters }).ok()?;
    Some(expected(scheme, min, sets))
}

fn expected(scheme: Scheme, min: f64, sets: u64) -> Advice {
    let (signature, index) = capacity::bytes_a_set(&scheme, sets);
    let has_index = scheme.slots.count > 0;
    Advice {
        bytes_a_set: signature + index,
        index_bytes_a_set: index,
        std_error: standard_error(&scheme, min),
        found: if has_index { found(&scheme, min) } else { 1.0 },
        chance_candidates: if has_index { chance_candidates(&scheme, sets) } else { sets as f64 },
        scheme,
    }
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
                    assert!(
                        no_index || advice.chance_candidates <= 10.0,
                        "{min} {error} {advice:?}"
                    );
                }
                let indexed = all.iter().filter(|advice| advice.scheme.slots.count > 0);
                assert!(indexed.is_sorted_by_key(|advice| advice.bytes_a_set), "{min} {error}");
            }
        }
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
