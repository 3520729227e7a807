//! The elements of a set as a scheme keeps them, and the intersection of two sets.
//!
//! In: elements in any order, with repeats. Out: distinct elements, ascending. A scheme that keeps all 64 bits keeps
//! the elements themselves. One that keeps fewer bits keeps the low bits of a hash of each (SIG-7). This file must
//! not know how they are stored.

use super::hash::{Keys, Purpose, mix};
use super::signature::Signature;
use super::sketcher::Sketcher;
use crate::error::{Error, Result};
use crate::limits::{MAX_KEPT_BITS, MAX_KEPT_ELEMENTS};
use crate::scheme::{Elements, Scheme};

/// How elements of one scheme are kept.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Keeping {
    /// The hash key and the mask of the bits that are kept. `None` if elements are kept as they are.
    hash: Option<(u64, u64)>,
}

impl Keeping {
    /// How a scheme keeps elements, or `None` if it does not.
    pub(crate) fn of(scheme: &Scheme) -> Option<Keeping> {
        let Elements::Kept { bits } = scheme.elements else { return None };
        let hash = (bits < MAX_KEPT_BITS).then(|| {
            let key = Keys::new(scheme.seed, Purpose::Kept).key(0);
            (key, (1_u64 << bits) - 1)
        });
        Some(Keeping { hash })
    }

    /// Turns distinct, ascending elements into what is kept of them (SIG-7).
    pub(crate) fn keep(self, mut distinct: Vec<u64>) -> Vec<u64> {
        if let Some((key, mask)) = self.hash {
            distinct.iter_mut().for_each(|x| *x = mix(*x ^ key) & mask);
            distinct.sort_unstable();
            distinct.dedup();
        }
        distinct
    }
}

impl Sketcher {
    /// Whether a signature can belong to the set that is kept with it (KEPT-10). True if no set is kept.
    pub(crate) fn is_consistent(&self, signature: &Signature) -> Result<bool> {
        let Some(elements) = signature.elements() else { return Ok(true) };
        if self.scheme().elements.are_exact() {
            return Ok(self.sketch(elements)? == *signature);
        }
        let least =
            self.scheme().cardinality.encode(elements.len() as u64, self.scheme().universe)?;
        Ok(least <= signature.cardinality_code())
    }
}

/// The distinct elements of a slice, ascending. An error if there are more than can be kept.
pub(crate) fn distinct(elements: &[u64]) -> Result<Vec<u64>> {
    let mut distinct = elements.to_vec();
    if !distinct.is_sorted_by(|a, b| a < b) {
        distinct.sort_unstable();
        distinct.dedup();
    }
    check_count(distinct.len())?;
    Ok(distinct)
}

/// Rejects more elements than can be kept.
pub(crate) fn check_count(count: usize) -> Result<()> {
    if count <= MAX_KEPT_ELEMENTS {
        return Ok(());
    }
    Err(Error::invalid(
        format!("a set of {count} elements"),
        format!(
            "a scheme that keeps sets takes at most {MAX_KEPT_ELEMENTS} elements: use one that keeps signatures only"
        ),
    ))
}

/// If one set is this many times as large as the other, a galloping search is faster than a merge.
const GALLOP_FROM: usize = 16;

/// The size of the intersection of two sets. Both slices must be strictly ascending.
///
/// Sets of similar size are merged. If one is much larger, each element of the smaller set is searched for in the
/// larger one, starting where the last search ended.
///
/// ```
/// use ringer::sketch::intersection_size;
/// assert_eq!(intersection_size(&[1, 2, 3, 5, 8], &[2, 4, 8, 16]), 2);
/// ```
pub fn intersection_size(a: &[u64], b: &[u64]) -> usize {
    let (small, large) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    if large.len() / GALLOP_FROM >= small.len() {
        gallop(small, large)
    } else {
        merge(small, large)
    }
}

/// A merge without a branch that depends on the elements.
fn merge(a: &[u64], b: &[u64]) -> usize {
    let (mut i, mut j, mut common) = (0, 0, 0);
    while let (Some(x), Some(y)) = (a.get(i), b.get(j)) {
        common += usize::from(x == y);
        i += usize::from(x <= y);
        j += usize::from(y <= x);
    }
    common
}

/// Each search doubles its step until it passes the element. Its cost is the logarithm of the distance.
fn gallop(small: &[u64], mut large: &[u64]) -> usize {
    let mut common = 0;
    for x in small {
        let mut step = 1;
        while large.get(step - 1).is_some_and(|y| y < x) {
            step *= 2;
        }
        // Everything before `step / 2` is smaller than x, and nothing from `step` on is.
        let window = &large[..large.len().min(step)];
        let from = (step / 2).min(window.len());
        let at = from + window[from..].partition_point(|y| y < x);
        common += usize::from(large.get(at) == Some(x));
        large = &large[at..];
    }
    common
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheme::{Parameters, presets};
    use std::collections::BTreeSet;

    /// Against sets of the standard library, for all pairs of sizes and overlaps.
    #[test]
    fn common_elements_are_those_of_the_standard_library() {
        for (n, m) in [(0, 0), (0, 9), (1, 1), (1, 1000), (3, 47), (3, 48), (40, 50), (7, 5000)] {
            for modulus in [20, 100, 6000, u64::MAX] {
                let set = |count: u64, start: u64| -> BTreeSet<u64> {
                    (0..count).map(|i| mix(start + i) % modulus).collect()
                };
                for shift in [0, 1, m / 2, 10_000] {
                    let (a, b) = (set(n, 0), set(m, shift));
                    let truth = a.intersection(&b).count();
                    let [a, b] = [a, b].map(|set| set.into_iter().collect::<Vec<_>>());
                    assert_eq!(intersection_size(&a, &b), truth, "{n} {m} {modulus} {shift}");
                    assert_eq!(intersection_size(&b, &a), truth);
                    assert_eq!(
                        (merge(&a, &b), gallop(&a, &b), gallop(&b, &a)),
                        (truth, truth, truth)
                    );
                }
            }
        }
        assert_eq!(intersection_size(&[u64::MAX], &[0, u64::MAX]), 1);
    }

    #[test]
    fn fewer_bits_keep_fewer_elements_and_all_keep_the_elements() {
        let keeping = |bits| {
            let p = Parameters { elements: Elements::Kept { bits }, ..presets::PRECISE };
            Keeping::of(&Scheme::new(p).unwrap()).unwrap()
        };
        let set: Vec<u64> = (0..1000).map(|i| i * 3).collect();
        assert_eq!(keeping(64).keep(set.clone()), set);
        for bits in 8..64 {
            let kept = keeping(bits).keep(set.clone());
            assert!(kept.is_sorted_by(|a, b| a < b) && kept.iter().all(|x| x >> bits == 0));
            assert!(kept.len() <= 256 || bits > 8);
            // About 1000^2 / 2^(bits + 1) of the 1000 elements collide: 0.03 if there are 24 bits.
            assert!(bits < 24 || kept.len() >= 998, "{bits}: {}", kept.len());
        }
        assert!(Keeping::of(&Scheme::precise()).is_none());
    }

    #[test]
    fn more_elements_than_can_be_kept_are_refused() {
        assert!(check_count(MAX_KEPT_ELEMENTS).is_ok());
        let error = check_count(MAX_KEPT_ELEMENTS + 1).unwrap_err().to_string();
        assert!(error.contains("8388609 elements") && error.contains("at most 8388608"), "{error}");
        assert_eq!(distinct(&[3, 1, 3, 0]), Ok(vec![0, 1, 3]));
    }
}
