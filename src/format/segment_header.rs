//! The header page of a segment: how many rows, which scheme, where its regions are. Mirrors
//! `format-spec/segment.md`.
//!
//! It repeats the database id and the scheme, so that a segment can be read when nothing else of a file
//! is left.

use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::bytes::{Cursor, broken, is_aligned};
use super::elements_page::ElementsShape;
use super::page::{self, HEADER_BYTES};
use super::posting_shape::PostingShape;
use super::signature_page::SignatureShape;
use super::{DatabaseId, copies_page};
use crate::error::Result;
use crate::scheme::Scheme;

const WHAT: &str = "segment header";

/// How the payload starts; `salvage` looks for it.
pub const MAGIC: [u8; 8] = *b"RINGSG2\n";

/// Length of a header page: the first region starts here.
pub const HEADER_PAGE_BYTES: u64 = 256;

/// In place of the id of the empty set, where no row has it.
const NO_ID: u32 = u32::MAX;

/// Most rows of a segment. The numbers above mean "none".
pub const MAX_ROWS: u32 = u32::MAX - 1;

/// Longest region: its page numbers have 32 bits and count units of 64 bytes.
pub const MAX_REGION_BYTES: u64 = 1 << 38;

/// The payload, field by field.
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
    signatures_offset: U64,
    signatures_length: U64,
    keys_offset: U64,
    keys_length: U64,
    copies_offset: U64,
    copies_length: U64,
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

/// What follows it if the scheme keeps sets.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct KeptLayout {
    elements_offset: U64,
    elements_length: U64,
    set_bytes: U64,
}

/// What bytes claim that look like the header page of a segment. Nothing of it is verified.
#[derive(Debug, Clone)]
pub struct Claim {
    /// The number of the segment.
    pub block: u64,
    /// The database it belongs to.
    pub database: DatabaseId,
    /// The scheme of its signatures.
    pub scheme: Scheme,
}

impl Claim {
    /// What these bytes claim, if they start as a header page does; `salvage` looks for it.
    pub fn of(page: &[u8]) -> Option<Claim> {
        let block = page::Claim::of(page)?.block;
        let layout = Cursor::new(page.get(HEADER_BYTES..)?).layout::<Layout>()?;
        if layout.magic != MAGIC {
            return None;
        }
        let scheme = Scheme::from_bytes(&layout.scheme).ok()?;
        Some(Claim { block, database: layout.database_id, scheme })
    }
}

/// What a segment is.
#[derive(Debug, Clone, PartialEq)]
pub struct SegmentHeader {
    /// The database it belongs to.
    pub database: DatabaseId,
    /// The scheme of its signatures.
    pub scheme: Scheme,
    /// Bytes of the whole segment.
    pub length: u64,
    /// The smallest sequence of a row; sequences in leaves count from it.
    pub first_sequence: u64,
    /// The largest sequence of a row.
    pub last_sequence: u64,
    /// Rows, hidden ones too.
    pub rows: u32,
    /// Distinct signatures.
    pub ids: u32,
    /// The id of the empty set, if a row has it.
    pub empty_id: Option<u32>,
    /// The region of signature pages.
    pub signatures: Region,
    /// The region of leaf and fence pages.
    pub keys: Region,
    /// The region of copies: rows whose signature an earlier row has too.
    pub copies: Region,
    /// Length of all keys together.
    pub key_bytes: u64,
    /// Where the topmost fence page starts in the region of keys, in units.
    pub root_page: u32,
    /// Its level: 1 if its children are leaves.
    pub root_level: u8,
    /// The region of postings: which signatures have a value in a slot.
    pub postings: Region,
    /// Entries in the short pages of that region.
    pub short_postings: u64,
    /// Lists in its list table.
    pub long_lists: u32,
    /// The region of sets, if the scheme keeps them.
    pub elements: Option<KeptRegion>,
}

/// Where the sets of a segment are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeptRegion {
    /// The region of sets and their directory.
    pub region: Region,
    /// Bytes of all encoded sets together.
    pub set_bytes: u64,
}

/// A run of bytes in a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Region {
    /// From the segment's start.
    pub offset: u64,
    /// In bytes.
    pub length: u64,
}

impl Region {
    /// The first byte after it.
    pub fn end(self) -> u64 {
        self.offset.saturating_add(self.length)
    }
}

impl SegmentHeader {
    /// The payload's bytes.
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
            signatures_offset: self.signatures.offset.into(),
            signatures_length: self.signatures.length.into(),
            keys_offset: self.keys.offset.into(),
            keys_length: self.keys.length.into(),
            copies_offset: self.copies.offset.into(),
            copies_length: self.copies.length.into(),
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
            set_bytes: kept.set_bytes.into(),
        });
        [layout.as_bytes(), kept.as_ref().map_or(&[], KeptLayout::as_bytes)].concat()
    }

    /// Reads the payload of a verified header page.
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
            return refuse("SEG-1", "it has another length than those of its scheme");
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
                offset: layout.signatures_offset.get(),
                length: layout.signatures_length.get(),
            },
            keys: Region { offset: layout.keys_offset.get(), length: layout.keys_length.get() },
            copies: Region {
                offset: layout.copies_offset.get(),
                length: layout.copies_length.get(),
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
            elements: kept.map(|kept| KeptRegion {
                region: Region {
                    offset: kept.elements_offset.get(),
                    length: kept.elements_length.get(),
                },
                set_bytes: kept.set_bytes.get(),
            }),
        };
        let h = &header;
        if h.rows == 0 || h.rows > MAX_ROWS || h.ids == 0 || h.ids > h.rows {
            return refuse("SEG-2", "impossible counts of rows and signatures");
        }
        if h.empty_id.is_some_and(|id| id >= h.ids) || h.first_sequence > h.last_sequence {
            return refuse("SEG-3", "impossible empty set or sequences");
        }
        let shape = SignatureShape::of(&h.scheme);
        let in_order = h.signatures.offset == HEADER_PAGE_BYTES
            && h.keys.offset == h.signatures.end()
            && h.copies.offset == h.keys.end()
            && h.postings.offset == h.copies.end()
            && h.elements.is_none_or(|kept| kept.region.offset == h.postings.end())
            && h.length == h.elements.map_or(h.postings.end(), |kept| kept.region.end())
            && h.signatures.length == shape.region_bytes(h.ids)
            && h.copies.length == copies_page::region_bytes(h.copy_count());
        let regions = [h.signatures, h.keys, h.copies, h.postings];
        let regions = regions.into_iter().chain(h.elements.map(|kept| kept.region));
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
        let kept_fit = h.elements.zip(h.elements_shape()).is_none_or(|(kept, shape)| {
            shape.set_bytes >= u64::from(h.ids) && kept.region.length == shape.region_bytes()
        });
        if !kept_fit {
            return refuse("KEPT-5", "its sets do not have the length that their bytes give");
        }
        Ok(header)
    }

    /// The measures of its sets, if the scheme keeps them.
    pub fn elements_shape(&self) -> Option<ElementsShape> {
        let kept = self.elements?;
        Some(ElementsShape { set_bytes: kept.set_bytes, ids: self.ids })
    }

    /// The measures of its postings.
    pub fn posting_shape(&self) -> PostingShape {
        PostingShape::of(&self.scheme, self.ids, self.empty_id.is_some())
    }

    /// Rows whose signature an earlier row has too.
    pub fn copy_count(&self) -> u32 {
        self.rows.saturating_sub(self.ids)
    }
}

/// Most levels of fences: with two or more children each, 32 levels are more than any segment needs, and
/// the bound ends every descent.
pub const MAX_LEVELS: u8 = 32;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;
    use crate::scheme::Elements;
    use std::mem::offset_of;

    #[test]
    fn spec_table_matches_the_struct() {
        let code = [
            ("magic", offset_of!(Layout, magic), 8),
            ("database id", offset_of!(Layout, database_id), 16),
            ("scheme", offset_of!(Layout, scheme), 48),
            ("length", offset_of!(Layout, length), 8),
            ("first sequence", offset_of!(Layout, first_sequence), 8),
            ("last sequence", offset_of!(Layout, last_sequence), 8),
            ("rows", offset_of!(Layout, rows), 4),
            ("ids", offset_of!(Layout, ids), 4),
            ("empty id", offset_of!(Layout, empty_id), 4),
            ("reserved", offset_of!(Layout, reserved), 4),
            ("signatures offset", offset_of!(Layout, signatures_offset), 8),
            ("signatures length", offset_of!(Layout, signatures_length), 8),
            ("keys offset", offset_of!(Layout, keys_offset), 8),
            ("keys length", offset_of!(Layout, keys_length), 8),
            ("copies offset", offset_of!(Layout, copies_offset), 8),
            ("copies length", offset_of!(Layout, copies_length), 8),
            ("key bytes", offset_of!(Layout, key_bytes), 8),
            ("root page", offset_of!(Layout, root_page), 4),
            ("root level", offset_of!(Layout, root_level), 1),
            ("zero", offset_of!(Layout, zero), 3),
            ("postings offset", offset_of!(Layout, postings_offset), 8),
            ("postings length", offset_of!(Layout, postings_length), 8),
            ("short postings", offset_of!(Layout, short_postings), 8),
            ("long lists", offset_of!(Layout, long_lists), 4),
            ("zero2", offset_of!(Layout, zero2), 4),
        ];
        testkit::spec_tables::assert_matches(
            include_str!("../../format-spec/segment.md"),
            "Segment header",
            &code,
        );
        let kept = [
            ("elements offset", offset_of!(KeptLayout, elements_offset), 8),
            ("elements length", offset_of!(KeptLayout, elements_length), 8),
            ("set bytes", offset_of!(KeptLayout, set_bytes), 8),
        ];
        testkit::spec_tables::assert_matches(
            include_str!("../../format-spec/elements.md"),
            "Segment header of kept sets",
            &kept,
        );
        assert_eq!(size_of::<Layout>() + size_of::<KeptLayout>() + 24, 256);
    }

    /// The same header with sets of 90 bytes: a page of 128 bytes and a directory of 64.
    fn keeping() -> SegmentHeader {
        let mut header = header();
        let parameters = crate::Parameters { elements: Elements::EXACT, ..*header.scheme };
        header.scheme = Scheme::new(parameters).unwrap();
        let region = Region { offset: header.length, length: 192 };
        header.elements = Some(KeptRegion { region, set_bytes: 90 });
        header.length += 192;
        header
    }

    #[test]
    fn sets_follow_the_postings_where_the_scheme_keeps_them() {
        assert_eq!(SegmentHeader::decode(&keeping().encode()), Ok(keeping()));
        assert_eq!((header().encode().len(), keeping().encode().len()), (208, 232));
        let rule_of = |change: fn(&mut SegmentHeader)| {
            let mut bad = keeping();
            change(&mut bad);
            match SegmentHeader::decode(&bad.encode()) {
                Err(Error::Corrupt { rule, .. }) => rule,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(rule_of(|h| h.elements = None), "SEG-1");
        assert_eq!(rule_of(|h| h.scheme = Scheme::precise()), "SEG-1");
        assert_eq!(rule_of(|h| h.elements.as_mut().unwrap().region.offset += 64), "SEG-4");
        assert_eq!(rule_of(|h| h.elements.as_mut().unwrap().region.length += 64), "SEG-4");
        assert_eq!(rule_of(|h| h.elements.as_mut().unwrap().set_bytes += 64), "KEPT-5");
        assert_eq!(rule_of(|h| h.elements.as_mut().unwrap().set_bytes = 2), "KEPT-5");
        let longer = |h: &mut SegmentHeader| {
            h.elements.as_mut().unwrap().region.length += MAX_REGION_BYTES;
            h.length += MAX_REGION_BYTES;
        };
        assert_eq!(rule_of(longer), "SEG-4");
    }

    fn header() -> SegmentHeader {
        let scheme = Scheme::new(crate::presets::PRECISE).unwrap();
        let signatures =
            Region { offset: 256, length: SignatureShape::of(&scheme).region_bytes(3) };
        SegmentHeader {
            database: [1; 16],
            scheme,
            length: signatures.end() + 128 + 320,
            first_sequence: 4,
            last_sequence: 9,
            rows: 3,
            ids: 3,
            empty_id: Some(2),
            signatures,
            keys: Region { offset: signatures.end(), length: 128 },
            copies: Region { offset: signatures.end() + 128, length: 0 },
            key_bytes: 12,
            root_page: 1,
            root_level: 1,
            // A directory of one block, and 64 entries of 18 bits.
            postings: Region { offset: signatures.end() + 128, length: 320 },
            short_postings: 64,
            long_lists: 0,
            elements: None,
        }
    }

    fn lengthen_keys(header: &mut SegmentHeader, by: u64) {
        header.keys.length += by;
        header.copies.offset += by;
        header.postings.offset += by;
        header.length += by;
    }

    #[test]
    fn what_is_encoded_decodes() {
        assert_eq!(SegmentHeader::decode(&header().encode()), Ok(header()));
        // As much of everything as there may be, and one commit.
        let mut most = header();
        lengthen_keys(&mut most, MAX_REGION_BYTES - 128);
        (most.rows, most.root_level, most.last_sequence) = (MAX_ROWS, MAX_LEVELS, 4);
        most.copies.length = copies_page::region_bytes(MAX_ROWS - 3);
        most.postings.offset += most.copies.length;
        most.length += most.copies.length;
        assert_eq!(SegmentHeader::decode(&most.encode()), Ok(most));
    }

    #[test]
    fn each_rule_refuses() {
        let rule_of = |change: fn(&mut SegmentHeader)| {
            let mut bad = header();
            change(&mut bad);
            match SegmentHeader::decode(&bad.encode()) {
                Err(Error::Corrupt { rule, .. }) => rule,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(rule_of(|h| h.rows = 0), "SEG-2");
        assert_eq!(rule_of(|h| h.ids = 4), "SEG-2");
        assert_eq!(rule_of(|h| h.ids = 0), "SEG-2");
        assert_eq!(rule_of(|h| h.rows = u32::MAX), "SEG-2");
        assert_eq!(rule_of(|h| h.empty_id = Some(3)), "SEG-3");
        assert_eq!(rule_of(|h| h.first_sequence = 10), "SEG-3");
        assert_eq!(rule_of(|h| h.length += 64), "SEG-4");
        assert_eq!(rule_of(|h| h.signatures.offset = 192), "SEG-4");
        // Regions that follow each other, but start too late, are no multiple of 64 or too long.
        assert_eq!(
            rule_of(|h| {
                h.signatures.offset += 64;
                h.keys.offset += 64;
                lengthen_keys(h, 64);
                h.keys.length -= 64;
            }),
            "SEG-4"
        );
        assert_eq!(rule_of(|h| lengthen_keys(h, 1)), "SEG-4");
        assert_eq!(rule_of(|h| lengthen_keys(h, MAX_REGION_BYTES)), "SEG-4");
        assert_eq!(rule_of(|h| h.root_page = 2), "SEG-5");
        assert_eq!(rule_of(|h| h.root_level = 0), "SEG-5");
        assert_eq!(rule_of(|h| h.root_level = 33), "SEG-5");
        assert_eq!(rule_of(|h| h.postings.offset += 64), "SEG-4");
        assert_eq!(rule_of(|h| h.short_postings = 63), "POST-1");
        assert_eq!(rule_of(|h| h.long_lists = 1), "POST-1");
        let zeros =
            [offset_of!(Layout, reserved), offset_of!(Layout, zero), offset_of!(Layout, zero2)];
        for at in zeros.into_iter().chain([size_of::<Layout>()]) {
            let mut bytes = [header().encode(), vec![0]].concat();
            bytes.truncate(size_of::<Layout>().max(at + 1));
            bytes[at] = 1;
            let decoded = SegmentHeader::decode(&bytes);
            assert!(matches!(decoded, Err(Error::Corrupt { rule: "SEG-1", .. })), "{at}");
        }
        let mut bytes = header().encode();
        bytes[0] = 0;
        assert!(matches!(SegmentHeader::decode(&bytes), Err(Error::Corrupt { rule: "SEG-1", .. })));
        bytes.truncate(100);
        assert!(matches!(SegmentHeader::decode(&bytes), Err(Error::Corrupt { rule: "SEG-1", .. })));
    }
}
