//! The manifest: the list of segments and tombstone bitmaps of one state. Implements `format-spec/file.md`.
//!
//! In: the bytes that a superblock points to. Out: the scheme, the checkpointed sequence and the segments. All
//! extents are inside the data area and do not overlap. A manifest has at most 256 KiB, so it is read as a whole.
//! It does not know the commits in the write-ahead log.

use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::bytes::{
    Cursor, PutBytes, Seal, broken, index, is_aligned, last_checksum, position, round_up,
};
use super::tombstone_page;
use super::{DATA_START, DatabaseId};
use crate::error::{Error, Result};
use crate::scheme::Scheme;

const WHAT: &str = "manifest";

/// The first bytes of a manifest. `salvage` searches for them.
pub const MAGIC: [u8; 8] = *b"RINGMANI";

/// The most segments that a database may have. Merging keeps the number at about a dozen.
pub const MAX_SEGMENTS: u32 = 4095;

/// The length of the longest manifest.
pub const MAX_MANIFEST_BYTES: u32 = encoded_bytes(MAX_SEGMENTS);

/// The sizes of the part before the entries, of an entry, and of the checksum after the entries.
const HEAD_BYTES: u32 = 112;
const ENTRY_BYTES: u32 = 64;
const CHECKSUM_BYTES: u32 = 4;
const _: () = assert!(size_of::<Layout>() == 112 && size_of::<EntryLayout>() == 64);

/// The length of a manifest with this many segments.
const fn encoded_bytes(segments: u32) -> u32 {
    HEAD_BYTES.saturating_add(ENTRY_BYTES.saturating_mul(segments)).saturating_add(CHECKSUM_BYTES)
}

/// The layout of the part before the entries.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Layout {
    magic: [u8; 8],
    generation: U64,
    database_id: [u8; 16],
    scheme: [u8; 48],
    checkpointed_sequence: U64,
    next_extent_id: U64,
    dead_bytes: U64,
    segment_count: U32,
    reserved: U32,
}

/// The layout of the entry of a segment.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct EntryLayout {
    segment_id: U64,
    offset: U64,
    length: U64,
    header_checksum: U32,
    rows: U32,
    live_rows: U32,
    reserved: U32,
    tombstones_id: U64,
    tombstones_offset: U64,
    tombstones_length: U64,
}

/// A state of the database, without the commits that are only in the write-ahead log.
#[derive(Debug, Clone, PartialEq)]
pub struct Manifest {
    /// The generation of the first superblock that named this manifest.
    pub generation: u64,
    /// The database it belongs to.
    pub database: DatabaseId,
    /// The scheme of all signatures.
    pub scheme: Scheme,
    /// The checkpointed sequence: all commits up to this one are in segments.
    pub checkpointed: u64,
    /// The next free id. All segments and tombstone bitmaps have lower ids.
    pub next_extent: u64,
    /// The bytes of the data area that this state does not use.
    pub dead_bytes: u64,
    /// The segments in ascending order of their ids.
    pub segments: Vec<SegmentEntry>,
}

/// One segment of a state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SegmentEntry {
    /// The id of the segment.
    pub id: u64,
    /// The offset of the segment in the file.
    pub offset: u64,
    /// The length of the segment in bytes.
    pub length: u64,
    /// The checksum in the header page of the segment.
    pub header_checksum: u32,
    /// The number of rows, those with tombstones included.
    pub rows: u32,
    /// The number of rows without a tombstone.
    pub live_rows: u32,
    /// The tombstone bitmap; `None` if no row has a tombstone.
    pub tombstones: Option<ExtentEntry>,
}

/// The extent of a tombstone bitmap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExtentEntry {
    /// The id of the bitmap.
    pub id: u64,
    /// The offset of the bitmap in the file.
    pub offset: u64,
    /// The length of the bitmap in bytes.
    pub length: u64,
}

impl Manifest {
    /// The bytes that a manifest with this many segments takes in a file, padding included.
    pub fn padded_bytes(segments: usize) -> u64 {
        let segments = u32::try_from(segments).unwrap_or(u32::MAX);
        position(round_up(index(encoded_bytes(segments))))
    }

    /// Encodes the manifest. The last four bytes are the checksum that the superblock repeats.
    pub fn encode(&self) -> Vec<u8> {
        let layout = Layout {
            magic: MAGIC,
            generation: self.generation.into(),
            database_id: self.database,
            scheme: self.scheme.to_bytes(),
            checkpointed_sequence: self.checkpointed.into(),
            next_extent_id: self.next_extent.into(),
            dead_bytes: self.dead_bytes.into(),
            segment_count: u32::try_from(self.segments.len()).unwrap_or(u32::MAX).into(),
            reserved: 0.into(),
        };
        let mut bytes = layout.as_bytes().to_vec();
        for entry in &self.segments {
            bytes.extend_from_slice(entry.layout().as_bytes());
        }
        bytes.put_u32(Seal::of(self.database).checksum(&bytes));
        bytes
    }

    /// Decodes the manifest of a file whose data ends at `end_of_data`.
    pub fn decode(bytes: &[u8], end_of_data: u64) -> Result<Manifest> {
        let short = || broken(WHAT, "MAN-1", 0, "it is cut short");
        let (body, _) = bytes.split_last_chunk::<4>().ok_or_else(short)?;
        let mut cursor = Cursor::new(body);
        let layout = cursor.layout::<Layout>().ok_or_else(short)?;
        let seal = Seal::of(layout.database_id);
        if layout.magic != MAGIC || seal.checksum(body) != last_checksum(bytes) {
            return Err(broken(WHAT, "MAN-1", 0, "the checksum does not match"));
        }
        let count = layout.segment_count.get();
        let wrong_count = || broken(WHAT, "MAN-2", 104, format!("it claims {count} segments"));
        let entries = cursor.layouts::<EntryLayout>(index(count)).ok_or_else(wrong_count)?;
        if count > MAX_SEGMENTS || !cursor.rest().is_empty() || layout.reserved != 0 {
            return Err(wrong_count());
        }
        let manifest = Manifest {
            generation: layout.generation.get(),
            database: layout.database_id,
            scheme: Scheme::from_bytes(&layout.scheme).map_err(|e| e.shifted(32))?,
            checkpointed: layout.checkpointed_sequence.get(),
            next_extent: layout.next_extent_id.get(),
            dead_bytes: layout.dead_bytes.get(),
            segments: entries.iter().map(EntryLayout::entry).collect::<Result<_>>()?,
        };
        manifest.check(end_of_data)?;
        Ok(manifest)
    }

    /// MAN-4: the ids of segments ascend, no id occurs twice, and all ids are below the next free one. MAN-5: every
    /// extent is inside the data area, and no two overlap.
    fn check(&self, end_of_data: u64) -> Result<()> {
        let rising = self.segments.is_sorted_by(|a, b| a.id < b.id);
        if !rising || self.segments.iter().any(|s| s.extents().any(|b| b.id >= self.next_extent)) {
            return Err(broken(
                WHAT,
                "MAN-4",
                HEAD_BYTES.into(),
                "numbers of segments are out of order",
            ));
        }
        let mut extents: Vec<ExtentEntry> =
            self.segments.iter().flat_map(SegmentEntry::extents).collect();
        extents.sort_by_key(|extent| extent.id);
        if !extents.is_sorted_by(|a, b| a.id < b.id) {
            return Err(broken(WHAT, "MAN-4", HEAD_BYTES.into(), "two extents have one number"));
        }
        extents.sort_by_key(|extent| extent.offset);
        let mut free = DATA_START;
        for extent in &extents {
            let end = extent.offset.checked_add(extent.length);
            let inside = end.is_some_and(|end| end <= end_of_data);
            let fits = extent.offset >= free && inside && extent.length != 0;
            if !fits || !is_aligned(extent.offset) || !is_aligned(extent.length) {
                let detail = format!("extent {} does not lie in the data by itself", extent.id);
                return Err(broken(WHAT, "MAN-5", HEAD_BYTES.into(), detail));
            }
            free = end.unwrap_or(u64::MAX);
        }
        Ok(())
    }
}

impl SegmentEntry {
    /// The extents of the segment: its own, and that of its tombstone bitmap if it has one.
    pub fn extents(&self) -> impl Iterator<Item = ExtentEntry> + use<> {
        let own = ExtentEntry { id: self.id, offset: self.offset, length: self.length };
        std::iter::once(own).chain(self.tombstones)
    }

    fn layout(&self) -> EntryLayout {
        let none = ExtentEntry { id: 0, offset: 0, length: 0 };
        let tombstones = self.tombstones.unwrap_or(none);
        EntryLayout {
            segment_id: self.id.into(),
            offset: self.offset.into(),
            length: self.length.into(),
            header_checksum: self.header_checksum.into(),
            rows: self.rows.into(),
            live_rows: self.live_rows.into(),
            reserved: 0.into(),
            tombstones_id: tombstones.id.into(),
            tombstones_offset: tombstones.offset.into(),
            tombstones_length: tombstones.length.into(),
        }
    }
}

impl EntryLayout {
    /// MAN-3: the counts are possible. MAN-6: the segment has a tombstone bitmap exactly if it has tombstones.
    fn entry(&self) -> Result<SegmentEntry> {
        let tombstones = ExtentEntry {
            id: self.tombstones_id.get(),
            offset: self.tombstones_offset.get(),
            length: self.tombstones_length.get(),
        };
        let entry = SegmentEntry {
            id: self.segment_id.get(),
            offset: self.offset.get(),
            length: self.length.get(),
            header_checksum: self.header_checksum.get(),
            rows: self.rows.get(),
            live_rows: self.live_rows.get(),
            tombstones: (tombstones.id != 0).then_some(tombstones),
        };
        let refuse = |rule, detail| -> Result<SegmentEntry, Error> {
            Err(broken(WHAT, rule, HEAD_BYTES.into(), format!("segment {}: {detail}", entry.id)))
        };
        if entry.rows == 0 || entry.live_rows > entry.rows || entry.id == 0 || self.reserved != 0 {
            return refuse("MAN-3", "impossible counts");
        }
        let all_live = entry.live_rows == entry.rows;
        let expected = if all_live { 0 } else { tombstone_page::bitmap_bytes(entry.rows) };
        if entry.tombstones.is_none() != all_live || tombstones.length != expected {
            return refuse("MAN-6", "its tombstone bitmap does not fit its hidden rows");
        }
        if all_live && tombstones.offset != 0 {
            return refuse("MAN-6", "it has a place but no extent");
        }
        Ok(entry)
    }
}

#[cfg(test)]
#[path = "manifest_tests.rs"]
mod tests;
