//! Writes sorted postings into pages.
//!
//! In: entries in ascending order of bucket, value and id. Out: the pages of the region. The positions of directory
//! and short pages are known from the start. Those of the list table and the lists depend on the number of short
//! entries, so these pages are kept without headers until the end.

use byteorder::{ByteOrder, LittleEndian};
use zerocopy::little_endian::U32;
use zerocopy::{FromBytes, IntoBytes};

use crate::error::{Error, Result};
use crate::format::bytes::{Seal, index, round_up};
use crate::format::page::{self, HEADER_BYTES, PageKind, PagePlace};
use crate::format::posting_block::BlockBuilder;
use crate::format::posting_directory::BitWriter;
use crate::format::posting_lists::{BLOCK_IDS, ListPageBuilder, TableEntry};
use crate::format::posting_shape::{
    BEFORE_BLOCKS, BLOCK_BYTES, BLOCKS_PER_PAGE, MOST_SHORT, PostingShape, TABLE_PER_PAGE, low_mask,
};
use crate::format::segment_header::MAX_REGION_BYTES;
use crate::store::spill::{Spill, SpillPlace};

/// Returns the place of a page that starts at byte `start` of its region.
pub(in crate::store::segment) fn place_at(
    kind: PageKind,
    extent: u64,
    start: u64,
) -> Result<PagePlace> {
    let number = u32::try_from(start / 64).map_err(|_| too_long())?;
    Ok(PagePlace { kind, extent, number })
}

fn too_long() -> Error {
    Error::invalid("a segment's region", "at most 256 GiB; keep segments smaller")
}

/// The finished region of postings.
#[derive(Debug)]
pub struct NewPostings {
    /// Its bytes, in order.
    pub parts: [Spill; 3],
    /// The number of entries in the short pages.
    pub short: u64,
    /// The number of lists in the list table.
    pub lists: u32,
}

impl NewPostings {
    /// Returns the length of the region in bytes.
    pub fn length(&self) -> u64 {
        self.parts.iter().map(Spill::length).sum()
    }
}

/// The pages that are being filled.
pub(super) struct PostingPages {
    extent: u64,
    seal: Seal,
    shape: PostingShape,
    directory: Directory,
    short: Short,
    lists: Lists,
    /// The current bucket, counted over all slots.
    bucket: u64,
    /// Its entries, while they are few.
    pending: Vec<u64>,
    /// Whether its entries are many and go into lists.
    long: bool,
}

struct Directory {
    spill: Spill,
    payload: Vec<u8>,
    block: BlockBuilder,
    /// The number of buckets before the open block, and how many the block will have.
    buckets: u64,
    length: u32,
    /// The number of short entries before the next bucket, and before the open block.
    entries: u64,
    first: u64,
}

struct Short {
    spill: Spill,
    bits: BitWriter,
    in_page: u64,
    per_page: u64,
}

struct Lists {
    /// Payloads, each after its length in 4 bytes.
    payloads: Spill,
    /// The total length of their pages, in units of 64 bytes.
    units: u64,
    /// Entries of the list table. Their page numbers count from the first list.
    table: Spill,
    count: u32,
    page: ListPageBuilder,
    open: Vec<u32>,
    /// The open list: its slot, value, length and first page.
    list: Option<(u16, u32, u32, u64)>,
}

impl PostingPages {
    pub(super) fn new(
        extent: u64,
        seal: Seal,
        shape: PostingShape,
        place: &SpillPlace,
    ) -> Result<PostingPages> {
        if shape.directory_bytes() > MAX_REGION_BYTES {
            return Err(too_long());
        }
        let spill = || Spill::new(place);
        Ok(PostingPages {
            extent,
            seal,
            shape,
            directory: Directory {
                spill: spill(),
                payload: Vec::new(),
                block: BlockBuilder::default(),
                buckets: 0,
                length: Directory::length_of_block(shape, 0),
                entries: 0,
                first: 0,
            },
            short: Short {
                spill: spill(),
                bits: BitWriter::default(),
                in_page: 0,
                per_page: shape.short_per_page(),
            },
            lists: Lists {
                payloads: spill(),
                units: 0,
                table: spill(),
                count: 0,
                page: ListPageBuilder::default(),
                open: Vec::with_capacity(BLOCK_IDS),
                list: None,
            },
            bucket: 0,
            pending: Vec::with_capacity(MOST_SHORT),
            long: false,
        })
    }

    /// Adds an entry to a bucket. The low bits of the entry are the low part of a value and an id. Higher bits are
    /// ignored. Buckets must ascend, and so must the entries of each.
    pub(super) fn push(&mut self, bucket: u64, entry: u64) -> Result<()> {
        if bucket != self.bucket {
            self.close_bucket()?;
            self.bucket = bucket;
        }
        if !self.long && self.pending.len() < MOST_SHORT {
            self.pending.push(entry);
            return Ok(());
        }
        if !self.long {
            self.long = true;
            for entry in std::mem::take(&mut self.pending) {
                self.push_long(entry)?;
            }
        }
        self.push_long(entry)
    }

    /// Adds all entries of some buckets. Above the bits that [`push`](Self::push) uses, an entry has its bucket
    /// number, counted from `first`.
    pub(super) fn push_all(&mut self, first: u64, entries: &[u64]) -> Result<()> {
        self.close_bucket()?;
        let width = self.shape.width();
        let mut rest = entries;
        while let Some(entry) = rest.first() {
            self.reach(first + (entry >> width))?;
            let end = self.directory.buckets + u64::from(self.directory.length);
            let count = rest.iter().take_while(|entry| first + (*entry >> width) < end).count();
            let (own, others) = rest.split_at(count);
            self.push_in_block(first, own)?;
            rest = others;
        }
        Ok(())
    }

    /// Adds entries whose buckets are in the open block.
    fn push_in_block(&mut self, first: u64, entries: &[u64]) -> Result<()> {
        let (shape, width, directory) = (self.shape, self.shape.width(), &mut self.directory);
        let (start, block) = (first.wrapping_sub(directory.buckets), &mut directory.block);
        let places = entries.iter().map(|entry| start.wrapping_add(entry >> width) as u32);
        if shape.are_short(places.clone(), directory.length, block.used() - block.buckets()) {
            block.extend(places);
            return self.push_short(entries);
        }
        let mut rest = entries;
        while let Some(entry) = rest.first() {
            let bucket = entry >> width;
            let count = rest.iter().take_while(|entry| *entry >> width == bucket).count();
            let (own, others) = rest.split_at(count);
            self.bucket = first + bucket;
            if count <= MOST_SHORT {
                self.push_few(own)?;
            } else {
                own.iter().try_for_each(|entry| self.push_long(*entry))?;
                self.close_long()?;
            }
            rest = others;
        }
        Ok(())
    }

    fn push_long(&mut self, entry: u64) -> Result<()> {
        let shape = self.shape;
        let slot = (self.bucket >> shape.bucket_bits()) as u16;
        let bucket = self.bucket & low_mask(shape.bucket_bits());
        let low = entry >> shape.id_bits() & low_mask(shape.low_bits());
        let value = (bucket << shape.low_bits() | low) as u32;
        let id = (entry & low_mask(shape.id_bits())) as u32;
        self.lists.push(slot, value, id, shape.id_bits())
    }

    /// Writes the entries of the current bucket.
    fn close_bucket(&mut self) -> Result<()> {
        if self.long {
            return self.close_long();
        }
        if self.pending.is_empty() {
            return Ok(());
        }
        let mut pending = std::mem::take(&mut self.pending);
        self.push_few(&pending)?;
        pending.clear();
        self.pending = pending;
        Ok(())
    }

    /// Ends a bucket whose entries are in lists.
    fn close_long(&mut self) -> Result<()> {
        self.long = false;
        self.lists.close(self.shape.id_bits())?;
        self.skip_buckets(self.bucket)?;
        let bit = self.shape.long_bit(self.directory.block.buckets());
        self.directory.block.push_long(bit);
        Ok(())
    }

    /// Writes a bucket with few entries: into short pages, unless its block has no room for the count.
    fn push_few(&mut self, entries: &[u64]) -> Result<()> {
        self.skip_buckets(self.bucket)?;
        let block = &mut self.directory.block;
        let after = self.directory.length - 1 - block.buckets();
        if !self.shape.is_short(entries.len(), block.used(), after) {
            entries.iter().try_for_each(|entry| self.push_long(*entry))?;
            return self.close_long();
        }
        block.push(entries.len() as u32);
        self.push_short(entries)
    }

    /// Writes entries into short pages.
    fn push_short(&mut self, entries: &[u64]) -> Result<()> {
        self.directory.entries += entries.len() as u64;
        let width = self.shape.width();
        let mask = low_mask(width);
        let mut rest = entries;
        while !rest.is_empty() {
            let short = &mut self.short;
            let (here, others) =
                rest.split_at(rest.len().min((short.per_page - short.in_page) as usize));
            here.iter().for_each(|entry| short.bits.push(entry & mask, width));
            short.in_page += here.len() as u64;
            if short.in_page == short.per_page {
                self.flush_short()?;
            }
            rest = others;
        }
        Ok(())
    }

    /// Closes blocks until `bucket` is in the open one. Skipped buckets are empty.
    #[inline]
    fn reach(&mut self, bucket: u64) -> Result<()> {
        while bucket - self.directory.buckets >= u64::from(self.directory.length) {
            self.close_block()?;
        }
        Ok(())
    }

    /// Marks the buckets between the last one and `bucket` as empty.
    fn skip_buckets(&mut self, bucket: u64) -> Result<()> {
        self.reach(bucket)?;
        let block = &mut self.directory.block;
        block.skip((bucket - self.directory.buckets) as u32 - block.buckets());
        Ok(())
    }

    /// Closes the open block. Its missing buckets are empty.
    fn close_block(&mut self) -> Result<()> {
        let (shape, directory) = (self.shape, &mut self.directory);
        let page = &mut directory.payload;
        if page.is_empty() {
            page.resize(BEFORE_BLOCKS, 0);
        }
        page.extend_from_slice(directory.block.take(directory.first).as_bytes());
        directory.first = directory.entries;
        directory.buckets += u64::from(directory.length);
        directory.length = Directory::length_of_block(shape, directory.buckets);
        if page.len() == BEFORE_BLOCKS + BLOCKS_PER_PAGE * BLOCK_BYTES {
            return self.flush_directory();
        }
        Ok(())
    }

    fn flush_directory(&mut self) -> Result<()> {
        let directory = &mut self.directory;
        if directory.payload.is_empty() {
            return Ok(());
        }
        let start = directory.spill.length();
        let place = place_at(PageKind::PostingDirectory, self.extent, start)?;
        directory.spill.push(&page::encode(place, &directory.payload, self.seal))?;
        directory.payload.clear();
        Ok(())
    }

    fn flush_short(&mut self) -> Result<()> {
        if self.short.in_page == 0 {
            return Ok(());
        }
        let start = self.shape.directory_bytes() + self.short.spill.length();
        let place = place_at(PageKind::ShortPostings, self.extent, start)?;
        self.short.spill.push(&page::encode(place, self.short.bits.end(), self.seal))?;
        self.short.bits.clear();
        self.short.in_page = 0;
        Ok(())
    }

    /// Ends the region.
    pub(super) fn finish(mut self) -> Result<NewPostings> {
        if self.shape.slots() > 0 {
            self.close_bucket()?;
        }
        while self.directory.length > 0 {
            self.close_block()?;
        }
        self.flush_directory()?;
        self.flush_short()?;
        debug_assert_eq!(self.directory.spill.length(), self.shape.directory_bytes());
        let short = self.directory.entries;
        let (table, lists) = self.shape.table_bytes(short, self.lists.count);
        let count = self.lists.count;
        let last = self.lists.seal(self.extent, self.seal, table, lists)?;
        let parts = [self.directory.spill, self.short.spill, last];
        let new = NewPostings { parts, short, lists: count };
        if new.length() > MAX_REGION_BYTES { Err(too_long()) } else { Ok(new) }
    }
}

impl Directory {
    /// Returns the number of buckets in the block that starts at bucket `first`.
    fn length_of_block(shape: PostingShape, first: u64) -> u32 {
        (shape.buckets() - first).min(shape.block_buckets().into()) as u32
    }
}

impl Lists {
    fn push(&mut self, slot: u16, value: u32, id: u32, id_bits: u32) -> Result<()> {
        match &mut self.list {
            Some((_, open, length, _)) if *open == value => *length += 1,
            _ => {
                self.close(id_bits)?;
                self.list = Some((slot, value, 1, self.units));
            }
        }
        self.open.push(id);
        let Ok(block) = <&[u32; BLOCK_IDS]>::try_from(&*self.open) else { return Ok(()) };
        let room = PageKind::PostingList.max_payload();
        if !self.page.push(block, room) {
            let block = *block;
            self.flush(&[], id_bits)?;
            self.page.push(&block, room);
        }
        self.open.clear();
        Ok(())
    }

    /// Ends the open list.
    fn close(&mut self, id_bits: u32) -> Result<()> {
        let tail = std::mem::take(&mut self.open);
        let room = PageKind::PostingList.max_payload();
        if !tail.is_empty() && !self.page.has_room(tail.len(), id_bits, room) {
            self.flush(&[], id_bits)?;
        }
        if !tail.is_empty() || !self.page.is_empty() {
            self.flush(&tail, id_bits)?;
        }
        self.open = tail;
        self.open.clear();
        let Some((slot, value, length, page)) = self.list.take() else { return Ok(()) };
        let page = u32::try_from(page).map_err(|_| too_long())?;
        self.count = self.count.checked_add(1).ok_or_else(too_long)?;
        self.table.push(TableEntry::new(slot, value, length, page).as_bytes())
    }

    /// Ends the open page.
    fn flush(&mut self, tail: &[u32], id_bits: u32) -> Result<()> {
        let (slot, value) = self.list.map_or((0, 0), |(slot, value, ..)| (slot, value));
        let payload = self.page.take(slot, value, tail, id_bits);
        self.payloads.push(U32::new(payload.len() as u32).as_bytes())?;
        self.units += round_up(HEADER_BYTES + payload.len()) as u64 / 64;
        self.payloads.push(&payload)
    }

    /// Returns the list table and the lists, with page headers. They start at bytes `table` and `lists` of the
    /// region.
    fn seal(self, extent: u64, seal: Seal, table: u64, lists: u64) -> Result<Spill> {
        let mut sealed = Spill::new(self.table.place());
        let mut buffer = vec![0; 16 * index(TABLE_PER_PAGE.min(self.count))];
        let mut read = 0;
        while read < self.table.length() {
            let bytes = (self.table.length() - read).min(buffer.len() as u64) as usize;
            self.table.read(&mut buffer[..bytes], read)?;
            let place = place_at(PageKind::PostingTable, extent, table + sealed.length())?;
            let entries = <[TableEntry]>::mut_from_bytes(&mut buffer[..bytes]);
            for entry in entries.expect("16 bytes each") {
                entry.move_by(u32::try_from(lists / 64).map_err(|_| too_long())?);
            }
            sealed.push(&page::encode(place, &buffer[..bytes], seal))?;
            read += bytes as u64;
        }
        debug_assert_eq!(table + sealed.length(), lists);
        let mut read = 0;
        while read < self.payloads.length() {
            let mut length = [0; 4];
            self.payloads.read(&mut length, read)?;
            buffer.resize(index(LittleEndian::read_u32(&length)), 0);
            self.payloads.read(&mut buffer, read + 4)?;
            let place = place_at(PageKind::PostingList, extent, table + sealed.length())?;
            sealed.push(&page::encode(place, &buffer, seal))?;
            read += 4 + buffer.len() as u64;
        }
        Ok(sealed)
    }
}
