//! Disk failures: any operation fails, once or from then on. The call returns a typed error, reads still work, no
//! commit is acknowledged that a power cut could lose, and the next open has everything.

use testkit::history;
use testkit::scale::cases;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use ringer::internals::store::file_layer::faulty::{CrashKind, Failure, Fault, FaultyFiles};
use ringer::internals::store::file_layer::memory::MemoryFiles;
use ringer::{Database, Error, Result};

use history::{
    AsLayer, Contents, History, Model, Operation, PACKED, PATH, Step, create, fill, is_of_the_disk,
    load_all, names_of, open, scheme, script, set,
};

/// A history with a failure in it.
struct Trial {
    files: FaultyFiles,
    db: Option<Database>,
    model: Model,
    /// The contents that each commit that failed since the last success would have left.
    attempts: Vec<Contents>,
    /// The number of failed steps.
    failures: usize,
}

impl Trial {
    fn new(fault: Fault) -> Trial {
        let files = FaultyFiles::resume(MemoryFiles::new().with_file("/d/other", "not ours"));
        files.arm(fault);
        Trial { files, db: None, model: Model::new(), attempts: Vec::new(), failures: 0 }
    }

    /// Runs all steps, recovers after each failure, and checks the result.
    fn run(mut self, steps: &[Step]) -> usize {
        for step in steps {
            if self.db.is_none() && !matches!(step, Step::Create | Step::Open) && !self.restart() {
                break;
            }
            let tripped = self.files.tripped();
            let result = self.step(step);
            let failures = self.files.tripped() - tripped;
            match result {
                Ok(()) => {}
                Err(error) => {
                    assert!(is_of_the_disk(&error), "{step:?}: {error}");
                    self.failures += 1;
                    self.forget_undone();
                }
            }
            if failures > 0 {
                self.check_disks();
            }
            self.check_reads();
            self.check_poison();
        }
        self.files.disarm();
        self.db = None;
        self.check_disks();
        check_disk(self.files.running(), &self.model, &self.attempts);
        self.failures
    }

    /// Opens or creates the database again after a failure. Returns `false` if the disk keeps failing.
    fn restart(&mut self) -> bool {
        let there = self.files.running().contents(PATH).is_some();
        let result = if there { open(&self.files) } else { create(&self.files) };
        match result {
            Ok(db) => self.settle(db),
            Err(error) => {
                assert!(is_of_the_disk(&error), "{error}");
                assert!(self.files.tripped() > 0, "{error}");
            }
        }
        self.db.is_some()
    }

    /// Accepts what the reopened database shows as the current contents.
    fn settle(&mut self, db: Database) {
        let sequence = db.snapshot().sequence();
        if sequence > self.model.last() {
            let attempt = which(&self.model, &self.attempts, &db);
            self.model.push(attempt);
        }
        self.attempts.clear();
        assert_eq!(sequence, self.model.last(), "an acknowledged commit is lost");
        self.model.check(&db.snapshot());
        self.db = Some(db);
    }

    fn step(&mut self, step: &Step) -> Result<()> {
        match step {
            Step::Create => return create(&self.files).map(|db| self.settle(db)),
            Step::Open => return open(&self.files).map(|db| self.settle(db)),
            Step::Close | Step::Kill => {
                self.db.take().map_or(Ok(()), Database::close)?;
                let left = names_of(self.files.running(), PATH);
                assert_eq!(left, [PathBuf::from(PATH)], "a closed database is one file");
                return Ok(());
            }
            _ => {}
        }
        let db = self.db.as_ref().expect("it was opened");
        match step {
            Step::Commit(operations) => {
                let mut batch = db.batch();
                fill(&mut batch, operations)?;
                let committed = db.commit(batch).map(|committed| committed.sequence);
                self.note(operations, committed)
            }
            Step::Bulk(rows) => {
                let operations: Vec<Operation> =
                    rows.iter().map(|(key, n)| (key.clone(), Some(*n))).collect();
                let mut load = db.bulk_load();
                load_all(&mut load, rows)?;
                let committed = load.commit().map(|committed| committed.sequence);
                self.note(&operations, committed)
            }
            Step::Checkpoint => db.checkpoint(),
            Step::Compact => db.compact(),
            Step::Vacuum => db.vacuum(),
            Step::Pack => db.pack(PACKED),
            Step::Create | Step::Open | Step::Close | Step::Kill => Ok(()),
        }
    }

    fn note(&mut self, operations: &[Operation], committed: Result<u64>) -> Result<()> {
        let after = self.model.after(operations);
        match committed {
            Ok(sequence) => {
                self.model.push(after);
                assert_eq!(sequence, self.model.last());
                self.attempts.clear();
                Ok(())
            }
            Err(error) => {
                self.attempts.push(after);
                Err(error)
            }
        }
    }

    /// If the writer is still usable, nothing of the failed commits remains.
    fn forget_undone(&mut self) {
        let Some(db) = &self.db else { return };
        if !matches!(db.commit(db.batch()), Err(Error::Poisoned { .. })) {
            self.attempts.clear();
        }
    }

    /// Asserts that exactly the acknowledged commits are visible.
    fn check_reads(&self) {
        let Some(db) = &self.db else { return };
        assert_eq!(db.snapshot().sequence(), self.model.last());
        self.model.check(&db.snapshot());
    }

    /// Asserts that a poisoned writer refuses every change until it is opened again.
    fn check_poison(&mut self) {
        let Some(db) = &self.db else { return };
        let Err(Error::Poisoned { .. }) = db.checkpoint() else { return };
        let mut batch = db.batch();
        batch.put("poisoned", &set(1)).unwrap();
        assert!(matches!(db.commit(batch), Err(Error::Poisoned { .. })));
        self.check_reads();
        let closed = self.db.take().map_or(Ok(()), Database::close);
        assert!(matches!(closed, Err(Error::Poisoned { .. })), "{closed:?}");
    }

    /// Asserts that everything acknowledged survives a kill or a power cut at this point.
    fn check_disks(&self) {
        for kind in [CrashKind::Killed, CrashKind::NothingUnsynced, CrashKind::LostNames] {
            let image = self.files.crash_image(self.files.operations(), kind);
            check_disk(&image, &self.model, &self.attempts);
        }
    }
}

/// Returns the contents that were found, and asserts that they are those of exactly one failed commit.
fn which(model: &Model, attempts: &[Contents], db: &Database) -> Contents {
    let snapshot = db.snapshot();
    let next = model.last() + 1;
    assert_eq!(snapshot.sequence(), next, "more than one commit that failed is there");
    let rows = snapshot.range::<&[u8]>(..).map(|row| {
        let (key, stored) = row.unwrap();
        (key.into_vec(), stored)
    });
    let found: Contents = rows.collect();
    assert!(attempts.contains(&found), "a commit that failed is there in part");
    found
}

/// Asserts that the database opens, has every acknowledged commit, and can be used.
fn check_disk(disk: &MemoryFiles, model: &Model, attempts: &[Contents]) {
    let there = disk.contents(PATH).is_some();
    assert!(there || model.last() == 0, "the database is gone");
    let db = if there { open(disk).unwrap() } else { create(disk).unwrap() };
    let mut model = model.clone();
    if db.snapshot().sequence() > model.last() {
        let attempt = which(&model, attempts, &db);
        model.push(attempt);
    }
    assert_eq!(db.snapshot().sequence(), model.last(), "an acknowledged commit is lost");
    model.check(&db.snapshot());
    let mut batch = db.batch();
    let operations = [(b"one more".to_vec(), Some(5))];
    fill(&mut batch, &operations).unwrap();
    db.commit(batch).unwrap();
    model.commit(&operations);
    db.close().unwrap();
    assert_eq!(names_of(disk, PATH), [PathBuf::from(PATH)], "a closed database is one file");
    let db = open(disk).unwrap();
    model.check(&db.snapshot());
}

/// The whole script, with closes instead of kills.
fn steps() -> Vec<Step> {
    let all = script::all().into_iter();
    all.map(|step| if matches!(step, Step::Kill) { Step::Close } else { step }).collect()
}

/// Runs the script with each of these faults, at each operation in turn.
fn try_each(counts: usize, faults: impl Fn(usize) -> Vec<Fault> + Sync) -> (usize, usize) {
    let steps = steps();
    let all: Vec<Fault> = (0..counts).step_by(cases(7, 1)).flat_map(&faults).collect();
    let runs = all.len();
    let failures = all.into_par_iter().panic_fuse().map(|fault| {
        catch_unwind(AssertUnwindSafe(|| Trial::new(fault).run(&steps))).unwrap_or_else(|panic| {
            eprintln!("failed with {fault:?}");
            resume_unwind(panic)
        })
    });
    (runs, failures.sum())
}

/// Returns the number of changes and of syncs in a run without failures.
fn operations() -> (usize, usize) {
    let files = History::of(&steps()).files;
    let is_sync = |change: &ringer::internals::store::file_layer::faulty::Change| {
        use ringer::internals::store::file_layer::faulty::Change;
        matches!(change, Change::Sync { .. } | Change::SyncDir { .. })
    };
    (files.operations(), files.changes().iter().filter(|change| is_sync(change)).count())
}

/// No file can grow. Checkpoints fail, commits succeed while there is room in memory, and reads always succeed. When
/// space is available again, everything works without a reopen.
#[test]
fn a_full_disk_stops_checkpoints_until_there_is_space() {
    for background in [false, true] {
        let files = MemoryFiles::new().with_file("/d/other", "");
        let options = history::options().with_background(background);
        let layer = files.layer();
        let db = Database::create_in(layer, Path::new(PATH), &scheme(), options);
        let db = db.unwrap();
        let mut model = Model::new();
        let mut commit = |n: u64| {
            let operations = [(format!("k{n}").into_bytes(), Some(n)), (b"k3".to_vec(), None)];
            let mut batch = db.batch();
            fill(&mut batch, &operations)?;
            let committed = db.commit(batch);
            if committed.is_ok() {
                model.commit(&operations);
            }
            model.check(&db.snapshot());
            committed.map(drop)
        };
        (0..6).for_each(|n| commit(n).unwrap());
        let full = files.contents(PATH).unwrap().len() as u64 + 300;
        let _ = files.clone().limited_to(full);
        let refused = (6..60).find_map(|n| commit(n).err());
        assert!(matches!(refused, Some(Error::NoSpace { .. })), "{refused:?}");
        assert!(matches!(db.checkpoint(), Err(Error::NoSpace { .. })));
        assert!(matches!(db.compact(), Err(Error::NoSpace { .. })));
        let _ = files.clone().limited_to(1 << 30);
        // A background thread may still report the failure.
        (60..80).for_each(|n| drop(commit(n)));
        (80..90).for_each(|n| commit(n).unwrap());
        db.close().unwrap();
        model.check(&open(&files).unwrap().snapshot());
    }
}

#[test]
fn after_a_failed_sync_of_a_commit_nothing_is_written_and_everything_is_read() {
    let history = History::of(&script::beginning());
    let db = history.db.as_ref().unwrap();
    history.files.arm(Fault::after_syncs(0, Failure::Device));
    let before = db.snapshot();
    assert!(matches!(db.put("k99", &set(1)), Err(Error::Io { operation: "sync", .. })));
    history.files.disarm();
    let writes = history.files.operations();
    assert!(matches!(db.put("k98", &set(1)), Err(Error::Poisoned { .. })));
    assert!(matches!(db.checkpoint(), Err(Error::Poisoned { .. })));
    assert!(matches!(db.compact(), Err(Error::Poisoned { .. })));
    assert!(matches!(db.vacuum(), Err(Error::Poisoned { .. })));
    let mut load = db.bulk_load();
    load.put("k97", &set(1)).unwrap();
    assert!(matches!(load.commit(), Err(Error::Poisoned { .. })));
    assert_eq!(history.files.operations(), writes);
    history.model.check(&before);
    history.model.check(&db.snapshot());
}

#[test]
fn an_operation_that_fails_once_loses_nothing() {
    let (runs, failures) = try_each(operations().0, |n| {
        [Failure::Device, Failure::Full, Failure::ShortWrite(40)]
            .map(|failure| Fault::after(n, failure))
            .to_vec()
    });
    eprintln!("{runs} runs, {failures} failed steps");
    assert!(failures > 0);
}

#[test]
fn a_disk_that_fails_for_good_loses_nothing() {
    let (runs, failures) = try_each(operations().0, |n| {
        [Failure::Device, Failure::Full].map(|f| Fault::after(n, f).sticky()).to_vec()
    });
    eprintln!("{runs} runs, {failures} failed steps");
}

#[test]
fn a_sync_that_fails_acknowledges_nothing_after_it() {
    let (runs, failures) = try_each(operations().1, |n| {
        let fault = Fault::after_syncs(n, Failure::Device);
        vec![fault, fault.sticky()]
    });
    eprintln!("{runs} runs, {failures} failed steps");
}
