//! Opens a database for reading: the state of the file, and the commits that wait in its log (LOG-16 to LOG-20).
//!
//! In: a path, and what an earlier read found. Out: a state with all acknowledged commits, or an error. Nothing is
//! written. A writer may checkpoint, trim, close or vacuum between two of the steps. Then the log does not continue
//! the state that was read, and both are read again.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::recovery::{shortfall, take};
use crate::error::{Error, Result};
use crate::format::bytes::{Seal, broken};
use crate::format::commit_mark::MARK_OFFSET;
use crate::ingest::writer::views;
use crate::options::{Options, Recovery};
use crate::store::companions::{Companion, anchored};
use crate::store::file_layer::{Access, File, FileLayer, Identity};
use crate::store::log::{self, Followed, Follower, LogId, LogPlace};
use crate::store::memtable::Memtable;
use crate::store::page_cache::PageCache;
use crate::store::page_source::{CachedPage, PageSource};
use crate::store::state::State;
use crate::store::state_file::{self, FileState};
use crate::sync::thread;

/// How often everything is read again because a writer has changed the state meanwhile (LOG-18).
const TRIES: u32 = 100;

/// How often everything is read again although the state and the mark are the same. The writer may be writing its
/// mark, or may be about to change the state.
const LOOKS: u32 = 4;

/// What a reader shows, and what it needs to go on from there.
#[derive(Debug)]
pub struct View {
    /// The segments and the commits of the log.
    pub state: Arc<State>,
    /// The state of the file.
    pub file: FileState,
    /// The file.
    pub handle: Arc<dyn File>,
    /// The cache of its pages.
    pub cache: Arc<PageCache<CachedPage>>,
    /// Acknowledged commits that cannot be shown, because their log is in sled.
    pub hidden: u64,
    /// Bytes of the log that was read.
    pub log_bytes: u64,
    identity: Identity,
    place: Option<LogPlace>,
}

/// The state of a file, without the log.
struct Head {
    handle: Arc<dyn File>,
    identity: Identity,
    file: FileState,
}

/// What was read from the log.
struct Commits {
    table: Arc<Memtable>,
    last: u64,
    hidden: u64,
    log_bytes: u64,
    place: Option<LogPlace>,
}

/// Reads a database. `before` is what an earlier call found. Commits that it has are not read again.
pub fn read(
    layer: &Arc<dyn FileLayer>,
    path: &Path,
    options: &Options,
    before: Option<&View>,
) -> Result<View> {
    let (mut tries, mut looks) = (TRIES, LOOKS);
    let mut head = Head::read(layer, path)?;
    loop {
        let (commits, trouble) = commits(layer, path, &head, before)?;
        if trouble.is_none() && !head.has_doubtful_mark() {
            return view(head, commits, path, options, before);
        }
        let next = Head::read(layer, path)?;
        if !next.is_same(&head) && tries > 0 {
            tries -= 1;
            head = next;
            continue;
        }
        let Some(trouble) = trouble else { return view(head, commits, path, options, before) };
        // If the database's lock cannot be examined, there may be a writer.
        let changing = || head.has_doubtful_mark() || is_locked(layer, path).unwrap_or(true);
        if looks > 0 && changing() {
            looks -= 1;
            thread::sleep(Duration::from_millis(u64::from(LOOKS - looks)));
            head = Head::read(layer, path)?;
        } else if options.recovery == Recovery::Salvage {
            return view(head, commits, path, options, before);
        } else {
            return Err(trouble);
        }
    }
}

impl Head {
    fn read(layer: &Arc<dyn FileLayer>, path: &Path) -> Result<Head> {
        let handle = state_file::open(&**layer, path, Access::Read)?;
        let identity = handle.identity().map_err(|error| Error::io("look at", path, error))?;
        let file = state_file::read(&*handle, path)?;
        Ok(Head { handle, identity, file })
    }

    fn is_same(&self, other: &Head) -> bool {
        let (old, new) = (&self.file, &other.file);
        // Another mark explains only why this one is in doubt. The log has all commits of both.
        let same_mark = !self.has_doubtful_mark() || old.mark == new.mark;
        self.identity.is_same(&other.identity) && old.superblock == new.superblock && same_mark
    }

    /// Whether the mark does not tell which commits of the log are acknowledged.
    fn has_doubtful_mark(&self) -> bool {
        self.file.superblock.log_number != 0 && !self.file.mark_is_certain
    }

    fn log_id(&self) -> LogId {
        let superblock = &self.file.superblock;
        LogId { database: superblock.database, number: superblock.log_number }
    }

    /// The last acknowledged commit, if the mark tells and the segments do not have it.
    fn marked(&self) -> Option<u64> {
        let marked = self.file.mark.map(|mark| mark.sequence);
        marked.filter(|marked| *marked > self.file.manifest.checkpointed)
    }
}

impl View {
    /// Whether a state is of the same file and not older. Only then do cached pages stay valid. A file that replaced
    /// the earlier one may be another database, or an old copy with its own later changes.
    fn is_followed_by(&self, head: &Head) -> bool {
        let (old, new) = (&self.file.superblock, &head.file.superblock);
        new.database == old.database
            && new.generation >= old.generation
            && self.identity.is_same(&head.identity)
    }

    fn names_log_of(&self, head: &Head) -> bool {
        let superblock = &self.file.superblock;
        head.log_id() == LogId { database: superblock.database, number: superblock.log_number }
    }

    /// The commit that a later state must reach: a refresh never goes back (LOG-19). After a kill this may be a later one than
    /// the mark tells.
    fn floor(&self, head: &Head) -> Option<u64> {
        let follows = self.is_followed_by(head) && self.names_log_of(head);
        follows.then_some(self.state.sequence)
    }

    /// The place in the log from which to go on. A memtable must not have commits that are checkpointed: a bulk load,
    /// which is not in the log, may have replaced their rows.
    fn place(&self, head: &Head) -> Option<LogPlace> {
        let checkpointed = self.file.manifest.checkpointed == head.file.manifest.checkpointed;
        self.place.filter(|_| checkpointed && self.names_log_of(head))
    }
}

/// Reads the commits of the log that a state names, and what is wrong with it.
fn commits(
    layer: &Arc<dyn FileLayer>,
    path: &Path,
    head: &Head,
    before: Option<&View>,
) -> Result<(Commits, Option<Error>)> {
    if head.file.superblock.log_number == 0 {
        return Ok((Commits::none(head, before), None));
    }
    match commits_of_log(layer, path, head, before) {
        // The log was removed between two steps.
        Err(Error::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
            Ok((Commits::none(head, before), Some(missing(head))))
        }
        read => read,
    }
}

fn commits_of_log(
    layer: &Arc<dyn FileLayer>,
    path: &Path,
    head: &Head,
    before: Option<&View>,
) -> Result<(Commits, Option<Error>)> {
    let canonical = layer.canonical(path).map_err(|error| Error::io("open", path, error))?;
    let directory = Companion::Log.path(&canonical);
    let checkpointed = head.file.manifest.checkpointed;
    let open =
        || log::follow(&anchored(layer, &canonical)?, &directory, head.log_id(), checkpointed);
    // Where the lock of a file cannot be examined, the database's lock tells.
    let locked = || is_locked(layer, path);
    let mut follower = match open()? {
        Followed::Plain(follower) => follower,
        Followed::Sled => {
            let hidden = head.marked().map_or(0, |marked| marked - checkpointed);
            return Ok((Commits { hidden, ..Commits::none(head, before) }, None));
        }
        Followed::Damaged(detail) => {
            return Ok((Commits::none(head, before), Some(damaged(head, checkpointed, detail))));
        }
        Followed::Missing => return Ok((Commits::none(head, before), Some(missing(head)))),
    };
    let floor = before.and_then(|view| view.floor(head));
    let resumed = before.and_then(|view| Some((view, view.place(head)?)));
    if let Some((view, place)) = resumed
        && follower.resume(&place)
    {
        let table = Arc::clone(&view.state.active);
        let (commits, trouble) = read_log(follower, table, head, floor, locked)?;
        if !matches!(trouble, Some(Error::LogDamaged { .. })) {
            return Ok((commits, trouble));
        }
        let Followed::Plain(opened) = open()? else { return Ok((commits, trouble)) };
        follower = opened;
    }
    read_log(follower, new_table(head, before), head, floor, locked)
}

/// Reads a log up to the last acknowledged commit, or up to its end if its writer has ended (LOG-16, LOG-17).
fn read_log(
    mut follower: Follower,
    table: Arc<Memtable>,
    head: &Head,
    floor: Option<u64>,
    locked: impl Fn() -> Result<bool>,
) -> Result<(Commits, Option<Error>)> {
    let (checkpointed, marked) = (head.file.manifest.checkpointed, head.marked());
    let least = [marked, floor].into_iter().flatten().fold(checkpointed, u64::max);
    let scheme = Arc::clone(table.scheme());
    let mut visit = |sequence, payload: Vec<u8>| {
        // A refresh that failed may have left commits that no state shows.
        if sequence <= table.last() { Ok(()) } else { take(&table, sequence, &payload, &scheme) }
    };
    follower.read(least, &mut visit)?;
    let mut has_writer = false;
    if follower.has_more() {
        // The lock is examined before the rest of the log is read. If the writer has ended then, the log stays as it is.
        has_writer = follower.has_writer().or_else(|_| locked())?;
        if !has_writer {
            follower.read(u64::MAX, &mut visit)?;
        }
    }
    let (last, damage) = (follower.place().last(), follower.damage().map(String::from));
    let needed = Some(least).filter(|least| *least > checkpointed);
    let trouble = match shortfall(last, needed, damage) {
        Some(detail) => Some(damaged(head, last, detail)),
        None if has_writer && head.has_doubtful_mark() => {
            let detail = "it is not that of the log, and a writer is using the log";
            Some(broken("commit mark", "MARK-1", MARK_OFFSET, detail))
        }
        None => None,
    };
    let (log_bytes, place) = (follower.bytes()?, Some(follower.place()));
    Ok((Commits { table, last, hidden: 0, log_bytes, place }, trouble))
}

impl Commits {
    /// No commits.
    fn none(head: &Head, before: Option<&View>) -> Commits {
        let (table, last) = (new_table(head, before), head.file.manifest.checkpointed);
        Commits { table, last, hidden: 0, log_bytes: 0, place: None }
    }
}

fn missing(head: &Head) -> Error {
    Error::LogMissing { checkpointed: head.file.manifest.checkpointed, marked: head.marked() }
}

fn damaged(head: &Head, readable: u64, detail: String) -> Error {
    Error::LogDamaged { readable, marked: head.marked(), detail }
}

/// Whether a writer has the database open.
pub fn is_locked(layer: &Arc<dyn FileLayer>, path: &Path) -> Result<bool> {
    let path = layer.canonical(path).map_err(|error| Error::io("look at", path, error))?;
    let lock = Companion::Lock.path(&path);
    let locked = anchored(layer, &path)?.is_locked(&lock);
    locked.map_err(|error| Error::io("look at", &lock, error))
}

/// Returns an empty memtable. It shares the scheme of the earlier view if that is the same.
fn new_table(head: &Head, before: Option<&View>) -> Arc<Memtable> {
    let scheme = &head.file.manifest.scheme;
    let known = before.map(|view| &view.state.scheme).filter(|known| ***known == *scheme);
    let scheme = known.map_or_else(|| Arc::new(scheme.clone()), Arc::clone);
    Arc::new(Memtable::new(&scheme))
}

/// Puts segments and commits together.
fn view(
    head: Head,
    commits: Commits,
    path: &Path,
    options: &Options,
    before: Option<&View>,
) -> Result<View> {
    let Commits { table, last, hidden, log_bytes, place } = commits;
    let later = before.filter(|view| view.is_followed_by(&head));
    let cache = later.map(|view| Arc::clone(&view.cache));
    let cache = cache.unwrap_or_else(|| Arc::new(PageCache::new(options.cache_bytes)));
    let same = later.filter(|view| view.file.superblock == head.file.superblock);
    let segments = match same {
        Some(view) => Arc::clone(&view.state.segments),
        None => {
            let seal = Seal::of(head.file.superblock.database);
            let handle = Arc::clone(&head.handle);
            let source = PageSource::new(handle, path.into(), seal, Arc::clone(&cache));
            views(&head.file.manifest.segments, &source, table.scheme())?.into()
        }
    };
    let scheme = Arc::clone(table.scheme());
    let state = Arc::new(State { scheme, segments, frozen: None, active: table, sequence: last });
    let Head { handle, identity, file } = head;
    Ok(View { state, file, handle, cache, hidden, log_bytes, identity, place })
}
