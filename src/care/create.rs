//! A new database: complete before it has a name.

use std::path::Path;
use std::sync::Arc;

use crate::error::Result;
use crate::format::DatabaseId;
use crate::scheme::Scheme;
use crate::store::file_layer::FileLayer;
use crate::store::new_file::NewFile;
use crate::store::state_file;

/// Makes an empty database. Refuses a path where anything stands, or where companions of another database
/// do (STEP-2).
pub fn create(layer: &Arc<dyn FileLayer>, path: &Path, scheme: &Scheme) -> Result<()> {
    let new = NewFile::create(layer, path)?;
    state_file::write_new(new.file(), new.path(), new_id(), scheme)?;
    new.name()
}

/// A random id for a database.
pub fn new_id() -> DatabaseId {
    use std::hash::{BuildHasher, Hasher, RandomState};
    // Two random states, each seeded by the operating system, mixed with the clock and the process.
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
