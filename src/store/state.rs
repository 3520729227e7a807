//! What one reader sees: segments with their hidden rows, and the fresh rows up to one commit.
//!
//! A [`State`] never changes. The writer publishes a new one with each commit, checkpoint and merge, and
//! whoever holds an older one goes on seeing it.
//!
//! A key has at most one row in the segments that is not hidden (MAN-7), and what is said of it in a memtable
//! goes before that: rows are hidden when the memtable becomes a segment, not before.

use std::ops::Bound;
use std::sync::Arc;

use super::memtable::{Memtable, Version};
use super::segment::{Found, Liveness, Segment};
use crate::error::Result;
use crate::format::filter::KeyHash;
use crate::format::manifest::SegmentEntry;
use crate::scheme::Scheme;
use crate::sketch::Signature;

/// Keys taken from a memtable at a time.
const CHUNK: usize = 256;

/// A segment with the rows that are hidden in one state.
#[derive(Debug, Clone)]
pub struct SegmentView {
    /// The segment.
    pub segment: Arc<Segment>,
    /// Its hidden rows.
    pub liveness: Liveness,
    /// Rows that are not hidden.
    pub live_rows: u32,
}

impl SegmentView {
    /// The live row with a key.
    pub fn find(&self, key: &[u8], hash: KeyHash) -> Result<Option<Found>> {
        match self.segment.find(key, hash)? {
            Some(found) if !self.liveness.is_hidden(found.row)? => Ok(Some(found)),
            _ => Ok(None),
        }
    }

    /// Its entry for a manifest.
    pub fn entry(&self) -> SegmentEntry {
        SegmentEntry {
            id: self.segment.id(),
            offset: self.segment.offset(),
            length: self.segment.header().length,
            header_checksum: self.segment.header_checksum(),
            rows: self.segment.rows(),
            live_rows: self.live_rows,
            liveness: self.liveness.entry(),
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
}

/// What one reader sees.
#[derive(Debug, Clone)]
pub struct State {
    /// The scheme of all signatures.
    pub scheme: Arc<Scheme>,
    /// The segments.
    pub segments: Arc<[SegmentView]>,
    /// Fresh rows that are on their way into a segment.
    pub frozen: Option<Arc<Memtable>>,
    /// Fresh rows.
    pub active: Arc<Memtable>,
    /// The last commit that is seen.
    pub sequence: u64,
}

impl State {
    /// The memtables, newest first.
    pub fn memtables(&self) -> impl Iterator<Item = &Arc<Memtable>> {
        std::iter::once(&self.active).chain(&self.frozen)
    }

    /// What the memtables say of a key; `None` if they say nothing.
    pub fn fresh(&self, key: &[u8]) -> Option<Version> {
        self.memtables().find_map(|table| table.get(key, self.sequence))
    }

    /// The set stored under a key.
    pub fn get(&self, key: &[u8]) -> Result<Option<Stored>> {
        if let Some(Version { sequence, signature }) = self.fresh(key) {
            return Ok(signature.map(|signature| Stored { signature, sequence }));
        }
        let hash = KeyHash::of(key);
        for view in &*self.segments {
            if let Some(found) = view.find(key, hash)? {
                let signature = view.segment.signature(found.id)?;
                return Ok(Some(Stored { signature, sequence: found.sequence }));
            }
        }
        Ok(None)
    }

    /// Whether a set is stored under a key.
    pub fn contains(&self, key: &[u8]) -> Result<bool> {
        if let Some(version) = self.fresh(key) {
            return Ok(version.signature.is_some());
        }
        self.in_segments(key)
    }

    /// How many sets are stored. Takes a lookup in the segments for each fresh key.
    pub fn live_rows(&self) -> Result<u64> {
        let mut rows: u64 = self.segments.iter().map(|view| u64::from(view.live_rows)).sum();
        let mut from = Bound::Unbounded;
        loop {
            let keys = self.fresh_keys(&from);
            let Some(last) = keys.last() else { return Ok(rows) };
            for key in &keys {
                let is = self.fresh(key).is_some_and(|version| version.signature.is_some());
                let was = self.in_segments(key)?;
                rows = rows + u64::from(is) - u64::from(was);
            }
            from = Bound::Excluded(last.clone());
        }
    }

    /// The next keys that the memtables know, without repeats.
    fn fresh_keys(&self, from: &Bound<Box<[u8]>>) -> Vec<Box<[u8]>> {
        let from = from.as_ref().map(|key| &**key);
        let mut keys = Vec::new();
        let mut end: Option<Box<[u8]>> = None;
        for table in self.memtables() {
            let chunk = table.next(from, Bound::Unbounded, self.sequence, CHUNK);
            // A full chunk says nothing of what comes after it.
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

    fn in_segments(&self, key: &[u8]) -> Result<bool> {
        let hash = KeyHash::of(key);
        for view in &*self.segments {
            if view.find(key, hash)?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
