//! The encoding of a kept set: its count, its first element, and the gaps between elements. Implements
//! `format-spec/elements.md`.
//!
//! In: elements in ascending order, or bytes. Out: bytes, or elements, which are checked. Gaps are in blocks of 32,
//! each packed with as many bits as its largest gap needs. A set has exactly one encoding, so sets can be compared
//! and hashed as bytes. The encoding says where it ends, so sets follow each other without stored lengths. This
//! module does not know about pages.

use super::bytes::{BadCount, Cursor, PutBytes, broken, count_bytes, index, low_number};
use crate::error::Result;
use crate::limits::MAX_KEPT_ELEMENTS;
use crate::scheme::{Scheme, Universe};
use byteorder::{ByteOrder, LittleEndian};

const WHAT: &str = "kept set";

/// The number of gaps in every block but the last.
pub const BLOCK: usize = 32;

/// An upper bound on the length of an encoded set: the largest set, with gaps of 64 bits.
pub const MAX_SET_BYTES: u64 = 9 * (1 << 23);

/// The length of a block with gaps of 64 bits, and 16 bytes that may be read past its end.
const PADDED: usize = BLOCK * 8 + 16;

/// The range of the elements of a scheme.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeptShape {
    /// The length of the first element of a set in bytes.
    first_bytes: usize,
    /// The largest possible element.
    largest: u64,
}

impl KeptShape {
    /// The shape of the elements of a scheme. `None` if the scheme does not keep sets.
    pub fn of(scheme: &Scheme) -> Option<KeptShape> {
        let bits = u32::from(scheme.elements.bits());
        if bits == 0 {
            return None;
        }
        let all = u64::MAX.checked_shr(64_u32.saturating_sub(bits)).unwrap_or(0);
        let largest = match scheme.universe {
            Universe::Bounded(size) if scheme.elements.are_exact() => size.saturating_sub(1),
            _ => all,
        };
        Some(KeptShape { first_bytes: index(bits).div_ceil(8), largest })
    }

    /// Appends the encoding of distinct elements in ascending order.
    pub fn encode(self, elements: &[u64], bytes: &mut Vec<u8>) {
        let Some((first, others)) = elements.split_first() else { return bytes.push(0) };
        bytes.put_count(elements.len());
        bytes.put_low(*first, self.first_bytes);
        let mut before = *first;
        for block in others.chunks(BLOCK) {
            let gaps = block.iter().map(|x| {
                let gap = x.wrapping_sub(before).wrapping_sub(1);
                before = *x;
                gap
            });
            let (mut buffer, mut largest) = ([0_u64; BLOCK], 0);
            for (to, gap) in buffer.iter_mut().zip(gaps) {
                *to = gap;
                largest |= gap;
            }
            let width = width_of(largest);
            bytes.push(width);
            pack(buffer.get(..block.len()).unwrap_or_default(), width, bytes);
        }
    }

    /// The length of the encoding of distinct elements in ascending order.
    pub fn encoded_bytes(self, elements: &[u64]) -> usize {
        let Some(first) = elements.first() else { return 1 };
        let mut before = *first;
        let others = elements.get(1..).unwrap_or_default();
        let blocks = others.chunks(BLOCK).map(|block| {
            let largest = block.iter().fold(0, |largest, x| {
                let gap = x.wrapping_sub(before).wrapping_sub(1);
                before = *x;
                largest | gap
            });
            block_bytes(block.len(), width_of(largest)).saturating_add(1)
        });
        let blocks = blocks.fold(0_usize, usize::saturating_add);
        count_bytes(elements.len()).saturating_add(self.first_bytes).saturating_add(blocks)
    }

    /// Decodes the set at the start of `bytes`, appends its elements to `into`, and returns the length of its
    /// encoding. After an error, some elements may have been appended.
    pub fn decode(self, bytes: &[u8], into: &mut Vec<u64>) -> Result<usize> {
        let mut cursor = Cursor::new(bytes);
        let count = decode_count(&mut cursor)?;
        if count > 0 {
            // A block of consecutive elements takes one byte, so the bytes cannot hold more elements than this.
            let most = bytes.len().saturating_mul(BLOCK);
            into.reserve(count.min(most));
            self.decode_elements(&mut cursor, count, into)?;
        }
        Ok(bytes.len().saturating_sub(cursor.rest().len()))
    }

    fn decode_elements(
        self,
        cursor: &mut Cursor<'_>,
        count: usize,
        into: &mut Vec<u64>,
    ) -> Result<()> {
        let mut before = low_number(cursor.take(self.first_bytes).ok_or_else(short)?);
        into.push(self.check(before, before)?);
        let mut left = count.saturating_sub(1);
        let (mut padded, mut gaps) = ([0; PADDED], [0; BLOCK]);
        while left > 0 {
            let here = left.min(BLOCK);
            let width = *cursor.layout::<u8>().ok_or_else(short)?;
            if width > 64 {
                return Err(broken(WHAT, "KEPT-3", 0, format!("gaps of {width} bits")));
            }
            let packed = cursor.take(block_bytes(here, width)).ok_or_else(short)?;
            let gaps = gaps.get_mut(..here).unwrap_or_default();
            unpack(packed, width, &mut padded, gaps)?;
            for gap in gaps {
                let next = before.wrapping_add(*gap).wrapping_add(1);
                before = self.check(next, before.saturating_add(1))?;
                into.push(before);
            }
            left = left.saturating_sub(here);
        }
        Ok(())
    }

    /// Checks an element that must not be below `least`.
    fn check(self, element: u64, least: u64) -> Result<u64> {
        if element < least || element > self.largest {
            return Err(broken(WHAT, "KEPT-4", 0, format!("element {element} is too large")));
        }
        Ok(element)
    }
}

fn short() -> crate::error::Error {
    broken(WHAT, "KEPT-1", 0, "it is cut short")
}

/// The number of bits of a number.
fn width_of(largest: u64) -> u8 {
    u8::try_from(64_u32.saturating_sub(largest.leading_zeros())).unwrap_or(64)
}

/// The length of a block of gaps, without the byte for its width.
fn block_bytes(gaps: usize, width: u8) -> usize {
    gaps.saturating_mul(usize::from(width)).div_ceil(8)
}

/// KEPT-2: the count is within the limit and takes no more bytes than necessary.
fn decode_count(cursor: &mut Cursor<'_>) -> Result<usize> {
    match cursor.count(4) {
        Err(BadCount::Short) => Err(short()),
        Ok(count) if count <= MAX_KEPT_ELEMENTS => Ok(count),
        Ok(_) | Err(BadCount::Long) => {
            Err(broken(WHAT, "KEPT-2", 0, "an impossible number of elements"))
        }
    }
}

/// Appends numbers of `width` bits each, starting with the lowest bit of the first byte.
fn pack(numbers: &[u64], width: u8, bytes: &mut Vec<u8>) {
    let (mut open, mut bits) = (0_u128, 0_u32);
    for number in numbers {
        open |= u128::from(*number).checked_shl(bits).unwrap_or(0);
        bits = bits.saturating_add(width.into());
        while bits >= 8 {
            bytes.push(u8::try_from(open & 0xFF).unwrap_or(0));
            open >>= 8;
            bits = bits.saturating_sub(8);
        }
    }
    if bits > 0 {
        bytes.push(u8::try_from(open & 0xFF).unwrap_or(0));
    }
}

/// KEPT-3: fills `numbers` from packed bits. The largest number must need all `width` bits, and spare bits must be
/// 0.
fn unpack(packed: &[u8], width: u8, padded: &mut [u8; PADDED], numbers: &mut [u64]) -> Result<()> {
    let bits = usize::from(width);
    let (start, rest) = padded.split_at_mut_checked(packed.len()).unwrap_or_default();
    start.copy_from_slice(packed);
    rest.iter_mut().take(16).for_each(|byte| *byte = 0);
    let mask = u64::MAX.checked_shr(64_u32.saturating_sub(width.into())).unwrap_or(0);
    let read = |at: usize| {
        let word = padded.get(at / 8..).and_then(|bytes| bytes.first_chunk::<16>());
        let shift = u32::try_from(at % 8).unwrap_or(0);
        let word = LittleEndian::read_u128(word.unwrap_or(&[0; 16])).checked_shr(shift);
        u64::try_from(word.unwrap_or(0) & u128::from(u64::MAX)).unwrap_or(0)
    };
    let mut all = 0;
    let mut at: usize = 0;
    for number in numbers {
        *number = read(at) & mask;
        all |= *number;
        at = at.saturating_add(bits);
    }
    let spare = packed.len().saturating_mul(8).saturating_sub(at);
    if width_of(all) != width || (spare > 0 && read(at) != 0) {
        return Err(broken(WHAT, "KEPT-3", 0, "its gaps have another width, or bits after them"));
    }
    Ok(())
}

#[cfg(test)]
#[path = "kept_set_tests.rs"]
mod tests;
