//! Random sequences of all operations on a database, compared with a plain map. The database agrees with the map
//! after any order of commits, loads, merges, vacuums, closes and crashes (STEP-1 to STEP-9).

use testkit::folder;
use testkit::oracle;
use testkit::scale::cases;

use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

use oracle::{
    Change, History, KEYS, Map, SETS, compare, compare_prefix, compare_queries, compare_range,
    scheme_keeping,
};
use ringer::db::{Depth, Reader};
use ringer::internals::maintenance::check::check;
use ringer::internals::store::file_layer::FileLayer;
use ringer::internals::store::file_layer::faulty::{CrashKind, FaultyFiles};
use ringer::internals::store::file_layer::real::RealFiles;
use ringer::{Database, LogKind, Options, Snapshot};

/// One operation on a database.
#[derive(Debug, Clone)]
enum Step {
    Commit(Vec<Change>),
    BulkLoad(Vec<(usize, usize)>),
    /// Starts a bulk load and drops it without a commit.
    AbandonLoad(Vec<(usize, usize)>),
    Checkpoint,
    Compact,
    Vacuum,
    Pack,
    /// Takes a snapshot to compare again later.
    Keep,
    /// Compares the snapshots that were kept.
    LookBack,
    /// Opens a reader, or refreshes the open one, and compares.
    Read,
    Range(Bound<Vec<u8>>, Bound<Vec<u8>>),
    Prefix(Vec<u8>),
    /// Closes or drops the database, and opens it again. Both must have the same effect.
    Reopen {
        close: bool,
        options: Options,
    },
    /// Crashes during a step, after any number of its disk changes.
    Crash {
        during: Box<Step>,
        progress: u16,
        kind: usize,
        options: Options,
    },
}

fn options() -> impl Strategy<Value = Options> {
    let bytes = prop::sample::select(vec![1, 300, 2000, 1 << 20]);
    let cache = prop::sample::select(vec![0, 1, 5000, 1 << 20]);
    let memory = prop::sample::select(vec![1, 300, 1 << 20]);
    let log = prop::sample::select(vec![LogKind::Plain, LogKind::Sled]);
    (1..8_usize, memory, bytes, cache, any::<bool>(), prop::bool::weighted(0.9), log).prop_map(
        |(memtable_rows, memtable_bytes, build_bytes, cache_bytes, background, merge, log)| {
            Options::default()
                .with_memtable_rows(memtable_rows)
                .with_memtable_bytes(memtable_bytes)
                .with_build_bytes(build_bytes)
                .with_cache_bytes(cache_bytes)
                .with_background(background)
                .with_merge(merge)
                .with_log(log)
        },
    )
}

fn bound() -> impl Strategy<Value = Bound<Vec<u8>>> {
    let stored = (0..KEYS.len()).prop_map(|i| KEYS[i].clone());
    let other = vec(prop::sample::select(vec![0, b'a', b'b', 0xff]), 0..4);
    prop_oneof![stored, other].prop_flat_map(|key| {
        prop::sample::select(vec![Bound::Included(key.clone()), Bound::Excluded(key)])
    })
}

/// Generates a step that changes what is stored or how it is stored. `sets` is the number of sets to draw from, those
/// with values counted apart.
fn work(sets: usize) -> impl Strategy<Value = Step> {
    let change = || (0..KEYS.len(), prop::option::weighted(0.7, 0..sets));
    let row = || (0..KEYS.len(), 0..sets);
    prop_oneof![
        12 => vec(change(), 1..2).prop_map(Step::Commit),
        6 => vec(change(), 0..12).prop_map(Step::Commit),
        3 => vec(row(), 0..24).prop_map(Step::BulkLoad),
        3 => Just(Step::Checkpoint),
        2 => Just(Step::Compact),
        2 => Just(Step::Vacuum),
    ]
}

/// Generates the steps of a case. Half of the cases have no values.
fn steps(count: std::ops::Range<usize>) -> impl Strategy<Value = Vec<Step>> {
    let sets = prop::sample::select(vec![SETS.len(), 2 * SETS.len()]);
    sets.prop_flat_map(move |sets| vec(step(sets), count.clone()))
}

fn step(sets: usize) -> impl Strategy<Value = Step> {
    let crash = (work(sets), any::<u16>(), any::<usize>(), options()).prop_map(
        |(during, progress, kind, options)| {
            let during = Box::new(during);
            Step::Crash { during, progress, kind, options }
        },
    );
    let reopen =
        (any::<bool>(), options()).prop_map(|(close, options)| Step::Reopen { close, options });
    let edge = || prop_oneof![4 => bound(), 1 => Just(Bound::Unbounded)];
    let prefix = bound().prop_map(|bound| match bound {
        Bound::Included(key) | Bound::Excluded(key) => Step::Prefix(key),
        Bound::Unbounded => Step::Prefix(Vec::new()),
    });
    let rows = vec((0..KEYS.len(), 0..SETS.len()), 1..12);
    prop_oneof![
        28 => work(sets),
        1 => rows.prop_map(Step::AbandonLoad),
        1 => Just(Step::Pack),
        3 => Just(Step::Keep),
        2 => Just(Step::LookBack),
        2 => Just(Step::Read),
        2 => (edge(), edge()).prop_map(|(from, to)| Step::Range(from, to)),
        1 => prefix,
        2 => reopen,
        3 => crash,
    ]
}

/// The file system of a database.
enum World {
    Memory(FaultyFiles),
    /// Each reopening after a crash uses a new folder; the crash leaves the old one behind.
    Disk(tempfile::TempDir, PathBuf),
}

impl World {
    fn layer(&self) -> Arc<dyn FileLayer> {
        match self {
            World::Memory(files) => Arc::new(files.clone()),
            World::Disk(..) => Arc::new(RealFiles),
        }
    }

    /// Adapts the options to the file system: sled needs real files.
    fn fit(&self, options: Options) -> Options {
        match self {
            World::Memory(_) => options.with_log(LogKind::Plain),
            World::Disk(..) => options,
        }
    }

    fn folder(&self) -> &Path {
        match self {
            World::Memory(_) => Path::new("/"),
            World::Disk(_, folder) => folder,
        }
    }

    fn path(&self) -> PathBuf {
        self.folder().join("corpus.ringer")
    }

    /// Returns the file names in the folder, including the database's own.
    fn names(&self) -> Vec<String> {
        match self {
            World::Memory(files) => {
                let entries = files.running().entries();
                let names = entries.iter().filter_map(|entry| entry.path.file_name());
                names.map(|name| name.to_str().unwrap().to_string()).collect()
            }
            World::Disk(_, folder) => folder::names(folder),
        }
    }
}

/// A database, its model, and its open readers and snapshots.
struct Run {
    world: World,
    options: Options,
    db: Option<Database>,
    history: History,
    kept: Vec<(Snapshot, Map)>,
    reader: Option<Reader>,
}

impl Run {
    fn new(world: World, keep_sets: bool, options: Options) -> Run {
        let (layer, path, options) = (world.layer(), world.path(), world.fit(options));
        let db = Database::create_in(layer, &path, &scheme_keeping(keep_sets), options.clone());
        let (db, history) = (Some(db.unwrap()), History::new());
        Run { world, options, db, history, kept: Vec::new(), reader: None }
    }

    fn db(&self) -> &Database {
        self.db.as_ref().expect("open between steps")
    }

    fn open(&mut self, options: Options) {
        let (layer, path) = (self.world.layer(), self.world.path());
        let options = self.world.fit(options);
        let opened = Database::open_in(layer, &path, options.clone());
        self.db = Some(opened.unwrap_or_else(|error| panic!("it does not open: {error}")));
        self.options = options;
    }

    fn step(&mut self, step: &Step) {
        match step {
            Step::Commit(changes) => {
                let expected = self.history.commit(changes);
                let committed = oracle::commit(self.db(), changes);
                assert_eq!(committed.unwrap(), expected);
            }
            Step::BulkLoad(rows) => {
                let changes: Vec<Change> = rows.iter().map(|(k, s)| (*k, Some(*s))).collect();
                let expected = self.history.commit(&changes);
                assert_eq!(oracle::bulk_load(self.db(), rows).unwrap(), expected);
            }
            Step::AbandonLoad(rows) => {
                let mut load = self.db().bulk_load();
                rows.iter().for_each(|(key, set)| load.put(&KEYS[*key], &SETS[*set]).unwrap());
            }
            Step::Checkpoint => {
                self.db().checkpoint().unwrap();
                let stat = self.db().stat().unwrap();
                assert_eq!(stat.fresh, 0);
            }
            Step::Compact => {
                self.db().compact().unwrap();
                let stat = self.db().stat().unwrap();
                let segments = usize::from(!self.history.now().is_empty());
                assert_eq!((stat.segments, stat.hidden_rows, stat.fresh), (segments, 0, 0));
                assert_eq!(stat.dead_bytes, 0);
            }
            Step::Vacuum => {
                self.db().vacuum().unwrap();
                if !self.options.background {
                    assert_eq!(self.db().stat().unwrap().dead_bytes, 0);
                }
            }
            Step::Pack => self.pack(),
            Step::Keep => self.kept.push((self.db().snapshot(), self.history.now().clone())),
            Step::LookBack => self.look_back(),
            Step::Read => self.read(),
            Step::Range(from, to) => {
                let (from, to) = (from.as_ref().map(|k| &**k), to.as_ref().map(|k| &**k));
                compare_range(&self.db().snapshot(), self.history.now(), from, to, "range");
                for (snapshot, map) in &self.kept {
                    compare_range(snapshot, map, from, to, "range of a kept snapshot");
                }
            }
            Step::Prefix(prefix) => {
                compare_prefix(&self.db().snapshot(), self.history.now(), prefix, "prefix");
            }
            Step::Reopen { close, options } => {
                self.close(*close);
                self.open(options.clone());
                assert!(self.db().open_report().clean);
            }
            Step::Crash { during, progress, kind, options } => {
                self.crash(during, *progress, *kind, options);
            }
        }
    }

    fn close(&mut self, close: bool) {
        let db = self.db.take().expect("open between steps");
        if close {
            db.close().unwrap();
        } else {
            drop(db);
        }
        let names = self.world.names();
        assert!(names.iter().all(|n| n == "corpus.ringer" || n.starts_with("packed")), "{names:?}");
    }

    fn pack(&self) {
        let target = self.world.folder().join(format!("packed-{}", self.history.last()));
        let layer = self.world.layer();
        if layer.kind(&target).unwrap().is_some() {
            assert!(matches!(self.db().pack(&target), Err(ringer::Error::Exists { .. })));
            return;
        }
        self.db().pack(&target).unwrap();
        let reader = Reader::open_in(layer, &target, Options::default()).unwrap();
        compare(&reader.snapshot(), self.history.now(), "packed");
        assert!(reader.is_clean());
    }

    fn look_back(&self) {
        for (snapshot, map) in &self.kept {
            compare(snapshot, map, "kept snapshot");
            compare_queries(snapshot, map, "kept snapshot");
        }
    }

    /// Asserts that a reader sees every commit, and that its earlier snapshots do not change. With a log in sled, it
    /// counts the commits that it does not see.
    fn read(&mut self) {
        let before = match &self.reader {
            Some(reader) => {
                let before = reader.snapshot();
                reader.refresh().unwrap();
                compare(&before, self.history.at(before.sequence()), "reader before refreshing");
                before.sequence()
            }
            None => {
                let layer = self.world.layer();
                let options = self.options.clone();
                let path = self.world.path();
                self.reader = Some(Reader::open_in(layer, &path, options).unwrap());
                0
            }
        };
        let reader = self.reader.as_ref().expect("opened above");
        let snapshot = reader.snapshot();
        let sequence = snapshot.sequence();
        assert!(sequence >= before);
        let hidden = reader.hidden_commits();
        assert!(hidden == 0 || self.options.log == LogKind::Sled);
        assert_eq!(sequence + hidden, self.history.last());
        compare(&snapshot, self.history.at(sequence), "reader");
    }

    /// Leaves the disk as a crash within a step would, and opens it. All earlier commits are there; the commit of the
    /// step may be.
    fn crash(&mut self, during: &Step, progress: u16, kind: usize, options: &Options) {
        let before = self.history.last();
        let operations = match &self.world {
            World::Memory(files) => files.operations(),
            World::Disk(..) => 0,
        };
        self.step(during);
        self.reader = None;
        match &self.world {
            World::Memory(files) => {
                let made = files.operations() - operations;
                let at = operations + made * usize::from(progress) / usize::from(u16::MAX);
                let walk = files.walk().go_to(at);
                let kinds = walk.kinds();
                let killed = kind.is_multiple_of(3);
                let kind = if killed { CrashKind::Killed } else { kinds[kind % kinds.len()] };
                let image = walk.image(kind);
                drop(self.db.take());
                self.world = World::Memory(FaultyFiles::resume(image));
            }
            World::Disk(..) if self.options.background => {
                // A copy taken while a thread works would mix several moments.
                self.close(true);
            }
            World::Disk(top, folder) => {
                let new = tempfile::tempdir_in(top).unwrap().keep();
                folder::copy(folder, &new);
                drop(self.db.take());
                let World::Disk(_, folder) = &mut self.world else { unreachable!() };
                *folder = new;
            }
        }
        self.open(options.clone());
        let found = self.db().snapshot().sequence();
        assert!((before..=self.history.last()).contains(&found), "{found}: commits were lost");
        self.history.cut(found);
        self.check();
    }

    /// Checks every page of the file and looks up every key.
    fn check(&self) {
        let (layer, path) = (self.world.layer(), self.world.path());
        let report = check(&*layer, &path, Depth::Deep).unwrap();
        assert_eq!(report.findings, []);
    }

    fn compare(&self) {
        compare(&self.db().snapshot(), self.history.now(), "database");
        let stat = self.db().stat().unwrap();
        assert_eq!(stat.sets, self.history.now().len() as u64);
        assert_eq!(stat.sequence, self.history.last());
        assert!(stat.rows - stat.hidden_rows <= stat.rows);
    }
}

fn run(world: World, keep_sets: bool, options: Options, steps: &[Step]) {
    let mut run = Run::new(world, keep_sets, options);
    for step in steps {
        run.step(step);
        run.compare();
    }
    run.look_back();
    compare_queries(&run.db().snapshot(), run.history.now(), "database");
    run.close(true);
    run.look_back();
    run.check();
    run.open(Options::default());
    run.compare();
}

fn config(count: u32) -> ProptestConfig {
    let cases = std::env::var("PROPTEST_CASES").map_or(count, |n| n.parse().unwrap());
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

#[test]
fn a_database_in_memory_agrees_with_a_map() {
    let strategy = (options(), any::<bool>(), steps(1..40));
    let result =
        TestRunner::new(config(cases(250, 3000))).run(&strategy, |(options, keep_sets, steps)| {
            run(World::Memory(FaultyFiles::new()), keep_sets, options, &steps);
            Ok(())
        });
    result.unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn a_database_on_disk_agrees_with_a_map() {
    let strategy = (options(), any::<bool>(), steps(20..40));
    let result =
        TestRunner::new(config(cases(5, 30))).run(&strategy, |(options, keep_sets, steps)| {
            let top = tempfile::tempdir().unwrap();
            let folder = top.path().join("first");
            std::fs::create_dir(&folder).unwrap();
            run(World::Disk(top, folder), keep_sets, options, &steps);
            Ok(())
        });
    result.unwrap_or_else(|error| panic!("{error}"));
}
