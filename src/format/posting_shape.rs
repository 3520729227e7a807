//! The layout of the postings of a segment, as far as it follows from the scheme and the number of signatures.
//! Implements the quantities of `format-spec/postings.md` (POST-L2 to POST-L9).
//!
//! In: a scheme and counts. Out: widths, page counts and places of pages. The top bits of a value choose its
//! bucket. If values have enough bits, a bucket has at most one entry on average. A directory with two bits per
//! bucket then finds a list, or more often says that there is none. The other bits of a value are in the entries,
//! before the id. This module reads no pages.

use super::bytes::{index, position, round_up};
use super::page::{HEADER_BYTES, PageKind, PagePlace};
use crate::scheme::Scheme;
use byteorder::{ByteOrder, LittleEndian};

/// The length of a directory block: one cache line.
pub const BLOCK_BYTES: usize = 64;

/// The bits in a block for the lengths of its buckets.
pub const BLOCK_BITS: u32 = 448;

/// The most bits that the lengths of a full block take on average. The rest is room for longer buckets.
const MEAN_BITS: u32 = 360;

/// The number of blocks in every directory page but the last.
pub const BLOCKS_PER_PAGE: usize = 127;

/// The bytes before the blocks of a page. With the page header they fill a cache line, so blocks are aligned to
/// lines.
pub const BEFORE_BLOCKS: usize = BLOCK_BYTES - HEADER_BYTES;

/// The most entries of a short bucket.
pub const MOST_SHORT: usize = 254;

/// The number of entries in every page of the list table but the last.
pub const TABLE_PER_PAGE: u32 = 510;

/// The length of such an entry.
const TABLE_ENTRY_BYTES: u64 = 16;

/// The length of all pages of a run but its last.
const FULL_PAGE: u64 = 8_192;

/// The length of such a page in units of 64 bytes.
const PAGE_UNITS: u64 = 128;

const _: () = assert!(HEADER_BYTES + BEFORE_BLOCKS + BLOCKS_PER_PAGE * BLOCK_BYTES == 8_192);

/// The quantities that determine the layout of the postings of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PostingShape {
    slots: u32,
    value_bits: u32,
    bucket_bits: u32,
    id_bits: u32,
    ids: u32,
    postings: u64,
    /// `load` in the specification: bits of the directory that a bucket takes on average, at most.
    mean_bits: u32,
    block_buckets: u32,
    short_per_page: u32,
}

impl PostingShape {
    /// The shape for `ids` signatures. `empty` says that one of them is that of the empty set.
    pub fn of(scheme: &Scheme, ids: u32, empty: bool) -> PostingShape {
        let slots = u32::from(scheme.slots.count);
        let value_bits = u32::from(scheme.slots.value_bits);
        let sets = ids.saturating_sub(u32::from(empty));
        let id_bits = bits_of(ids.saturating_sub(1));
        let bucket_bits = id_bits.min(value_bits);
        // ids / 2^(bucket bits), rounded up.
        let mean = u64::from(ids).saturating_add(low_mask(bucket_bits)).checked_shr(bucket_bits);
        let mean_bits = u32::try_from(mean.unwrap_or(0)).unwrap_or(u32::MAX).saturating_add(1);
        PostingShape {
            slots,
            value_bits,
            bucket_bits,
            id_bits,
            ids,
            postings: u64::from(sets).saturating_mul(slots.into()),
            mean_bits,
            block_buckets: MEAN_BITS.checked_div(mean_bits).unwrap_or(0).max(1),
            short_per_page: short_per_page(value_bits.max(id_bits)),
        }
    }

    /// The number of buckets in every block of the directory but the last.
    pub fn block_buckets(self) -> u32 {
        self.block_buckets
    }

    /// POST-L6: true if a bucket with this many entries is short. The buckets before it in its block take `used`
    /// bits, and `after` buckets follow it.
    #[inline]
    pub fn is_short(self, entries: usize, used: u32, after: u32) -> bool {
        let own = u32::try_from(entries).unwrap_or(u32::MAX).saturating_add(1);
        let others = self.mean_bits.saturating_mul(after).saturating_add(used);
        entries <= MOST_SHORT && own.saturating_add(others) <= BLOCK_BITS
    }

    /// POST-L6 for several buckets at once: true if the buckets of all these entries are short. `places` has the
    /// bucket of each entry, as its place in the block, and must not descend. The block has `buckets` buckets.
    /// Those before the first place have `ones` short entries.
    #[inline]
    pub fn are_short(
        self,
        places: impl ExactSizeIterator<Item = u32>,
        buckets: u32,
        ones: u32,
    ) -> bool {
        // The bits up to an entry are a zero for each bucket up to its own and a one for each entry. The condition
        // is strictest for the last entry of a bucket, where it is that of `is_short`.
        let few = places.len() <= MOST_SHORT;
        let room = BLOCK_BITS.saturating_sub(ones).saturating_sub(1);
        let mut all = few;
        for (i, place) in (1_u32..).zip(places) {
            let after = buckets.wrapping_sub(1).wrapping_sub(place);
            let bits = self.mean_bits.wrapping_mul(after).wrapping_add(place).wrapping_add(i);
            all &= bits <= room;
        }
        all
    }

    /// The bit of `long` that belongs to a bucket of a block.
    pub fn long_bit(self, place: u32) -> u16 {
        let bit = place.saturating_mul(16).checked_div(self.block_buckets).unwrap_or(0);
        1_u16.checked_shl(bit).unwrap_or(0)
    }

    /// L, the number of slots. Without slots the region is empty.
    pub fn slots(self) -> u32 {
        self.slots
    }

    /// The number of signatures of the segment.
    pub fn ids(self) -> u32 {
        self.ids
    }

    /// v, the bits of a value.
    pub fn value_bits(self) -> u32 {
        self.value_bits
    }

    /// The bits of a value that give its bucket.
    pub fn bucket_bits(self) -> u32 {
        self.bucket_bits
    }

    /// The bits of a value that its bucket does not give.
    pub fn low_bits(self) -> u32 {
        self.value_bits.saturating_sub(self.bucket_bits)
    }

    /// The bits of an id.
    pub fn id_bits(self) -> u32 {
        self.id_bits
    }

    /// The bits of an entry: the low part of a value, then an id. At most 32.
    pub fn width(self) -> u32 {
        self.low_bits().saturating_add(self.id_bits)
    }

    /// The scrambled form of a slot value, which postings use (POST-L2).
    pub fn spread(self, value: u32) -> u32 {
        spread(value, self.value_bits)
    }

    /// True if a slot and a value are possible.
    pub fn holds(self, slot: u32, value: u32) -> bool {
        slot < self.slots && bits_of(value) <= self.value_bits
    }

    /// The bucket of a value, numbered over all slots, and the low part of the value.
    pub fn bucket(self, slot: u32, value: u32) -> (u64, u64) {
        let value = u64::from(value);
        let first = u64::from(slot).checked_shl(self.bucket_bits).unwrap_or(u64::MAX);
        let bucket = value.checked_shr(self.low_bits()).unwrap_or(0);
        (first.saturating_add(bucket), value & low_mask(self.low_bits()))
    }

    /// The number of buckets of all slots.
    pub fn buckets(self) -> u64 {
        u64::from(self.slots).checked_shl(self.bucket_bits).unwrap_or(u64::MAX)
    }

    /// The number of buckets in every page of the directory but the last.
    fn buckets_per_page(self) -> u64 {
        position(BLOCKS_PER_PAGE).saturating_mul(self.block_buckets.into())
    }

    /// The number of pages of the directory.
    pub fn directory_pages(self) -> u64 {
        self.buckets().div_ceil(self.buckets_per_page())
    }

    /// The block of bucket `i` of a page, and the place of the bucket in the block.
    pub fn block(self, i: usize) -> (usize, u32) {
        let length = index(self.block_buckets);
        let place = i.checked_rem(length).unwrap_or(0);
        (i.checked_div(length).unwrap_or(0), u32::try_from(place).unwrap_or(0))
    }

    /// The page of a bucket, its block in the page, and its place in the block.
    #[inline]
    pub fn block_of_bucket(self, bucket: u64) -> (u64, usize, u32) {
        let length = u64::from(self.block_buckets);
        let (block, place) = (bucket.checked_div(length), bucket.checked_rem(length));
        let (block, place) = (block.unwrap_or(0), u32::try_from(place.unwrap_or(0)).unwrap_or(0));
        let blocks = position(BLOCKS_PER_PAGE);
        let in_page = usize::try_from(block.checked_rem(blocks).unwrap_or(0)).unwrap_or(0);
        (block.checked_div(blocks).unwrap_or(0), in_page, place)
    }

    /// The number of buckets in page `i` of the directory.
    pub fn buckets_in_page(self, i: u64) -> usize {
        in_page(self.buckets(), self.buckets_per_page(), i)
    }

    /// The length of the directory in bytes.
    pub fn directory_bytes(self) -> u64 {
        let blocks = |buckets: usize| buckets.div_ceil(index(self.block_buckets));
        let bytes = |buckets| blocks(buckets).saturating_mul(BLOCK_BYTES);
        let payload = |left| bytes(left).saturating_add(BEFORE_BLOCKS);
        run_bytes(self.buckets(), self.buckets_per_page(), payload)
    }

    /// The place of page `i` of the directory.
    pub fn directory_place(self, extent: u64, i: u64) -> PagePlace {
        place(PageKind::PostingDirectory, extent, 0, i)
    }

    /// The number of entries in every short page but the last.
    pub fn short_per_page(self) -> u64 {
        self.short_per_page.into()
    }

    /// The short page of an entry, and its place in the page.
    pub fn short_page(self, entry: u64) -> (u64, usize) {
        let per_page = self.short_per_page();
        let place = entry.checked_rem(per_page).unwrap_or(0);
        (entry.checked_div(per_page).unwrap_or(0), usize::try_from(place).unwrap_or(0))
    }

    /// The number of entries in short page `i`, if there are `short` entries in all.
    pub fn short_in_page(self, short: u64, i: u64) -> usize {
        in_page(short, self.short_per_page(), i)
    }

    /// The length of `entries` packed numbers of `bits` bits.
    pub fn packed_bytes(entries: usize, bits: u32) -> usize {
        entries.saturating_mul(index(bits)).div_ceil(8)
    }

    /// The length of the short pages of `short` entries.
    pub fn short_bytes(self, short: u64) -> u64 {
        run_bytes(short, self.short_per_page(), |left| Self::packed_bytes(left, self.width()))
    }

    /// The place of short page `i`.
    pub fn short_place(self, extent: u64, i: u64) -> PagePlace {
        place(PageKind::ShortPostings, extent, self.directory_bytes(), i)
    }

    /// The start of the list table in the region, and its end. Lists start at the end.
    pub fn table_bytes(self, short: u64, lists: u32) -> (u64, u64) {
        let start = self.directory_bytes().saturating_add(self.short_bytes(short));
        let entries = |left| position(left).saturating_mul(TABLE_ENTRY_BYTES);
        let entries = |left: usize| usize::try_from(entries(left)).unwrap_or(usize::MAX);
        (start, start.saturating_add(run_bytes(lists.into(), TABLE_PER_PAGE.into(), entries)))
    }

    /// The place of page `i` of the list table.
    pub fn table_place(self, extent: u64, short: u64, i: u32) -> PagePlace {
        place(PageKind::PostingTable, extent, self.table_bytes(short, 0).0, i.into())
    }

    /// The number of entries in page `i` of the list table.
    pub fn table_in_page(lists: u32, i: u32) -> usize {
        in_page(lists.into(), TABLE_PER_PAGE.into(), i.into())
    }

    /// POST-1: true if a region of this length could hold this many short entries and long lists.
    pub fn fits(self, length: u64, short: u64, lists: u32) -> bool {
        if self.slots == 0 {
            return length == 0 && short == 0 && lists == 0;
        }
        let (_, fixed) = self.table_bytes(short, lists);
        let least = fixed.saturating_add(u64::from(lists).saturating_mul(64));
        match lists {
            0 => length == fixed && short == self.postings,
            _ => length >= least && short < self.postings,
        }
    }
}

/// The number of entries of `width` bits that fit into a short page.
fn short_per_page(width: u32) -> u32 {
    let room = PageKind::ShortPostings.max_payload().saturating_mul(8);
    u32::try_from(room.checked_div(index(width)).unwrap_or(1)).unwrap_or(1)
}

/// The place of page `i` of a run that starts at this byte of the region.
fn place(kind: PageKind, extent: u64, start: u64, i: u64) -> PagePlace {
    let number = (start / 64).saturating_add(i.saturating_mul(PAGE_UNITS));
    PagePlace { kind, extent, number: u32::try_from(number).unwrap_or(u32::MAX) }
}

/// The length of a run of pages with `per_page` items each. The last page holds the rest.
fn run_bytes(items: u64, per_page: u64, payload: impl Fn(usize) -> usize) -> u64 {
    let full = items.checked_div(per_page).unwrap_or(0).saturating_mul(FULL_PAGE);
    match items.checked_rem(per_page).unwrap_or(0) {
        0 => full,
        left => {
            let payload = payload(usize::try_from(left).unwrap_or(usize::MAX));
            full.saturating_add(position(round_up(HEADER_BYTES.saturating_add(payload))))
        }
    }
}

/// The number of items in page `i` of such a run.
fn in_page(items: u64, per_page: u64, i: u64) -> usize {
    let left = items.saturating_sub(i.saturating_mul(per_page)).min(per_page);
    usize::try_from(left).unwrap_or(0)
}

/// Scrambles a value of `bits` bits, at most 32 (POST-L2). The values of popular elements agree in their top bits
/// and would otherwise crowd into a few buckets.
pub fn spread(value: u32, bits: u32) -> u32 {
    let product = u64::from(value.wrapping_mul(2_654_435_761)) & low_mask(bits);
    u32::try_from(product).unwrap_or(0)
}

/// The number of bits that a number needs; 0 for 0.
pub fn bits_of(n: u32) -> u32 {
    u32::BITS.saturating_sub(n.leading_zeros())
}

/// A mask of the lowest `bits` bits, up to 63.
pub fn low_mask(bits: u32) -> u64 {
    1_u64.checked_shl(bits).map_or(u64::MAX, |bit| bit.saturating_sub(1))
}

/// Reads `bits` bits, at most 56, from bit `start` on. Bytes past the end count as zero.
pub fn bits_at(bytes: &[u8], start: usize, bits: u32) -> u64 {
    let rest = bytes.get(start / 8..).unwrap_or_default();
    let word = match rest.first_chunk::<8>() {
        Some(word) => LittleEndian::read_u64(word),
        None => rest.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)),
    };
    word >> (start % 8) & low_mask(bits)
}

#[cfg(test)]
#[path = "posting_shape_tests.rs"]
mod tests;
