//! From all signatures of a source to candidates, block by block.
//!
//! A plane holds one bit of every sample, so the first one or two planes give an upper bound of the number of equal
//! samples. If a match needs more equal samples than chance gives, a scan reads the first planes of all signatures, and
//! the other planes only where this bound is high enough.
//!
//! With a threshold, the number of equal samples that a match needs is known from the start. A top-k query knows it only
//! once it has found k good matches, and those may be anywhere: see [`two_pass`].

mod two_pass;

use std::cmp::Reverse;
use std::ops::Range;

use super::search::{BATCH, Search};
use super::source::SignatureSource;
use crate::error::Result;
use crate::kernel::{Kernel, Rows, Work, prefetch};
use crate::store::page_source::Keep;
use two_pass::FirstPass;

/// The number of counts that are tested together, without a branch for each.
const GROUP: usize = 32;

/// The most signatures of a window. A two-pass scan keeps two bytes for each.
const WINDOW: u32 = 1 << 20;

/// A count that no signature has.
const NO_COUNT: u16 = u16::MAX;

/// Working memory, reused for each block.
#[derive(Default)]
struct Buffers {
    counts: Vec<u16>,
    /// Positions within the block whose planes must all be compared.
    hopeful: Vec<u32>,
}

impl Search<'_> {
    /// Compares all signatures with the query.
    pub(super) fn scan<S: SignatureSource>(&mut self, source: &mut S) -> Result<()> {
        let mut buffers = Buffers::default();
        let (all, length) = (source.signatures(), source.block_length());
        let window = (WINDOW / length).max(1) * length;
        for start in (0..all).step_by(window as usize) {
            let ids = start..all.min(start.saturating_add(window));
            if self.two_passes_pay(&ids) {
                self.scan_in_two_passes(source, ids, &mut buffers)?;
            } else {
                self.scan_blocks(source, ids, &mut buffers)?;
            }
        }
        Ok(())
    }

    /// Compares whole blocks with the query, each in one pass.
    fn scan_blocks<S: SignatureSource>(
        &mut self,
        source: &mut S,
        ids: Range<u32>,
        buffers: &mut Buffers,
    ) -> Result<()> {
        for first in ids.step_by(source.block_length() as usize) {
            let query = self.target.rows();
            source.load(&[first], Keep::IfRoom)?;
            let (rows, fewest) = (source.block(first).len(), self.fewest_equal());
            self.work.compared += rows as u64;
            if query.rest().is_empty() || !first_planes_reject(query, fewest) {
                self.compare_block(source, first, buffers, None)?;
                continue;
            }
            // Every count is overwritten, so old counts need not be cleared.
            buffers.counts.resize(rows, 0);
            self.count_first_planes(source, first, &mut buffers.counts);
            let (range, most) = (fewest..NO_COUNT.into(), self.most_compared_singly(rows));
            if within(self.kernel, &buffers.counts, range, most, &mut buffers.hopeful) {
                self.compare_some(source, first, &buffers.hopeful)?;
            } else {
                self.compare_block(source, first, buffers, None)?;
            }
        }
        Ok(())
    }

    /// Compares all planes of a loaded block. Ignores signatures that the first pass has already compared in full.
    fn compare_block<S: SignatureSource>(
        &mut self,
        source: &S,
        first: u32,
        buffers: &mut Buffers,
        first_pass: Option<FirstPass<'_>>,
    ) -> Result<()> {
        let Buffers { counts, hopeful } = buffers;
        let (query, rows) = (self.target.rows(), source.block(first));
        let next = source.block_in_memory(first.saturating_add(source.block_length()));
        counts.resize(rows.len(), 0);
        self.kernel.count_equal_before(next.unwrap_or(rows.range(0, 0)), query, rows, counts);
        self.work.verified += first_pass.map_or(rows.len(), FirstPass::open) as u64;
        self.work.bytes += 8 * (rows.first().len() + rows.rest().len()) as u64;
        let fewest = self.fewest_equal();
        within(self.kernel, counts, fewest..NO_COUNT.into(), rows.len(), hopeful);
        if let Some(first_pass) = first_pass {
            hopeful.retain(|i| first_pass.is_open(first_pass.counts[*i as usize]));
        }
        let equal = |i: u32| u32::from(counts[i as usize]);
        let (mut best, mut others) = (&hopeful[..], &[][..]);
        let top = self.options.top;
        if fewest == 0 && top < hopeful.len() {
            // The best counts come first, because they raise the bound for the others.
            hopeful.select_nth_unstable_by_key(top, |i| Reverse(equal(*i)));
            (best, others) = hopeful.split_at(top);
        }
        for i in best {
            self.consider(source, first + i, equal(*i))?;
        }
        let fewest = self.fewest_equal();
        for i in others.iter().filter(|i| equal(**i) >= fewest) {
            self.consider(source, first + i, equal(*i))?;
        }
        Ok(())
    }

    /// Compares all planes of some signatures of a loaded block.
    fn compare_some<S: SignatureSource>(
        &mut self,
        source: &S,
        first: u32,
        positions: &[u32],
    ) -> Result<()> {
        let block = source.block(first);
        let mut rows = Vec::with_capacity(positions.len().min(BATCH));
        for positions in positions.chunks(BATCH) {
            rows.clear();
            rows.extend(positions.iter().map(|i| (first + i, block.row(*i as usize))));
            rows.iter().for_each(|(_, (_, rest))| prefetch(rest));
            self.compare_all_planes(source, &rows)?;
        }
        Ok(())
    }

    /// How many signatures of a block are compared one by one, at most. Beyond that, comparing the whole block is
    /// cheaper: a single signature costs as much as about 128 consecutive words.
    fn most_compared_singly(&self, rows: usize) -> usize {
        let query = self.target.rows();
        (query.first().len() + query.rest().len()) * rows / 128
    }

    /// Counts the samples of a loaded block that are equal in the first planes.
    fn count_first_planes<S: SignatureSource>(
        &mut self,
        source: &S,
        first: u32,
        counts: &mut [u16],
    ) {
        let (query, rows) = (self.target.rows().first_only(), source.block(first).first_only());
        let next = source.block_in_memory(first.saturating_add(source.block_length()));
        let next = next.unwrap_or(source.block(first).range(0, 0)).first_only();
        self.kernel.count_equal_before(next, query, rows, counts);
        self.work.bytes += 8 * rows.first().len() as u64;
    }
}

/// Whether the first planes alone reject nearly all unrelated signatures, if a match needs `fewest` equal samples. In
/// one plane, half of unrelated samples agree by chance; in two, a quarter.
pub(super) fn first_planes_reject(query: Rows<'_>, fewest: u32) -> bool {
    f64::from(fewest) > beyond(query, chance_agreements(query), 2.0)
}

/// The expected number of unrelated samples that agree in the first planes.
fn chance_agreements(query: Rows<'_>) -> f64 {
    f64::from(query.samples()) / f64::from(query.first_planes()).exp2()
}

/// The count that is `deviations` standard deviations above `mean`, for a binomial distribution over the samples.
fn beyond(query: Rows<'_>, mean: f64, deviations: f64) -> f64 {
    mean + deviations * (mean * (1.0 - mean / f64::from(query.samples()))).sqrt()
}

/// Lists the positions of counts within a range. Returns `false` if there are more than `most`; then some may be
/// missing.
fn within(
    kernel: Kernel,
    counts: &[u16],
    range: Range<u32>,
    most: usize,
    positions: &mut Vec<u32>,
) -> bool {
    let limited = |bound: u32| u16::try_from(bound).unwrap_or(u16::MAX);
    let range = limited(range.start)..limited(range.end);
    kernel.run(Within { counts, range, most, positions })
}

struct Within<'a> {
    counts: &'a [u16],
    range: Range<u16>,
    most: usize,
    positions: &'a mut Vec<u32>,
}

impl Work for Within<'_> {
    type Done = bool;

    #[inline(always)]
    fn run(self) -> bool {
        let Within { counts, range, most, positions } = self;
        positions.clear();
        let width = range.end.saturating_sub(range.start);
        let is_within = |count: u16| count.wrapping_sub(range.start) < width;
        let (groups, left) = counts.as_chunks::<GROUP>();
        for (group, counts) in groups.iter().enumerate() {
            // No branch per count: in nearly all groups, none is within the range.
            if counts.iter().fold(false, |any, count| any | is_within(*count)) {
                if positions.len() > most {
                    return false;
                }
                let start = (group * GROUP) as u32;
                let there = (start..).zip(counts).filter(|(_, count)| is_within(**count));
                positions.extend(there.map(|(position, _)| position));
            }
        }
        let start = (groups.len() * GROUP) as u32;
        let there = (start..).zip(left).filter(|(_, count)| is_within(**count));
        positions.extend(there.map(|(position, _)| position));
        positions.len() <= most
    }
}
