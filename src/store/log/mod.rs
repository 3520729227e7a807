//! The write-ahead log: the commits since the last checkpoint, durable, in a directory beside the database.
//!
//! In: commits, as sequences with opaque payloads. Out: the same commits after a crash, or a prefix of them and
//! what is wrong with the rest. Implements `format-spec/log.md`. It must not know what a commit contains. It
//! never decides whether a log may be removed: the database file names its log.
//!
//! There are two implementations with one contract: [`LogKind::Plain`], a plain file through the [file
//! layer](super::file_layer), and [`LogKind::Sled`], on the real file system only. Everything about sled is in
//! `sled_log`, behind four functions and the trait [`Log`].

mod admit;
mod follower;
mod gather;
mod leftover;
mod plain_log;
mod sled_log;

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;

use super::companions::parent_of;
use super::file_layer::{Access, File, FileLayer, Kind, Rights};
use crate::error::{Error, Result};
use crate::format::log_part::{ID_BYTES, decode_id, encode_id};

pub use crate::format::log_part::LogId;
pub use crate::options::LogKind;
pub use follower::{Followed, Follower, LogPlace, follow};
pub use gather::Visit;
pub use leftover::{
    is_own, remove, remove_known, remove_replay, remove_unfinished, replay_copy, replay_name,
    unfinished, unfinished_name,
};

/// A commit to append.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Commit<'a> {
    /// Its number: one above the previous commit, or above the checkpointed sequence if that is higher.
    pub sequence: u64,
    /// The encoded contents.
    pub payload: &'a [u8],
}

/// A log that is open for writing. One thread may append while another trims.
pub trait Log: Send + Sync + fmt::Debug {
    /// Appends commits, all or none of them. They are durable on return. After an error the log either [is
    /// broken](Log::is_broken) or is unchanged.
    fn append(&self, commits: &[Commit<'_>]) -> Result<()>;

    /// Whether a failure left the contents unknown. A broken log accepts nothing more: every later append returns
    /// [`Error::Poisoned`].
    fn is_broken(&self) -> bool;

    /// Drops the commits up to `checkpointed`, which the database file holds. The removal need not be durable, because
    /// a replay skips those commits anyway. The next append must start above `checkpointed`.
    fn trim(&self, checkpointed: u64) -> Result<()>;

    /// Returns the total bytes of the log's files.
    fn disk_bytes(&self) -> Result<u64>;
}

/// What was found in place of a log directory.
#[derive(Debug, Clone, PartialEq)]
pub enum Found {
    /// There is nothing.
    Nothing,
    /// Something without a readable id, and the reason.
    Unreadable(Error),
    /// A log with a readable id.
    Log(LogId, LogKind),
}

/// The result of a replay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replayed {
    /// The last visited commit, or the starting point of the replay if there was none.
    pub last: u64,
    /// Whether any part verified. Parts of another log never do.
    pub verified: bool,
    /// The damage that the log's own bytes reveal. Commits after `last` may be lost.
    pub damage: Option<String>,
}

/// Creates an empty, durable log (LOG-2). Whoever has `rights` to the database may use it. Returns `Exists` if the
/// name is taken. A leftover `<directory>-new` and an empty log with the same id are removed first, because no
/// database ever referred to them.
pub fn create(
    layer: &Arc<dyn FileLayer>,
    rights: Option<Rights>,
    directory: &Path,
    id: LogId,
    kind: LogKind,
) -> Result<Box<dyn Log>> {
    if at(directory, "look at", layer.kind(directory))?.is_some() {
        if !is_empty(layer, directory, id)? {
            return Err(Error::Exists { path: directory.to_path_buf() });
        }
        // An earlier attempt failed after the rename and could not clean up.
        remove(layer, directory, id)?;
    }
    remove_unfinished(layer, directory, id.database)?;
    let made = build(layer, rights, directory, id, kind);
    if made.is_err() {
        // Nothing refers to the new log yet. If it cannot be removed now, the next open of the database removes it.
        let named = layer.kind(directory).is_ok_and(|found| found.is_some());
        let _ = match named {
            true => remove(layer, directory, id),
            false => remove_unfinished(layer, directory, id.database),
        };
    }
    made
}

/// Whether a directory is the log with this id, undamaged and without commits.
fn is_empty(layer: &Arc<dyn FileLayer>, directory: &Path, id: LogId) -> Result<bool> {
    if !matches!(identify(layer, directory)?, Found::Log(found, _) if found == id) {
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
    id: LogId,
    kind: LogKind,
) -> Result<Box<dyn Log>> {
    let new = leftover::unfinished_name(directory);
    create_dir(layer, &new, rights)?;
    let id_path = new.join(ID_NAME);
    let id_file = at(&id_path, "create", layer.open(&id_path, Access::CreateNew))?;
    // Before anyone can find the log under its name (LOG-20).
    if !at(&id_path, "lock", id_file.try_lock())? {
        return Err(Error::io("lock", &id_path, io::ErrorKind::WouldBlock.into()));
    }
    let set = rights.map_or(Ok(()), |rights| id_file.set_rights(&rights));
    at(&id_path, "set the rights of", set)?;
    at(&id_path, "write", id_file.write_all_at(&encode_id(id, kind), 0))?;
    at(&id_path, "sync", id_file.sync())?;
    match kind {
        LogKind::Sled => sled_log::prepare(layer, &new, rights)?,
        LogKind::Plain => plain_log::prepare(layer, &new, id, rights)?,
    }
    at(&new, "sync", layer.sync_dir(&new))?;
    at(&new, "rename", layer.rename_new(&new, directory))?;
    sync_parent(layer, directory)?;
    match kind {
        LogKind::Sled => sled_log::create(layer, directory, id),
        LogKind::Plain => plain_log::open(layer, directory, id, rights, id_file),
    }
}

/// Creates a directory that is accessible to those who have `rights` to a file.
fn create_dir(layer: &Arc<dyn FileLayer>, path: &Path, rights: Option<Rights>) -> Result<()> {
    at(path, "create", layer.create_dir(path))?;
    let set = rights.map_or(Ok(()), |rights| layer.set_dir_rights(path, &rights));
    at(path, "set the rights of", set)
}

/// Reads the id and kind of a log directory, without reading its commits.
pub fn identify(layer: &Arc<dyn FileLayer>, directory: &Path) -> Result<Found> {
    open_id(layer, directory).map(|(found, _)| found)
}

/// Like [`identify`]. Also returns the open id file, if there is one.
fn open_id(layer: &Arc<dyn FileLayer>, directory: &Path) -> Result<(Found, Option<Arc<dyn File>>)> {
    let unreadable = |detail: &str| {
        let (what, detail) = ("write-ahead log", detail.to_string());
        Ok((Found::Unreadable(Error::Corrupt { what, offset: 0, rule: "LOG-1", detail }), None))
    };
    match at(directory, "look at", layer.kind(directory))? {
        None => return Ok((Found::Nothing, None)),
        Some(Kind::Directory) => {}
        Some(Kind::File | Kind::Other) => return unreadable("it is no directory"),
    }
    let path = directory.join(ID_NAME);
    let file = match layer.open(&path, Access::Read) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return unreadable("it has no id"),
        other => at(&path, "open", other)?,
    };
    // One byte more than needed, to detect a file that is too long.
    let mut bytes = [0; ID_BYTES + 1];
    let length = at(&path, "read", file.read_up_to(&mut bytes, 0))?;
    let found = match decode_id(bytes.get(..length).unwrap_or_default()) {
        Ok((id, kind)) => Found::Log(id, kind),
        Err(error) => Found::Unreadable(error),
    };
    Ok((found, Some(file)))
}

/// Visits the commits after `after`, in order and without a gap (LOG-11), and changes no byte of the log (LOG-13).
/// Errors come from the visitor or the file system. Damage is not an error. The log's id file determines its kind,
/// or its file names if that is unreadable.
///
/// Sled reads its own files in a separate thread. If sled panics or stops responding, that counts as damage. The
/// program's panic hook stays in place and may print sled's message. A program built with `panic = "abort"` aborts
/// on a damaged sled log.
pub fn replay(
    layer: &Arc<dyn FileLayer>,
    directory: &Path,
    id: LogId,
    after: u64,
    visit: Visit<'_>,
) -> Result<Replayed> {
    let mut gather = gather::Gather::new(id, after, visit);
    let kind = match identify(layer, directory)? {
        Found::Nothing => return Err(Error::LogMissing { checkpointed: after, marked: None }),
        Found::Log(found, kind) if found == id => kind,
        Found::Log(..) => {
            // Nothing in it would verify, and sled should not read files of somebody else.
            let damage = Some("it is the log of another time or database (LOG-12)".into());
            return Ok(Replayed { last: after, verified: false, damage });
        }
        // Each part verifies only for its own log, so reading on is safe.
        Found::Unreadable(error) => {
            gather.spoil(error.to_string());
            kind_by_names(layer, directory)?
        }
    };
    match kind {
        LogKind::Sled => sled_log::replay(layer, directory, &mut gather)?,
        LogKind::Plain => plain_log::replay(layer, directory, &mut gather)?,
    }
    Ok(gather.finish())
}

/// Determines the kind of a log without a readable id. Each kind has its own file name in the directory (LOG-1).
fn kind_by_names(layer: &Arc<dyn FileLayer>, directory: &Path) -> Result<LogKind> {
    let kind_of = |name| {
        let path = directory.join(name);
        at(&path, "look at", layer.kind(&path))
    };
    let log = kind_of(plain_log::NAME)? == Some(Kind::File);
    let is_sled = !log && kind_of(sled_log::NAME)? == Some(Kind::Directory);
    Ok(if is_sled { LogKind::Sled } else { LogKind::Plain })
}

/// The name of the id file (LOG-1).
const ID_NAME: &str = "id";

fn sync_parent(layer: &Arc<dyn FileLayer>, path: &Path) -> Result<()> {
    let parent = parent_of(path);
    at(parent, "sync", layer.sync_dir(parent))
}

/// Converts the result of an operation on a path to the crate's error type.
fn at<T>(path: &Path, operation: &'static str, result: io::Result<T>) -> Result<T> {
    result.map_err(|error| Error::io(operation, path, error))
}

#[cfg(test)]
mod tests;
