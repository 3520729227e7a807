//! Evaluation by time: at time 0, 1, ... every element goes to the bin that it visits then, until no bin can get an earlier
//! visitor than it has.
//!
//! In: elements, in as many parts as they come. Out: the hash of the winner of each bin (SAMPLE-14). Time 0 is the loop of
//! `OnePermutation`. From about k ln k elements on, it fills all bins and nothing else is to be done. Fewer elements make about
//! k ln k visits in all.

use super::orders::{MAX_ROWS, Start};
use super::{EveryBin, NONE, folded};
use crate::sketch::one_permutation::absorb_open;

/// Elements that are followed through time together, so that what is known of them stays in the cache.
const CHUNK: usize = 4096;

/// The rank of the first visit of a bin that has none yet.
const NEVER: u16 = u16::MAX;

/// The bins that no element visits at time 0. Empty until such a bin was found.
#[derive(Default)]
pub(super) struct Later {
    /// The least rank of a visit to each bin. 0 means that its winner is kept elsewhere.
    ranks: Vec<u16>,
    /// The hash of that visitor.
    winners: Vec<u64>,
    chunk: Chunk,
}

/// Elements on their way through time.
#[derive(Default)]
struct Chunk {
    hashes: Vec<u64>,
    starts: Vec<Start>,
    /// Visits that may win: the bin, and the number of the element.
    found: Vec<(u16, u16)>,
}

impl Later {
    /// No visits yet.
    pub(super) fn clear(&mut self) {
        self.ranks.clear();
        self.winners.clear();
    }

    /// Fills the bins that no element visits at time 0.
    pub(super) fn fill(&self, bins: &mut [u64]) {
        for (bin, winner) in bins.iter_mut().zip(&self.winners) {
            *bin = if *bin == NONE { *winner } else { *bin };
        }
    }

    /// Notes which bins were visited at time 0, and says whether there are others.
    fn note(&mut self, bins: &[u64]) -> bool {
        self.ranks.resize(bins.len(), NEVER);
        self.winners.resize(bins.len(), NONE);
        for (rank, bin) in self.ranks.iter_mut().zip(bins) {
            *rank = if *bin == NONE { *rank } else { 0 };
        }
        self.most() > 0
    }

    /// The greatest of the ranks. Without a branch, so that it takes many at a time.
    fn most(&self) -> u16 {
        self.ranks.iter().fold(0, |most, rank| most.max(*rank))
    }
}

impl EveryBin {
    /// Takes elements in. `bins` hold the least hash of the elements that visit them at time 0.
    pub(super) fn absorb_by_time(&self, elements: &[u64], bins: &mut [u64], later: &mut Later) {
        absorb_open(self.element_key, elements, bins);
        if !bins.contains(&NONE) {
            return;
        }
        for elements in elements.chunks(CHUNK) {
            later.chunk.fill(self, elements);
            // One element has a hash that reads as none: SAMPLE-12 gives it the one below, which is the last bin's.
            if let Some(last) = bins.last_mut().filter(|last| **last == NONE)
                && later.chunk.hashes.contains(&(NONE - 1))
            {
                *last = NONE - 1;
            }
            if later.note(bins) {
                self.follow(later);
            }
        }
    }

    /// Follows the elements of a chunk from time 1 on.
    fn follow(&self, later: &mut Later) {
        for time in 1..self.orders.bins() {
            if later.most() < self.orders.least_rank(time) {
                return;
            }
            self.visit(time, later);
        }
    }

    /// All visits at one time.
    fn visit(&self, time: usize, later: &mut Later) {
        let Later { ranks, winners, chunk } = later;
        let least = self.orders.least_rank(time);
        let count = chunk.find(self.orders.steps_at(time), least, ranks);
        for (bin, element) in &chunk.found[..count] {
            let (bin, element) = (usize::from(*bin), usize::from(*element));
            let hash = chunk.hashes[element];
            let rank = self.orders.ranks()[self.orders.place(chunk.starts[element]) + bin];
            let tie = |hash| self.tie(hash, bin, rank);
            let wins = rank < ranks[bin]
                || winners[bin] == NONE
                || rank == ranks[bin] && tie(hash) < tie(winners[bin]);
            if wins {
                ranks[bin] = rank;
                winners[bin] = hash;
            }
        }
    }
}

impl Chunk {
    /// Takes up to [`CHUNK`] elements.
    fn fill(&mut self, sampler: &EveryBin, elements: &[u64]) {
        self.hashes.clear();
        self.hashes.extend(elements.iter().map(|x| sampler.hash(*x)));
        self.starts.clear();
        let start = |h: &u64| sampler.orders.start(*h, folded(*h));
        self.starts.extend(self.hashes.iter().map(start));
        self.found.resize(elements.len(), (0, 0));
    }

    /// Finds the visits at one time, whose ranks are at least `least`, that are not later than the first visit of their bin
    /// so far, and says how many there are. No branch depends on the elements.
    #[inline(never)]
    fn find(&mut self, steps_at: &[u16], least: u16, ranks: &[u16]) -> usize {
        let mut steps = [0; MAX_ROWS];
        steps[..steps_at.len()].copy_from_slice(steps_at);
        let (bins, mut count) = (ranks.len() as u16, 0);
        for (element, start) in self.starts.iter().enumerate() {
            let bin = start.bin + steps[usize::from(start.row)];
            let bin = if bin >= bins { bin - bins } else { bin };
            self.found[count] = (bin, element as u16);
            count += usize::from(ranks[usize::from(bin)] >= least);
        }
        count
    }
}
