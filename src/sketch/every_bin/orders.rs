//! The orders in which elements visit the bins (SAMPLE-12, SAMPLE-13).
//!
//! In: the seed and the number of bins. Out: up to 256 random orders of all bins, as two tables: the bin at a time,
//! and the rank of the visit to a bin. A rank is the time followed by a few random bits that settle most ties. An
//! element uses one of the orders, rotated so that it starts at the element's own first bin. A visit is thus one load
//! and an addition, and the ranks of an element's visits to consecutive bins are adjacent in memory.

use crate::kernel::LANES;
use crate::scheme::Scheme;
use crate::sketch::hash::{Keys, Purpose};

/// Most orders of a scheme (SAMPLE-12). Two elements have the same order with probability 1/256, which adds less than
/// half a percent to the variance.
pub(super) const MAX_ROWS: usize = 256;

/// Most entries of a table (SAMPLE-12). Above 4,096 bins there are fewer orders.
const MAX_ENTRIES: usize = 1 << 20;

/// Bins that are compared together. Rows of the table of ranks are padded for the last group.
pub(super) const GROUP: usize = LANES;

/// All orders of a scheme, by time and by bin.
pub(super) struct Orders {
    bins: usize,
    /// log2 of the number of orders.
    row_bits: u32,
    /// Bits of a rank below the time.
    tie_bits: u32,
    /// The distance from the first bin to the bin at time t of order r, at `t << row_bits | r`.
    steps: Vec<u16>,
    /// The rank of a visit at time t by an element of order r, at the same index.
    ranks_by_time: Vec<u16>,
    /// The rank of the visit to bin i by an element of order r and first bin b, at `r * stride + bins + i - b`. A row
    /// has each rank once, and then repeats them as far as the last group of bins needs.
    ranks: Vec<u16>,
}

/// Where an element starts: its first bin and its order.
#[derive(Clone, Copy)]
pub(super) struct Start {
    pub(super) bin: u16,
    pub(super) row: u8,
}

impl Orders {
    pub(super) fn new(scheme: &Scheme) -> Orders {
        let bins = scheme.samples as usize;
        let row_bits = MAX_ROWS.min(MAX_ENTRIES / bins).ilog2();
        let tie_bits = u16::BITS - (usize::BITS - (bins - 1).leading_zeros());
        let (rows, stride) = (1 << row_bits, stride(bins));
        let (mut steps, mut ranks) = (vec![0; bins * rows], vec![0; stride * rows]);
        let mut ranks_by_time = steps.clone();
        let keys = Keys::new(scheme.seed, Purpose::Visits);
        for (row, ranks) in ranks.chunks_exact_mut(stride).enumerate() {
            let keys = Keys::below(keys.key(row as u64));
            for (time, step) in shuffled(bins, keys).into_iter().enumerate() {
                steps[time << row_bits | row] = step;
                let rank = rank(time as u64, tie_bits, keys);
                ranks[usize::from(step)] = rank;
                ranks_by_time[time << row_bits | row] = rank;
            }
            for at in bins..stride {
                ranks[at] = ranks[at - bins];
            }
        }
        Orders { bins, row_bits, tie_bits, steps, ranks_by_time, ranks }
    }

    /// The number of bins.
    pub(super) fn bins(&self) -> usize {
        self.bins
    }

    /// Where an element starts, by its hash and the folded hash (SAMPLE-12).
    #[inline(always)]
    pub(super) fn start(&self, hash: u64, folded: u32) -> Start {
        Start { bin: self.first_bin(hash), row: self.row(folded) }
    }

    /// The bin that an element visits first, by its hash (SAMPLE-12).
    #[inline(always)]
    pub(super) fn first_bin(&self, hash: u64) -> u16 {
        ((u128::from(hash) * self.bins as u128) >> 64) as u16
    }

    /// The order of an element, by its folded hash (SAMPLE-12).
    #[inline(always)]
    pub(super) fn row(&self, folded: u32) -> u8 {
        (u64::from(folded) << self.row_bits >> 32) as u8
    }

    /// The distance of the elements of each order from their first bin at a time.
    pub(super) fn steps_at(&self, time: usize) -> &[u16] {
        &self.steps[time << self.row_bits..][..1 << self.row_bits]
    }

    /// The rank of a visit at a time by an element of an order.
    #[inline(always)]
    pub(super) fn rank_at(&self, time: usize, row: u8) -> u16 {
        self.ranks_by_time[time << self.row_bits | usize::from(row)]
    }

    /// The least rank of a visit at a time.
    pub(super) fn least_rank(&self, time: usize) -> u16 {
        (time << self.tie_bits) as u16
    }

    /// The table of ranks.
    #[inline(always)]
    pub(super) fn ranks(&self) -> &[u16] {
        &self.ranks
    }

    /// Where the visit of an element to bin 0 is in the table of ranks. The visits to the other bins follow.
    #[inline(always)]
    pub(super) fn place(&self, start: Start) -> usize {
        usize::from(start.row) * stride(self.bins) + self.bins - usize::from(start.bin)
    }
}

/// The length of a row of the table of ranks. A first bin is below `bins`, so no index in a row is below 1.
#[inline(always)]
fn stride(bins: usize) -> usize {
    bins + bins.next_multiple_of(GROUP)
}

/// The numbers 0 to `count - 1` in random order, 0 first (SAMPLE-12).
fn shuffled(count: usize, keys: Keys) -> Vec<u16> {
    let mut order: Vec<u16> = (0..count as u16).collect();
    for last in (2..count).rev() {
        let other = (u128::from(keys.key(last as u64)) * last as u128) >> 64;
        order.swap(last, 1 + other as usize);
    }
    order
}

/// The rank of a visit at a time (SAMPLE-13).
fn rank(time: u64, tie_bits: u32, keys: Keys) -> u16 {
    if time == 0 { 0 } else { (time << tie_bits | keys.key(time) & ((1 << tie_bits) - 1)) as u16 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheme::{Parameters, Sampler, Slots, presets};

    /// Every element visits every bin once and starts at its first bin, and both tables agree.
    #[test]
    fn every_bin_is_visited_once() {
        for samples in [1, 2, 3, 63, 64, 65, 128, 255, 256, 257, 1000, 5000, 16_384] {
            let (sampler, slots) = (Sampler::EveryBin, Slots::NONE);
            let scheme = Parameters { samples, sampler, slots, ..presets::PRECISE };
            let orders = Orders::new(&Scheme::new(scheme).unwrap());
            let bins = orders.bins();
            let rows = orders.steps_at(0).len();
            assert_eq!(rows, MAX_ROWS.min(MAX_ENTRIES / bins.next_power_of_two()));
            for row in [0, 1, rows - 1] {
                for bin in [0, bins / 2, bins - 1] {
                    let start = Start { bin: bin as u16, row: row as u8 };
                    let mut visited = vec![false; bins];
                    for time in 0..bins {
                        let at = (bin + usize::from(orders.steps_at(time)[row])) % bins;
                        assert!(!std::mem::replace(&mut visited[at], true));
                        let rank = usize::from(orders.ranks()[orders.place(start) + at]);
                        assert_eq!(rank >> orders.tie_bits, time, "{bins} bins, row {row}");
                        assert_eq!(usize::from(orders.rank_at(time, row as u8)), rank);
                    }
                    assert_eq!(orders.ranks()[orders.place(start) + bin], 0);
                }
            }
        }
    }
}
