//! Directory pages and short pages of postings: how many entries each bucket has, and the entries. Mirrors
//! `format-spec/postings.md`.
//!
//! A lookup reads one block of the directory, which is one cache line, and adds up the lengths before its
//! bucket.

use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::bytes::{Cursor, broken, index};
use super::page::Page;
use super::posting_shape::{BLOCK_BUCKETS, BLOCK_BYTES, LONG, PostingShape, bits_at, low_mask};
use crate::error::Result;
use crate::kernel::prefetch;

const DIRECTORY: &str = "posting directory";
const SHORT: &str = "short postings";

/// A block of the directory.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Block {
    start: U32,
    lengths: [u8; BLOCK_BUCKETS],
}

/// Entries of a bucket in the short pages: none if its lists are long.
fn short_entries(length: u8) -> u32 {
    if length == LONG { 0 } else { length.into() }
}

/// A checked directory page.
#[derive(Debug, Clone)]
pub struct PostingDirectory {
    page: Page,
}

/// What the directory says of a bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bucket {
    /// So many entries of the short pages, from this one on.
    Short {
        /// The first, counted over the whole segment.
        first: u64,
        /// How many.
        count: u8,
    },
    /// Its lists are in the list table.
    Long,
}

impl PostingDirectory {
    /// Checks a page of so many buckets of a segment with so many short entries.
    pub fn new(page: Page, buckets: usize, short: u64) -> Result<PostingDirectory> {
        let mut cursor = Cursor::new(page.payload());
        let blocks = buckets.div_ceil(BLOCK_BUCKETS);
        let parts = cursor.layout::<U64>().zip(cursor.layouts::<Block>(blocks));
        let Some((first, blocks)) = parts.filter(|_| cursor.rest().is_empty() && buckets > 0)
        else {
            let detail = format!("it does not hold {buckets} buckets");
            return Err(broken(DIRECTORY, "POST-2", 20, detail));
        };
        let used = blocks.len().saturating_sub(1).saturating_mul(BLOCK_BUCKETS);
        let unused = blocks.last().and_then(|b| b.lengths.get(buckets.saturating_sub(used)..));
        if unused.is_some_and(|lengths| lengths.iter().any(|length| *length != 0)) {
            return Err(broken(DIRECTORY, "POST-2", 24, "bytes past the last bucket are not zero"));
        }
        let mut sum = 0_u32;
        for block in blocks {
            if block.start != sum {
                return Err(broken(
                    DIRECTORY,
                    "POST-3",
                    24,
                    "a block does not start where it should",
                ));
            }
            let own: u32 = block.lengths.iter().map(|length| short_entries(*length)).sum();
            sum = sum.saturating_add(own);
        }
        if first.get().checked_add(sum.into()).is_none_or(|end| end > short) {
            return Err(broken(DIRECTORY, "POST-3", 24, "it points past the last short entry"));
        }
        Ok(PostingDirectory { page })
    }

    /// What it says of bucket `i` of the page; an empty one past the last.
    pub fn bucket(&self, i: usize) -> Bucket {
        let mut cursor = Cursor::new(self.page.payload());
        let first = cursor.layout::<U64>().map_or(0, |first| first.get());
        let blocks = cursor.rest().len() / BLOCK_BYTES;
        let blocks: &[Block] = cursor.layouts(blocks).unwrap_or_default();
        let Some(block) = blocks.get(i / BLOCK_BUCKETS) else {
            return Bucket::Short { first, count: 0 };
        };
        let (before, rest) = block.lengths.split_at_checked(i % BLOCK_BUCKETS).unwrap_or_default();
        let count = rest.first().copied().unwrap_or(0);
        if count == LONG {
            return Bucket::Long;
        }
        let before: u32 = before.iter().map(|length| short_entries(*length)).sum();
        let first = first.saturating_add(block.start.get().into()).saturating_add(before.into());
        Bucket::Short { first, count }
    }

    /// Bucket `i` will be looked at soon.
    pub fn prefetch(&self, i: usize) {
        let block = (i / BLOCK_BUCKETS).saturating_mul(size_of::<Block>()).saturating_add(8);
        prefetch(self.page.payload().get(block..).unwrap_or_default());
    }

    /// Memory that it takes.
    pub fn memory(&self) -> usize {
        self.page.memory()
    }
}

/// A checked page of short entries.
#[derive(Debug, Clone)]
pub struct ShortPage {
    page: Page,
    shape: PostingShape,
    count: usize,
}

impl ShortPage {
    /// Checks a page of so many entries.
    pub fn new(page: Page, shape: PostingShape, count: usize) -> Result<ShortPage> {
        let payload = page.payload();
        let width = shape.width();
        if payload.len() != PostingShape::packed_bytes(count, width) || count == 0 {
            return Err(broken(SHORT, "POST-4", 20, format!("it does not hold {count} entries")));
        }
        if bits_at(payload, count.saturating_mul(index(width)), 8) != 0 {
            return Err(broken(SHORT, "POST-4", 24, "bits past the last entry are not zero"));
        }
        let page = ShortPage { page, shape, count };
        let (ids, mask) = (u64::from(shape.ids()), low_mask(shape.id_bits()));
        // Without a bound to keep there is nothing to look at.
        if ids <= mask && (0..count).any(|i| page.entry(i) & mask >= ids) {
            return Err(broken(SHORT, "POST-5", 24, "an id is not below the segment's"));
        }
        Ok(page)
    }

    /// How many entries it has.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Entry `i`: the low part of a value, then an id. Zero past the last.
    pub fn entry(&self, i: usize) -> u64 {
        let width = self.shape.width();
        bits_at(self.page.payload(), i.saturating_mul(index(width)), width)
    }

    /// Appends the ids of entries from `first` to before `end` that have this low part of a value.
    pub fn push_ids(&self, first: usize, end: usize, low: u64, ids: &mut Vec<u32>) {
        let (payload, width, id_bits) =
            (self.page.payload(), self.shape.width(), self.shape.id_bits());
        let mask = low_mask(id_bits);
        let mut start = first.saturating_mul(index(width));
        for _ in first..end.min(self.count) {
            let entry = bits_at(payload, start, width);
            start = start.saturating_add(index(width));
            if entry.checked_shr(id_bits) == Some(low) {
                ids.push(u32::try_from(entry & mask).unwrap_or(u32::MAX));
            }
        }
    }

    /// Entries from `first` to before `end` will be read soon.
    pub fn prefetch(&self, first: usize, end: usize) {
        let bits = index(self.shape.width());
        let bytes = first.saturating_mul(bits) / 8..end.saturating_mul(bits) / 8;
        for line in bytes.step_by(64) {
            prefetch(self.page.payload().get(line..).unwrap_or_default());
        }
    }

    /// The id of entry `i` if the low part of its value is this.
    pub fn id_of(&self, i: usize, low: u64) -> Option<u32> {
        let entry = self.entry(i);
        let found = entry.checked_shr(self.shape.id_bits()).unwrap_or(0);
        (found == low).then_some(u32::try_from(entry & low_mask(self.shape.id_bits())).unwrap_or(0))
    }

    /// Memory that it takes.
    pub fn memory(&self) -> usize {
        self.page.memory()
    }
}

/// Bytes of short entries, being collected.
#[derive(Debug, Default)]
pub struct BitWriter {
    bytes: Vec<u8>,
    /// Bits that make no word yet.
    open: u64,
    bits: u32,
}

impl BitWriter {
    /// Appends a number of `bits` bits, at most 63.
    #[inline]
    pub fn push(&mut self, number: u64, bits: u32) {
        self.open |= number.wrapping_shl(self.bits);
        self.bits = self.bits.wrapping_add(bits);
        if let Some(left) = self.bits.checked_sub(u64::BITS) {
            self.bytes.extend_from_slice(&self.open.to_le_bytes());
            self.open = number.wrapping_shr(bits.wrapping_sub(left));
            self.bits = left;
        }
    }

    /// All bytes; the last bits are zero. Nothing may be appended before it is cleared.
    pub fn end(&mut self) -> &[u8] {
        let open = self.open.to_le_bytes();
        self.bytes.extend_from_slice(open.get(..index(self.bits.div_ceil(8))).unwrap_or_default());
        (self.open, self.bits) = (0, 0);
        &self.bytes
    }

    /// Forgets all bits.
    pub fn clear(&mut self) {
        self.bytes.clear();
        (self.open, self.bits) = (0, 0);
    }
}

#[cfg(test)]
#[path = "posting_directory_tests.rs"]
mod tests;
