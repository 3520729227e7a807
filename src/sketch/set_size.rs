//! The cardinality code of a set.
//!
//! In: the elements of a set, with repeats. Out: the code of the number of distinct elements
//! (`format-spec/signature.md`). Most codes stand for a range of sizes. A lower bound that has the same code as the
//! number of all elements settles the code, and nothing needs to be counted exactly. The bound comes from a
//! [`HashBitmap`], which is cheaper than counting. Where it probably cannot settle the code, the elements are counted
//! at once.

use super::hash_bitmap::HashBitmap;
use super::sketcher::{Scratch, Sketcher};
use crate::error::Result;
use crate::scheme::CardinalityField;

impl Sketcher {
    /// The code of the number of distinct elements, and whether the scratch now holds the bitmap of their hashes.
    pub(super) fn size_code(&self, elements: &[u64], scratch: &mut Scratch) -> Result<(u32, bool)> {
        let (field, universe) = (self.scheme().cardinality, self.scheme().universe);
        if field == CardinalityField::None {
            return Ok((0, false));
        }
        let mut mapped = false;
        if field != CardinalityField::Exact
            && HashBitmap::suits(elements.len())
            && !elements.is_sorted_by(|a, b| a < b)
        {
            let count = elements.len() as u64;
            let code = field.encode(count, universe)?;
            let settles = |bound: u64| field.encode(bound, universe) == Ok(code);
            mapped = settles(count - HashBitmap::expected_collisions(elements.len()))
                && scratch.bitmap.fill(self.element_key, elements, settles);
            if mapped && settles(scratch.bitmap.count()) {
                return Ok((code, true));
            }
        }
        let count = scratch.distinct.count_of(elements);
        Ok((field.encode(count, universe)?, mapped))
    }

    /// Finds the cardinality codes of many sets, without samples, and returns their sum. For benchmarks.
    #[cfg(any(test, feature = "internals"))]
    #[doc(hidden)]
    pub fn size_codes(&self, sets: &[&[u64]]) -> Result<u64> {
        let mut scratch = self.scratch();
        sets.iter().map(|set| Ok(u64::from(self.size_code(set, &mut scratch)?.0))).sum()
    }

    /// Counts the distinct elements of many sets exactly and returns the sum. For benchmarks.
    #[cfg(any(test, feature = "internals"))]
    #[doc(hidden)]
    pub fn distinct_counts(&self, sets: &[&[u64]]) -> u64 {
        let mut scratch = self.scratch();
        sets.iter().map(|set| scratch.distinct.count_of(set)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheme::{Parameters, Sampler, Scheme, Slots, Universe, presets};
    use crate::sketch::hash::{mix, stir};
    use std::collections::HashSet;

    fn sketcher(cardinality: CardinalityField) -> Sketcher {
        let p = Parameters { cardinality, slots: Slots::NONE, ..presets::NEAR_DUPLICATE };
        Sketcher::new(&Scheme::new(p).unwrap())
    }

    fn check(sketcher: &Sketcher, elements: &[u64]) {
        let distinct = elements.iter().collect::<HashSet<_>>().len() as u64;
        let expected = sketcher.scheme().cardinality.encode(distinct, Universe::Open).unwrap();
        let (code, _) = sketcher.size_code(elements, &mut sketcher.scratch()).unwrap();
        assert_eq!(code, expected, "{distinct} of {} elements", elements.len());
    }

    /// Sizes near the ends of a code's range, without repeats, with one, and with many.
    #[test]
    fn codes_are_those_of_the_distinct_elements() {
        for field in [CardinalityField::Log8, CardinalityField::Exact] {
            let sketcher = sketcher(field);
            for count in (120..700).chain((700..8300).step_by(37)).chain(8185..8200) {
                for distinct in [count, count - 1, count - count / 9, count / 3] {
                    let elements: Vec<u64> = (0..count).map(|i| mix(i % distinct)).collect();
                    check(&sketcher, &elements);
                }
            }
        }
    }

    /// Sets just above the least size of their code and sets with many repeats are counted at once. Others get a
    /// bitmap.
    #[test]
    fn bitmaps_are_for_sets_whose_code_they_can_settle() {
        let sketcher = sketcher(CardinalityField::Log8);
        let mapped = |count: u64, distinct: u64| {
            let elements: Vec<u64> = (0..count).map(|i| mix(i * 7 % distinct)).collect();
            sketcher.size_code(&elements, &mut sketcher.scratch()).unwrap().1
        };
        // 1,070 is the least size of its code, 1,069 the largest of the one below.
        assert!(!mapped(1070, 1070) && !mapped(1072, 1072));
        assert!(mapped(1069, 1069) && mapped(1100, 1100));
        for count in [200, 300, 500, 1000, 2000, 8000] {
            assert!(mapped(count, count), "{count}");
            assert!(!mapped(count, count / 40), "{count}");
        }
    }

    #[test]
    fn sums_are_those_of_the_sets() {
        let sketcher = sketcher(CardinalityField::Log8);
        let sets = [200_u64, 1070].map(|count| (0..count).map(mix).collect::<Vec<u64>>());
        let sets: Vec<&[u64]> = sets.iter().map(Vec::as_slice).collect();
        assert_eq!(sketcher.distinct_counts(&sets), 1270);
        // 1 + round(8 log2 n)
        assert_eq!(sketcher.size_codes(&sets).unwrap(), (1 + 61) + (1 + 81));
    }

    /// Elements that share one bit of the bitmap, chosen by someone who knows the seed, are still counted and
    /// sampled.
    #[test]
    fn elements_that_share_a_bit_are_counted() {
        let sketcher = sketcher(CardinalityField::Log8);
        let first_bits = |x: &u64| stir(x ^ sketcher.element_key) >> 50;
        let elements: Vec<u64> = (0..1 << 22).map(mix).filter(|x| first_bits(x) == 77).collect();
        assert!(HashBitmap::suits(elements.len()), "{}", elements.len());
        check(&sketcher, &elements);
        let mut sorted = elements.clone();
        sorted.sort_unstable();
        assert_eq!(sketcher.sketch(&elements).unwrap(), sketcher.sketch(&sorted).unwrap());
        assert_eq!(sketcher.scheme().sampler, Sampler::EveryBin);
    }
}
