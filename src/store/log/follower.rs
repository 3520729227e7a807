//! Reads a plain log beside its writer (LOG-16, LOG-17).
//!
//! In: the directory of a log, and the place up to which a reader has read it. Out: the commits after that, and
//! whether there are more. It must not know who writes the log, or which of its commits count: a reader decides that
//! by the commit mark.
#![deny(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::arithmetic_side_effects,
    clippy::as_conversions
)]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::gather::{Gather, Position, Visit};
use super::plain_log::{self, MISSING, NAME};
use super::{Found, ID_NAME, LogId, LogKind, at, kind_by_names, open_id};
use crate::error::Result;
use crate::store::file_layer::{File, FileLayer, Identity};

/// What a reader found in place of a log.
#[derive(Debug)]
pub enum Followed {
    /// A plain log.
    Plain(Follower),
    /// A log in sled. It cannot be read without writing (LOG-13).
    Sled,
    /// A log without its file, and what is wrong.
    Damaged(String),
    /// Nothing, or another log.
    Missing,
}

/// A plain log that is open for reading. Its file stays the same if the writer trims or removes the log.
#[derive(Debug)]
pub struct Follower {
    file: Arc<dyn File>,
    path: PathBuf,
    id_file: Option<Arc<dyn File>>,
    identity: Identity,
    place: LogPlace,
    damage: Option<String>,
    more: bool,
}

/// How far a log was read.
#[derive(Debug, Clone, Copy)]
pub struct LogPlace {
    id: LogId,
    identity: Identity,
    offset: u64,
    before: Option<Position>,
    last: u64,
}

impl LogPlace {
    /// Returns the last commit that was visited.
    pub fn last(&self) -> u64 {
        self.last
    }
}

/// Opens a log for reading the commits after `after`.
pub fn follow(
    layer: &Arc<dyn FileLayer>,
    directory: &Path,
    id: LogId,
    after: u64,
) -> Result<Followed> {
    let (kind, id_file, damage) = match open_id(layer, directory)? {
        (Found::Log(found, kind), file) if found == id => (kind, file, None),
        (Found::Log(..) | Found::Nothing, _) => return Ok(Followed::Missing),
        // Each part verifies only for its own log, so reading on is safe.
        (Found::Unreadable(error), file) => {
            (kind_by_names(layer, directory)?, file, Some(error.to_string()))
        }
    };
    if kind == LogKind::Sled {
        return Ok(Followed::Sled);
    }
    let Some(file) = plain_log::open_to_read(layer, directory)? else {
        return Ok(Followed::Damaged(MISSING.into()));
    };
    let path = directory.join(NAME);
    let identity = at(&path, "look at", file.identity())?;
    let place = LogPlace { id, identity, offset: 0, before: None, last: after };
    Ok(Followed::Plain(Follower { file, path, id_file, identity, place, damage, more: false }))
}

impl Follower {
    /// Goes on from a place in the same file. Returns `false`, and starts over, if it is another file.
    pub fn resume(&mut self, place: &LogPlace) -> bool {
        let same = place.id == self.place.id && place.identity.is_same(&self.identity);
        if same {
            self.place = *place;
        }
        same
    }

    /// Visits the next commits, up to commit `until` or the end of the log.
    pub fn read(&mut self, until: u64, visit: Visit<'_>) -> Result<()> {
        let LogPlace { id, offset, before, last, .. } = self.place;
        let mut gather = Gather::resumed(id, last, before, visit);
        let end = plain_log::read_parts(&*self.file, &self.path, offset, until, &mut gather)?;
        let (offset, before, last) = (end.offset, end.before, gather.last());
        self.place = LogPlace { offset, before, last, ..self.place };
        self.more = end.more;
        self.damage = self.damage.take().or(gather.finish().damage);
        Ok(())
    }

    /// Whether the writer that made this log still has it (LOG-20). A later writer has another log.
    pub fn has_writer(&self) -> Result<bool> {
        let locked = self.id_file.as_ref().map_or(Ok(false), |file| file.is_locked());
        at(&self.path.with_file_name(ID_NAME), "look at the lock of", locked)
    }

    /// Returns how far the log was read.
    pub fn place(&self) -> LogPlace {
        self.place
    }

    /// Whether the log goes on after the last visited commit.
    pub fn has_more(&self) -> bool {
        self.more
    }

    /// Returns the damage that was found so far.
    pub fn damage(&self) -> Option<&str> {
        self.damage.as_deref()
    }

    /// Returns the length of the log's file.
    pub fn bytes(&self) -> Result<u64> {
        at(&self.path, "look at", self.file.length())
    }
}
