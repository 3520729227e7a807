//! Runs a database through a script of steps on a file system that can fail and crash, and knows what it must contain
//! at any point.
//!
//! In: steps. Out: the database after these steps, and for every commit the number of disk changes after which it was
//! acknowledged. The model has one map per sequence. Contents are compared with the map of their sequence, so a
//! commit is there completely or not at all.

mod model;
pub mod script;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ringer::internals::store::file_layer::faulty::FaultyFiles;
use ringer::internals::store::file_layer::memory::MemoryFiles;
use ringer::scheme::{CardinalityField, Elements, Slots};
use ringer::{Database, Error, Options, Reader, Result, Scheme, Stored};

pub use model::Model;

/// The path of the database.
pub const PATH: &str = "/d/corpus.ringer";

/// The path of packed copies.
pub const PACKED: &str = "/d/packed.ringer";

/// Returns a scheme with small signatures and few slots, so that pages are small. Sets are kept, so that all kinds of
/// pages occur.
pub fn scheme() -> Scheme {
    let parameters = ringer::presets::PRECISE
        .with_samples(64)
        .with_bits(2)
        .with_cardinality(CardinalityField::Log8)
        .with_slots(Slots { count: 4, samples_per_slot: 4, value_bits: 8, min_matches: 1 })
        .with_elements(Elements::EXACT);
    Scheme::new(parameters).unwrap()
}

/// Returns options under which checkpoints and merges run often, inside the calls.
pub fn options() -> Options {
    Options::default()
        .with_cache_bytes(1 << 20)
        .with_memtable_rows(8)
        .with_build_bytes(700)
        .with_background(false)
}

/// Returns the elements of set `n`. Set 0 is empty.
pub fn set(n: u64) -> Vec<u64> {
    if n == 0 { Vec::new() } else { (0..10 + n % 5).map(|i| 1000 * n + i).collect() }
}

/// Returns the value of set `n`, if it has one: short, or more than a page.
pub fn value(n: u64) -> Option<Vec<u8>> {
    let length = if n.is_multiple_of(10) { 8_500 } else { n as usize % 7 };
    (n % 3 != 2).then(|| (0..length).map(|i| (i as u64 + n) as u8).collect())
}

/// What is stored under each key, and by which commit.
pub type Contents = BTreeMap<Vec<u8>, Stored>;

/// One operation: a key and the number of its set, or `None` to delete the key.
pub type Operation = (Vec<u8>, Option<u64>);

/// One step in the history of a database.
#[derive(Debug, Clone)]
pub enum Step {
    /// Create it.
    Create,
    /// Open it.
    Open,
    /// Commit a batch.
    Commit(Vec<Operation>),
    /// Load in bulk.
    Bulk(Vec<(Vec<u8>, u64)>),
    Checkpoint,
    Compact,
    Vacuum,
    /// Write a copy to [`PACKED`].
    Pack,
    Close,
    /// Kill the process.
    Kill,
}

/// When a commit started and returned, counted in disk changes.
#[derive(Debug, Clone, Copy)]
struct Ack {
    started: usize,
    returned: usize,
    sequence: u64,
}

/// A database and the record of its history.
pub struct History {
    pub files: FaultyFiles,
    pub db: Option<Database>,
    pub model: Model,
    options: Options,
    acks: Vec<Ack>,
    /// Pairs of a number of disk changes and a sequence: from that point on, the file is known to contain all commits
    /// up to it.
    seals: Vec<(usize, u64)>,
    /// The number of disk changes after which the database existed.
    created: usize,
    /// When the copy was started, when it was finished, and its sequence.
    packed: Option<(usize, usize, u64)>,
}

impl History {
    /// Starts on an empty disk.
    pub fn new() -> History {
        History::with(options())
    }

    /// Starts on an empty disk with these options.
    pub fn with(options: Options) -> History {
        let disk = MemoryFiles::new().with_file("/d/other", "not ours");
        History {
            files: FaultyFiles::resume(disk),
            db: None,
            model: Model::new(),
            options,
            acks: Vec::new(),
            seals: vec![(0, 0)],
            created: usize::MAX,
            packed: None,
        }
    }

    /// Runs these steps, none of which may fail.
    pub fn of(steps: &[Step]) -> History {
        let mut history = History::new();
        for step in steps {
            history.step(step).unwrap_or_else(|error| panic!("{step:?}: {error}"));
        }
        history
    }

    /// Returns the same history up to a kill after `at` disk changes.
    pub fn killed_at(&self, at: usize) -> History {
        // A call that had not returned by then never will.
        let or_never = |returned: usize| if returned <= at { returned } else { usize::MAX };
        let begun = self.acks.iter().filter(|ack| ack.started <= at);
        let acks = begun.map(|ack| Ack { returned: or_never(ack.returned), ..*ack }).collect();
        History {
            files: self.files.killed_at(at),
            db: None,
            model: self.model.clone(),
            options: self.options.clone(),
            acks,
            seals: self.seals.iter().filter(|(when, _)| *when <= at).copied().collect(),
            created: or_never(self.created),
            packed: self.packed.filter(|(_, returned, _)| *returned <= at),
        }
    }

    fn now(&self) -> usize {
        self.files.operations()
    }

    fn open_database(&self) -> &Database {
        self.db.as_ref().expect("a database is open")
    }

    /// Runs one step.
    pub fn step(&mut self, step: &Step) -> Result<()> {
        match step {
            Step::Create => {
                let (layer, options) = (self.files.layer(), self.options.clone());
                let path = Path::new(PATH);
                let db = Database::create_in(layer, path, &scheme(), options)?;
                self.settle(db.snapshot().sequence());
                self.db = Some(db);
            }
            Step::Open => {
                let db = open(&self.files)?;
                self.settle(db.snapshot().sequence());
                self.db = Some(db);
            }
            Step::Commit(operations) => self.commit(operations, |db| {
                let mut batch = db.batch();
                fill(&mut batch, operations)?;
                db.commit(batch)
            })?,
            Step::Bulk(rows) => {
                let operations: Vec<Operation> =
                    rows.iter().map(|(key, n)| (key.clone(), Some(*n))).collect();
                self.commit(&operations, |db| {
                    let mut load = db.bulk_load();
                    load_all(&mut load, rows)?;
                    load.commit()
                })?;
                self.checkpointed();
            }
            Step::Checkpoint => {
                self.open_database().checkpoint()?;
                self.checkpointed();
            }
            Step::Compact => {
                self.open_database().compact()?;
                self.checkpointed();
            }
            Step::Vacuum => self.open_database().vacuum()?,
            Step::Pack => {
                let started = self.now();
                self.open_database().pack(PACKED)?;
                self.packed = Some((started, self.now(), self.model.last()));
            }
            Step::Close => {
                self.db.take().expect("a database is open").close()?;
                self.checkpointed();
            }
            Step::Kill => {
                let next = self.files.killed_at(self.now());
                // The old process can only write to the old disk from here on.
                self.files = next;
                self.db = None;
            }
        }
        if let Some(db) = &self.db {
            self.model.check(&db.snapshot());
        }
        Ok(())
    }

    fn commit(
        &mut self,
        operations: &[Operation],
        act: impl FnOnce(&Database) -> Result<ringer::Committed>,
    ) -> Result<()> {
        let started = self.now();
        let committed = act(self.open_database())?;
        self.model.commit(operations);
        let sequence = self.model.last();
        assert_eq!(committed.sequence, sequence, "sequences go on without a gap");
        self.acks.push(Ack { started, returned: self.now(), sequence });
        Ok(())
    }

    fn checkpointed(&mut self) {
        self.seals.push((self.now(), self.model.last()));
    }

    /// Records that what an open after a kill showed is durable.
    fn settle(&mut self, sequence: u64) {
        let now = self.now();
        self.acks.retain(|ack| ack.sequence <= sequence);
        if let Some(ack) = self.acks.last_mut() {
            assert_eq!(ack.sequence, sequence, "an acknowledged commit is lost");
            ack.returned = ack.returned.min(now);
        }
        self.model.cut(sequence);
        self.created = self.created.min(now);
        self.seals.push((now, sequence));
    }

    /// Returns the first and the last commit that the database may end with after a crash at this point.
    fn bounds(&self, at: usize) -> (u64, u64) {
        let done = self.acks.iter().filter(|ack| ack.returned <= at).map(|ack| ack.sequence);
        let begun = self.acks.iter().filter(|ack| ack.started < at).map(|ack| ack.sequence);
        (done.max().unwrap_or(0), begun.max().unwrap_or(0))
    }

    /// Checks the disk that a crash at this point left, in all ways, and changes that disk. Returns the last commit
    /// that was found.
    pub fn check_crash(&self, at: usize, image: &MemoryFiles) -> u64 {
        let there = image.contents(PATH).is_some();
        assert!(there || at < self.created, "the database is gone");
        if there {
            self.check_unwritten(at, image);
        }
        let db = if there { open(image).unwrap() } else { create(image).unwrap() };
        let sequence = self.check_opened(at, &db);
        let mut model = self.model.clone();
        model.cut(sequence);
        let operations = [(b"one more".to_vec(), Some(77)), (b"k01".to_vec(), None)];
        let mut batch = db.batch();
        fill(&mut batch, &operations).unwrap();
        assert_eq!(db.commit(batch).unwrap().sequence, sequence + 1);
        model.commit(&operations);
        model.check(&db.snapshot());
        db.close().unwrap();
        assert_eq!(names_of(image, PATH), [PathBuf::from(PATH)], "a closed database is one file");
        let reader = Reader::open_in(Arc::new(image.clone()), Path::new(PATH), options()).unwrap();
        model.check(&reader.snapshot());
        assert_eq!((reader.snapshot().sequence(), reader.is_clean()), (sequence + 1, true));
        assert_eq!(image.contents("/d/other").unwrap(), b"not ours");
        self.check_packed(at, image);
        sequence
    }

    /// Checks a database that was opened after a crash at this point, and returns its last commit.
    pub fn check_opened(&self, at: usize, db: &Database) -> u64 {
        let (least, most) = self.bounds(at);
        let sequence = db.snapshot().sequence();
        assert!((least..=most).contains(&sequence), "{sequence} is not in {least}..={most}");
        self.model.check(&db.snapshot());
        assert_eq!(db.open_report().commits_lost, None);
        sequence
    }

    /// Reads the disk without writing. The contents are those that the next writer finds, and no byte changes.
    fn check_unwritten(&self, at: usize, image: &MemoryFiles) {
        let before = bytes_of(image);
        let reader = Reader::open_in(Arc::new(image.clone()), Path::new(PATH), options()).unwrap();
        let checkpointed = self.seals.iter().filter(|(when, _)| *when <= at).map(|(_, s)| *s).max();
        let ((acknowledged, most), seen) = (self.bounds(at), reader.snapshot().sequence());
        let least = acknowledged.max(checkpointed.unwrap_or(0));
        assert!((least..=most).contains(&seen), "{seen} is not in {least}..={most}");
        self.model.check(&reader.snapshot());
        drop(reader);
        assert!(before == bytes_of(image), "reading changed bytes");
        let writer = open(&MemoryFiles::from_entries(image.entries())).unwrap();
        assert_eq!(seen, writer.snapshot().sequence(), "a writer finds something else");
    }

    /// Asserts that the copy is complete, or can be made again.
    fn check_packed(&self, at: usize, image: &MemoryFiles) {
        let Some((started, returned, sequence)) = self.packed.filter(|p| p.0 < at) else { return };
        let there = image.contents(PACKED).is_some();
        assert!(there || at < returned, "the copy is gone");
        let layer: Arc<MemoryFiles> = Arc::new(image.clone());
        if !there {
            let reader = Reader::open_in(layer.clone(), Path::new(PATH), options()).unwrap();
            reader.pack(PACKED).unwrap();
            drop(reader);
        } else {
            let reader = Reader::open_in(layer.clone(), Path::new(PACKED), options()).unwrap();
            self.model.check(&reader.snapshot());
            assert_eq!(reader.snapshot().sequence(), sequence, "begun at {started}");
        }
        let copy = Database::open_in(layer, Path::new(PACKED), options()).unwrap();
        copy.close().unwrap();
        assert_eq!(names_of(image, PACKED), [PathBuf::from(PACKED)], "a copy is one file");
    }
}

/// Runs a check, and adds the place to its message if it fails.
pub fn at<T>(place: impl FnOnce() -> String, check: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(check)).unwrap_or_else(|panic| {
        eprintln!("failed after {}", place());
        resume_unwind(panic)
    })
}

/// Creates the database.
pub fn create(files: &(impl AsLayer + ?Sized)) -> Result<Database> {
    Database::create_in(files.layer(), Path::new(PATH), &scheme(), options())
}

/// Opens the database for writing.
pub fn open(files: &(impl AsLayer + ?Sized)) -> Result<Database> {
    Database::open_in(files.layer(), Path::new(PATH), options())
}

/// A file system that can be shared.
pub trait AsLayer {
    fn layer(&self) -> Arc<dyn ringer::internals::store::file_layer::FileLayer>;
}

impl AsLayer for FaultyFiles {
    fn layer(&self) -> Arc<dyn ringer::internals::store::file_layer::FileLayer> {
        Arc::new(self.clone())
    }
}

impl AsLayer for MemoryFiles {
    fn layer(&self) -> Arc<dyn ringer::internals::store::file_layer::FileLayer> {
        Arc::new(self.clone())
    }
}

/// Puts rows into a bulk load.
pub fn load_all(load: &mut ringer::BulkLoad, rows: &[(Vec<u8>, u64)]) -> Result<()> {
    rows.iter().try_for_each(|(key, n)| {
        load.put(key, &set(*n))?;
        value(*n).map_or(Ok(()), |value| load.with_value(value))
    })
}

/// Puts operations into a batch.
pub fn fill(batch: &mut ringer::Batch, operations: &[Operation]) -> Result<()> {
    for (key, n) in operations {
        match n {
            Some(n) => {
                batch.put(key, &set(*n))?;
                if let Some(value) = value(*n) {
                    batch.with_value(value)?;
                }
            }
            None => drop(batch.delete(key)?),
        }
    }
    Ok(())
}

/// Returns all files and folders whose names start with a path.
pub fn names_of(files: &MemoryFiles, path: &str) -> Vec<PathBuf> {
    let own = |p: &PathBuf| p.to_string_lossy().starts_with(path);
    files.entries().into_iter().map(|entry| entry.path).filter(own).collect()
}

/// Returns all names with their bytes.
pub fn bytes_of(files: &MemoryFiles) -> Vec<(PathBuf, Option<Vec<u8>>)> {
    let entries = files.entries().into_iter();
    entries.map(|e| (e.path, e.bytes.map(|bytes| bytes.to_vec()))).collect()
}

/// Returns whether an error is one that a disk failure may cause.
pub fn is_of_the_disk(error: &Error) -> bool {
    matches!(error, Error::Io { .. } | Error::NoSpace { .. } | Error::Poisoned { .. })
}
