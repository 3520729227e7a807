//! Checks and removes the files beside a database (STEP-12).
//!
//! In: the path of a database, and its id. Out: names, ownership, or an error that says what is in the way. Only
//! [`remove_leftover`] and [`remove_own`] remove anything: what an interrupted step left, and a file that is open
//! here.

mod names;

use std::io;
use std::path::Path;
use std::sync::Arc;

use super::file_layer::{Access, File, FileLayer, Identity, Kind};
use crate::error::{Error, Result};
use crate::format::superblock::{Slot, Superblock};
use crate::format::temporary_mark::{self, TEMPORARY_BYTES, TEMPORARY_OFFSET};
use crate::format::{BLOCK, DatabaseId};

pub use names::{Companion, database_of_log, is_companion};

/// Returns the directory that contains `path`.
pub fn parent_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Returns a layer that keeps the parent directory of `path` open and follows no links in it.
pub fn anchored(layer: &Arc<dyn FileLayer>, path: &Path) -> Result<Arc<dyn FileLayer>> {
    let folder = parent_of(path);
    let anchored = layer.anchored(folder).map_err(|error| Error::io("open", folder, error))?;
    Ok(anchored.unwrap_or_else(|| Arc::clone(layer)))
}

/// Rejects a name that is too long for companion files, or that is reserved as a companion of a database beside it.
pub fn check_name(layer: &dyn FileLayer, path: &Path) -> Result<()> {
    let folder = parent_of(path);
    let most = layer.longest_name(folder).map_err(|error| Error::io("look at", folder, error))?;
    let name = path.file_name().map_or(0, |name| name.as_encoded_bytes().len());
    let longest = Companion::longest_ending();
    if name + longest > most {
        return Err(Error::invalid(
            format!("a name of {name} bytes"),
            format!(
                "a database's name has at most {} bytes here, because its companion files have longer ones",
                most.saturating_sub(longest)
            ),
        ));
    }
    for database in names::databases_of(path.file_name().unwrap_or_default()) {
        let database = path.with_file_name(database);
        if is_database(layer, &database)? {
            return Err(Error::ReservedName { path: path.into(), database });
        }
    }
    Ok(())
}

/// Whether a file is a database. A file that may not be read counts as one.
fn is_database(layer: &dyn FileLayer, path: &Path) -> Result<bool> {
    let look = |error| Error::io("look at", path, error);
    if layer.kind(path).map_err(look)? != Some(Kind::File) {
        return Ok(false);
    }
    let file = match layer.open(path, Access::Read) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        file => file.map_err(look)?,
    };
    let mut head = vec![0; 2 * BLOCK];
    let length = file.read_up_to(&mut head, 0).map_err(look)?;
    let mut blocks = head.get(..length).unwrap_or_default().chunks_exact(BLOCK);
    Ok(blocks.any(|block| Superblock::decode(block) != Slot::Foreign))
}

/// Whether `path` still names this open file.
pub fn has_name(layer: &dyn FileLayer, path: &Path, file: &dyn File) -> Result<bool> {
    let look = |error| Error::io("look at", path, error);
    let named = match layer.identity(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        named => named.map_err(look)?,
    };
    let own = file.identity().map_err(look)?;
    Ok(named.is_some_and(|named| named.is_same(&own)))
}

/// Removes `path` if it still names this open file.
pub fn remove_own(layer: &dyn FileLayer, path: &Path, file: &dyn File) -> Result<()> {
    match has_name(layer, path, file)? {
        true => layer.remove_file(path).map_err(|error| Error::io("remove", path, error)),
        false => Ok(()),
    }
}

/// What was found under the name of an unfinished file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leftover {
    /// There is no file.
    Nothing,
    /// A crashed step of this database left it.
    Ours,
    /// It belongs to somebody else.
    Theirs,
}

/// Tells whether a crash left the file that has a temporary name (TEMP-1). It did if the file is the database
/// itself under a second name, if it carries the temporary mark (of `database`, if given), or if it is no longer
/// than the first write of the mark and blank before it.
pub fn leftover(
    layer: &dyn FileLayer,
    path: &Path,
    database: Option<DatabaseId>,
    own: Option<&Identity>,
) -> Result<Leftover> {
    let look = |error| Error::io("look at", path, error);
    match layer.kind(path).map_err(look)? {
        None => return Ok(Leftover::Nothing),
        Some(Kind::Directory | Kind::Other) => return Ok(Leftover::Theirs),
        Some(Kind::File) => {}
    }
    let file = match layer.open(path, Access::Read) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            return Ok(Leftover::Theirs);
        }
        file => file.map_err(look)?,
    };
    let identity = file.identity().map_err(look)?;
    if own.is_some_and(|own| own.is_same(&identity)) {
        return Ok(Leftover::Ours);
    }
    let first = TEMPORARY_OFFSET as usize + TEMPORARY_BYTES;
    let mut head = vec![0; first];
    let length = file.read_up_to(&mut head, 0).map_err(look)?;
    let (before, mark) = head.split_at(TEMPORARY_OFFSET as usize);
    let marked = temporary_mark::decode(mark).filter(|_| length == first);
    let ours = match marked {
        Some(found) => database.is_none_or(|database| database == found),
        None => {
            let whole = file.length().map_err(look)?;
            whole <= first as u64 && before.iter().all(|byte| *byte == 0)
        }
    };
    Ok(if ours { Leftover::Ours } else { Leftover::Theirs })
}

/// Removes a file that a crashed step left under a temporary name. Leaves anything else alone.
pub fn remove_leftover(
    layer: &dyn FileLayer,
    path: &Path,
    database: Option<DatabaseId>,
    own: Option<&Identity>,
) -> Result<Leftover> {
    let found = leftover(layer, path, database, own)?;
    if found == Leftover::Ours {
        layer.remove_file(path).map_err(|error| Error::io("remove", path, error))?;
    }
    Ok(found)
}

/// Starts an unfinished file: writes and syncs its temporary mark, before anything else is written (TEMP-1).
pub fn write_mark(file: &dyn File, path: &Path, database: DatabaseId) -> Result<()> {
    let mark = temporary_mark::encode(database);
    file.write_all_at(&mark, TEMPORARY_OFFSET).map_err(|e| Error::io("write to", path, e))?;
    file.sync().map_err(|error| Error::io("sync", path, error))
}

/// Clears the temporary mark of a file that now has its final name. Does not sync.
pub fn clear_mark(file: &dyn File, path: &Path) -> Result<()> {
    let cleared = file.write_all_at(&[0; TEMPORARY_BYTES], TEMPORARY_OFFSET);
    cleared.map_err(|error| Error::io("write to", path, error))
}

/// Whether a file carries a temporary mark.
pub fn has_mark(file: &dyn File, path: &Path) -> Result<bool> {
    let mut mark = [0; TEMPORARY_BYTES];
    let read = file.read_up_to(&mut mark, TEMPORARY_OFFSET);
    read.map_err(|error| Error::io("read", path, error))?;
    Ok(temporary_mark::decode(&mark).is_some())
}
