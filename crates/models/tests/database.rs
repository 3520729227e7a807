//! The database on files in memory, with its threads in many orders (`.ci/shuttle`).
//!
//! The models have group commits, snapshots, background checkpoints and merges, bulk loads, a vacuum, a disk that is
//! full for a while, and a close during a bulk load. Every read is compared with a map, and no order may end in a
//! deadlock.

mod explore;
mod history;

use std::path::Path;
use std::sync::Arc;

use explore::explore;
use history::{Changes, History};
use ringer::internals::store::file_layer::FileLayer;
use ringer::internals::store::file_layer::memory::MemoryFiles;
use ringer::{Database, Error, Options, Reader, Result, Scheme, Snapshot};
use shuttle::sync::atomic::{AtomicBool, Ordering};
use shuttle::thread;

const PATH: &str = "/corpus.ringer";
const KEYS: [&str; 6] = ["a", "b", "c", "d", "e", "f"];

/// Little memory: memtables of two rows, and a page cache that has to evict.
fn options(background: bool, cache_bytes: usize) -> Options {
    Options::default()
        .with_background(background)
        .with_cache_bytes(cache_bytes)
        .with_memtable_rows(2)
        .with_build_bytes(200)
}

fn create(files: &MemoryFiles, options: &Options) -> Database {
    let layer: Arc<dyn FileLayer> = Arc::new(files.clone());
    Database::create_in(layer, Path::new(PATH), &Scheme::precise(), options.clone()).unwrap()
}

/// The changes of commit `round` of a thread: two keys get the same set, and a third is deleted. Other threads use
/// these keys too.
fn changes(thread: u64, round: u64) -> Changes {
    let n = (thread * 7 + round * 3) as usize;
    let number = thread * 2 + round;
    let mut changes = Changes::from([(KEYS[(n + 2) % 6], None)]);
    changes.insert(KEYS[n % 6], Some(number));
    changes.insert(KEYS[(n + 1) % 6], Some(number));
    changes
}

/// Makes three segments. Some rows of the first two have tombstones.
fn fill(db: &Database, history: &History) {
    for round in 0..3 {
        history.commit(db, &changes(9, round)).unwrap();
        db.checkpoint().unwrap();
    }
}

/// Reads everything at the end, closes the database, opens it again, and compares all reads with the history.
fn end(db: Database, files: &MemoryFiles, history: &History) {
    history.look(&db);
    db.close().unwrap();
    assert_eq!(files.files(), [Path::new(PATH)], "one file");
    let layer: Arc<dyn FileLayer> = Arc::new(files.clone());
    let db = Database::open_in(layer, Path::new(PATH), options(false, 0)).unwrap();
    assert!(db.open_report().clean);
    history.look(&db);
    history.check();
}

/// Opens a copy of the files, as a kill at this moment would leave them. All acknowledged commits must be there, for
/// a reader and for a writer.
fn end_after_a_kill(db: Database, files: &MemoryFiles, history: &History) {
    let copy = MemoryFiles::from_entries(files.entries());
    let layer: Arc<dyn FileLayer> = Arc::new(copy.clone());
    let reader = Reader::open_in(Arc::clone(&layer), Path::new(PATH), options(false, 0)).unwrap();
    history.look_again(&reader.snapshot());
    assert_eq!(reader.snapshot().sequence(), db.snapshot().sequence(), "commits are missing");
    let killed = Database::open_in(layer, Path::new(PATH), options(false, 0)).unwrap();
    history.look(&killed);
    end(killed, &copy, history);
    end(db, files, history);
}

/// Takes snapshots one after the other, and reads all of them again at the end.
fn read(db: &Database, history: &History, looks: usize) {
    let held: Vec<_> = (0..looks).map(|_| history.look(db)).collect();
    assert!(held.is_sorted_by_key(Snapshot::sequence), "time went backwards");
    held.iter().for_each(|snapshot| history.look_again(snapshot));
}

#[test]
fn commits_that_wait_for_each_other_and_for_checkpoints() {
    explore(|| {
        let (files, history) = (MemoryFiles::new(), History::default());
        let db = create(&files, &options(true, 1 << 14));
        thread::scope(|scope| {
            let (db, history) = (&db, &history);
            for writer in [1, 2, 3] {
                scope.spawn(move || {
                    (0..2).for_each(|round| {
                        history.commit(db, &changes(writer, round)).unwrap();
                        history.look(db);
                    });
                });
            }
            scope.spawn(move || read(db, history, 2));
        });
        end(db, &files, &history);
    });
}

#[test]
fn rows_that_change_during_a_merge() {
    explore(|| {
        let (files, history) = (MemoryFiles::new(), History::default());
        let db = create(&files, &options(false, 0));
        fill(&db, &history);
        thread::scope(|scope| {
            let (db, history) = (&db, &history);
            scope.spawn(move || db.compact().unwrap());
            scope.spawn(move || {
                history.commit(db, &changes(1, 0)).unwrap();
                db.checkpoint().unwrap();
                history.commit(db, &changes(1, 1)).unwrap();
            });
            scope.spawn(move || read(db, history, 2));
        });
        end_after_a_kill(db, &files, &history);
    });
}

#[test]
fn a_file_is_rewritten_beside_a_load_and_background_merges() {
    explore(|| {
        let (files, history) = (MemoryFiles::new(), History::default());
        let db = create(&files, &options(true, 1 << 13));
        fill(&db, &history);
        thread::scope(|scope| {
            let (db, history) = (&db, &history);
            scope.spawn(move || {
                let rows = Changes::from([("a", Some(3)), ("c", Some(4)), ("g", Some(3))]);
                let committed = History::load(db, &rows).commit().unwrap();
                history.acknowledge(committed, &rows);
                db.vacuum().unwrap();
            });
            scope.spawn(move || {
                (0..2).for_each(|round| history.commit(db, &changes(2, round)).unwrap());
            });
            scope.spawn(move || db.compact().unwrap());
            scope.spawn(move || read(db, history, 1));
        });
        end(db, &files, &history);
    });
}

/// The disk is full for a while. Each commit is refused or acknowledged, no thread waits for ever, and later commits
/// succeed.
#[test]
fn a_checkpoint_that_fails_lets_commits_go() {
    explore(|| {
        let (files, history) = (MemoryFiles::new(), History::default());
        let db = create(&files, &options(true, 0));
        fill(&db, &history);
        let refused = |result: Result<()>| match result {
            Ok(()) | Err(Error::NoSpace { .. }) => {}
            Err(error) => panic!("{error}"),
        };
        thread::scope(|scope| {
            let (db, files, history) = (&db, &files, &history);
            scope.spawn(move || {
                let length = files.contents(PATH).unwrap().len() as u64;
                drop(files.clone().limited_to(length));
                thread::yield_now();
                drop(files.clone().limited_to(1 << 30));
            });
            for writer in [1, 2] {
                scope.spawn(move || {
                    (0..2).for_each(|round| refused(history.commit(db, &changes(writer, round))));
                    refused(db.checkpoint());
                });
            }
        });
        history.commit(&db, &changes(5, 0)).unwrap();
        end(db, &files, &history);
    });
}

/// A bulk load commits while its database is closed. It is stored as a whole, or refused.
#[test]
fn a_load_beside_a_close() {
    explore(|| {
        let (files, history) = (MemoryFiles::new(), Arc::new(History::default()));
        let db = create(&files, &options(true, 0));
        fill(&db, &history);
        let rows = Changes::from([("a", Some(3)), ("g", Some(3))]);
        let load = History::load(&db, &rows);
        let (known, closed) = (Arc::clone(&history), Arc::new(AtomicBool::new(false)));
        let is_closed = Arc::clone(&closed);
        let loads = thread::spawn(move || {
            let too_late = is_closed.load(Ordering::SeqCst);
            match load.commit() {
                Ok(committed) if !too_late => known.acknowledge(committed, &rows),
                Err(Error::Closed { .. }) => {}
                other => panic!("{other:?}"),
            }
        });
        db.close().unwrap();
        closed.store(true, Ordering::SeqCst);
        loads.join().unwrap();
        let layer: Arc<dyn FileLayer> = Arc::new(files.clone());
        let db = Database::open_in(layer, Path::new(PATH), options(false, 0)).unwrap();
        history.look(&db);
        end(db, &files, &history);
    });
}

/// Two threads refresh one reader while commits are checkpointed. Neither ever sees an older state than before.
#[test]
fn a_reader_that_is_refreshed_by_two_never_goes_back() {
    explore(|| {
        let (files, history) = (MemoryFiles::new(), History::default());
        let db = create(&files, &options(false, 0));
        fill(&db, &history);
        let layer: Arc<dyn FileLayer> = Arc::new(files.clone());
        let reader = Reader::open_in(layer, Path::new(PATH), options(false, 0)).unwrap();
        thread::scope(|scope| {
            let (db, history, reader) = (&db, &history, &reader);
            scope.spawn(move || {
                for round in 0..3 {
                    history.commit(db, &changes(1, round)).unwrap();
                    db.checkpoint().unwrap();
                }
            });
            for _ in 0..2 {
                scope.spawn(move || {
                    let mut last = 0;
                    for _ in 0..4 {
                        reader.refresh().unwrap();
                        let sequence = reader.snapshot().sequence();
                        assert!(sequence >= last, "a reader went back");
                        last = sequence;
                    }
                });
            }
        });
        end(db, &files, &history);
    });
}
