//! Bytes on disk and typed views of them: one file for each structure, mirroring `format-spec/`.
//!
//! In: bytes from anywhere. Out: views whose every field was checked, or an error that cites the broken
//! rule. Nothing here does I/O, and nothing panics, whatever the bytes. A checksum says that bytes are
//! what was written; the views check all that memory safety and termination need on top of it, so that
//! even a forged checksum leads to wrong answers at worst.
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
pub mod copies_page;
pub mod elements_page;
pub mod fence_page;
pub mod filter;
pub mod hot_part;
pub mod kept_set;
pub mod leaf_page;
pub mod liveness_page;
pub mod manifest;
pub mod page;
pub mod posting_block;
pub mod posting_directory;
pub mod posting_lists;
pub mod posting_shape;
pub mod segment_header;
pub mod signature_page;
pub mod superblock;
pub mod temporary_mark;

/// Where data starts in a database file: after two superblocks and the commit mark.
pub const DATA_START: u64 = 12_288;

const _: () = assert!(BLOCK == 4_096 && UNIT == 64);

/// Size of a superblock, and of the block that holds the commit mark.
pub const BLOCK: usize = 4096;

/// Everything in the data area starts and ends at a multiple of this.
pub const UNIT: usize = 64;

/// The newest format that this version reads, and the one it writes.
pub const NEWEST_FORMAT: u16 = 2;

/// The oldest format that this version reads.
pub const OLDEST_FORMAT: u16 = 2;

/// A database's name for itself, drawn at random when it is created.
pub type DatabaseId = [u8; 16];
