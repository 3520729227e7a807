//! Evaluation by time: at time 0, 1, ... every element goes to the bin that it visits then, until no bin can get an
//! earlier visitor than it has.
//!
//! In: elements, in any number of parts. Out: the hash of the winner of each bin (SAMPLE-14). Time 0 is the loop of
//! `OnePermutation`. From about k ln k elements on, it fills all bins and nothing else is needed. Smaller sets make
//! about k ln k visits in all.

use super::orders::{MAX_ROWS, Orders};
use super::{EveryBin, NONE, folded};
use crate::kernel::{Kernel, Moment, VISITS, Visitors, Work};
use crate::sketch::one_permutation::absorb_open;

/// Elements that are followed through time together. Their state fits into the cache.
const CHUNK: usize = 4096;

/// Up to this many bins, bin numbers are bytes.
const MAX_IN_BYTES: usize = 256;

/// From this many elements per bin on, all bins are likely to be visited at time 0.
const FEW_A_BIN: usize = 4;

/// The rank of a bin without a visit.
const NEVER: u16 = u16::MAX;

/// The bins without a visitor at time 0. Empty until there is such a bin.
#[derive(Default)]
pub(super) struct Later {
    /// The least rank of a visit to each bin. 0 means that the winner came at time 0 and is kept elsewhere.
    ranks: Vec<u16>,
    /// The hash of the visitor with that rank.
    winners: Vec<u64>,
    chunk: Chunk,
}

/// Elements on their way through time.
#[derive(Default)]
struct Chunk {
    hashes: Vec<u64>,
    /// The first bin of each element.
    bins: Vec<u16>,
    /// The order of each element, padded to whole masks.
    rows: Vec<u8>,
    /// The first bins as bytes, padded to whole masks. Empty if there are more than 256 bins.
    short_bins: Vec<u8>,
    masks: Vec<u32>,
    /// Visits that may win: bin and number of the element.
    found: Vec<(u16, u16)>,
}

impl Later {
    /// Removes all visits.
    pub(super) fn clear(&mut self) {
        self.ranks.clear();
        self.winners.clear();
    }

    /// The winner of each bin without a visitor at time 0. Empty if there is no such bin.
    pub(super) fn winners(&self) -> &[u64] {
        &self.winners
    }

    /// Records which bins were visited at time 0.
    fn note(&mut self, bins: &[u64]) {
        self.ranks.resize(bins.len(), NEVER);
        self.winners.resize(bins.len(), NONE);
        Kernel::best().run(Note { bins, ranks: &mut self.ranks });
    }
}

impl EveryBin {
    /// Adds elements. `bins` hold the least hash of the visitors at time 0.
    pub(super) fn absorb_by_time(&self, elements: &[u64], bins: &mut [u64], later: &mut Later) {
        // So few elements hardly ever visit every bin at time 0, so their hashes will be needed again.
        let few = elements.len() < FEW_A_BIN * bins.len();
        if !few {
            absorb_open(self.element_key, elements, bins);
        }
        for elements in elements.chunks(CHUNK) {
            if !few && !bins.contains(&NONE) {
                return;
            }
            later.chunk.fill(self, elements);
            if few {
                later.chunk.visit_first(bins);
            }
            later.note(bins);
            self.follow(later);
        }
    }

    /// Follows the elements of a chunk from time 1 on.
    fn follow(&self, later: &mut Later) {
        for time in 1..self.orders.bins() {
            let most = Kernel::best().run(Most(&later.ranks));
            if most < self.orders.least_rank(time) {
                return;
            }
            self.visit(time, later);
        }
    }

    /// All visits at one time.
    fn visit(&self, time: usize, later: &mut Later) {
        let Later { ranks, winners, chunk } = later;
        chunk.find(&self.orders, time, ranks);
        for (bin, element) in &chunk.found {
            let (bin, element) = (usize::from(*bin), usize::from(*element));
            let hash = chunk.hashes[element];
            let rank = self.orders.rank_at(time, chunk.rows[element]);
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
        let padded = elements.len().next_multiple_of(VISITS);
        self.hashes.resize(elements.len(), NONE);
        self.bins.resize(elements.len(), 0);
        self.rows.resize(padded, 0);
        let Chunk { hashes, bins, rows, .. } = self;
        Kernel::best().run(Starts { sampler, elements, hashes, bins, rows });
        self.short_bins.clear();
        if sampler.orders.bins() <= MAX_IN_BYTES {
            self.short_bins.extend(self.bins.iter().map(|bin| *bin as u8));
            self.short_bins.resize(padded, 0);
            self.masks.resize(padded / VISITS, 0);
        }
    }

    /// All visits at time 0.
    fn visit_first(&self, bins: &mut [u64]) {
        for (start, hash) in self.bins.iter().zip(&self.hashes) {
            let bin = &mut bins[usize::from(*start)];
            *bin = (*bin).min(*hash);
        }
    }

    /// Finds the visits at one time that are no later than the first visit of their bin so far.
    fn find(&mut self, orders: &Orders, time: usize, ranks: &[u16]) {
        let (steps, least) = (orders.steps_at(time), orders.least_rank(time));
        self.found.clear();
        if orders.bins() <= MAX_IN_BYTES {
            return self.find_short(steps, least, ranks);
        }
        let bins = ranks.len() as u16;
        for (element, (first, row)) in self.bins.iter().zip(&self.rows).enumerate() {
            let bin = first + steps[usize::from(*row)];
            let bin = bin.min(bin.wrapping_sub(bins));
            if ranks[usize::from(bin)] >= least {
                self.found.push((bin, element as u16));
            }
        }
    }

    /// The same for bin numbers that are bytes.
    fn find_short(&mut self, steps: &[u16], least: u16, ranks: &[u16]) {
        let mut short_steps = [0; MAX_ROWS];
        short_steps.iter_mut().zip(steps).for_each(|(short, step)| *short = *step as u8);
        let moment = Moment { steps: &short_steps, ranks, least };
        let visitors = Visitors { bins: &self.short_bins, rows: &self.rows };
        Kernel::best().visits(visitors, moment, &mut self.masks);
        for (at, mask) in self.masks.iter().enumerate() {
            let mut mask = *mask;
            while mask != 0 {
                let element = VISITS * at + mask.trailing_zeros() as usize;
                mask &= mask - 1;
                // The last mask has bits for elements that do not exist.
                if let Some(first) = self.bins.get(element) {
                    let bin = moment.bin(*first as u8, self.rows[element]);
                    self.found.push((bin as u16, element as u16));
                }
            }
        }
    }
}

/// Computes hash, first bin and order of each element.
struct Starts<'a> {
    sampler: &'a EveryBin,
    elements: &'a [u64],
    hashes: &'a mut [u64],
    bins: &'a mut [u16],
    rows: &'a mut [u8],
}

impl Work for Starts<'_> {
    type Done = ();

    /// One loop for each result, so that each loop is vectorised.
    #[inline(always)]
    fn run(self) {
        let Starts { sampler, elements, hashes, bins, rows } = self;
        for (hash, x) in hashes.iter_mut().zip(elements) {
            *hash = sampler.hash(*x);
        }
        for (row, hash) in rows.iter_mut().zip(&*hashes) {
            *row = sampler.orders.row(folded(*hash));
        }
        let count = sampler.orders.bins();
        if count.is_power_of_two() && count > 1 {
            let shift = u64::BITS - count.trailing_zeros();
            for (bin, hash) in bins.iter_mut().zip(&*hashes) {
                *bin = (hash >> shift) as u16;
            }
        } else {
            for (bin, hash) in bins.iter_mut().zip(&*hashes) {
                *bin = sampler.orders.first_bin(*hash);
            }
        }
    }
}

/// Sets the rank of bins that were visited at time 0 to 0.
struct Note<'a> {
    bins: &'a [u64],
    ranks: &'a mut [u16],
}

impl Work for Note<'_> {
    type Done = ();

    #[inline(always)]
    fn run(self) {
        for (rank, bin) in self.ranks.iter_mut().zip(self.bins) {
            *rank &= 0_u16.wrapping_sub(u16::from(*bin == NONE));
        }
    }
}

/// The greatest rank.
struct Most<'a>(&'a [u16]);

impl Work for Most<'_> {
    type Done = u16;

    #[inline(always)]
    fn run(self) -> u16 {
        let mut most = 0;
        for rank in self.0 {
            most = (*rank).max(most);
        }
        most
    }
}
