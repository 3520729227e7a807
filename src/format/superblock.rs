//! Superblocks: two 4 KiB blocks at the start of a file, of which the newer one names the current state. Implements
//! `format-spec/file.md`.
//!
//! In: the bytes of a block. Out: a [`Superblock`] that has passed its checksum and version checks. The manifest
//! that it points to is not checked here, but when it is read.

use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::bytes::{Cursor, broken, is_aligned};
use super::manifest::MAX_MANIFEST_BYTES;
use super::{BLOCK, DATA_START, DatabaseId, NEWEST_FORMAT, OLDEST_FORMAT};
use crate::error::{Error, Result};

const WHAT: &str = "superblock";

/// The first bytes of a database file. The last two reveal a transfer that treated the file as text.
pub const MAGIC: [u8; 8] = *b"RINGER\x1a\n";

/// The required feature bit of a database with kept sets.
pub const KEPT_SETS: u64 = 1;

/// The required features that this version knows. A reader refuses a file that requires any other (SUPER-3).
const KNOWN_REQUIRED: u64 = KEPT_SETS;

/// The layout of the block.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Layout {
    magic: [u8; 8],
    format_version: U16,
    reserved: [u8; 6],
    required_features: U64,
    optional_features: U64,
    database_id: [u8; 16],
    generation: U64,
    manifest_offset: U64,
    manifest_length: U32,
    manifest_checksum: U32,
    end_of_data: U64,
    log_number: U64,
    logs_made: U64,
    clean: u8,
    unused: [u8; 3995],
    checksum: U32,
}

/// One complete state of a database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Superblock {
    /// The identity of the database.
    pub database: DatabaseId,
    /// The number of this state. Each new state has the next one.
    pub generation: u64,
    /// The offset of the manifest.
    pub manifest_offset: u64,
    /// The length of the manifest.
    pub manifest_length: u32,
    /// The checksum of the manifest, which is also in its last four bytes.
    pub manifest_checksum: u32,
    /// The end of the data. Bytes from here on belong to no state.
    pub end_of_data: u64,
    /// The number of the write-ahead log that holds later commits; 0 for none.
    pub log_number: u64,
    /// The highest number that a write-ahead log of this database ever had.
    pub logs_made: u64,
    /// True if the last writer closed the database.
    pub clean: bool,
    /// Bits of features that a reader must know (SUPER-8).
    pub required_features: u64,
    /// Bits of features that a reader may ignore. A writer keeps them unchanged.
    pub optional_features: u64,
}

/// The content of a block where a superblock belongs.
#[derive(Debug, Clone, PartialEq)]
pub enum Slot {
    /// A valid superblock.
    Valid(Superblock),
    /// Something else: the block does not start with the magic bytes.
    Foreign,
    /// A superblock that cannot be used, with the reason.
    Refused(Error),
}

impl Superblock {
    /// The starting point of a new file: no state yet.
    pub fn blank(database: DatabaseId) -> Superblock {
        Superblock {
            database,
            generation: 0,
            manifest_offset: 0,
            manifest_length: 0,
            manifest_checksum: 0,
            end_of_data: 0,
            log_number: 0,
            logs_made: 0,
            clean: true,
            required_features: 0,
            optional_features: 0,
        }
    }

    /// Encodes the block.
    pub fn encode(&self) -> Vec<u8> {
        let mut layout = Layout {
            magic: MAGIC,
            format_version: NEWEST_FORMAT.into(),
            reserved: [0; 6],
            required_features: self.required_features.into(),
            optional_features: self.optional_features.into(),
            database_id: self.database,
            generation: self.generation.into(),
            manifest_offset: self.manifest_offset.into(),
            manifest_length: self.manifest_length.into(),
            manifest_checksum: self.manifest_checksum.into(),
            end_of_data: self.end_of_data.into(),
            log_number: self.log_number.into(),
            logs_made: self.logs_made.into(),
            clean: self.clean.into(),
            unused: [0; 3995],
            checksum: 0.into(),
        };
        layout.checksum = checksum(&layout).into();
        layout.as_bytes().to_vec()
    }

    /// Decodes a block. Fewer than 4,096 bytes count as foreign.
    pub fn decode(block: &[u8]) -> Slot {
        let Some(layout) = Cursor::new(block).layout::<Layout>() else { return Slot::Foreign };
        if layout.magic != MAGIC {
            return Slot::Foreign;
        }
        match check(layout) {
            Ok(superblock) => Slot::Valid(superblock),
            Err(error) => Slot::Refused(error),
        }
    }

    /// Chooses the current state from the two blocks of a file (SUPER-5). `Ok(None)` means that neither is a
    /// superblock. The flag is true if both blocks hold the chosen state.
    pub fn choose(a: Slot, b: Slot) -> Result<Option<(Superblock, bool)>> {
        match (a, b) {
            (Slot::Valid(a), Slot::Valid(b)) if a.generation == b.generation && a != b => {
                let detail = format!("two different states have the generation {}", a.generation);
                Err(broken(WHAT, "SUPER-5", 0, detail))
            }
            (Slot::Valid(a), Slot::Valid(b)) if a.database != b.database => {
                Err(broken(WHAT, "SUPER-5", 32, "the two superblocks name different databases"))
            }
            (Slot::Valid(a), Slot::Valid(b)) => {
                let equal = a.generation == b.generation;
                Ok(Some((if a.generation >= b.generation { a } else { b }, equal)))
            }
            // An unknown version is not damage. It takes precedence over the other block, which may be an older
            // state.
            (Slot::Refused(error @ Error::UnsupportedFormat { .. }), _)
            | (_, Slot::Refused(error @ Error::UnsupportedFormat { .. })) => Err(error),
            (Slot::Valid(one), _) | (_, Slot::Valid(one)) => Ok(Some((one, false))),
            (Slot::Refused(error), _) | (_, Slot::Refused(error)) => Err(error),
            (Slot::Foreign, Slot::Foreign) => Ok(None),
        }
    }
}

/// CRC-32 of all bytes before the checksum. It does not start from the database id, which is not known before this
/// check.
fn checksum(layout: &Layout) -> u32 {
    let bytes = layout.as_bytes();
    crc32fast::hash(bytes.get(..BLOCK.saturating_sub(4)).unwrap_or_default())
}

fn check(layout: &Layout) -> Result<Superblock> {
    if layout.checksum != checksum(layout) {
        return Err(broken(WHAT, "SUPER-1", 4092, "the checksum does not match"));
    }
    let version = layout.format_version.get();
    if !(OLDEST_FORMAT..=NEWEST_FORMAT).contains(&version) {
        return Err(Error::UnsupportedFormat {
            what: "database format",
            found: version.into(),
            oldest: OLDEST_FORMAT.into(),
            newest: NEWEST_FORMAT.into(),
            rule: "SUPER-2",
        });
    }
    let unknown = layout.required_features.get() & !KNOWN_REQUIRED;
    if unknown != 0 {
        return Err(Error::UnsupportedFormat {
            what: "set of required features",
            found: unknown,
            oldest: 0,
            newest: KNOWN_REQUIRED,
            rule: "SUPER-3",
        });
    }
    let zero = layout.reserved == [0; 6] && layout.unused.iter().all(|byte| *byte == 0);
    if !zero || layout.clean > 1 {
        return Err(broken(WHAT, "SUPER-4", 97, "bytes that must be zero are not"));
    }
    let superblock = Superblock {
        database: layout.database_id,
        generation: layout.generation.get(),
        manifest_offset: layout.manifest_offset.get(),
        manifest_length: layout.manifest_length.get(),
        manifest_checksum: layout.manifest_checksum.get(),
        end_of_data: layout.end_of_data.get(),
        log_number: layout.log_number.get(),
        logs_made: layout.logs_made.get(),
        clean: layout.clean == 1,
        required_features: layout.required_features.get(),
        optional_features: layout.optional_features.get(),
    };
    let s = &superblock;
    let end = s.manifest_offset.checked_add(s.manifest_length.into());
    let inside = s.manifest_offset >= DATA_START && end.is_some_and(|end| end <= s.end_of_data);
    let small = s.manifest_length <= MAX_MANIFEST_BYTES;
    if !inside || !small || !is_aligned(s.manifest_offset) || !is_aligned(s.end_of_data) {
        return Err(broken(WHAT, "SUPER-6", 56, "the manifest does not lie in the data"));
    }
    if s.log_number > s.logs_made || (s.clean && s.log_number != 0) {
        return Err(broken(WHAT, "SUPER-7", 80, "the log's number is impossible"));
    }
    Ok(superblock)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    fn superblock(generation: u64) -> Superblock {
        Superblock {
            database: [7; 16],
            generation,
            manifest_offset: 12_288,
            manifest_length: 116,
            manifest_checksum: 9,
            end_of_data: 12_416,
            log_number: 2,
            logs_made: 2,
            clean: false,
            required_features: 0,
            optional_features: 0,
        }
    }

    fn valid(generation: u64) -> Slot {
        Slot::Valid(superblock(generation))
    }

    #[test]
    fn spec_table_matches_the_struct() {
        let spec = include_str!("../../format-spec/file.md");
        let code = [
            ("magic", offset_of!(Layout, magic), 8),
            ("format version", offset_of!(Layout, format_version), 2),
            ("reserved", offset_of!(Layout, reserved), 6),
            ("required features", offset_of!(Layout, required_features), 8),
            ("optional features", offset_of!(Layout, optional_features), 8),
            ("database id", offset_of!(Layout, database_id), 16),
            ("generation", offset_of!(Layout, generation), 8),
            ("manifest offset", offset_of!(Layout, manifest_offset), 8),
            ("manifest length", offset_of!(Layout, manifest_length), 4),
            ("manifest checksum", offset_of!(Layout, manifest_checksum), 4),
            ("end of data", offset_of!(Layout, end_of_data), 8),
            ("log number", offset_of!(Layout, log_number), 8),
            ("logs made", offset_of!(Layout, logs_made), 8),
            ("clean", offset_of!(Layout, clean), 1),
            ("unused", offset_of!(Layout, unused), 3995),
            ("checksum", offset_of!(Layout, checksum), 4),
        ];
        testkit::spec_tables::assert_matches(spec, "Superblock", &code);
        assert_eq!(size_of::<Layout>(), BLOCK);
    }

    #[test]
    fn what_is_encoded_decodes() {
        assert_eq!(Superblock::decode(&superblock(5).encode()), valid(5));
    }

    /// SUPER-1: a block with any flipped bit is unusable.
    #[test]
    fn every_flipped_bit_is_seen() {
        let good = superblock(5).encode();
        for bit in 0..8 * good.len() {
            let mut bad = good.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            assert!(!matches!(Superblock::decode(&bad), Slot::Valid(_)), "bit {bit}");
        }
    }

    #[test]
    fn the_newer_of_two_states_counts() {
        let chosen = |a, b| Superblock::choose(a, b).unwrap().unwrap();
        assert_eq!(chosen(valid(5), valid(6)), (superblock(6), false));
        assert_eq!(chosen(valid(6), valid(5)), (superblock(6), false));
        assert_eq!(chosen(valid(6), valid(6)), (superblock(6), true));
        assert_eq!(chosen(valid(6), Slot::Foreign), (superblock(6), false));
        assert_eq!(Superblock::choose(Slot::Foreign, Slot::Foreign), Ok(None));
    }

    /// SUPER-5: a generation belongs to one state only.
    #[test]
    fn two_states_of_one_generation_are_refused() {
        let other = Slot::Valid(Superblock { log_number: 0, ..superblock(5) });
        let error = Superblock::choose(valid(5), other).unwrap_err();
        assert!(matches!(error, Error::Corrupt { rule: "SUPER-5", .. }), "{error}");
        let elsewhere = Slot::Valid(Superblock { database: [8; 16], ..superblock(6) });
        let error = Superblock::choose(valid(5), elsewhere).unwrap_err();
        assert!(matches!(error, Error::Corrupt { rule: "SUPER-5", .. }), "{error}");
    }

    /// SUPER-2, SUPER-3, SUPER-4, SUPER-6 and SUPER-7, each violated by one field under a valid checksum.
    #[test]
    fn each_rule_refuses() {
        let rule_of = |at: usize, bytes: &[u8]| {
            let mut block = superblock(5).encode();
            block[at..at + bytes.len()].copy_from_slice(bytes);
            let checksum = crc32fast::hash(&block[..4092]).to_le_bytes();
            block[4092..].copy_from_slice(&checksum);
            match Superblock::decode(&block) {
                Slot::Refused(
                    Error::Corrupt { rule, .. } | Error::UnsupportedFormat { rule, .. },
                ) => rule,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(rule_of(8, &[1, 0]), "SUPER-2");
        assert_eq!(rule_of(8, &[2, 0]), "SUPER-2");
        assert_eq!(rule_of(8, &[4, 0]), "SUPER-2");
        assert_eq!(rule_of(16, &[2]), "SUPER-3");
        assert_eq!(rule_of(23, &[128]), "SUPER-3");
        assert_eq!(rule_of(10, &[1]), "SUPER-4");
        assert_eq!(rule_of(4091, &[1]), "SUPER-4");
        assert_eq!(rule_of(96, &[2]), "SUPER-4");
        assert_eq!(rule_of(56, &[0, 0]), "SUPER-6");
        assert_eq!(rule_of(64, &[0xFF, 0xFF]), "SUPER-6");
        assert_eq!(rule_of(72, &[1]), "SUPER-6");
        // Each time, either the offset or the end is unaligned, or the manifest is too long.
        let place = |offset: u64, length: u32, end: u64| {
            let [offset, end] = [offset, end].map(u64::to_le_bytes);
            [&offset[..], &length.to_le_bytes(), &[0; 4], &end].concat()
        };
        assert_eq!(rule_of(56, &place(12_289, 116, 12_416)), "SUPER-6");
        assert_eq!(rule_of(56, &place(12_288, 116, 12_417)), "SUPER-6");
        assert_eq!(rule_of(56, &place(12_288, MAX_MANIFEST_BYTES + 1, 1 << 40)), "SUPER-6");
        assert_eq!(rule_of(80, &[3]), "SUPER-7");
        assert_eq!(rule_of(96, &[1]), "SUPER-7");
    }
}
