//! Publishes a new state: the end of every checkpoint, merge and bulk load (K3 to K6 of `format-spec/steps.md`).
//!
//! In: new segments, segments to drop, and rows that get tombstones. Out: a state that is durable and visible.
//! Segments and tombstone bitmaps are written behind the data, then the manifest, then one sync, then the superblock.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::file_side::AppendGuard;
use super::writer::{Writer, view};
use crate::error::{Error, Result};
use crate::format::DATA_START;
use crate::format::manifest::{ExtentEntry, MAX_SEGMENTS, Manifest, SegmentEntry};
use crate::format::superblock::Superblock;
use crate::format::tombstone_page;
use crate::store::segment::Tombstones;
use crate::store::segment::writer::NewSegment;
use crate::store::state::{SegmentView, State};
use crate::store::state_file;

/// Rows that get tombstones, by segment.
pub(super) type Hides = BTreeMap<u64, Vec<u32>>;

/// A new state that is being written behind the data, under the append lock.
#[derive(Debug)]
pub(super) struct Appending<'a> {
    writer: &'a Writer,
    appended: AppendGuard<'a>,
    segments: Vec<SegmentView>,
    end: u64,
    log_number: u64,
}

impl<'a> Appending<'a> {
    /// Starts from the current state.
    pub(super) fn new(writer: &'a Writer, appended: AppendGuard<'a>) -> Appending<'a> {
        let segments = writer.state().segments.to_vec();
        let (end, log_number) = (appended.superblock.end_of_data, appended.superblock.log_number);
        Appending { writer, appended, segments, end, log_number }
    }

    /// The segments of the new state so far.
    pub(super) fn segments(&self) -> &[SegmentView] {
        &self.segments
    }

    /// The new state names no log.
    pub(super) fn without_log(&mut self) {
        self.log_number = 0;
    }

    /// Writes a segment behind the data and adds it to the new state.
    pub(super) fn add(&mut self, segment: &NewSegment) -> Result<SegmentView> {
        self.writer.context.check_own(&*self.appended.file)?;
        let path = &self.writer.context.path;
        let entry = segment.write_to(&*self.appended.file, path, self.end)?;
        self.end += entry.length;
        let source = self.writer.context.source(&self.appended.file);
        let view = view(&entry, &source, &self.writer.context.scheme)?;
        self.segments.push(view.clone());
        Ok(view)
    }

    /// Removes segments from the new state.
    pub(super) fn remove(&mut self, ids: &[u64]) {
        self.segments.retain(|view| !ids.contains(&view.segment.id()));
    }

    /// Sets tombstones. A segment without live rows leaves the new state.
    pub(super) fn hide(&mut self, hides: &Hides) -> Result<()> {
        for view in &mut self.segments {
            let Some(rows) = hides.get(&view.segment.id()).filter(|rows| !rows.is_empty()) else {
                continue;
            };
            let mut bitmap = view.tombstones.bitmap()?;
            for row in rows {
                bitmap[*row as usize / 8] |= 1 << (row % 8);
            }
            let hidden: u32 = bitmap.iter().map(|byte| byte.count_ones()).sum();
            let rows = view.segment.rows();
            view.live_rows = rows - hidden;
            if view.live_rows == 0 {
                continue;
            }
            let id = self.writer.files.new_extent();
            let pages = tombstone_page::encode_bitmap(id, rows, &bitmap, self.writer.context.seal);
            let entry = ExtentEntry { id, offset: self.end, length: pages.len() as u64 };
            let written = self.appended.file.write_all_at(&pages, self.end);
            written.map_err(|error| Error::io("write to", &self.writer.context.path, error))?;
            self.end += entry.length;
            let source = self.writer.context.source(&self.appended.file);
            view.tombstones = Tombstones::new(rows, Some(entry), &source);
        }
        self.segments.retain(|view| view.live_rows > 0);
        Ok(())
    }

    /// Makes the new state durable and publishes it. All commits up to `checkpointed` are in segments then. `also`
    /// changes the published state in the same step.
    pub(super) fn install(
        mut self,
        checkpointed: u64,
        also: impl FnOnce(&mut State),
    ) -> Result<()> {
        let writer = self.writer;
        writer.context.check_own(&*self.appended.file)?;
        // A segment gets its number when its build starts, so numbers may arrive out of order. Entries must rise
        // (MAN-4).
        self.segments.sort_by_key(|view| view.segment.id());
        let entries: Vec<SegmentEntry> = self.segments.iter().map(SegmentView::entry).collect();
        if entries.len() > MAX_SEGMENTS as usize {
            return Err(Error::invalid(
                format!("{} segments", entries.len()),
                format!("a database has at most {MAX_SEGMENTS}: compact it"),
            ));
        }
        let used: u64 = entries.iter().flat_map(SegmentEntry::extents).map(|b| b.length).sum();
        let manifest = Manifest {
            generation: self.appended.superblock.generation + 1,
            database: writer.context.database,
            scheme: (*writer.context.scheme).clone(),
            checkpointed,
            next_extent: writer.files.next_extent(),
            dead_bytes: self.end - DATA_START - used,
            segments: entries,
        };
        let (file, path) = (Arc::clone(&self.appended.file), &writer.context.path);
        let old = &self.appended.superblock;
        let next = state_file::write_manifest(&*file, path, self.end, &manifest, old)?;
        let next = Superblock { log_number: self.log_number, clean: false, ..next };
        let synced = state_file::sync(&*file, path);
        synced.map_err(|error| writer.context.health.poison(error))?;
        writer.files.advance(&mut self.appended, next)?;
        self.appended.checkpointed = checkpointed;
        let segments = std::mem::take(&mut self.segments);
        writer.published.publish(|state| {
            state.segments = segments.into();
            also(state);
        });
        drop(self);
        writer.log.trim(checkpointed);
        Ok(())
    }
}
