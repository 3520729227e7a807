//! Builds the postings of a segment in bounded memory, with a radix sort.
//!
//! In: signatures, in the order of their ids. Out: the region of postings. Slot by slot, entries are distributed by the
//! top bits of their values into parts that fit in the L1 cache. Each part is then sorted digit by digit. Ids arrive in
//! order and every step is stable, so the ids of a value ascend. A slot that does not fit in memory takes several
//! passes over its values.

use std::ops::Range;

use super::columns::Columns;
use super::pages::{NewPostings, PostingPages};
use crate::error::Result;
use crate::format::bytes::Seal;
use crate::format::posting_shape::{PostingShape, low_mask};
use crate::scheme::Scheme;
use crate::store::sorted_spill::SortedSpill;
use crate::store::spill::SpillPlace;

/// The least memory for sorting.
const LEAST_BYTES: usize = 8 << 20;

/// Bytes per entry while it is sorted: 8 in the source buffer and 8 in the target buffer.
const ENTRY_BYTES: usize = 16;

/// The logarithm of the number of entries that a part should have.
const PART_BITS: u32 = 11;

/// The logarithm of the largest number of parts. Each part is a separate stream of writes, and too many are slow.
const MOST_PART_BITS: u32 = 10;

/// The most bits of a digit.
const DIGIT_BITS: u32 = 11;

/// Fewer entries than this are sorted by comparison, which takes less time than clearing the digit counters.
const FEW: usize = 64;

/// Collects the slot values of signatures, and builds the postings from them.
#[derive(Debug)]
pub struct PostingsWriter {
    scheme: Scheme,
    columns: Columns,
    place: SpillPlace,
    /// The most entries that are sorted at once.
    most: usize,
}

impl PostingsWriter {
    /// Creates a writer without signatures.
    pub fn new(scheme: &Scheme, place: &SpillPlace) -> PostingsWriter {
        PostingsWriter {
            scheme: scheme.clone(),
            columns: Columns::new(scheme, place),
            place: place.clone(),
            most: place.memory.max(LEAST_BYTES) / ENTRY_BYTES,
        }
    }

    /// Sets the number of entries that are sorted at once.
    #[cfg(test)]
    pub(super) fn with_most(self, most: usize) -> PostingsWriter {
        PostingsWriter { most, ..self }
    }

    /// Adds the next signature, including that of the empty set.
    pub fn push(&mut self, planes: &[u64]) -> Result<()> {
        if self.columns.count() == 0 { Ok(()) } else { self.columns.push(planes) }
    }

    /// Returns the region of postings for the `ids` signatures that were pushed.
    pub fn finish(
        mut self,
        extent: u64,
        seal: Seal,
        ids: u32,
        empty_id: Option<u32>,
    ) -> Result<NewPostings> {
        self.columns.flush()?;
        let shape = PostingShape::of(&self.scheme, ids, empty_id.is_some());
        let pages = PostingPages::new(extent, seal, shape, &self.place)?;
        let mut sort = Sort {
            columns: &self.columns,
            skip: empty_id,
            parts: Parts::new(shape),
            most: self.most,
            place: &self.place,
            pages,
            entries: Vec::new(),
            scratch: Vec::new(),
        };
        for slot in 0..self.columns.count() {
            sort.slot(slot)?;
        }
        sort.pages.finish()
    }
}

/// How entries are distributed into parts.
#[derive(Debug, Clone, Copy)]
struct Parts {
    shape: PostingShape,
    /// The number of top bits of a value that select its part.
    part_bits: u32,
    /// The number of the other bits of a value.
    rest_bits: u32,
}

impl Parts {
    fn new(shape: PostingShape) -> Parts {
        let bits = shape.ids().checked_ilog2().unwrap_or(0).saturating_sub(PART_BITS);
        // A part consists of whole buckets, so that buckets are never split.
        let part_bits = bits.min(MOST_PART_BITS).min(shape.bucket_bits());
        Parts { shape, part_bits, rest_bits: shape.value_bits() - part_bits }
    }

    #[inline]
    fn part_of(self, value: u32) -> usize {
        (u64::from(value) >> self.rest_bits) as usize
    }

    /// Returns the sort key: the bits of the value that do not select the part, followed by the id.
    #[inline]
    fn entry(self, value: u32, id: u64) -> u64 {
        (u64::from(value) & low_mask(self.rest_bits)) << self.shape.id_bits() | id
    }

    /// Returns the first bucket of a part, counted over all slots.
    fn first_bucket(self, slot: usize, part: usize) -> u64 {
        let part = (slot as u64) << self.part_bits | part as u64;
        part << (self.shape.bucket_bits() - self.part_bits)
    }

    /// Passes a sorted entry of a part to the pages.
    #[inline]
    fn give(self, pages: &mut PostingPages, first_bucket: u64, entry: u64) -> Result<()> {
        pages.push(first_bucket | entry >> self.shape.width(), entry)
    }
}

struct Sort<'a> {
    columns: &'a Columns,
    /// The id of the empty set, which has no postings.
    skip: Option<u32>,
    parts: Parts,
    most: usize,
    place: &'a SpillPlace,
    pages: PostingPages,
    entries: Vec<u64>,
    scratch: Vec<u64>,
}

impl Sort<'_> {
    fn slot(&mut self, slot: usize) -> Result<()> {
        let parts = self.parts;
        let mut counts = vec![0_usize; 1 << parts.part_bits];
        self.columns.read(slot, self.skip, &mut |_, values| {
            for value in values {
                counts[parts.part_of(*value)] += 1;
            }
            Ok(())
        })?;
        let mut start = 0;
        while start < counts.len() {
            let mut sum = counts[start];
            let mut end = start + 1;
            while end < counts.len() && sum + counts[end] <= self.most {
                sum += counts[end];
                end += 1;
            }
            if sum <= self.most {
                self.parts(slot, start..end, &counts[start..end])?;
            } else {
                self.large_part(slot, start)?;
            }
            start = end;
        }
        Ok(())
    }

    /// Sorts the entries of some parts in memory.
    fn parts(&mut self, slot: usize, range: Range<usize>, counts: &[usize]) -> Result<()> {
        let parts = self.parts;
        let mut sum = 0;
        let mut ends: Vec<usize> = Vec::with_capacity(counts.len());
        for count in counts {
            ends.push(sum);
            sum += count;
        }
        if self.entries.len() < sum {
            self.entries.resize(sum, 0);
        }
        let entries = &mut self.entries[..sum];
        self.columns.read(slot, self.skip, &mut |first, values| {
            for (id, value) in (u64::from(first)..).zip(values) {
                let part = parts.part_of(*value).wrapping_sub(range.start);
                if let Some(end) = ends.get_mut(part) {
                    entries[*end] = parts.entry(*value, id);
                    *end += 1;
                }
            }
            Ok(())
        })?;
        let mut start = 0;
        for (part, end) in range.zip(ends) {
            let part = parts.first_bucket(slot, part);
            let (numbers, shift) = (&mut self.entries[start..end], parts.shape.id_bits());
            let sorted = sort_by_digits(numbers, &mut self.scratch, shift, parts.rest_bits);
            self.pages.push_all(part, sorted)?;
            start = end;
        }
        Ok(())
    }

    /// Sorts the entries of one part that does not fit in memory. If the part has a single value, its entries arrive in
    /// order.
    fn large_part(&mut self, slot: usize, part: usize) -> Result<()> {
        let (parts, pages) = (self.parts, &mut self.pages);
        let mut sorter = SortedSpill::new(self.place);
        let first_bucket = parts.first_bucket(slot, part);
        self.columns.read(slot, self.skip, &mut |first, values| {
            for (id, value) in (u64::from(first)..).zip(values) {
                if parts.part_of(*value) == part {
                    let entry = parts.entry(*value, id);
                    if parts.rest_bits == 0 {
                        parts.give(pages, first_bucket, entry)?;
                    } else {
                        sorter.push(entry)?;
                    }
                }
            }
            Ok(())
        })?;
        sorter.drain(&mut |entry| parts.give(pages, first_bucket, entry))
    }
}

/// Sorts distinct numbers by the `bits` bits above the lowest `shift`. They must be in order of their lowest `shift`
/// bits. Returns the buffer that has the result.
fn sort_by_digits<'a>(
    mut numbers: &'a mut [u64],
    scratch: &'a mut Vec<u64>,
    shift: u32,
    bits: u32,
) -> &'a [u64] {
    if bits == 0 || numbers.len() < 2 {
        return numbers;
    }
    if numbers.len() < FEW {
        numbers.sort_unstable();
        return numbers;
    }
    if scratch.len() < numbers.len() {
        scratch.resize(numbers.len(), 0);
    }
    let mut sorted = &mut scratch[..numbers.len()];
    // More counters than numbers would cost more than another pass.
    let passes = bits.div_ceil(DIGIT_BITS.min(numbers.len().ilog2() + 1));
    let digit_bits = bits.div_ceil(passes);
    let mask = low_mask(digit_bits);
    let mut counters = [0_u32; 1 << DIGIT_BITS];
    let ends = &mut counters[..1 << digit_bits];
    for pass in 0..passes {
        let shift = shift + pass * digit_bits;
        let digit = |number: u64| (number >> shift & mask) as usize;
        ends.fill(0);
        numbers.iter().for_each(|number| ends[digit(*number)] += 1);
        let mut sum = 0;
        for end in &mut *ends {
            sum += std::mem::replace(end, sum);
        }
        for number in &*numbers {
            let end = &mut ends[digit(*number)];
            sorted[*end as usize] = *number;
            *end += 1;
        }
        std::mem::swap(&mut numbers, &mut sorted);
    }
    numbers
}
