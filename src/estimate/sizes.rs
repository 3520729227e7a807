//! What the sizes of two sets imply.

use crate::scheme::Cardinality;

/// The sizes of two sets, as far as their fields tell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Sizes {
    pub(crate) first: Cardinality,
    pub(crate) second: Cardinality,
}

impl Sizes {
    /// Both sizes, if each field can stand for only one size.
    pub(crate) fn known(&self) -> Option<(f64, f64)> {
        self.first.known().zip(self.second.known())
    }

    /// The resemblance if the smaller set is contained in the larger one.
    pub(crate) fn most_resemblance(&self) -> f64 {
        let Sizes { first, second } = self;
        (first.most() / second.least()).min(second.most() / first.least()).clamp(0.0, 1.0)
    }

    /// The most elements that either set can have.
    pub(crate) fn largest(&self) -> f64 {
        self.first.most().max(self.second.most())
    }
}
