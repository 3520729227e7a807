//! Scans of top-k queries, whose bound is not known before the best matches are found.
//!
//! The first pass counts the first planes of all signatures, keeps the counts, and compares the signatures that stand out
//! from chance. If these are the best matches, the bound is high at the end of the pass. The second pass compares the
//! signatures that could still enter. If nothing has stood out after a part of the window, the rest is scanned in one
//! pass. No match is missed either way.

use std::ops::Range;

use super::{Buffers, NO_COUNT, beyond, chance_agreements, first_planes_reject, within};
use crate::error::Result;
use crate::kernel::Rows;
use crate::query::search::Search;
use crate::query::source::SignatureSource;
use crate::store::page_source::Keep;

/// Two passes over fewer signatures do not pay.
const MIN_SIGNATURES: usize = 1 << 12;

/// Two passes do not pay if the other planes have fewer words: keeping a count costs as much as reading two words.
const MIN_REST_WORDS: usize = 4;

/// After this part of a window, the first pass goes on only if something stands out.
const TRIAL: u32 = 4;

/// What the first pass saw of a block.
#[derive(Clone, Copy)]
pub(super) struct FirstPass<'a> {
    /// Equal samples in the first planes of each signature; [`NO_COUNT`] if the signature was compared.
    pub(super) counts: &'a [u16],
    /// Signatures with at least so many stand out, and were compared.
    standing_out: u16,
}

impl FirstPass<'_> {
    /// Whether a signature with this count was not compared yet.
    pub(super) fn is_open(&self, count: u16) -> bool {
        count < self.standing_out
    }

    /// How many signatures were not compared yet.
    pub(super) fn open(self) -> usize {
        self.counts.iter().filter(|count| self.is_open(**count)).count()
    }
}

impl Search<'_> {
    /// Whether the best of these signatures could raise the bound so far that most of the others are rejected by their
    /// first planes, and that would save enough.
    pub(super) fn two_passes_pay(&self, ids: &Range<u32>) -> bool {
        let query = self.target.rows();
        let few_wanted = self.options.top < ids.len() / 64;
        let much = ids.len() >= MIN_SIGNATURES && query.rest().len() >= MIN_REST_WORDS;
        much && few_wanted && !first_planes_reject(query, self.fewest_equal())
    }

    /// Whether so many of the matches so far stand out that the bound will be beyond chance at the end of the pass.
    fn is_promising(&self) -> bool {
        let query = self.target.rows();
        let standing_out = self.ranking.count(|found| first_planes_reject(query, found.equal));
        (4 * TRIAL as usize).saturating_mul(standing_out) >= self.options.top
    }

    /// Compares whole blocks with the query, in two passes.
    pub(super) fn scan_in_two_passes<S: SignatureSource>(
        &mut self,
        source: &mut S,
        ids: Range<u32>,
        buffers: &mut Buffers,
    ) -> Result<()> {
        let length = source.block_length();
        let starts = || ids.clone().step_by(length as usize);
        let trial_end = ids.start + (ids.len() as u32) / TRIAL;
        let mut seen = vec![NO_COUNT; ids.len()];
        let (mut standing_out, mut tried, mut end) = (None, false, ids.start);
        for (first, counts) in starts().zip(seen.chunks_mut(length as usize)) {
            if !tried && first >= trial_end {
                tried = true;
                if !self.is_promising() {
                    break;
                }
            }
            end = ids.end.min(first.saturating_add(length));
            if source.block_in_memory(first).is_none() {
                // Two passes would read it from the file twice.
                self.scan_blocks(source, first..end, buffers)?;
                continue;
            }
            source.load(&[first], Keep::IfRoom)?;
            self.count_first_planes(source, first, counts);
            self.work.compared += counts.len() as u64;
            let standing_out =
                *standing_out.get_or_insert_with(|| stands_out(self.target.rows(), counts));
            let range = self.fewest_equal().max(standing_out.into())..NO_COUNT.into();
            let most = self.most_compared_singly(counts.len());
            if within(self.kernel, counts, range, most, &mut buffers.hopeful) {
                self.compare_some(source, first, &buffers.hopeful)?;
            } else {
                self.compare_block(source, first, buffers, None)?;
                counts.fill(NO_COUNT);
            }
        }
        let standing_out = standing_out.unwrap_or(NO_COUNT);
        let passed = starts().take_while(|first| *first < end);
        for (first, counts) in passed.zip(seen.chunks(length as usize)) {
            self.second_pass(source, first, FirstPass { counts, standing_out }, buffers)?;
        }
        self.scan_blocks(source, end..ids.end, buffers)
    }

    /// Compares the signatures of a block that the first pass left open and that could still enter.
    fn second_pass<S: SignatureSource>(
        &mut self,
        source: &mut S,
        first: u32,
        first_pass: FirstPass<'_>,
        buffers: &mut Buffers,
    ) -> Result<()> {
        let FirstPass { counts, standing_out } = first_pass;
        let range = self.fewest_equal()..standing_out.into();
        let most = self.most_compared_singly(counts.len());
        let few = within(self.kernel, counts, range, most, &mut buffers.hopeful);
        if buffers.hopeful.is_empty() {
            return Ok(());
        }
        source.load(&[first], Keep::IfRoom)?;
        if few {
            self.compare_some(source, first, &buffers.hopeful)
        } else {
            self.compare_block(source, first, buffers, Some(first_pass))
        }
    }
}

/// How many samples must agree in the first planes for a signature to stand out: far more than by chance, and far more
/// than the median of some signatures.
fn stands_out(query: Rows<'_>, counts: &[u16]) -> u16 {
    let mut counts = counts.to_vec();
    let middle = counts.len() / 2;
    let median = if counts.is_empty() { 0 } else { *counts.select_nth_unstable(middle).1 };
    let usual = chance_agreements(query).max(median.into());
    beyond(query, usual, 4.0).ceil() as u16
}
