//! The database file: reads its current state and writes the next one.
//!
//! In: a file. Out: a superblock, manifest and commit mark that agree. Implements `format-spec/file.md` and
//! `format-spec/steps.md`. Nothing that the old state refers to is overwritten before both superblocks hold the new
//! state durably. It must not know what is in segments.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::file_layer::{Access, File, FileLayer, Kind};
use crate::error::{Error, Result};
use crate::format::bytes::{Seal, broken, last_checksum, round_up};
use crate::format::commit_mark::{CommitMark, MARK_BYTES, MARK_OFFSET};
use crate::format::manifest::Manifest;
use crate::format::superblock::{KEPT_SETS, Slot, Superblock};
use crate::format::{BLOCK, DATA_START, DatabaseId};
use crate::scheme::Scheme;
use crate::sync::thread;

/// A state of the file: its superblock and what that refers to.
#[derive(Debug, Clone)]
pub struct FileState {
    /// The current superblock.
    pub superblock: Superblock,
    /// Which of the two slots hold it. At least one does.
    pub slots: [bool; 2],
    /// The manifest that it refers to.
    pub manifest: Manifest,
    /// The commit mark, if it belongs to the superblock's log.
    pub mark: Option<CommitMark>,
    /// Whether the mark counts for certain: it is that of this log or of an earlier one, or blank. Otherwise it is
    /// damaged, or was read while a writer was changing it.
    pub mark_is_certain: bool,
}

/// Attempts before superblocks count as damaged. A writer may be replacing them at the same time.
const TRIES: u32 = if cfg!(fuzzing) { 1 } else { 5 };

/// Opens a file that should be a database.
pub fn open(layer: &dyn FileLayer, path: &Path, access: Access) -> Result<Arc<dyn File>> {
    let kind = layer.kind(path).map_err(|error| Error::io("look at", path, error))?;
    // For a missing file, the error of the system's open call is better.
    if kind.is_some_and(|kind| kind != Kind::File) {
        return Err(Error::NotADatabase { path: path.into() });
    }
    layer.open(path, access).map_err(|error| Error::io("open", path, error))
}

/// Reads the current state, even while a writer is replacing it.
pub fn read(file: &dyn File, path: &Path) -> Result<FileState> {
    let mut tries = 1;
    loop {
        match read_once(file, path) {
            Err(Error::Corrupt { .. }) if tries < TRIES => {
                thread::sleep(Duration::from_millis(u64::from(tries)));
                tries += 1;
            }
            result => return result,
        }
    }
}

fn read_once(file: &dyn File, path: &Path) -> Result<FileState> {
    let io = |error| Error::io("read", path, error);
    let mut head = vec![0; DATA_START as usize];
    let length = file.read_up_to(&mut head, 0).map_err(io)?;
    head.truncate(length);
    let slot =
        |i: usize| Superblock::decode(head.get(i * BLOCK..(i + 1) * BLOCK).unwrap_or_default());
    let Some((superblock, _)) = Superblock::choose(slot(0), slot(1))? else {
        return Err(Error::NotADatabase { path: path.into() });
    };
    let slots = [0, 1].map(|i| slot(i) == Slot::Valid(superblock.clone()));
    let end = file.length().map_err(io)?;
    if superblock.end_of_data > end {
        let detail = format!("the file ends at {end}, its data at {}", superblock.end_of_data);
        return Err(broken("file", "SUPER-6", end, detail));
    }
    let mut bytes = vec![0; superblock.manifest_length as usize];
    let offset = superblock.manifest_offset;
    let read = file.read_up_to(&mut bytes, offset).map_err(io)?;
    bytes.truncate(read);
    let manifest =
        Manifest::decode(&bytes, superblock.end_of_data).map_err(|error| error.shifted(offset))?;
    let checksum = last_checksum(&bytes);
    if checksum != superblock.manifest_checksum || manifest.database != superblock.database {
        let detail = "the manifest is not the one that the superblock refers to";
        return Err(broken("manifest", "MAN-1", offset, detail));
    }
    if superblock.required_features != required_features(&manifest.scheme) {
        let detail = "the required features are not those of the scheme";
        return Err(broken("superblock", "SUPER-8", 16, detail));
    }
    let seal = Seal::of(superblock.database);
    let bytes = head.get(MARK_OFFSET as usize..).unwrap_or_default();
    let found = CommitMark::decode(bytes, seal);
    let number = superblock.log_number;
    let mark = found.filter(|mark| number != 0 && mark.log_number == number);
    let mark_is_certain = match found {
        Some(mark) => mark.log_number <= number,
        None => bytes.iter().take(MARK_BYTES).all(|byte| *byte == 0),
    };
    Ok(FileState { superblock, slots, manifest, mark, mark_is_certain })
}

/// Makes a superblock the current one: write slot A, sync, write slot B, sync. The state becomes current with the
/// first sync. Nothing of the old state may be freed before the second (STEP-1).
pub fn write_superblock(file: &dyn File, path: &Path, superblock: &Superblock) -> Result<()> {
    let block = superblock.encode();
    for slot in 0..2 {
        let written = file.write_all_at(&block, slot * BLOCK as u64);
        written.map_err(|error| Error::io("write to", path, error))?;
        sync(file, path)?;
    }
    Ok(())
}

/// Makes a state that was read durable in both superblocks, and returns whether a superblock was written. A killed
/// writer may have left the state unsynced, so the file is synced first. Otherwise a crash while one superblock is
/// written could lose the other too (STEP-3).
pub fn settle(file: &dyn File, path: &Path, state: &FileState) -> Result<bool> {
    sync(file, path)?;
    let Some(slot) = state.slots.iter().position(|holds| !holds) else { return Ok(false) };
    let written = file.write_all_at(&state.superblock.encode(), (slot * BLOCK) as u64);
    written.map_err(|error| Error::io("write to", path, error))?;
    sync(file, path)?;
    Ok(true)
}

/// Makes written bytes durable.
pub fn sync(file: &dyn File, path: &Path) -> Result<()> {
    file.sync().map_err(|error| Error::io("sync", path, error))
}

/// Writes the commit mark. Does not sync.
pub fn write_mark(file: &dyn File, path: &Path, seal: Seal, mark: CommitMark) -> Result<()> {
    let bytes: [u8; MARK_BYTES] = mark.encode(seal);
    file.write_all_at(&bytes, MARK_OFFSET).map_err(|error| Error::io("write to", path, error))
}

/// Writes a manifest at `offset` and returns the superblock that refers to it. Rejects a manifest that could not be
/// read back.
pub fn write_manifest(
    file: &dyn File,
    path: &Path,
    offset: u64,
    manifest: &Manifest,
    old: &Superblock,
) -> Result<Superblock> {
    let mut bytes = manifest.encode();
    let checksum = last_checksum(&bytes);
    let length = bytes.len();
    Manifest::decode(&bytes, offset)?;
    bytes.resize(round_up(length), 0);
    file.write_all_at(&bytes, offset).map_err(|error| Error::io("write to", path, error))?;
    Ok(Superblock {
        generation: manifest.generation,
        manifest_offset: offset,
        manifest_length: length as u32,
        manifest_checksum: checksum,
        required_features: required_features(&manifest.scheme),
        end_of_data: offset + bytes.len() as u64,
        ..old.clone()
    })
}

/// The features that a reader must support for a scheme (SUPER-8).
fn required_features(scheme: &Scheme) -> u64 {
    if scheme.elements.are_kept() { KEPT_SETS } else { 0 }
}

/// Writes a new database file without segments. The caller names the file.
pub fn write_new(
    file: &dyn File,
    path: &Path,
    database: DatabaseId,
    scheme: &Scheme,
) -> Result<()> {
    let manifest = Manifest {
        generation: 1,
        database,
        scheme: scheme.clone(),
        checkpointed: 0,
        next_extent: 1,
        dead_bytes: 0,
        segments: Vec::new(),
    };
    let superblock =
        write_manifest(file, path, DATA_START, &manifest, &Superblock::blank(database))?;
    write_superblock(file, path, &superblock)
}
