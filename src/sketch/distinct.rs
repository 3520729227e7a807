//! How many distinct elements there are, exactly.
//!
//! In: elements in any order, with repeats. Out: whether each was new, and how many were. A stream has
//! an open table at most half full; a whole slice is chained by place, and only elements whose place was
//! taken are compared. The hash has a key drawn anew for each process: the count does not depend on it,
//! and elements chosen to collide cannot know it.

use std::hash::{BuildHasher, RandomState};
use std::sync::LazyLock;

use super::hash::mix;

static KEY: LazyLock<u64> = LazyLock::new(|| RandomState::new().hash_one(0_u64));

/// Places for each element of a slice.
const PLACES: usize = 4;

/// Most places of memory that is kept from set to set: a few megabytes.
const KEPT: usize = 1 << 19;

/// So few elements are compared with each other.
const FEW: usize = 8;

/// A set of elements that only knows what it has seen.
pub(crate) struct Distinct {
    /// 0 marks a free place: the element 0 is kept apart.
    table: Vec<u64>,
    shift: u32,
    zero: bool,
    count: usize,
    key: u64,
    chains: Chains,
}

impl Default for Distinct {
    fn default() -> Distinct {
        Distinct {
            table: Vec::new(),
            shift: 63,
            zero: false,
            count: 0,
            key: *KEY,
            chains: Chains::default(),
        }
    }
}

impl Distinct {
    /// Whether its memory is small enough to be kept for the next set.
    pub(crate) fn is_small(&self) -> bool {
        self.table.len() + self.chains.last.len() <= KEPT
    }

    /// The number of distinct elements of a slice. A strictly ascending slice is counted by looking.
    pub(crate) fn count_of(&mut self, elements: &[u64]) -> u64 {
        if elements.is_sorted_by(|a, b| a < b) {
            return elements.len() as u64;
        }
        if elements.len() <= FEW {
            return count_few(elements);
        }
        // Chains number elements by `u32`, from 1 on.
        if elements.len() >= u32::MAX as usize {
            self.reset(0);
            return elements.iter().filter(|x| self.insert(**x)).count() as u64;
        }
        (elements.len() - self.chains.repeats(elements, self.key)) as u64
    }

    /// Distinct elements inserted since the last reset.
    pub(crate) fn count(&self) -> u64 {
        self.count as u64 + u64::from(self.zero)
    }

    /// Forgets everything and makes room for `elements` distinct ones.
    pub(crate) fn reset(&mut self, elements: usize) {
        let size = (elements.max(8) * 2).next_power_of_two();
        self.table.clear();
        self.table.resize(size, 0);
        self.shift = u64::BITS - size.trailing_zeros();
        self.zero = false;
        self.count = 0;
    }

    /// Inserts an element, growing when half full; says whether it was new.
    pub(crate) fn insert(&mut self, x: u64) -> bool {
        if (self.count + 1) * 2 > self.table.len() {
            self.grow();
        }
        self.insert_with_room(x)
    }

    #[inline]
    fn insert_with_room(&mut self, x: u64) -> bool {
        if x == 0 {
            return !std::mem::replace(&mut self.zero, true);
        }
        let mask = self.table.len() - 1;
        let mut at = (mix(x ^ self.key) >> self.shift) as usize;
        loop {
            let place = &mut self.table[at & mask];
            if *place == 0 {
                *place = x;
                self.count += 1;
                return true;
            }
            if *place == x {
                return false;
            }
            at += 1;
        }
    }

    /// Whether an element was inserted since the last reset.
    pub(crate) fn contains(&self, x: u64) -> bool {
        if x == 0 {
            return self.zero;
        }
        let mask = self.table.len() - 1;
        let start = (mix(x ^ self.key) >> self.shift) as usize;
        let places = (start..).map(|at| self.table[at & mask]);
        places.take_while(|place| *place != 0).any(|place| place == x)
    }

    fn grow(&mut self) {
        let (old, zero) = (std::mem::take(&mut self.table), self.zero);
        self.reset(old.len().max(8));
        self.zero = zero;
        for x in old.into_iter().filter(|x| *x != 0) {
            self.insert_with_room(x);
        }
    }
}

/// The number of distinct elements, by comparing all with all. No branch depends on them.
fn count_few(elements: &[u64]) -> u64 {
    let mut repeats = 0;
    for (i, x) in elements.iter().enumerate() {
        let equal = elements[..i].iter().fold(false, |equal, y| equal | (x == y));
        repeats += u64::from(equal);
    }
    elements.len() as u64 - repeats
}

/// The elements of a slice chained by place, the last one first. Elements are numbered from 1 on, and 0
/// ends a chain.
#[derive(Default)]
struct Chains {
    /// The last element at each place.
    last: Vec<u32>,
    /// The one before each element at its place.
    before: Vec<u32>,
    /// Elements whose place was taken.
    second: Vec<u32>,
}

impl Chains {
    /// How many elements are equal to an earlier one.
    ///
    /// The place is the top of a product with a random odd number: two elements share one of m places
    /// with a probability of at most 2/m (Dietzfelbinger et al., 1997), whatever they are, so long as who
    /// chose them does not know the number. One multiplication: this is half as much again as the bare
    /// loop of a sketch. Not inlined, so that the loop has all registers for itself.
    #[inline(never)]
    fn repeats(&mut self, elements: &[u64], key: u64) -> usize {
        let (count, size) = (elements.len(), (PLACES * elements.len()).next_power_of_two());
        self.last.clear();
        self.last.resize(size, 0);
        if self.before.len() < count {
            self.before.resize(count, 0);
            self.second.resize(count, 0);
        }
        let last = &mut self.last[..size];
        let (before, second) = (&mut self.before[..count], &mut self.second[..count]);
        let shift = u64::BITS - size.trailing_zeros();
        let mut taken = 0;
        // No branch depends on the elements.
        for (i, (x, before)) in elements.iter().zip(before.iter_mut()).enumerate() {
            let place = (x.wrapping_mul(key | 1) >> shift) as usize & (size - 1);
            *before = std::mem::replace(&mut last[place], i as u32 + 1);
            second[taken] = i as u32;
            taken += usize::from(*before != 0);
        }
        let is_repeat = |i: &&u32| {
            let (x, mut earlier) = (elements[**i as usize], before[**i as usize] as usize);
            while earlier != 0 && elements[earlier - 1] != x {
                earlier = before[earlier - 1] as usize;
            }
            earlier != 0
        };
        second[..taken].iter().filter(is_repeat).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn agrees_with_a_hash_set() {
        let mut distinct = Distinct::default();
        for (n, modulus) in [
            (0, 1),
            (1, 1),
            (7, 3),
            (8, 4),
            (8, 6),
            (9, 4),
            (1000, 10),
            (5000, 100_000),
            (9, u64::MAX),
        ] {
            let elements: Vec<u64> = (0..n).map(|i| mix(i) % modulus).collect();
            let truth = elements.iter().collect::<HashSet<_>>().len() as u64;
            assert_eq!(distinct.count_of(&elements), truth);
            distinct.reset(0);
            let new = elements.iter().filter(|x| distinct.insert(**x)).count() as u64;
            assert_eq!((new, distinct.count()), (truth, truth));
            assert!(elements.iter().all(|x| distinct.contains(*x)));
            assert!(!distinct.contains(modulus) && distinct.contains(0) == elements.contains(&0));
        }
        assert_eq!(distinct.count_of(&[0, 3, 9, u64::MAX]), 4);
        assert_eq!(distinct.count_of(&[9, 0, 9, 0, u64::MAX]), 3);
    }

    /// Long runs of one element, and elements that all share their low or their high bits.
    #[test]
    fn odd_slices_are_counted_in_linear_time() {
        let mut distinct = Distinct::default();
        let n = 1 << 20;
        assert_eq!(distinct.count_of(&vec![7; n]), 1);
        let two: Vec<u64> = (0..n).map(|i| u64::from(i % 2 == 0)).collect();
        assert_eq!(distinct.count_of(&two), 2);
        for shift in [0, 20, 44] {
            let down: Vec<u64> = (0..n as u64).rev().map(|i| i << shift).collect();
            assert_eq!(distinct.count_of(&down), n as u64);
        }
    }
}
