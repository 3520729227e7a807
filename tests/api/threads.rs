//! Threads that write, merge, vacuum and read one database at once. Every thread finds what it wrote, every snapshot
//! stays constant, and everything is there after a reopen (STEP-7).

use testkit::folder;
use testkit::random::Random;
use testkit::scale::cases;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use ringer::internals::store::file_layer::FileLayer;
use ringer::internals::store::file_layer::memory::MemoryFiles;
use ringer::internals::store::file_layer::real::RealFiles;
use ringer::{Database, Error, LogKind, Options, Scheme, Signature, Snapshot};

/// What a thread has stored under its own keys: the number of the set, and the commit.
type Own = BTreeMap<Vec<u8>, (u64, u64)>;

const KEYS: u64 = 30;

fn set(number: u64) -> Vec<u64> {
    (0..number % 5).map(|i| number * 10 + i).collect()
}

fn signature(db: &Database, number: u64) -> Signature {
    db.sketcher().sketch(&set(number)).unwrap()
}

fn check_key(db: &Database, snapshot: &Snapshot, own: &Own, key: &[u8]) {
    let found = snapshot.get(key).unwrap().map(|stored| (stored.signature, stored.sequence));
    let expected = own.get(key).map(|(number, sequence)| (signature(db, *number), *sequence));
    assert!(found == expected, "{}: {:?}", key.escape_ascii(), found.map(|f| f.1));
}

/// Compares all rows with a prefix.
fn check_all(db: &Database, snapshot: &Snapshot, own: &Own, prefix: &[u8]) {
    let rows: Vec<_> = snapshot.prefix(prefix).map(Result::unwrap).collect();
    let found = rows.iter().map(|(key, stored)| (key.to_vec(), stored.sequence));
    let expected = own.iter().map(|(key, (_, sequence))| (key.clone(), *sequence));
    assert_eq!(found.collect::<Vec<_>>(), expected.collect::<Vec<_>>());
    for key in (0..KEYS).map(|i| key(prefix, i)) {
        check_key(db, snapshot, own, &key);
    }
}

fn key(prefix: &[u8], i: u64) -> Vec<u8> {
    [prefix, format!("{i:02}").as_bytes()].concat()
}

/// Commits to the thread's own keys, two per batch, and checks each commit at once.
fn write(db: &Database, thread: u64, commits: u64, last: &AtomicU64) -> Own {
    let (mut own, mut random) = (Own::new(), Random(thread));
    let prefix = format!("w{thread}-");
    let twins = [format!("twin-{thread}-a"), format!("twin-{thread}-b")];
    for round in 0..commits {
        let mut batch = db.batch();
        let mut changes = BTreeMap::new();
        for _ in 0..=random.below(4) {
            let key = key(prefix.as_bytes(), random.below(KEYS));
            let number = (random.below(3) > 0).then(|| random.below(1000));
            match number {
                Some(number) => batch.put(&key, &set(number)).unwrap(),
                None => batch.delete(&key).unwrap(),
            };
            changes.insert(key, number);
        }
        for twin in &twins {
            batch.put(twin, &set(round)).unwrap();
        }
        let committed = db.commit(batch).unwrap();
        last.fetch_max(committed.sequence, Ordering::SeqCst);
        let there = changes.iter().filter(|(k, n)| n.is_none() && own.contains_key(*k)).count();
        assert_eq!(committed.deleted, there);
        for (key, number) in &changes {
            match number {
                Some(number) => drop(own.insert(key.clone(), (*number, committed.sequence))),
                None => drop(own.remove(key)),
            }
        }
        let snapshot = db.snapshot();
        changes.keys().for_each(|key| check_key(db, &snapshot, &own, key));
        if round % 16 == 0 {
            check_all(db, &snapshot, &own, prefix.as_bytes());
        }
    }
    own
}

/// Loads the thread's own keys in bulk, repeatedly.
fn load(db: &Database, loads: u64, last: &AtomicU64) -> Own {
    let (mut own, mut random) = (Own::new(), Random(99));
    for _ in 0..loads {
        let mut load = db.bulk_load();
        let mut rows = BTreeMap::new();
        for _ in 0..40 {
            let (key, number) = (key(b"load-", random.below(KEYS)), random.below(1000));
            load.put(&key, &set(number)).unwrap();
            rows.insert(key, number);
        }
        let committed = load.commit().unwrap();
        assert_eq!(committed.stored, rows.len());
        last.fetch_max(committed.sequence, Ordering::SeqCst);
        let sequence = committed.sequence;
        own.extend(rows.into_iter().map(|(key, number)| (key, (number, sequence))));
        check_all(db, &db.snapshot(), &own, b"load-");
    }
    own
}

/// Returns all rows of a snapshot. Twins, which are always written together, must come from one commit.
fn rows(snapshot: &Snapshot) -> Vec<(Box<[u8]>, ringer::Stored)> {
    let rows: Vec<_> = snapshot.range::<&[u8]>(..).map(Result::unwrap).collect();
    assert_eq!(snapshot.len().unwrap(), rows.len() as u64);
    let twins: Vec<_> = rows.iter().filter(|(key, _)| key.starts_with(b"twin-")).collect();
    assert_eq!(twins.len() % 2, 0);
    for pair in twins.chunks(2) {
        assert_eq!(pair[0].1, pair[1].1, "half of a batch");
    }
    assert!(rows.iter().all(|(_, stored)| stored.sequence <= snapshot.sequence()));
    rows
}

/// Holds snapshots for a while and reads them again. A snapshot contains everything acknowledged before it was taken.
fn read(db: &Database, done: &AtomicBool, last: &AtomicU64) -> usize {
    let mut held = Vec::new();
    let mut looks = 0;
    while !done.load(Ordering::SeqCst) {
        let acknowledged = last.load(Ordering::SeqCst);
        let snapshot = db.snapshot();
        assert!(snapshot.sequence() >= acknowledged);
        held.push((rows(&snapshot), snapshot));
        if held.len() > 6 {
            held.remove(looks % 3);
        }
        for (before, snapshot) in &held {
            assert!(rows(snapshot) == *before, "a snapshot changed");
        }
        looks += 1;
    }
    looks
}

/// Merges, checkpoints and vacuums.
fn maintain(db: &Database, done: &AtomicBool) -> usize {
    let (mut random, mut times) = (Random(5), 0);
    while !done.load(Ordering::SeqCst) {
        match random.below(5) {
            0 | 1 => db.compact().unwrap(),
            2 => db.vacuum().unwrap(),
            3 => drop(db.stat().unwrap()),
            _ => db.checkpoint().unwrap(),
        }
        times += 1;
    }
    times
}

fn race(layer: &Arc<dyn FileLayer>, path: &Path, options: Options, commits: u64) {
    let scheme = Scheme::precise();
    let db = Database::create_in(Arc::clone(layer), path, &scheme, options).unwrap();
    let (done, last) = (AtomicBool::new(false), AtomicU64::new(0));
    let (owns, loaded, looks, times) = thread::scope(|scope| {
        let (db, done, last) = (&db, &done, &last);
        let readers = [(); 2].map(|()| scope.spawn(move || read(db, done, last)));
        let maintainers = [(); 2].map(|()| scope.spawn(move || maintain(db, done)));
        let writers = [1, 2, 3].map(|t| scope.spawn(move || write(db, t, commits, last)));
        let loader = scope.spawn(move || load(db, commits / 10, last));
        // The other threads end even if one of these failed.
        let owns = writers.map(thread::ScopedJoinHandle::join);
        let loaded = loader.join();
        done.store(true, Ordering::SeqCst);
        let looks = readers.map(|r| r.join().unwrap()).iter().sum::<usize>();
        let times = maintainers.map(|m| m.join().unwrap()).iter().sum::<usize>();
        (owns.map(Result::unwrap), loaded.unwrap(), looks, times)
    });
    println!("{looks} snapshot reads, {times} merges, checkpoints and vacuums meanwhile");
    let sequence = 3 * commits + commits / 10;
    let check = |db: &Database| {
        let snapshot = db.snapshot();
        assert_eq!(snapshot.sequence(), sequence, "sequences have a gap");
        for (thread, own) in (1..).zip(&owns) {
            check_all(db, &snapshot, own, format!("w{thread}-").as_bytes());
        }
        check_all(db, &snapshot, &loaded, b"load-");
        let sets = owns.iter().map(BTreeMap::len).sum::<usize>() + loaded.len() + 6;
        assert_eq!(db.stat().unwrap().sets, sets as u64);
        rows(&snapshot);
    };
    check(&db);
    db.close().unwrap();
    let db = Database::open_in(Arc::clone(layer), path, Options::default()).unwrap();
    assert!(db.open_report().clean);
    check(&db);
    db.compact().unwrap();
    check(&db);
}

#[test]
fn changes_that_race_merges_and_checkpoints_in_memory_are_kept() {
    for (background, cache_bytes, memtable_rows) in [(true, 0, 3), (false, 1 << 20, 20)] {
        let layer: Arc<dyn FileLayer> = Arc::new(MemoryFiles::new());
        let options = Options::default()
            .with_background(background)
            .with_cache_bytes(cache_bytes)
            .with_memtable_rows(memtable_rows)
            .with_build_bytes(500);
        race(&layer, Path::new("/corpus.ringer"), options, 400);
    }
}

#[test]
fn changes_that_race_merges_and_checkpoints_on_disk_are_kept() {
    for (background, memtable_rows, log) in
        [(true, 10, LogKind::Plain), (false, 50, LogKind::Plain), (true, 30, LogKind::Sled)]
    {
        let folder = tempfile::tempdir().unwrap();
        let layer: Arc<dyn FileLayer> = Arc::new(RealFiles);
        let options = Options::default()
            .with_background(background)
            .with_memtable_rows(memtable_rows)
            .with_log(log)
            .with_build_bytes(500);
        race(&layer, &folder.path().join("corpus.ringer"), options, cases(40, 100));
    }
}

#[test]
fn commits_of_many_threads_are_durable_and_numbered_without_a_gap() {
    const THREADS: u64 = 8;
    const COMMITS: u64 = 40;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("corpus.ringer");
    let options = Options::default().with_background(false).with_memtable_rows(100);
    let db = Database::create(&path, &Scheme::precise(), options.clone()).unwrap();
    let start = std::time::Instant::now();
    let mut sequences: Vec<(u64, Vec<u8>)> = thread::scope(|scope| {
        let committing = |thread: u64| {
            let db = &db;
            scope.spawn(move || {
                let commit = |i| {
                    let key = format!("{thread}-{i}").into_bytes();
                    let committed = db.put(&key, &set(thread * COMMITS + i)).unwrap();
                    assert_eq!(db.get(&key).unwrap().unwrap().sequence, committed.sequence);
                    (committed.sequence, key)
                };
                (0..COMMITS).map(commit).collect::<Vec<_>>()
            })
        };
        let threads: Vec<_> = (0..THREADS).map(committing).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    println!("{} commits of {THREADS} threads in {:?}", THREADS * COMMITS, start.elapsed());
    sequences.sort();
    assert!(sequences.iter().map(|(sequence, _)| *sequence).eq(1..=THREADS * COMMITS));

    // The disk is as a kill would leave it; no thread is working now.
    let copy = tempfile::tempdir().unwrap();
    folder::copy(folder.path(), copy.path());
    drop(db);
    let copied = copy.path().join("corpus.ringer");
    for path in [path, copied] {
        let db = Database::open(&path, options.clone()).unwrap();
        for (sequence, key) in &sequences {
            assert_eq!(db.get(key).unwrap().unwrap().sequence, *sequence);
        }
        assert_eq!(db.snapshot().len().unwrap(), THREADS * COMMITS);
    }
}

/// If one batch of a commit group is refused, the others still commit.
#[test]
fn batches_of_many_threads_have_the_sequences_that_are_reported() {
    let layer: Arc<dyn FileLayer> = Arc::new(MemoryFiles::new());
    let (path, scheme) = (Path::new("/corpus.ringer"), Scheme::precise());
    let options = Options::default().with_memtable_rows(5);
    let db = Database::create_in(layer, path, &scheme, options).unwrap();
    thread::scope(|scope| {
        for thread in 0..6_u64 {
            let db = &db;
            scope.spawn(move || {
                let mut last = 0;
                for i in 0..200_u64 {
                    let mut batch = db.batch();
                    assert!(matches!(batch.put("", &[1]), Err(Error::InvalidArgument { .. })));
                    if i % 3 > 0 {
                        batch.put(format!("{thread}-{}", i % 7), &[i]).unwrap();
                        batch.delete(format!("{thread}-{}", (i + 1) % 7)).unwrap();
                    }
                    let empty = batch.is_empty();
                    let committed = db.commit(batch).unwrap();
                    assert!(committed.sequence > last || empty && committed.sequence == last);
                    last = committed.sequence;
                    assert_eq!(committed.stored, usize::from(!empty));
                    assert_eq!(committed.deleted + committed.absent, usize::from(!empty));
                }
            });
        }
    });
    assert_eq!(db.snapshot().sequence(), 6 * 133);
}

/// An open is refused while another process or handle has the database, and succeeds after a close (STEP-11).
#[test]
fn concurrent_opens_give_one_writer_at_a_time() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("corpus.ringer");
    let options = Options::default().with_background(false);
    drop(Database::create(&path, &Scheme::precise(), options.clone()).unwrap());
    let (writing, refused) = (AtomicU64::new(0), AtomicU64::new(0));
    thread::scope(|scope| {
        for thread in 0..4_u64 {
            let (path, options, writing, refused) = (&path, &options, &writing, &refused);
            scope.spawn(move || {
                let mut done = 0;
                while done < 15 {
                    match Database::open(path, options.clone()) {
                        Ok(db) => {
                            assert_eq!(writing.fetch_add(1, Ordering::SeqCst), 0, "two writers");
                            assert!(db.open_report().clean);
                            db.put(format!("{thread}-{done}"), &set(done)).unwrap();
                            writing.fetch_sub(1, Ordering::SeqCst);
                            db.close().unwrap();
                            done += 1;
                        }
                        Err(Error::Locked { .. }) => {
                            refused.fetch_add(1, Ordering::SeqCst);
                            thread::yield_now();
                        }
                        Err(error) => panic!("{error}"),
                    }
                }
            });
        }
    });
    println!("{refused:?} were refused");
    let db = Database::open(&path, options).unwrap();
    assert_eq!((db.snapshot().len().unwrap(), db.snapshot().sequence()), (60, 60));
    drop(db);
    assert_eq!(folder::names(folder.path()), ["corpus.ringer"]);
}
