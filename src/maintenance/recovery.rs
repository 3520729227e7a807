//! Recovery: opens a database for writing, whatever a crash left (STEP-3).
//!
//! In: a path. Out: a writer on a complete state, and a report. Everything is read and checked before the first byte
//! changes. So a refused open changes nothing, and the next open is refused for the same reason. The steps after that
//! are ordered so that a crash in any of them leaves a database that can be opened again.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::format::batch::{self, Operation};
use crate::format::superblock::Superblock;
use crate::ingest::recovered::{OldLog, Recovered, swap_segment};
use crate::ingest::writer::{Opened, Writer, remove_leftovers};
use crate::options::{Options, Recovery};
use crate::scheme::Scheme;
use crate::store::companions::{self, Companion, Leftover, anchored, has_name, parent_of};
use crate::store::file_layer::{Access, File, FileLayer, Lock};
use crate::store::log::{self, Found, LogId};
use crate::store::memtable::Memtable;
use crate::store::segment::writer::NewSegment;
use crate::store::state_file::{self, FileState};
use crate::trace::{event, span};

/// What opening a database found and did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct OpenReport {
    /// Whether the last writer had closed the database. If not, the other fields say what recovery did.
    pub clean: bool,
    /// Whether one superblock was damaged or outdated, and was rewritten from the other.
    pub superblock_repaired: bool,
    /// Bytes of an unfinished step behind the data, which were cut off.
    pub bytes_cut: u64,
    /// Commits that were replayed from the log.
    pub commits_replayed: u64,
    /// The first and last acknowledged commit that could not be read. Only with [`Recovery::Salvage`].
    pub commits_lost: Option<(u64, u64)>,
    /// What was wrong with the log, if anything.
    pub log_damage: Option<String>,
    /// The new name of a log that could not be read in full.
    pub quarantine: Option<PathBuf>,
}

/// The place of the log.
struct LogPlace<'a> {
    layer: &'a Arc<dyn FileLayer>,
    directory: &'a Path,
}

/// What was read from the log.
struct Replay {
    memtable: Memtable,
    /// The last commit that could be read.
    read: u64,
    /// The last commit that is known to have existed.
    last: u64,
    damage: Option<String>,
    /// Whether the log is known to belong to this database.
    verified: bool,
}

/// Opens a database for writing.
pub fn open(
    layer: &Arc<dyn FileLayer>,
    path: &Path,
    options: Options,
) -> Result<(Writer, OpenReport)> {
    open_with(layer, path, options, |_| Ok(Vec::new()))
}

/// A segment's number, and its replacement: a segment with the same live rows, or nothing.
pub(super) type Swap = (u64, Option<NewSegment>);

/// Opens a database for writing. `mend` rebuilds segments before anything else changes; repair uses it.
pub(super) fn open_with(
    layer: &Arc<dyn FileLayer>,
    path: &Path,
    options: Options,
    mend: impl FnOnce(&Writer) -> Result<Vec<Swap>>,
) -> Result<(Writer, OpenReport)> {
    span!("open");
    options.check()?;
    // Open before locking, so that no lock file is made for a file that is missing or may not be written.
    let seen = state_file::open(&**layer, path, Access::Write)?;
    let path = layer.canonical(path).map_err(|error| Error::io("open", path, error))?;
    let layer = &anchored(layer, &path)?;
    companions::check_name(&**layer, &path)?;
    let lock = take_lock(&**layer, &path, &*seen)?;
    let file = state_file::open(&**layer, &path, Access::Write)?;
    if !has_name(&**layer, &path, &*file)? {
        return Err(Error::Replaced { path });
    }
    check_names(layer, &path, &*file)?;
    let state = state_file::read(&*file, &path)?;
    check_numbers(&state)?;
    let scheme = Arc::new(state.manifest.scheme.clone());
    let mut report = OpenReport { clean: state.superblock.clean, ..OpenReport::default() };
    let directory = Companion::Log.path(&path);
    let log = LogPlace { layer, directory: &directory };
    let replay = replay(&log, &state, &scheme, options.recovery, &mut report)?;

    check_companions(&log, &path, &*file, &state, &replay)?;

    let path: Arc<Path> = path.into();
    let named = state.superblock.log_number != 0;
    let writer = Writer::new(Opened {
        layer: Arc::clone(layer),
        path: Arc::clone(&path),
        lock,
        file: Arc::clone(&file),
        superblock: state.superblock.clone(),
        manifest: state.manifest.clone(),
        options,
    })?;
    let swaps = mend(&writer)?;
    let prepare = || Recovered::prepare(&writer, &replay.memtable, replay.read);
    // Preparing searches the segments. Damaged ones must be swapped before that.
    let prepared = swaps.is_empty().then(prepare).transpose()?;

    // Bytes change from here on. First, whatever a killed writer left unsynced becomes durable, including the file's
    // name.
    if companions::has_mark(&*file, &path)? {
        companions::clear_mark(&*file, &path)?;
    }
    report.superblock_repaired = state_file::settle(&*file, &path, &state)?;
    let parent = parent_of(&path);
    layer.sync_dir(parent).map_err(|error| Error::io("sync", parent, error))?;
    report.bytes_cut = cut_tail(&*file, &path, state.superblock.end_of_data)?;
    remove_strays(layer, &path, &*file, &state.superblock)?;
    for (old, new) in &swaps {
        swap_segment(&writer, *old, new.as_ref())?;
    }
    if named {
        let prepared = prepared.map_or_else(prepare, Ok)?;
        if replay.damage.is_some() {
            // The state names the log until it is renamed. After a crash, the next open would remove a log that no
            // state names.
            prepared.adopt(&writer, OldLog::Stays)?;
            report.quarantine = quarantine(layer, &path)?;
            Recovered::nothing(replay.last).adopt(&writer, OldLog::Leaves)?;
        } else {
            prepared.adopt(&writer, OldLog::Leaves)?;
            log::remove_known(layer, &directory, state.superblock.database)?;
        }
    }
    event!(
        "opened",
        clean = report.clean,
        commits_replayed = report.commits_replayed,
        bytes_cut = report.bytes_cut
    );
    Ok((writer, report))
}

/// Rejects counters above 2^62. No real writer reaches them, so the value was forged, and counting on could overflow.
fn check_numbers(state: &FileState) -> Result<()> {
    let (superblock, manifest) = (&state.superblock, &state.manifest);
    let mark = state.mark.map_or(0, |mark| mark.sequence);
    for (what, number) in [
        ("generation", superblock.generation),
        ("log", superblock.logs_made),
        ("commit", manifest.checkpointed.max(mark)),
        ("extent", manifest.next_extent),
    ] {
        if number > LAST_NUMBER {
            return Err(Error::invalid(
                format!("{what} {number}"),
                format!(
                    "numbers go up to {LAST_NUMBER}: `pack` or `salvage` the rows into a new database"
                ),
            ));
        }
    }
    Ok(())
}

/// The highest generation, log number, commit or extent number that is accepted.
const LAST_NUMBER: u64 = 1 << 62;

/// Refuses a file with several hard links, because companion files are beside one name only. The temporary name from
/// its creation does not count: a crash may have left it.
fn check_names(layer: &Arc<dyn FileLayer>, path: &Path, file: &dyn File) -> Result<()> {
    let look = |error| Error::io("look at", path, error);
    let own = file.identity().map_err(look)?;
    let other = layer.identity(&Companion::New.path(path)).map_err(look)?;
    let links = own.links - u64::from(other.is_some_and(|other| other.is_same(&own)));
    if links > 1 {
        return Err(Error::invalid(
            format!("{} has {links} names", path.display()),
            "a database file has one name, because companions stand beside it: copy it",
        ));
    }
    Ok(())
}

/// Reads the log that the state names, and decides whether all acknowledged commits are there.
fn replay(
    log: &LogPlace<'_>,
    state: &FileState,
    scheme: &Arc<Scheme>,
    recovery: Recovery,
    report: &mut OpenReport,
) -> Result<Replay> {
    let (superblock, checkpointed) = (&state.superblock, state.manifest.checkpointed);
    let mut replay = Replay {
        memtable: Memtable::new(scheme),
        read: checkpointed,
        last: checkpointed,
        damage: None,
        verified: false,
    };
    if superblock.log_number == 0 {
        return Ok(replay);
    }
    let id = LogId { database: superblock.database, number: superblock.log_number };
    let marked = state.mark.map(|mark| mark.sequence).filter(|marked| *marked > checkpointed);
    let missing = Error::LogMissing { checkpointed, marked };
    // A damaged id file does not matter: each commit carries the id of its log.
    let strange = match log::identify(log.layer, log.directory)? {
        Found::Unreadable(_) => None,
        Found::Log(found, _) if found == id => None,
        Found::Log(..) => Some("it belongs to another database"),
        Found::Nothing => Some("it is not there"),
    };
    let (error, damage) = match strange {
        None => {
            let mut visit =
                |sequence, payload: Vec<u8>| take(&replay.memtable, sequence, &payload, scheme);
            let replayed = log::replay(log.layer, log.directory, id, checkpointed, &mut visit)?;
            replay.read = replayed.last;
            replay.last = replayed.last;
            replay.verified = replayed.verified;
            report.commits_replayed = replayed.last - checkpointed;
            report.log_damage = replayed.damage.clone();
            match shortfall(replayed.last, marked, replayed.damage) {
                None => return Ok(replay),
                Some(detail) => {
                    let readable = replayed.last;
                    (Error::LogDamaged { readable, marked, detail: detail.clone() }, detail)
                }
            }
        }
        Some(strange) => (missing, strange.into()),
    };
    if recovery == Recovery::Strict {
        return Err(error);
    }
    if let Some(marked) = marked.filter(|marked| *marked > replay.last) {
        report.commits_lost = Some((replay.last + 1, marked));
        // The numbers of lost commits are not reused.
        replay.last = marked;
    }
    report.log_damage = Some(damage.clone());
    replay.damage = Some(damage);
    Ok(replay)
}

/// Returns what is wrong with a log if it may lack acknowledged commits. `read` is the last commit that could be read,
/// `marked` the one that the mark tells, if it is not checkpointed.
pub(super) fn shortfall(read: u64, marked: Option<u64>, damage: Option<String>) -> Option<String> {
    let lost = marked.is_some_and(|marked| read < marked);
    match damage {
        None if !lost => None,
        // All acknowledged commits are there. The damage is a commit that a crash interrupted.
        Some(_) if marked.is_some() && !lost => None,
        damage => Some(damage.unwrap_or_else(|| "its last commits are gone".into())),
    }
}

/// Applies one commit of a log to a memtable.
pub(super) fn take(
    table: &Memtable,
    sequence: u64,
    payload: &[u8],
    scheme: &Arc<Scheme>,
) -> Result<()> {
    let operations = batch::decode(payload, scheme)?;
    table.apply(sequence, operations.iter().map(Operation::parts));
    Ok(())
}

/// Cuts off the bytes that an unfinished step left behind the data. Returns how many.
fn cut_tail(file: &dyn File, path: &Path, end: u64) -> Result<u64> {
    let length = file.length().map_err(|error| Error::io("look at", path, error))?;
    if length > end {
        file.set_len(end).map_err(|error| Error::io("cut", path, error))?;
    }
    Ok(length.saturating_sub(end))
}

/// Takes the lock against other writers (STEP-11). A new lock file gets the rights of the database file.
fn take_lock(layer: &dyn FileLayer, path: &Path, seen: &dyn File) -> Result<Box<dyn Lock>> {
    let lock_path = Companion::Lock.path(path);
    let rights = seen.rights().map_err(|error| Error::io("look at", path, error))?;
    match layer.try_lock(&lock_path, rights.as_ref()) {
        Ok(Some(lock)) => Ok(lock),
        Ok(None) => Err(Error::Locked { path: path.into() }),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            Err(Error::NotOurs { path: lock_path, database: path.into() })
        }
        Err(error) => Err(Error::io("lock", &lock_path, error)),
    }
}

/// Fails if a foreign file has the name of a companion (STEP-12). This is checked before anything changes, because a
/// later step that met the file would have to stop half-way.
fn check_companions(
    log: &LogPlace<'_>,
    path: &Path,
    file: &dyn File,
    state: &FileState,
    replay: &Replay,
) -> Result<()> {
    let (layer, database) = (&**log.layer, state.superblock.database);
    let theirs =
        |path: PathBuf, database: &Path| Err(Error::NotOurs { path, database: database.into() });
    let own = file.identity().map_err(|error| Error::io("look at", path, error))?;
    let (vacuum, new) = (Companion::Vacuum.path(path), Companion::New.path(path));
    for (name, id, own) in [(vacuum, Some(database), None), (new, None, Some(&own))] {
        if companions::leftover(layer, &name, id, own)? == Leftover::Theirs {
            return theirs(name, path);
        }
    }
    if log::unfinished(log.layer, log.directory, database)? == Leftover::Theirs {
        return theirs(log::unfinished_name(log.directory), path);
    }
    if log::replay_copy(log.layer, log.directory, database)? == Leftover::Theirs {
        return theirs(log::replay_name(log.directory), path);
    }
    let id = LogId { database, number: state.superblock.log_number };
    let there = layer.kind(log.directory);
    let there = there.map_err(|error| Error::io("look at", log.directory, error))?.is_some();
    if there && !replay.verified && !log::is_own(log.layer, log.directory, id)? {
        return theirs(log.directory.into(), path);
    }
    Ok(())
}

/// Removes the leftovers of earlier writers of this database. Touches nothing else.
fn remove_strays(
    layer: &Arc<dyn FileLayer>,
    path: &Path,
    file: &dyn File,
    superblock: &Superblock,
) -> Result<()> {
    let own = file.identity().map_err(|error| Error::io("look at", path, error))?;
    remove_leftovers(layer, path, superblock.database, &own)?;
    let directory = Companion::Log.path(path);
    match log::identify(layer, &directory)? {
        Found::Log(id, _) if id.database == superblock.database => match id.number {
            number if number == superblock.log_number => Ok(()),
            _ => log::remove(layer, &directory, id),
        },
        Found::Unreadable(_) | Found::Log(..) | Found::Nothing => Ok(()),
    }
}

/// Renames a log that could not be read in full. Returns its new name, or `None` if there is no log.
fn quarantine(layer: &Arc<dyn FileLayer>, path: &Path) -> Result<Option<PathBuf>> {
    let directory = Companion::Log.path(path);
    if layer.kind(&directory).map_err(|error| Error::io("look at", &directory, error))?.is_none() {
        return Ok(None);
    }
    for number in 1..=Companion::MOST_QUARANTINES {
        let target = Companion::Quarantine(number).path(path);
        let there = layer.kind(&target).map_err(|error| Error::io("look at", &target, error))?;
        if there.is_none() {
            layer
                .rename_new(&directory, &target)
                .map_err(|error| Error::io("rename", &directory, error))?;
            let parent = parent_of(&directory);
            layer.sync_dir(parent).map_err(|error| Error::io("sync", parent, error))?;
            return Ok(Some(target));
        }
    }
    let last = Companion::Quarantine(Companion::MOST_QUARANTINES);
    Err(Error::Exists { path: last.path(path) })
}
