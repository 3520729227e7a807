//! Pack: writes the live rows of a state to a new file. The file is a database of its own with one segment.
//!
//! In: a state and a path. Out: a complete database under that path, or an error and no file. The source is not
//! changed.

use std::ops::Bound;
use std::path::Path;
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::format::bytes::broken;
use crate::format::kept_set::KeptShape;
use crate::format::manifest::Manifest;
use crate::format::superblock::Superblock;
use crate::format::{DATA_START, DatabaseId};
use crate::sketch::Sketcher;
use crate::store::file_layer::{File, FileLayer, Rights};
use crate::store::new_file::NewFile;
use crate::store::range::Walk;
use crate::store::segment::writer::{NewRow, SegmentPlan, SegmentWriter};
use crate::store::spill::SpillPlace;
use crate::store::state::State;
use crate::store::state_file;

/// Writes the live rows of a state into a new database with one segment, or none if there are no rows. Fails if the
/// name is taken. A failure leaves no file. The copy gets the permissions `rights`.
pub fn pack(
    layer: &Arc<dyn FileLayer>,
    state: &State,
    target: &Path,
    database: DatabaseId,
    rights: Option<Rights>,
    spill: &SpillPlace,
) -> Result<()> {
    let scheme = Arc::clone(&state.scheme);
    let plan = SegmentPlan { database, scheme, extent: 1, spill: spill.clone() };
    let mut writer = SegmentWriter::new(plan);
    let first = state.segments.iter().map(|view| view.segment.header().first_sequence).min();
    let first = first.unwrap_or(1);
    let mut walk = Walk::new(state, Bound::Unbounded, Bound::Unbounded)?;
    let kept = KeptShape::of(&state.scheme);
    let sketcher = kept.map(|_| Sketcher::new(&state.scheme));
    let mut set = Vec::new();
    while let Some((key, stored)) = walk.next_row()? {
        if stored.sequence > state.sequence {
            let detail = format!("a row of commit {} is later than the last", stored.sequence);
            return Err(broken("segment", "SEG-3", 0, detail));
        }
        let consistent = |sketcher: &Sketcher| sketcher.is_consistent(&stored.signature);
        if !sketcher.as_ref().map_or(Ok(true), consistent)? {
            let detail = "a signature is not that of the set that is kept with it";
            return Err(broken("segment", "KEPT-10", 0, detail));
        }
        set.clear();
        if let (Some(kept), Some(elements)) = (kept, stored.signature.elements()) {
            kept.encode(elements, &mut set);
        }
        writer.push(NewRow {
            key: &key,
            planes: stored.signature.planes(),
            code: stored.signature.cardinality_code(),
            empty: stored.signature.is_empty(),
            sequence: stored.sequence.saturating_sub(first),
            set: &set,
            value: stored.value.as_deref(),
        })?;
    }
    let mut segment = writer.finish()?;
    let new = NewFile::create(layer, target, database, rights)?;
    let (file, path): (&dyn File, &Path) = (new.file(), new.path());
    let mut end = DATA_START;
    let mut segments = Vec::new();
    if let Some(segment) = &mut segment {
        segment.set_first_sequence(first);
        segments.push(segment.write_to(file, path, end)?);
        end += segment.length();
    }
    let manifest = Manifest {
        generation: 1,
        database,
        scheme: (*state.scheme).clone(),
        checkpointed: state.sequence,
        next_extent: 2,
        dead_bytes: 0,
        segments,
    };
    let superblock =
        state_file::write_manifest(file, path, end, &manifest, &Superblock::blank(database))?;
    state_file::write_superblock(file, path, &superblock)?;
    new.name().map_err(|error| match error {
        Error::Exists { .. } => Error::Exists { path: target.into() },
        error => error,
    })
}
