//! Checkpoints: a frozen memtable becomes a segment, and the rows that it replaces are hidden.

use super::append::{Appending, Hides};
use super::writer::{Commits, Writer, lock};
use crate::error::{Error, Result};
use crate::format::filter::KeyHash;
use crate::store::memtable::{FreshRow, Memtable};
use crate::store::segment::writer::{NewRow, NewSegment, SegmentWriter};
use crate::store::state::SegmentView;
use crate::sync::MutexGuard;

/// The commits of a hot tier, ready to become part of the file.
#[derive(Debug)]
pub struct Recovered {
    segment: Option<NewSegment>,
    hides: Hides,
    sealed: u64,
}

impl Writer {
    /// Puts all commits into segments.
    pub fn checkpoint(&self) -> Result<()> {
        self.check_process()?;
        let mut commits = lock(&self.commits);
        self.check_poison()?;
        self.seal_all(&mut commits)
    }

    /// Puts all commits into segments, while no new ones can come.
    pub(super) fn seal_all(&self, _commits: &mut MutexGuard<'_, Commits>) -> Result<()> {
        if self.state().active.versions() > 0 {
            self.freeze()?;
        }
        self.wait_for_checkpoint()
    }

    /// Makes a segment of the frozen memtable, if there is one (STEP-6).
    pub(super) fn checkpoint_frozen(&self) -> Result<()> {
        let side = lock(&self.file);
        self.check_poison()?;
        let Some(frozen) = self.state().frozen.clone() else { return Ok(()) };
        let sealed = frozen.last();
        let segment = self.build(&frozen, side.sealed)?;
        let mut appending = Appending::new(self, side);
        let hides = replaced(&frozen, appending.segments())?;
        if let Some(segment) = &segment {
            appending.add(segment)?;
        }
        appending.hide(&hides)?;
        appending.seal(sealed, |state| state.frozen = None)
    }

    /// K7: the hot tier forgets what is sealed, and goes on after it, also where a bulk load took the
    /// sequence. What stays in it is ignored by a replay: failing to trim costs space only. If it left the
    /// tier in doubt, the tier takes no more commits.
    pub(super) fn trim_hot(&self, sealed: u64) {
        let hot = lock(&self.hot).clone();
        if let Some((hot, _)) = hot {
            let _ = hot.trim(sealed);
        }
    }

    /// Reads all that taking over the commits of a hot tier needs, so that damage shows before the first
    /// byte is changed.
    pub fn prepare(&self, recovered: &Memtable, sealed: u64) -> Result<Recovered> {
        let segment = self.build(recovered, lock(&self.file).sealed)?;
        let segments = &self.state().segments;
        let hides = replaced(recovered, segments)?;
        for view in segments.iter().filter(|view| hides.contains_key(&view.segment.id())) {
            view.liveness.bitmap()?;
        }
        Ok(Recovered { segment, hides, sealed })
    }

    /// Takes the commits of a hot tier over from recovery and puts them into a segment; the tier that they
    /// came from is no longer part of the state (STEP-3).
    pub fn adopt_and_leave(&self, recovered: &Recovered) -> Result<()> {
        let mut appending = Appending::new(self, lock(&self.file));
        appending.without_hot_tier();
        self.take_over(appending, recovered)
    }

    /// The same, but the tier, which holds more that cannot be read, is still part of the state.
    pub fn adopt(&self, recovered: &Recovered) -> Result<()> {
        self.take_over(Appending::new(self, lock(&self.file)), recovered)
    }

    /// The tier of a crashed writer is no longer part of the state. Commits are counted on from `last`.
    pub fn leave_tier(&self, last: u64) -> Result<()> {
        let nothing = Recovered { segment: None, hides: Hides::new(), sealed: last };
        self.adopt_and_leave(&nothing)
    }

    fn take_over(&self, mut appending: Appending<'_>, recovered: &Recovered) -> Result<()> {
        let Recovered { segment, hides, sealed } = recovered;
        if let Some(segment) = segment {
            appending.add(segment)?;
        }
        appending.hide(hides)?;
        appending.seal(*sealed, |state| state.sequence = *sealed)?;
        lock(&self.commits).last = *sealed;
        Ok(())
    }

    /// K2: the newest version of each key that is not deleted.
    fn build(&self, table: &Memtable, after: u64) -> Result<Option<NewSegment>> {
        let first = after + 1;
        let mut writer = SegmentWriter::new(self.plan());
        table.each(|row| {
            let FreshRow { key, sequence, deleted, planes, code, empty, set } = row;
            let sequence = sequence.saturating_sub(first);
            if deleted {
                Ok(())
            } else {
                writer.push(NewRow { key, planes, code, empty, sequence, set })
            }
        })?;
        let mut segment = writer.finish()?;
        if let Some(segment) = &mut segment {
            segment.set_first_sequence(first);
        }
        Ok(segment)
    }
}

/// The live rows of segments whose keys a memtable touches.
fn replaced(table: &Memtable, segments: &[SegmentView]) -> Result<Hides> {
    let mut hides = Hides::new();
    if segments.is_empty() {
        return Ok(hides);
    }
    table.each(|FreshRow { key, .. }| {
        let hash = KeyHash::of(key);
        for view in segments {
            if let Some(found) = view.find(key, hash)? {
                hides.entry(view.segment.id()).or_default().push(found.row);
                break;
            }
        }
        Ok::<(), Error>(())
    })?;
    Ok(hides)
}
