//! Counts of equal samples as resemblances, fast enough to be asked for each candidate.

use std::sync::Arc;

use crate::estimate::{Chance, Comparison};
use crate::scheme::{Cardinality, Scheme, Universe};
use crate::sketch::Signature;

/// Turns counts into resemblances to one query.
#[derive(Debug)]
pub(super) struct Scorer {
    scheme: Arc<Scheme>,
    size: Option<Cardinality>,
    /// In the open universe sizes do not matter.
    sparse: Option<Chance>,
}

impl Scorer {
    /// For a query, which is not empty.
    pub(super) fn new(query: &Signature) -> Scorer {
        let scheme = Arc::clone(query.shared_scheme());
        let open = scheme.universe == Universe::Open;
        let sparse = open.then(|| Chance::sparse(u32::from(scheme.bits)));
        Scorer { size: query.cardinality(), scheme, sparse }
    }

    /// All that can be said of a set with this cardinality code and so many equal samples.
    pub(super) fn comparison(&self, equal: u32, code: u32) -> Comparison {
        let other = self.scheme.cardinality.decode(code, self.scheme.universe);
        Comparison::new(&self.scheme, equal, self.size.zip(other), false)
    }

    /// Whether the resemblance depends on the cardinality code.
    pub(super) fn needs_code(&self) -> bool {
        self.sparse.is_none()
    }

    /// Its resemblance. Grows with `equal`.
    pub(super) fn value(&self, equal: u32, code: u32) -> f64 {
        match self.sparse {
            Some(chance) => chance.resemblance(f64::from(equal) / f64::from(self.scheme.samples)),
            None => self.comparison(equal, code).resemblance_value(),
        }
    }

    /// The fewest equal samples that give at least this resemblance; one more than there are if none do.
    /// Where that depends on a set's size, 0.
    pub(super) fn least_equal(&self, resemblance: f64) -> u32 {
        if self.sparse.is_none() || resemblance == f64::NEG_INFINITY {
            return 0;
        }
        let (mut low, mut high) = (0, self.scheme.samples + 1);
        while low < high {
            let middle = low.midpoint(high);
            if self.value(middle, 0) < resemblance { low = middle + 1 } else { high = middle }
        }
        low
    }
}
