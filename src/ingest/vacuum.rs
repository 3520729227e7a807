//! Vacuum: copies the file without its dead bytes, and puts the copy in its place (STEP-9).
//!
//! In: the current state. Out: the same state in a smaller file under the same name. Commits go on meanwhile, and
//! checkpoints wait. Snapshots keep the old file open until they are dropped.

use std::path::Path;
use std::sync::Arc;

use super::file_side::Appended;
use super::merge_policy;
use super::replacement::Replacement;
use super::writer::{Writer, views};
use crate::error::{Error, Result};
use crate::format::DATA_START;
use crate::format::commit_mark::{MARK_BYTES, MARK_OFFSET};
use crate::format::manifest::{Manifest, SegmentEntry};
use crate::format::superblock::Superblock;
use crate::store::file_layer::File;
use crate::store::state::SegmentView;
use crate::store::state_file;
use crate::trace::{event, span};

/// Bytes copied at a time.
const CHUNK: usize = 1 << 20;

/// Whether enough of the file is dead to be worth a vacuum.
pub(super) fn is_worthwhile(writer: &Writer) -> bool {
    let end = writer.superblock().end_of_data;
    let state = writer.state();
    let extents = state.segments.iter().flat_map(|view| view.entry().extents());
    let used: u64 = extents.map(|extent| extent.length).sum();
    merge_policy::wants_vacuum(end, end.saturating_sub(DATA_START + used))
}

/// Drops all dead bytes of the file. Does nothing if there are none.
pub(super) fn vacuum(writer: &Writer) -> Result<()> {
    let context = &*writer.context;
    let mut appended = writer.files.append_checked()?;
    context.check_own(&*appended.file)?;
    let state = writer.state();
    let entries: Vec<SegmentEntry> = state.segments.iter().map(SegmentView::entry).collect();
    let used: u64 = entries.iter().flat_map(SegmentEntry::extents).map(|b| b.length).sum();
    let least = DATA_START + used + Manifest::padded_bytes(entries.len());
    if appended.superblock.end_of_data == least {
        return Ok(());
    }
    span!("vacuum", bytes = appended.superblock.end_of_data);
    let new = Replacement::create(writer)?;
    let (next, segments) = new.or_forget(|| copy_to(writer, &new, &appended, &entries))?;
    {
        // The last commit mark is copied under the mark's lock. Later marks go to the new file.
        let mut mark = writer.files.mark();
        let copied = copy_mark(&*appended.file, &**new.file());
        new.or_forget(|| copied.map_err(|error| Error::io("copy the mark to", new.path(), error)))?;
        new.take_place_of(&*appended.file, &mut mark)?;
    }
    event!(
        "vacuumed",
        bytes_before = appended.superblock.end_of_data,
        bytes_after = next.end_of_data
    );
    appended.file = Arc::clone(new.file());
    appended.superblock = next;
    writer.published.publish(|state| state.segments = segments.into());
    Ok(())
}

/// V2: writes the state without dead bytes to the new file.
fn copy_to(
    writer: &Writer,
    new: &Replacement<'_>,
    appended: &Appended,
    entries: &[SegmentEntry],
) -> Result<(Superblock, Vec<SegmentView>)> {
    let (context, file, target) = (&*writer.context, new.file(), new.path());
    let (segments, end) = copy(&*appended.file, &**file, target, entries)?;
    let manifest = Manifest {
        generation: appended.superblock.generation + 1,
        database: context.database,
        scheme: (*context.scheme).clone(),
        checkpointed: appended.checkpointed,
        next_extent: writer.files.next_extent(),
        dead_bytes: 0,
        segments,
    };
    let next = state_file::write_manifest(&**file, target, end, &manifest, &appended.superblock)?;
    state_file::write_superblock(&**file, target, &next)?;
    let segments = views(&manifest.segments, &context.source(file), &context.scheme)?;
    Ok((next, segments))
}

fn copy_mark(from: &dyn File, to: &dyn File) -> std::io::Result<()> {
    let mut bytes = [0; MARK_BYTES];
    from.read_up_to(&mut bytes, MARK_OFFSET)?;
    to.write_all_at(&bytes, MARK_OFFSET)
}

/// Copies the extents of all segments without gaps. Returns their new entries and the end of the data.
fn copy(
    from: &dyn File,
    to: &dyn File,
    path: &Path,
    entries: &[SegmentEntry],
) -> Result<(Vec<SegmentEntry>, u64)> {
    let mut end = DATA_START;
    let mut moved = Vec::with_capacity(entries.len());
    for entry in entries {
        let mut entry = *entry;
        end = copy_bytes(from, to, path, &mut entry.offset, entry.length, end)?;
        if let Some(tombstones) = &mut entry.tombstones {
            end = copy_bytes(from, to, path, &mut tombstones.offset, tombstones.length, end)?;
        }
        moved.push(entry);
    }
    Ok((moved, end))
}

fn copy_bytes(
    from: &dyn File,
    to: &dyn File,
    path: &Path,
    offset: &mut u64,
    length: u64,
    end: u64,
) -> Result<u64> {
    let mut buffer = vec![0; CHUNK.min(length as usize)];
    let mut done = 0;
    while done < length {
        let n = (length - done).min(CHUNK as u64) as usize;
        let read = from.read_up_to(&mut buffer[..n], *offset + done);
        let read = read.map_err(|error| Error::io("read for", path, error))?;
        if read == 0 {
            let short = std::io::ErrorKind::UnexpectedEof.into();
            return Err(Error::io("read for", path, short));
        }
        let written = to.write_all_at(&buffer[..read], end + done);
        written.map_err(|error| Error::io("write to", path, error))?;
        done += read as u64;
    }
    *offset = end;
    Ok(end + length)
}
