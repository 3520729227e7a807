//! Counts of equal samples as similarities, fast enough to be asked for each candidate.

use std::sync::Arc;

use crate::estimate::{Comparison, Law};
use crate::scheme::{Cardinality, Scheme, Universe};
use crate::sketch::Signature;

/// Turns counts into similarities to one query.
#[derive(Debug)]
pub(super) struct Scorer {
    scheme: Arc<Scheme>,
    size: Option<Cardinality>,
    /// In the open universe sizes do not matter.
    sparse: Option<Law>,
}

impl Scorer {
    /// For a query, which is not empty.
    pub(super) fn new(query: &Signature) -> Scorer {
        let scheme = Arc::clone(query.shared_scheme());
        let open = scheme.universe == Universe::Open;
        let sparse = open.then(|| Law::of(&scheme));
        Scorer { size: query.cardinality(), scheme, sparse }
    }

    /// All that can be said of a set with this cardinality code and so many equal samples.
    pub(super) fn comparison(&self, equal: u32, code: u32) -> Comparison {
        let other = self.scheme.cardinality.decode(code, self.scheme.universe);
        Comparison::new(&self.scheme, equal, self.size.zip(other), false)
    }

    /// Whether the similarity depends on the cardinality code.
    pub(super) fn needs_code(&self) -> bool {
        self.sparse.is_none()
    }

    /// Its similarity. Never falls where `equal` grows.
    pub(super) fn value(&self, equal: u32, code: u32) -> f64 {
        match self.sparse {
            Some(law) => law.similarity(f64::from(equal) / f64::from(self.scheme.samples)),
            None => self.comparison(equal, code).similarity_value(),
        }
    }

    /// The fewest equal samples that give at least this similarity; one more than there are if none do.
    /// Where that depends on a set's size, 0.
    pub(super) fn least_equal(&self, similarity: f64) -> u32 {
        if self.sparse.is_none() || similarity == f64::NEG_INFINITY {
            return 0;
        }
        let (mut low, mut high) = (0, self.scheme.samples + 1);
        while low < high {
            let middle = low.midpoint(high);
            if self.value(middle, 0) < similarity { low = middle + 1 } else { high = middle }
        }
        low
    }
}
