//! Reindex: writes all rows into a new file with another scheme, and puts that file in the place of the old one
//! (STEP-13).
//!
//! In: a state in which every commit is in a segment, and a scheme that follows from its own by SIG-9. Out: a closed
//! database with the new scheme under the same name. The writer that did it can only be closed, since its scheme is the
//! old one.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use super::file_side::Appended;
use super::merge;
use super::replacement::Replacement;
use super::writer::Writer;
use crate::error::{Error, Result};
use crate::estimate::capacity::index_bytes;
use crate::format::DATA_START;
use crate::format::manifest::Manifest;
use crate::format::superblock::Superblock;
use crate::scheme::Scheme;
use crate::store::companions::parent_of;
use crate::store::segment::known::CAPACITY;
use crate::store::segment::writer::{NewSegment, SegmentPlan};
use crate::store::state::State;
use crate::store::state_file;
use crate::trace::{event, span};

/// Bytes that a file takes beside its regions, at most: superblocks, header, manifest, and unfilled pages.
const BESIDE_REGIONS: u64 = 256 << 10;

/// The caller's function: rows that were read, and all rows. It may break off.
pub type Progress<'a> = dyn FnMut(u64, u64) -> ControlFlow<()> + 'a;

/// The bytes that a reindex takes beside the database, at most. At first these are temporary files: the regions of the
/// new file, and the values of all slots until they are sorted. Then they are the regions and the new file.
pub fn needed_bytes(state: &State, scheme: &Scheme) -> u64 {
    let rows: u64 = state.segments.iter().map(|view| u64::from(view.live_rows)).sum();
    let (mut ids, mut regions) = (0_u64, 0_u64);
    for view in state.segments.iter() {
        let header = view.segment.header();
        let stored = u64::from(header.ids).max(1);
        // Of very many signatures, equal ones may be stored more than once.
        let most = if rows > CAPACITY as u64 { stored.max(view.live_rows.into()) } else { stored };
        let planes = header.signatures.length / u64::from(state.scheme.bits);
        // Fewer planes leave the cardinality codes and the headers of pages as they are.
        let signatures = planes * u64::from(scheme.bits) + header.signatures.length / 8;
        let signatures = u128::from(signatures.min(header.signatures.length));
        let signatures = signatures * u128::from(most) / u128::from(stored);
        let records = [&header.elements, &header.values].into_iter().flatten();
        let records: u64 = records.map(|records| records.region.length).sum();
        let kept = header.keys.length + header.duplicates.length + records;
        regions = regions.saturating_add(kept.saturating_add(signatures as u64));
        ids += most;
    }
    let regions = regions.saturating_add((index_bytes(scheme, ids) * ids as f64) as u64);
    // Beside the values of all slots, the entries of one slot are sorted.
    let values = ids.saturating_mul(4 * (u64::from(scheme.slots.count) + 2));
    regions.saturating_add(regions.max(values)).saturating_add(BESIDE_REGIONS)
}

/// Replaces the database file by one with another scheme. The caller has checked that it follows from the present one.
/// Nothing else uses the writer.
pub fn reindex(writer: &Writer, scheme: &Scheme, progress: &mut Progress<'_>) -> Result<()> {
    let context = &*writer.context;
    {
        let appended = writer.files.append_checked()?;
        context.check_own(&*appended.file)?;
    }
    span!("reindex", bytes = writer.superblock().end_of_data);
    let state = writer.state();
    check_space(writer, needed_bytes(&state, scheme))?;
    let rows = state.segments.iter().map(|view| u64::from(view.live_rows)).sum();
    let plan = SegmentPlan { scheme: Arc::new(scheme.clone()), ..writer.plan() };
    // No lock is held here, because the caller's function may use other databases.
    let mut give_up = |done: u32| progress(done.into(), rows).is_break();
    if give_up(0) {
        return Err(Error::Interrupted);
    }
    let built = merge::build(plan, &state.segments, &mut give_up)?.ok_or(Error::Interrupted)?;
    if progress(rows, rows).is_break() {
        return Err(Error::Interrupted);
    }
    let mut appended = writer.files.append_checked()?;
    let new = Replacement::create(writer)?;
    let next = new.or_forget(|| write(writer, &new, &appended, scheme, built.as_ref()))?;
    let mut mark = writer.files.mark();
    new.take_place_of(&*appended.file, &mut mark)?;
    event!(
        "reindexed",
        bytes_before = appended.superblock.end_of_data,
        bytes_after = next.end_of_data
    );
    appended.file = Arc::clone(new.file());
    appended.superblock = next;
    state_file::sync(&*appended.file, &context.path).map_err(|error| context.health.poison(error))
}

/// Fails if the disk has fewer free bytes than the work takes. If their number is not known, the work is tried.
fn check_space(writer: &Writer, needed: u64) -> Result<()> {
    let path: &Path = &writer.context.path;
    let free = writer.context.layer.free_bytes(parent_of(path));
    match free.map_err(|error| Error::io("look at", parent_of(path), error))? {
        Some(free) if free < needed => {
            Err(Error::TooLittleSpace { what: "reindexing", path: path.into(), needed, free })
        }
        _ => Ok(()),
    }
}

/// R3: writes the state with the new scheme, closed.
fn write(
    writer: &Writer,
    new: &Replacement<'_>,
    appended: &Appended,
    scheme: &Scheme,
    segment: Option<&NewSegment>,
) -> Result<Superblock> {
    let (file, path) = (&**new.file(), new.path());
    let mut end = DATA_START;
    let entry = segment.map(|segment| segment.write_to(file, path, end)).transpose()?;
    end += segment.map_or(0, NewSegment::length);
    let manifest = Manifest {
        generation: appended.superblock.generation + 1,
        database: writer.context.database,
        scheme: scheme.clone(),
        checkpointed: appended.checkpointed,
        next_extent: writer.files.next_extent(),
        dead_bytes: 0,
        segments: entry.into_iter().collect(),
    };
    let old = Superblock { log_number: 0, clean: true, ..appended.superblock.clone() };
    let next = state_file::write_manifest(file, path, end, &manifest, &old)?;
    state_file::write_superblock(file, path, &next)?;
    Ok(next)
}
