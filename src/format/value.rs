//! The encoding of a value: its size and its bytes. Implements `format-spec/values.md`.
//!
//! In: a value, or none, or bytes. Out: bytes, or a value, which is checked. The encoding says where it ends, so
//! values follow each other without stored lengths. This module does not know about pages.

use super::bytes::{BadCount, Cursor, PutBytes, broken, count_bytes, position};
use crate::error::{Error, Result};
use crate::limits::MAX_VALUE_BYTES;

const WHAT: &str = "value";

/// The length of the longest encoded value.
pub const MAX_ENCODED_BYTES: u64 = 3 + (1 << 16);

const _: () = assert!(MAX_VALUE_BYTES == 1 << 16);

/// Appends the encoding of a value, or of no value.
pub fn encode(value: Option<&[u8]>, bytes: &mut Vec<u8>) {
    bytes.put_count(size_of_value(value));
    bytes.extend_from_slice(value.unwrap_or_default());
}

/// The length of the encoding of a value, or of no value.
pub fn encoded_bytes(value: Option<&[u8]>) -> usize {
    count_bytes(size_of_value(value)).saturating_add(value.map_or(0, <[u8]>::len))
}

/// The number before a value: 0 for none, and one more than its length otherwise.
fn size_of_value(value: Option<&[u8]>) -> usize {
    value.map_or(0, |value| value.len().saturating_add(1))
}

/// Decodes the value at the start of `bytes`. Returns it, or `None` for no value, and the length of its encoding.
pub fn decode(bytes: &[u8]) -> Result<(Option<&[u8]>, usize)> {
    let mut cursor = Cursor::new(bytes);
    let value = match cursor.count(3) {
        Err(BadCount::Short) => return Err(short()),
        Ok(0) => None,
        Ok(size) if size <= MAX_VALUE_BYTES.saturating_add(1) => {
            Some(cursor.take(size.saturating_sub(1)).ok_or_else(short)?)
        }
        Ok(_) | Err(BadCount::Long) => {
            return Err(broken(WHAT, "VALUE-2", 0, "an impossible length"));
        }
    };
    Ok((value, bytes.len().saturating_sub(cursor.rest().len())))
}

/// Checks the length of a value that is about to be stored.
pub fn check_length(value: &[u8]) -> Result<()> {
    if value.len() <= MAX_VALUE_BYTES {
        return Ok(());
    }
    let limit = format!("a value has at most {MAX_VALUE_BYTES} bytes");
    Err(Error::invalid(format!("value of {} bytes", position(value.len())), limit))
}

fn short() -> Error {
    broken(WHAT, "VALUE-1", 0, "it is cut short")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule_of(bytes: &[u8]) -> &'static str {
        match decode(bytes) {
            Err(Error::Corrupt { rule, .. }) => rule,
            other => panic!("{other:?}"),
        }
    }

    /// Every length comes back, with its bytes as the specification gives them, and with anything behind it.
    #[test]
    fn values_of_all_lengths_come_back() {
        let long: Vec<u8> = (0..MAX_VALUE_BYTES).map(|i| (i * 7) as u8).collect();
        let lengths = [0, 1, 126, 127, 128, 16_382, 16_383, 16_384, 65_535, 65_536];
        for value in lengths.map(|length| Some(&long[..length])).into_iter().chain([None]) {
            let mut bytes = Vec::new();
            encode(value, &mut bytes);
            assert_eq!(bytes.len(), encoded_bytes(value));
            assert!(bytes.len() as u64 <= MAX_ENCODED_BYTES);
            let length = bytes.len();
            assert_eq!(decode(&bytes).unwrap(), (value, length));
            bytes.extend_from_slice(&[0x80, 9]);
            assert_eq!(decode(&bytes).unwrap(), (value, length));
        }
        let encoded = |value: Option<&[u8]>| {
            let mut bytes = Vec::new();
            encode(value, &mut bytes);
            bytes
        };
        assert_eq!((encoded(None), encoded(Some(b""))), (vec![0], vec![1]));
        assert_eq!(encoded(Some(b"ab")), [3, b'a', b'b']);
        assert_eq!(encoded(Some(&[7; 127]))[..3], [0x80, 1, 7]);
        assert_eq!(encoded(Some(&long))[..3], [0x81, 0x80, 4]);
    }

    #[test]
    fn each_rule_refuses() {
        assert_eq!(rule_of(&[]), "VALUE-1");
        assert_eq!(rule_of(&[3, 1]), "VALUE-1");
        assert_eq!(rule_of(&[0x80]), "VALUE-1");
        // A size of one byte more than is allowed, in more bytes than it needs, and of four bytes.
        assert_eq!(rule_of(&[0x82, 0x80, 4]), "VALUE-2");
        assert_eq!(rule_of(&[0x81, 0]), "VALUE-2");
        assert_eq!(rule_of(&[0x80, 0x80, 0x80, 1]), "VALUE-2");
        assert!(check_length(&[0; MAX_VALUE_BYTES]).is_ok());
        assert!(check_length(&[0; MAX_VALUE_BYTES + 1]).is_err());
    }
}
