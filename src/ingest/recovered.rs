//! How an open takes over what a crashed writer left, before anybody else uses the writer (STEP-3).

use super::append::{Appending, Hides};
use super::checkpoint::{build, replaced};
use super::writer::Writer;
use crate::error::Result;
use crate::store::memtable::Memtable;
use crate::store::segment::writer::NewSegment;

/// The commits of a hot tier, ready to become part of the file.
#[derive(Debug)]
pub struct Recovered {
    segment: Option<NewSegment>,
    hides: Hides,
    sealed: u64,
}

/// Whether the hot tier of the crashed writer is still part of the state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OldTier {
    /// It holds more, which cannot be read.
    Stays,
    /// All of it that can be read is in segments.
    Leaves,
}

impl Recovered {
    /// Reads all that taking over these commits needs, so that damage shows before the first byte is changed.
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

    /// No commits. Commits are counted on from `last`.
    pub fn nothing(last: u64) -> Recovered {
        Recovered { segment: None, hides: Hides::new(), sealed: last }
    }

    /// Puts the commits into a segment.
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

/// Puts a segment, or nothing, in the place of another that has the same live rows.
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
