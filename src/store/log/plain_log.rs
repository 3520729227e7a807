//! The log in one plain file: parts one after the other, with all I/O through the file layer (LOG-10).
//!
//! In: commits. Out: a file that only grows at its end. It must not know what a commit contains.
//!
//! Old bytes are never mistaken for new ones:
//! - Nothing that was acknowledged is ever truncated or overwritten.
//! - An append that runs out of space is truncated, and the truncation is synced before anything else is written.
//!   So none of its bytes remain when another append takes its place (LOG-15).
//! - After any other failure, the log accepts nothing more.
//! - A trim writes a new file, syncs it, and renames it over the old one. Until the directory is synced, a crash
//!   may leave either file. Both hold every commit above the checkpointed sequence. No append goes into the new file
//!   before that sync, so no crash loses an acknowledged commit.
#![deny(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::arithmetic_side_effects,
    clippy::as_conversions
)]

use std::collections::VecDeque;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::admit::Admit;
use super::gather::{Gather, Position};
use super::{Commit, Log, LogId, at};
use crate::error::{Error, Result};
use crate::format::log_part::{MAX_PART, OPENING, decode_part, encode_parts};
use crate::store::companions::has_name;
use crate::store::file_layer::{Access, File, FileLayer, Kind, Rights};
use crate::sync::lock_order::{LOG_END, TRIM};
use crate::sync::{Ranked, RankedGuard};

pub(super) const NAME: &str = "log";
const NEW_NAME: &str = "log-new";

/// Bytes that a trim copies, and a replay reads, at a time.
const COPY_BYTES: usize = 1 << 16;

#[derive(Debug)]
struct PlainLog {
    layer: Arc<dyn FileLayer>,
    directory: PathBuf,
    id: LogId,
    rights: Option<Rights>,
    /// Locked while this writer may change the log (LOG-20).
    id_file: Arc<dyn File>,
    process: u32,
    state: Ranked<LOG_END, State>,
    /// Held by the running trim. Locked before `state`.
    trimming: Ranked<TRIM, ()>,
}

#[derive(Debug)]
struct State {
    file: Arc<dyn File>,
    /// Where the next part goes.
    end: u64,
    /// The sequence and start of each commit that was not trimmed, in order.
    starts: VecDeque<(u64, u64)>,
    admit: Admit,
}

/// Creates the file of a new log, with the opening part, and syncs it.
pub(super) fn prepare(
    layer: &Arc<dyn FileLayer>,
    directory: &Path,
    id: LogId,
    rights: Option<Rights>,
) -> Result<()> {
    new_log(layer, &directory.join(NAME), (id, rights), |_, _| Ok(())).map(drop)
}

/// Opens the file of a log that was just created. `id_file` is locked.
pub(super) fn open(
    layer: &Arc<dyn FileLayer>,
    directory: &Path,
    id: LogId,
    rights: Option<Rights>,
    id_file: Arc<dyn File>,
) -> Result<Box<dyn Log>> {
    let path = directory.join(NAME);
    let file = at(&path, "open", layer.open(&path, Access::Write))?;
    let end = at(&path, "look at", file.length())?;
    let state = State { file, end, starts: VecDeque::new(), admit: Admit::default() };
    let (layer, directory, state) = (layer.clone(), directory.to_path_buf(), Ranked::new(state));
    let trimming = Ranked::default();
    let process = std::process::id();
    Ok(Box::new(PlainLog { layer, directory, id, rights, id_file, process, state, trimming }))
}

impl Drop for PlainLog {
    fn drop(&mut self) {
        // A forked process has a copy of the handle. The copy must not keep the lock, and must not release it.
        if self.process == std::process::id() {
            let _ = self.id_file.unlock();
        }
    }
}

/// Creates a file with the opening part and what `fill` writes after it, and syncs it. Also returns the length of
/// the opening part.
fn new_log(
    layer: &Arc<dyn FileLayer>,
    path: &Path,
    (id, rights): (LogId, Option<Rights>),
    fill: impl FnOnce(&dyn File, u64) -> io::Result<()>,
) -> Result<(Arc<dyn File>, u64)> {
    let file = at(path, "create", layer.open(path, Access::CreateNew))?;
    at(path, "set the rights of", rights.map_or(Ok(()), |rights| file.set_rights(&rights)))?;
    let opening: Vec<u8> = encode_parts(id, OPENING, b"").flat_map(|(_, bytes)| bytes).collect();
    let length = bytes_of(opening.len());
    at(path, "write", file.write_all_at(&opening, 0).and_then(|()| fill(&*file, length)))?;
    at(path, "sync", file.sync())?;
    Ok((file, length))
}

impl PlainLog {
    /// Returns the state, even if a thread panicked while holding it. A panic in an append poisons the writer. One in a
    /// trim breaks the log only inside [`Admit::risk`].
    fn state(&self) -> RankedGuard<'_, LOG_END, State> {
        self.state.lock()
    }

    /// Fails if the file under `path` is not the open one (STEP-12), so that a trim never replaces another log.
    fn check_own(&self, path: &Path, file: &dyn File) -> Result<()> {
        match has_name(&*self.layer, path, file)? {
            true => Ok(()),
            false => Err(Error::Replaced { path: path.into() }),
        }
    }
}

impl State {
    /// Undoes a failed write. If only space was lacking, truncates what it left after the end (LOG-15). Otherwise,
    /// or if the truncation fails, the contents are unknown and the log is broken.
    fn undo(&mut self, error: &Error) {
        let full = matches!(error, Error::NoSpace { .. });
        if !full || self.file.set_len(self.end).and_then(|()| self.file.sync()).is_err() {
            self.admit.broke(error);
        }
    }
}

impl Log for PlainLog {
    fn append(&self, commits: &[Commit<'_>]) -> Result<()> {
        let state = &mut *self.state();
        state.admit.check(commits)?;
        let mut bytes = Vec::new();
        let mut starts = Vec::with_capacity(commits.len());
        for commit in commits {
            starts.push((commit.sequence, state.end.saturating_add(bytes_of(bytes.len()))));
            for (_, part) in encode_parts(self.id, commit.sequence, commit.payload) {
                bytes.extend_from_slice(&part);
            }
        }
        let path = self.directory.join(NAME);
        if let Err(error) = at(&path, "write", state.file.write_all_at(&bytes, state.end)) {
            state.undo(&error);
            return Err(error);
        }
        if let Err(error) = at(&path, "sync", state.file.sync()) {
            state.admit.broke(&error);
            return Err(error);
        }
        state.end = state.end.saturating_add(bytes_of(bytes.len()));
        state.starts.extend(starts);
        state.admit.took(commits);
        Ok(())
    }

    fn is_broken(&self) -> bool {
        self.state().admit.is_broken()
    }

    /// Appends go on during the main copy. They wait only while commits since its start are copied, and for the rename.
    fn trim(&self, checkpointed: u64) -> Result<()> {
        let _trimming = self.trimming.lock();
        let mut state = self.state();
        state.admit.check(&[])?;
        state.admit.checkpointed(checkpointed);
        let dead = state.starts.partition_point(|&(sequence, _)| sequence <= checkpointed);
        if dead == 0 {
            return Ok(());
        }
        let (old, end) = (state.file.clone(), state.end);
        let from = state.starts.get(dead).map_or(end, |&(_, start)| start);
        drop(state);
        let (path, new) = (self.directory.join(NAME), self.directory.join(NEW_NAME));
        self.check_own(&path, &*old)?;
        if at(&new, "look at", self.layer.kind(&new))?.is_some() {
            at(&new, "remove", self.layer.remove_file(&new))?;
        }
        let stay = |file: &dyn File, to| copy(&*old, from, end, file, to);
        let (file, opening) = new_log(&self.layer, &new, (self.id, self.rights), stay)?;
        let moved = |at: u64| at.saturating_sub(from).saturating_add(opening);

        let state = &mut *self.state();
        state.admit.check(&[])?;
        if state.end > end {
            at(&new, "write", copy(&*old, end, state.end, &*file, moved(end)))?;
            at(&new, "sync", file.sync())?;
        }
        self.check_own(&path, &*old)?;
        // Until the directory is synced, a crash may leave either file. After a panic, `state.file` may be unlinked.
        state.admit.risk(|| {
            at(&new, "rename", self.layer.rename(&new, &path))?;
            at(&self.directory, "sync", self.layer.sync_dir(&self.directory))
        })?;
        state.starts.drain(..dead);
        state.starts.iter_mut().for_each(|(_, start)| *start = moved(*start));
        (state.file, state.end) = (file, moved(state.end));
        Ok(())
    }

    fn disk_bytes(&self) -> Result<u64> {
        let state = self.state();
        at(&self.directory.join(NAME), "look at", state.file.length())
    }
}

/// Copies the bytes `from..end` of one file to the position `to` of another.
fn copy(old: &dyn File, mut from: u64, end: u64, new: &dyn File, mut to: u64) -> io::Result<()> {
    let mut buffer = vec![0; COPY_BYTES];
    while from < end {
        let rest = usize::try_from(end.saturating_sub(from)).unwrap_or(COPY_BYTES);
        let piece = buffer.get_mut(..rest.min(COPY_BYTES)).unwrap_or_default();
        if old.read_up_to(piece, from)? < piece.len() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        new.write_all_at(piece, to)?;
        from = from.saturating_add(bytes_of(piece.len()));
        to = to.saturating_add(bytes_of(piece.len()));
    }
    Ok(())
}

/// Passes the parts of a log to `gather`, up to the first that does not verify.
pub(super) fn replay(
    layer: &Arc<dyn FileLayer>,
    directory: &Path,
    gather: &mut Gather<'_>,
) -> Result<()> {
    match open_to_read(layer, directory)? {
        Some(file) => read_parts(&*file, &directory.join(NAME), 0, u64::MAX, gather).map(drop),
        None => {
            gather.spoil(MISSING.into());
            Ok(())
        }
    }
}

/// The damage of a log directory without the file of the log.
pub(super) const MISSING: &str = "its log is missing (LOG-2)";

/// Opens the file of a log for reading. `None` if there is no such file.
pub(super) fn open_to_read(
    layer: &Arc<dyn FileLayer>,
    directory: &Path,
) -> Result<Option<Arc<dyn File>>> {
    let path = directory.join(NAME);
    if at(&path, "look at", layer.kind(&path))? != Some(Kind::File) {
        return Ok(None);
    }
    at(&path, "open", layer.open(&path, Access::Read)).map(Some)
}

/// Where the reading of a log ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct End {
    /// The end of the last whole commit.
    pub(super) offset: u64,
    /// The last part of that commit. `None` if nothing was read.
    pub(super) before: Option<Position>,
    /// Whether a part of a commit after `until` follows.
    pub(super) more: bool,
}

/// Passes the parts from `offset` on to `gather`, up to the first that does not verify or belongs to a commit after
/// `until`.
pub(super) fn read_parts(
    file: &dyn File,
    path: &Path,
    mut offset: u64,
    until: u64,
    gather: &mut Gather<'_>,
) -> Result<End> {
    let mut buffer = vec![0; COPY_BYTES];
    let (mut start, mut filled) = (0_usize, 0_usize);
    let mut end = End { offset, before: gather.before(), more: false };
    loop {
        if filled.saturating_sub(start) < MAX_PART && (start > 0 || filled == 0) {
            (start, filled) = (0, at(path, "read", file.read_up_to(&mut buffer, offset))?);
        }
        let bytes = buffer.get(start..filled).unwrap_or_default();
        let Ok((part, rest)) = decode_part(gather.id, bytes) else { return Ok(end) };
        if part.sequence > until {
            return Ok(End { more: true, ..end });
        }
        if !gather.take(&part)? {
            return Ok(end);
        }
        let length = bytes.len().saturating_sub(rest.len());
        start = start.saturating_add(length);
        offset = offset.saturating_add(bytes_of(length));
        if part.is_last() {
            end = End { offset, before: gather.before(), more: false };
        }
    }
}

/// Converts a length in memory to a length in a file.
fn bytes_of(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
