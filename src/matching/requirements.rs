//! What the caller asked for, checked against a scheme.
//!
//! In: [`Requirements`], as a builder collected them. Out: [`Conditions`] that make sense for the scheme, or an error
//! before anything is read.

use crate::error::{Error, Result};
use crate::estimate::law::check_threshold;
use crate::estimate::{Accept, TOLERANCE};
use crate::scheme::{Measure, Scheme};

/// The least similarity that is wanted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Threshold {
    value: f64,
    /// The similarity that the caller named; `None` accepts whatever the scheme measures.
    named: Option<&'static str>,
}

impl Threshold {
    /// A resemblance, weighted or not.
    pub(crate) fn resemblance(value: f64) -> Threshold {
        Threshold { value, named: Some("resemblance") }
    }

    /// A cosine.
    pub(crate) fn cosine(value: f64) -> Threshold {
        Threshold { value, named: Some("cosine") }
    }

    /// A similarity of the scheme's own measure.
    pub(crate) fn similarity(value: f64) -> Threshold {
        Threshold { value, named: None }
    }

    /// The number, if the scheme has the named measure and its similarities can reach the number.
    fn check(self, scheme: &Scheme) -> Result<f64> {
        if let Some(requested) = self.named
            && requested != scheme.measure.similarity_name()
        {
            return Err(Error::OtherMeasure { requested, measure: scheme.measure.name() });
        }
        check_threshold(scheme, self.value)?;
        Ok(self.value)
    }
}

/// What the caller asked for, not checked yet.
#[derive(Debug, Clone, Default)]
pub(crate) struct Requirements {
    pub(crate) threshold: Option<Threshold>,
    pub(crate) accept: Accept,
    /// The least number of matching slots; `None` takes the scheme's number.
    pub(crate) min_matches: Option<u32>,
    /// Whether sets without matching slots count too.
    pub(crate) exhaustive: bool,
    pub(crate) within_hamming_1: bool,
}

impl Requirements {
    /// The conditions for signatures of a scheme.
    pub(crate) fn check(&self, scheme: &Scheme) -> Result<Conditions> {
        let threshold = self.threshold.map(|threshold| threshold.check(scheme)).transpose()?;
        let min_slots = self.min_slots(scheme)?;
        if self.within_hamming_1 && !has_neighbours(scheme) {
            return Err(Error::invalid(
                "within_hamming_1",
                format!(
                    "it needs slot values that are the samples themselves, but the slots of this scheme ({}) are hashed or missing",
                    scheme.slots
                ),
            ));
        }
        Ok(Conditions {
            threshold: threshold.unwrap_or(f64::NEG_INFINITY),
            accept: self.accept,
            min_slots,
            within_hamming_1: self.within_hamming_1,
        })
    }

    fn min_slots(&self, scheme: &Scheme) -> Result<u32> {
        let slots = scheme.slots;
        match self.min_matches {
            Some(m) if m == 0 || m > u32::from(slots.count) => {
                let limit = format!(
                    "it must be at least 1 and at most the number of slots, {}",
                    slots.count
                );
                Err(Error::invalid(format!("min_matches {m}"), limit))
            }
            Some(m) => Ok(m),
            None if self.exhaustive => Ok(0),
            None => Ok(u32::from(slots.min_matches)),
        }
    }
}

/// Whether slot values are the samples themselves, so that values that differ in one bit come from similar samples.
fn has_neighbours(scheme: &Scheme) -> bool {
    let slots = scheme.slots;
    let bits = u32::from(slots.samples_per_slot) * u32::from(scheme.bits);
    slots.count > 0 && bits == u32::from(slots.value_bits)
}

/// Which sets match.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Conditions {
    /// The least similarity; minus infinity if every similarity will do.
    pub(crate) threshold: f64,
    /// What must reach the threshold.
    pub(crate) accept: Accept,
    /// The least number of matching slots. With 0, slots do not matter.
    pub(crate) min_slots: u32,
    /// Whether slot values that differ in one bit match.
    pub(crate) within_hamming_1: bool,
}

impl Conditions {
    pub(crate) fn has_threshold(&self) -> bool {
        self.threshold > f64::NEG_INFINITY
    }

    /// The least estimate that a match can have. No interval lies above its estimate, so a certain match has an
    /// estimate that reaches the threshold. A possible match may have any estimate.
    pub(crate) fn least_estimate(&self) -> f64 {
        match self.accept {
            Accept::Estimate | Accept::Certain => self.threshold - TOLERANCE,
            Accept::Possible => f64::NEG_INFINITY,
        }
    }

    /// The conditions for a first pass over signatures, after which the sets themselves are counted. The pass lets
    /// through everything that may reach the threshold.
    pub(crate) fn before_counting(self) -> Conditions {
        Conditions { accept: Accept::Possible, ..self }
    }
}

/// Rejects counting of common elements where elements have weights.
pub(crate) fn check_countable(scheme: &Scheme) -> Result<()> {
    match scheme.measure {
        Measure::Jaccard => Ok(()),
        Measure::Weighted | Measure::Cosine => Err(Error::OtherMeasure {
            requested: "the number of common elements",
            measure: scheme.measure.name(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheme::presets;

    #[test]
    fn min_matches_is_the_schemes_number_unless_asked_otherwise() {
        let scheme = Scheme::bing();
        let slots =
            |requested: Requirements| requested.check(&scheme).map(|checked| checked.min_slots);
        let requested = Requirements::default();
        assert_eq!(slots(requested.clone()).unwrap(), u32::from(scheme.slots.min_matches));
        assert_eq!(slots(Requirements { exhaustive: true, ..requested.clone() }).unwrap(), 0);
        let both = Requirements { exhaustive: true, min_matches: Some(2), ..requested.clone() };
        assert_eq!(slots(both).unwrap(), 2);
        for m in [0, u32::from(scheme.slots.count) + 1] {
            let error =
                slots(Requirements { min_matches: Some(m), ..requested.clone() }).unwrap_err();
            assert!(matches!(error, Error::InvalidArgument { .. }), "{error}");
        }
    }

    #[test]
    fn thresholds_belong_to_a_measure() {
        let (sets, vectors) = (Scheme::near_duplicate(), Scheme::new(presets::COSINE).unwrap());
        let check = |threshold, scheme: &Scheme| {
            Requirements { threshold: Some(threshold), ..Requirements::default() }.check(scheme)
        };
        assert_eq!(check(Threshold::resemblance(0.5), &sets).unwrap().threshold, 0.5);
        assert_eq!(check(Threshold::cosine(-0.5), &vectors).unwrap().threshold, -0.5);
        assert_eq!(check(Threshold::similarity(-0.5), &vectors).unwrap().threshold, -0.5);
        for (threshold, scheme) in
            [(Threshold::resemblance(0.5), &vectors), (Threshold::cosine(0.5), &sets)]
        {
            let error = check(threshold, scheme).unwrap_err();
            assert!(matches!(error, Error::OtherMeasure { .. }), "{error}");
        }
        let error = check(Threshold::similarity(-0.5), &sets).unwrap_err();
        assert!(matches!(error, Error::InvalidArgument { .. }), "{error}");
        assert!(!Requirements::default().check(&sets).unwrap().has_threshold());
    }
}
