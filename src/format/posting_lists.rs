//! The list table and list pages: the postings of values that too many signatures share for a short bucket.
//! Implements `format-spec/postings.md`.
//!
//! In: verified pages, or the ids of a new one. Out: checked views, or a payload. A long list is a run of pages.
//! Ids are in groups of 128, stored as the gaps between them with as many bits as the largest gap needs. The ids
//! after the last full group are stored as they are. A page starts with its first id, so it can be decoded without
//! the page before.

use bitpacking::{BitPacker, BitPacker4x};
use zerocopy::little_endian::{U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::bytes::{Cursor, broken, index, position, round_up};
use super::page::{HEADER_BYTES, Page};
use super::posting_directory::BitWriter;
use super::posting_shape::{PostingShape, bits_at};
use crate::error::Result;

/// The length of an entry of the list table.
const TABLE_ENTRY_BYTES: usize = 16;
const _: () = assert!(TABLE_ENTRY_BYTES == size_of::<TableEntry>());

const TABLE: &str = "list table";
const LIST: &str = "posting list";

/// The number of ids in a group.
pub const BLOCK_IDS: usize = BitPacker4x::BLOCK_LEN;
const _: () = assert!(BLOCK_IDS == 128);

/// The bytes of a group for each bit of its gaps.
const BYTES_PER_BIT: usize = 16;

/// The length of the largest group.
const BLOCK_BYTES: usize = 32 * BYTES_PER_BIT;

/// Converts the words of a group between the little-endian order of the file and the order of the machine, which
/// `bitpacking` uses.
fn turn(block: &mut [u8]) {
    if cfg!(target_endian = "big") {
        block.chunks_exact_mut(size_of::<u32>()).for_each(<[u8]>::reverse);
    }
}

/// The bytes of a group in the order of the machine: unchanged, or converted in `turned`.
fn as_ordered_here<'a>(block: &'a [u8], turned: &'a mut [u8; BLOCK_BYTES]) -> &'a [u8] {
    if cfg!(target_endian = "little") {
        return block;
    }
    let turned = turned.get_mut(..block.len()).unwrap_or_default();
    turned.copy_from_slice(block);
    turn(turned);
    turned
}

/// An entry of the list table: the list of one value of one slot.
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
    /// Makes the entry of a list from its slot, value, length, and first page in the region.
    pub fn new(slot: u16, value: u32, length: u32, page: u32) -> TableEntry {
        TableEntry {
            slot: slot.into(),
            zero: 0.into(),
            value: value.into(),
            length: length.into(),
            page: page.into(),
        }
    }

    /// Moves its page by this many units.
    pub fn move_by(&mut self, units: u32) {
        self.page = self.page.get().saturating_add(units).into();
    }

    /// The sort key: entries ascend by slot, then by value.
    pub fn order(&self) -> (u32, u32) {
        (self.slot.get().into(), self.value.get())
    }

    /// The number of ids in the list.
    pub fn length(&self) -> u32 {
        self.length.get()
    }

    /// The page number of its first page.
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
    /// Checks a page of `count` entries. `lists` is the range of bytes of the region that has the list pages.
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

    /// The entries in ascending order.
    pub fn entries(&self) -> &[TableEntry] {
        let mut cursor = Cursor::new(self.page.payload());
        cursor.layouts(self.page.payload().len() / TABLE_ENTRY_BYTES).unwrap_or_default()
    }

    /// The memory that the page takes.
    pub fn memory(&self) -> usize {
        self.page.memory()
    }
}

/// The layout of the start of a list page.
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

/// The position of a reader in a list page.
#[derive(Debug, Clone, Copy, Default)]
pub struct ListPlace {
    block: usize,
    offset: usize,
    /// The last id read. It has no meaning before the first group.
    last: u32,
}

impl ListPage {
    /// Checks a page, including every id in it.
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

    /// POST-8: ids ascend from the base and are below `ids`, and no group has more bits than necessary. Returns the
    /// last id.
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

    /// The slot and the value of the list.
    pub fn of(&self) -> (u32, u32) {
        (self.start.slot.get().into(), self.start.value.get())
    }

    /// The number of ids in the page.
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

    /// The length of the page in units of 64 bytes. The next page of the list starts after them.
    pub fn units(&self) -> u32 {
        let bytes = round_up(HEADER_BYTES.saturating_add(self.page.payload().len()));
        u32::try_from(position(bytes) / 64).unwrap_or(u32::MAX)
    }

    fn full_blocks(&self) -> usize {
        index(self.count()) / BLOCK_IDS
    }

    /// The number of ids after the last full group.
    fn tail(&self) -> usize {
        index(self.count()) % BLOCK_IDS
    }

    /// The bits of the gaps of each group.
    fn bits(&self) -> Option<&[u8]> {
        self.page.payload().get(size_of::<ListStart>()..)?.get(..self.full_blocks())
    }

    /// The bytes from a position on.
    fn rest(&self, place: ListPlace) -> &[u8] {
        let start = size_of::<ListStart>().saturating_add(self.full_blocks());
        let start = start.saturating_add(place.offset);
        self.page.payload().get(start..).unwrap_or_default()
    }

    /// The next ids, at most 128, and the bits of their group if it is full. `None` at the end.
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

    /// The next ids in ascending order, at most 128. `None` at the end of the page.
    pub fn next_block<'a>(
        &self,
        place: &mut ListPlace,
        ids: &'a mut [u32; BLOCK_IDS],
    ) -> Option<&'a [u32]> {
        self.next(place, ids).map(|(ids, _)| ids)
    }

    /// The memory that the page takes.
    pub fn memory(&self) -> usize {
        self.page.memory()
    }
}

/// The payload of a list page, under construction.
#[derive(Debug, Default)]
pub struct ListPageBuilder {
    bits: Vec<u8>,
    blocks: Vec<u8>,
    /// The first and the last id.
    ends: Option<(u32, u32)>,
}

impl ListPageBuilder {
    /// True if it has no ids.
    pub fn is_empty(&self) -> bool {
        self.ends.is_none()
    }

    fn bytes_with(&self, more: usize) -> usize {
        let own = self.bits.len().saturating_add(self.blocks.len());
        size_of::<ListStart>().saturating_add(own).saturating_add(more)
    }

    /// Adds a group of ids above those added so far. Returns `false` and changes nothing if the payload would
    /// exceed `room` bytes.
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

    /// True if this many more ids fit after the groups.
    pub fn has_room(&self, tail: usize, id_bits: u32, room: usize) -> bool {
        self.bytes_with(PostingShape::packed_bytes(tail, id_bits)) <= room
    }

    /// Finishes the payload with fewer than 128 further ids, and starts a new one.
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
