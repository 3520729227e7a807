//! Which schemes stored signatures can change to without the sets (SIG-9 of `format-spec/signature.md`).
//!
//! In: the scheme of stored signatures, and the one that is asked for. Out: whether the second follows from the first.
//! A signature has no more of a set than its samples. So slots can be chosen anew and bits can be dropped, but samples,
//! seed, sampler and packing cannot change, and bits that were not kept are gone.

use super::{Parameters, Scheme};
use crate::error::{Error, Result};

impl Scheme {
    /// Checks that signatures of this scheme can become those of another without the sets. They can if nothing differs
    /// but the slots, and the samples do not get more bits. [`Database::reindex`](crate::Database::reindex) makes such a
    /// change.
    ///
    /// ```
    /// use ringer::scheme::{Scheme, Slots};
    /// use ringer::Error;
    /// let scheme = Scheme::near_duplicate();
    /// let slots = Slots { count: 16, samples_per_slot: 4, value_bits: 16, min_matches: 1 };
    /// let fewer = Scheme::new(scheme.with_bits(4).with_slots(slots))?;
    /// scheme.check_derives(&fewer)?;
    /// assert!(matches!(fewer.check_derives(&scheme), Err(Error::NotDerivable { field: "bits", .. })));
    /// # Ok::<(), ringer::Error>(())
    /// ```
    pub fn check_derives(&self, other: &Scheme) -> Result<()> {
        let same = Parameters { bits: other.bits, slots: other.slots, ..**self } == **other;
        if same && other.bits <= self.bits {
            return Ok(());
        }
        let differences = self.differences(other).into_iter();
        let mut lasting = differences.filter(|(name, ..)| *name != "slots");
        let wrong = lasting.find(|(name, ..)| *name != "bits" || other.bits > self.bits);
        let (field, stored, requested) =
            wrong.unwrap_or_else(|| ("bits", self.bits.to_string(), other.bits.to_string()));
        Err(Error::NotDerivable { field, stored, requested })
    }
}

#[cfg(test)]
mod tests {
    use super::super::{CardinalityField, Elements, Features, Packing, Sampler, Slots, presets};
    use super::*;

    /// SIG-9, for each field of a scheme.
    #[test]
    fn only_slots_and_fewer_bits_follow() {
        let base = presets::PRECISE.with_sampler(Sampler::Independent);
        let stored = Scheme::new(base).unwrap();
        let slots = Slots { count: 9, samples_per_slot: 5, value_bits: 5, min_matches: 2 };
        for bits in 1..=4 {
            for slots in [Slots::NONE, slots] {
                let other = Scheme::new(base.with_bits(bits).with_slots(slots)).unwrap();
                assert_eq!(stored.check_derives(&other), Ok(()), "{other}");
            }
        }
        stored.check_derives(&stored).unwrap();
        let kept = base.with_elements(Elements::EXACT);
        let others = [
            ("bits", base.with_bits(5)),
            ("bits", base.with_bits(16).with_slots(Slots::NONE)),
            ("samples", base.with_samples(129)),
            ("samples", base.with_samples(129).with_bits(3).with_slots(slots)),
            ("seed", base.with_seed(1)),
            ("sampler", base.with_sampler(Sampler::EveryBin)),
            ("features", base.with_features(Features::Tokens)),
            ("cardinality field", base.with_cardinality(CardinalityField::Exact)),
            ("kept elements", kept),
            ("packing", base.with_bits(1).with_slots(Slots::NONE).with_packing(Packing::XorPairs)),
        ];
        for (field, other) in others {
            let other = Scheme::new(other).unwrap();
            match stored.check_derives(&other) {
                Err(Error::NotDerivable { field: found, .. }) => assert_eq!(found, field),
                checked => panic!("{field}: {checked:?}"),
            }
        }
    }
}
