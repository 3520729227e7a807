//! One state of the database: what a reader sees.
//!
//! In: segments with their tombstones, and memtables up to one commit. Out: rows by key. It must not know how a
//! state is made durable.
//!
//! A [`State`] never changes. The writer publishes a new one with each commit, checkpoint and merge. Whoever holds
//! an older one keeps seeing it.
//!
//! A key has at most one row in the segments without a tombstone (MAN-7). A version in a memtable takes precedence
//! over it. The older row gets its tombstone when the memtable becomes a segment, not before.

use std::ops::Bound;
use std::sync::Arc;

use super::memtable::{Memtable, Version};
use super::segment::{Found, Segment, Tombstones};
use crate::error::Result;
use crate::format::filter::KeyHash;
use crate::format::manifest::SegmentEntry;
use crate::scheme::Scheme;
use crate::sketch::Signature;

/// Keys fetched from a memtable at a time.
const CHUNK: usize = 256;

/// A segment with its tombstones in one state.
#[derive(Debug, Clone)]
pub struct SegmentView {
    /// The segment.
    pub segment: Arc<Segment>,
    /// Its tombstones.
    pub tombstones: Tombstones,
    /// The number of rows without a tombstone.
    pub live_rows: u32,
}

impl SegmentView {
    /// Finds the live row of a key.
    pub fn find(&self, key: &[u8], hash: KeyHash) -> Result<Option<Found>> {
        match self.segment.find(key, hash)? {
            Some(found) if !self.tombstones.contains(found.row)? => Ok(Some(found)),
            _ => Ok(None),
        }
    }

    /// Returns the segment's manifest entry.
    pub fn entry(&self) -> SegmentEntry {
        SegmentEntry {
            id: self.segment.id(),
            offset: self.segment.offset(),
            length: self.segment.header().length,
            header_checksum: self.segment.header_checksum(),
            rows: self.segment.rows(),
            live_rows: self.live_rows,
            tombstones: self.tombstones.entry(),
        }
    }
}

/// A stored set.
#[derive(Debug, Clone, PartialEq)]
pub struct Stored {
    /// Its signature.
    pub signature: Signature,
    /// The commit that stored it.
    pub sequence: u64,
    /// The value that was stored with it.
    pub value: Option<Arc<[u8]>>,
}

impl Version {
    /// Returns what is stored, or `None` if the key was deleted.
    pub fn into_stored(self) -> Option<Stored> {
        let Version { sequence, signature, value } = self;
        signature.map(|signature| Stored { signature, sequence, value })
    }
}

impl Segment {
    /// Returns what is stored in a row.
    pub fn stored(&self, found: Found) -> Result<Stored> {
        let (signature, value) = (self.signature(found.id)?, self.value(found.row)?);
        Ok(Stored { signature, sequence: found.sequence, value })
    }
}

/// Where a stored set is.
enum Located<'a> {
    Fresh(Version),
    Row(&'a SegmentView, Found),
}

/// Everything that one reader sees.
#[derive(Debug, Clone)]
pub struct State {
    /// The scheme of all signatures.
    pub scheme: Arc<Scheme>,
    /// The segments.
    pub segments: Arc<[SegmentView]>,
    /// The memtable that a checkpoint is turning into a segment.
    pub frozen: Option<Arc<Memtable>>,
    /// The memtable that takes new commits.
    pub active: Arc<Memtable>,
    /// The last visible commit.
    pub sequence: u64,
}

impl State {
    /// Returns the memtables, newest first.
    pub fn memtables(&self) -> impl Iterator<Item = &Arc<Memtable>> {
        std::iter::once(&self.active).chain(&self.frozen)
    }

    /// Returns the version of a key in the memtables, or `None` if they do not have the key.
    pub fn fresh(&self, key: &[u8]) -> Option<Version> {
        self.memtables().find_map(|table| table.get(key, self.sequence))
    }

    /// Finds the newest version of a key.
    fn locate(&self, key: &[u8]) -> Result<Option<Located<'_>>> {
        if let Some(version) = self.fresh(key) {
            return Ok(Some(Located::Fresh(version)));
        }
        let hash = KeyHash::of(key);
        for view in &*self.segments {
            if let Some(found) = view.find(key, hash)? {
                return Ok(Some(Located::Row(view, found)));
            }
        }
        Ok(None)
    }

    /// Returns what is stored under a key.
    pub fn get(&self, key: &[u8]) -> Result<Option<Stored>> {
        Ok(match self.locate(key)? {
            Some(Located::Fresh(version)) => version.into_stored(),
            Some(Located::Row(view, found)) => Some(view.segment.stored(found)?),
            None => None,
        })
    }

    /// Returns the signature of the set stored under a key. Does not read its value.
    pub fn signature(&self, key: &[u8]) -> Result<Option<Signature>> {
        match self.locate(key)? {
            Some(Located::Fresh(version)) => Ok(version.signature),
            Some(Located::Row(view, found)) => view.segment.signature(found.id).map(Some),
            None => Ok(None),
        }
    }

    /// Whether there are values. False only if no row has one.
    pub fn has_values(&self) -> bool {
        let in_segments = self.segments.iter().any(|view| view.segment.header().values.is_some());
        in_segments || self.memtables().any(|table| table.has_values())
    }

    /// Returns the value that was stored with a key. Does not read the signature.
    pub fn value(&self, key: &[u8]) -> Result<Option<Arc<[u8]>>> {
        if !self.has_values() {
            return Ok(None);
        }
        match self.locate(key)? {
            Some(Located::Fresh(version)) => Ok(version.value),
            Some(Located::Row(view, found)) => view.segment.value(found.row),
            None => Ok(None),
        }
    }

    /// Whether a set is stored under a key.
    pub fn contains(&self, key: &[u8]) -> Result<bool> {
        if let Some(version) = self.fresh(key) {
            return Ok(version.signature.is_some());
        }
        Ok(self.segment_with(key)?.is_some())
    }

    /// Counts the stored sets. Looks up each memtable key in the segments.
    pub fn live_rows(&self) -> Result<u64> {
        let mut rows: u64 = self.segments.iter().map(|view| u64::from(view.live_rows)).sum();
        let mut from = Bound::Unbounded;
        loop {
            let keys = self.fresh_keys(&from);
            let Some(last) = keys.last() else { return Ok(rows) };
            for key in &keys {
                let is = self.fresh(key).is_some_and(|version| version.signature.is_some());
                rows += u64::from(is);
                if let Some(view) = self.segment_with(key)? {
                    let detail = "it has more visible rows than the manifest says";
                    let rest = rows.checked_sub(1);
                    rows = rest.ok_or_else(|| view.segment.lost("TOMB-3", detail.into()))?;
                }
            }
            from = Bound::Excluded(last.clone());
        }
    }

    /// Returns the next keys of the memtables, without duplicates.
    fn fresh_keys(&self, from: &Bound<Box<[u8]>>) -> Vec<Box<[u8]>> {
        let from = from.as_ref().map(|key| &**key);
        let mut keys = Vec::new();
        let mut end: Option<Box<[u8]>> = None;
        for table in self.memtables() {
            let chunk = table.next(from, Bound::Unbounded, self.sequence, CHUNK);
            // A full chunk may have been cut, so keys above its last one must wait for the next call.
            if let (CHUNK, Some((last, _))) = (chunk.len(), chunk.last()) {
                end = Some(end.map_or_else(|| last.clone(), |end| end.min(last.clone())));
            }
            keys.extend(chunk.into_iter().map(|(key, _)| key));
        }
        keys.sort_unstable();
        keys.dedup();
        if let Some(end) = end {
            keys.retain(|key| *key <= end);
        }
        keys
    }

    /// Returns the segment that has a live row of a key.
    fn segment_with(&self, key: &[u8]) -> Result<Option<&SegmentView>> {
        let hash = KeyHash::of(key);
        for view in &*self.segments {
            if view.find(key, hash)?.is_some() {
                return Ok(Some(view));
            }
        }
        Ok(None)
    }
}
