//! `OnePermutation`: one hash per element, k bins, and the least image in each. Empty bins copy others. The sampler
//! of bounded universes, and of databases that were created with it.
//!
//! In: the elements of a set that is not empty. Out: k samples. Normative: `format-spec/hashing.md`. A copied sample
//! is remixed with the number of the bin it fills. Otherwise chance agreements of b-bit samples would repeat, and the
//! variance of small sets would be up to 6.5 times too large.

use std::sync::{Arc, OnceLock};

use super::donors::{Donors, Occupied};
use super::hash::{Keys, Purpose, mix, settle, stir};
use super::members::Members;
use super::permutation::Permutation;
use super::shared_donors::SharedDonors;
use crate::kernel::{Kernel, Work};
use crate::scheme::{Scheme, Slots, Universe};

/// The sampler, with its keys and tables.
pub(crate) struct OnePermutation {
    order: Order,
    copy_keys: Vec<u64>,
    donors: Donors,
    /// Computed on first use.
    shared: OnceLock<Option<Arc<SharedDonors>>>,
    slots: Slots,
}

enum Order {
    /// A permutation of all 64-bit words.
    Open { element_key: u64 },
    /// A permutation of `{0..size-1}`.
    Bounded { size: u64, permutation: Permutation },
}

impl OnePermutation {
    pub(crate) fn new(scheme: &Scheme) -> OnePermutation {
        let order = match scheme.universe {
            Universe::Open => {
                Order::Open { element_key: Keys::new(scheme.seed, Purpose::Elements).key(0) }
            }
            Universe::Bounded(size) => {
                let key = Keys::new(scheme.seed, Purpose::Permutations).key(0);
                Order::Bounded { size, permutation: Permutation::new(size, key) }
            }
        };
        let keys = Keys::new(scheme.seed, Purpose::Copies);
        let copy_keys = (0..u64::from(scheme.samples)).map(|i| keys.key(i)).collect();
        let (donors, slots) = (Donors::new(scheme), scheme.slots);
        OnePermutation { order, copy_keys, donors, shared: OnceLock::new(), slots }
    }

    /// How often samples of a slot come from the same bin.
    pub(crate) fn shared_donors(&self) -> Option<Arc<SharedDonors>> {
        let count = || SharedDonors::new(&self.donors, self.slots).map(Arc::new);
        self.shared.get_or_init(count).clone()
    }

    /// Adds elements to bins that start at `u64::MAX` (SAMPLE-4, SAMPLE-5).
    pub(crate) fn absorb(&self, elements: &[u64], bins: &mut [u64]) {
        match &self.order {
            Order::Open { element_key } => absorb_open(*element_key, elements, bins),
            Order::Bounded { size, permutation } => {
                if Members::worthwhile(elements.len(), *size, bins.len()) {
                    let members = Members::new(elements, *size);
                    return absorb_dense(&members, permutation, *size, bins);
                }
                let k = bins.len() as u128;
                for &x in elements {
                    let place = permutation.place(x);
                    let bin = (u128::from(place) * k / u128::from(*size)) as usize;
                    bins[bin] = bins[bin].min(place);
                }
            }
        }
    }

    /// Fills the empty bins and turns places into samples (SAMPLE-4 to SAMPLE-7). The set must not be empty.
    pub(crate) fn finish(&self, bins: &mut [u64]) {
        let mut occupied = Occupied::of(bins);
        if occupied.count() == 0 {
            // Every element hashed to 2^64 - 1, which reads as "empty". It belongs to the last bin.
            occupied.insert(bins.len() - 1);
        }
        let k = bins.len() as u64;
        match self.order {
            Order::Open { .. } => {
                // Occupied bins and copies are settled here: mix is stir, then settle.
                self.donors.for_each_empty(&occupied, |i, donor| {
                    bins[i] = stir(bins[donor] ^ self.copy_keys[i]);
                });
                bins.iter_mut().for_each(|bin| *bin = settle(*bin));
            }
            Order::Bounded { size, .. } => {
                self.donors.for_each_empty(&occupied, |i, donor| {
                    bins[i] = mix(bins[donor] ^ self.copy_keys[i]);
                });
                occupied.bins().for_each(|i| bins[i] -= bin_start(i as u64, size, k));
            }
        }
    }
}

/// The first place of bin i: `ceil(i size / k)`.
fn bin_start(i: u64, size: u64, k: u64) -> u64 {
    (u128::from(i) * u128::from(size)).div_ceil(u128::from(k)) as u64
}

/// Bin `floor(h k / 2^64)`. If k is a power of two known to the compiler, that is one shift without a bounds check,
/// which makes the loop more than twice as fast.
pub(super) fn absorb_open(key: u64, elements: &[u64], bins: &mut [u64]) {
    macro_rules! for_power_of_two {
        ($($k:literal)+) => {
            match bins.len() {
                $($k => if let Ok(bins) = <&mut [u64; $k]>::try_from(&mut *bins) {
                    return absorb_shift(key, elements, bins);
                },)+
                _ => {}
            }
        };
    }
    for_power_of_two!(32 64 128 256 512 1024 2048 4096);
    let k = bins.len() as u128;
    for &x in elements {
        let h = stir(x ^ key);
        let bin = &mut bins[((u128::from(h) * k) >> 64) as usize];
        *bin = (*bin).min(h);
    }
}

fn absorb_shift<const K: usize>(key: u64, elements: &[u64], bins: &mut [u64; K]) {
    match Kernel::best() {
        kernel if kernel.is_wide() => kernel.run(ByRound { key, elements, bins }),
        _ => absorb_by_four(key, elements, bins),
    }
}

/// Takes an image into its bin: `floor(h K / 2^64)`.
#[inline(always)]
pub(super) fn take<const K: usize>(h: u64, bins: &mut [u64; K]) {
    let bin = &mut bins[(h >> (64 - K.trailing_zeros())) as usize];
    *bin = (*bin).min(h);
}

/// Computes four hashes, then four minima: 20 % faster than one by one. Not inlined, since the constants and pointers
/// of the loop would not all stay in registers inside a larger function.
#[inline(never)]
fn absorb_by_four<const K: usize>(key: u64, elements: &[u64], bins: &mut [u64; K]) {
    let (fours, left) = elements.as_chunks::<4>();
    for four in fours {
        four.map(|x| stir(x ^ key)).into_iter().for_each(|h| take(h, bins));
    }
    left.iter().for_each(|x| take(stir(x ^ key), bins));
}

/// Computes a round of hashes, then as many minima. This takes half of the time if a vector holds four words or more,
/// and more time otherwise.
struct ByRound<'a, const K: usize> {
    key: u64,
    elements: &'a [u64],
    bins: &'a mut [u64; K],
}

impl<const K: usize> Work for ByRound<'_, K> {
    type Done = ();

    #[inline(always)]
    fn run(self) {
        let (rounds, left) = self.elements.as_chunks::<32>();
        for round in rounds {
            round.map(|x| stir(x ^ self.key)).iter().for_each(|h| take(*h, self.bins));
        }
        left.iter().for_each(|x| take(stir(x ^ self.key), self.bins));
    }
}

/// The least place of each bin, from a bitmap of the set.
fn absorb_dense(members: &Members, permutation: &Permutation, size: u64, bins: &mut [u64]) {
    let k = bins.len() as u64;
    for (i, bin) in bins.iter_mut().enumerate() {
        let (from, to) = (bin_start(i as u64, size, k), bin_start(i as u64 + 1, size, k));
        if let Some(place) = members.first_place(permutation, from, to.min(*bin)) {
            *bin = place;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both ways against SAMPLE-4, one element at a time, with rounds that are not full.
    #[test]
    fn every_way_absorbs_the_same() {
        let elements: Vec<u64> = (0..1000_u64).map(|i| mix(i % 700)).collect();
        for count in (0..70).chain([96, 127, 128, 129, 1000]) {
            let elements = &elements[..count];
            let mut expected = [u64::MAX; 64];
            for h in elements.iter().map(|x| stir(x ^ 9)) {
                let bin = ((u128::from(h) * 64) >> 64) as usize;
                expected[bin] = expected[bin].min(h);
            }
            let mut bins = [u64::MAX; 64];
            absorb_by_four(9, elements, &mut bins);
            assert_eq!(bins, expected, "by four, {count}");
            for kernel in Kernel::available() {
                let mut bins = [u64::MAX; 64];
                kernel.run(ByRound { key: 9, elements, bins: &mut bins });
                assert_eq!(bins, expected, "{}, {count}", kernel.name());
            }
        }
    }
}
