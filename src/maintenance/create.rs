//! Creation of a database (STEP-2).
//!
//! In: a path and a scheme. Out: an empty database. The file is complete before it gets its name.

use std::path::Path;
use std::sync::Arc;

use crate::error::Result;
use crate::format::DatabaseId;
use crate::ingest::writer::{Opened, Writer};
use crate::options::Options;
use crate::scheme::Scheme;
use crate::store::file_layer::{Access, FileLayer, Lock};
use crate::store::new_file::NewFile;
use crate::store::state_file;

/// Creates an empty database. Fails if the path exists, or if companion files of another database are beside it.
pub fn create(layer: &Arc<dyn FileLayer>, path: &Path, scheme: &Scheme) -> Result<()> {
    let database = new_id();
    let new = NewFile::create(layer, path, database, None)?;
    state_file::write_new(new.file(), new.path(), database, scheme)?;
    new.name()
}

/// Opens a new database that has only its temporary name, to load rows into it. Close it by [`Writer::close_new`]. No
/// companion files are made or removed beside the temporary name: bulk loads need no log, and merging, which could
/// lead to a vacuum, is switched off.
pub(super) fn open_new(new: &NewFile, mut options: Options) -> Result<Writer> {
    let layer = new.layer();
    (options.background, options.merge) = (false, false);
    options.check()?;
    let path = new.path();
    let file = state_file::open(&**layer, path, Access::Write)?;
    let state = state_file::read(&*file, path)?;
    Writer::new(Opened {
        layer: Arc::clone(layer),
        path: path.into(),
        lock: Box::new(HeldByMaker),
        file,
        superblock: state.superblock,
        manifest: state.manifest,
        options,
    })
}

/// A placeholder: the [`NewFile`] holds the real lock.
#[derive(Debug)]
struct HeldByMaker;

impl Lock for HeldByMaker {}

/// Makes a random id for a database.
pub fn new_id() -> DatabaseId {
    use std::hash::{BuildHasher, Hasher, RandomState};
    // Each half comes from a hasher that the operating system seeded, mixed with the clock and the process id.
    let half = |salt: u64| {
        let mut hasher = RandomState::new().build_hasher();
        hasher.write_u64(salt);
        hasher.write_u32(std::process::id());
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        hasher.write_u128(now.map_or(0, |now| now.as_nanos()));
        hasher.finish().to_le_bytes()
    };
    let mut id = [0; 16];
    id[..8].copy_from_slice(&half(1));
    id[8..].copy_from_slice(&half(2));
    id
}
