//! The list table and list pages: postings of values that too many signatures share for a bucket. Mirrors
//! `format-spec/postings.md`.
//!
//! A long list is a run of pages. Ids stand in blocks of 128 as the gaps between them, packed with as many
//! bits as the largest needs; what is left at the end stands as it is. A page starts with its first id, so
//! that it can be read by itself.

use bitpacking::{BitPacker, BitPacker4x};
use zerocopy::little_endian::{U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::bytes::{Cursor, broken, index, position, round_up};
use super::page::{HEADER_BYTES, Page};
use super::posting_directory::BitWriter;
use super::posting_shape::{PostingShape, bits_at};
use crate::error::Result;

/// Bytes of an entry of the list table.
const TABLE_ENTRY_BYTES: usize = 16;
const _: () = assert!(TABLE_ENTRY_BYTES == size_of::<TableEntry>());

const TABLE: &str = "list table";
const LIST: &str = "posting list";

/// Ids of a block.
pub const BLOCK_IDS: usize = BitPacker4x::BLOCK_LEN;
const _: () = assert!(BLOCK_IDS == 128);

/// Bytes of a block for each bit of its gaps.
const BYTES_PER_BIT: usize = 16;

/// Bytes of the largest block.
const BLOCK_BYTES: usize = 32 * BYTES_PER_BIT;

/// Turns the words of a block between the order of a file, which is little-endian, and that of the machine, in which
/// `bitpacking` reads and writes them.
fn turn(block: &mut [u8]) {
    if cfg!(target_endian = "big") {
        block.chunks_exact_mut(size_of::<u32>()).for_each(<[u8]>::reverse);
    }
}

/// The bytes of a block as the machine orders them: themselves, or turned in `turned`.
fn as_ordered_here<'a>(block: &'a [u8], turned: &'a mut [u8; BLOCK_BYTES]) -> &'a [u8] {
    if cfg!(target_endian = "little") {
        return block;
    }
    let turned = turned.get_mut(..block.len()).unwrap_or_default();
    turned.copy_from_slice(block);
    turn(turned);
    turned
}

/// An entry of the list table.
#[derive(
    FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned, Debug, Clone, Copy, PartialEq, Eq,
)]
#[repr(C)]
pub struct TableEntry {
    slot: U16,
    zero: U16,
    value: U32,
    length: U32,
    page: U32,
}

impl TableEntry {
    /// The list of a value: its length, and its first page in the region.
    pub fn new(slot: u16, value: u32, length: u32, page: u32) -> TableEntry {
        TableEntry {
            slot: slot.into(),
            zero: 0.into(),
            value: value.into(),
            length: length.into(),
            page: page.into(),
        }
    }

    /// Counts its page from so many units before.
    pub fn move_by(&mut self, units: u32) {
        self.page = self.page.get().saturating_add(units).into();
    }

    /// How entries rise.
    pub fn order(&self) -> (u32, u32) {
        (self.slot.get().into(), self.value.get())
    }

    /// Ids of the list.
    pub fn length(&self) -> u32 {
        self.length.get()
    }

    /// The number of its first page.
    pub fn page(&self) -> u32 {
        self.page.get()
    }
}

/// A checked page of the list table.
#[derive(Debug, Clone)]
pub struct ListTable {
    page: Page,
}

impl ListTable {
    /// Checks a page of so many entries of lists that stand between two bytes of the region.
    pub fn new(page: Page, shape: PostingShape, count: usize, lists: (u64, u64)) -> Result<Self> {
        let table = ListTable { page };
        let entries = table.entries();
        let whole = table.page.payload().len().is_multiple_of(size_of::<TableEntry>());
        if entries.len() != count || !whole || count == 0 {
            return Err(broken(TABLE, "POST-6", 20, format!("it does not hold {count} lists")));
        }
        let rising = entries.is_sorted_by(|a, b| a.order() < b.order() && a.page() < b.page());
        let possible = |entry: &TableEntry| {
            let start = u64::from(entry.page()).saturating_mul(64);
            let (slot, value) = entry.order();
            let inside = start >= lists.0 && start < lists.1;
            let length = entry.length() > 0 && entry.length() <= shape.ids();
            entry.zero == 0 && inside && length && shape.holds(slot, value)
        };
        if !rising || !entries.iter().all(possible) {
            return Err(broken(TABLE, "POST-6", 24, "its lists do not rise within their bounds"));
        }
        Ok(table)
    }

    /// The entries, rising.
    pub fn entries(&self) -> &[TableEntry] {
        let mut cursor = Cursor::new(self.page.payload());
        cursor.layouts(self.page.payload().len() / TABLE_ENTRY_BYTES).unwrap_or_default()
    }

    /// Memory that it takes.
    pub fn memory(&self) -> usize {
        self.page.memory()
    }
}

/// How a list page starts.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned, Debug, Clone, Copy)]
#[repr(C)]
pub struct ListStart {
    slot: U16,
    zero: U16,
    value: U32,
    count: U32,
    base: U32,
}

/// A checked page of a list.
#[derive(Debug, Clone)]
pub struct ListPage {
    page: Page,
    start: ListStart,
    id_bits: u32,
    last: u32,
}

/// How far a reader of a list page has come.
#[derive(Debug, Clone, Copy, Default)]
pub struct ListPlace {
    block: usize,
    offset: usize,
    /// The last id that was read; meaningless before the first block.
    last: u32,
}

impl ListPage {
    /// Checks a page: every id of it.
    pub fn new(page: Page, shape: PostingShape) -> Result<ListPage> {
        let Some(start) = Cursor::new(page.payload()).layout::<ListStart>().copied() else {
            return Err(broken(LIST, "POST-7", 20, "it is cut short"));
        };
        let mut page = ListPage { page, start, id_bits: shape.id_bits(), last: 0 };
        let (slot, value) = page.of();
        if start.zero != 0 || start.count == 0 || !shape.holds(slot, value) {
            return Err(broken(LIST, "POST-7", 24, "a list that cannot be"));
        }
        let bits = page.bits().filter(|bits| bits.iter().all(|bits| *bits <= 32));
        let blocks = bits.map(|bits| {
            let bits: usize = bits.iter().map(|bits| usize::from(*bits)).sum();
            bits.saturating_mul(BYTES_PER_BIT).saturating_add(page.full_blocks())
        });
        let tail = PostingShape::packed_bytes(page.tail(), page.id_bits);
        let length =
            blocks.map(|blocks| size_of::<ListStart>().saturating_add(blocks).saturating_add(tail));
        if length != Some(page.page.payload().len()) {
            return Err(broken(LIST, "POST-7", 24, "its blocks do not fill it"));
        }
        page.last = page.check_ids(shape.ids())?;
        Ok(page)
    }

    /// POST-8: ids rise from the base and stay below `ids`, and are packed as tightly as they can be. Gives
    /// the last.
    fn check_ids(&self, ids: u32) -> Result<u32> {
        let refuse = |detail: &str| Err(broken(LIST, "POST-8", 24, detail));
        let mut buffer = [0; BLOCK_IDS];
        let mut place = ListPlace::default();
        let mut last = None;
        while let Some((read, bits)) = self.next(&mut place, &mut buffer) {
            let (first, end) = (read.first().copied(), read.last().copied());
            let follows = match last {
                None => first == Some(self.start.base.get()),
                Some(_) => first > last,
            };
            if !follows || !read.is_sorted_by(|a, b| a < b) || end.is_none_or(|end| end >= ids) {
                return refuse("its ids do not rise from its base, or not below the segment's");
            }
            let before = last.or(first.and_then(|first| first.checked_sub(1)));
            if bits.is_some_and(|bits| {
                u32::from(bits)
                    != u32::from(BitPacker4x::new().num_bits_strictly_sorted(before, read))
            }) {
                return refuse("a block has more bits than its gaps need");
            }
            last = end;
        }
        let past = self.tail().saturating_mul(index(self.id_bits));
        if bits_at(self.rest(place), past, 8) != 0 {
            return refuse("bits past the last id are not zero");
        }
        last.map_or_else(|| refuse("no ids"), Ok)
    }

    /// The slot and the value whose list it belongs to.
    pub fn of(&self) -> (u32, u32) {
        (self.start.slot.get().into(), self.start.value.get())
    }

    /// How many ids it has.
    pub fn count(&self) -> u32 {
        self.start.count.get()
    }

    /// Its first id.
    pub fn first(&self) -> u32 {
        self.start.base.get()
    }

    /// Its last id.
    pub fn last(&self) -> u32 {
        self.last
    }

    /// How many units it takes: the next page of the list starts after them.
    pub fn units(&self) -> u32 {
        let bytes = round_up(HEADER_BYTES.saturating_add(self.page.payload().len()));
        u32::try_from(position(bytes) / 64).unwrap_or(u32::MAX)
    }

    fn full_blocks(&self) -> usize {
        index(self.count()) / BLOCK_IDS
    }

    /// Ids after the last full block.
    fn tail(&self) -> usize {
        index(self.count()) % BLOCK_IDS
    }

    /// The bits of each block's gaps.
    fn bits(&self) -> Option<&[u8]> {
        self.page.payload().get(size_of::<ListStart>()..)?.get(..self.full_blocks())
    }

    /// What stands at a place.
    fn rest(&self, place: ListPlace) -> &[u8] {
        let start = size_of::<ListStart>().saturating_add(self.full_blocks());
        let start = start.saturating_add(place.offset);
        self.page.payload().get(start..).unwrap_or_default()
    }

    /// The next ids, at most 128, and the bits of their block if it is a full one; `None` at the end.
    fn next<'a>(
        &self,
        place: &mut ListPlace,
        ids: &'a mut [u32; BLOCK_IDS],
    ) -> Option<(&'a [u32], Option<u8>)> {
        let block = place.block;
        place.block = block.saturating_add(1);
        if block >= self.full_blocks() {
            let tail = self.tail();
            if block > self.full_blocks() || tail == 0 {
                place.block = block;
                return None;
            }
            let (bytes, width) = (self.rest(*place), index(self.id_bits));
            let ids = ids.get_mut(..tail)?;
            for (i, id) in ids.iter_mut().enumerate() {
                let bits = bits_at(bytes, i.saturating_mul(width), self.id_bits);
                *id = u32::try_from(bits).unwrap_or(u32::MAX);
            }
            return Some((ids, None));
        }
        let bits = self.bits()?.get(block).copied()?;
        let bytes = self.rest(*place).get(..usize::from(bits).saturating_mul(BYTES_PER_BIT))?;
        let before = if block == 0 { self.first().checked_sub(1) } else { Some(place.last) };
        let mut turned = [0; BLOCK_BYTES];
        let packed = as_ordered_here(bytes, &mut turned);
        BitPacker4x::new().decompress_strictly_sorted(before, packed, ids, bits);
        place.offset = place.offset.saturating_add(bytes.len());
        place.last = ids.last().copied()?;
        Some((ids, Some(bits)))
    }

    /// The next ids, at most 128, rising; `None` at the end of the page.
    pub fn next_block<'a>(
        &self,
        place: &mut ListPlace,
        ids: &'a mut [u32; BLOCK_IDS],
    ) -> Option<&'a [u32]> {
        self.next(place, ids).map(|(ids, _)| ids)
    }

    /// Memory that it takes.
    pub fn memory(&self) -> usize {
        self.page.memory()
    }
}

/// The payload of a list page, being filled.
#[derive(Debug, Default)]
pub struct ListPageBuilder {
    bits: Vec<u8>,
    blocks: Vec<u8>,
    /// The first and the last id.
    ends: Option<(u32, u32)>,
}

impl ListPageBuilder {
    /// Whether it has no ids.
    pub fn is_empty(&self) -> bool {
        self.ends.is_none()
    }

    fn bytes_with(&self, more: usize) -> usize {
        let own = self.bits.len().saturating_add(self.blocks.len());
        size_of::<ListStart>().saturating_add(own).saturating_add(more)
    }

    /// Adds a block of ids above those that it has. `false`, and nothing is changed, if it does not fit
    /// into `room` bytes.
    pub fn push(&mut self, ids: &[u32; BLOCK_IDS], room: usize) -> bool {
        let [first, .., last] = *ids;
        let before = self.ends.map_or(first.checked_sub(1), |(_, last)| Some(last));
        let packer = BitPacker4x::new();
        let bits = packer.num_bits_strictly_sorted(before, ids);
        let bytes = usize::from(bits).saturating_mul(BYTES_PER_BIT);
        if self.bytes_with(bytes.saturating_add(1)) > room {
            return false;
        }
        let mut packed = [0; BLOCK_BYTES];
        packer.compress_strictly_sorted(before, ids, &mut packed, bits);
        let packed = packed.get_mut(..bytes).unwrap_or_default();
        turn(packed);
        self.blocks.extend_from_slice(packed);
        self.bits.push(bits);
        self.ends = Some((self.ends.map_or(first, |(first, _)| first), last));
        true
    }

    /// Whether this many ids more fit behind the blocks.
    pub fn has_room(&self, tail: usize, id_bits: u32, room: usize) -> bool {
        self.bytes_with(PostingShape::packed_bytes(tail, id_bits)) <= room
    }

    /// The payload of a page with these blocks and then fewer than 128 ids more; it starts anew.
    pub fn take(&mut self, slot: u16, value: u32, tail: &[u32], id_bits: u32) -> Vec<u8> {
        let base = self.ends.map(|(first, _)| first).or(tail.first().copied());
        let count = self.bits.len().saturating_mul(BLOCK_IDS).saturating_add(tail.len());
        let start = ListStart {
            slot: slot.into(),
            zero: 0.into(),
            value: value.into(),
            count: u32::try_from(count).unwrap_or(u32::MAX).into(),
            base: base.unwrap_or(0).into(),
        };
        let mut packed = BitWriter::default();
        tail.iter().for_each(|id| packed.push(u64::from(*id), id_bits));
        let payload = [start.as_bytes(), &self.bits, &self.blocks, packed.end()].concat();
        self.bits.clear();
        self.blocks.clear();
        self.ends = None;
        payload
    }
}

#[cfg(test)]
#[path = "posting_lists_tests.rs"]
mod tests;
