//! Which bin an empty bin copies: densification of one-permutation signatures.
//!
//! In: which bins are occupied. Out: for each empty bin i the occupied bin j with the least place
//! under permutation i of the bins (SAMPLE-6), in other words sample i of the set of occupied bins.
//! All of this is the same for all sets, so two sets that agree on what is occupied copy alike.
//!
//! With m of k bins occupied the donor stands at about place k/m: the first few of each order are
//! kept ready. When they do not hold it, either the order is walked on, or the m occupied bins are
//! compared, whichever is less work. For small k all places are kept, since sets of a few elements
//! are common and would otherwise be the slowest of all.

use std::sync::OnceLock;

use super::hash::{Keys, Purpose};
use super::permutation::Permutation;
use crate::scheme::Scheme;

/// How many places of each order are kept ready.
const READY: usize = 8;

/// Up to this many bins the place of every bin in every order is kept, one byte each.
const MAX_RANKED: usize = 256;

/// The orders of donors of all bins.
pub(crate) struct Donors {
    orders: Vec<Permutation>,
    /// The first [`READY`] bins of each order, order by order.
    first: Vec<u16>,
    /// The place of bin j in order i at `i * k + j`, made when first needed.
    ranks: OnceLock<Vec<u8>>,
}

impl Donors {
    pub(crate) fn new(scheme: &Scheme) -> Donors {
        let k = u64::from(scheme.samples);
        let keys = Keys::new(scheme.seed, Purpose::Donors);
        let orders: Vec<_> = (0..k).map(|i| Permutation::new(k, keys.key(i))).collect();
        let ready = READY.min(orders.len()) as u64;
        let first = orders.iter().flat_map(|o| (0..ready).map(|place| o.element(place) as u16));
        let first = first.collect();
        Donors { orders, first, ranks: OnceLock::new() }
    }

    /// Calls `copy(empty bin, donor)` for every empty bin. At least one bin is occupied.
    pub(crate) fn for_each_empty(&self, occupied: &Occupied, mut copy: impl FnMut(usize, usize)) {
        let k = self.orders.len();
        let mut list = Vec::new();
        let ready = self.first.len() / k;
        let few = occupied.count * occupied.count <= 2 * k;
        if few {
            list.extend(occupied.bins(k));
        }
        for i in occupied.empty_bins(k) {
            let donor = if few {
                self.least(i, &list)
            } else {
                let first = &self.first[i * ready..(i + 1) * ready];
                match first.iter().find(|j| occupied.has(usize::from(**j))) {
                    Some(j) => usize::from(*j),
                    None => self.walk(i, ready, occupied),
                }
            };
            copy(i, donor);
        }
    }

    /// The bin of `list`, which is not empty, with the least place in order i.
    fn least(&self, i: usize, list: &[u16]) -> usize {
        let k = self.orders.len();
        if let [only] = list {
            return usize::from(*only);
        }
        let least = if k <= MAX_RANKED {
            let ranks = &self.ranks()[i * k..(i + 1) * k];
            list.iter().min_by_key(|j| ranks[usize::from(**j)])
        } else {
            list.iter().min_by_key(|j| self.orders[i].place(u64::from(**j)))
        };
        least.map_or(i, |j| usize::from(*j))
    }

    /// The first occupied bin of order i from a place on.
    fn walk(&self, i: usize, from: usize, occupied: &Occupied) -> usize {
        let places = from as u64..self.orders.len() as u64;
        let mut bins = places.map(|place| self.orders[i].element(place) as usize);
        bins.find(|j| occupied.has(*j)).unwrap_or(i)
    }

    fn ranks(&self) -> &[u8] {
        self.ranks.get_or_init(|| {
            let k = self.orders.len() as u64;
            let all = self.orders.iter().flat_map(|o| (0..k).map(|j| o.place(j) as u8));
            all.collect()
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
        let words: Vec<u64> = bins
            .chunks(64)
            .map(|group| {
                group.iter().rev().fold(0, |word, bin| word << 1 | u64::from(*bin != u64::MAX))
            })
            .collect();
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
    pub(crate) fn has(&self, bin: usize) -> bool {
        self.words[bin / 64] >> (bin % 64) & 1 == 1
    }

    fn bins(&self, k: usize) -> impl Iterator<Item = u16> + '_ {
        (0..k).filter(|bin| self.has(*bin)).map(|bin| bin as u16)
    }

    fn empty_bins(&self, k: usize) -> impl Iterator<Item = usize> + '_ {
        (0..k).filter(|bin| !self.has(*bin))
    }
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
