//! The file format: one file for each structure, mirroring `format-spec/`.
//!
//! In: bytes from anywhere. Out: typed views whose every field was checked, or an error that cites the violated
//! rule. Nothing here does I/O, and no bytes make it panic.
//!
//! A checksum proves that bytes are as they were written. It does not prove that a correct writer wrote them. The
//! views therefore also check everything that memory safety and termination depend on, so a forged checksum can
//! cause wrong answers but nothing worse.
#![cfg_attr(
    not(test),
    deny(
        clippy::indexing_slicing,
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::arithmetic_side_effects,
        clippy::as_conversions
    )
)]

pub mod batch;
pub mod bytes;
pub mod commit_mark;
pub mod duplicates_page;
pub mod fence_page;
pub mod filter;
pub mod kept_set;
pub mod leaf_page;
pub mod log_part;
pub mod manifest;
pub mod page;
pub mod posting_block;
pub mod posting_directory;
pub mod posting_lists;
pub mod posting_shape;
pub mod record_pages;
pub mod segment_header;
pub mod signature_page;
pub mod superblock;
pub mod temporary_mark;
pub mod tombstone_page;
pub mod value;

/// The offset of the data area in a database file: after two superblocks and the block of the commit mark.
pub const DATA_START: u64 = 12_288;

const _: () = assert!(BLOCK == 4_096 && UNIT == 64);

/// The size of a superblock, and of the block that holds the commit mark.
pub const BLOCK: usize = 4096;

/// The unit of alignment: everything in the data area starts and ends at a multiple of it.
pub const UNIT: usize = 64;

/// The newest format that this version reads, and the one it writes.
pub const NEWEST_FORMAT: u16 = 3;

/// The oldest format that this version reads.
pub const OLDEST_FORMAT: u16 = 3;

/// The identity of a database, drawn at random when it is created.
pub type DatabaseId = [u8; 16];
