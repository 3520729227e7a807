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
    checkpointed: u64,
}

/// Whether the new state still names the log of the crashed writer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OldLog {
    /// It does: the log also has commits that cannot be read.
    Stays,
    /// It does not: everything readable is in segments.
    Leaves,
}

impl Recovered {
    /// Reads everything that [`adopt`](Recovered::adopt) needs, so that damage is found before any byte changes.
    pub fn prepare(writer: &Writer, commits: &Memtable, checkpointed: u64) -> Result<Recovered> {
        let after = writer.files.append().checkpointed;
        let segment = build(writer, commits, after)?;
        let segments = &writer.state().segments;
        let hides = replaced(commits, segments)?;
        for view in segments.iter().filter(|view| hides.contains_key(&view.segment.id())) {
            view.tombstones.bitmap()?;
        }
        Ok(Recovered { segment, hides, checkpointed })
    }

    /// No commits. The next commit has the number after `last`.
    pub fn nothing(last: u64) -> Recovered {
        Recovered { segment: None, hides: Hides::new(), checkpointed: last }
    }

    /// Publishes a state with these commits in a segment.
    pub fn adopt(&self, writer: &Writer, log: OldLog) -> Result<()> {
        let mut appending = Appending::new(writer, writer.files.append());
        if log == OldLog::Leaves {
            appending.without_log();
        }
        if let Some(segment) = &self.segment {
            appending.add(segment)?;
        }
        appending.hide(&self.hides)?;
        appending.install(self.checkpointed, |state| state.sequence = self.checkpointed)?;
        writer.commits.turn().last = self.checkpointed;
        Ok(())
    }
}

/// Replaces a segment by another with the same live rows, or by nothing if there are none.
pub fn swap_segment(writer: &Writer, old: u64, new: Option<&NewSegment>) -> Result<()> {
    let appended = writer.files.append_checked()?;
    let checkpointed = appended.checkpointed;
    let mut appending = Appending::new(writer, appended);
    appending.remove(&[old]);
    if let Some(new) = new {
        appending.add(new)?;
    }
    appending.install(checkpointed, |_| {})
}
