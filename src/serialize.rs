//! How keys and schemes look to serde, with the feature `serde`.
//!
//! A key is a string if it is UTF-8, and otherwise a map `{"hex": ".."}` of its bytes: the form that the tool prints, too. A
//! scheme is a map of its fields, in words.

use serde::ser::{Error as _, SerializeMap, SerializeSeq, Serializer};

use crate::error::Result;
use crate::scheme::Scheme;

/// A key, for fields that are one.
pub(crate) fn key<S: Serializer>(key: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    serde::Serialize::serialize(&Key(key), serializer)
}

/// Several keys.
pub(crate) fn keys<S: Serializer>(keys: &[Box<[u8]>], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(keys.iter().map(|key| Key(key)))
}

/// Keys that are read one by one. One that cannot be read is an error of the serializer.
pub(crate) fn read_keys<S: Serializer>(
    keys: impl ExactSizeIterator<Item = Result<Box<[u8]>>>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let mut sequence = serializer.serialize_seq(Some(keys.len()))?;
    for key in keys {
        sequence.serialize_element(&Key(&key.map_err(S::Error::custom)?))?;
    }
    sequence.end()
}

struct Key<'a>(&'a [u8]);

impl serde::Serialize for Key<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if let Ok(text) = str::from_utf8(self.0) {
            return serializer.serialize_str(text);
        }
        let hex: String = self.0.iter().map(|byte| format!("{byte:02x}")).collect();
        let mut map = serializer.serialize_map(Some(1))?;
        map.serialize_entry("hex", &hex)?;
        map.end()
    }
}

impl serde::Serialize for Scheme {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.described())
    }
}
