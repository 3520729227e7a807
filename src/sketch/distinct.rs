//! How many distinct elements there are, exactly.
//!
//! In: elements in any order, with repeats. Out: whether each was new, and how many were. An open
//! table at most half full; for whole slices two bitmaps first tell most elements, which are alone at
//! their place, from the few that need the table. The hash has a key drawn anew for each process: the
//! count does not depend on it, and elements chosen to collide cannot know it.

use std::hash::{BuildHasher, RandomState};
use std::sync::LazyLock;

use super::hash::{mix, stir};

static KEY: LazyLock<u64> = LazyLock::new(|| RandomState::new().hash_one(0_u64));

/// Elements looked at in one go.
const CHUNK: usize = 256;

/// A set of elements that only knows what it has seen.
pub(crate) struct Distinct {
    /// 0 marks a free place: the element 0 is kept apart.
    table: Vec<u64>,
    shift: u32,
    zero: bool,
    count: usize,
    key: u64,
    places: Places,
}

impl Distinct {
    pub(crate) fn new() -> Distinct {
        Distinct {
            table: Vec::new(),
            shift: 63,
            zero: false,
            count: 0,
            key: *KEY,
            places: Places::default(),
        }
    }

    /// The number of distinct elements of a slice. A strictly ascending slice is counted by looking.
    pub(crate) fn count_of(&mut self, elements: &[u64]) -> u64 {
        if elements.is_sorted_by(|a, b| a < b) {
            return elements.len() as u64;
        }
        self.places.mark(elements, self.key);
        let shared = self.places.shared();
        if shared == 0 {
            return elements.len() as u64;
        }
        // An element alone at its place is distinct from all others; the table decides about the rest.
        let places = std::mem::take(&mut self.places);
        self.reset(2 * shared as usize);
        let mut alone = elements.len() as u64;
        for chunk in elements.chunks(CHUNK) {
            let mut found = [0; CHUNK];
            let found = places.find_shared(chunk, self.key, &mut found);
            alone -= found.len() as u64;
            for x in found {
                self.insert(*x);
            }
        }
        self.places = places;
        alone + self.count()
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

    fn grow(&mut self) {
        let (old, zero) = (std::mem::take(&mut self.table), self.zero);
        self.reset(old.len().max(8));
        self.zero = zero;
        for x in old.into_iter().filter(|x| *x != 0) {
            self.insert_with_room(x);
        }
    }
}

/// About 32 places for each element of a slice: which are taken, and which by more than one.
#[derive(Default)]
struct Places {
    /// Places taken once or more, and places taken twice or more, 64 to a word.
    words: Vec<(u64, u64)>,
}

impl Places {
    /// Word and bit of the place of an element.
    #[inline(always)]
    fn place(x: u64, key: u64, words: usize) -> (usize, u64) {
        let place = stir(x ^ key) >> (u64::BITS - 6 - words.trailing_zeros());
        ((place / 64) as usize & (words - 1), 1 << (place % 64))
    }

    /// Not inlined, so that the loop has all registers for itself; four at a time, like the sampler.
    #[inline(never)]
    fn mark(&mut self, elements: &[u64], key: u64) {
        let count = (elements.len() / 2).next_power_of_two();
        self.words.clear();
        self.words.resize(count, (0, 0));
        let words = &mut self.words[..count];
        let mut mark = |(word, bit): (usize, u64)| {
            let (once, twice) = &mut words[word];
            *twice |= *once & bit;
            *once |= bit;
        };
        let (fours, left) = elements.as_chunks::<4>();
        for four in fours {
            four.map(|x| Places::place(x, key, count)).into_iter().for_each(&mut mark);
        }
        left.iter().for_each(|x| mark(Places::place(*x, key, count)));
    }

    /// How many places are taken more than once.
    fn shared(&self) -> u64 {
        self.words.iter().map(|(_, twice)| u64::from(twice.count_ones())).sum()
    }

    /// The elements of a chunk whose place is shared, without a branch for each.
    #[inline(never)]
    fn find_shared<'a>(&self, chunk: &[u64], key: u64, found: &'a mut [u64; CHUNK]) -> &'a [u64] {
        let mut count = 0;
        for &x in chunk {
            found[count % CHUNK] = x;
            let (word, bit) = Places::place(x, key, self.words.len());
            count += usize::from(self.words[word].1 & bit != 0);
        }
        &found[..count]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn agrees_with_a_hash_set() {
        let mut distinct = Distinct::new();
        for (n, modulus) in [(0, 1), (1, 1), (7, 3), (1000, 10), (5000, 100_000), (9, u64::MAX)] {
            let elements: Vec<u64> = (0..n).map(|i| mix(i) % modulus).collect();
            let truth = elements.iter().collect::<HashSet<_>>().len() as u64;
            assert_eq!(distinct.count_of(&elements), truth);
            distinct.reset(0);
            let new = elements.iter().filter(|x| distinct.insert(**x)).count() as u64;
            assert_eq!((new, distinct.count()), (truth, truth));
        }
        assert_eq!(distinct.count_of(&[0, 3, 9, u64::MAX]), 4);
    }
}
