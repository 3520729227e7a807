//! Reindex: gives a database other slots, or fewer bits, without the sets (STEP-13).
//!
//! In: a path, and a scheme that follows from the stored one (SIG-9). Out: the same rows in a closed database with that
//! scheme, or the database as it was. A crash leaves one or the other.

use std::path::Path;
use std::sync::Arc;

use super::recovery::{self, OpenReport};
use crate::error::Result;
use crate::ingest::reindex;
use crate::options::Options;
use crate::scheme::Scheme;
use crate::store::file_layer::FileLayer;

pub use crate::ingest::reindex::Progress;

/// What a reindex did.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct ReindexReport {
    /// What opening the database found, and recovered after a crash.
    pub open: OpenReport,
    /// Whether the file was rewritten. It is not if the database has the scheme already.
    pub rewritten: bool,
    /// Sets that the database holds.
    pub sets: u64,
    /// The scheme before.
    pub scheme_before: Scheme,
    /// Bytes of the file before.
    pub file_bytes_before: u64,
    /// Bytes of the file now.
    pub file_bytes: u64,
    /// Free bytes that were needed beside the file, at most.
    pub needed_bytes: u64,
}

/// Rewrites a database with another scheme, and closes it.
pub fn reindex(
    layer: &Arc<dyn FileLayer>,
    path: &Path,
    scheme: &Scheme,
    options: &Options,
    progress: &mut Progress<'_>,
) -> Result<ReindexReport> {
    let options = Options { background: false, merge: false, ..options.clone() };
    // Checked before recovery changes any byte.
    let (writer, open) = recovery::open_with(layer, path, options, |writer| {
        writer.scheme().check_derives(scheme)?;
        Ok(Vec::new())
    })?;
    let rewritten = **writer.scheme() != *scheme;
    let state = writer.state();
    let mut report = ReindexReport {
        open,
        rewritten,
        sets: state.live_rows()?,
        scheme_before: (**writer.scheme()).clone(),
        file_bytes_before: writer.superblock().end_of_data,
        file_bytes: 0,
        needed_bytes: if rewritten { reindex::needed_bytes(&state, scheme) } else { 0 },
    };
    drop(state);
    let done = if rewritten { reindex::reindex(&writer, scheme, progress) } else { Ok(()) };
    report.file_bytes = writer.superblock().end_of_data;
    let closed = writer.close();
    done.and(closed)?;
    Ok(report)
}
