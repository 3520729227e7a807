//! The payload of a commit in the write-ahead log: its operations by key. Implements `format-spec/batch.md`.
//!
//! In: operations, or bytes of a log. Out: the payload, or checked operations. The payload names keys, not rows, so
//! it can be replayed over any state of the segments. It does not know how the log stores it.

use std::sync::Arc;

use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::bytes::{Cursor, PutBytes, broken, index};
use super::kept_set::KeptShape;
use super::signature_page::SignatureShape;
use super::value;
use crate::error::Result;
use crate::limits::{MAX_BATCH_OPERATIONS, MAX_KEPT_ELEMENTS, MAX_KEY_BYTES};
use crate::scheme::Scheme;
use crate::sketch::Signature;

const WHAT: &str = "commit";

const PUT: u8 = 1;
const PUT_EMPTY: u8 = 2;
const DELETE: u8 = 3;
const PUT_VALUE: u8 = 4;
const PUT_EMPTY_VALUE: u8 = 5;

/// The layout of the start of an operation, before its key.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Layout {
    operation: u8,
    key_length: U16,
    cardinality_code: U32,
}

/// What happens to a key: a signature is stored under it, or the key is deleted.
#[derive(Debug, Clone, PartialEq)]
pub struct Operation {
    /// The key.
    pub key: Box<[u8]>,
    /// The new signature; `None` deletes the key.
    pub signature: Option<Signature>,
    /// The value that is stored with it.
    pub value: Option<Arc<[u8]>>,
}

/// What a put stores under a key: a signature, and a value if there is one.
pub type Put<'a> = (&'a Signature, Option<&'a Arc<[u8]>>);

impl Operation {
    /// The key, and what is stored under it.
    pub fn parts(&self) -> (&[u8], Option<Put<'_>>) {
        (&self.key, self.signature.as_ref().map(|signature| (signature, self.value.as_ref())))
    }

    /// The length of the operation in a payload.
    pub fn encoded_bytes(&self) -> usize {
        let value = self.value.as_deref().map_or(0, |value| value::encoded_bytes(Some(value)));
        encoded_bytes(&self.key, self.signature.as_ref()).saturating_add(value)
    }

    fn encode(&self, bytes: &mut Vec<u8>) {
        let layout = Layout {
            operation: match (&self.signature, &self.value) {
                (Some(signature), None) if signature.is_empty() => PUT_EMPTY,
                (Some(signature), Some(_)) if signature.is_empty() => PUT_EMPTY_VALUE,
                (Some(_), None) => PUT,
                (Some(_), Some(_)) => PUT_VALUE,
                (None, _) => DELETE,
            },
            key_length: u16::try_from(self.key.len()).unwrap_or(u16::MAX).into(),
            cardinality_code: self.signature.as_ref().map_or(0, Signature::cardinality_code).into(),
        };
        bytes.extend_from_slice(layout.as_bytes());
        bytes.extend_from_slice(&self.key);
        if let Some(signature) = stored(self.signature.as_ref()) {
            signature.planes().iter().for_each(|word| bytes.put_u64(*word));
            if let Some((shape, elements)) = kept(signature) {
                shape.encode(elements, bytes);
            }
        }
        if let (Some(_), Some(value)) = (&self.signature, &self.value) {
            value::encode(Some(value), bytes);
        }
    }
}

/// The length that an operation with this key and signature, and without a value, has in a payload.
pub fn encoded_bytes(key: &[u8], signature: Option<&Signature>) -> usize {
    let of_signature = stored(signature).map_or(0, |signature| {
        let set = kept(signature).map_or(0, |(shape, elements)| shape.encoded_bytes(elements));
        signature.planes().len().saturating_mul(size_of::<U64>()).saturating_add(set)
    });
    size_of::<Layout>().saturating_add(key.len()).saturating_add(of_signature)
}

/// The signature, if its planes are stored after the key. The empty set has none stored.
fn stored(signature: Option<&Signature>) -> Option<&Signature> {
    signature.filter(|signature| !signature.is_empty())
}

/// The length of the operation count at the start of a payload.
pub const COUNT_BYTES: usize = size_of::<U32>();

/// Encodes the payload of these operations.
pub fn encode(operations: &[Operation]) -> Vec<u8> {
    let add =
        |length: usize, operation: &Operation| length.saturating_add(operation.encoded_bytes());
    let mut bytes = Vec::with_capacity(operations.iter().fold(COUNT_BYTES, add));
    bytes.put_u32(u32::try_from(operations.len()).unwrap_or(u32::MAX));
    operations.iter().for_each(|operation| operation.encode(&mut bytes));
    bytes
}

/// The elements of a signature if its scheme keeps sets, and how they are encoded.
fn kept(signature: &Signature) -> Option<(KeptShape, &[u64])> {
    Some((KeptShape::of(signature.scheme())?, signature.elements()?))
}

/// Decodes a payload.
pub fn decode(bytes: &[u8], scheme: &Arc<Scheme>) -> Result<Vec<Operation>> {
    let short = || broken(WHAT, "BATCH-1", 0, "it is cut short");
    let mut cursor = Cursor::new(bytes);
    let count = index(cursor.u32().ok_or_else(short)?);
    if count > MAX_BATCH_OPERATIONS {
        return Err(broken(WHAT, "BATCH-1", 0, format!("it claims {count} operations")));
    }
    // An absurd count must not reserve more memory than the bytes can fill.
    let most = cursor.rest().len().checked_div(size_of::<Layout>()).unwrap_or(0);
    let mut operations = Vec::with_capacity(count.min(most));
    let mut elements: usize = 0;
    for _ in 0..count {
        let operation = operation(&mut cursor, scheme)?;
        let set = operation.signature.as_ref().and_then(Signature::elements);
        elements = elements.saturating_add(set.map_or(0, <[u64]>::len));
        if elements > MAX_KEPT_ELEMENTS {
            return Err(broken(WHAT, "BATCH-4", 0, "its sets have too many elements"));
        }
        operations.push(operation);
    }
    if !cursor.rest().is_empty() {
        return Err(broken(WHAT, "BATCH-1", 0, "bytes are left after its last operation"));
    }
    Ok(operations)
}

fn operation(cursor: &mut Cursor<'_>, scheme: &Arc<Scheme>) -> Result<Operation> {
    let short = || broken(WHAT, "BATCH-1", 0, "it is cut short");
    let layout = cursor.layout::<Layout>().ok_or_else(short)?;
    let key_length = usize::from(layout.key_length.get());
    let key = cursor.take(key_length).ok_or_else(short)?.into();
    let code = layout.cardinality_code.get();
    let sized = scheme.cardinality.tells_size();
    let possible = match layout.operation {
        PUT | PUT_VALUE => !sized || code != 0,
        PUT_EMPTY | PUT_EMPTY_VALUE | DELETE => code == 0,
        _ => false,
    };
    if !possible || !(1..=MAX_KEY_BYTES).contains(&key_length) {
        return Err(broken(WHAT, "BATCH-2", 0, "an impossible operation"));
    }
    if layout.operation == DELETE {
        return Ok(Operation { key, signature: None, value: None });
    }
    let shape = SignatureShape::of(scheme);
    let mut planes = vec![0; shape.words()].into_boxed_slice();
    let empty = matches!(layout.operation, PUT_EMPTY | PUT_EMPTY_VALUE);
    if !empty {
        let words = cursor.layouts::<U64>(shape.words()).ok_or_else(short)?;
        for (to, from) in planes.iter_mut().zip(words) {
            *to = from.get();
        }
        if !shape.fits(&planes, code) {
            return Err(broken(WHAT, "BATCH-3", 0, "a signature that its scheme cannot make"));
        }
    }
    let elements = kept_elements(cursor, scheme, empty)?;
    let signature = Signature::from_planes(Arc::clone(scheme), planes, code, empty, elements);
    let has_value = matches!(layout.operation, PUT_VALUE | PUT_EMPTY_VALUE);
    let value = if has_value { Some(value_of(cursor)?) } else { None };
    Ok(Operation { key, signature: Some(signature), value })
}

/// BATCH-5: decodes the value at the end of a put.
fn value_of(cursor: &mut Cursor<'_>) -> Result<Arc<[u8]>> {
    let refused = |error| broken(WHAT, "BATCH-5", 0, format!("{error}"));
    let (value, length) = value::decode(cursor.rest()).map_err(refused)?;
    cursor.take(length);
    let none = || broken(WHAT, "BATCH-5", 0, "a put with a value has none");
    value.map(Arc::from).ok_or_else(none)
}

/// BATCH-4: decodes the set that follows a signature, if the scheme keeps sets.
fn kept_elements(
    cursor: &mut Cursor<'_>,
    scheme: &Scheme,
    empty: bool,
) -> Result<Option<Arc<[u64]>>> {
    let Some(shape) = KeptShape::of(scheme) else { return Ok(None) };
    let mut elements = Vec::new();
    if !empty {
        let refused = |error| broken(WHAT, "BATCH-4", 0, format!("{error}"));
        let length = shape.decode(cursor.rest(), &mut elements).map_err(refused)?;
        cursor.take(length);
        if elements.is_empty() {
            return Err(broken(WHAT, "BATCH-4", 0, "a set without elements is put as another"));
        }
    }
    Ok(Some(elements.into()))
}

#[cfg(test)]
#[path = "batch_tests.rs"]
mod tests;
