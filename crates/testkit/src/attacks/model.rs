//! Runs operations, crashes and failures against a map as the model.
//!
//! In: up to sixty operations. Out: nothing, or a panic where the database and the map differ. A crash happens
//! between or within operations and leaves any disk state that the file layer allows. Afterwards every acknowledged
//! commit is there, and the interrupted operation is there completely or not at all. There are no threads here; races
//! are tested in `tests/`.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use ringer::internals::maintenance::check;
use ringer::internals::store::file_layer::FileLayer;
use ringer::internals::store::file_layer::faulty::{CrashKind, Failure, Fault, FaultyFiles};
use ringer::scheme::Slots;
use ringer::{
    Database, Depth, Like, Options, Reader, Result, Scheme, Signature, Sketcher, Snapshot, presets,
};

use super::input::Input;
use super::seeds::PATH;
use crate::query_oracle::{self, Request};

const MOST_OPERATIONS: usize = 60;
const KEYS: u8 = 24;
const SETS: u8 = 12;

/// Which set is under which key.
type Map = BTreeMap<Vec<u8>, u8>;
type Rows = BTreeMap<Vec<u8>, Signature>;

/// One operation on a database.
#[derive(Debug, Clone)]
enum Step {
    Batch(Vec<(Vec<u8>, Option<u8>)>),
    Load(Vec<(Vec<u8>, u8)>),
    Checkpoint,
    Compact,
    Vacuum,
    Reopen,
}

struct Run {
    files: FaultyFiles,
    options: Options,
    db: Option<Database>,
    map: Map,
    snapshots: Vec<(Snapshot, Map)>,
}

/// Runs the attack. The first byte selects options; operations with their operands follow.
pub fn model(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let mut run = Run::new(input.byte());
    for _ in 0..MOST_OPERATIONS {
        if input.is_empty() {
            break;
        }
        run.operation(&mut input);
    }
    run.step(&Step::Reopen).expect("it can be closed and opened");
    run.compare();
    run.checkpointed();
}

fn scheme() -> &'static (Scheme, Sketcher) {
    static SCHEME: OnceLock<(Scheme, Sketcher)> = OnceLock::new();
    SCHEME.get_or_init(|| {
        let slots = Slots { count: 4, samples_per_slot: 2, value_bits: 3, min_matches: 1 };
        let p = presets::PRECISE.with_samples(16).with_bits(2).with_slots(slots);
        let scheme = Scheme::new(p).expect("a scheme that can be");
        let sketcher = Sketcher::new(&scheme);
        (scheme, sketcher)
    })
}

fn set(n: u8) -> Vec<u64> {
    (u64::from(n) * 10..u64::from(n) * 11).collect()
}

fn signatures() -> &'static [Signature] {
    static SIGNATURES: OnceLock<Vec<Signature>> = OnceLock::new();
    SIGNATURES.get_or_init(|| {
        (0..SETS).map(|n| scheme().1.sketch(&set(n)).expect("a small set")).collect()
    })
}

/// Returns short keys, keys with a common prefix, and some of the maximum length.
fn key(n: u8) -> Vec<u8> {
    let n = n % KEYS;
    let length = match n / 3 {
        7 => 4096 - usize::from(n % 3),
        6 => 200,
        short => usize::from(short) + 1,
    };
    vec![b'a' + n % 3; length]
}

fn rows_of(map: &Map) -> Rows {
    map.iter().map(|(key, n)| (key.clone(), signatures()[usize::from(*n)].clone())).collect()
}

fn read(snapshot: &Snapshot) -> Rows {
    let rows = snapshot.range::<&[u8]>(..);
    rows.map(|row| row.map(|(key, stored)| (key.into_vec(), stored.signature)))
        .collect::<Result<_>>()
        .expect("rows can be read")
}

/// Queries for a set and for a key by every plan.
fn query(snapshot: &Snapshot, map: &Map) {
    let (rows, turn) = (rows_of(map), snapshot.sequence() as usize + map.len());
    let request =
        [Request::top(3), Request::min(0.2), Request { exhaustive: true, ..Request::default() }]
            [turn % 3];
    let like = &signatures()[turn % usize::from(SETS)];
    let right = query_oracle::brute_force(&rows, like, None, request);
    query_oracle::compare_plans(snapshot, Like::Signature(like), request, &right, "a set");
    if let Some((key, like)) = rows.iter().nth(turn % rows.len().max(1)) {
        let right = query_oracle::brute_force(&rows, like, Some(key), request);
        query_oracle::compare_plans(snapshot, Like::Key(key), request, &right, "a key");
    }
}

impl Step {
    fn new(input: &mut Input<'_>) -> Step {
        let choice = input.byte();
        let one = |input: &mut Input<'_>| (key(input.byte()), input.byte() % SETS);
        match choice % 10 {
            0 | 1 => {
                let (key, n) = one(input);
                Step::Batch(vec![(key, Some(n))])
            }
            2 => Step::Batch(vec![(key(input.byte()), None)]),
            3 | 4 => {
                let operation = |input: &mut Input<'_>| {
                    let (key, n) = one(input);
                    (key, (n > 2).then_some(n))
                };
                Step::Batch((0..choice / 10 % 8).map(|_| operation(input)).collect())
            }
            5 => Step::Load((0..choice / 10).map(|_| one(input)).collect()),
            6 => Step::Checkpoint,
            7 => Step::Compact,
            8 => Step::Vacuum,
            _ => Step::Reopen,
        }
    }

    fn apply(&self, map: &mut Map) {
        match self {
            Step::Batch(operations) => {
                for (key, n) in operations {
                    match n {
                        Some(n) => map.insert(key.clone(), *n),
                        None => map.remove(key),
                    };
                }
            }
            Step::Load(rows) => map.extend(rows.iter().cloned()),
            _ => {}
        }
    }
}

impl Run {
    fn new(choice: u8) -> Run {
        let options = Options::default()
            .with_cache_bytes(1 << 20)
            .with_build_bytes(if choice & 8 == 0 { 1 << 20 } else { 300 })
            .with_memtable_rows([2, 5, 9, 1000][usize::from(choice % 4)])
            .with_background(false)
            .with_merge(choice & 4 == 0);
        let files = FaultyFiles::new();
        let layer: Arc<dyn FileLayer> = Arc::new(files.clone());
        let path = Path::new(PATH);
        let db = Database::create_in(layer, path, &scheme().0, options.clone());
        let db = Some(db.expect("a new database"));
        Run { files, options, db, map: Map::new(), snapshots: Vec::new() }
    }

    fn db(&self) -> &Database {
        self.db.as_ref().expect("it is open between operations")
    }

    fn layer(&self) -> Arc<dyn FileLayer> {
        Arc::new(self.files.clone())
    }

    fn operation(&mut self, input: &mut Input<'_>) {
        match input.byte() % 16 {
            0..=8 => {
                let step = Step::new(input);
                self.step(&step).expect("nothing fails here");
                step.apply(&mut self.map);
            }
            9 if self.snapshots.len() < 4 => {
                self.snapshots.push((self.db().snapshot(), self.map.clone()));
            }
            9 | 10 => {
                for (snapshot, map) in self.snapshots.drain(..) {
                    assert_eq!(read(&snapshot), rows_of(&map), "a snapshot changed");
                    query(&snapshot, &map);
                }
            }
            11 => self.compare(),
            12 => {
                let (at, map) = (self.files.operations(), self.map.clone());
                self.crash(at, input.byte(), &[map]);
            }
            13 => self.crash_within(input),
            14 => self.fail_within(input),
            _ => {
                self.step(&Step::Checkpoint).expect("nothing fails here");
                self.checkpointed();
            }
        }
    }

    fn step(&mut self, step: &Step) -> Result<()> {
        match step {
            Step::Batch(operations) => {
                let mut batch = self.db().batch();
                for (key, n) in operations {
                    match n {
                        Some(n) => batch.put(key, &set(*n))?,
                        None => batch.delete(key)?,
                    };
                }
                self.db().commit(batch).map(drop)
            }
            Step::Load(rows) => {
                let mut load = self.db().bulk_load();
                rows.iter().try_for_each(|(key, n)| load.put(key, &set(*n)))?;
                load.commit().map(drop)
            }
            Step::Checkpoint => self.db().checkpoint(),
            Step::Compact => self.db().compact(),
            Step::Vacuum => self.db().vacuum(),
            Step::Reopen => {
                self.db.take().map_or(Ok(()), Database::close)?;
                let files = self.files.running().files();
                assert_eq!(files, [Path::new(PATH)], "a closed database is one file");
                self.open()
            }
        }
    }

    fn open(&mut self) -> Result<()> {
        let (layer, options) = (self.layer(), self.options.clone());
        self.db = Some(Database::open_in(layer, Path::new(PATH), options)?);
        Ok(())
    }

    /// Asserts that every way to read returns the contents of the map.
    fn compare(&self) {
        let snapshot = self.db().snapshot();
        assert_eq!(read(&snapshot), rows_of(&self.map));
        assert_eq!(snapshot.len().expect("rows can be read"), self.map.len() as u64);
        for n in 0..KEYS {
            let stored = self.db().get(key(n)).expect("rows can be read");
            let expected = self.map.get(&key(n)).map(|n| &signatures()[usize::from(*n)]);
            assert_eq!(stored.as_ref().map(|stored| &stored.signature), expected);
        }
        let keys = snapshot.prefix_keys(b"bb").map(|key| key.expect("keys can be read"));
        let expected = self.map.keys().filter(|key| key.starts_with(b"bb"));
        assert!(keys.map(Vec::from).eq(expected.cloned()));
        query(&snapshot, &self.map);
    }

    /// Runs after a checkpoint. Asserts that another reader sees all rows, that a check finds nothing, and that a
    /// packed copy has the same rows.
    fn checkpointed(&mut self) {
        let (path, copy) = (Path::new(PATH), Path::new("/copy.ringer"));
        let report = check::check(&self.files, path, Depth::Deep).expect("it can be read");
        assert_eq!(report.findings, []);
        let expected = rows_of(&self.map);
        let reader = Reader::open_in(self.layer(), path, self.options.clone());
        let reader = reader.expect("it can be read");
        assert_eq!(read(&reader.snapshot()), expected);
        self.db().pack(copy).expect("it can be packed");
        let packed = Reader::open_in(self.layer(), copy, self.options.clone());
        assert_eq!(read(&packed.expect("it can be read").snapshot()), expected);
        let report = check::check(&self.files, copy, Depth::Deep).expect("it can be read");
        assert_eq!(report.findings, []);
        self.layer().remove_file(copy).expect("it is there");
        // Makes the removal durable. Otherwise a crash would bring the copy back.
        self.layer().sync_dir(Path::new("/")).expect("nothing fails here");
    }

    /// Continues from the disk after a crash. Its contents must equal one of these maps.
    fn crash(&mut self, at: usize, choice: u8, possible: &[Map]) {
        let walk = self.files.walk().go_to(at);
        let kinds = walk.kinds();
        // Half of all crashes are kills of the process.
        let kind = match choice.checked_sub(128) {
            None => CrashKind::Killed,
            Some(choice) => kinds[usize::from(choice) % kinds.len()],
        };
        let disk = walk.image(kind);
        // Later operations of the old process do not reach that disk.
        self.files.disarm();
        self.db = None;
        self.files = FaultyFiles::resume(disk);
        self.open().unwrap_or_else(|error| panic!("after {kind:?}: {error}"));
        let rows = read(&self.db().snapshot());
        let found = possible.iter().find(|map| rows_of(map) == rows);
        self.map = found.unwrap_or_else(|| panic!("after {kind:?}: {rows:?}")).clone();
        self.compare();
    }

    fn crash_within(&mut self, input: &mut Input<'_>) {
        let (choice, part) = (input.byte(), usize::from(input.byte()));
        let step = Step::new(input);
        let (before, first) = (self.map.clone(), self.files.operations());
        self.step(&step).expect("nothing fails here");
        let mut after = before.clone();
        step.apply(&mut after);
        let last = self.files.operations();
        let at = first + (last - first) * part / 255;
        match at == last {
            true => self.crash(at, choice, &[after]),
            false => self.crash(at, choice, &[before, after]),
        }
    }

    fn fail_within(&mut self, input: &mut Input<'_>) {
        let (choice, when) = (input.byte(), usize::from(input.byte() % 40));
        let failure = [Failure::Device, Failure::Full, Failure::ShortWrite(100)][when % 3];
        let fault = if choice & 1 == 0 {
            Fault::after(when, failure)
        } else {
            Fault::after_syncs(when / 4, failure)
        };
        let fault = if choice & 2 == 0 { fault } else { fault.sticky() };
        let step = Step::new(input);
        self.files.arm(fault);
        let result = self.step(&step);
        let before = self.map.clone();
        let mut after = before.clone();
        step.apply(&mut after);
        let at = self.files.operations();
        match result {
            Ok(()) => self.crash(at, choice, &[after]),
            Err(_) => self.crash(at, choice, &[before, after]),
        }
    }
}
