//! Batches: operations that are committed together, all or none.
//!
//! In: keys with sets, documents or signatures. Out: at most one operation for each key, within the limits of a
//! commit.

use std::sync::Arc;

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use rayon::ThreadPool;
use xxhash_rust::xxh3::xxh3_64;

use super::writer::spread;
use crate::error::{Error, Result};
use crate::format::batch::{Operation, encoded_bytes};
use crate::format::value;
use crate::limits::{MAX_BATCH_BYTES, MAX_BATCH_OPERATIONS, MAX_KEPT_ELEMENTS, MAX_KEY_BYTES};
use crate::scheme::Scheme;
use crate::sketch::{Signature, Sketcher};

/// Operations that are committed together. If several have the same key, the last one counts.
///
/// [`put_text`](Batch::put_text), [`put_bytes`](Batch::put_bytes) and [`put_html`](Batch::put_html) take documents
/// and make the features of the database's scheme. [`put`](Batch::put) takes a set as it is. Every put can be followed
/// by [`with_value`](Batch::with_value).
#[derive(Debug, Clone)]
pub struct Batch {
    scheme: Arc<Scheme>,
    sketcher: Arc<Sketcher>,
    pool: Option<Arc<ThreadPool>>,
    operations: Vec<Operation>,
    bytes: usize,
    /// The number of elements that the batch keeps.
    elements: usize,
}

impl Batch {
    pub(crate) fn new(
        scheme: Arc<Scheme>,
        sketcher: Arc<Sketcher>,
        pool: Option<Arc<ThreadPool>>,
    ) -> Batch {
        Batch { scheme, sketcher, pool, operations: Vec::new(), bytes: 0, elements: 0 }
    }

    /// Stores a set, given by its elements, under a key. What was stored there is replaced.
    pub fn put(&mut self, key: impl AsRef<[u8]>, set: &[u64]) -> Result<&mut Batch> {
        let signature = self.sketcher.sketch(set)?;
        self.push(key.as_ref(), Some(signature), None)
    }

    /// Stores a text under a key, as the set of [its features in the scheme](Sketcher::sketch_text). What was stored
    /// there is replaced.
    pub fn put_text(&mut self, key: impl AsRef<[u8]>, text: &str) -> Result<&mut Batch> {
        let signature = self.sketcher.sketch_text(text)?;
        self.push(key.as_ref(), Some(signature), None)
    }

    /// Stores the [bytes of a file](Sketcher::sketch_bytes) under a key. What was stored there is replaced.
    pub fn put_bytes(&mut self, key: impl AsRef<[u8]>, bytes: &[u8]) -> Result<&mut Batch> {
        let signature = self.sketcher.sketch_bytes(bytes)?;
        self.push(key.as_ref(), Some(signature), None)
    }

    /// Stores an [HTML page](Sketcher::sketch_html) under a key. What was stored there is replaced.
    pub fn put_html(&mut self, key: impl AsRef<[u8]>, page: &[u8]) -> Result<&mut Batch> {
        let signature = self.sketcher.sketch_html(page)?;
        self.push(key.as_ref(), Some(signature), None)
    }

    /// Stores a set whose elements have [weights](Sketcher::sketch_weighted), or a vector, under a key. What was
    /// stored there is replaced.
    pub fn put_weighted(
        &mut self,
        key: impl AsRef<[u8]>,
        set: &[(u64, f64)],
    ) -> Result<&mut Batch> {
        let signature = self.sketcher.sketch_weighted(set)?;
        self.push(key.as_ref(), Some(signature), None)
    }

    /// Stores sets under keys, sketched in parallel. If one of them is refused, none of them is added.
    pub fn put_many(
        &mut self,
        sets: &[(impl AsRef<[u8]>, impl AsRef<[u64]>)],
    ) -> Result<&mut Batch> {
        sets.iter().try_for_each(|(key, _)| check_key(key.as_ref()))?;
        let only: Vec<&[u64]> = sets.iter().map(|(_, set)| set.as_ref()).collect();
        let signatures = spread(self.pool.as_deref(), || self.sketcher.sketch_all(&only))?;
        let (length, bytes, elements) = (self.operations.len(), self.bytes, self.elements);
        for (i, (key, _)) in sets.iter().enumerate() {
            if let Err(error) = self.push(key.as_ref(), signatures.get(i), None) {
                self.operations.truncate(length);
                (self.bytes, self.elements) = (bytes, elements);
                return Err(error);
            }
        }
        Ok(self)
    }

    /// Stores a set, given by its signature, under a key. What was stored there is replaced.
    pub fn put_signature(
        &mut self,
        key: impl AsRef<[u8]>,
        signature: Signature,
    ) -> Result<&mut Batch> {
        signature.check_scheme(&self.scheme)?;
        self.push(key.as_ref(), Some(signature), None)
    }

    /// Stores a value with the key that was put last: up to 64 KiB of bytes that mean something to the caller, such as a
    /// label, a path or JSON. It is returned with the set, and replaced or deleted together with it. A put without a
    /// value drops an earlier value of the key. The last operation of the batch must be that put, not a deletion.
    ///
    /// If the value is refused, because it is too long or because the batch is full, the put is taken back as well.
    ///
    /// ```
    /// use ringer::{Database, Scheme};
    ///
    /// let db = Database::in_memory(&Scheme::default())?;
    /// let mut batch = db.batch();
    /// batch.put_text("a", "Never put off till tomorrow")?.with_value("Franklin")?;
    /// db.commit(batch)?;
    /// assert_eq!(db.get("a")?.unwrap().value.as_deref(), Some(&b"Franklin"[..]));
    /// # Ok::<(), ringer::Error>(())
    /// ```
    pub fn with_value(&mut self, value: impl AsRef<[u8]>) -> Result<&mut Batch> {
        let put = self.operations.pop_if(|operation| operation.signature.is_some());
        let Some(Operation { key, signature: Some(signature), value: earlier }) = put else {
            return Err(Error::invalid(
                "value",
                "it belongs to the set that was put last: put one",
            ));
        };
        self.bytes -= bytes_of(&key, Some(&signature), earlier.as_deref());
        self.elements -= kept_elements(Some(&signature));
        self.push(&key, Some(signature), Some(value.as_ref()))
    }

    /// Deletes what is stored under a key. Does nothing if nothing is stored there.
    pub fn delete(&mut self, key: impl AsRef<[u8]>) -> Result<&mut Batch> {
        self.push(key.as_ref(), None, None)
    }

    fn push(
        &mut self,
        key: &[u8],
        signature: Option<Signature>,
        value: Option<&[u8]>,
    ) -> Result<&mut Batch> {
        check_key(key)?;
        value.map_or(Ok(()), value::check_length)?;
        if !self.has_room(key, signature.as_ref(), value) {
            return Err(Error::invalid(
                format!("batch of {} operations", self.operations.len() + 1),
                format!(
                    "a batch has at most {MAX_BATCH_OPERATIONS} operations, {MAX_BATCH_BYTES} bytes and \
                     {MAX_KEPT_ELEMENTS} kept elements: commit it and start another, or use a bulk load"
                ),
            ));
        }
        self.bytes += bytes_of(key, signature.as_ref(), value);
        self.elements += kept_elements(signature.as_ref());
        self.operations.push(Operation { key: key.into(), signature, value: value.map(Arc::from) });
        Ok(self)
    }

    /// Whether a set, given by its signature, can be added under a key. If not, commit the batch and start another.
    pub fn has_room_for(&self, key: impl AsRef<[u8]>, signature: &Signature) -> bool {
        self.has_room(key.as_ref(), Some(signature), None)
    }

    /// Whether a set can be added under a key [with a value](Batch::with_value).
    pub fn has_room_for_value(
        &self,
        key: impl AsRef<[u8]>,
        signature: &Signature,
        value: impl AsRef<[u8]>,
    ) -> bool {
        self.has_room(key.as_ref(), Some(signature), Some(value.as_ref()))
    }

    fn has_room(&self, key: &[u8], signature: Option<&Signature>, value: Option<&[u8]>) -> bool {
        self.operations.len() < MAX_BATCH_OPERATIONS
            && self.bytes + bytes_of(key, signature, value) <= MAX_BATCH_BYTES
            && self.elements + kept_elements(signature) <= MAX_KEPT_ELEMENTS
    }

    /// The number of operations, including those that a later one replaces.
    pub fn len(&self) -> usize {
        self.operations.len()
    }

    /// Whether the batch has no operations.
    pub fn is_empty(&self) -> bool {
        self.operations.is_empty()
    }

    /// The last operation on each key, in the order of the batch.
    pub(crate) fn into_operations(self) -> Vec<Operation> {
        last_of_each_key(self.operations)
    }
}

/// The bytes that an operation takes in a commit.
fn bytes_of(key: &[u8], signature: Option<&Signature>, value: Option<&[u8]>) -> usize {
    encoded_bytes(key, signature) + value.map_or(0, |value| value::encoded_bytes(Some(value)))
}

/// The number of elements that an operation keeps.
fn kept_elements(signature: Option<&Signature>) -> usize {
    signature.and_then(Signature::elements).map_or(0, <[u64]>::len)
}

/// Keeps the last operation on each key.
fn last_of_each_key(mut operations: Vec<Operation>) -> Vec<Operation> {
    let mut last: HashTable<u32> = HashTable::with_capacity(operations.len());
    let hash = |i: &u32| xxh3_64(&operations[*i as usize].key);
    let mut replaced = false;
    for i in (0..operations.len() as u32).rev() {
        let key = &operations[i as usize].key;
        match last.entry(hash(&i), |later| operations[*later as usize].key == *key, hash) {
            Entry::Occupied(_) => replaced = true,
            Entry::Vacant(entry) => {
                entry.insert(i);
            }
        }
    }
    if replaced {
        let mut kept: Vec<u32> = last.into_iter().collect();
        kept.sort_unstable();
        let (mut i, mut kept) = (0, kept.into_iter().peekable());
        operations.retain(|_| {
            i += 1;
            kept.next_if_eq(&(i - 1)).is_some()
        });
    }
    operations
}

/// Checks the length of a key.
pub(crate) fn check_key(key: &[u8]) -> Result<()> {
    if (1..=MAX_KEY_BYTES).contains(&key.len()) {
        return Ok(());
    }
    let limit = format!("a key has 1 to {MAX_KEY_BYTES} bytes");
    Err(Error::invalid(format!("key of {} bytes", key.len()), limit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_operation_on_a_key_counts() {
        let scheme = Scheme::new(crate::presets::PRECISE).unwrap();
        let sketcher = Sketcher::new(&scheme);
        let sign = |n: u64| Some(sketcher.sketch(&[n]).unwrap());
        let all = [("b", sign(1)), ("a", sign(2)), ("b", None), ("a", sign(3))];
        let all: Vec<_> = all
            .into_iter()
            .map(|(key, signature)| Operation {
                key: key.as_bytes().into(),
                signature,
                value: None,
            })
            .collect();
        assert_eq!(last_of_each_key(all.clone()), all[2..]);
        assert_eq!(last_of_each_key(all[..2].to_vec()), all[..2]);
    }

    /// An operation counts as many bytes as it takes in a commit: 7 before its key, and 8 for each word of its planes.
    #[test]
    fn a_batch_counts_the_bytes_of_its_commit() {
        let scheme = Arc::new(Scheme::new(crate::presets::PRECISE).unwrap());
        let mut batch = Batch::new(Arc::clone(&scheme), Arc::new(Sketcher::new(&scheme)), None);
        assert!(batch.is_empty());
        batch.put("four", &[1, 2]).unwrap().delete("seven78").unwrap().put("x", &[3]).unwrap();
        let payload = crate::format::batch::encode(&batch.operations);
        assert_eq!(batch.bytes + 4, payload.len());
        assert_eq!((batch.len(), batch.is_empty()), (3, false));
        batch.bytes = MAX_BATCH_BYTES - 8;
        assert!(batch.delete("ab").is_err());
        assert!(!batch.has_room_for("a", &batch.sketcher.sketch(&[1]).unwrap()));
        assert!(batch.delete("a").is_ok());
    }

    /// A value is counted with its put, replaces an earlier one, and takes its put back if it is refused.
    #[test]
    fn a_batch_counts_the_bytes_of_values() {
        let scheme = Arc::new(Scheme::new(crate::presets::PRECISE).unwrap());
        let mut batch = Batch::new(Arc::clone(&scheme), Arc::new(Sketcher::new(&scheme)), None);
        assert!(batch.with_value("of nothing").is_err());
        batch.put("a", &[1, 2]).unwrap().with_value([7; 300]).unwrap();
        batch.put("b", &[]).unwrap().with_value("first").unwrap().with_value("last").unwrap();
        let payload = crate::format::batch::encode(&batch.operations);
        assert_eq!(batch.bytes + 4, payload.len());
        let values = |batch: &Batch| -> Vec<_> {
            batch.operations.iter().map(|o| o.value.as_deref().map(<[u8]>::len)).collect()
        };
        assert_eq!(values(&batch), [Some(300), Some(4)]);
        let before = batch.bytes;
        let long = vec![0; crate::limits::MAX_VALUE_BYTES + 1];
        assert!(batch.put("c", &[3]).unwrap().with_value(&long).is_err());
        assert!(batch.delete("d").unwrap().with_value("of a deletion").is_err());
        assert_eq!((batch.len(), batch.bytes), (3, before + 8));
        let signature = batch.sketcher.sketch(&[1]).unwrap();
        batch.bytes = MAX_BATCH_BYTES - 1000;
        assert!(batch.has_room_for("a", &signature));
        assert!(!batch.has_room_for_value("a", &signature, [0; 1000]));
        assert!(batch.put("a", &[1]).unwrap().with_value([0; 1000]).is_err());
        assert_eq!((batch.len(), batch.bytes), (3, MAX_BATCH_BYTES - 1000));
    }

    #[test]
    fn keys_have_one_to_4096_bytes() {
        assert!(check_key(b"").is_err());
        assert!(check_key(&[0]).is_ok());
        assert!(check_key(&[7; 4096]).is_ok());
        assert!(check_key(&[7; 4097]).is_err());
    }
}
