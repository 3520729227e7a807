//! Jobs that create a new database from an old one, or repair one in place: their starting disks and their expected
//! results.
//!
//! In: a [`History`]. Out: disks (closed, killed, damaged), jobs to run on them, and the correct rows.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ringer::internals::maintenance::{check, create, reindex, repair, salvage};
use ringer::internals::store::file_layer::FileLayer;
use ringer::internals::store::file_layer::memory::MemoryFiles;
use ringer::scheme::Slots;
use ringer::{Database, Depth, Reader, Recovery, Result, Scheme, Signature, Sketcher};

use crate::history::{self, History, PATH, Step, bytes_of, names_of, scheme, script};

/// The path of new databases.
pub const TARGET: &str = "/d/target.ringer";

pub type Rows = BTreeMap<Vec<u8>, (Signature, Option<Arc<[u8]>>)>;

pub type Layer = Arc<dyn FileLayer>;

/// A job that creates a new database at [`TARGET`] and must not touch the old one.
pub struct Making {
    pub name: &'static str,
    disk: MemoryFiles,
    act: fn(&Layer) -> Result<()>,
    /// The rows of the new database.
    pub rows: Rows,
}

impl Making {
    /// Returns a private copy of the starting disk.
    pub fn disk(&self) -> MemoryFiles {
        copy(&self.disk)
    }

    pub fn act(&self, files: impl FileLayer + 'static) -> Result<()> {
        self.act_in(&(Arc::new(files) as Layer))
    }

    pub fn act_in(&self, layer: &Layer) -> Result<()> {
        (self.act)(layer)
    }

    /// Asserts that everything except the new database is unchanged.
    pub fn check_source(&self, disk: &MemoryFiles) {
        let others = |files: &MemoryFiles| {
            let new = |path: &Path| path.to_string_lossy().starts_with(TARGET);
            bytes_of(files).into_iter().filter(|(path, _)| !new(path)).collect::<Vec<_>>()
        };
        assert!(others(disk) == others(&self.disk), "{}: something else was changed", self.name);
    }

    /// Asserts that the new database is undamaged, has all rows, and is a single file after it was opened and closed.
    pub fn check_target(&self, disk: &MemoryFiles) {
        let layer: Layer = Arc::new(copy(disk));
        check_whole(&layer, TARGET, &self.rows);
        let db = Database::open_in(Arc::clone(&layer), Path::new(TARGET), history::options());
        db.unwrap().close().unwrap();
        check_whole(&layer, TARGET, &self.rows);
    }

    /// Runs the job again where the target does not exist. It must create the target and leave nothing beside it.
    pub fn check_again(&self, disk: &MemoryFiles) {
        let disk = copy(disk);
        self.act(disk.clone()).unwrap_or_else(|error| panic!("{}: {error}", self.name));
        assert_eq!(names_of(&disk, TARGET), [PathBuf::from(TARGET)], "{}", self.name);
        self.check_target(&disk);
    }
}

/// Returns a copy that shares nothing with the original.
pub fn copy(files: &MemoryFiles) -> MemoryFiles {
    MemoryFiles::from_entries(files.entries())
}

/// Returns a hash of a disk's contents.
pub fn fingerprint(disk: &MemoryFiles) -> u64 {
    let mut hasher = DefaultHasher::new();
    bytes_of(disk).hash(&mut hasher);
    hasher.finish()
}

/// Asserts that a deep check finds nothing and that the rows are these.
#[track_caller]
pub fn check_whole(layer: &Layer, path: &str, rows: &Rows) {
    let report = check::check(&**layer, Path::new(path), Depth::Deep).unwrap();
    assert!(report.findings.is_empty(), "{:?}", report.findings);
    assert!(rows_in(layer, path) == *rows, "other rows");
}

pub fn rows_in(layer: &Layer, path: &str) -> Rows {
    let reader = Reader::open_in(Arc::clone(layer), Path::new(path), history::options()).unwrap();
    rows_of(&reader.snapshot())
}

pub fn rows_of(snapshot: &ringer::Snapshot) -> Rows {
    let rows = snapshot.range::<&[u8]>(..).map(Result::unwrap);
    rows.map(|(key, stored)| (key.into_vec(), (stored.signature, stored.value))).collect()
}

/// Returns the rows of the model after a commit.
pub fn rows_after(history: &History, sequence: u64) -> Rows {
    let contents = history.model.at(sequence).iter();
    contents.map(|(key, row)| (key.clone(), (row.signature.clone(), row.value.clone()))).collect()
}

/// A closed database with several segments and hidden rows.
pub fn closed() -> History {
    let steps = [script::beginning(), script::middle(), vec![Step::Close]];
    History::of(&steps.concat())
}

/// The database of a killed writer: several segments, hidden rows, commits in the write-ahead log.
pub fn killed() -> History {
    let mut life = script::all();
    while !matches!(life.last(), Some(Step::Commit(_))) {
        life.pop();
    }
    History::of(&[life, vec![Step::Kill]].concat())
}

/// Returns all jobs that create a database: from nothing, from a closed one, from a killed one, and from one whose
/// rows have to be searched for.
pub fn makings() -> Vec<Making> {
    let (closed, killed) = (closed(), killed());
    let all = |history: &History| rows_after(history, history.model.last());
    let disk = |history: &History| copy(history.files.running());
    let source = disk(&closed);
    let mut headless = source.contents(PATH).unwrap();
    headless[..12_288].fill(0xA5);
    let manifests = 0..headless.len() / 64;
    for unit in
        manifests.filter(|u| headless[u * 64..].starts_with(b"RINGMANI")).collect::<Vec<_>>()
    {
        headless[unit * 64] ^= 1;
    }
    let headless = disk(&closed).with_file(PATH, headless);
    let found = copy(&headless);
    salvage_to(&(Arc::new(found.clone()) as Layer)).unwrap();
    let found = rows_in(&(Arc::new(found) as Layer), TARGET);
    assert!(all(&closed).keys().all(|key| found.contains_key(key)));
    vec![
        Making { name: "create", disk: source, act: create_new, rows: Rows::new() },
        Making { name: "pack", disk: disk(&closed), act: pack_to, rows: all(&closed) },
        Making { name: "salvage", disk: disk(&killed), act: salvage_to, rows: all(&killed) },
        Making { name: "salvage by search", disk: headless, act: salvage_to, rows: found },
    ]
}

fn create_new(layer: &Layer) -> Result<()> {
    create::create(layer, Path::new(TARGET), &scheme())
}

fn pack_to(layer: &Layer) -> Result<()> {
    Reader::open_in(Arc::clone(layer), Path::new(PATH), history::options())?.pack(TARGET)
}

fn salvage_to(layer: &Layer) -> Result<()> {
    let (source, target) = (Path::new(PATH), Path::new(TARGET));
    salvage::salvage(layer, source, target, history::options()).map(drop)
}

/// The database of a killed writer with a damaged superblock and damaged fences, which repair can restore.
pub fn mendable() -> (MemoryFiles, Rows) {
    let history = killed();
    let disk = copy(history.files.running());
    let mut bytes = disk.contents(PATH).unwrap();
    bytes[4096 + 100] ^= 1;
    let fences = (192..bytes.len() / 64).filter(|u| bytes[u * 64 + 4..u * 64 + 6] == [4, 1]);
    let fences: Vec<usize> = fences.collect();
    assert!(fences.len() > 1);
    fences.iter().for_each(|unit| bytes[unit * 64 + 30] ^= 1);
    (disk.with_file(PATH, bytes), rows_after(&history, history.model.last()))
}

pub fn mend(layer: &Layer) -> Result<()> {
    repair::repair(layer, Path::new(PATH), &history::options()).map(drop)
}

/// The database of a killed writer whose log lost its last commit, and the remaining rows. A strict open refuses it;
/// an open in salvage mode continues.
pub fn cut_short() -> (MemoryFiles, Rows) {
    let history = killed();
    let disk = copy(history.files.running());
    let log = format!("{PATH}-hot/log");
    let mut bytes = disk.contents(&log).unwrap();
    bytes.truncate(bytes.len() - 10);
    (disk.with_file(&log, bytes), rows_after(&history, history.model.last() - 1))
}

pub fn open_salvaging(layer: &Layer) -> Result<Database> {
    let options = history::options().with_recovery(Recovery::Salvage);
    Database::open_in(Arc::clone(layer), Path::new(PATH), options)
}

/// Returns the scheme to which [`reindexed`] changes: one bit less, and other slots.
pub fn fewer_bits() -> Scheme {
    let slots = Slots { count: 9, samples_per_slot: 7, value_bits: 7, min_matches: 2 };
    Scheme::new(scheme().with_bits(1).with_slots(slots)).unwrap()
}

pub fn reindexed(layer: &Layer) -> Result<()> {
    let (path, mut go_on) = (Path::new(PATH), |_, _| ControlFlow::Continue(()));
    reindex::reindex(layer, path, &fewer_bits(), &history::options(), &mut go_on).map(drop)
}

/// Returns the rows after [`reindexed`]: the sketches of the sets with that scheme.
pub fn with_fewer_bits(rows: &Rows) -> Rows {
    let sketcher = Sketcher::new(&fewer_bits());
    let anew = rows.iter().map(|(key, (signature, value))| {
        let elements = signature.elements().unwrap();
        (key.clone(), (sketcher.sketch(elements).unwrap(), value.clone()))
    });
    anew.collect()
}

/// Opens what a crash or a failure of [`reindexed`] left. The rows are the old or the new ones, nothing is left beside the
/// database, and another try succeeds. Returns whether the rows are the new ones.
pub fn check_reindexed(disk: &MemoryFiles, [old, new]: [&Rows; 2]) -> bool {
    let files = copy(disk);
    let layer: Layer = Arc::new(files.clone());
    let db = Database::open_in(Arc::clone(&layer), Path::new(PATH), history::options()).unwrap();
    let done = rows_of(&db.snapshot()) == *new;
    db.close().unwrap();
    check_whole(&layer, PATH, if done { new } else { old });
    assert_eq!(names_of(&files, PATH), [PathBuf::from(PATH)]);
    let files = copy(disk);
    let layer: Layer = Arc::new(files.clone());
    reindexed(&layer).unwrap();
    check_whole(&layer, PATH, new);
    assert_eq!(names_of(&files, PATH), [PathBuf::from(PATH)]);
    done
}
