//! The hot tier: the commits since the last checkpoint, durable, in a directory beside the database.
//! Mirrors `format-spec/hot-tier.md`.
//!
//! In: commits, as sequences with opaque payloads. Out: the same commits after a crash, or a prefix of them
//! and what is wrong with the rest. It must not know what a commit says, and never decides whether a tier
//! may be removed: the database file names its tier, this room only keeps it.
//!
//! A tier has two kinds, which keep one contract: [`HotTierKind::Log`], a plain file through the
//! [file layer](super::file_layer), and [`HotTierKind::Sled`], on the real file system only. All that concerns sled is in
//! `sled_tier`, behind four functions and the trait [`HotTier`].

mod admit;
mod gather;
mod leftover;
mod log_tier;
mod sled_tier;

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;

use super::companions::parent_of;
use super::file_layer::{Access, FileLayer, Kind, Rights};
use crate::error::{Error, Result};
use crate::format::hot_part::{ID_BYTES, decode_id, encode_id};

pub use crate::format::hot_part::TierId;
pub use crate::options::HotTierKind;
pub use gather::Visit;
pub use leftover::{
    is_own, remove, remove_known, remove_replay, remove_unfinished, replay_copy, replay_name,
    unfinished, unfinished_name,
};

/// One commit on its way into a tier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Commit<'a> {
    /// Its number: the one after the commit before it, or after a later one that is sealed.
    pub sequence: u64,
    /// What it says.
    pub payload: &'a [u8],
}

/// A tier that is being written. It takes appends from one thread and trims from another.
pub trait HotTier: Send + Sync + fmt::Debug {
    /// Adds commits, all or none of them: they are durable when this returns. After a failure the tier
    /// [is broken](HotTier::is_broken), or it is as it was before.
    fn append(&self, commits: &[Commit<'_>]) -> Result<()>;

    /// Whether a failure left it unknown what is there. Such a tier takes no more: every later append is
    /// [`Error::Poisoned`].
    fn is_broken(&self) -> bool;

    /// Forgets the commits up to `sealed`, which the database file has. This need not last: a replay skips
    /// them anyway. The next append starts above `sealed`.
    fn trim(&self, sealed: u64) -> Result<()>;

    /// How many bytes its files have.
    fn disk_bytes(&self) -> Result<u64>;
}

/// What stands where a tier would.
#[derive(Debug, Clone, PartialEq)]
pub enum Found {
    /// Nothing.
    Nothing,
    /// Something that does not say whose it is, and why not.
    Unreadable(Error),
    /// A tier that says whose it is.
    Tier(TierId, HotTierKind),
}

/// What a replay gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replayed {
    /// The last commit that was visited; if there was none, the one after which the replay began.
    pub last: u64,
    /// Whether any part of it verified, which those of no other tier do.
    pub verified: bool,
    /// What is wrong with the tier, if its own bytes tell. Commits that it held after `last` may be lost.
    pub damage: Option<String>,
}

/// Makes a tier, empty and durable (HOT-2). `Exists` if anything else has its name. A leftover `<directory>-new` and an
/// empty tier with the same id are removed: no database ever named them. Those may use it who have these rights to the database.
pub fn create(
    layer: &Arc<dyn FileLayer>,
    rights: Option<Rights>,
    directory: &Path,
    id: TierId,
    kind: HotTierKind,
) -> Result<Box<dyn HotTier>> {
    if at(directory, "look at", layer.kind(directory))?.is_some() {
        if !is_empty(layer, directory, id)? {
            return Err(Error::Exists { path: directory.to_path_buf() });
        }
        // An earlier try failed after the rename, and could not remove what it had made.
        remove(layer, directory, id)?;
    }
    remove_unfinished(layer, directory, id.database)?;
    let made = build(layer, rights, directory, id, kind);
    if made.is_err() {
        // Nobody names it yet. If it cannot be removed now, the next open of the database does it.
        let named = layer.kind(directory).is_ok_and(|found| found.is_some());
        let _ = match named {
            true => remove(layer, directory, id),
            false => remove_unfinished(layer, directory, id.database),
        };
    }
    made
}

/// Whether a directory is the tier with this id, whole and without commits.
fn is_empty(layer: &Arc<dyn FileLayer>, directory: &Path, id: TierId) -> Result<bool> {
    if !matches!(identify(layer, directory)?, Found::Tier(found, _) if found == id) {
        return Ok(false);
    }
    let mut commits = 0_u64;
    let replayed = replay(layer, directory, id, 0, &mut |_, _| {
        commits += 1;
        Ok(())
    })?;
    Ok(commits == 0 && replayed.damage.is_none())
}

fn build(
    layer: &Arc<dyn FileLayer>,
    rights: Option<Rights>,
    directory: &Path,
    id: TierId,
    kind: HotTierKind,
) -> Result<Box<dyn HotTier>> {
    let new = leftover::unfinished_name(directory);
    create_dir(layer, &new, rights)?;
    let id_path = new.join(ID_NAME);
    let file = at(&id_path, "create", layer.open(&id_path, Access::CreateNew))?;
    at(&id_path, "set the rights of", rights.map_or(Ok(()), |rights| file.set_rights(&rights)))?;
    at(&id_path, "write", file.write_all_at(&encode_id(id, kind), 0))?;
    at(&id_path, "sync", file.sync())?;
    match kind {
        HotTierKind::Sled => sled_tier::prepare(layer, &new, rights)?,
        HotTierKind::Log => log_tier::prepare(layer, &new, id, rights)?,
    }
    at(&new, "sync", layer.sync_dir(&new))?;
    at(&new, "rename", layer.rename_new(&new, directory))?;
    sync_parent(layer, directory)?;
    match kind {
        HotTierKind::Sled => sled_tier::create(layer, directory, id),
        HotTierKind::Log => log_tier::open(layer, directory, id, rights),
    }
}

/// Makes a directory for those who have these rights to a file.
fn create_dir(layer: &Arc<dyn FileLayer>, path: &Path, rights: Option<Rights>) -> Result<()> {
    at(path, "create", layer.create_dir(path))?;
    let set = rights.map_or(Ok(()), |rights| layer.set_dir_rights(path, &rights));
    at(path, "set the rights of", set)
}

/// Says whose tier a directory is, without reading its commits.
pub fn identify(layer: &Arc<dyn FileLayer>, directory: &Path) -> Result<Found> {
    let unreadable = |detail: &str| {
        let (what, detail) = ("hot tier", detail.to_string());
        Ok(Found::Unreadable(Error::Corrupt { what, offset: 0, rule: "HOT-1", detail }))
    };
    match at(directory, "look at", layer.kind(directory))? {
        None => return Ok(Found::Nothing),
        Some(Kind::Directory) => {}
        Some(Kind::File | Kind::Other) => return unreadable("it is no directory"),
    }
    let path = directory.join(ID_NAME);
    let file = match layer.open(&path, Access::Read) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return unreadable("it has no id"),
        other => at(&path, "open", other)?,
    };
    // Room for one byte more, so that a file that is too long is seen to be.
    let mut bytes = [0; ID_BYTES + 1];
    let length = at(&path, "read", file.read_up_to(&mut bytes, 0))?;
    Ok(match decode_id(bytes.get(..length).unwrap_or_default()) {
        Ok((id, kind)) => Found::Tier(id, kind),
        Err(error) => Found::Unreadable(error),
    })
}

/// Visits the commits after `after`, in order and without a gap (HOT-11), and changes no byte of the tier
/// (HOT-13). An error is one of the visitor or of the file system; damage is no error. The tier says itself of
/// which kind it is.
///
/// A sled tier is read by sled, in a thread of its own: if sled panics or stops answering, that is damage. The
/// program's panic hook is left alone, so it may print what sled says. In a program built with `panic = "abort"` a
/// damaged sled tier aborts.
pub fn replay(
    layer: &Arc<dyn FileLayer>,
    directory: &Path,
    id: TierId,
    after: u64,
    visit: Visit<'_>,
) -> Result<Replayed> {
    let mut gather = gather::Gather::new(id, after, visit);
    let kind = match identify(layer, directory)? {
        Found::Nothing => return Err(Error::HotTierMissing { sealed: after, marked: None }),
        Found::Tier(found, kind) if found == id => kind,
        Found::Tier(..) => {
            // Nothing in it would verify, and nothing of somebody else's is given to sled.
            let damage = Some("it is the tier of another time or database (HOT-12)".into());
            return Ok(Replayed { last: after, verified: false, damage });
        }
        // The parts say themselves whether they are of this tier.
        Found::Unreadable(error) => {
            gather.spoil(error.to_string());
            kind_by_names(layer, directory)?
        }
    };
    match kind {
        HotTierKind::Sled => sled_tier::replay(layer, directory, &mut gather)?,
        HotTierKind::Log => log_tier::replay(layer, directory, &mut gather)?,
    }
    Ok(gather.finish())
}

/// Of which kind a tier is that lost its id: each has a name in the directory that the other has not (HOT-1).
fn kind_by_names(layer: &Arc<dyn FileLayer>, directory: &Path) -> Result<HotTierKind> {
    let kind_of = |name| {
        let path = directory.join(name);
        at(&path, "look at", layer.kind(&path))
    };
    let log = kind_of(log_tier::NAME)? == Some(Kind::File);
    let is_sled = !log && kind_of(sled_tier::NAME)? == Some(Kind::Directory);
    Ok(if is_sled { HotTierKind::Sled } else { HotTierKind::Log })
}

/// The name of the id file (HOT-1).
const ID_NAME: &str = "id";

fn sync_parent(layer: &Arc<dyn FileLayer>, path: &Path) -> Result<()> {
    let parent = parent_of(path);
    at(parent, "sync", layer.sync_dir(parent))
}

/// The result of an operation on a path, with the crate's own error.
fn at<T>(path: &Path, operation: &'static str, result: io::Result<T>) -> Result<T> {
    result.map_err(|error| Error::io(operation, path, error))
}

#[cfg(test)]
mod tests;
