//! Finds out who owns a log directory, and removes our own (LOG-2, STEP-12).
//!
//! In: a directory and the id of a log or database. Out: its owner, or its removal. A directory without a readable
//! id belongs to somebody else if it holds anything that a crash cannot explain. Such a directory is never touched.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{Found, ID_NAME, at, identify, plain_log, sled_log, sync_parent};
use crate::error::{Error, Result};
use crate::format::DatabaseId;
use crate::format::log_part::{ID_BYTES, LogId, MAX_PART, OPENING, decode_part, encode_parts};
use crate::store::companions::{Companion, Leftover, database_of_log};
use crate::store::file_layer::{Access, FileLayer, Kind};

/// Returns the name of a log directory that is being created or removed.
pub fn unfinished_name(directory: &Path) -> PathBuf {
    Companion::NewLog.path(&database_of_log(directory))
}

/// Tells who owns what is under the name of an unfinished log directory.
pub fn unfinished(
    layer: &Arc<dyn FileLayer>,
    directory: &Path,
    database: DatabaseId,
) -> Result<Leftover> {
    whose(layer, &unfinished_name(directory), database)
}

/// Returns the name of the copy that sled reads.
pub fn replay_name(directory: &Path) -> PathBuf {
    Companion::LogCopy.path(&database_of_log(directory))
}

/// Tells who owns what is under the name of the copy that sled reads.
pub fn replay_copy(
    layer: &Arc<dyn FileLayer>,
    directory: &Path,
    database: DatabaseId,
) -> Result<Leftover> {
    whose(layer, &replay_name(directory), database)
}

/// Removes the copy that a killed replay left. Fails if it is not ours.
pub fn remove_replay(
    layer: &Arc<dyn FileLayer>,
    directory: &Path,
    database: DatabaseId,
) -> Result<()> {
    let copy = replay_name(directory);
    match whose(layer, &copy, database)? {
        Leftover::Nothing => Ok(()),
        Leftover::Ours => empty(layer, &copy),
        Leftover::Theirs => Err(not_ours(&copy, directory)),
    }
}

/// Tells who owns a directory that no state refers to.
fn whose(layer: &Arc<dyn FileLayer>, new: &Path, database: DatabaseId) -> Result<Leftover> {
    let id = new.join(ID_NAME);
    if at(&id, "look at", layer.kind(&id))?.is_some_and(|kind| kind != Kind::File) {
        return Ok(Leftover::Theirs);
    }
    match identify(layer, new)? {
        Found::Nothing => Ok(Leftover::Nothing),
        Found::Log(id, _) if id.database == database => Ok(Leftover::Ours),
        Found::Log(..) => Ok(Leftover::Theirs),
        Found::Unreadable(_) => {
            let blank = is_blank(layer, new)?;
            Ok(if blank { Leftover::Ours } else { Leftover::Theirs })
        }
    }
}

/// Whether a directory holds only what the creation of a log writes before its first sync. A crash may leave any of
/// that, in any state.
fn is_blank(layer: &Arc<dyn FileLayer>, directory: &Path) -> Result<bool> {
    if at(directory, "look at", layer.kind(directory))? != Some(Kind::Directory) {
        return Ok(false);
    }
    let opening = encode_parts(LogId { database: [0; 16], number: 0 }, OPENING, b"");
    let opening: usize = opening.map(|(_, bytes)| bytes.len()).sum();
    for name in at(directory, "read", layer.names(directory))? {
        let path = directory.join(&name);
        let kind = at(&path, "look at", layer.kind(&path))?;
        let most = match name.to_str() {
            Some(ID_NAME) => ID_BYTES,
            Some(plain_log::NAME) => opening,
            Some(sled_log::NAME) if kind == Some(Kind::Directory) => {
                match at(&path, "read", layer.names(&path))?.is_empty() {
                    true => continue,
                    false => return Ok(false),
                }
            }
            _ => return Ok(false),
        };
        if kind != Some(Kind::File) {
            return Ok(false);
        }
        let file = at(&path, "open", layer.open(&path, Access::Read))?;
        if at(&path, "look at", file.length())? > most as u64 {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether a directory is a log of this database. Its id file decides. If that is unreadable, the first part of the
/// log does, because it verifies for this log only.
pub fn is_own(layer: &Arc<dyn FileLayer>, directory: &Path, id: LogId) -> Result<bool> {
    match identify(layer, directory)? {
        Found::Nothing => Ok(false),
        Found::Log(found, _) => Ok(found.database == id.database),
        Found::Unreadable(_) => {
            let path = directory.join(plain_log::NAME);
            if at(&path, "look at", layer.kind(&path))? != Some(Kind::File) {
                return Ok(false);
            }
            let file = at(&path, "open", layer.open(&path, Access::Read))?;
            let mut bytes = [0; MAX_PART];
            let read = at(&path, "read", file.read_up_to(&mut bytes, 0))?;
            Ok(decode_part(id, bytes.get(..read).unwrap_or_default()).is_ok())
        }
    }
}

/// Removes a log of ours, which must be closed. Renames it durably to the unfinished name first. A half-removed
/// directory under its own name might have no id left, and nobody could safely remove the rest.
pub fn remove(layer: &Arc<dyn FileLayer>, directory: &Path, id: LogId) -> Result<()> {
    match is_own(layer, directory, id)? {
        true => remove_known(layer, directory, id.database),
        false => Err(not_ours(directory, directory)),
    }
}

/// Like [`remove`], for a directory that is known to belong to this database.
pub fn remove_known(
    layer: &Arc<dyn FileLayer>,
    directory: &Path,
    database: DatabaseId,
) -> Result<()> {
    remove_unfinished(layer, directory, database)?;
    let new = unfinished_name(directory);
    at(directory, "rename", layer.rename_new(directory, &new))?;
    // Without this sync, a power cut could undo the rename but not the removals after it.
    sync_parent(layer, directory)?;
    empty(layer, &new)?;
    sync_parent(layer, directory)
}

/// Removes what an interrupted creation or removal left. No database refers to it. Fails if it is not ours.
pub fn remove_unfinished(
    layer: &Arc<dyn FileLayer>,
    directory: &Path,
    database: DatabaseId,
) -> Result<()> {
    match unfinished(layer, directory, database)? {
        Leftover::Nothing => Ok(()),
        Leftover::Ours => empty(layer, &unfinished_name(directory)),
        Leftover::Theirs => Err(not_ours(&unfinished_name(directory), directory)),
    }
}

/// Removes a directory of ours. The id file goes last, because it identifies the rest.
pub(super) fn empty(layer: &Arc<dyn FileLayer>, directory: &Path) -> Result<()> {
    let names = at(directory, "read", layer.names(directory))?;
    let others: Vec<_> = names.iter().filter(|name| *name != OsStr::new(ID_NAME)).collect();
    for name in &others {
        let path = directory.join(name);
        let removed = match at(&path, "look at", layer.kind(&path))? {
            Some(Kind::Directory) => layer.remove_dir_all(&path),
            _ => layer.remove_file(&path),
        };
        at(&path, "remove", removed)?;
    }
    if !others.is_empty() {
        at(directory, "sync", layer.sync_dir(directory))?;
    }
    at(directory, "remove", layer.remove_dir_all(directory))
}

/// The error for a directory of somebody else, under the name of our log or of an unfinished one.
fn not_ours(path: &Path, directory: &Path) -> Error {
    Error::NotOurs { path: path.into(), database: database_of_log(directory) }
}
