//! Densification of one-permutation signatures: which bin an empty bin copies.
//!
//! In: which bins are occupied. Out: the donor of each empty bin. Each bin i has its own permutation of all bins, here
//! called its *order*. The donor of bin i is the occupied bin that comes first in order i (SAMPLE-6). The orders are
//! the same for all sets, so two sets with the same occupied bins have the same donors.
//!
//! With m of k bins occupied, the donor is at about place k/m of the order. The search takes the cheaper of two ways:
//! it walks the order to that place, or it compares the places of the m occupied bins. Up to 1,024 bins, all orders are
//! kept as tables. Without tables, sets of a few elements would be the slowest of all, and such sets are common.

use std::sync::OnceLock;

use super::hash::{Keys, Purpose};
use super::permutation::Permutation;
use crate::kernel::Kernel;
use crate::scheme::Scheme;

/// Up to this many bins, the orders are tables of bytes.
const MAX_IN_BYTES: usize = 256;

/// Up to this many bins, the orders are tables of 16-bit words, 4 MiB at most.
const MAX_TABLED: usize = 1024;

/// For each bin, the order in which other bins are tried as its donor.
pub(crate) struct Donors {
    orders: Vec<Permutation>,
    /// The tables for at most 256 bins, computed when a set first leaves a bin empty.
    in_bytes: OnceLock<Tables<u8>>,
    /// The same for at most 1,024 bins.
    in_words: OnceLock<Tables<u16>>,
}

impl Donors {
    pub(crate) fn new(scheme: &Scheme) -> Donors {
        let k = u64::from(scheme.samples);
        let keys = Keys::new(scheme.seed, Purpose::Donors);
        let orders = (0..k).map(|i| Permutation::new(k, keys.key(i))).collect();
        Donors { orders, in_bytes: OnceLock::new(), in_words: OnceLock::new() }
    }

    /// How many bins there are.
    pub(super) fn bins(&self) -> usize {
        self.orders.len()
    }

    /// The bins in the order in which sample i looks for an element: its own bin, then the others in the order of its
    /// permutation. Sample i takes the first occupied one (SAMPLE-6).
    pub(super) fn order(&self, i: usize) -> impl Iterator<Item = usize> {
        let order = &self.orders[i];
        let others = (0..self.orders.len() as u64).map(|place| order.element(place) as usize);
        std::iter::once(i).chain(others.filter(move |bin| *bin != i))
    }

    /// Calls `copy(empty bin, donor)` for every empty bin. At least one bin is occupied.
    pub(crate) fn for_each_empty(&self, occupied: &Occupied, copy: impl FnMut(usize, usize)) {
        let k = self.orders.len();
        if occupied.count == k {
            return;
        }
        if k <= MAX_IN_BYTES {
            self.in_bytes.get_or_init(|| Tables::new(&self.orders)).for_each_empty(occupied, copy);
        } else if k <= MAX_TABLED {
            self.in_words.get_or_init(|| Tables::new(&self.orders)).for_each_empty(occupied, copy);
        } else if occupied.are_few(k) {
            let list: Vec<usize> = occupied.bins().collect();
            let donor =
                |i: usize| list.iter().copied().min_by_key(|j| self.orders[i].place(*j as u64));
            occupied.for_each_empty(k, donor, copy);
        } else {
            let order = |i: usize| (0..k as u64).map(move |p| self.orders[i].element(p) as usize);
            occupied.for_each_empty(k, |i| order(i).find(|j| occupied.has(*j)), copy);
        }
    }
}

/// The number of a bin, as a table stores it.
trait Bin: Copy + Ord + TryFrom<usize> + Into<usize> {}

impl Bin for u8 {}
impl Bin for u16 {}

/// All orders and their inverses.
struct Tables<B> {
    k: usize,
    /// The bin at place p of order i, at `i * k + p`.
    bins: Vec<B>,
    /// The place of bin j in order i, at `i * k + j`.
    places: Vec<B>,
}

impl<B: Bin> Tables<B> {
    fn new(orders: &[Permutation]) -> Tables<B> {
        let k = orders.len();
        // Every number is below k. The caller chooses an entry type that can hold k - 1.
        let entry = |x: usize| B::try_from(x).unwrap_or_else(|_| unreachable!("{x} of {k} bins"));
        let (mut bins, mut places) = (vec![entry(0); k * k], vec![entry(0); k * k]);
        for (i, order) in orders.iter().enumerate() {
            for j in 0..k {
                let place = order.place(j as u64) as usize;
                places[i * k + j] = entry(place);
                bins[i * k + place] = entry(j);
            }
        }
        Tables { k, bins, places }
    }

    fn for_each_empty(&self, occupied: &Occupied, copy: impl FnMut(usize, usize)) {
        let k = self.k;
        if occupied.are_few(k) {
            let list: Vec<usize> = occupied.bins().collect();
            let donor = |i: usize| {
                let places = &self.places[i * k..(i + 1) * k];
                list.iter().copied().min_by_key(|j| places[*j])
            };
            return occupied.for_each_empty(k, donor, copy);
        }
        let mut words = [0_u64; MAX_TABLED / 64];
        words[..occupied.words.len()].copy_from_slice(&occupied.words);
        // Eight bins of the order at a time, without a branch for each.
        let first_of = |eight: &[B]| {
            let has = |j: usize| (words[j / 64 % words.len()] >> (j % 64)) as u32 & 1;
            let hits = eight.iter().rev().fold(0, |hits, j| hits << 1 | has((*j).into()));
            (hits != 0).then(|| eight[hits.trailing_zeros() as usize].into())
        };
        let donor = |i: usize| self.bins[i * k..(i + 1) * k].chunks(8).find_map(first_of);
        occupied.for_each_empty(k, donor, copy);
    }
}

/// A bitmap of the bins that hold a sample of their own.
pub(crate) struct Occupied {
    words: Vec<u64>,
    count: usize,
}

impl Occupied {
    /// Marks the bins that hold anything but `u64::MAX`.
    pub(crate) fn of(bins: &[u64]) -> Occupied {
        let mut words = vec![0; bins.len().div_ceil(64)];
        Kernel::best().occupied(bins, &mut words);
        let count = words.iter().map(|w| w.count_ones() as usize).sum();
        Occupied { words, count }
    }

    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Whether comparing all occupied bins is less work than walking an order of k bins to the first occupied one.
    fn are_few(&self, k: usize) -> bool {
        self.count * self.count <= k
    }

    pub(crate) fn insert(&mut self, bin: usize) {
        self.count += usize::from(!self.has(bin));
        self.words[bin / 64] |= 1 << (bin % 64);
    }

    #[inline]
    fn has(&self, bin: usize) -> bool {
        self.words[bin / 64] >> (bin % 64) & 1 == 1
    }

    /// The occupied bins, ascending.
    pub(crate) fn bins(&self) -> impl Iterator<Item = usize> + '_ {
        self.words.iter().enumerate().flat_map(|(w, word)| ones(*word).map(move |bit| 64 * w + bit))
    }

    /// Calls `copy(bin, donor(bin))` for every empty bin that has a donor.
    fn for_each_empty(
        &self,
        k: usize,
        donor: impl Fn(usize) -> Option<usize>,
        mut copy: impl FnMut(usize, usize),
    ) {
        for (w, word) in self.words.iter().enumerate() {
            for i in ones(!word).map(|bit| 64 * w + bit).take_while(|i| *i < k) {
                if let Some(j) = donor(i) {
                    copy(i, j);
                }
            }
        }
    }
}

/// The positions of the set bits of a word, ascending.
fn ones(word: u64) -> impl Iterator<Item = usize> {
    let next = |word: &u64| Some(word & (word - 1)).filter(|w| *w != 0);
    std::iter::successors(Some(word).filter(|w| *w != 0), next).map(|w| w.trailing_zeros() as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheme::{Parameters, presets};
    use crate::sketch::hash::mix;

    /// The donor is the occupied bin of least place, whichever way it is found.
    #[test]
    fn the_donor_is_the_occupied_bin_of_least_place() {
        for k in [1_usize, 2, 7, 64, 100, 128, 256, 257, 1000, 1024, 1025, 1500] {
            let parameters = Parameters { samples: k as u32, ..presets::PRECISE };
            let slots = crate::scheme::Slots::NONE;
            let donors = Donors::new(&Scheme::new(Parameters { slots, ..parameters }).unwrap());
            for m in [1, 2, 3, 5, 11, 17, 40, 90, 126, 250].into_iter().filter(|m| *m <= k) {
                let mut bins = vec![u64::MAX; k];
                (0..m as u64).for_each(|i| bins[mix(i + 1000 * k as u64) as usize % k] = i);
                let occupied = Occupied::of(&bins);
                let mut empty = 0;
                donors.for_each_empty(&occupied, |i, donor| {
                    let oracle = (0..k)
                        .filter(|j| bins[*j] != u64::MAX)
                        .min_by_key(|j| donors.orders[i].place(*j as u64));
                    assert_eq!((bins[i], Some(donor)), (u64::MAX, oracle), "k {k} m {m} bin {i}");
                    empty += 1;
                });
                assert_eq!(empty + occupied.count(), k);
            }
        }
    }
}
