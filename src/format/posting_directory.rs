//! Directory pages and short pages of postings: the number of entries of each bucket, and the entries. Implements
//! `format-spec/postings.md`.
//!
//! In: verified pages. Out: checked views. A lookup reads one block of the directory, which is one cache line, and
//! nothing else if the bucket is empty. `posting_lists` knows the long lists; this module does not.

use zerocopy::{FromBytes, IntoBytes};

use super::bytes::{PutBytes, broken, index};
use super::page::{HEADER_BYTES, Line, Page};
use super::posting_block::Block;
use super::posting_shape::{BEFORE_BLOCKS, BLOCK_BITS, PostingShape, bits_at, low_mask};
use crate::error::Result;
use crate::kernel::prefetch;

const LINE: usize = size_of::<Line>();

const DIRECTORY: &str = "posting directory";
const SHORT: &str = "short postings";

/// A checked directory page.
#[derive(Debug, Clone)]
pub struct PostingDirectory {
    page: Page,
    shape: PostingShape,
}

/// What the directory says about a bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bucket {
    /// The bucket has these entries in the short pages.
    Short {
        /// The number of its first entry, counted over the whole segment.
        first: u64,
        /// The number of its entries.
        count: u32,
    },
    /// The bucket has no short entries. Its lists, if any, are in the list table.
    Long,
}

const NO_BUCKET: Bucket = Bucket::Short { first: 0, count: 0 };

impl PostingDirectory {
    /// Checks a page of `buckets` buckets, of a segment with this many short entries and long lists.
    pub fn new(
        page: Page,
        shape: PostingShape,
        buckets: usize,
        (short, lists): (u64, u32),
    ) -> Result<PostingDirectory> {
        let refuse = |rule, detail: &str| Err(broken(DIRECTORY, rule, 24, detail));
        let length = index(shape.block_buckets());
        let blocks = page.lines().get(1..).unwrap_or_default();
        let whole = page.lines().len().saturating_mul(LINE);
        let payload = whole.saturating_sub(HEADER_BYTES);
        if buckets == 0
            || buckets.div_ceil(length) != blocks.len()
            || page.payload().len() != payload
        {
            let detail = format!("it does not hold {buckets} buckets");
            return Err(broken(DIRECTORY, "POST-2", 20, detail));
        }
        let before = page.payload().get(..BEFORE_BLOCKS);
        if before.is_none_or(|before| before.iter().any(|byte| *byte != 0)) {
            return refuse("POST-2", "bytes before its blocks are not zero");
        }
        let mut sum = None;
        for (i, line) in blocks.iter().enumerate() {
            let Some(block) = block_of(line) else { return refuse("POST-2", "a block is missing") };
            let left = buckets.saturating_sub(i.saturating_mul(length)).min(length);
            let left = u32::try_from(left).unwrap_or(u32::MAX);
            let entries = block.entries();
            let last = block.bucket(left.saturating_sub(1));
            let inside = last.is_some_and(|(before, own)| before.checked_add(own) == Some(entries));
            if !inside || entries.saturating_add(left) > BLOCK_BITS {
                return refuse("POST-2", "a block has other buckets than it should");
            }
            if sum.is_some_and(|sum| sum != block.start()) {
                return refuse("POST-3", "a block does not start where it should");
            }
            if block.long() != 0 && (lists == 0 || block.long() & !long_bits(shape, left) != 0) {
                return refuse("POST-3", "it has long buckets where there are none");
            }
            sum = block.start().checked_add(entries.into());
            if sum.is_none_or(|end| end > short) {
                return refuse("POST-3", "it points past the last short entry");
            }
        }
        Ok(PostingDirectory { page, shape })
    }

    /// The number of short entries in earlier pages, taken from its first block.
    pub fn start(&self) -> Option<u64> {
        PostingDirectory::line(self.page.lines(), 0).and_then(block_of).map(Block::start)
    }

    /// Looks up bucket `i` of the page. Past the last bucket the result has no entries.
    pub fn bucket(&self, i: usize) -> Bucket {
        let (block, place) = self.shape.block(i);
        self.bucket_of(block, place)
    }

    /// Looks up a bucket by its block and its place in the block.
    pub fn bucket_of(&self, block: usize, place: u32) -> Bucket {
        let line = PostingDirectory::line(self.page.lines(), block);
        line.map_or(NO_BUCKET, |line| PostingDirectory::bucket_in(line, self.shape, place))
    }

    /// The cache line of a block, among the lines of a checked page. The first line of a page is its header.
    #[inline]
    pub fn line(lines: &[Line], block: usize) -> Option<&Line> {
        lines.get(block.saturating_add(1))
    }

    /// Looks up a bucket in the cache line of its block.
    #[inline]
    pub fn bucket_in(line: &Line, shape: PostingShape, place: u32) -> Bucket {
        let found = block_of(line).and_then(|block| Some((block, block.bucket(place)?)));
        let Some((block, (before, count))) = found else { return NO_BUCKET };
        if count == 0 && block.long() != 0 && block.long() & shape.long_bit(place) != 0 {
            return Bucket::Long;
        }
        Bucket::Short { first: block.start().saturating_add(before.into()), count }
    }

    /// The page itself.
    pub fn page(&self) -> &Page {
        &self.page
    }

    /// The memory that the page takes.
    pub fn memory(&self) -> usize {
        self.page.memory()
    }
}

#[inline]
fn block_of(line: &Line) -> Option<&Block> {
    Block::ref_from_bytes(line.as_bytes()).ok()
}

/// The bits of `long` that belong to the first `buckets` buckets of a block.
fn long_bits(shape: PostingShape, buckets: u32) -> u16 {
    (0..buckets).fold(0, |bits, place| bits | shape.long_bit(place))
}

/// A checked page of short entries.
#[derive(Debug, Clone)]
pub struct ShortPage {
    page: Page,
    shape: PostingShape,
    count: usize,
}

impl ShortPage {
    /// Checks a page of `count` entries.
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
        // If ids use the full range of their bits, every id is valid and no entry needs a check.
        if ids <= mask && (0..count).any(|i| page.entry(i) & mask >= ids) {
            return Err(broken(SHORT, "POST-5", 24, "an id is not below the segment's"));
        }
        Ok(page)
    }

    /// The number of entries in the page.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Entry `i`: the low part of a value, then an id. Zero past the last entry.
    pub fn entry(&self, i: usize) -> u64 {
        let width = self.shape.width();
        bits_at(self.page.payload(), i.saturating_mul(index(width)), width)
    }

    /// Appends the ids of those entries in `first..end` whose value has this low part. `lines` are those of a
    /// checked page. Entries past its last one read as zero.
    #[inline]
    pub fn push_ids(
        lines: &[Line],
        shape: PostingShape,
        (first, end): (usize, usize),
        low: u64,
        ids: &mut Vec<u32>,
    ) {
        let bytes = lines.as_bytes().get(HEADER_BYTES..).unwrap_or_default();
        let (width, id_bits) = (shape.width(), shape.id_bits());
        let mask = low_mask(id_bits);
        let mut start = first.saturating_mul(index(width));
        for _ in first..end {
            let entry = bits_at(bytes, start, width);
            start = start.saturating_add(index(width));
            if entry.checked_shr(id_bits) == Some(low) {
                ids.push(u32::try_from(entry & mask).unwrap_or(u32::MAX));
            }
        }
    }

    /// Prefetches the cache lines of the entries `first..end`.
    #[inline]
    pub fn prefetch(lines: &[Line], shape: PostingShape, (first, end): (usize, usize)) {
        let bit = |entry: usize| entry.saturating_mul(index(shape.width()));
        let line = |byte: usize| byte.saturating_add(HEADER_BYTES) / LINE;
        let range = line(bit(first) / 8)..line(bit(end).saturating_sub(1) / 8).saturating_add(1);
        lines.get(range).unwrap_or_default().iter().for_each(|l| prefetch(std::slice::from_ref(l)));
    }

    /// The page itself.
    pub fn page(&self) -> &Page {
        &self.page
    }

    /// The id of entry `i`, if its value has this low part.
    pub fn id_of(&self, i: usize, low: u64) -> Option<u32> {
        let entry = self.entry(i);
        let found = entry.checked_shr(self.shape.id_bits()).unwrap_or(0);
        (found == low).then_some(u32::try_from(entry & low_mask(self.shape.id_bits())).unwrap_or(0))
    }

    /// The memory that the page takes.
    pub fn memory(&self) -> usize {
        self.page.memory()
    }
}

/// Packs numbers of any width up to 63 bits into bytes.
#[derive(Debug, Default)]
pub struct BitWriter {
    bytes: Vec<u8>,
    /// The bits that do not fill a word yet.
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
            self.bytes.put_u64(self.open);
            self.open = number.wrapping_shr(bits.wrapping_sub(left));
            self.bits = left;
        }
    }

    /// Returns all bytes, with zeros after the last bit. Call `clear` before the next `push`.
    pub fn end(&mut self) -> &[u8] {
        self.bytes.put_low(self.open, index(self.bits.div_ceil(8)));
        (self.open, self.bits) = (0, 0);
        &self.bytes
    }

    /// Drops all bits.
    pub fn clear(&mut self) {
        self.bytes.clear();
        (self.open, self.bits) = (0, 0);
    }
}

#[cfg(test)]
#[path = "posting_directory_tests.rs"]
mod tests;
