//! Counts of equal samples as similarities, fast enough to be asked for each candidate.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use crate::estimate::{Accept, Comparison, Law, TOLERANCE};
use crate::scheme::{Cardinality, Scheme, Universe};
use crate::sketch::Signature;

/// Decisions that are remembered.
const MOST_REMEMBERED: usize = 1 << 16;

/// Turns counts into similarities to one query.
#[derive(Debug)]
pub(super) struct Scorer {
    scheme: Arc<Scheme>,
    size: Option<Cardinality>,
    /// In the open universe a count bounds the similarity, whatever the sizes.
    sparse: Option<Law>,
    /// Whether an interval reaches the threshold, by the count and the code: intervals are costly, and few.
    decided: RefCell<HashMap<(u32, u32), bool>>,
}

impl Scorer {
    /// For a query, which is not empty.
    pub(super) fn new(query: &Signature) -> Scorer {
        let scheme = Arc::clone(query.shared_scheme());
        let open = scheme.universe == Universe::Open;
        let sparse = open.then(|| Law::of(&scheme));
        Scorer { size: query.cardinality(), scheme, sparse, decided: RefCell::default() }
    }

    /// All that can be said of a set with this cardinality code and so many equal samples.
    pub(super) fn comparison(&self, equal: u32, code: u32) -> Comparison {
        let other = self.scheme.cardinality.decode(code, self.scheme.universe);
        Comparison::new(&self.scheme, equal, self.size.zip(other), false)
    }

    /// Whether the similarity depends on the cardinality code.
    pub(super) fn needs_code(&self) -> bool {
        self.sparse.is_none() || self.size.is_some()
    }

    /// Whether a count alone can reject a set.
    pub(super) fn counts_reject(&self) -> bool {
        self.sparse.is_some()
    }

    /// Its similarity. Never falls where `equal` grows.
    pub(super) fn value(&self, equal: u32, code: u32) -> f64 {
        self.comparison(equal, code).similarity_value()
    }

    /// Whether it reaches a threshold by its interval. The estimate is the ranking's business.
    pub(super) fn passes(&self, accept: Accept, equal: u32, code: u32, threshold: f64) -> bool {
        if accept == Accept::Estimate || threshold == f64::NEG_INFINITY {
            return true;
        }
        let mut decided = self.decided.borrow_mut();
        if decided.len() >= MOST_REMEMBERED {
            decided.clear();
        }
        let pass = || accept.passes(&self.comparison(equal, code), threshold);
        *decided.entry((equal, code)).or_insert_with(pass)
    }

    /// The fewest equal samples that can give at least this similarity, whatever the other set's size; one more than there
    /// are if none do. In a bounded universe, where that depends on the size, 0.
    pub(super) fn least_equal(&self, similarity: f64) -> u32 {
        let Some(law) = self.sparse.filter(|_| similarity > f64::NEG_INFINITY) else { return 0 };
        // An estimate is rounded to a value that sets of known sizes can have: at most two elements of the union away.
        let known = self.size.and_then(|size| size.known());
        let bound = similarity - TOLERANCE - known.map_or(0.0, |size| 2.0 / (size + 1.0));
        if self.size.is_some() && bound <= 0.0 {
            return 0;
        }
        let k = self.scheme.samples;
        let (mut low, mut high) = (0, k + 1);
        while low < high {
            let middle = low.midpoint(high);
            let value = law.similarity(f64::from(middle) / f64::from(k));
            if value < bound { low = middle + 1 } else { high = middle }
        }
        low
    }
}
