//! Exact comparison of two sets, element by element.

use super::sizes::Sizes;
use crate::scheme::Cardinality;
use crate::sketch::intersection_size;

/// The sizes of two sets and of their intersection, counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counts {
    /// Elements of the first set.
    pub first: u64,
    /// Elements of the second set.
    pub second: u64,
    /// Elements of both.
    pub shared: u64,
}

impl Counts {
    /// Counts the elements of two sets, each in ascending order without repeats.
    ///
    /// ```
    /// use ringer::estimate::Counts;
    /// let counts = Counts::of(&[1, 4, 9], &[4, 5, 9, 11]);
    /// assert_eq!(counts.shared, 2);
    /// assert_eq!(counts.resemblance(), 0.4);
    /// ```
    pub fn of(first: &[u64], second: &[u64]) -> Counts {
        Counts {
            first: first.len() as u64,
            second: second.len() as u64,
            shared: intersection_size(first, second) as u64,
        }
    }

    /// Intersection over union; 0 for two empty sets.
    pub fn resemblance(&self) -> f64 {
        let union = self.first + self.second - self.shared.min(self.first).min(self.second);
        if union == 0 { 0.0 } else { self.shared as f64 / union as f64 }
    }

    /// The same with the sets in the other order.
    pub(crate) fn swapped(self) -> Counts {
        Counts { first: self.second, second: self.first, ..self }
    }

    pub(crate) fn sizes(&self) -> Sizes {
        Sizes { first: Cardinality::exact(self.first), second: Cardinality::exact(self.second) }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn counts_are_those_of_sets() {
        let mut numbers = testkit::random::Random(7);
        let mut draw = |limit: u64| numbers.below(limit);
        for (f1, f2, range) in [(0, 0, 1), (0, 5, 9), (3, 900, 1000), (50, 50, 80), (900, 2, 950)] {
            let a: BTreeSet<u64> = (0..f1).map(|_| draw(range)).collect();
            let b: BTreeSet<u64> = (0..f2).map(|_| draw(range)).collect();
            let of = |set: &BTreeSet<u64>| set.iter().copied().collect::<Vec<u64>>();
            let counts = Counts::of(&of(&a), &of(&b));
            assert_eq!(counts.shared, a.intersection(&b).count() as u64);
            let union = a.union(&b).count();
            let expected = if union == 0 { 0.0 } else { counts.shared as f64 / union as f64 };
            assert_eq!(counts.resemblance(), expected);
        }
    }
}
