//! Evaluation in lanes: the ranks of each element's visits to all bins, side by side in vectors. For small sets.
//!
//! In: up to [`MAX_FEW`] elements. Out: k samples. A first loop over the elements finds the least rank in each of a group of
//! bins, a second one whose it is. Neither has a branch that depends on the elements. Visits at time 0, which all have
//! rank 0, are looked at one by one, and so are the few bins in which several elements have the least rank.
//!
//! Loops are written out: closures that are not inlined would not be compiled for the instructions of the kernel.

use super::orders::GROUP;
use super::{EveryBin, NONE, folded, sample};
use crate::kernel::{Kernel, Work};

/// Most elements of a small set.
pub(super) const MAX_FEW: usize = 127;

/// The number that no element has.
const NOBODY: u8 = MAX_FEW as u8;

/// Whether this evaluation is faster than that by time.
pub(super) fn worthwhile(elements: usize, _bins: usize) -> bool {
    elements <= MAX_FEW
}

/// Working memory.
pub(super) struct Few {
    /// The hash of each element, and [`NONE`] for nobody.
    hashes: [u64; MAX_FEW + 1],
    folded: [u32; MAX_FEW + 1],
    /// Where the table of ranks has each element's visit to bin 0.
    places: [u32; MAX_FEW + 1],
    /// The winner of each bin among the elements that visit it at time 0.
    first: Vec<u8>,
}

impl Default for Few {
    fn default() -> Few {
        let (folded, places) = ([0; MAX_FEW + 1], [0; MAX_FEW + 1]);
        Few { hashes: [NONE; MAX_FEW + 1], folded, places, first: Vec::new() }
    }
}

impl EveryBin {
    /// The samples of a set of 1 to [`MAX_FEW`] elements.
    pub(super) fn sample_few(&self, elements: &[u64], samples: &mut [u64], few: &mut Few) {
        Kernel::best().run(Lanes { sampler: self, elements, samples, few });
    }
}

struct Lanes<'a> {
    sampler: &'a EveryBin,
    elements: &'a [u64],
    samples: &'a mut [u64],
    few: &'a mut Few,
}

impl Work for Lanes<'_> {
    type Done = ();

    #[inline(always)]
    fn run(self) {
        let Lanes { sampler, elements, samples, few } = self;
        few.take(sampler, elements);
        let set = Set { sampler, few, count: elements.len() };
        let mut start = 0;
        while start < samples.len() {
            let values = set.win(start);
            let end = samples.len().min(start + GROUP);
            let keys = &sampler.sample_keys[start..end];
            let samples = &mut samples[start..end];
            for l in 0..samples.len() {
                samples[l] = u64::from(sample(values[l], keys[l]));
            }
            start += GROUP;
        }
    }
}

impl Few {
    /// Takes the elements, and their visits at time 0.
    #[inline(always)]
    fn take(&mut self, sampler: &EveryBin, elements: &[u64]) {
        let padded = sampler.orders.bins().next_multiple_of(GROUP);
        self.first.clear();
        self.first.resize(padded, NOBODY);
        for (i, x) in elements.iter().enumerate().take(MAX_FEW) {
            let hash = sampler.hash(*x);
            let folded = folded(hash);
            let start = sampler.orders.start(hash, folded);
            self.hashes[i] = hash;
            self.folded[i] = folded;
            self.places[i] = sampler.orders.place(start) as u32;
            let first = &mut self.first[usize::from(start.bin)];
            let held = self.hashes[usize::from(*first) % (MAX_FEW + 1)];
            *first = if hash < held { i as u8 } else { *first };
        }
    }
}

/// A small set.
struct Set<'a> {
    sampler: &'a EveryBin,
    few: &'a Few,
    count: usize,
}

impl Set<'_> {
    /// The folded hashes of the winners of the group of bins that starts at `start`.
    #[inline(always)]
    fn win(&self, start: usize) -> [u32; GROUP] {
        let (ranks, places) = (self.sampler.orders.ranks(), &self.few.places[..self.count]);
        let mut best = [u16::MAX; GROUP];
        for place in places {
            let row = lanes(ranks, *place as usize + start);
            for l in 0..GROUP {
                best[l] = best[l].min(row[l]);
            }
        }
        let (mut winners, mut visitors) = ([0; GROUP], [0_u16; GROUP]);
        for (i, place) in places.iter().enumerate() {
            let row = lanes(ranks, *place as usize + start);
            for l in 0..GROUP {
                let hit = if row[l] == best[l] { u16::MAX } else { 0 };
                winners[l] = i as u16 & hit | winners[l] & !hit;
                visitors[l] = visitors[l].wrapping_sub(hit);
            }
        }
        let first = lanes(&self.few.first, start);
        let mut several = 0;
        for l in 0..GROUP {
            let time_0 = first[l] != NOBODY;
            winners[l] = if time_0 { u16::from(first[l]) } else { winners[l] };
            visitors[l] = if time_0 { 1 } else { visitors[l] };
            several |= visitors[l] & !1;
        }
        if several != 0 {
            self.settle(start, &best, &visitors, &mut winners);
        }
        let mut values = [0; GROUP];
        for l in 0..GROUP {
            values[l] = self.few.folded[usize::from(winners[l]) % (MAX_FEW + 1)];
        }
        values
    }

    /// Finds the winners of bins in which several elements have the least rank.
    #[cold]
    #[inline(never)]
    fn settle(
        &self,
        start: usize,
        best: &[u16; GROUP],
        visitors: &[u16; GROUP],
        winners: &mut [u16; GROUP],
    ) {
        let (ranks, bins) = (self.sampler.orders.ranks(), self.sampler.orders.bins());
        for l in (0..GROUP.min(bins - start)).filter(|l| visitors[*l] > 1) {
            let bin = start + l;
            let has_best = |i: &usize| ranks[self.few.places[*i] as usize + bin] == best[l];
            let tie = |i: &usize| self.sampler.tie(self.few.hashes[*i], bin, best[l]);
            let winner = (0..self.count).filter(has_best).min_by_key(tie);
            winners[l] = winner.unwrap_or(0) as u16;
        }
    }
}

/// A group of lanes.
#[inline(always)]
fn lanes<T>(all: &[T], start: usize) -> &[T; GROUP] {
    all[start..].first_chunk().unwrap_or_else(|| unreachable!("tables are padded to whole groups"))
}
