//! Recovery's writes: replayed commits become a segment, and repaired segments replace damaged ones (STEP-3).
//!
//! In: a memtable with the replayed commits, or a rebuilt segment. Out: a published state. Nobody else uses the
//! writer yet.

use super::append::{Appending, Hides};
use super::checkpoint::{build, replaced};
use super::writer::Writer;
use crate::error::Result;
use crate::store::memtable::Memtable;
use crate::store::segment::writer::NewSegment;

/// The commits of a log, ready to become part of the file.
#[derive(Debug)]
pub struct Recovered {
    segment: Option<NewSegment>,
    hides: Hides,
    sealed: u64,
}

/// Whether the new state still names the log of the crashed writer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OldTier {
    /// It does: the log also has commits that cannot be read.
    Stays,
    /// It does not: everything readable is in segments.
    Leaves,
}

impl Recovered {
    /// Reads everything that [`adopt`](Recovered::adopt) needs, so that damage is found before any byte changes.
    pub fn prepare(writer: &Writer, commits: &Memtable, sealed: u64) -> Result<Recovered> {
        let after = writer.files.append().sealed;
        let segment = build(writer, commits, after)?;
        let segments = &writer.state().segments;
        let hides = replaced(commits, segments)?;
        for view in segments.iter().filter(|view| hides.contains_key(&view.segment.id())) {
            view.liveness.bitmap()?;
        }
        Ok(Recovered { segment, hides, sealed })
    }

    /// No commits. The next commit has the number after `last`.
    pub fn nothing(last: u64) -> Recovered {
        Recovered { segment: None, hides: Hides::new(), sealed: last }
    }

    /// Publishes a state with these commits in a segment.
    pub fn adopt(&self, writer: &Writer, tier: OldTier) -> Result<()> {
        let mut appending = Appending::new(writer, writer.files.append());
        if tier == OldTier::Leaves {
            appending.without_hot_tier();
        }
        if let Some(segment) = &self.segment {
            appending.add(segment)?;
        }
        appending.hide(&self.hides)?;
        appending.seal(self.sealed, |state| state.sequence = self.sealed)?;
        writer.commits.turn().last = self.sealed;
        Ok(())
    }
}

/// Replaces a segment by another with the same live rows, or by nothing if there are none.
pub fn swap_segment(writer: &Writer, old: u64, new: Option<&NewSegment>) -> Result<()> {
    let appended = writer.files.append_checked()?;
    let sealed = appended.sealed;
    let mut appending = Appending::new(writer, appended);
    appending.remove(&[old]);
    if let Some(new) = new {
        appending.add(new)?;
    }
    appending.seal(sealed, |_| {})
}
