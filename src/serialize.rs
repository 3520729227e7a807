//! Serialization of keys and schemes, with the feature `serde`.
//!
//! A key becomes a string if it is UTF-8, and a map `{"hex": ".."}` of its bytes otherwise. The command-line tool prints
//! the same form. A scheme becomes a map from the names of its fields to their values as text.

use std::sync::Arc;

use serde::ser::{Error as _, SerializeMap, SerializeSeq, Serializer};

use crate::error::Result;
use crate::scheme::Scheme;

/// Serializes a key.
pub(crate) fn key<S: Serializer>(key: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    serde::Serialize::serialize(&Key(key), serializer)
}

/// Serializes a value in the form of a key, or `None` if there is no value.
pub(crate) fn value<S: Serializer>(
    value: &Option<Arc<[u8]>>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serde::Serialize::serialize(&value.as_deref().map(Key), serializer)
}

/// Serializes a slice of keys.
pub(crate) fn keys<S: Serializer>(keys: &[Box<[u8]>], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(keys.iter().map(|key| Key(key)))
}

/// Serializes keys that are read one by one. If a key cannot be read, the serializer returns the error.
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
