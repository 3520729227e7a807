//! Which bin an empty bin copies: densification of one-permutation signatures.
//!
//! In: which bins are occupied. Out: for each empty bin i the occupied bin j with the least place
//! under permutation i of the bins (SAMPLE-6), in other words sample i of the set of occupied bins.
//! All of this is the same for all sets, so two sets that agree on what is occupied copy alike.
//!
//! With m of k bins occupied the donor stands at about place k/m: either the order is walked until it
//! comes, or the places of the m occupied bins are compared, whichever is less work. For small k all
//! orders are kept as tables, since sets of a few elements are common and would otherwise be the
//! slowest of all.

use std::sync::OnceLock;

use super::hash::{Keys, Purpose};
use super::permutation::Permutation;
use crate::kernel::Kernel;
use crate::scheme::Scheme;

/// Up to this many bins all orders are kept as tables of one byte an entry.
const MAX_TABLED: usize = 256;

/// The orders of donors of all bins.
pub(crate) struct Donors {
    orders: Vec<Permutation>,
    /// Made when a set first leaves a bin empty.
    tables: OnceLock<Tables>,
}

/// All orders of up to 256 bins.
struct Tables {
    /// The bin at place p of order i, at `i * k + p`.
    bins: Vec<u8>,
    /// The place of bin j in order i, at `i * k + j`.
    places: Vec<u8>,
}

impl Donors {
    pub(crate) fn new(scheme: &Scheme) -> Donors {
        let k = u64::from(scheme.samples);
        let keys = Keys::new(scheme.seed, Purpose::Donors);
        let orders = (0..k).map(|i| Permutation::new(k, keys.key(i))).collect();
        Donors { orders, tables: OnceLock::new() }
    }

    /// Calls `copy(empty bin, donor)` for every empty bin. At least one bin is occupied.
    pub(crate) fn for_each_empty(&self, occupied: &Occupied, copy: impl FnMut(usize, usize)) {
        let k = self.orders.len();
        if occupied.count == k {
            return;
        }
        let few = occupied.count * occupied.count <= k;
        match (few, k <= MAX_TABLED) {
            (true, true) => {
                let places = &self.tables().places;
                let list: Vec<u8> = occupied.bins().map(|j| j as u8).collect();
                let donor = |i: usize| {
                    let places = &places[i * k..(i + 1) * k];
                    list.iter().map(|j| usize::from(*j)).min_by_key(|j| places[*j])
                };
                occupied.for_each_empty(k, donor, copy);
            }
            (false, true) => {
                let bins = &self.tables().bins;
                let mut words = [0; MAX_TABLED / 64];
                words[..occupied.words.len()].copy_from_slice(&occupied.words);
                // Eight bins of the order at a time, without a branch for each.
                let first_of = |eight: &[u8]| {
                    let has = |j: &u8| (words[usize::from(j / 64)] >> (j % 64)) as u32 & 1;
                    let hits = eight.iter().rev().fold(0, |hits, j| hits << 1 | has(j));
                    (hits != 0).then(|| usize::from(eight[hits.trailing_zeros() as usize]))
                };
                let donor = |i: usize| bins[i * k..(i + 1) * k].chunks(8).find_map(first_of);
                occupied.for_each_empty(k, donor, copy);
            }
            (true, false) => {
                let list: Vec<usize> = occupied.bins().collect();
                let donor =
                    |i: usize| list.iter().copied().min_by_key(|j| self.orders[i].place(*j as u64));
                occupied.for_each_empty(k, donor, copy);
            }
            (false, false) => {
                let donor = |i: usize| {
                    let order = (0..k as u64).map(|place| self.orders[i].element(place) as usize);
                    order.into_iter().find(|j| occupied.has(*j))
                };
                occupied.for_each_empty(k, donor, copy);
            }
        }
    }

    fn tables(&self) -> &Tables {
        self.tables.get_or_init(|| {
            let k = self.orders.len();
            let (mut bins, mut places) = (vec![0; k * k], vec![0; k * k]);
            for (i, order) in self.orders.iter().enumerate() {
                for j in 0..k {
                    let place = order.place(j as u64) as usize;
                    places[i * k + j] = place as u8;
                    bins[i * k + place] = j as u8;
                }
            }
            Tables { bins, places }
        })
    }
}

/// A bitmap of the bins that hold a sample of their own.
pub(crate) struct Occupied {
    words: Vec<u64>,
    count: usize,
}

impl Occupied {
    /// Bins that hold anything but `u64::MAX`.
    pub(crate) fn of(bins: &[u64]) -> Occupied {
        let mut words = vec![0; bins.len().div_ceil(64)];
        Kernel::best().occupied(bins, &mut words);
        let count = words.iter().map(|w| w.count_ones() as usize).sum();
        Occupied { words, count }
    }

    pub(crate) fn count(&self) -> usize {
        self.count
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

/// The positions of the bits of a word that are set, ascending.
fn ones(word: u64) -> impl Iterator<Item = usize> {
    let next = |word: &u64| Some(word & (word - 1)).filter(|w| *w != 0);
    std::iter::successors(Some(word).filter(|w| *w != 0), next).map(|w| w.trailing_zeros() as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheme::{Parameters, presets};
    use crate::sketch::hash::mix;

    /// Whatever shortcut is taken, the donor is the occupied bin of least place.
    #[test]
    fn the_donor_is_the_occupied_bin_of_least_place() {
        for k in [1_usize, 2, 7, 64, 100, 128, 256, 300, 1000] {
            let parameters = Parameters { samples: k as u32, ..presets::NEAR_DUPLICATE };
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
