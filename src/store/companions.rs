//! What stands beside a database, and whether it is the database's own (STEP-12).
//!
//! In: the path of a database, and its id. Out: names, or an error that says what is in the way. Nothing is changed here
//! but by [`remove_leftover`], which removes only what an interrupted step of ours left.

mod names;

use std::io;
use std::path::Path;
use std::sync::Arc;

use super::file_layer::{Access, File, FileLayer, Identity, Kind};
use crate::error::{Error, Result};
use crate::format::superblock::{Slot, Superblock};
use crate::format::temporary_mark::{self, TEMPORARY_BYTES, TEMPORARY_OFFSET};
use crate::format::{BLOCK, DatabaseId};

pub use names::{Companion, database_of_tier, is_companion};

/// The directory that a file is in.
pub fn parent_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The layer, with the folder of a path kept open and no link followed in it.
pub fn anchored(layer: &Arc<dyn FileLayer>, path: &Path) -> Result<Arc<dyn FileLayer>> {
    let folder = parent_of(path);
    let anchored = layer.anchored(folder).map_err(|error| Error::io("open", folder, error))?;
    Ok(anchored.unwrap_or_else(|| Arc::clone(layer)))
}

/// Refuses a name that is too long for companions, or that a database beside it uses for its own.
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

/// Whether a file says of itself that it is a database, or may not be asked.
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

/// Whether an open file still has its name.
pub fn has_name(layer: &dyn FileLayer, path: &Path, file: &dyn File) -> Result<bool> {
    let look = |error| Error::io("look at", path, error);
    let named = match layer.identity(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        named => named.map_err(look)?,
    };
    let own = file.identity().map_err(look)?;
    Ok(named.is_some_and(|named| named.is_same(&own)))
}

/// Removes the name of an open file, if it still has it.
pub fn remove_own(layer: &dyn FileLayer, path: &Path, file: &dyn File) -> Result<()> {
    match has_name(layer, path, file)? {
        true => layer.remove_file(path).map_err(|error| Error::io("remove", path, error)),
        false => Ok(()),
    }
}

/// What has the name of an unfinished file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leftover {
    /// Nothing.
    Nothing,
    /// What a crashed step left.
    Ours,
    /// Something else.
    Theirs,
}

/// Whether a file under a temporary name was left by a crash (TEMP-1): it carries the temporary mark, of this
/// database if one is given, or it is no longer than the mark's first write and blank before it, or it is a
/// second name of the database's own file.
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

/// Removes what a crashed step left under a temporary name. Anything else is left as it is.
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

/// Starts an unfinished file: its temporary mark, synced before anything else is written (TEMP-1).
pub fn write_mark(file: &dyn File, path: &Path, database: DatabaseId) -> Result<()> {
    let mark = temporary_mark::encode(database);
    file.write_all_at(&mark, TEMPORARY_OFFSET).map_err(|e| Error::io("write to", path, e))?;
    file.sync().map_err(|error| Error::io("sync", path, error))
}

/// Clears the temporary mark of a file that has its name. It is not synced.
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
