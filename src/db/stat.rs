//! What a database looks like from outside: counts and bytes.

use crate::error::Result;
use crate::format::DATA_START;
use crate::format::superblock::Superblock;
use crate::ingest::Activity;
use crate::scheme::Scheme;
use crate::store::page_cache::PageCache;
use crate::store::page_source::CachedPage;
use crate::store::state::State;

/// Counts and bytes of a database.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Stat {
    /// The scheme of all signatures.
    pub scheme: Scheme,
    /// Sets that are stored.
    pub sets: u64,
    /// The last commit.
    pub sequence: u64,
    /// Segments of the file.
    pub segments: usize,
    /// Rows of segments, hidden ones too.
    pub rows: u64,
    /// Rows of segments that are hidden.
    pub hidden_rows: u64,
    /// Distinct signatures of segments.
    pub distinct_signatures: u64,
    /// Operations that wait in memory and in the hot tier for a checkpoint.
    pub fresh: usize,
    /// Bytes of the file up to the end of its data.
    pub file_bytes: u64,
    /// Bytes of signature pages, cardinality codes included.
    pub signature_bytes: u64,
    /// Bytes of the pages of keys, with their fences and filters.
    pub key_page_bytes: u64,
    /// Bytes of the pages of postings: the index over slot values.
    pub posting_bytes: u64,
    /// Bytes of the pages of sets, if the scheme keeps them.
    pub element_bytes: u64,
    /// Length of all keys in segments.
    pub key_bytes: u64,
    /// Bytes that no longer belong to the database's state; `vacuum` drops them.
    pub dead_bytes: u64,
    /// Bytes of the hot tier's files.
    pub hot_bytes: u64,
    /// Bytes of pages in memory.
    pub cached_bytes: usize,
    /// Pages that were found in memory.
    pub cache_hits: u64,
    /// Pages that had to be read.
    pub cache_misses: u64,
    /// What this writer has done since it was opened; nothing for a reader.
    pub activity: Activity,
    /// Why merging stopped until the next open, if it did.
    pub merge_failure: Option<String>,
}

pub(super) fn stat(
    state: &State,
    superblock: &Superblock,
    cache: &PageCache<CachedPage>,
    hot_bytes: u64,
) -> Result<Stat> {
    let headers = || state.segments.iter().map(|view| view.segment.header());
    let rows: u64 = headers().map(|header| u64::from(header.rows)).sum();
    let live: u64 = state.segments.iter().map(|view| u64::from(view.live_rows)).sum();
    let used: u64 =
        state.segments.iter().flat_map(|view| view.entry().blocks()).map(|b| b.length).sum();
    let manifest = crate::format::manifest::Manifest::padded_bytes(state.segments.len());
    Ok(Stat {
        scheme: (*state.scheme).clone(),
        sets: state.live_rows()?,
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
        // No reader needs this number, so no rule says how large it may be.
        key_bytes: headers().fold(0, |all, header| all.saturating_add(header.key_bytes)),
        dead_bytes: (superblock.end_of_data - DATA_START).saturating_sub(used + manifest),
        hot_bytes,
        cached_bytes: cache.resident_bytes(),
        cache_hits: cache.hits(),
        cache_misses: cache.misses(),
        activity: Activity::default(),
        merge_failure: None,
    })
}
