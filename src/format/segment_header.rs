//! The header page of a segment: its scheme, its counts and its regions. Implements `format-spec/segment.md`.
//!
//! In: the payload of a verified header page. Out: a [`SegmentHeader`] whose counts and regions agree with each
//! other. The header repeats the database id and the scheme, so that salvage can read a segment when the rest of
//! the file is lost. Tombstones are not in the header: the manifest names their bitmap.

use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::bytes::{Cursor, broken, is_aligned};
use super::page::{self, HEADER_BYTES};
use super::posting_shape::PostingShape;
use super::record_pages::{RecordShape, Records};
use super::signature_page::SignatureShape;
use super::{DatabaseId, duplicates_page};
use crate::error::Result;
use crate::scheme::Scheme;

const WHAT: &str = "segment header";

/// The first bytes of the payload. `salvage` searches for them.
pub const MAGIC: [u8; 8] = *b"RINGSG3\n";

/// The length of a header page. The first region starts here.
pub const HEADER_PAGE_BYTES: u64 = 256;

/// The value of the field `empty_id` if no row has an empty set.
const NO_ID: u32 = u32::MAX;

/// The most rows in a segment. Ids are below this number, so `u32::MAX` can mean "none".
pub const MAX_ROWS: u32 = u32::MAX - 1;

/// The most bytes of a region. Page numbers have 32 bits and count units of 64 bytes.
pub const MAX_REGION_BYTES: u64 = 1 << 38;

/// The layout of the payload.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Layout {
    magic: [u8; 8],
    database_id: [u8; 16],
    scheme: [u8; 48],
    length: U64,
    first_sequence: U64,
    last_sequence: U64,
    rows: U32,
    ids: U32,
    empty_id: U32,
    reserved: U32,
    value_bytes: U64,
    signatures_length: U64,
    keys_offset: U64,
    keys_length: U64,
    duplicates_offset: U64,
    duplicates_length: U64,
    key_bytes: U64,
    root_page: U32,
    root_level: u8,
    zero: [u8; 3],
    postings_offset: U64,
    postings_length: U64,
    short_postings: U64,
    long_lists: U32,
    zero2: U32,
}

/// The rest of the payload, if the scheme keeps sets.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct KeptLayout {
    elements_offset: U64,
    elements_length: U64,
    set_bytes: U64,
}

/// The unverified contents of a page that starts like a header page.
#[derive(Debug, Clone)]
pub struct Claim {
    /// The id of the segment.
    pub extent: u64,
    /// The database that the segment belongs to.
    pub database: DatabaseId,
    /// The scheme of the signatures.
    pub scheme: Scheme,
}

impl Claim {
    /// Reads the claim of a page, or returns `None` if it does not start like a header page. `salvage` uses it.
    pub fn of(page: &[u8]) -> Option<Claim> {
        let extent = page::Claim::of(page)?.extent;
        let layout = Cursor::new(page.get(HEADER_BYTES..)?).layout::<Layout>()?;
        if layout.magic != MAGIC {
            return None;
        }
        let scheme = Scheme::from_bytes(&layout.scheme).ok()?;
        Some(Claim { extent, database: layout.database_id, scheme })
    }
}

/// The verified header of a segment.
#[derive(Debug, Clone, PartialEq)]
pub struct SegmentHeader {
    /// The database that the segment belongs to.
    pub database: DatabaseId,
    /// The scheme of the signatures.
    pub scheme: Scheme,
    /// The length of the whole segment in bytes.
    pub length: u64,
    /// The smallest sequence of a row. Leaf pages store sequences relative to it.
    pub first_sequence: u64,
    /// The largest sequence of a row.
    pub last_sequence: u64,
    /// The number of rows, including those with tombstones.
    pub rows: u32,
    /// The number of distinct signatures.
    pub ids: u32,
    /// The signature id of the empty set, if a row has an empty set.
    pub empty_id: Option<u32>,
    /// The region of signature pages, which follows the header page.
    pub signatures: Region,
    /// The region of leaf and fence pages.
    pub keys: Region,
    /// The region of duplicate rows.
    pub duplicates: Region,
    /// The total length of all keys.
    pub key_bytes: u64,
    /// The page number of the root fence page: its start in the region of keys, in units of 64 bytes.
    pub root_page: u32,
    /// The level of the root: 1 if its children are leaf pages.
    pub root_level: u8,
    /// The region of posting lists.
    pub postings: Region,
    /// The number of entries in the short pages of that region.
    pub short_postings: u64,
    /// The number of long posting lists.
    pub long_lists: u32,
    /// The region of kept sets, if the scheme keeps them.
    pub elements: Option<RecordRegion>,
    /// The region of values, if a row has one.
    pub values: Option<RecordRegion>,
}

/// The place of the kept sets of a segment, or of its values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordRegion {
    /// The region of records and their directory.
    pub region: Region,
    /// The total length of all records.
    pub bytes: u64,
}

/// A range of bytes in a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Region {
    /// The offset from the start of the segment.
    pub offset: u64,
    /// The length in bytes.
    pub length: u64,
}

impl Region {
    /// The offset of the first byte after the region.
    pub fn end(self) -> u64 {
        self.offset.saturating_add(self.length)
    }
}

impl SegmentHeader {
    /// Encodes the payload.
    pub fn encode(&self) -> Vec<u8> {
        let layout = Layout {
            magic: MAGIC,
            database_id: self.database,
            scheme: self.scheme.to_bytes(),
            length: self.length.into(),
            first_sequence: self.first_sequence.into(),
            last_sequence: self.last_sequence.into(),
            rows: self.rows.into(),
            ids: self.ids.into(),
            empty_id: self.empty_id.unwrap_or(NO_ID).into(),
            reserved: 0.into(),
            value_bytes: self.values.map_or(0, |values| values.bytes).into(),
            signatures_length: self.signatures.length.into(),
            keys_offset: self.keys.offset.into(),
            keys_length: self.keys.length.into(),
            duplicates_offset: self.duplicates.offset.into(),
            duplicates_length: self.duplicates.length.into(),
            key_bytes: self.key_bytes.into(),
            root_page: self.root_page.into(),
            root_level: self.root_level,
            zero: [0; 3],
            postings_offset: self.postings.offset.into(),
            postings_length: self.postings.length.into(),
            short_postings: self.short_postings.into(),
            long_lists: self.long_lists.into(),
            zero2: 0.into(),
        };
        let kept = self.elements.map(|kept| KeptLayout {
            elements_offset: kept.region.offset.into(),
            elements_length: kept.region.length.into(),
            set_bytes: kept.bytes.into(),
        });
        [layout.as_bytes(), kept.as_ref().map_or(&[], KeptLayout::as_bytes)].concat()
    }

    /// Decodes the payload of a verified header page.
    pub fn decode(payload: &[u8]) -> Result<SegmentHeader> {
        let refuse = |rule, detail: &str| Err(broken(WHAT, rule, 24, detail));
        let mut cursor = Cursor::new(payload);
        let Some(layout) = cursor.layout::<Layout>() else {
            return refuse("SEG-1", "it is cut short");
        };
        let zero = layout.reserved == 0 && layout.zero == [0; 3] && layout.zero2 == 0;
        if layout.magic != MAGIC || !zero {
            return refuse("SEG-1", "it does not look like one");
        }
        let scheme = Scheme::from_bytes(&layout.scheme).map_err(|e| e.shifted(48))?;
        let kept = if scheme.elements.are_kept() { cursor.layout::<KeptLayout>() } else { None };
        if kept.is_some() != scheme.elements.are_kept() || !cursor.rest().is_empty() {
            return refuse("SEG-1", "its length does not fit its scheme");
        }
        let empty_id = layout.empty_id.get();
        let header = SegmentHeader {
            database: layout.database_id,
            scheme,
            length: layout.length.get(),
            first_sequence: layout.first_sequence.get(),
            last_sequence: layout.last_sequence.get(),
            rows: layout.rows.get(),
            ids: layout.ids.get(),
            empty_id: (empty_id != NO_ID).then_some(empty_id),
            signatures: Region {
                offset: HEADER_PAGE_BYTES,
                length: layout.signatures_length.get(),
            },
            keys: Region { offset: layout.keys_offset.get(), length: layout.keys_length.get() },
            duplicates: Region {
                offset: layout.duplicates_offset.get(),
                length: layout.duplicates_length.get(),
            },
            key_bytes: layout.key_bytes.get(),
            root_page: layout.root_page.get(),
            root_level: layout.root_level,
            postings: Region {
                offset: layout.postings_offset.get(),
                length: layout.postings_length.get(),
            },
            short_postings: layout.short_postings.get(),
            long_lists: layout.long_lists.get(),
            elements: kept.map(|kept| RecordRegion {
                region: Region {
                    offset: kept.elements_offset.get(),
                    length: kept.elements_length.get(),
                },
                bytes: kept.set_bytes.get(),
            }),
            values: None,
        };
        let values = match layout.value_bytes.get() {
            0 => None,
            bytes => Some(header.value_region(bytes)),
        };
        let header = SegmentHeader { values, ..header };
        let h = &header;
        if h.rows == 0 || h.rows > MAX_ROWS || h.ids == 0 || h.ids > h.rows {
            return refuse("SEG-2", "impossible counts of rows and signatures");
        }
        if h.empty_id.is_some_and(|id| id >= h.ids) || h.first_sequence > h.last_sequence {
            return refuse("SEG-3", "impossible empty set or sequences");
        }
        let shape = SignatureShape::of(&h.scheme);
        let in_order = h.keys.offset == h.signatures.end()
            && h.duplicates.offset == h.keys.end()
            && h.postings.offset == h.duplicates.end()
            && h.elements.is_none_or(|kept| kept.region.offset == h.postings.end())
            && h.length == h.values.map_or(h.end_of_sets(), |values| values.region.end())
            && h.signatures.length == shape.region_bytes(h.ids)
            && h.duplicates.length == duplicates_page::region_bytes(h.duplicate_count());
        let regions = [h.signatures, h.keys, h.duplicates, h.postings];
        let records = h.elements.into_iter().chain(h.values).map(|records| records.region);
        let regions = regions.into_iter().chain(records);
        let short = regions.into_iter().all(|region| region.length <= MAX_REGION_BYTES);
        if !in_order || !short || !is_aligned(h.length) {
            return refuse("SEG-4", "its regions do not follow each other");
        }
        let root = u64::from(h.root_page).saturating_mul(64);
        if root >= h.keys.length || h.root_level == 0 || h.root_level > MAX_LEVELS {
            return refuse("SEG-5", "its root lies outside of its keys");
        }
        if !h.posting_shape().fits(h.postings.length, h.short_postings, h.long_lists) {
            return refuse("POST-1", "its postings do not have the length that their counts give");
        }
        let fit = |records: Option<RecordRegion>, shape: Option<RecordShape>| {
            records.zip(shape).is_none_or(|(records, shape)| {
                shape.bytes >= shape.count.into() && records.region.length == shape.region_bytes()
            })
        };
        if !fit(h.elements, h.elements_shape()) {
            return refuse("KEPT-5", "its sets do not have the length that their bytes give");
        }
        if !fit(h.values, h.values_shape()) {
            return refuse("VALUE-3", "its values do not have the length that their bytes give");
        }
        Ok(header)
    }

    /// The page layout of the kept sets, if the scheme keeps them.
    pub fn elements_shape(&self) -> Option<RecordShape> {
        let bytes = self.elements?.bytes;
        Some(RecordShape { records: Records::Sets, bytes, count: self.ids })
    }

    /// The page layout of the values, if a row has one.
    pub fn values_shape(&self) -> Option<RecordShape> {
        let bytes = self.values?.bytes;
        Some(RecordShape { records: Records::Values, bytes, count: self.rows })
    }

    /// The offset of the first byte after the kept sets, or after the postings if no sets are kept. Values start here.
    fn end_of_sets(&self) -> u64 {
        self.elements.map_or(self.postings.end(), |kept| kept.region.end())
    }

    /// The region of the values, which have this many bytes in all. The region extends to the end of the segment.
    fn value_region(&self, bytes: u64) -> RecordRegion {
        let offset = self.end_of_sets();
        let region = Region { offset, length: self.length.saturating_sub(offset) };
        RecordRegion { region, bytes }
    }

    /// The page layout of the posting lists.
    pub fn posting_shape(&self) -> PostingShape {
        PostingShape::of(&self.scheme, self.ids, self.empty_id.is_some())
    }

    /// The number of duplicate rows.
    pub fn duplicate_count(&self) -> u32 {
        self.rows.saturating_sub(self.ids)
    }
}

/// The most levels of fence pages. Two entries always fit into a fence page, so a level has about half as many pages as
/// the level below it, or fewer. So no segment needs 32 levels. The bound also stops a descent in a forged file.
pub const MAX_LEVELS: u8 = 32;

#[cfg(test)]
#[path = "segment_header_tests.rs"]
mod tests;
