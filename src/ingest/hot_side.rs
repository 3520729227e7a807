//! The write-ahead log of a writer. The first commit creates it, and closing removes it.
//!
//! In: encoded commits. Out: they are durable. This part does not know what a commit contains.

use std::sync::Arc;

use super::context::Context;
use super::file_side::FileSide;
use super::lock_order::HOT_TIER;
use crate::error::{Error, Result};
use crate::format::superblock::Superblock;
use crate::options::HotTierKind;
use crate::store::hot_tier::{self, Commit, HotTier, TierId};
use crate::sync::Ranked;

/// The log, once there is one.
#[derive(Debug)]
pub(super) struct HotSide {
    context: Arc<Context>,
    kind: HotTierKind,
    tier: Ranked<HOT_TIER, Option<Numbered>>,
}

/// A log and its number.
type Numbered = (Arc<dyn HotTier>, u64);

impl HotSide {
    /// Starts without a log. The first commit creates one of this kind.
    pub(super) fn new(context: Arc<Context>, kind: HotTierKind) -> HotSide {
        HotSide { context, kind, tier: Ranked::new(None) }
    }

    fn tier(&self) -> Option<Numbered> {
        self.tier.lock().clone()
    }

    /// C2 and C3: makes commits durable with one append and sync. Returns the number of the log. A failure poisons
    /// the writer, unless the disk was full and the log could undo the append.
    pub(super) fn append(&self, files: &FileSide, commits: &[Commit<'_>]) -> Result<u64> {
        let (tier, number) = match self.tier() {
            Some(numbered) => numbered,
            None => self.create(files)?,
        };
        tier.append(commits).map_err(|error| {
            let undone = matches!(error, Error::NoSpace { .. }) && !tier.is_broken();
            if undone { error } else { self.context.health.poison(error) }
        })?;
        Ok(number)
    }

    /// Creates the log, then writes a superblock that names it (STEP-4).
    fn create(&self, files: &FileSide) -> Result<Numbered> {
        let mut appended = files.append();
        let number = appended.superblock.hot_tiers_made + 1;
        let id = TierId { database: self.context.database, tier: number };
        let (layer, directory) = (&self.context.layer, self.context.hot_directory());
        let made = hot_tier::create(layer, files.rights()?, &directory, id, self.kind);
        let poison = |error| self.context.health.poison(error);
        let made = made.map_err(|error| if error.is_failed_sync() { poison(error) } else { error });
        let made: Arc<dyn HotTier> = Arc::from(made?);
        let next = Superblock {
            generation: appended.superblock.generation + 1,
            hot_tier: number,
            hot_tiers_made: number,
            clean: false,
            ..appended.superblock.clone()
        };
        files.advance(&mut appended, next)?;
        *self.tier.lock() = Some((Arc::clone(&made), number));
        Ok((made, number))
    }

    /// K7: drops checkpointed commits from the log. The log continues after `sealed`, which may be the sequence of a
    /// bulk load. An error is ignored, because replay skips checkpointed commits, so they only cost space. If the
    /// failure left the log in an unknown state, the log itself refuses further commits.
    pub(super) fn trim(&self, sealed: u64) {
        if let Some((tier, _)) = self.tier() {
            let _ = tier.trim(sealed);
        }
    }

    /// The size of the log's files in bytes; 0 without a log.
    pub(super) fn disk_bytes(&self) -> Result<u64> {
        self.tier().map_or(Ok(0), |(tier, _)| tier.disk_bytes())
    }

    /// Closes the log. Its files stay.
    pub(super) fn close(&self) {
        let tier = self.tier.lock().take();
        drop(tier);
    }

    /// Closes the log and removes its files. The current superblock must not name it any more.
    pub(super) fn remove(&self) -> Result<()> {
        let tier = self.tier.lock().take();
        let Some((tier, number)) = tier else { return Ok(()) };
        drop(tier);
        let id = TierId { database: self.context.database, tier: number };
        hot_tier::remove(&self.context.layer, &self.context.hot_directory(), id)
    }
}
