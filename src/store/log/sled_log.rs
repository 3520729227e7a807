//! The log in sled. This is the only file that uses sled. Implements LOG-9 of `format-spec/log.md`.
//!
//! In: commits. Out: the same commits, read from a copy of sled's files. It must not know what a commit contains.
//! It trusts nothing that sled returns: parts carry their own checksum and order. Panics of sled end here: every
//! call is under `catch_unwind`, in [`asked`] or in the thread of a replay. The program's panic hook stays in
//! place.
//!
//! What is used of sled, and what is not:
//! - One batch per append. Sled recovers a batch whole or not at all.
//! - `flush` writes sled's buffers, but ends in `sync_file_range`, which does not survive a power cut. Our own
//!   `sync_data` on its file `db` makes an append durable.
//! - Values have at most 4 KiB, so pages stay below 128 KiB. Larger pages would go to files in `blobs/`, which sled
//!   never syncs. Every append checks that there are none.
//! - There is no flush thread (`flush_every_ms(None)`). It would only sync more often.
//! - `mode` and `idgen_persist_interval` are left alone: 0.34.7 never reads the former. Snapshots are written only
//!   when an existing database is opened, which happens to copies only.
#![deny(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::arithmetic_side_effects,
    clippy::as_conversions
)]

mod copied;
mod reader_thread;

use std::fmt;
use std::fs;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use byteorder::{BigEndian, ByteOrder};
use sled::{Batch, Config, Db, IVec};

use self::copied::Copied;
use self::reader_thread::{Ended, read_in_thread};
use super::admit::Admit;
use super::gather::Gather;
use super::leftover::{empty, remove_replay, replay_name};
use super::{Commit, ID_NAME, Log, LogId, LogKind, at, create_dir, encode_id};
use crate::error::{Error, Result};
use crate::format::log_part::{OPENING, decode_part, encode_parts};
use crate::store::file_layer::{Access, FileLayer, Rights};
use crate::sync::lock_order::LOG_END;
use crate::sync::{Ranked, RankedGuard};

pub(super) const NAME: &str = "sled";
const LOG: &str = "db";
const BLOBS: &str = "blobs";
const CONFIG: &str = "conf";

/// The size of sled's page cache. A log is rarely read.
const CACHE_BYTES: u64 = 16 << 20;

/// Keys that a trim removes at a time. Appends wait for one such batch at most.
const TRIM_KEYS: usize = 256;

/// How long a replay waits for sled's next answer. Opening a copy syncs it, which can take seconds.
const PATIENCE: Duration = Duration::from_secs(60);

/// The damage reported for files that make sled panic.
const PANICKED: &str = "sled cannot read it (LOG-12)";

struct SledLog {
    /// `None` only while it is dropped.
    db: Option<Db>,
    /// The process that opened it.
    process: u32,
    /// Sled's log file, for our own syncs.
    log: fs::File,
    path: PathBuf,
    id: LogId,
    admit: Ranked<LOG_END, Admit>,
}

impl fmt::Debug for SledLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SledLog").field("path", &self.path).field("id", &self.id).finish()
    }
}

/// Creates the directory for sled in a log that is being built.
pub(super) fn prepare(
    layer: &Arc<dyn FileLayer>,
    directory: &Path,
    rights: Option<Rights>,
) -> Result<()> {
    create_dir(layer, &directory.join(NAME), rights)
}

/// Creates the sled database in a log directory that already has its final name, with the opening part, and syncs
/// it (LOG-2).
pub(super) fn create(
    layer: &Arc<dyn FileLayer>,
    directory: &Path,
    id: LogId,
) -> Result<Box<dyn Log>> {
    let path = directory.join(NAME);
    check_real(layer, directory)?;
    let db = call_sled("create", &path, || config(&path).create_new(true).open())?;
    let log_path = path.join(LOG);
    let log = at(&log_path, "open", fs::OpenOptions::new().read(true).write(true).open(&log_path))?;
    call_sled("write", &path, || {
        for (part, bytes) in encode_parts(id, OPENING, b"") {
            db.insert(key(OPENING, part), bytes)?;
        }
        db.flush()
    })?;
    at(&log_path, "sync", log.sync_all())?;
    let config_path = path.join(CONFIG);
    let config_file = fs::OpenOptions::new().write(true).open(&config_path);
    at(&config_path, "sync", config_file.and_then(|file| file.sync_all()))?;
    for folder in [path.join(BLOBS), path.clone()] {
        at(&folder, "sync", layer.sync_dir(&folder))?;
    }
    let process = std::process::id();
    Ok(Box::new(SledLog { db: Some(db), process, log, path, id, admit: Ranked::default() }))
}

/// Fails unless the layer is the real file system, because sled bypasses the layer.
fn check_real(layer: &Arc<dyn FileLayer>, directory: &Path) -> Result<()> {
    if layer.is_real() {
        return Ok(());
    }
    let what = format!("a log in sled at {}", directory.display());
    Err(Error::invalid(what, "sled works on the real file system only"))
}

fn config(path: &Path) -> Config {
    let config = Config::new().path(path).cache_capacity(CACHE_BYTES);
    config.flush_every_ms(None).use_compression(false)
}

/// Returns the key of a part (LOG-9).
fn key(sequence: u64, part: u32) -> [u8; 12] {
    let mut key = [0; 12];
    let (high, low) = key.split_at_mut(8);
    BigEndian::write_u64(high, sequence);
    BigEndian::write_u32(low, part);
    key
}

/// Calls sled, and turns its panics into errors.
fn call_sled<T>(
    operation: &'static str,
    path: &Path,
    call: impl FnOnce() -> sled::Result<T>,
) -> Result<T> {
    let cause = match catch_unwind(AssertUnwindSafe(call)) {
        Ok(Ok(answer)) => return Ok(answer),
        Ok(Err(sled::Error::Io(error))) => error,
        Ok(Err(error)) => io::Error::other(error.to_string()),
        Err(_) => io::Error::other("sled panicked"),
    };
    Err(Error::io(operation, path, cause))
}

impl Drop for SledLog {
    fn drop(&mut self) {
        let db = self.db.take();
        if self.process != std::process::id() {
            // Closing sled writes to its files, and those belong to the process that opened it.
            std::mem::forget(db);
        } else {
            // Everything that was acknowledged is synced already.
            let _ = catch_unwind(AssertUnwindSafe(|| drop(db)));
        }
    }
}

impl SledLog {
    fn db(&self) -> sled::Result<&Db> {
        self.db.as_ref().ok_or_else(|| sled::Error::Unsupported("it is closed".into()))
    }

    fn admit(&self) -> RankedGuard<'_, LOG_END, Admit> {
        self.admit.lock()
    }

    fn write(&self, commits: &[Commit<'_>]) -> Result<()> {
        let mut batch = Batch::default();
        for commit in commits {
            for (part, bytes) in encode_parts(self.id, commit.sequence, commit.payload) {
                batch.insert(&key(commit.sequence, part), bytes);
            }
        }
        call_sled("append to", &self.path, || {
            let db = self.db()?;
            db.apply_batch(batch)?;
            db.flush()
        })?;
        let blobs = self.path.join(BLOBS);
        if at(&blobs, "look at", fs::read_dir(&blobs))?.next().is_some() {
            let cause = io::Error::other("sled put a value outside of its log");
            return Err(Error::io("append to", &blobs, cause));
        }
        at(&self.path.join(LOG), "sync", self.log.sync_data())
    }
}

impl Log for SledLog {
    fn append(&self, commits: &[Commit<'_>]) -> Result<()> {
        let mut admit = self.admit();
        admit.check(commits)?;
        match self.write(commits) {
            Ok(()) => admit.took(commits),
            Err(error) => {
                admit.broke(&error);
                return Err(error);
            }
        }
        Ok(())
    }

    fn is_broken(&self) -> bool {
        self.admit().is_broken()
    }

    /// Removes keys in small batches (LOG-14). It need not be atomic, and appends can run in between.
    fn trim(&self, checkpointed: u64) -> Result<()> {
        let mut admit = self.admit();
        admit.check(&[])?;
        admit.checkpointed(checkpointed);
        drop(admit);
        let first = key(OPENING.saturating_add(1), 0);
        let trimmed = call_sled("trim", &self.path, || {
            let db = self.db()?;
            let mut keys = db.range(first..=key(checkpointed, u32::MAX)).keys();
            loop {
                let mut batch = Batch::default();
                let mut count: usize = 0;
                for key in keys.by_ref().take(TRIM_KEYS) {
                    batch.remove(key?);
                    count = count.saturating_add(1);
                }
                if count == 0 {
                    return Ok(());
                }
                db.apply_batch(batch)?;
            }
        });
        if let Err(error) = &trimmed {
            self.admit().broke(error);
        }
        trimmed
    }

    fn disk_bytes(&self) -> Result<u64> {
        call_sled("look at", &self.path, || self.db()?.size_on_disk())
    }
}

/// Passes the parts in a copy of sled's files to `gather` (LOG-13).
pub(super) fn replay(
    layer: &Arc<dyn FileLayer>,
    directory: &Path,
    gather: &mut Gather<'_>,
) -> Result<()> {
    check_real(layer, directory)?;
    let path = directory.join(NAME);
    if !path.join(LOG).is_file() {
        gather.spoil("its log is missing (LOG-2)".into());
        return Ok(());
    }
    let aside = Aside::new(layer, directory, gather.id)?;
    let copy = Copied::of(&path, aside.folder.join(NAME))?;
    replay_copy(copy.path(), gather)
}

/// A directory for the copy. It has an id file from the start, so its owner is known.
struct Aside<'a> {
    layer: &'a Arc<dyn FileLayer>,
    folder: PathBuf,
}

impl<'a> Aside<'a> {
    fn new(layer: &'a Arc<dyn FileLayer>, directory: &Path, id: LogId) -> Result<Aside<'a>> {
        remove_replay(layer, directory, id.database)?;
        let folder = replay_name(directory);
        at(&folder, "create", layer.create_dir(&folder))?;
        let aside = Aside { layer, folder };
        let path = aside.folder.join(ID_NAME);
        let file = at(&path, "create", layer.open(&path, Access::CreateNew))?;
        at(&path, "write", file.write_all_at(&encode_id(id, LogKind::Sled), 0))?;
        at(&path, "sync", file.sync())?;
        at(&aside.folder, "sync", layer.sync_dir(&aside.folder))?;
        Ok(aside)
    }
}

impl Drop for Aside<'_> {
    fn drop(&mut self) {
        // If this fails, the next replay removes it.
        let _ = empty(self.layer, &self.folder);
    }
}

/// What sled returns next: a key and its value, or an error.
type Answer = sled::Result<(IVec, IVec)>;

fn replay_copy(copy: &Path, gather: &mut Gather<'_>) -> Result<()> {
    let config = config(copy);
    let read = move |give: &mut dyn FnMut(Answer) -> bool| match config.open() {
        Ok(db) => drop(db.iter().all(give)),
        Err(error) => drop(give(Err(error))),
    };
    let mut failed = Ok(());
    let mut take = |answer: Answer| {
        let taken = match answer {
            Ok((key, value)) => take_pair(&key, &value, gather),
            Err(error) => take_error(copy, error, gather),
        };
        taken.unwrap_or_else(|error| {
            failed = Err(error);
            false
        })
    };
    let ended = at(copy, "read", read_in_thread(PATIENCE, read, &mut take))?;
    failed?;
    match ended {
        Ended::Panicked => gather.spoil(PANICKED.into()),
        Ended::Silent => gather.spoil("sled reads it without an end (LOG-12)".into()),
        Ended::Well if gather.is_within_a_commit() => {
            let sequence = gather.last().saturating_add(1);
            gather.spoil(format!("commit {sequence} is not whole (LOG-12)"));
        }
        Ended::Well | Ended::Stopped => {}
    }
    Ok(())
}

/// Takes a key and value from sled. Returns `false` if nothing after it counts.
fn take_pair(found: &[u8], value: &[u8], gather: &mut Gather<'_>) -> Result<bool> {
    match decode_part(gather.id, value) {
        Ok((part, [])) if found == key(part.sequence, part.part) => return gather.take(&part),
        Ok(_) => gather.spoil("a part is under the key of another (LOG-9)".into()),
        Err(error) => gather.spoil(error.to_string()),
    }
    Ok(false)
}

/// Takes an error from sled. Errors of the operating system are returned, and all others are damage.
fn take_error(copy: &Path, error: sled::Error, gather: &mut Gather<'_>) -> Result<bool> {
    match error {
        sled::Error::Io(cause)
            if cause.raw_os_error().is_some()
                // Damaged positions and names cause these two.
                && !matches!(cause.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::NotFound) =>
        {
            Err(Error::io("read", copy, cause))
        }
        _ => {
            gather.spoil(format!("sled cannot read it: {error} (LOG-12)"));
            Ok(false)
        }
    }
}

#[cfg(test)]
mod tests;
