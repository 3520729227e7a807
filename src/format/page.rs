//! Pages: the checksummed pieces that segments and liveness blocks are made of. Mirrors
//! `format-spec/pages.md`.
//!
//! A [`Page`] is proof that its bytes passed their checksum and stand where they belong: the checksum is
//! sealed with the database id and covers block, region and number, so a page of another place or
//! another database never verifies. What the payload means is checked by the views of each kind.

use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::bytes::{Cursor, Seal, broken, index, round_up};
use crate::error::{Error, Result};

const WHAT: &str = "page";

/// The version of every page kind that this version writes and reads.
const PAGE_VERSION: u8 = 1;

/// Length of a page header.
pub const HEADER_BYTES: usize = size_of::<Layout>();

/// The header, field by field.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Layout {
    checksum: U32,
    kind: u8,
    version: u8,
    reserved: U16,
    block_id: U64,
    page_number: U32,
    payload_length: U32,
}

/// What a page holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum PageKind {
    /// What a segment is.
    SegmentHeader = 1,
    /// Distinct signatures.
    Signatures = 2,
    /// Keys with their rows.
    Leaf = 3,
    /// Where keys are.
    Fence = 4,
    /// Which rows are hidden.
    Liveness = 5,
    /// Rows whose signature an earlier row has too.
    Copies = 6,
    /// Where copies are.
    CopiesDirectory = 7,
    /// How many postings each bucket of slot values has.
    PostingDirectory = 8,
    /// Postings of buckets that have few.
    ShortPostings = 9,
    /// Where long lists of postings are.
    PostingTable = 10,
    /// Long lists of postings.
    PostingList = 11,
}

impl PageKind {
    /// The number in the header.
    pub fn code(self) -> u8 {
        match self {
            PageKind::SegmentHeader => 1,
            PageKind::Signatures => 2,
            PageKind::Leaf => 3,
            PageKind::Fence => 4,
            PageKind::Liveness => 5,
            PageKind::Copies => 6,
            PageKind::CopiesDirectory => 7,
            PageKind::PostingDirectory => 8,
            PageKind::ShortPostings => 9,
            PageKind::PostingTable => 10,
            PageKind::PostingList => 11,
        }
    }

    /// The longest page of this kind, header and padding included (PAGE-5).
    pub fn max_bytes(self) -> usize {
        match self {
            PageKind::SegmentHeader => 256,
            PageKind::Signatures | PageKind::Fence => 65_536,
            PageKind::Leaf
            | PageKind::Liveness
            | PageKind::Copies
            | PageKind::CopiesDirectory
            | PageKind::PostingDirectory
            | PageKind::ShortPostings
            | PageKind::PostingTable
            | PageKind::PostingList => 8_192,
        }
    }

    /// The longest payload.
    pub fn max_payload(self) -> usize {
        self.max_bytes().saturating_sub(HEADER_BYTES)
    }
}

/// Where a page belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PagePlace {
    /// What it holds.
    pub kind: PageKind,
    /// The segment or liveness block.
    pub block: u64,
    /// Its start in its region, in units of 64 bytes.
    pub number: u32,
}

/// Bytes whose start is aligned for 64-bit words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AlignedBytes {
    words: Vec<u64>,
    length: usize,
}

impl AlignedBytes {
    /// Zeros.
    pub fn zeroed(length: usize) -> AlignedBytes {
        AlignedBytes { words: vec![0; length.div_ceil(8)], length }
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        self.words.as_bytes().get(..self.length).unwrap_or_default()
    }

    /// The bytes, to be filled.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        self.words.as_mut_bytes().get_mut(..self.length).unwrap_or_default()
    }

    /// Forgets the bytes from `length` on, and the memory of them.
    pub fn truncate(&mut self, length: usize) {
        self.length = self.length.min(length);
        self.words.truncate(self.length.div_ceil(8));
        self.words.shrink_to_fit();
    }
}

impl From<&[u8]> for AlignedBytes {
    fn from(bytes: &[u8]) -> AlignedBytes {
        let mut aligned = AlignedBytes::zeroed(bytes.len());
        aligned.bytes_mut().copy_from_slice(bytes);
        aligned
    }
}

/// A page that verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    bytes: AlignedBytes,
    payload_length: usize,
}

impl Page {
    /// Verifies the page that starts `bytes`, which may go on after it, and must be the page of `place`.
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
        let here = layout.block_id == place.block && layout.page_number == place.number;
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

    /// The payload from its start as whole 64-bit words, as they stand in memory.
    pub fn payload_words(&self) -> &[u64] {
        let words = self.payload_length / 8;
        self.bytes.words.get(HEADER_BYTES / 8..).and_then(|w| w.get(..words)).unwrap_or_default()
    }

    /// The checksum in the header.
    pub fn checksum(&self) -> u32 {
        Cursor::new(self.bytes.bytes()).layout::<U32>().map_or(0, |checksum| checksum.get())
    }

    /// Turns the first words of the payload from the byte order of the disk into that of this machine.
    pub fn words_to_native(&mut self, count: usize) {
        let words = self.bytes.words.get_mut(HEADER_BYTES / 8..).unwrap_or_default();
        for word in words.iter_mut().take(count) {
            *word = u64::from_le(*word);
        }
    }

    /// Memory that it takes.
    pub fn memory(&self) -> usize {
        size_of_val(&*self.bytes.words).saturating_add(size_of::<Page>())
    }
}

/// The page at `place` with this payload, header and padding included.
pub fn encode(place: PagePlace, payload: &[u8], seal: Seal) -> Vec<u8> {
    let whole = round_up(HEADER_BYTES.saturating_add(payload.len()));
    let mut layout = Layout {
        checksum: 0.into(),
        kind: place.kind.code(),
        version: PAGE_VERSION,
        reserved: 0.into(),
        block_id: place.block.into(),
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

    const PLACE: PagePlace = PagePlace { kind: PageKind::Leaf, block: 5, number: 9 };

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
            ("block id", offset_of!(Layout, block_id), 8),
            ("page number", offset_of!(Layout, page_number), 4),
            ("payload length", offset_of!(Layout, payload_length), 4),
        ];
        crate::spec_tables::assert_matches(
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

    /// The numbers of the specification's table, in its order.
    #[test]
    fn kinds_have_the_numbers_of_the_specification() {
        let kinds = [
            PageKind::SegmentHeader,
            PageKind::Signatures,
            PageKind::Leaf,
            PageKind::Fence,
            PageKind::Liveness,
            PageKind::Copies,
            PageKind::CopiesDirectory,
            PageKind::PostingDirectory,
            PageKind::ShortPostings,
            PageKind::PostingTable,
            PageKind::PostingList,
        ];
        for (number, kind) in (1..).zip(kinds) {
            assert_eq!((kind.code(), kind as u8), (number, number));
        }
    }

    #[test]
    fn a_page_says_its_checksum_and_the_memory_that_it_takes() {
        let bytes = encode(PLACE, &[7; 50], seal());
        let page = verify(&[&bytes[..], &[0; 999]].concat(), PLACE).unwrap();
        assert_eq!(page.checksum().to_le_bytes(), bytes[..4]);
        assert_eq!(page.memory(), 128 + size_of::<Page>());
    }

    /// PAGE-1: every flipped bit of a page is seen, padding included.
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
