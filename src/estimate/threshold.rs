//! The meanings of "at least t".
//!
//! A similarity is an estimate with an interval, so a threshold can apply to three numbers. A set whose true
//! similarity is exactly t passes the first test about half of the time, the second nearly always, and the third
//! hardly ever.

use super::comparison::Comparison;
use super::posterior::TOLERANCE;

/// What must reach the threshold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Accept {
    /// The estimate.
    #[default]
    Estimate,
    /// The upper end of the 99.9 % interval: everything that may be similar enough. Of the compared pairs that are,
    /// fewer than one in a thousand is missed. Others are returned, too.
    Possible,
    /// The lower end of the 99.9 % interval: only what is certainly similar enough.
    Certain,
}

impl Accept {
    /// Whether a comparison reaches a threshold. Differences below 1e-9 count as rounding errors.
    pub fn passes(self, comparison: &Comparison, threshold: f64) -> bool {
        match self {
            Accept::Estimate => reaches(comparison.similarity_value(), threshold),
            Accept::Possible => comparison.possibly_at_least(threshold),
            Accept::Certain => comparison.certainly_at_least(threshold),
        }
    }
}

/// Whether a value is at least a threshold, up to rounding: .8 computed as (.85 - .25) / .75 reaches .8.
pub(crate) fn reaches(value: f64, threshold: f64) -> bool {
    value + TOLERANCE >= threshold
}
