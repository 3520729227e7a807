//! Attacks with a whole database file of arbitrary bytes. It is opened, read in every way, checked, salvaged and
//! packed, and sometimes repaired and written to.
//!
//! No bytes may cause a panic. In addition:
//!
//! - A read error is damage or an unknown version, never anything else.
//! - If a check finds something, so does every deeper check.
//! - If a full check finds nothing, every page can be read. If a deep check finds nothing, every reader returns the
//!   same rows, salvage and pack save exactly those rows, and queries agree with brute force over them.
//! - What salvage and pack write has no damage, whatever they read.
//! - Only the database, its companions and the output files are touched, and the bytes read are a small multiple of
//!   the file size.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use ringer::internals::format::bytes::Seal;
use ringer::internals::maintenance::{check, repair, salvage};
use ringer::internals::store::file_layer::Access;
use ringer::internals::store::file_layer::memory::MemoryFiles;
use ringer::internals::store::page_cache::PageCache;
use ringer::internals::store::page_source::PageSource;
use ringer::internals::store::segment::Segment;
use ringer::internals::store::state_file;
use ringer::{Database, Depth, Error, Like, Reader, Recovery, Result, Signature, Stored};

use super::edits::{Edited, edited};
use super::seeds::{PATH, key, options};
use super::watched::Watched;
use crate::query_oracle::{self, Request};

/// Rows by key.
type Rows = BTreeMap<Box<[u8]>, Stored>;

/// No file grows beyond this length.
const LONGEST: u64 = 16 << 20;

/// Where salvage and pack write to.
const SAVED: &str = "/saved.ringer";
const PACKED: &str = "/packed.ringer";

/// Runs every operation on the file. [`edited`] describes the input.
pub fn database(bytes: &[u8]) {
    let Edited { bytes, write, keys, .. } = edited(bytes);
    whole(&bytes, write, &keys);
}

/// Runs only the operation that the input selects. Ten times as many inputs fit in the same time.
pub fn database_in_one_way(bytes: &[u8]) {
    let Edited { bytes, write, keys, part, .. } = edited(bytes);
    let file = File::new(&bytes, &keys);
    match part {
        0..=2 => file.read(),
        3..=5 => file.queried(),
        6 | 7 => file.postings(),
        // Equal sets only: intervals at other thresholds take most of the time.
        8 => file.paired(1.0, write),
        9 | 10 => file.salvaged(),
        11 | 12 => file.packed(),
        13 => drop(bounded(&file.repaired(), &bytes, MOST_WRITTEN)),
        _ => drop(bounded(&file.written(), &bytes, MOST_WRITTEN)),
    }
    bounded(&file.layer, &bytes, MOST_READ);
}

/// Runs every operation on a file. `write` adds the writers, `keys` are the keys to look up.
pub fn whole(bytes: &[u8], write: bool, keys: &[u8]) -> Work {
    let file = File::new(bytes, keys);
    assert!(file.is_sound(Depth::Quick) || !file.is_sound(Depth::Full));
    assert!(file.is_sound(Depth::Full) || !file.is_sound(Depth::Deep));
    file.read();
    file.postings();
    file.queried();
    file.paired(0.9, false);
    file.paired(0.8, true);
    file.salvaged();
    file.packed();
    let mut work = Work { read: bounded(&file.layer, bytes, MOST_READ), ..Work::default() };
    work.clean = file.is_sound(Depth::Deep);
    if write {
        work.repair = bounded(&file.repaired(), bytes, MOST_WRITTEN);
        work.written = bounded(&file.written(), bytes, MOST_WRITTEN);
    }
    work
}

/// A file under attack, and what is known about it so far.
struct File<'a> {
    bytes: &'a [u8],
    keys: &'a [u8],
    layer: Watched,
    /// Whether the check of each depth found nothing.
    sound: [OnceCell<bool>; 3],
    rows: OnceCell<Result<Rows>>,
}

impl<'a> File<'a> {
    fn new(bytes: &'a [u8], keys: &'a [u8]) -> File<'a> {
        let (sound, rows) = Default::default();
        File { bytes, keys, layer: layer_of(bytes), sound, rows }
    }

    /// Returns whether a check finds nothing.
    fn is_sound(&self, depth: Depth) -> bool {
        *self.sound[depth as usize].get_or_init(|| {
            let report = check::check(&self.layer, Path::new(PATH), depth);
            report.expect("a file in memory can be read").findings.is_empty()
        })
    }

    fn rows(&self) -> &Result<Rows> {
        self.rows.get_or_init(|| read(&self.layer, PATH, self.keys))
    }

    /// Returns the rows if the deep check finds nothing.
    fn clean(&self) -> Option<&Rows> {
        let clean = || self.rows().as_ref().expect("a full check found nothing");
        self.is_sound(Depth::Deep).then(clean)
    }

    /// Asserts that an error is damage and that a full check finds that damage.
    fn allow<T>(&self, result: &Result<T>) {
        if let Err(error) = result {
            assert!(is_damage(error), "{error}");
            assert!(!self.is_sound(Depth::Full), "{error}");
        }
    }

    fn read(&self) {
        self.allow(self.rows());
    }

    fn postings(&self) {
        self.allow(&postings(&self.layer, self.is_sound(Depth::Deep)));
    }

    fn queried(&self) {
        self.allow(&queried(&self.layer, self.clean(), self.keys));
    }

    fn paired(&self, min: f64, exhaustive: bool) {
        self.allow(&paired(&self.layer, min, exhaustive));
    }

    fn salvaged(&self) {
        salvaged(&self.layer, self.clean());
    }

    fn packed(&self) {
        packed(&self.layer, self.rows().as_ref().ok(), self.is_sound(Depth::Deep));
    }

    fn repaired(&self) -> Watched {
        repaired(self.bytes)
    }

    fn written(&self) -> Watched {
        written(self.bytes, self.clean())
    }
}

/// How many times the bytes of the file were read: by all readers, by a repair, by a writer.
#[derive(Debug, Clone, Copy, Default)]
pub struct Work {
    pub read: u64,
    pub repair: u64,
    pub written: u64,
    /// Whether a deep check found nothing.
    pub clean: bool,
}

/// About twice what the unchanged seeds need: the whole attack reads a file about two hundred times.
const MOST_READ: u64 = 400;
const MOST_WRITTEN: u64 = 20;

fn bounded(layer: &Watched, bytes: &[u8], most: u64) -> u64 {
    let (_, read) = layer.read();
    let times = read / (bytes.len() as u64).max(LEAST_BYTES);
    assert!(times <= most, "a file of {} bytes was read {times} times", bytes.len());
    times
}

/// The bytes that every open reads from any file: superblocks and manifest.
const LEAST_BYTES: u64 = 12_288;

fn layer_of(bytes: &[u8]) -> Watched {
    let files = MemoryFiles::new().with_file(PATH, bytes).limited_to(LONGEST);
    Watched::new(files, &[PATH, SAVED, PACKED])
}

fn is_damage(error: &Error) -> bool {
    matches!(
        error,
        Error::Corrupt { .. } | Error::UnsupportedFormat { .. } | Error::NotADatabase { .. }
    )
}

/// Opens a file for reading. If it names a log, its log is not there.
fn open(layer: &Watched, path: &str) -> Result<Reader> {
    Reader::open_in(layer.share(), Path::new(path), options().with_recovery(Recovery::Salvage))
}

/// Reads in every way and continues after an error. Returns all rows, or the first error.
fn read(layer: &Watched, path: &str, keys: &[u8]) -> Result<Rows> {
    let reader = open(layer, path)?;
    let snapshot = reader.snapshot();
    let mut failed = Ok(());
    let mut note = |result: Result<()>| {
        if failed.is_ok() {
            failed = result;
        }
    };
    let unknown =
        [&keys[..keys.len().min(1)], &keys[..keys.len().min(9)], b"", b"key1", &[255; 5000]];
    let known: Vec<Vec<u8>> = (0..24).map(|n| key(n * 3)).collect();
    for key in known.iter().map(|key| &**key).chain(unknown) {
        note(reader.get(key).map(drop));
        note(snapshot.contains(key).map(drop));
        note(snapshot.value(key).map(drop));
    }
    for prefix in unknown {
        note(snapshot.prefix(prefix).take(20).try_for_each(|row| row.map(drop)));
        note(snapshot.prefix_keys(prefix).take(20).try_for_each(|key| key.map(drop)));
    }
    let (from, to) = (&known[3], &known[7]);
    note(snapshot.range::<Vec<u8>>(from..=to).try_for_each(|row| row.map(drop)));
    note(snapshot.keys::<Vec<u8>>(from..).try_for_each(|key| key.map(drop)));
    note(snapshot.len().map(drop));
    note(snapshot.is_empty().map(drop));
    note(reader.stat().map(drop));
    note(reader.refresh());
    let _ = (
        reader.commits_in_log(),
        reader.hidden_commits(),
        reader.is_clean(),
        reader.scheme(),
        snapshot.sequence(),
    );
    let rows: Result<Rows> = snapshot.range::<&[u8]>(..).collect();
    failed.and(rows)
}

/// Reads the posting lists and continues after an error. Returns the first error. In an undamaged database every id
/// except that of the empty set is in exactly one list per slot.
fn postings(layer: &Watched, whole: bool) -> Result<()> {
    let path = Path::new(PATH);
    let file = state_file::open(layer, path, Access::Read)?;
    let state = state_file::read(&*file, path)?;
    let seal = Seal::of(state.superblock.database);
    let source = PageSource::new(file, path.into(), seal, Arc::new(PageCache::new(1 << 20)));
    let scheme = Arc::new(state.manifest.scheme.clone());
    let mut failed = Ok(());
    for entry in &state.manifest.segments {
        let segment = Segment::open(source.clone(), entry, &scheme)?;
        let ids = segment.header().ids;
        let all = 1_u64 << scheme.slots.value_bits;
        for slot in 0..usize::from(scheme.slots.count).min(20) {
            let mut found = Vec::new();
            for value in 0..all.min(32) as u32 {
                let (start, list) = (found.len(), segment.posting_list(slot, value));
                let read = list.and_then(|list| {
                    segment.read_postings(&list, &mut found)?;
                    assert!(found.len() - start <= list.length() as usize);
                    Ok(())
                });
                let ids_of_list = &found[start..];
                assert!(ids_of_list.is_sorted_by(|a, b| a < b));
                assert!(ids_of_list.iter().all(|id| *id < ids));
                failed = failed.and(read);
            }
            found.sort_unstable();
            let right = (0..ids).filter(|id| segment.header().empty_id != Some(*id));
            assert!(!whole || all > 32 || found.into_iter().eq(right));
        }
    }
    failed
}

/// Queries for a few sets by every plan and continues after an error. Returns the first error. In an undamaged
/// database the answers equal brute force.
fn queried(layer: &Watched, clean: Option<&Rows>, keys: &[u8]) -> Result<()> {
    let reader = open(layer, PATH)?;
    let snapshot = reader.snapshot();
    let clean: Option<query_oracle::Rows> = clean.map(|rows| {
        rows.iter().map(|(key, stored)| (key.to_vec(), stored.signature.clone())).collect()
    });
    let turn = usize::from(keys.first().copied().unwrap_or(0));
    let slots = u32::from(snapshot.scheme().slots.count);
    let requests = [
        Request::top(1 + turn % 7),
        Request::min(0.5),
        Request { exhaustive: true, ..Request::top(5) },
        Request { matches: (slots > 1).then_some(2), ..Request::min(0.0) },
    ];
    let mut failed = Ok(());
    for n in [turn, turn + 1, turn + 7] {
        let key = key(n as u64);
        let Ok(Some(Stored { signature, .. })) = snapshot.get(&key) else { continue };
        let request = requests[n % requests.len()];
        for plan in query_oracle::PLANS {
            let run = |like| {
                let query = request.put(snapshot.query(like)).with_values();
                plan.map_or(query.clone(), |plan| query.plan(plan)).run()
            };
            let right = |rows: &query_oracle::Rows, query: &Signature, itself| {
                query_oracle::brute_force(rows, query, itself, request)
            };
            for (like, itself) in
                [(Like::Signature(&signature), None), (Like::Key(&key), Some(&*key))]
            {
                match (run(like), &clean) {
                    (Ok(answer), Some(rows)) => {
                        assert_eq!(query_oracle::found(&answer), right(rows, &signature, itself));
                    }
                    (Ok(_), None) => {}
                    (Err(error), _) => failed = failed.and(Err(error)),
                }
            }
        }
    }
    failed
}

/// Asks for all pairs, with or without the index.
fn paired(layer: &Watched, min: f64, exhaustive: bool) -> Result<()> {
    let reader = open(layer, PATH)?;
    let snapshot = reader.snapshot();
    let pairs = snapshot.pairs(min);
    let pairs = if exhaustive { pairs.exhaustive() } else { pairs };
    pairs.memory(PAIRS_MEMORY).run(|_| ControlFlow::Continue(())).map(drop)
}

/// The memory limit for pairs.
const PAIRS_MEMORY: usize = 16 << 20;

/// Asserts that every way to read returns the same rows.
fn agrees(layer: &Watched, path: &str, rows: &Rows) {
    let reader = open(layer, path).expect("it is intact");
    let snapshot = reader.snapshot();
    let all: Vec<_> = snapshot.range::<&[u8]>(..).map(|row| row.expect("it is intact")).collect();
    assert!(all.is_sorted_by(|a, b| a.0 < b.0), "keys do not rise");
    assert_eq!(snapshot.len().expect("it is intact"), rows.len() as u64);
    assert_eq!(all.len(), rows.len());
    for (key, stored) in &all {
        assert_eq!(reader.get(key).expect("it is intact").as_ref(), Some(stored));
        let right = rows.get(key).map(|s| (&s.signature, &s.value));
        assert_eq!(right, Some((&stored.signature, &stored.value)));
    }
    let report = check::check(layer, Path::new(path), Depth::Deep).expect("it can be read");
    assert_eq!(report.findings, []);
}

fn salvaged(layer: &Watched, clean: Option<&Rows>) {
    let (target, source, path) = (SAVED, Path::new(PATH), Path::new(SAVED));
    let result = salvage::salvage(&layer.share(), source, path, options());
    match (result, clean) {
        (Ok(report), clean) => {
            let saved = read(layer, target, &[]).expect("what salvage wrote is undamaged");
            assert_eq!(report.sets, saved.len() as u64);
            agrees(layer, target, clean.unwrap_or(&saved));
        }
        (Err(error), None) => assert!(is_damage(&error), "{error}"),
        (Err(error), Some(_)) => panic!("an undamaged database was not saved: {error}"),
    }
}

fn packed(layer: &Watched, rows: Option<&Rows>, clean: bool) {
    let Ok(reader) = open(layer, PATH) else { return };
    match reader.pack(PACKED) {
        Ok(()) => {
            let packed = read(layer, PACKED, &[]).expect("what pack wrote is undamaged");
            agrees(layer, PACKED, rows.unwrap_or(&packed));
        }
        Err(error) => assert!(!clean && is_damage(&error), "{error}"),
    }
}

/// Repairs the file. Repair either succeeds or refuses, and never loses a row.
fn repaired(bytes: &[u8]) -> Watched {
    let layer = layer_of(bytes);
    let result = repair::repair(&layer.share(), Path::new(PATH), &options());
    if result.is_ok() {
        drop(read(&layer, PATH, &[]));
    }
    layer
}

/// Opens the file for writing and does a little of everything, as far as it goes.
fn written(bytes: &[u8], clean: Option<&Rows>) -> Watched {
    let layer = layer_of(bytes);
    let Ok(db) = Database::open_in(layer.share(), Path::new(PATH), options()) else {
        return layer;
    };
    let write = || -> Result<Rows> {
        db.put_with_value("new", &[1, 2, 3], "with a value")?;
        db.delete(key(9))?;
        db.checkpoint()?;
        let mut load = db.bulk_load();
        load.put(key(1), &[4, 5])?;
        load.put("newer", &[])?;
        load.commit()?;
        db.stat()?;
        db.compact()?;
        db.vacuum()?;
        db.snapshot().range::<&[u8]>(..).collect()
    };
    let rows = write();
    let closed = db.close();
    if let (Some(before), Ok(rows), Ok(())) = (clean, rows, closed) {
        agrees(&layer, PATH, &rows);
        let changed = [&b"new"[..], b"newer", &key(1), &key(9)];
        let kept = |rows: &Rows| {
            let kept = rows.iter().filter(|(key, _)| !changed.contains(&&***key));
            kept.map(|(key, stored)| (key.clone(), stored.clone())).collect::<Rows>()
        };
        assert_eq!(kept(&rows), kept(before));
        assert!(rows.contains_key(&b"newer"[..]) && !rows.contains_key(&*key(9)));
    }
    layer
}
