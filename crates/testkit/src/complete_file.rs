//! A small database with everything that a file can contain, and all its answers.
//!
//! In: a seed. Out: a file of some tens of KiB with several segments, tombstone bitmaps, duplicate rows, short and
//! long posting lists, values; the places of its pages; the correct answers, and whether a damaged file still gives them.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use ringer::internals::format::manifest::SegmentEntry;
use ringer::internals::store::file_layer::memory::MemoryFiles;
use ringer::internals::store::file_layer::{Access, FileLayer};
use ringer::internals::store::state_file;
use ringer::scheme::{CardinalityField, Slots};
use ringer::{
    Answer, Database, Error, Like, Options, Pair, Plan, Reader, Recovery, Result, Scheme, Snapshot,
    Stored,
};

use crate::damaged::Damaged;
use crate::query_oracle::{self, Request, Rows};

/// The path of the database.
pub const PATH: &str = "/d/complete.ringer";

/// A page or another record with a checksum of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// The kind of a page (PAGE-5), or 0 for superblocks and manifests.
    pub kind: u8,
    pub offset: usize,
    pub length: usize,
}

impl Part {
    /// Returns whether a quick run tries a large share of its bits. True for everything after the superblocks and the
    /// mark except signatures, leaves and fences (kinds 2 to 4).
    pub fn is_tried_in_full(self) -> bool {
        !matches!(self.kind, 2..=4) && self.offset >= 12_288
    }
}

/// The file and the correct answers.
pub struct CompleteFile {
    pub bytes: Arc<Vec<u8>>,
    /// The same file at an earlier checkpoint. Its superblocks differ; otherwise it is a prefix of the file.
    pub earlier: Vec<u8>,
    /// The file before its largest segment was merged and the file rewritten. It has older pages of the same kinds
    /// and lengths at the same places.
    pub stale: Vec<u8>,
    pub rows: BTreeMap<Vec<u8>, Stored>,
    absent: Vec<Vec<u8>>,
    queries: Vec<(Vec<u8>, Request, Option<Plan>, Answer)>,
    pairs: Vec<Pair>,
}

/// Slots of one 2-bit sample. They have few values, so a popular value has a long list.
fn scheme() -> Scheme {
    let parameters = ringer::presets::PRECISE
        .with_samples(64)
        .with_bits(2)
        .with_cardinality(CardinalityField::Log8)
        .with_slots(Slots { count: 5, samples_per_slot: 1, value_bits: 2, min_matches: 3 });
    Scheme::new(parameters).unwrap()
}

fn options() -> Options {
    Options::default().with_merge(false).with_background(false).with_memtable_rows(10_000)
}

pub fn options_of_readers() -> Options {
    Options::default().with_cache_bytes(1 << 20)
}

/// Returns a set. Most elements are in all sets, so that most sets share a slot value.
fn set(n: u64) -> Vec<u64> {
    let own = (0..30 + n % 40).map(|i| 1000 * n + i);
    if n == 0 { Vec::new() } else { (0..160).chain(own).collect() }
}

/// Returns the value of a row.
fn value(i: u64) -> Vec<u8> {
    (0..i % 50).map(|j| (j * 7 + i) as u8).collect()
}

fn key(i: u64) -> Vec<u8> {
    if i == 77 { vec![b'k'; 600] } else { format!("key {:03}", i * 7 % 503).into_bytes() }
}

/// Builds a large segment, rewrites it with a few other sets, then adds smaller segments that replace, delete and
/// repeat rows. Also returns the file before the rewrite and at the checkpoint before the last.
fn files(seed: u64) -> (MemoryFiles, Vec<u8>, Vec<u8>) {
    let files = MemoryFiles::new().with_file("/d/other", "");
    let layer = Arc::new(files.clone());
    let db = Database::create_in(layer, Path::new(PATH), &scheme(), options()).unwrap();
    let commit = |rows: &[(u64, Option<u64>)]| {
        let mut batch = db.batch();
        for (i, n) in rows {
            match n {
                Some(n) => {
                    batch.put(key(*i), &set(*n * (1 + seed))).unwrap();
                    if i % 7 == 0 {
                        batch.with_value(value(*i)).unwrap();
                    }
                }
                None => drop(batch.delete(key(*i)).unwrap()),
            }
        }
        db.commit(batch).unwrap();
        db.checkpoint().unwrap();
        files.contents(PATH).unwrap()
    };
    let anew = || {
        db.compact().unwrap();
        db.vacuum().unwrap();
        files.contents(PATH).unwrap()
    };
    let first = |i| (i, Some(if i % 11 == 3 { 5 } else { i }));
    commit(&(0..310).map(first).collect::<Vec<_>>());
    commit(&(310..330).map(first).collect::<Vec<_>>());
    let stale = anew();
    commit(&(0..20).map(|i| (i * 11 + 4, Some(i + 600))).collect::<Vec<_>>());
    anew();
    commit(&(300..350).map(|i| (i, Some(i % 45))).collect::<Vec<_>>());
    let earlier = commit(&(0..40).map(|i| (i * 8, None)).collect::<Vec<_>>());
    let last = (0..30).map(|i| (i * 11 + 2, (i % 3 > 0).then_some(i + 400)));
    commit(&last.chain([(500, Some(0)), (501, Some(0))]).collect::<Vec<_>>());
    assert!(db.stat().unwrap().segments >= 3, "{:?}", db.stat().unwrap());
    db.close().unwrap();
    (files, stale, earlier)
}

/// Returns all rows of a file of these bytes, without its log.
pub fn rows_of(bytes: &[u8]) -> BTreeMap<Vec<u8>, Stored> {
    let files = Arc::new(MemoryFiles::new().with_file(PATH, bytes));
    let options = options_of_readers().with_recovery(Recovery::Salvage);
    let reader = Reader::open_in(files, Path::new(PATH), options).unwrap();
    reader.snapshot().range::<&[u8]>(..).map(owned).collect()
}

/// Returns a database of the same scheme and shape, but with other sets and another id.
pub fn stranger() -> Vec<u8> {
    files(1).0.contents(PATH).unwrap()
}

impl CompleteFile {
    pub fn new() -> CompleteFile {
        let (files, stale, earlier) = files(0);
        let bytes = Arc::new(files.contents(PATH).unwrap());
        let reader = Reader::open_in(Arc::new(files), Path::new(PATH), options_of_readers());
        let snapshot = reader.unwrap().snapshot();
        let rows: BTreeMap<_, _> = snapshot.range::<&[u8]>(..).map(owned).collect();
        let absent = (0..340).map(key).filter(|key| !rows.contains_key(key)).take(9);
        let absent = absent.chain([b"a".to_vec(), b"key 0005".to_vec(), vec![255]]).collect();
        let queries = right_queries(&snapshot, &rows);
        let pairs = snapshot.pairs(0.9).expand().collect().unwrap();
        assert!(rows.len() > 250 && pairs.len() > 30, "{} {}", rows.len(), pairs.len());
        CompleteFile { bytes, earlier, stale, rows, absent, queries, pairs }
    }

    /// Returns everything in the file that has a checksum, in order.
    pub fn parts(&self) -> Vec<Part> {
        let layer = MemoryFiles::new().with_file(PATH, self.bytes.to_vec());
        let file = layer.open(Path::new(PATH), Access::Read).unwrap();
        let state = state_file::read(&*file, Path::new(PATH)).unwrap();
        let mut parts = vec![
            Part { kind: 0, offset: 0, length: 4096 },
            Part { kind: 0, offset: 4096, length: 4096 },
        ];
        for block in state.manifest.segments.iter().flat_map(SegmentEntry::extents) {
            let (mut at, end) = (block.offset as usize, (block.offset + block.length) as usize);
            while at < end {
                let header = &self.bytes[at..at + 24];
                let payload = u32::from_le_bytes(header[20..].try_into().unwrap()) as usize;
                let length = (24 + payload).next_multiple_of(64);
                parts.push(Part { kind: header[4], offset: at, length });
                at += length;
            }
            assert_eq!(at, end, "pages fill their block");
        }
        let (offset, length) =
            (state.superblock.manifest_offset as usize, state.superblock.manifest_length as usize);
        parts.push(Part { kind: 0, offset, length });
        parts.sort_unstable_by_key(|part| part.offset);
        parts
    }

    /// Queries a damaged file and returns whether everything was answered. `turn` selects the keys to look up and
    /// whether to ask for pairs; all pages are read each time.
    pub fn check(&self, damaged: Damaged, turn: usize) -> bool {
        match Reader::open_in(Arc::new(damaged), Path::new(PATH), options_of_readers()) {
            Ok(reader) => self.check_answers(&reader.snapshot(), turn),
            Err(error) => {
                check_error(&error);
                false
            }
        }
    }

    /// Queries a snapshot in all ways and returns whether everything was answered.
    pub fn check_answers(&self, snapshot: &Snapshot, turn: usize) -> bool {
        let mut refusals = Refusals::default();
        for (key, stored) in self.rows.iter().skip(turn % 16).step_by(16) {
            refusals.compare(snapshot.get(key), &Some(stored.clone()));
        }
        for key in self.absent.iter().skip(turn % 3).step_by(3) {
            refusals.compare(snapshot.get(key), &None);
        }
        refusals.compare_rows(snapshot, &self.rows);
        refusals.compare(snapshot.len(), &(self.rows.len() as u64));
        for (key, request, plan, right) in &self.queries {
            let query = request.put(snapshot.query(Like::Key(key)));
            let query = plan.map_or(query.clone(), |plan| query.plan(plan));
            refusals.compare(query.run(), right);
        }
        if turn.is_multiple_of(16) {
            refusals.compare(snapshot.pairs(0.9).expand().collect(), &self.pairs);
        }
        refusals.errors == 0
    }
}

/// Runs queries by all plans and checks that the answers equal brute force.
fn right_queries(
    snapshot: &Snapshot,
    rows: &BTreeMap<Vec<u8>, Stored>,
) -> Vec<(Vec<u8>, Request, Option<Plan>, Answer)> {
    let signatures: Rows =
        rows.iter().map(|(key, stored)| (key.clone(), stored.signature.clone())).collect();
    let mut queries = Vec::new();
    for (i, request, plan) in [
        (5, Request::top(3), Some(Plan::Probe)),
        (90, Request { matches: Some(5), ..Request::top(2) }, Some(Plan::Probe)),
        (200, Request::min(0.9), Some(Plan::Scan)),
        (300, Request { exhaustive: true, ..Request::top(4) }, None),
    ] {
        let key = rows.keys().nth(i % rows.len()).unwrap().clone();
        let right = query_oracle::brute_force(&signatures, &signatures[&key], Some(&key), request);
        query_oracle::compare_plans(snapshot, Like::Key(&key), request, &right, "undamaged");
        let query = request.put(snapshot.query(Like::Key(&key)));
        let answer = plan.map_or(query.clone(), |plan| query.plan(plan)).run().unwrap();
        queries.push((key, request, plan, answer));
    }
    queries
}

fn owned(row: Result<(Box<[u8]>, Stored)>) -> (Vec<u8>, Stored) {
    let (key, stored) = row.unwrap();
    (key.into_vec(), stored)
}

/// Asserts that an error says what is wrong with the file.
pub fn check_error(error: &Error) {
    let typed = matches!(
        error,
        Error::Corrupt { .. } | Error::NotADatabase { .. } | Error::UnsupportedFormat { .. }
    );
    assert!(typed, "{error}");
}

/// Counts the calls that were refused.
#[derive(Default)]
struct Refusals {
    errors: usize,
}

impl Refusals {
    fn compare<T: PartialEq + std::fmt::Debug>(&mut self, found: Result<T>, right: &T) {
        match found {
            Ok(found) => assert_eq!(found, *right),
            Err(error) => self.refuse(&error),
        }
    }

    fn refuse(&mut self, error: &Error) {
        check_error(error);
        self.errors += 1;
    }

    fn compare_rows(&mut self, snapshot: &Snapshot, rows: &BTreeMap<Vec<u8>, Stored>) {
        let before = self.errors;
        let mut rows = rows.iter();
        for row in snapshot.range::<&[u8]>(..) {
            match row {
                Ok((key, stored)) => {
                    let right = rows.next().expect("no more rows than there were");
                    assert_eq!((&*key, &stored), (&**right.0, right.1));
                }
                Err(error) => self.refuse(&error),
            }
        }
        assert!(self.errors > before || rows.next().is_none(), "rows are missing");
    }
}

/// What a killed writer left: the file, and commits in the write-ahead log.
pub struct Killed {
    image: MemoryFiles,
    pub bytes: Vec<u8>,
    rows: BTreeMap<Vec<u8>, Stored>,
}

impl Killed {
    pub fn new(whole: &CompleteFile) -> Killed {
        let files = MemoryFiles::new().with_file(PATH, whole.bytes.to_vec());
        let db = Database::open_in(Arc::new(files.clone()), Path::new(PATH), options()).unwrap();
        for i in 0..6 {
            db.put(key(i * 50 + 1), &set(700 + i)).unwrap();
            db.delete(key(i * 50 + 3)).unwrap();
        }
        let rows: BTreeMap<_, _> = db.snapshot().range::<&[u8]>(..).map(owned).collect();
        let image = MemoryFiles::from_entries(files.entries());
        assert!(image.files().len() > 1 && rows != whole.rows, "{:?}", image.files());
        let bytes = image.contents(PATH).unwrap();
        Killed { image, bytes, rows }
    }

    /// Opens it with these bytes as the file, for reading and for writing, and returns whether a writer answered
    /// everything.
    pub fn check(&self, bytes: Vec<u8>) -> bool {
        let damaged = MemoryFiles::from_entries(self.image.entries()).with_file(PATH, bytes);
        // The lock file is excluded: opening removes the lock file of a killed writer.
        let contents = |files: &MemoryFiles| {
            let lock = Path::new(PATH).with_extension("ringer-lock");
            let entries = files.entries().into_iter().filter(|entry| entry.path != lock);
            entries.map(|e| (e.path, e.bytes.map(|bytes| bytes.to_vec()))).collect::<Vec<_>>()
        };
        let before = contents(&damaged);
        let check_refused = |error: Error| {
            if !matches!(error, Error::LogMissing { .. } | Error::LogDamaged { .. }) {
                check_error(&error);
            }
            assert!(contents(&damaged) == before, "{error}: a refused open changed bytes");
        };
        match Reader::open_in(Arc::new(damaged.clone()), Path::new(PATH), options()) {
            Ok(reader) => Refusals::default().compare_rows(&reader.snapshot(), &self.rows),
            Err(error) => check_refused(error),
        }
        let mut refusals = Refusals::default();
        match Database::open_in(Arc::new(damaged.clone()), Path::new(PATH), options()) {
            Ok(db) => {
                refusals.compare_rows(&db.snapshot(), &self.rows);
                return refusals.errors == 0;
            }
            Err(error) => check_refused(error),
        }
        false
    }
}
