//! `EveryBin`: every element visits every bin once, in its own order, and each bin keeps the element that comes first. Accurate
//! for sets of any size; large sets take one pass. After Ertl's *SuperMinHash* (2017).
//!
//! In: the elements of a set that is not empty. Out: k samples. Normative: `format-spec/hashing.md`, SAMPLE-12 to SAMPLE-15.
//!
//! At time 0 an element visits the bin in which `OnePermutation` would put it. A bin that no element visits at time 0 takes the
//! earliest later visitor, where `OnePermutation` copies another bin. Each bin thus has its own fixed order of all
//! elements, and its winner is the first of the set: the samples are consistent between any two sets. The orders are those of
//! [`orders`], and elements that visit a bin at the same time are ordered by a hash of element and bin.
//!
//! There are two evaluations with the same result: [`lanes`] computes the times of all bins for each element, in vectors,
//! for small sets; [`by_time`] follows the elements from time to time until no bin is left empty, for all others and for streams.

mod by_time;
mod lanes;
mod orders;

use self::by_time::Later;
use self::lanes::Few;
use self::orders::Orders;
use super::hash::{Keys, Purpose, settle, stir};
use crate::kernel::{Kernel, Work};
use crate::scheme::Scheme;

/// The hash that no element has: a bin without an element holds it.
const NONE: u64 = u64::MAX;

/// The sampler with its keys and tables made ready.
pub(crate) struct EveryBin {
    element_key: u64,
    sample_keys: Vec<u64>,
    tie_keys: Vec<u64>,
    orders: Orders,
}

/// Working memory: it serves set after set. Made when it is needed, other samplers do without.
#[derive(Default)]
pub(crate) struct Visits {
    few: Option<Box<Few>>,
    later: Later,
}

impl EveryBin {
    pub(crate) fn new(scheme: &Scheme) -> EveryBin {
        let all = |purpose| {
            let keys = Keys::new(scheme.seed, purpose);
            (0..u64::from(scheme.samples)).map(move |i| keys.key(i)).collect()
        };
        EveryBin {
            element_key: Keys::new(scheme.seed, Purpose::Elements).key(0),
            sample_keys: all(Purpose::Samples),
            tie_keys: all(Purpose::Ties),
            orders: Orders::new(scheme),
        }
    }

    /// The samples of a whole set.
    pub(crate) fn sample(&self, elements: &[u64], samples: &mut [u64], visits: &mut Visits) {
        if lanes::worthwhile(elements.len(), self.orders.bins()) {
            self.sample_few(elements, samples, visits.few.get_or_insert_default());
        } else {
            self.sample_many(elements, samples, visits);
        }
    }

    fn sample_many(&self, elements: &[u64], samples: &mut [u64], visits: &mut Visits) {
        self.start(samples, visits);
        self.absorb(elements, samples, visits);
        self.finish(samples, visits);
    }

    /// No elements yet.
    pub(crate) fn start(&self, bins: &mut [u64], visits: &mut Visits) {
        bins.fill(NONE);
        visits.later.clear();
    }

    /// Takes elements in. Elements that were taken in are not needed again.
    pub(crate) fn absorb(&self, elements: &[u64], bins: &mut [u64], visits: &mut Visits) {
        self.absorb_by_time(elements, bins, &mut visits.later);
    }

    /// The samples of what was absorbed (SAMPLE-15). That was at least one element.
    pub(crate) fn finish(&self, bins: &mut [u64], visits: &mut Visits) {
        visits.later.fill(bins);
        Kernel::best().run(Settle { sampler: self, bins });
    }

    /// The hash of an element (SAMPLE-12).
    #[inline(always)]
    fn hash(&self, element: u64) -> u64 {
        stir(element ^ self.element_key).min(NONE - 1)
    }

    /// By what elements whose visits to a bin have the same rank are ordered (SAMPLE-14).
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

/// The sample of a bin whose winner has this folded hash (SAMPLE-15).
#[inline(always)]
fn sample(folded: u32, key: u64) -> u16 {
    let half = |value: u32, add: u64, times: u64| {
        let product = u32::from(value as u16 ^ add as u16) * u32::from(times as u16 | 1);
        (product ^ product >> 16) as u16
    };
    half(folded, key, key >> 32) ^ half(folded >> 16, key >> 16, key >> 48)
}

/// Turns the hashes of winners into samples.
struct Settle<'a> {
    sampler: &'a EveryBin,
    bins: &'a mut [u64],
}

impl Work for Settle<'_> {
    type Done = ();

    #[inline(always)]
    fn run(self) {
        for (bin, key) in self.bins.iter_mut().zip(&self.sampler.sample_keys) {
            *bin = u64::from(sample(folded(*bin), *key));
        }
    }
}

#[cfg(test)]
mod tests;
