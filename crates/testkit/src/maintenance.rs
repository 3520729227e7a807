//! Work on a database that leaves the old one alone and makes a new one, or mends it in place: what it starts
//! from, and what must be there when it is done.
//!
//! In: a life of [`History`]. Out: disks (closed, killed, damaged), jobs to do on them, and the right rows.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ringer::internals::care::{check, create, repair, salvage};
use ringer::internals::store::file_layer::FileLayer;
use ringer::internals::store::file_layer::memory::MemoryFiles;
use ringer::{Database, Depth, Options, Reader, Recovery, Result, Signature};

use crate::history::{self, History, PATH, Step, bytes_of, names_of, scheme, script};

/// Where new databases go.
pub const TARGET: &str = "/d/target.ringer";

pub type Rows = BTreeMap<Vec<u8>, Signature>;

pub type Layer = Arc<dyn FileLayer>;

/// Something that makes a new database at [`TARGET`] and must not touch the old one.
pub struct Making {
    pub name: &'static str,
    disk: MemoryFiles,
    act: fn(&Layer) -> Result<()>,
    /// What the new database holds.
    pub rows: Rows,
}

impl Making {
    /// A disk to start from, which nobody else has.
    pub fn disk(&self) -> MemoryFiles {
        copy(&self.disk)
    }

    pub fn act(&self, files: impl FileLayer + 'static) -> Result<()> {
        self.act_in(&(Arc::new(files) as Layer))
    }

    pub fn act_in(&self, layer: &Layer) -> Result<()> {
        (self.act)(layer)
    }

    /// All that is not the new database is as it was.
    pub fn check_source(&self, disk: &MemoryFiles) {
        let others = |files: &MemoryFiles| {
            let new = |path: &Path| path.to_string_lossy().starts_with(TARGET);
            bytes_of(files).into_iter().filter(|(path, _)| !new(path)).collect::<Vec<_>>()
        };
        assert!(others(disk) == others(&self.disk), "{}: something else was changed", self.name);
    }

    /// The new database is whole, has all rows, and is one file after it was opened and closed.
    pub fn check_target(&self, disk: &MemoryFiles) {
        let layer: Layer = Arc::new(copy(disk));
        check_whole(&layer, TARGET, &self.rows);
        let db = Database::open_in(Arc::clone(&layer), Path::new(TARGET), history::options());
        db.unwrap().close().unwrap();
        check_whole(&layer, TARGET, &self.rows);
    }

    /// Done again where the target is not there, it makes the target and leaves nothing beside it.
    pub fn check_again(&self, disk: &MemoryFiles) {
        let disk = copy(disk);
        self.act(disk.clone()).unwrap_or_else(|error| panic!("{}: {error}", self.name));
        assert_eq!(names_of(&disk, TARGET), [PathBuf::from(TARGET)], "{}", self.name);
        self.check_target(&disk);
    }
}

/// A copy that shares nothing.
pub fn copy(files: &MemoryFiles) -> MemoryFiles {
    MemoryFiles::from_entries(files.entries())
}

/// A disk's bytes in short.
pub fn fingerprint(disk: &MemoryFiles) -> u64 {
    let mut hasher = DefaultHasher::new();
    bytes_of(disk).hash(&mut hasher);
    hasher.finish()
}

/// A deep check finds nothing, and these are the rows.
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
    rows.map(|(key, stored)| (key.into_vec(), stored.signature)).collect()
}

/// The rows of a model after a commit.
pub fn rows_after(history: &History, sequence: u64) -> Rows {
    let contents = history.model.at(sequence).iter();
    contents.map(|(key, (signature, _))| (key.clone(), signature.clone())).collect()
}

/// A closed database: several segments, hidden rows.
pub fn closed() -> History {
    let steps = [script::beginning(), script::middle(), vec![Step::Close]];
    History::of(&steps.concat())
}

/// A killed writer's database: several segments, hidden rows, commits in the hot tier.
pub fn killed() -> History {
    let mut life = script::all();
    while !matches!(life.last(), Some(Step::Commit(_))) {
        life.pop();
    }
    History::of(&[life, vec![Step::Kill]].concat())
}

/// All that makes a new database: from nothing, from a closed one, from a killed one, from one whose rows have
/// to be looked for.
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

/// A killed writer's database whose file has a damaged superblock and damaged fences: what repair mends.
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

/// A killed writer's database whose hot tier lost its last commit: what opening refuses, and goes on with in
/// salvage mode. With the rows that are left.
pub fn cut_short() -> (MemoryFiles, Rows) {
    let history = killed();
    let disk = copy(history.files.running());
    let log = format!("{PATH}-hot/log");
    let mut bytes = disk.contents(&log).unwrap();
    bytes.truncate(bytes.len() - 10);
    (disk.with_file(&log, bytes), rows_after(&history, history.model.last() - 1))
}

pub fn open_salvaging(layer: &Layer) -> Result<Database> {
    let options = Options { recovery: Recovery::Salvage, ..history::options() };
    Database::open_in(Arc::clone(layer), Path::new(PATH), options)
}
