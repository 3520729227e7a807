//! The code of a set's size.
//!
//! In: the elements of a set, with repeats. Out: the code of the number of distinct ones. Most codes stand for a range of sizes: where a
//! lower bound has the same code as the number of all elements, nothing needs to be counted.

use super::hash_bitmap::HashBitmap;
use super::sketcher::{Scratch, Sketcher};
use crate::error::Result;
use crate::scheme::CardinalityField;

impl Sketcher {
    /// The code of the number of distinct elements, and whether the scratch got the bitmap of their hashes on the way.
    pub(super) fn size_code(&self, elements: &[u64], scratch: &mut Scratch) -> Result<(u32, bool)> {
        let (field, universe) = (self.scheme().cardinality, self.scheme().universe);
        if field == CardinalityField::None {
            return Ok((0, false));
        }
        let mapped = field != CardinalityField::Exact
            && HashBitmap::suits(elements.len())
            && !elements.is_sorted_by(|a, b| a < b);
        if mapped {
            scratch.bitmap.fill(self.element_key, elements);
            let most = field.encode(elements.len() as u64, universe);
            if most.is_ok() && most == field.encode(scratch.bitmap.count(), universe) {
                return Ok((most?, true));
            }
        }
        let count = scratch.distinct.count_of(elements);
        Ok((field.encode(count, universe)?, mapped))
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

    /// Every size about the ends of a code's range, without repeats, with one, and with many.
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

    /// Elements chosen to share one bit of the bitmap, by someone who knows the seed, are counted all the same, and sampled.
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
