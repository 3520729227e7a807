//! Exact counts of distinct elements.
//!
//! In: elements in any order, with repeats. Out: whether each was new, and the number of distinct ones. Streams use
//! an open hash table that is at most half full. Slices are chained by hash, and only elements whose place was taken
//! are compared. The hash key is random per process. The count does not depend on it, and nobody can choose elements
//! that collide.

use std::hash::{BuildHasher, RandomState};
use std::sync::LazyLock;

use super::hash::mix;
use crate::kernel::{Kernel, Work};

static KEY: LazyLock<u64> = LazyLock::new(|| RandomState::new().hash_one(0_u64));

/// Places per element of a slice.
const PLACES: usize = 4;

/// Tables up to this many places are kept for the next set: a few megabytes.
const KEPT: usize = 1 << 19;

/// Up to this many elements are compared with each other.
const FEW: usize = 8;

/// A set of elements that only records which elements it has seen.
pub(crate) struct Distinct {
    /// 0 marks a free place. The element 0 is recorded in `zero`.
    table: Vec<u64>,
    shift: u32,
    zero: bool,
    count: usize,
    key: u64,
    short_chains: Chains<u16>,
    chains: Chains<u32>,
}

impl Default for Distinct {
    fn default() -> Distinct {
        Distinct {
            table: Vec::new(),
            shift: 63,
            zero: false,
            count: 0,
            key: *KEY,
            short_chains: Chains::default(),
            chains: Chains::default(),
        }
    }
}

impl Distinct {
    /// Whether its memory is small enough to be kept for the next set.
    pub(crate) fn is_small(&self) -> bool {
        self.table.len() + self.chains.last.len() <= KEPT
    }

    /// The number of distinct elements of a slice. A strictly ascending slice needs no counting.
    pub(crate) fn count_of(&mut self, elements: &[u64]) -> u64 {
        if elements.is_sorted_by(|a, b| a < b) {
            return elements.len() as u64;
        }
        if elements.len() <= FEW {
            return count_few(elements);
        }
        let repeats = if elements.len() <= usize::from(u16::MAX) {
            self.short_chains.repeats(elements, self.key)
        } else if elements.len() <= u32::MAX as usize {
            self.chains.repeats(elements, self.key)
        } else {
            self.reset(0);
            return elements.iter().filter(|x| self.insert(**x)).count() as u64;
        };
        (elements.len() - repeats) as u64
    }

    /// Distinct elements inserted since the last reset.
    pub(crate) fn count(&self) -> u64 {
        self.count as u64 + u64::from(self.zero)
    }

    /// Removes all elements and makes room for `elements` distinct ones.
    pub(crate) fn reset(&mut self, elements: usize) {
        let size = (elements.max(8) * 2).next_power_of_two();
        self.table.clear();
        self.table.resize(size, 0);
        self.shift = u64::BITS - size.trailing_zeros();
        self.zero = false;
        self.count = 0;
    }

    /// Inserts an element and returns whether it was new. Grows when half full.
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

/// The number of distinct elements, by comparing all pairs. No branch depends on the elements.
fn count_few(elements: &[u64]) -> u64 {
    let mut repeats = 0;
    for (i, x) in elements.iter().enumerate() {
        let equal = elements[..i].iter().fold(false, |equal, y| equal | (x == y));
        repeats += u64::from(equal);
    }
    elements.len() as u64 - repeats
}

/// The number of an element, from 1 on. 0 means none.
trait Number: Copy + Default + PartialEq {
    fn of(number: usize) -> Self;
    fn get(self) -> usize;
}

impl Number for u16 {
    #[inline(always)]
    fn of(number: usize) -> u16 {
        number as u16
    }

    #[inline(always)]
    fn get(self) -> usize {
        usize::from(self)
    }
}

impl Number for u32 {
    #[inline(always)]
    fn of(number: usize) -> u32 {
        number as u32
    }

    #[inline(always)]
    fn get(self) -> usize {
        self as usize
    }
}

/// The elements of a slice, chained by place. Each chain starts at its last element.
#[derive(Default)]
struct Chains<T> {
    /// The last element at each place.
    last: Vec<T>,
    /// The element before each element at the same place.
    before: Vec<T>,
    /// Elements whose place was taken.
    second: Vec<T>,
}

impl<T: Number> Chains<T> {
    /// How many elements equal an earlier one. `T` must hold their numbers.
    ///
    /// The place is the top bits of a product with a random odd factor. Two elements share one of m places with a
    /// probability of at most 2/m (Dietzfelbinger et al., 1997), whoever chose them, as long as the factor is secret.
    fn repeats(&mut self, elements: &[u64], key: u64) -> usize {
        let (count, size) = (elements.len(), (PLACES * elements.len()).next_power_of_two());
        self.last.clear();
        self.last.resize(size, T::default());
        if self.before.len() < count {
            self.before.resize(count, T::default());
            self.second.resize(count, T::default());
        }
        let taken = Kernel::best().run(Chain {
            elements,
            factor: key | 1,
            last: &mut self.last,
            before: &mut self.before[..count],
            second: &mut self.second[..count],
        });
        let is_repeat = |i: &&T| {
            let (x, mut earlier) = (elements[i.get() - 1], self.before[i.get() - 1].get());
            while earlier != 0 && elements[earlier - 1] != x {
                earlier = self.before[earlier - 1].get();
            }
            earlier != 0
        };
        self.second[..taken].iter().filter(is_repeat).count()
    }
}

/// Chains the elements and returns how many found their place taken.
struct Chain<'a, T> {
    elements: &'a [u64],
    factor: u64,
    last: &'a mut [T],
    before: &'a mut [T],
    second: &'a mut [T],
}

impl<T: Number> Work for Chain<'_, T> {
    type Done = usize;

    /// Computes several places at a time, then chains. No branch depends on the elements.
    #[inline(always)]
    fn run(self) -> usize {
        let Chain { elements, factor, last, before, second } = self;
        let mask = last.len() - 1;
        let shift = u64::BITS - last.len().trailing_zeros();
        let (mut places, mut number, mut taken) = ([0; 64], 0, 0);
        for (elements, before) in elements.chunks(64).zip(before.chunks_mut(64)) {
            for (place, x) in places.iter_mut().zip(elements) {
                *place = (x.wrapping_mul(factor) >> shift) as u32;
            }
            for (place, before) in places.iter().zip(before) {
                number += 1;
                let last = &mut last[*place as usize & mask];
                *before = *last;
                *last = T::of(number);
                second[taken] = T::of(number);
                taken += usize::from(*before != T::default());
            }
        }
        taken
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
