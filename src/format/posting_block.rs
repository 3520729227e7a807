//! A block of the posting directory: the number of entries of each of its buckets, in one cache line. Implements
//! `format-spec/postings.md`.
//!
//! In: the numbers of entries, or a cache line. Out: a block, or the entries of a bucket. The number of entries of
//! a bucket is stored in unary: as many ones, then a zero. With one entry per bucket this takes two bits per
//! bucket, and there is no largest number. A lookup finds the zero that ends the bucket before. The ones up to
//! there are the entries of earlier buckets. This module does not know the slots or the entries themselves.

use byteorder::{ByteOrder, LittleEndian};
use zerocopy::little_endian::{U16, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::bytes::index;
use super::posting_shape::{BLOCK_BITS, BLOCK_BYTES};

const WORDS: usize = 7;
const _: () = assert!(size_of::<Block>() == BLOCK_BYTES && BLOCK_BITS == 7 * u64::BITS);

/// A one in each byte of a word, and the highest bit in each byte.
const ONES: u64 = 0x0101_0101_0101_0101;
const HIGHEST: u64 = 0x8080_8080_8080_8080;

/// A block of the posting directory.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned, Debug, Clone, Copy)]
#[repr(C)]
pub struct Block {
    start: [u8; 6],
    long: U16,
    lengths: [U64; WORDS],
}

impl Block {
    /// The number of short entries in earlier blocks of the segment.
    pub fn start(&self) -> u64 {
        LittleEndian::read_u48(&self.start)
    }

    /// A bit for each part of the block that has long buckets.
    pub fn long(&self) -> u16 {
        self.long.get()
    }

    /// The number of short entries in the block.
    pub fn entries(&self) -> u32 {
        self.lengths.iter().map(|word| word.get().count_ones()).sum()
    }

    /// The number of short entries in the block before a bucket, and in the bucket. `None` if the block has no such
    /// bucket.
    #[inline]
    pub fn bucket(&self, place: u32) -> Option<(u32, u32)> {
        let mut words = self.lengths.iter().map(|word| word.get());
        let mut word = words.next()?;
        // The number of bits before the bucket, including the zero that ends the bucket before it.
        let mut before = 0_u32;
        if let Some(mut zeros) = place.checked_sub(1) {
            loop {
                let ends = bytes_up_to(!word);
                let here = u32::try_from(ends.wrapping_shr(56)).unwrap_or(0);
                if zeros < here {
                    let end = select(!word, ends, zeros).wrapping_add(1);
                    before = before.wrapping_add(end);
                    word = word.checked_shr(end).unwrap_or(0);
                    break;
                }
                zeros = zeros.wrapping_sub(here);
                before = before.wrapping_add(u64::BITS);
                word = words.next()?;
            }
        }
        let mut left = u64::BITS.wrapping_sub(before % u64::BITS);
        // The bucket before may end exactly at the end of a word. Then this one starts in the next word.
        if before > 0 && before.is_multiple_of(u64::BITS) {
            word = words.next()?;
        }
        let mut count = word.trailing_ones();
        while count >= left {
            let more = words.next()?.trailing_ones();
            (count, left) = (count.wrapping_add(more), left.wrapping_add(u64::BITS));
        }
        Some((before.wrapping_sub(place), count))
    }
}

/// For each byte of a word, the number of ones in it and in the bytes below it.
#[inline]
fn bytes_up_to(word: u64) -> u64 {
    let pairs = word.wrapping_sub(word >> 1 & 0x5555_5555_5555_5555);
    let fours = (pairs & 0x3333_3333_3333_3333).wrapping_add(pairs >> 2 & 0x3333_3333_3333_3333);
    (fours.wrapping_add(fours >> 4) & 0x0F0F_0F0F_0F0F_0F0F).wrapping_mul(ONES)
}

/// The position of the one that has `rank` ones below it, if there is one. `up_to` is `bytes_up_to(word)`.
#[inline]
fn select(word: u64, up_to: u64, rank: u32) -> u32 {
    // The bytes whose ones are all below the wanted one: those whose sum is not above the rank.
    let below = (u64::from(rank).wrapping_mul(ONES) | HIGHEST).wrapping_sub(up_to) & HIGHEST;
    let bytes = (below >> 7).wrapping_mul(ONES) >> 56;
    let byte = u32::try_from(bytes).unwrap_or(0).wrapping_mul(8);
    let before = up_to.wrapping_shl(8).checked_shr(byte).unwrap_or(0) & 0xFF;
    let mut rest = word.checked_shr(byte).unwrap_or(0);
    for _ in before..rank.into() {
        rest &= rest.wrapping_sub(1);
    }
    byte.wrapping_add(rest.trailing_zeros())
}

/// A block that is being filled, bucket by bucket.
#[derive(Debug, Default, Clone, Copy)]
pub struct BlockBuilder {
    lengths: [u64; WORDS],
    used: u32,
    buckets: u32,
    long: u16,
}

impl BlockBuilder {
    /// The number of buckets so far.
    #[inline]
    pub fn buckets(&self) -> u32 {
        self.buckets
    }

    /// The number of bits that the buckets take.
    #[inline]
    pub fn used(&self) -> u32 {
        self.used
    }

    /// Adds buckets without entries.
    #[inline]
    pub fn skip(&mut self, buckets: u32) {
        self.used = self.used.saturating_add(buckets);
        self.buckets = self.buckets.saturating_add(buckets);
    }

    /// Adds a bucket of short entries. The block must have room for it.
    #[inline]
    pub fn push(&mut self, entries: u32) {
        for bit in self.used..self.used.saturating_add(entries) {
            if let Some(word) = self.lengths.get_mut(index(bit / u64::BITS)) {
                *word |= 1_u64.wrapping_shl(bit);
            }
        }
        self.used = self.used.saturating_add(entries);
        self.skip(1);
    }

    /// Adds buckets of short entries. `places` has the bucket of each entry, as its place in the block. Places must
    /// not descend, and all must be after the buckets added so far. The block must have room.
    #[inline]
    pub fn extend(&mut self, places: impl Iterator<Item = u32>) {
        // The one of an entry follows the ones of all earlier entries and a zero for each earlier bucket.
        let mut ones = self.used.wrapping_sub(self.buckets);
        let mut last = None;
        for place in places {
            let bit = place.wrapping_add(ones);
            if let Some(word) = self.lengths.get_mut(index(bit / u64::BITS)) {
                *word |= 1_u64.wrapping_shl(bit);
            }
            ones = ones.wrapping_add(1);
            last = Some(place);
        }
        if let Some(last) = last {
            self.buckets = last.wrapping_add(1);
            self.used = self.buckets.wrapping_add(ones);
        }
    }

    /// Adds a long bucket, which sets this bit of `long`.
    pub fn push_long(&mut self, bit: u16) {
        self.long |= bit;
        self.skip(1);
    }

    /// Finishes the block, given the number of short entries in earlier blocks, and starts a new one.
    pub fn take(&mut self, start: u64) -> Block {
        let BlockBuilder { lengths, long, .. } = std::mem::take(self);
        let mut bytes = [0; 8];
        LittleEndian::write_u64(&mut bytes, start);
        let start = *bytes.first_chunk().unwrap_or(&[0; 6]);
        Block { start, long: long.into(), lengths: lengths.map(U64::new) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    #[test]
    fn spec_table_matches_the_struct() {
        let code = [
            ("start", offset_of!(Block, start), 6),
            ("long", offset_of!(Block, long), 2),
            ("lengths", offset_of!(Block, lengths), 56),
        ];
        let spec = include_str!("../../format-spec/postings.md");
        testkit::spec_tables::assert_matches(spec, "Directory pages", &code);
    }

    /// Compares with bits written one by one as the specification says: all lengths, with ends at and near word
    /// boundaries.
    #[test]
    fn lengths_read_back_wherever_they_stand() {
        let mut numbers = testkit::random::Random(5);
        let mut random = |limit: u64| numbers.below(limit);
        for round in 0..3_000 {
            let most = [1, 2, 3, 5, 20, 64, 65, 128, 255][round % 9];
            let (mut builder, mut lengths, mut bits) = (BlockBuilder::default(), vec![], vec![]);
            loop {
                let length = random(most) as u32;
                if builder.used() + length + 1 > BLOCK_BITS {
                    break;
                }
                if length == 0 {
                    builder.skip(1);
                } else {
                    builder.push(length);
                }
                lengths.push(length);
                bits.extend((0..length).map(|_| true).chain([false]));
            }
            assert_eq!(
                (builder.used() as usize, builder.buckets() as usize),
                (bits.len(), lengths.len())
            );
            let block = builder.take(round as u64);
            for (i, byte) in block.as_bytes()[8..].iter().enumerate() {
                for bit in 0..8 {
                    let expected = bits.get(8 * i + bit).copied().unwrap_or(false);
                    assert_eq!(byte >> bit & 1 == 1, expected);
                }
            }
            let mut before = 0;
            for (place, length) in lengths.iter().enumerate() {
                assert_eq!(
                    block.bucket(place as u32),
                    Some((before, *length)),
                    "{lengths:?} {place}"
                );
                before += length;
            }
            assert_eq!((block.entries(), block.start(), block.long()), (before, round as u64, 0));
            // The same block, built from the places of entries in two steps.
            let cut = lengths.len() / 2;
            let places = |range: std::ops::Range<usize>| {
                let each = range.flat_map(|i| std::iter::repeat_n(i as u32, lengths[i] as usize));
                each.collect::<Vec<u32>>()
            };
            let mut again = BlockBuilder::default();
            again.extend(places(0..cut).into_iter());
            again.extend(places(cut..lengths.len()).into_iter());
            assert_eq!(again.used() - again.buckets(), before);
            assert_eq!(again.take(round as u64).as_bytes(), block.as_bytes());
        }
    }

    #[test]
    fn what_has_no_end_is_no_bucket() {
        let mut block = BlockBuilder::default().take(0);
        assert_eq!(block.bucket(447), Some((0, 0)));
        assert_eq!((block.bucket(448), block.bucket(u32::MAX)), (None, None));
        block.lengths = [U64::new(u64::MAX); WORDS];
        assert_eq!((block.bucket(0), block.bucket(1)), (None, None));
        block.lengths[6] = U64::new(u64::MAX >> 1);
        assert_eq!((block.bucket(0), block.bucket(1)), (Some((0, 447)), None));
    }

    #[test]
    fn the_first_of_a_block_starts_with_its_place() {
        let mut builder = BlockBuilder::default();
        builder.push(2);
        builder.push_long(1 << 4);
        let block = builder.take(0xAB_CDEF_0123_4567);
        assert_eq!(block.as_bytes()[..9], [0x67, 0x45, 0x23, 0x01, 0xEF, 0xCD, 0x10, 0, 3]);
        assert_eq!((block.start(), block.long()), (0xCDEF_0123_4567, 16));
        assert_eq!((builder.buckets(), builder.used()), (0, 0), "a new one starts");
    }
}
