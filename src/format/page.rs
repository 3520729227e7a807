//! Pages: the checksummed parts of segments and tombstone bitmaps. Implements `format-spec/pages.md`.
//!
//! In: bytes and the place that they were read from. Out: a [`Page`], which proves that its checksum is right and
//! that it belongs to that place. The checksum starts from the database id and covers the kind, the extent and the
//! page number, so a page from another place or another database never verifies. This module does not know what a
//! payload means: the view of each kind checks that.

use std::sync::Arc;

use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::bytes::{Cursor, Seal, broken, index, round_up};
use crate::error::{Error, Result};

const WHAT: &str = "page";

/// The version of all page kinds that this version of the library writes and reads.
const PAGE_VERSION: u8 = 1;

/// The length of a page header.
pub const HEADER_BYTES: usize = size_of::<Layout>();

/// The layout of the header.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Layout {
    checksum: U32,
    kind: u8,
    version: u8,
    reserved: U16,
    extent_id: U64,
    page_number: U32,
    payload_length: U32,
}

/// The kind of a page: what its payload holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum PageKind {
    /// The header of a segment.
    SegmentHeader = 1,
    /// The distinct signatures of a segment.
    Signatures = 2,
    /// Keys with their rows.
    Leaf = 3,
    /// Separators of the pages below, and filters of leaf pages.
    Fence = 4,
    /// A bitmap of tombstones.
    Tombstones = 5,
    /// Duplicate rows: rows that share the signature of an earlier row.
    Duplicates = 6,
    /// The first id of each page of duplicate rows.
    DuplicatesDirectory = 7,
    /// The number of postings in each bucket of slot values.
    PostingDirectory = 8,
    /// The postings of buckets that have few.
    ShortPostings = 9,
    /// The place of each long posting list.
    PostingTable = 10,
    /// Long posting lists.
    PostingList = 11,
    /// Encoded kept sets.
    Elements = 16,
    /// The start of each kept set.
    ElementsDirectory = 17,
    /// The values of rows.
    Values = 18,
    /// The start of each value.
    ValuesDirectory = 19,
}

impl PageKind {
    /// The number of the kind in the header.
    pub fn code(self) -> u8 {
        match self {
            PageKind::SegmentHeader => 1,
            PageKind::Signatures => 2,
            PageKind::Leaf => 3,
            PageKind::Fence => 4,
            PageKind::Tombstones => 5,
            PageKind::Duplicates => 6,
            PageKind::DuplicatesDirectory => 7,
            PageKind::PostingDirectory => 8,
            PageKind::ShortPostings => 9,
            PageKind::PostingTable => 10,
            PageKind::PostingList => 11,
            PageKind::Elements => 16,
            PageKind::ElementsDirectory => 17,
            PageKind::Values => 18,
            PageKind::ValuesDirectory => 19,
        }
    }

    /// The longest page of this kind, header and padding included (PAGE-5).
    pub fn max_bytes(self) -> usize {
        match self {
            PageKind::SegmentHeader => 256,
            PageKind::Signatures | PageKind::Fence => 65_536,
            PageKind::Leaf
            | PageKind::Tombstones
            | PageKind::Duplicates
            | PageKind::DuplicatesDirectory
            | PageKind::PostingDirectory
            | PageKind::ShortPostings
            | PageKind::PostingTable
            | PageKind::PostingList
            | PageKind::Elements
            | PageKind::ElementsDirectory
            | PageKind::Values
            | PageKind::ValuesDirectory => 8_192,
        }
    }

    /// The longest payload of this kind.
    pub fn max_payload(self) -> usize {
        self.max_bytes().saturating_sub(HEADER_BYTES)
    }
}

/// The place that a page belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PagePlace {
    /// The kind of the page.
    pub kind: PageKind,
    /// The id of the extent: a segment or a tombstone bitmap.
    pub extent: u64,
    /// The start of the page in its region, in units of 64 bytes.
    pub number: u32,
}

/// What the header of a page claims, unverified.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Claim {
    /// The number of the kind. It may be unknown.
    code: u8,
    /// The id of the extent: a segment or a tombstone bitmap.
    pub extent: u64,
    /// The length of the page, with header and padding.
    pub length: usize,
}

impl Claim {
    /// Reads the header of a page that would start here. `None` if the bytes are too few for one.
    pub fn of(bytes: &[u8]) -> Option<Claim> {
        let layout = Cursor::new(bytes).layout::<Layout>()?;
        let payload = index(layout.payload_length.get());
        let length = round_up(HEADER_BYTES.saturating_add(payload));
        Some(Claim { code: layout.kind, extent: layout.extent_id.get(), length })
    }

    /// The one of these kinds that the header claims, if any.
    pub fn kind_among(&self, kinds: &[PageKind]) -> Option<PageKind> {
        kinds.iter().copied().find(|kind| kind.code() == self.code)
    }
}

/// The checksum stored at the start of an encoded page.
pub fn checksum_of(page: &[u8]) -> u32 {
    Cursor::new(page).u32().unwrap_or(0)
}

/// One cache line of bytes.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C, align(64))]
pub struct Line([u64; 8]);

impl Line {
    const ZERO: Line = Line([0; 8]);
}

/// Bytes that start on a cache line. Clones share them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AlignedBytes {
    lines: Arc<[Line]>,
    length: usize,
}

impl AlignedBytes {
    /// Makes bytes that are all zero.
    pub fn zeroed(length: usize) -> AlignedBytes {
        let lines = std::iter::repeat_n(Line::ZERO, length.div_ceil(size_of::<Line>()));
        AlignedBytes { lines: lines.collect(), length }
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        self.lines.as_bytes().get(..self.length).unwrap_or_default()
    }

    /// The bytes, to be filled in. Empty if they are shared.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        let lines = Arc::get_mut(&mut self.lines).unwrap_or_default();
        lines.as_mut_bytes().get_mut(..self.length).unwrap_or_default()
    }

    /// The cache lines that hold the bytes.
    pub fn lines(&self) -> &Arc<[Line]> {
        &self.lines
    }

    /// Drops the bytes from `length` on and frees their memory.
    pub fn truncate(&mut self, length: usize) {
        self.length = self.length.min(length);
        match self.lines.get(..self.length.div_ceil(size_of::<Line>())) {
            Some(lines) if lines.len() < self.lines.len() => self.lines = lines.into(),
            _ => (),
        }
    }

    /// The bytes as words in disk byte order, with the padding of the last line.
    fn words(&self) -> &[u64] {
        <[u64]>::ref_from_bytes(self.lines.as_bytes()).unwrap_or_default()
    }
}

impl From<&[u8]> for AlignedBytes {
    fn from(bytes: &[u8]) -> AlignedBytes {
        let mut aligned = AlignedBytes::zeroed(bytes.len());
        aligned.bytes_mut().copy_from_slice(bytes);
        aligned
    }
}

/// A verified page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    bytes: AlignedBytes,
    payload_length: usize,
}

impl Page {
    /// Verifies the page at the start of `bytes` as the page of `place`. More bytes may follow it.
    pub fn verify(mut bytes: AlignedBytes, place: PagePlace, seal: Seal) -> Result<Page> {
        let length = match Cursor::new(bytes.bytes()).layout::<Layout>() {
            Some(layout) => index(layout.payload_length.get()),
            None => return Err(broken(WHAT, "PAGE-1", 0, "it is cut short")),
        };
        let whole = round_up(HEADER_BYTES.saturating_add(length));
        if whole > bytes.bytes().len() || whole > place.kind.max_bytes() {
            return Err(broken(WHAT, "PAGE-5", 20, format!("it claims {length} bytes of payload")));
        }
        bytes.truncate(whole);
        let page = Page { bytes, payload_length: length };
        page.check(place, seal)?;
        Ok(page)
    }

    fn check(&self, place: PagePlace, seal: Seal) -> Result<()> {
        let bytes = self.bytes.bytes();
        let mut cursor = Cursor::new(bytes);
        let layout =
            cursor.layout::<Layout>().ok_or_else(|| broken(WHAT, "PAGE-1", 0, "no header"))?;
        if layout.checksum != seal.checksum(bytes.get(4..).unwrap_or_default()) {
            return Err(broken(WHAT, "PAGE-1", 0, "the checksum does not match"));
        }
        if layout.version != PAGE_VERSION {
            return Err(Error::UnsupportedFormat {
                what: "page version",
                found: layout.version.into(),
                oldest: PAGE_VERSION.into(),
                newest: PAGE_VERSION.into(),
                rule: "PAGE-2",
            });
        }
        let here = layout.extent_id == place.extent && layout.page_number == place.number;
        if layout.kind != place.kind.code() || !here {
            return Err(broken(WHAT, "PAGE-3", 4, "it belongs to another place"));
        }
        let padding = cursor.rest().get(self.payload_length..).unwrap_or_default();
        if layout.reserved != 0 || padding.iter().any(|byte| *byte != 0) {
            return Err(broken(WHAT, "PAGE-4", 6, "bytes that must be zero are not"));
        }
        Ok(())
    }

    /// The payload.
    pub fn payload(&self) -> &[u8] {
        let rest = self.bytes.bytes().get(HEADER_BYTES..).unwrap_or_default();
        rest.get(..self.payload_length).unwrap_or_default()
    }

    /// The payload as 64-bit words, without an incomplete last one. The words are as they are in memory.
    pub fn payload_words(&self) -> &[u64] {
        let words = self.payload_length / 8;
        let payload = self.bytes.words().get(HEADER_BYTES / 8..);
        payload.and_then(|w| w.get(..words)).unwrap_or_default()
    }

    /// The checksum in the header.
    pub fn checksum(&self) -> u32 {
        checksum_of(self.bytes.bytes())
    }

    /// Converts the first `count` words of the payload from disk byte order to that of this machine.
    pub fn words_to_native(&mut self, count: usize) {
        if cfg!(target_endian = "little") {
            return;
        }
        let payload = self.bytes.bytes_mut().get_mut(HEADER_BYTES..).unwrap_or_default();
        payload.chunks_exact_mut(size_of::<u64>()).take(count).for_each(<[u8]>::reverse);
    }

    /// The whole page as cache lines, header and padding included.
    pub fn lines(&self) -> &Arc<[Line]> {
        &self.bytes.lines
    }

    /// The memory that the page takes.
    pub fn memory(&self) -> usize {
        // The reference counts take a cache line of their own.
        let lines = size_of_val(&*self.bytes.lines).saturating_add(size_of::<Line>());
        lines.saturating_add(size_of::<Page>())
    }
}

/// Encodes the page of `place` with this payload, header and padding included.
pub fn encode(place: PagePlace, payload: &[u8], seal: Seal) -> Vec<u8> {
    let whole = round_up(HEADER_BYTES.saturating_add(payload.len()));
    let mut layout = Layout {
        checksum: 0.into(),
        kind: place.kind.code(),
        version: PAGE_VERSION,
        reserved: 0.into(),
        extent_id: place.extent.into(),
        page_number: place.number.into(),
        payload_length: u32::try_from(payload.len()).unwrap_or(u32::MAX).into(),
    };
    let mut bytes = Vec::with_capacity(whole);
    bytes.extend_from_slice(layout.as_bytes());
    bytes.extend_from_slice(payload);
    bytes.resize(whole, 0);
    layout.checksum = seal.checksum(bytes.get(4..).unwrap_or_default()).into();
    if let Some(start) = bytes.get_mut(..4) {
        start.copy_from_slice(layout.checksum.as_bytes());
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    const PLACE: PagePlace = PagePlace { kind: PageKind::Leaf, extent: 5, number: 9 };

    fn seal() -> Seal {
        Seal::of([3; 16])
    }

    fn verify(bytes: &[u8], place: PagePlace) -> Result<Page> {
        Page::verify(bytes.into(), place, seal())
    }

    fn rule(result: Result<Page>) -> &'static str {
        match result {
            Err(Error::Corrupt { rule, .. } | Error::UnsupportedFormat { rule, .. }) => rule,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn spec_table_matches_the_struct() {
        let code = [
            ("checksum", offset_of!(Layout, checksum), 4),
            ("kind", offset_of!(Layout, kind), 1),
            ("version", offset_of!(Layout, version), 1),
            ("reserved", offset_of!(Layout, reserved), 2),
            ("extent id", offset_of!(Layout, extent_id), 8),
            ("page number", offset_of!(Layout, page_number), 4),
            ("payload length", offset_of!(Layout, payload_length), 4),
        ];
        testkit::spec_tables::assert_matches(
            include_str!("../../format-spec/pages.md"),
            "Page header",
            &code,
        );
    }

    #[test]
    fn what_is_encoded_verifies_with_anything_behind_it() {
        for length in [0, 1, 39, 40, 41, 8_000, 8_168] {
            let payload: Vec<u8> = (0..length).map(|i| i as u8).collect();
            let mut bytes = encode(PLACE, &payload, seal());
            assert_eq!(bytes.len() % 64, 0);
            bytes.extend_from_slice(&[9; 70]);
            let page = verify(&bytes, PLACE).unwrap();
            assert_eq!(page.payload(), payload);
            assert_eq!(page.payload_words().len(), payload.len() / 8);
        }
    }

    /// The numbers are those of the table in the specification, in its order.
    #[test]
    fn kinds_have_the_numbers_of_the_specification() {
        let kinds = [
            PageKind::SegmentHeader,
            PageKind::Signatures,
            PageKind::Leaf,
            PageKind::Fence,
            PageKind::Tombstones,
            PageKind::Duplicates,
            PageKind::DuplicatesDirectory,
            PageKind::PostingDirectory,
            PageKind::ShortPostings,
            PageKind::PostingTable,
            PageKind::PostingList,
        ];
        for (number, kind) in (1..).zip(kinds) {
            assert_eq!((kind.code(), kind as u8), (number, number));
        }
        let records = [
            PageKind::Elements,
            PageKind::ElementsDirectory,
            PageKind::Values,
            PageKind::ValuesDirectory,
        ];
        for (number, kind) in (16..).zip(records) {
            assert_eq!((kind.code(), kind as u8), (number, number));
        }
    }

    #[test]
    fn a_page_says_its_checksum_and_the_memory_that_it_takes() {
        let bytes = encode(PLACE, &[7; 50], seal());
        let page = verify(&[&bytes[..], &[0; 999]].concat(), PLACE).unwrap();
        assert_eq!(page.checksum().to_le_bytes(), bytes[..4]);
        assert_eq!(page.memory(), 192 + size_of::<Page>());
        assert_eq!(page.lines().len(), 2);
    }

    /// PAGE-1: every flipped bit in a page is detected, padding included.
    #[test]
    fn every_flipped_bit_is_seen() {
        let good = encode(PLACE, b"payload", seal());
        for bit in 0..8 * good.len() {
            let mut bad = good.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            assert!(verify(&bad, PLACE).is_err(), "bit {bit}");
        }
        for length in 0..good.len() {
            assert!(verify(&good[..length], PLACE).is_err(), "length {length}");
        }
    }

    #[test]
    fn each_rule_refuses() {
        let forged = |at: usize, byte: u8| {
            let mut bytes = encode(PLACE, b"payload", seal());
            bytes[at] = byte;
            let checksum = seal().checksum(&bytes[4..]).to_le_bytes();
            bytes[..4].copy_from_slice(&checksum);
            verify(&bytes, PLACE)
        };
        assert_eq!(
            rule(Page::verify(encode(PLACE, b"x", seal())[..].into(), PLACE, Seal::of([4; 16]))),
            "PAGE-1"
        );
        assert_eq!(rule(forged(5, 2)), "PAGE-2");
        assert_eq!(rule(forged(4, 4)), "PAGE-3");
        assert_eq!(rule(forged(8, 6)), "PAGE-3");
        assert_eq!(rule(forged(16, 1)), "PAGE-3");
        assert_eq!(rule(forged(6, 1)), "PAGE-4");
        assert_eq!(rule(forged(63, 1)), "PAGE-4");
        assert_eq!(rule(forged(23, 1)), "PAGE-5");
        assert_eq!(rule(verify(&encode(PLACE, &[0; 8_169], seal()), PLACE)), "PAGE-5");
    }
}
