//! The commit mark: the sequence of the last acknowledged commit. Implements `format-spec/file.md`.
//!
//! In: bytes from the file. Out: a valid mark, or none. The mark is written after each commit and never synced.
//! After a power cut it may be missing or old. After a kill it is exact, so recovery can report a log that has lost
//! its tail.

use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::BLOCK;
use super::bytes::{Cursor, Seal};

/// The offset of the mark in the file.
pub const MARK_OFFSET: u64 = 2 * 4096;

const _: () = assert!(BLOCK == 4096);

const MAGIC: [u8; 8] = *b"RINGMARK";

/// The layout of the mark.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Layout {
    magic: [u8; 8],
    sequence: U64,
    log_number: U64,
    reserved: U32,
    checksum: U32,
}

/// The length of a mark.
pub const MARK_BYTES: usize = size_of::<Layout>();

/// The last acknowledged commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommitMark {
    /// The sequence of the commit.
    pub sequence: u64,
    /// The number of the write-ahead log that holds the commit.
    pub log_number: u64,
}

impl CommitMark {
    /// Encodes the mark.
    pub fn encode(self, seal: Seal) -> [u8; MARK_BYTES] {
        let mut layout = Layout {
            magic: MAGIC,
            sequence: self.sequence.into(),
            log_number: self.log_number.into(),
            reserved: 0.into(),
            checksum: 0.into(),
        };
        layout.checksum = checksum(&layout, seal).into();
        zerocopy::transmute!(layout)
    }

    /// Decodes a mark. An invalid mark counts as absent (MARK-1).
    pub fn decode(bytes: &[u8], seal: Seal) -> Option<CommitMark> {
        let layout = Cursor::new(bytes).layout::<Layout>()?;
        let valid = layout.magic == MAGIC
            && layout.reserved == 0
            && layout.checksum == checksum(layout, seal);
        valid.then(|| CommitMark {
            sequence: layout.sequence.get(),
            log_number: layout.log_number.get(),
        })
    }
}

fn checksum(layout: &Layout, seal: Seal) -> u32 {
    seal.checksum(layout.as_bytes().get(..28).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    #[test]
    fn spec_table_matches_the_struct() {
        let code = [
            ("magic", offset_of!(Layout, magic), 8),
            ("sequence", offset_of!(Layout, sequence), 8),
            ("log number", offset_of!(Layout, log_number), 8),
            ("reserved", offset_of!(Layout, reserved), 4),
            ("checksum", offset_of!(Layout, checksum), 4),
        ];
        let spec = include_str!("../../format-spec/file.md");
        testkit::spec_tables::assert_matches(spec, "Commit mark", &code);
    }

    /// MARK-1: a mark with any bit flipped, or of another database, counts as absent.
    #[test]
    fn an_invalid_mark_counts_as_absent() {
        let seal = Seal::of([1; 16]);
        let mark = CommitMark { sequence: 77, log_number: 3 };
        let good = mark.encode(seal);
        assert_eq!(CommitMark::decode(&good, seal), Some(mark));
        assert_eq!(CommitMark::decode(&good, Seal::of([2; 16])), None);
        assert_eq!(CommitMark::decode(&good[..31], seal), None);
        for bit in 0..8 * good.len() {
            let mut bad = good;
            bad[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(CommitMark::decode(&bad, seal), None, "bit {bit}");
            // Under a valid checksum, only the sequence and the log number may differ.
            let checksum = seal.checksum(&bad[..28]).to_le_bytes();
            bad[28..].copy_from_slice(&checksum);
            let says = (8..24).contains(&(bit / 8)) || bit / 8 >= 28;
            assert_eq!(CommitMark::decode(&bad, seal).is_some(), says, "bit {bit}");
        }
    }
}
