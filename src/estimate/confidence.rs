//! Confidence levels of intervals.

/// The two confidence levels of intervals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Confidence {
    /// 95 %: the interval that is reported beside every estimate.
    P95,
    /// 99.9 %: the interval that decides whether a pair possibly or certainly reaches a threshold. It selects pairs,
    /// so it must be wider than the one that describes them.
    P999,
}

impl Confidence {
    /// The probability that the true value is beyond one given end.
    pub const fn tail(self) -> f64 {
        match self {
            Confidence::P95 => 0.025,
            Confidence::P999 => 0.0005,
        }
    }

    /// The quantile of the normal distribution for this tail.
    pub const fn z(self) -> f64 {
        match self {
            Confidence::P95 => super::Z95,
            Confidence::P999 => 3.290_526_731_491_926,
        }
    }

    /// How far the log-likelihood may fall below its maximum inside the interval.
    pub(crate) fn likelihood_drop(self) -> f64 {
        self.z() * self.z() / 2.0
    }
}
