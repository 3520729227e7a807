//! Where postings stand: what follows from a scheme and a number of signatures alone. Mirrors
//! `format-spec/postings.md`.
//!
//! A slot's values are cut into buckets by their top bits, at most one entry each on average where values have
//! bits enough, so that a directory with two bits a bucket finds a list, and most often says that there is none.
//! What a bucket does not say of a value stands in its entries, before the id.

use super::bytes::{index, position, round_up};
use super::page::{HEADER_BYTES, PageKind, PagePlace};
use crate::scheme::Scheme;
use byteorder::{ByteOrder, LittleEndian};

/// Bytes of a block of the directory: a cache line.
pub const BLOCK_BYTES: usize = 64;

/// Bits for the lengths of its buckets.
pub const BLOCK_BITS: u32 = 448;

/// Bits that the lengths of a whole block take on average, at most: so many are left for those that are longer.
const MEAN_BITS: u32 = 360;

/// Blocks in every directory page but the last.
pub const BLOCKS_PER_PAGE: usize = 127;

/// Bytes before the blocks of a page, so that with the page's header they stand on lines.
pub const BEFORE_BLOCKS: usize = BLOCK_BYTES - HEADER_BYTES;

/// Most entries of a bucket that is not long.
pub const MOST_SHORT: usize = 254;

/// Entries in every page of the list table but the last.
pub const TABLE_PER_PAGE: u32 = 510;

/// Bytes of such an entry.
const TABLE_ENTRY_BYTES: u64 = 16;

/// Bytes of all pages of a run but its last.
const FULL_PAGE: u64 = 8_192;

/// Units of such a page.
const PAGE_UNITS: u64 = 128;

const _: () = assert!(HEADER_BYTES + BEFORE_BLOCKS + BLOCKS_PER_PAGE * BLOCK_BYTES == 8_192);

/// The measures of a segment's postings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PostingShape {
    slots: u32,
    value_bits: u32,
    bucket_bits: u32,
    id_bits: u32,
    ids: u32,
    postings: u64,
    /// r, bits of the directory for a bucket, on average, at most.
    mean_bits: u32,
    block_buckets: u32,
    short_per_page: u32,
}

impl PostingShape {
    /// For so many signatures, one of which may be that of the empty set.
    pub fn of(scheme: &Scheme, ids: u32, empty: bool) -> PostingShape {
        let slots = u32::from(scheme.slots.count);
        let value_bits = u32::from(scheme.slots.value_bits);
        let sets = ids.saturating_sub(u32::from(empty));
        let id_bits = bits_of(ids.saturating_sub(1));
        let bucket_bits = id_bits.min(value_bits);
        // n / 2^h, rounded up.
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

    /// Buckets in every block of the directory but the last.
    pub fn block_buckets(self) -> u32 {
        self.block_buckets
    }

    /// Whether a bucket with so many entries is not long, where those before it in its block take `used` bits,
    /// and so many come after it.
    #[inline]
    pub fn is_short(self, entries: usize, used: u32, after: u32) -> bool {
        let own = u32::try_from(entries).unwrap_or(u32::MAX).saturating_add(1);
        let others = self.mean_bits.saturating_mul(after).saturating_add(used);
        entries <= MOST_SHORT && own.saturating_add(others) <= BLOCK_BITS
    }

    /// Whether the buckets of some entries are all short, given the places of these buckets in their block. Places do not
    /// fall. The block has so many buckets, and in those before the first place so many short entries.
    #[inline]
    pub fn are_short(
        self,
        places: impl ExactSizeIterator<Item = u32>,
        buckets: u32,
        ones: u32,
    ) -> bool {
        // Up to an entry a bucket has its zero, those before it theirs, and each entry a one. Of a bucket's entries the last
        // one tells.
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

    /// The bit of a block's `long` for one of its buckets.
    pub fn long_bit(self, place: u32) -> u16 {
        let bit = place.saturating_mul(16).checked_div(self.block_buckets).unwrap_or(0);
        1_u16.checked_shl(bit).unwrap_or(0)
    }

    /// L, how many slots there are. Without any the region is empty.
    pub fn slots(self) -> u32 {
        self.slots
    }

    /// Signatures of the segment.
    pub fn ids(self) -> u32 {
        self.ids
    }

    /// v, bits of a value.
    pub fn value_bits(self) -> u32 {
        self.value_bits
    }

    /// h, bits of a value that give its bucket.
    pub fn bucket_bits(self) -> u32 {
        self.bucket_bits
    }

    /// l, bits of a value that its bucket does not give.
    pub fn low_bits(self) -> u32 {
        self.value_bits.saturating_sub(self.bucket_bits)
    }

    /// Bits of an id.
    pub fn id_bits(self) -> u32 {
        self.id_bits
    }

    /// w, bits of an entry: the low part of a value, then an id. Never more than 32.
    pub fn width(self) -> u32 {
        self.low_bits().saturating_add(self.id_bits)
    }

    /// How a value of a slot stands in postings.
    pub fn spread(self, value: u32) -> u32 {
        spread(value, self.value_bits)
    }

    /// Whether a slot and a value are possible.
    pub fn holds(self, slot: u32, value: u32) -> bool {
        slot < self.slots && bits_of(value) <= self.value_bits
    }

    /// The bucket of a value, counted over all slots, and the part of the value that it does not give.
    pub fn bucket(self, slot: u32, value: u32) -> (u64, u64) {
        let value = u64::from(value);
        let first = u64::from(slot).checked_shl(self.bucket_bits).unwrap_or(u64::MAX);
        let bucket = value.checked_shr(self.low_bits()).unwrap_or(0);
        (first.saturating_add(bucket), value & low_mask(self.low_bits()))
    }

    /// Buckets of all slots.
    pub fn buckets(self) -> u64 {
        u64::from(self.slots).checked_shl(self.bucket_bits).unwrap_or(u64::MAX)
    }

    /// Buckets in every page of the directory but the last.
    fn buckets_per_page(self) -> u64 {
        position(BLOCKS_PER_PAGE).saturating_mul(self.block_buckets.into())
    }

    /// Pages of the directory.
    pub fn directory_pages(self) -> u64 {
        self.buckets().div_ceil(self.buckets_per_page())
    }

    /// The block of a bucket of a page and its place there.
    pub fn block(self, i: usize) -> (usize, u32) {
        let length = index(self.block_buckets);
        let place = i.checked_rem(length).unwrap_or(0);
        (i.checked_div(length).unwrap_or(0), u32::try_from(place).unwrap_or(0))
    }

    /// The page of a bucket, its block there, and its place in the block.
    #[inline]
    pub fn block_of_bucket(self, bucket: u64) -> (u64, usize, u32) {
        let length = u64::from(self.block_buckets);
        let (block, place) = (bucket.checked_div(length), bucket.checked_rem(length));
        let (block, place) = (block.unwrap_or(0), u32::try_from(place.unwrap_or(0)).unwrap_or(0));
        let blocks = position(BLOCKS_PER_PAGE);
        let in_page = usize::try_from(block.checked_rem(blocks).unwrap_or(0)).unwrap_or(0);
        (block.checked_div(blocks).unwrap_or(0), in_page, place)
    }

    /// Buckets in page `i` of the directory.
    pub fn buckets_in_page(self, i: u64) -> usize {
        in_page(self.buckets(), self.buckets_per_page(), i)
    }

    /// Bytes of the directory.
    pub fn directory_bytes(self) -> u64 {
        let blocks = |buckets: usize| buckets.div_ceil(index(self.block_buckets));
        let bytes = |buckets| blocks(buckets).saturating_mul(BLOCK_BYTES);
        let payload = |left| bytes(left).saturating_add(BEFORE_BLOCKS);
        run_bytes(self.buckets(), self.buckets_per_page(), payload)
    }

    /// The place of page `i` of the directory.
    pub fn directory_place(self, block: u64, i: u64) -> PagePlace {
        place(PageKind::PostingDirectory, block, 0, i)
    }

    /// Entries in every short page but the last.
    pub fn short_per_page(self) -> u64 {
        self.short_per_page.into()
    }

    /// The short page of an entry and its place there.
    pub fn short_page(self, entry: u64) -> (u64, usize) {
        let per_page = self.short_per_page();
        let place = entry.checked_rem(per_page).unwrap_or(0);
        (entry.checked_div(per_page).unwrap_or(0), usize::try_from(place).unwrap_or(0))
    }

    /// Entries in short page `i` of so many entries.
    pub fn short_in_page(self, short: u64, i: u64) -> usize {
        in_page(short, self.short_per_page(), i)
    }

    /// Bytes of so many entries of `bits` bits.
    pub fn packed_bytes(entries: usize, bits: u32) -> usize {
        entries.saturating_mul(index(bits)).div_ceil(8)
    }

    /// Bytes of the short pages of so many entries.
    pub fn short_bytes(self, short: u64) -> u64 {
        run_bytes(short, self.short_per_page(), |left| Self::packed_bytes(left, self.width()))
    }

    /// The place of short page `i`.
    pub fn short_place(self, block: u64, i: u64) -> PagePlace {
        place(PageKind::ShortPostings, block, self.directory_bytes(), i)
    }

    /// Where the list table starts in the region, and where it ends, which is where lists start.
    pub fn table_bytes(self, short: u64, lists: u32) -> (u64, u64) {
        let start = self.directory_bytes().saturating_add(self.short_bytes(short));
        let entries = |left| position(left).saturating_mul(TABLE_ENTRY_BYTES);
        let entries = |left: usize| usize::try_from(entries(left)).unwrap_or(usize::MAX);
        (start, start.saturating_add(run_bytes(lists.into(), TABLE_PER_PAGE.into(), entries)))
    }

    /// The place of page `i` of the list table.
    pub fn table_place(self, block: u64, short: u64, i: u32) -> PagePlace {
        place(PageKind::PostingTable, block, self.table_bytes(short, 0).0, i.into())
    }

    /// Entries in page `i` of the list table.
    pub fn table_in_page(lists: u32, i: u32) -> usize {
        in_page(lists.into(), TABLE_PER_PAGE.into(), i.into())
    }

    /// POST-1: whether a region of so many bytes could hold so many short entries and long lists.
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

/// How many entries of so many bits fit into a short page.
fn short_per_page(width: u32) -> u32 {
    let room = PageKind::ShortPostings.max_payload().saturating_mul(8);
    u32::try_from(room.checked_div(index(width)).unwrap_or(1)).unwrap_or(1)
}

/// The place of page `i` of a run that starts at a byte of the region.
fn place(kind: PageKind, block: u64, start: u64, i: u64) -> PagePlace {
    let number = (start / 64).saturating_add(i.saturating_mul(PAGE_UNITS));
    PagePlace { kind, block, number: u32::try_from(number).unwrap_or(u32::MAX) }
}

/// Bytes of pages with so many items each, the last of which holds what is left.
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

/// Items in page `i` of such a run.
fn in_page(items: u64, per_page: u64, i: u64) -> usize {
    let left = items.saturating_sub(i.saturating_mul(per_page)).min(per_page);
    usize::try_from(left).unwrap_or(0)
}

/// How a value of so many bits (at most 32) stands in postings: values of popular elements are alike in
/// their top bits, and would crowd a few buckets.
pub fn spread(value: u32, bits: u32) -> u32 {
    let product = u64::from(value.wrapping_mul(2_654_435_761)) & low_mask(bits);
    u32::try_from(product).unwrap_or(0)
}

/// Bits that a number needs; 0 for 0.
pub fn bits_of(n: u32) -> u32 {
    u32::BITS.saturating_sub(n.leading_zeros())
}

/// The lowest so many bits, up to 63.
pub fn low_mask(bits: u32) -> u64 {
    1_u64.checked_shl(bits).map_or(u64::MAX, |bit| bit.saturating_sub(1))
}

/// The `bits` bits (at most 56) that start at a bit; bytes past the last count as zero.
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
