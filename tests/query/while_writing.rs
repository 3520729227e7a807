//! Queries during commits, bulk loads, checkpoints, merges and vacuums. Every answer equals brute force for the
//! commit of its snapshot, however long the snapshot is held.

use testkit::query_oracle;
use testkit::random::Random;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use query_oracle::{Brute, Request, Rows, compare_plans};
use ringer::internals::store::file_layer::FileLayer;
use ringer::internals::store::file_layer::memory::MemoryFiles;
use ringer::internals::store::file_layer::real::RealFiles;
use ringer::{Database, Like, LogKind, Options, Scheme, Signature, Sketcher, Snapshot};

const SETS: u64 = 40;

/// Returns the changes of one commit: keys with the number of a set, or `None`.
fn changes(sequence: u64) -> Vec<(Vec<u8>, Option<u64>)> {
    let mut random = Random(sequence * 77);
    let count = if is_load(sequence) { 40 } else { 1 + random.below(5) };
    let mut one = || {
        let key = format!("key {}", random.below(120)).into_bytes();
        let put = random.below(4) > 0 || is_load(sequence);
        (key, put.then(|| random.below(SETS)))
    };
    (0..count).map(|_| one()).collect()
}

/// Returns whether a commit is made by a bulk load.
fn is_load(sequence: u64) -> bool {
    sequence.is_multiple_of(25)
}

/// Returns a set of a family that shares most of its elements. One set is empty.
fn set(number: u64) -> Vec<u64> {
    let (family, shift) = (number % 5, number / 5);
    if number == 7 { Vec::new() } else { (0..60).map(|i| family * 1000 + shift * 3 + i).collect() }
}

/// Returns what is stored after each commit.
fn states(signatures: &[Signature], commits: u64) -> Vec<Rows> {
    let mut states = vec![Rows::new()];
    for sequence in 1..=commits {
        let mut rows = states[states.len() - 1].clone();
        for (key, number) in changes(sequence) {
            match number {
                Some(number) => drop(rows.insert(key, signatures[number as usize].clone())),
                None => drop(rows.remove(&key)),
            }
        }
        states.push(rows);
    }
    states
}

fn commit(db: &Database, sequence: u64) {
    let committed = if is_load(sequence) {
        let mut load = db.bulk_load();
        for (key, number) in changes(sequence) {
            load.put(key, &set(number.expect("loads only store"))).unwrap();
        }
        load.commit()
    } else {
        let mut batch = db.batch();
        for (key, number) in changes(sequence) {
            match number {
                Some(number) => batch.put(key, &set(number)).unwrap(),
                None => batch.delete(key).unwrap(),
            };
        }
        db.commit(batch)
    };
    assert_eq!(committed.unwrap().sequence, sequence);
}

/// Runs a few queries on one snapshot.
fn run_queries(
    snapshot: &Snapshot,
    states: &[Rows],
    signatures: &[Signature],
    random: &mut Random,
) {
    let rows = &states[snapshot.sequence() as usize];
    let requests = [
        Request::top(3),
        Request::default(),
        Request::min(0.6),
        Request { exhaustive: true, ..Request::top(15) },
    ];
    let request = requests[random.below(4) as usize];
    let query = &signatures[random.below(SETS) as usize];
    let right = Brute::new(query).answer(rows, None, request);
    let at = format!("commit {}", snapshot.sequence());
    compare_plans(snapshot, Like::Signature(query), request, &right, &at);
    if let Some((key, row)) = rows.iter().nth(random.below(100) as usize) {
        let right = Brute::new(row).answer(rows, Some(key), request);
        compare_plans(snapshot, Like::Key(key), request, &right, &at);
    }
}

fn race(layer: Arc<dyn FileLayer>, path: &Path, options: Options, commits: u64) {
    let scheme = Scheme::precise();
    let sketcher = Sketcher::new(&scheme);
    let signatures: Vec<Signature> =
        (0..SETS).map(|number| sketcher.sketch(&set(number)).unwrap()).collect();
    let states = states(&signatures, commits);
    let db = Database::create_in(layer, path, &scheme, options).unwrap();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let (db, done, states, signatures) = (&db, &done, &states[..], &signatures[..]);
        for reader in 0..2 {
            scope.spawn(move || {
                let (mut random, mut held) = (Random(reader), Vec::new());
                while !done.load(Ordering::SeqCst) {
                    held.push(db.snapshot());
                    if held.len() > 8 {
                        held.remove(random.below(8) as usize);
                    }
                    held.iter().for_each(|old| run_queries(old, states, signatures, &mut random));
                }
            });
        }
        scope.spawn(move || {
            let mut random = Random(5);
            while !done.load(Ordering::SeqCst) {
                match random.below(4) {
                    0 => db.compact().unwrap(),
                    1 => db.vacuum().unwrap(),
                    _ => db.checkpoint().unwrap(),
                }
                thread::yield_now();
            }
        });
        let writer = scope.spawn(move || (1..=commits).for_each(|sequence| commit(db, sequence)));
        // The other threads end even if this one failed.
        let written = writer.join();
        done.store(true, Ordering::SeqCst);
        written.unwrap();
    });
    let mut random = Random(9);
    (0..30).for_each(|_| run_queries(&db.snapshot(), &states, &signatures, &mut random));
    db.compact().unwrap();
    (0..30).for_each(|_| run_queries(&db.snapshot(), &states, &signatures, &mut random));
}

#[test]
fn queries_that_race_everything_in_memory_are_those_of_their_commit() {
    for (background, cache_bytes, memtable_rows) in
        [(true, 0, 6), (true, 20_000, 30), (false, 1 << 20, 20)]
    {
        let options = Options::default()
            .with_background(background)
            .with_cache_bytes(cache_bytes)
            .with_memtable_rows(memtable_rows)
            .with_build_bytes(500);
        race(Arc::new(MemoryFiles::new()), Path::new("/corpus.ringer"), options, 1500);
    }
}

#[test]
fn queries_that_race_everything_on_disk_are_those_of_their_commit() {
    for log in [LogKind::Plain, LogKind::Sled] {
        let folder = tempfile::tempdir().unwrap();
        let options =
            Options::default().with_log(log).with_memtable_rows(15).with_cache_bytes(3000);
        race(Arc::new(RealFiles), &folder.path().join("corpus.ringer"), options, 150);
    }
}
