//! The hot tier of a writer: made at the first commit, gone after the writer is closed.

use std::sync::Arc;

use super::context::Context;
use super::file_side::FileSide;
use super::lock_order::HOT_TIER;
use crate::error::{Error, Result};
use crate::format::superblock::Superblock;
use crate::options::HotTierKind;
use crate::store::hot_tier::{self, Commit, HotTier, TierId};
use crate::sync::Ranked;

/// The hot tier, once there is one.
#[derive(Debug)]
pub(super) struct HotSide {
    context: Arc<Context>,
    kind: HotTierKind,
    tier: Ranked<HOT_TIER, Option<Numbered>>,
}

/// A tier and its number.
type Numbered = (Arc<dyn HotTier>, u64);

impl HotSide {
    /// Without a tier; the first commit makes one of this kind.
    pub(super) fn new(context: Arc<Context>, kind: HotTierKind) -> HotSide {
        HotSide { context, kind, tier: Ranked::new(None) }
    }

    fn tier(&self) -> Option<Numbered> {
        self.tier.lock().clone()
    }

    /// C2 and C3: makes commits durable with one append, and gives the number of the tier that has them. Unless the
    /// disk was full and nothing is in doubt, a failure ends all writing.
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

    /// Makes the tier, and then a state that names it (STEP-4).
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

    /// K7: the tier forgets what is sealed, and goes on after it, also where a bulk load took the sequence. What stays
    /// in it is ignored by a replay: failing to trim costs space only. If that left the tier in doubt, it takes no more
    /// commits.
    pub(super) fn trim(&self, sealed: u64) {
        if let Some((tier, _)) = self.tier() {
            let _ = tier.trim(sealed);
        }
    }

    /// Bytes of the tier's files.
    pub(super) fn disk_bytes(&self) -> Result<u64> {
        self.tier().map_or(Ok(0), |(tier, _)| tier.disk_bytes())
    }

    /// Closes the tier. Its files stay.
    pub(super) fn close(&self) {
        let tier = self.tier.lock().take();
        drop(tier);
    }

    /// Closes the tier and removes its files: the current state does not name it.
    pub(super) fn remove(&self) -> Result<()> {
        let tier = self.tier.lock().take();
        let Some((tier, number)) = tier else { return Ok(()) };
        drop(tier);
        let id = TierId { database: self.context.database, tier: number };
        hot_tier::remove(&self.context.layer, &self.context.hot_directory(), id)
    }
}
