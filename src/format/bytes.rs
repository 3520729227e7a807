//! The only way to take disk bytes apart: a cursor that checks every step. Also integer encoding and checksums.
//!
//! Structures of a fixed layout are zerocopy views. All other integers are read and written with `byteorder`. This
//! module does not know any structure of the format.

use byteorder::{ByteOrder, LittleEndian};
use zerocopy::{FromBytes, Immutable, KnownLayout, Unaligned};

use super::{DatabaseId, UNIT};
use crate::error::Error;

/// Reads bytes from front to back. Every step returns `None` if too few bytes are left.
#[derive(Debug, Clone, Copy)]
pub struct Cursor<'a> {
    rest: &'a [u8],
}

impl<'a> Cursor<'a> {
    /// Starts at the first of these bytes.
    pub fn new(bytes: &'a [u8]) -> Cursor<'a> {
        Cursor { rest: bytes }
    }

    /// The bytes not read yet.
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// The next `n` bytes.
    pub fn take(&mut self, n: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(n)?;
        self.rest = rest;
        Some(taken)
    }

    /// The next bytes, viewed as a fixed layout.
    pub fn layout<T>(&mut self) -> Option<&'a T>
    where
        T: FromBytes + KnownLayout + Immutable + Unaligned,
    {
        let (layout, rest) = T::ref_from_prefix(self.rest).ok()?;
        self.rest = rest;
        Some(layout)
    }

    /// The next four bytes as an integer.
    pub fn u32(&mut self) -> Option<u32> {
        self.take(size_of::<u32>()).map(LittleEndian::read_u32)
    }

    /// The next bytes as a count in at most `bytes` bytes, as [`PutBytes::put_count`] writes it.
    pub fn count(&mut self, bytes: u32) -> Result<usize, BadCount> {
        let mut count: usize = 0;
        for shift in (0..bytes).map(|i| i.saturating_mul(7)) {
            let byte = *self.layout::<u8>().ok_or(BadCount::Short)?;
            count |= usize::from(byte & 0x7F).checked_shl(shift).unwrap_or(0);
            if byte & 0x80 == 0 {
                return if byte == 0 && shift > 0 { Err(BadCount::Long) } else { Ok(count) };
            }
        }
        Err(BadCount::Long)
    }

    /// The next bytes, viewed as `n` equal layouts. It allocates nothing, so an absurd `n` is harmless.
    pub fn layouts<T>(&mut self, n: usize) -> Option<&'a [T]>
    where
        T: FromBytes + Immutable + Unaligned + KnownLayout,
    {
        let bytes = self.take(n.checked_mul(size_of::<T>())?)?;
        <[T]>::ref_from_bytes(bytes).ok()
    }
}

/// Why bytes are not a count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BadCount {
    /// There are too few of them.
    Short,
    /// The count takes more bytes than it needs, or than are allowed.
    Long,
}

/// Appends little-endian integers to bytes.
pub trait PutBytes {
    /// Appends an integer of four bytes.
    fn put_u32(&mut self, number: u32);

    /// Appends an integer of eight bytes.
    fn put_u64(&mut self, number: u64);

    /// Appends the low `width` bytes of an integer, at most 8.
    fn put_low(&mut self, number: u64, width: usize);

    /// Appends a count with seven bits per byte, lowest first. The eighth bit says that more bytes follow.
    fn put_count(&mut self, count: usize);
}

impl PutBytes for Vec<u8> {
    fn put_u32(&mut self, number: u32) {
        let mut bytes = [0; size_of::<u32>()];
        LittleEndian::write_u32(&mut bytes, number);
        self.extend_from_slice(&bytes);
    }

    fn put_u64(&mut self, number: u64) {
        let mut bytes = [0; size_of::<u64>()];
        LittleEndian::write_u64(&mut bytes, number);
        self.extend_from_slice(&bytes);
    }

    fn put_low(&mut self, number: u64, width: usize) {
        let mut bytes = [0; size_of::<u64>()];
        LittleEndian::write_u64(&mut bytes, number);
        self.extend_from_slice(bytes.get(..width).unwrap_or(&bytes));
    }

    fn put_count(&mut self, mut count: usize) {
        loop {
            let low = u8::try_from(count & 0x7F).unwrap_or(0);
            count >>= 7;
            if count == 0 {
                return self.push(low);
            }
            self.push(low | 0x80);
        }
    }
}

/// The length of a count, as [`PutBytes::put_count`] writes it.
pub fn count_bytes(count: usize) -> usize {
    match count {
        0..0x80 => 1,
        0x80..0x4000 => 2,
        0x4000..0x20_0000 => 3,
        _ => 4,
    }
}

/// Reads the first bytes, at most 8, as a little-endian integer. Missing bytes count as 0.
pub fn low_number(bytes: &[u8]) -> u64 {
    match bytes.first_chunk::<8>() {
        Some(whole) => LittleEndian::read_u64(whole),
        None if bytes.is_empty() => 0,
        None => LittleEndian::read_uint(bytes, bytes.len()),
    }
}

/// The checksum stored in the last four bytes of a structure.
pub fn last_checksum(bytes: &[u8]) -> u32 {
    bytes.last_chunk::<4>().map_or(0, |checksum| LittleEndian::read_u32(checksum))
}

/// Computes CRC-32 (IEEE 802.3) over a database id followed by other bytes. What one database wrote therefore never
/// verifies in another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seal(u32);

impl Seal {
    /// Prepares the checksums of one database.
    pub fn of(database: DatabaseId) -> Seal {
        Seal(crc32fast::hash(&database))
    }

    /// The checksum of these bytes in this database.
    pub fn checksum(self, bytes: &[u8]) -> u32 {
        let mut hasher = crc32fast::Hasher::new_with_initial(self.0);
        hasher.update(bytes);
        hasher.finalize()
    }
}

/// Rounds up to a multiple of 64.
pub fn round_up(length: usize) -> usize {
    length.checked_next_multiple_of(UNIT).unwrap_or(usize::MAX)
}

/// True if a position is a multiple of 64.
pub fn is_aligned(position: u64) -> bool {
    position.is_multiple_of(64)
}

/// Converts a count from disk to an index.
pub fn index(n: u32) -> usize {
    usize::try_from(n).unwrap_or(usize::MAX)
}

/// Converts a length in memory to a position on disk.
pub fn position(n: usize) -> u64 {
    u64::try_from(n).unwrap_or(u64::MAX)
}

/// The error for a violated rule at an offset of the structure being read. The caller adds where that structure is.
pub fn broken(
    what: &'static str,
    rule: &'static str,
    offset: u64,
    detail: impl Into<String>,
) -> Error {
    Error::Corrupt { what, offset, rule, detail: detail.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_never_gives_more_than_there_is() {
        let mut cursor = Cursor::new(&[1, 2, 3]);
        assert_eq!(cursor.take(4), None);
        assert_eq!(cursor.layouts::<zerocopy::little_endian::U64>(usize::MAX), None);
        assert_eq!(cursor.take(2), Some(&[1, 2][..]));
        assert_eq!(cursor.rest(), [3]);
        assert!(cursor.layout::<zerocopy::little_endian::U16>().is_none());
        assert_eq!((cursor.u32(), cursor.rest()), (None, &[3][..]));
    }

    #[test]
    fn numbers_are_little_endian() {
        let mut bytes = Vec::new();
        bytes.put_u32(0x0403_0201);
        bytes.put_u64(0x0C0B_0A09_0807_0605);
        bytes.put_low(0xFF_100F_0E0D, 4);
        assert_eq!(bytes, (1..=16).collect::<Vec<u8>>());
        let mut cursor = Cursor::new(&bytes);
        assert_eq!(cursor.u32(), Some(0x0403_0201));
        assert_eq!(cursor.take(8).map(low_number), Some(0x0C0B_0A09_0807_0605));
        assert_eq!(low_number(cursor.rest()), 0x100F_0E0D);
        assert_eq!(low_number(&bytes), 0x0807_0605_0403_0201);
        assert_eq!(low_number(&[]), 0);
        assert_eq!(last_checksum(&bytes), 0x100F_0E0D);
        bytes.clear();
        bytes.put_low(1, 9);
        assert_eq!(bytes, [1, 0, 0, 0, 0, 0, 0, 0]);
    }

    /// Checks CRC-32 against its published check value for "123456789". The checksum of a database is that of its
    /// id followed by the bytes, as the specification defines it.
    #[test]
    fn the_seal_is_the_checksum_of_id_and_bytes() {
        assert_eq!(crc32fast::hash(b"123456789"), 0xCBF4_3926);
        let id = *b"0123456789abcdef";
        assert_eq!(Seal::of(id).checksum(b"xyz"), crc32fast::hash(b"0123456789abcdefxyz"));
    }
}
