//! Evaluation in lanes, for small sets: the ranks of each element's visits to all bins are compared in vectors.
//!
//! In: up to [`MAX_FEW`] elements. Out: the folded hashes of the winners of a group of bins. The kernel finds the
//! least rank in each bin, and the element that has it. Visits at time 0 all have rank 0 and are compared one by one.
//! So are the few other bins in which several elements have the least rank.

use super::orders::GROUP;
use super::{EveryBin, NONE, folded};
use crate::kernel::{Kernel, Least};

/// Most elements of a small set.
pub(super) const MAX_FEW: usize = 127;

/// Up to this many elements rarely visit the same bin at time 0. Whether they do is found by comparing all pairs.
const TINY: usize = 8;

/// Whether this evaluation is faster than the one by time.
pub(super) fn worthwhile(elements: usize, _bins: usize) -> bool {
    elements <= MAX_FEW
}

/// A small set. Working memory, reused from set to set. The arrays have an entry for every byte value, which avoids
/// bounds checks.
pub(super) struct Few {
    count: usize,
    /// The hash of each element.
    hashes: [u64; 256],
    folded: [u32; 256],
    /// Where the visit of each element to bin 0 is in the table of ranks.
    places: [u32; 256],
    /// The first bin of each element.
    bins: [u16; 256],
    /// Whether two elements may visit the same bin at time 0. If not, rank 0 identifies the winner, like any other
    /// rank.
    meet: bool,
    /// The least hash of the visitors of each bin at time 0, or [`NONE`]. Padded to whole groups.
    first: Vec<u64>,
    least: Least,
}

impl Default for Few {
    fn default() -> Few {
        let (folded, places) = ([0; 256], [0; 256]);
        let (first, least) = (Vec::new(), Least::default());
        Few {
            count: 0,
            hashes: [0; 256],
            folded,
            places,
            bins: [0; 256],
            meet: false,
            first,
            least,
        }
    }
}

impl Few {
    /// Takes 1 to [`MAX_FEW`] elements and makes their visits at time 0.
    #[inline(always)]
    pub(super) fn take(&mut self, sampler: &EveryBin, elements: &[u64]) {
        self.count = elements.len().min(MAX_FEW);
        for (hash, x) in self.hashes.iter_mut().zip(&elements[..self.count]) {
            *hash = sampler.hash(*x);
        }
        for i in 0..self.count {
            let hash = self.hashes[i];
            let folded = folded(hash);
            let start = sampler.orders.start(hash, folded);
            self.folded[i] = folded;
            self.places[i] = sampler.orders.place(start) as u32;
            self.bins[i] = start.bin;
        }
        self.meet = self.count > TINY || any_equal(&self.bins[..self.count]);
        if self.meet {
            self.visit_first(sampler);
        }
    }

    /// All visits at time 0.
    #[inline(always)]
    fn visit_first(&mut self, sampler: &EveryBin) {
        self.first.clear();
        self.first.resize(sampler.orders.bins().next_multiple_of(GROUP), NONE);
        for i in 0..self.count {
            let first = &mut self.first[usize::from(self.bins[i])];
            *first = (*first).min(self.hashes[i]);
        }
    }

    /// The folded hashes of the winners of the group of bins that starts at `start`.
    #[inline(always)]
    pub(super) fn win(&mut self, sampler: &EveryBin, start: usize, values: &mut [u32; GROUP]) {
        let places = &self.places[..self.count];
        let kernel = Kernel::best();
        kernel.least(sampler.orders.ranks(), places, start, &mut self.least);
        let bins = sampler.orders.bins() - start;
        let several = self.least.several & (u64::MAX >> (GROUP - bins.min(GROUP)));
        if several != 0 {
            self.settle(sampler, start, several);
        }
        kernel.pick(&self.folded, self.count, &self.least.rows, values);
        if !self.meet {
            return;
        }
        let Some(first) = self.first[start..].first_chunk::<GROUP>() else { return };
        for l in 0..GROUP {
            let later = 0_u32.wrapping_sub(u32::from(first[l] == NONE));
            values[l] = values[l] & later | folded(first[l]) & !later;
        }
    }

    /// Finds the winners of bins in which several elements have the least rank (SAMPLE-14).
    #[cold]
    #[inline(never)]
    fn settle(&mut self, sampler: &EveryBin, start: usize, mut several: u64) {
        let ranks = sampler.orders.ranks();
        while several != 0 {
            let l = several.trailing_zeros() as usize;
            several &= several - 1;
            let (bin, rank) = (start + l, self.least.words[l]);
            let has_rank = |i: &usize| ranks[self.places[*i] as usize + bin] == rank;
            let tie = |i: &usize| sampler.tie(self.hashes[*i], bin, rank);
            let winner = (0..self.count).filter(has_rank).min_by_key(tie);
            self.least.rows[l] = winner.unwrap_or(0) as u8;
        }
    }
}

/// Whether two numbers are equal.
#[inline(always)]
fn any_equal(numbers: &[u16]) -> bool {
    let mut any = false;
    for (i, a) in numbers.iter().enumerate() {
        for b in &numbers[..i] {
            any |= a == b;
        }
    }
    any
}
