//! The records of a write-ahead log: its id file and the parts of its commits. Implements
//! `format-spec/log.md`.
//!
//! In: ids, sequences and payloads, or bytes from anywhere. Out: bytes, or checked views of them, or an error that
//! cites the violated rule. This module checks one part at a time. The replay decides whether a part is the next
//! one.

use std::mem::offset_of;

use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::error::{Error, Result};
use crate::options::LogKind;

/// The length of the id file.
pub const ID_BYTES: usize = size_of::<IdLayout>();

/// The length of the header of a part.
pub const PART_HEADER: usize = size_of::<PartLayout>();

/// The length of the longest part. Sled would store larger values outside of its log, in files that it does not
/// sync.
pub const MAX_PART: usize = 4096;

/// The length of the longest payload of a part (LOG-5).
pub const MAX_PAYLOAD: usize = 4072;
const _: () = assert!(PART_HEADER == 24 && MAX_PART == MAX_PAYLOAD.wrapping_add(PART_HEADER));

/// The sequence of the opening part. No commit has it (LOG-7).
pub const OPENING: u64 = 0;

const MAGIC: [u8; 8] = *b"RINGHOT\n";
const VERSION: u16 = 1;
const KIND_SLED: u16 = 1;
const KIND_PLAIN: u16 = 2;

/// The identity of a log: its database and its number. All checksums of a log start from it (LOG-4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogId {
    /// The id of the database file.
    pub database: [u8; 16],
    /// The number of the log, which the database file names.
    pub number: u64,
}

/// The layout of the id file.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct IdLayout {
    magic: [u8; 8],
    version: U16,
    kind: U16,
    reserved: U32,
    database: [u8; 16],
    number: U64,
    crc: U32,
}

/// The layout of a part, before its payload.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct PartLayout {
    crc: U32,
    length: U32,
    sequence: U64,
    part: U32,
    parts: U32,
}

/// A part whose checksum is right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part<'a> {
    /// The sequence of the commit.
    pub sequence: u64,
    /// The number of the part, starting at 0.
    pub part: u32,
    /// The number of parts of the commit.
    pub parts: u32,
    /// The part's share of the payload of the commit.
    pub payload: &'a [u8],
}

impl LogId {
    /// The checksum of bytes of this log (LOG-4).
    fn crc(&self, bytes: &[u8]) -> u32 {
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(&self.database);
        hasher.update(U64::new(self.number).as_bytes());
        hasher.update(bytes);
        hasher.finalize()
    }
}

/// Encodes the id file of a log.
pub fn encode_id(id: LogId, kind: LogKind) -> [u8; ID_BYTES] {
    let mut layout = IdLayout {
        magic: MAGIC,
        version: VERSION.into(),
        kind: match kind {
            LogKind::Sled => KIND_SLED.into(),
            LogKind::Plain => KIND_PLAIN.into(),
        },
        reserved: 0.into(),
        database: id.database,
        number: id.number.into(),
        crc: 0.into(),
    };
    let covered = layout.as_bytes().split_at_checked(offset_of!(IdLayout, crc));
    layout.crc = id.crc(covered.map_or(&[], |(covered, _)| covered)).into();
    zerocopy::transmute!(layout)
}

/// Decodes an id file (LOG-3). Damage is `Corrupt`. A newer version or kind is `UnsupportedFormat`.
pub fn decode_id(bytes: &[u8]) -> Result<(LogId, LogKind)> {
    let layout = IdLayout::ref_from_bytes(bytes).map_err(|_| {
        damaged_id(0, format!("it has {} bytes instead of {ID_BYTES}", bytes.len()))
    })?;
    if layout.magic != MAGIC {
        return Err(damaged_id(0, "it does not start as one".into()));
    }
    let id = LogId { database: layout.database, number: layout.number.get() };
    let at = offset_of!(IdLayout, crc);
    let covered = bytes.split_at_checked(at).map_or(bytes, |(covered, _)| covered);
    if layout.crc != id.crc(covered) {
        return Err(damaged_id(40, "its checksum does not fit".into()));
    }
    if layout.version != VERSION {
        return Err(unsupported("version of the log", layout.version, VERSION, VERSION));
    }
    if layout.reserved != 0 {
        return Err(damaged_id(12, "reserved bytes are not zero".into()));
    }
    match layout.kind.get() {
        KIND_SLED => Ok((id, LogKind::Sled)),
        KIND_PLAIN => Ok((id, LogKind::Plain)),
        _ => Err(unsupported("kind of log", layout.kind, KIND_SLED, KIND_PLAIN)),
    }
}

/// Cuts a commit into parts, given in order as `(part number, bytes)` (LOG-5, LOG-6). The number of parts is a
/// `u32`, which suffices for a payload of 16 TiB.
pub fn encode_parts(
    id: LogId,
    sequence: u64,
    payload: &[u8],
) -> impl Iterator<Item = (u32, Vec<u8>)> {
    let parts = u32::try_from(payload.len().div_ceil(MAX_PAYLOAD).max(1)).unwrap_or(u32::MAX);
    // `chunks` gives nothing for an empty payload, but such a commit still has one part.
    let empty = payload.is_empty().then_some(payload);
    let chunks = payload.chunks(MAX_PAYLOAD).chain(empty);
    (0..parts).zip(chunks).map(move |(part, piece)| {
        (part, encode_part(id, Part { sequence, part, parts, payload: piece }))
    })
}

fn encode_part(id: LogId, part: Part<'_>) -> Vec<u8> {
    let header = PartLayout {
        crc: 0.into(),
        length: u32::try_from(part.payload.len()).unwrap_or(u32::MAX).into(),
        sequence: part.sequence.into(),
        part: part.part.into(),
        parts: part.parts.into(),
    };
    let mut bytes = Vec::with_capacity(MAX_PART);
    bytes.extend_from_slice(header.as_bytes());
    bytes.extend_from_slice(part.payload);
    if let Some((crc, rest)) = bytes.split_at_mut_checked(size_of::<U32>()) {
        crc.copy_from_slice(U32::new(id.crc(rest)).as_bytes());
    }
    bytes
}

/// Decodes the part at the start of `bytes`. Also returns the bytes after it.
pub fn decode_part(id: LogId, bytes: &[u8]) -> Result<(Part<'_>, &[u8])> {
    let (header, rest) = PartLayout::ref_from_prefix(bytes)
        .map_err(|_| damaged_part(0, format!("{} bytes are no header", bytes.len())))?;
    let length = usize::try_from(header.length.get()).unwrap_or(usize::MAX);
    if length > MAX_PAYLOAD {
        return Err(damaged_part(4, format!("its payload would have {length} bytes")));
    }
    let Some((payload, rest)) = rest.split_at_checked(length) else {
        return Err(damaged_part(4, format!("{} of {length} bytes are there", rest.len())));
    };
    let covered = PART_HEADER.saturating_add(length);
    let covered = bytes.get(size_of::<U32>()..covered).unwrap_or_default();
    if header.crc != id.crc(covered) {
        return Err(damaged_part(0, "its checksum does not fit".into()));
    }
    let part = Part {
        sequence: header.sequence.get(),
        part: header.part.get(),
        parts: header.parts.get(),
        payload,
    };
    if part.part >= part.parts {
        return Err(damaged_part(16, format!("it is part {} of {}", part.part, part.parts)));
    }
    Ok((part, rest))
}

impl Part<'_> {
    /// True if this is the last part of its commit.
    pub fn is_last(&self) -> bool {
        self.part.checked_add(1) == Some(self.parts)
    }

    /// True if the part has the length that its place in the commit requires (LOG-6).
    pub fn is_cut_right(&self) -> bool {
        match (self.is_last(), self.payload.len()) {
            (false, length) => length == MAX_PAYLOAD,
            (true, 0) => self.parts == 1,
            (true, _) => true,
        }
    }
}

fn damaged_id(offset: u64, detail: String) -> Error {
    Error::Corrupt { what: "id of the log", offset, rule: "LOG-3", detail }
}

fn damaged_part(offset: u64, detail: String) -> Error {
    Error::Corrupt { what: "part of a commit", offset, rule: "LOG-5", detail }
}

fn unsupported(what: &'static str, found: U16, oldest: u16, newest: u16) -> Error {
    let [found, oldest, newest] = [found.get(), oldest, newest].map(u64::from);
    Error::UnsupportedFormat { what, found, oldest, newest, rule: "LOG-3" }
}

#[cfg(test)]
mod tests;
