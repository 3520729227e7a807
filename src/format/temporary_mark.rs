//! The temporary mark: it says that a file is unfinished, and which database it belongs to. Implements
//! `format-spec/file.md`.
//!
//! A new file is written under a temporary name. The mark is written and synced before anything else, and cleared
//! once the file has its final name. The mark distinguishes the leftover of a crash from a file that somebody else
//! put there.

use zerocopy::little_endian::U32;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::DatabaseId;
use super::bytes::{Cursor, Seal};

/// The offset of the mark in the file: in the block of the commit mark, but in a sector of its own.
pub const TEMPORARY_OFFSET: u64 = 8192 + 512;

const MAGIC: [u8; 8] = *b"RINGTEMP";

/// The layout of the mark.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Layout {
    magic: [u8; 8],
    database: [u8; 16],
    reserved: U32,
    checksum: U32,
}

/// The length of a mark.
pub const TEMPORARY_BYTES: usize = size_of::<Layout>();

/// Encodes the mark of an unfinished file of this database.
pub fn encode(database: DatabaseId) -> [u8; TEMPORARY_BYTES] {
    let mut layout = Layout { magic: MAGIC, database, reserved: 0.into(), checksum: 0.into() };
    layout.checksum = checksum(&layout).into();
    zerocopy::transmute!(layout)
}

/// The database of an unfinished file. `None` if the bytes are not a valid mark (TEMP-1).
pub fn decode(bytes: &[u8]) -> Option<DatabaseId> {
    let layout = Cursor::new(bytes).layout::<Layout>()?;
    let valid =
        layout.magic == MAGIC && layout.reserved == 0 && layout.checksum == checksum(layout);
    valid.then_some(layout.database)
}

fn checksum(layout: &Layout) -> u32 {
    Seal::of(layout.database).checksum(layout.as_bytes().get(..28).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    #[test]
    fn spec_table_matches_the_struct() {
        let code = [
            ("magic", offset_of!(Layout, magic), 8),
            ("database id", offset_of!(Layout, database), 16),
            ("reserved", offset_of!(Layout, reserved), 4),
            ("checksum", offset_of!(Layout, checksum), 4),
        ];
        let spec = include_str!("../../format-spec/file.md");
        testkit::spec_tables::assert_matches(spec, "Temporary mark", &code);
    }

    /// TEMP-1: a mark with any bit flipped counts as absent.
    #[test]
    fn an_invalid_mark_counts_as_absent() {
        let good = encode([7; 16]);
        assert_eq!(decode(&good), Some([7; 16]));
        assert_eq!(decode(&good[..31]), None);
        assert_eq!(decode(&[0; TEMPORARY_BYTES]), None);
        for bit in 0..8 * good.len() {
            let mut bad = good;
            bad[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(decode(&bad), None, "bit {bit}");
        }
    }
}
