//! From counts to estimates.
//!
//! In: how many samples agree, how many bits they have, and what is known of the sizes of the sets. Out: an
//! [`Estimate`], always with its standard error and 95 % interval. These are pure functions. Only [`comparison`] and
//! the functions of several signatures read signatures.
//!
//! The formulas are those of Li and König (b-bit minwise hashing); equation numbers are theirs. Exact tails and the
//! terms for small sets and many sets are additions. `R` is the resemblance, `P` the probability that two b-bit
//! samples are equal, `k` the number of samples, `r` the share of a bounded universe that a set fills (0 in the open
//! universe), `f` the size of a set.

pub mod advice;
mod bounded;
pub mod capacity;
pub(crate) mod chance;
pub(crate) mod comparison;
#[cfg(feature = "serde")]
mod comparison_serialize;
mod confidence;
mod counts;
pub(crate) mod dependence;
pub(crate) mod half_bit;
mod interval;
pub(crate) mod joint;
pub(crate) mod law;
mod likelihood;
pub(crate) mod many;
mod many_dense;
pub(crate) mod measures;
pub(crate) mod pair;
pub mod planning;
mod posterior;
pub(crate) mod recall;
#[cfg(test)]
mod recall_tests;
pub(crate) mod returned;
mod sizes;
pub(crate) mod small_sets;
mod threshold;
mod together;

pub use chance::Chance;
pub use comparison::Comparison;
pub use confidence::Confidence;
pub use counts::Counts;
pub use joint::JointMeasures;
pub use law::Law;
pub use measures::Measures;
pub(crate) use posterior::TOLERANCE;
pub use threshold::Accept;
pub(crate) use threshold::reaches;
pub use together::{measures_of, resemblance_of};

/// The 97.5 % quantile of the normal distribution, for two-sided 95 % intervals.
pub(crate) const Z95: f64 = 1.959_963_984_540_054;

/// A value with its error.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Estimate {
    /// The estimate. It is not clamped to the possible range, since that would bias it: a resemblance near 0 may be
    /// slightly negative. Use [`Estimate::clamped`] for display.
    pub value: f64,
    /// Its standard error.
    pub std_error: f64,
    /// Lower end of the 95 % interval, clamped to the possible range.
    pub low: f64,
    /// Upper end of the 95 % interval, clamped to the possible range.
    pub high: f64,
}

impl Estimate {
    /// A value that is known exactly.
    pub fn exact(value: f64) -> Estimate {
        Estimate { value, std_error: 0.0, low: value, high: value }
    }

    /// The value clamped to 0..=1, for the display of resemblances and containments. Not for cosines.
    pub fn clamped(&self) -> f64 {
        self.value.clamp(0.0, 1.0)
    }
}

/// `0.8312 ± 0.0291 (95 %: 0.7691 to 0.8842)`, to as many digits as asked for (`{:.2}`), 4 by default.
impl std::fmt::Display for Estimate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let digits = f.precision().unwrap_or(4);
        let Estimate { value, std_error, low, high } = self;
        write!(
            f,
            "{value:.digits$} ± {std_error:.digits$} (95 %: {low:.digits$} to {high:.digits$})"
        )
    }
}
