//! Counts and sizes of a database.
//!
//! In: a state, its superblock and the page cache. Out: a [`Stat`]. It reads no page except for lookups of fresh keys.

use crate::error::Result;
use crate::estimate::capacity;
use crate::format::DATA_START;
use crate::format::superblock::Superblock;
use crate::ingest::Activity;
use crate::scheme::Scheme;
use crate::store::page_cache::PageCache;
use crate::store::page_source::CachedPage;
use crate::store::state::State;

/// Counts and sizes of a database.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Stat {
    /// The scheme of all signatures.
    pub scheme: Scheme,
    /// The number of stored sets.
    pub sets: u64,
    /// The sequence of the last commit.
    pub sequence: u64,
    /// The unrelated sets that a query is expected to compare because their slots have equal values by chance.
    pub chance_candidates: f64,
    /// The number of segments.
    pub segments: usize,
    /// Rows in segments, including those that are deleted or replaced.
    pub rows: u64,
    /// Rows in segments that are deleted or replaced.
    pub hidden_rows: u64,
    /// Distinct signatures in segments.
    pub distinct_signatures: u64,
    /// Operations in the memtables and the write-ahead log, since the last checkpoint.
    pub fresh: usize,
    /// Bytes of the file up to the end of its data.
    pub file_bytes: u64,
    /// Bytes of signature pages, cardinality codes included.
    pub signature_bytes: u64,
    /// Bytes of leaf pages, fences and filters.
    pub key_page_bytes: u64,
    /// Bytes of the posting lists.
    pub posting_bytes: u64,
    /// Bytes of kept sets.
    pub element_bytes: u64,
    /// Bytes of values.
    pub value_bytes: u64,
    /// The total length of all keys in segments.
    pub key_bytes: u64,
    /// Bytes of the file that are no longer used. `vacuum` removes them.
    pub dead_bytes: u64,
    /// Bytes of the write-ahead log.
    pub log_bytes: u64,
    /// Bytes of pages in the page cache.
    pub cached_bytes: usize,
    /// Pages that were found in the page cache.
    pub cache_hits: u64,
    /// Pages that were read from the file.
    pub cache_misses: u64,
    /// What this writer has done since it was opened. It is empty for a reader.
    pub activity: Activity,
    /// Why merging has stopped until the next open, if it has.
    pub merge_failure: Option<String>,
}

impl Stat {
    /// Whether the database has outgrown its slots: a query meets more than
    /// [`CHANCE_CANDIDATES`](capacity::CHANCE_CANDIDATES) unrelated sets. [`Database::reindex`](crate::Database::reindex)
    /// with [other slots](capacity::slots_for) helps.
    pub fn has_outgrown_slots(&self) -> bool {
        self.chance_candidates > capacity::CHANCE_CANDIDATES
    }
}

pub(super) fn stat(
    state: &State,
    superblock: &Superblock,
    cache: &PageCache<CachedPage>,
    log_bytes: u64,
) -> Result<Stat> {
    let headers = || state.segments.iter().map(|view| view.segment.header());
    let rows: u64 = headers().map(|header| u64::from(header.rows)).sum();
    let live: u64 = state.segments.iter().map(|view| u64::from(view.live_rows)).sum();
    let used: u64 =
        state.segments.iter().flat_map(|view| view.entry().extents()).map(|b| b.length).sum();
    let manifest = crate::format::manifest::Manifest::padded_bytes(state.segments.len());
    let sets = state.live_rows()?;
    Ok(Stat {
        scheme: (*state.scheme).clone(),
        sets,
        chance_candidates: capacity::chance_candidates(&state.scheme, sets),
        sequence: state.sequence,
        segments: state.segments.len(),
        rows,
        hidden_rows: rows - live,
        distinct_signatures: headers().map(|header| u64::from(header.ids)).sum(),
        fresh: state.memtables().map(|table| table.versions()).sum(),
        file_bytes: superblock.end_of_data,
        signature_bytes: headers().map(|header| header.signatures.length).sum(),
        key_page_bytes: headers().map(|header| header.keys.length).sum(),
        posting_bytes: headers().map(|header| header.postings.length).sum(),
        element_bytes: headers().filter_map(|h| h.elements).map(|kept| kept.region.length).sum(),
        value_bytes: headers().filter_map(|h| h.values).map(|values| values.region.length).sum(),
        // The specification does not bound this number, so a forged file could make the sum overflow.
        key_bytes: headers().fold(0, |all, header| all.saturating_add(header.key_bytes)),
        dead_bytes: (superblock.end_of_data - DATA_START).saturating_sub(used + manifest),
        log_bytes,
        cached_bytes: cache.resident_bytes(),
        cache_hits: cache.hits(),
        cache_misses: cache.misses(),
        activity: Activity::default(),
        merge_failure: None,
    })
}
