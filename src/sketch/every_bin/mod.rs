//! `EveryBin`: every element visits every bin once, in its own order, and each bin keeps the first visitor. Accurate
//! for sets of any size; large sets take one pass. After Ertl's *SuperMinHash* (2017).
//!
//! In: the elements of a set that is not empty. Out: k samples. Normative: `format-spec/hashing.md`, SAMPLE-12 to
//! SAMPLE-15.
//!
//! At time 0 an element visits the bin into which `OnePermutation` would put it. A bin without a visitor at time 0
//! takes the earliest later visitor, where `OnePermutation` would copy another bin. So each bin has a fixed order of
//! all elements, and its winner is the first one of the set. This makes samples consistent between any two sets.
//! [`orders`] has the orders. Elements that visit a bin at the same time are ordered by a hash of element and bin.
//!
//! There are two evaluations with the same result. [`lanes`] is for small sets: it computes the times of all bins for
//! each element, in vectors. [`by_time`] is for other sets and for streams: it follows the elements through time
//! until no bin is empty.

mod by_time;
mod early;
mod lanes;
mod orders;

use self::by_time::Later;
use self::lanes::Few;
use self::orders::{GROUP, Orders};
use super::hash::{Keys, Purpose, settle, stir};
use super::hash_bitmap::HashBitmap;
use crate::kernel::{Kernel, Work};
use crate::scheme::Scheme;

/// Marks a bin without an element. No element has this hash.
const NONE: u64 = u64::MAX;

/// The sampler, with its keys and tables.
pub(crate) struct EveryBin {
    element_key: u64,
    tie_keys: Vec<u64>,
    sample_keys: Vec<SampleKeys>,
    orders: Orders,
}

/// The 16-bit parts of the keys of a group of samples, lowest part first. Multipliers are made odd (SAMPLE-15).
type SampleKeys = [[u16; GROUP]; 4];

/// Working memory, reused from set to set. Other samplers leave it empty.
#[derive(Default)]
pub(crate) struct Visits {
    /// The least hash of the elements that visit each bin at time 0, or [`NONE`].
    bins: Vec<u64>,
    later: Later,
    few: Option<Box<Few>>,
    /// Hashes that may be the least of their bin ([`early`]).
    early: Vec<u64>,
    samples: Vec<u16>,
}

impl Visits {
    /// The samples of the last set.
    pub(crate) fn samples(&self) -> &[u16] {
        &self.samples
    }
}

impl EveryBin {
    pub(crate) fn new(scheme: &Scheme) -> EveryBin {
        let samples = scheme.samples as usize;
        let ties = Keys::new(scheme.seed, Purpose::Ties);
        let keys = Keys::new(scheme.seed, Purpose::Samples);
        let group = |start: usize| {
            let part = |part: u32, l: usize| (keys.key((start + l) as u64) >> (16 * part)) as u16;
            [
                std::array::from_fn(|l| part(0, l)),
                std::array::from_fn(|l| part(1, l)),
                std::array::from_fn(|l| part(2, l) | 1),
                std::array::from_fn(|l| part(3, l) | 1),
            ]
        };
        EveryBin {
            element_key: Keys::new(scheme.seed, Purpose::Elements).key(0),
            tie_keys: (0..samples as u64).map(|i| ties.key(i)).collect(),
            sample_keys: (0..samples).step_by(GROUP).map(group).collect(),
            orders: Orders::new(scheme),
        }
    }

    /// Makes the samples of a whole set of at least one element. `bitmap` is that of its hashes, by the same key, if
    /// there is one.
    pub(crate) fn sample(
        &self,
        elements: &[u64],
        bitmap: Option<&HashBitmap>,
        visits: &mut Visits,
    ) {
        if lanes::worthwhile(elements.len(), self.orders.bins()) {
            self.sample_few(elements, visits);
        } else {
            self.sample_many(elements, bitmap, visits);
        }
    }

    fn sample_few(&self, elements: &[u64], visits: &mut Visits) {
        visits.samples.resize(self.orders.bins(), 0);
        let few = visits.few.get_or_insert_default();
        Kernel::best().run(FewSamples {
            sampler: self,
            elements,
            few,
            samples: &mut visits.samples,
        });
    }

    fn sample_many(&self, elements: &[u64], bitmap: Option<&HashBitmap>, visits: &mut Visits) {
        self.start(visits);
        let Visits { bins, early, .. } = visits;
        if !bitmap.is_some_and(|bitmap| self.absorb_early(elements, bitmap, bins, early)) {
            self.absorb(elements, visits);
        }
        self.finish(visits);
    }

    /// Starts a set without elements.
    pub(crate) fn start(&self, visits: &mut Visits) {
        visits.bins.clear();
        visits.bins.resize(self.orders.bins(), NONE);
        visits.later.clear();
    }

    /// Adds elements. They are not needed again.
    pub(crate) fn absorb(&self, elements: &[u64], visits: &mut Visits) {
        self.absorb_by_time(elements, &mut visits.bins, &mut visits.later);
    }

    /// Makes the samples of the elements that were added, at least one.
    pub(crate) fn finish(&self, visits: &mut Visits) {
        visits.samples.resize(self.orders.bins(), 0);
        let (bins, later) = (&mut visits.bins, visits.later.winners());
        let samples = &mut visits.samples;
        Kernel::best().run(ManySamples { sampler: self, bins, later, samples });
    }

    /// The hash of an element (SAMPLE-12).
    #[inline(always)]
    fn hash(&self, element: u64) -> u64 {
        stir(element ^ self.element_key).min(NONE - 1)
    }

    /// Orders elements whose visits to a bin have the same rank (SAMPLE-14).
    #[inline(always)]
    fn tie(&self, hash: u64, bin: usize, rank: u16) -> u64 {
        if rank == 0 { hash } else { stir(hash ^ self.tie_keys[bin]) }
    }
}

/// Half of an element's hash (SAMPLE-12).
#[inline(always)]
fn folded(hash: u64) -> u32 {
    settle(hash) as u32
}

/// Makes the samples of a small set.
struct FewSamples<'a> {
    sampler: &'a EveryBin,
    elements: &'a [u64],
    few: &'a mut Few,
    samples: &'a mut [u16],
}

impl Work for FewSamples<'_> {
    type Done = ();

    #[inline(always)]
    fn run(self) {
        let FewSamples { sampler, elements, few, samples } = self;
        few.take(sampler, elements);
        let mut values = [0; GROUP];
        for (group, samples) in samples.chunks_mut(GROUP).enumerate() {
            few.win(sampler, group * GROUP, &mut values);
            make_samples(&values, &sampler.sample_keys[group], samples);
        }
    }
}

/// Makes samples from the hashes of the winners.
struct ManySamples<'a> {
    sampler: &'a EveryBin,
    bins: &'a mut [u64],
    /// The winners of bins without a visitor at time 0, or nothing.
    later: &'a [u64],
    samples: &'a mut [u16],
}

impl Work for ManySamples<'_> {
    type Done = ();

    #[inline(always)]
    fn run(self) {
        for (bin, later) in self.bins.iter_mut().zip(self.later) {
            let mask = 0_u64.wrapping_sub(u64::from(*bin == NONE));
            // `NONE` has all bits set.
            *bin &= !mask | later;
        }
        let mut values = [0; GROUP];
        let groups = self.bins.chunks(GROUP).zip(self.samples.chunks_mut(GROUP));
        for ((bins, samples), keys) in groups.zip(&self.sampler.sample_keys) {
            for l in 0..bins.len() {
                values[l] = folded(bins[l]);
            }
            make_samples(&values, keys, samples);
        }
    }
}

/// Makes the samples of a group of bins from the folded hashes of the winners (SAMPLE-15). The last group may be
/// incomplete.
#[inline(always)]
fn make_samples(values: &[u32; GROUP], keys: &SampleKeys, samples: &mut [u16]) {
    let mut made = [0; GROUP];
    for l in 0..GROUP {
        let low = fold(values[l] as u16 ^ keys[0][l], keys[2][l]);
        let high = fold((values[l] >> 16) as u16 ^ keys[1][l], keys[3][l]);
        made[l] = low ^ high;
    }
    samples.copy_from_slice(&made[..samples.len()]);
}

/// The XOR of both halves of a product.
#[inline(always)]
fn fold(a: u16, b: u16) -> u16 {
    a.wrapping_mul(b) ^ ((u32::from(a) * u32::from(b)) >> 16) as u16
}

#[cfg(test)]
mod tests;
