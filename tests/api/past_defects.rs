//! Regression tests for defects found in the engine. Each comment describes the defect.

use testkit::oracle;

use std::path::Path;
use std::sync::Arc;

use oracle::{History, bulk_load, commit, compare, scheme};
use ringer::db::Reader;
use ringer::internals::store::file_layer::FileLayer;
use ringer::internals::store::file_layer::faulty::{CrashKind, Failure, Fault, FaultyFiles};
use ringer::internals::store::file_layer::memory::MemoryFiles;
use ringer::{Database, Error, Options};

const PATH: &str = "/corpus.ringer";

fn create(layer: &(impl FileLayer + Clone + 'static), options: Options) -> Database {
    let layer: Arc<dyn FileLayer> = Arc::new(layer.clone());
    Database::create_in(layer, Path::new(PATH), &scheme(), options).unwrap()
}

fn open(layer: &(impl FileLayer + Clone + 'static)) -> Database {
    let layer: Arc<dyn FileLayer> = Arc::new(layer.clone());
    Database::open_in(layer, Path::new(PATH), Options::default()).unwrap()
}

/// Returns the names in the root folder, without subfolders.
fn names(files: &MemoryFiles) -> Vec<String> {
    let entries = files.entries();
    let top = entries.iter().filter(|entry| entry.path.parent() == Some(Path::new("/")));
    top.map(|entry| entry.path.to_str().unwrap().to_string()).collect()
}

/// The write-ahead log expected the sequence after its own last commit, but a bulk load takes a sequence that is
/// never in the log.
#[test]
fn commits_continue_after_a_bulk_load() {
    let files = MemoryFiles::new();
    let (db, mut history) = (create(&files, Options::default()), History::new());
    assert_eq!(commit(&db, &[(1, Some(1))]).unwrap(), history.commit(&[(1, Some(1))]));
    assert_eq!(bulk_load(&db, &[(2, 3)]).unwrap(), history.commit(&[(2, Some(3))]));
    assert_eq!(commit(&db, &[(3, Some(4))]).unwrap(), history.commit(&[(3, Some(4))]));
    compare(&db.snapshot(), history.now(), "after the load");
    db.close().unwrap();
    compare(&open(&files).snapshot(), history.now(), "after opening");
}

/// The manifest listed segments built in the background behind others with higher numbers, and no open accepted that.
#[test]
fn a_segment_built_before_a_checkpoint_and_added_after_it_can_be_opened() {
    let files = MemoryFiles::new();
    let options = Options::default().with_build_bytes(1);
    let (db, mut history) = (create(&files, options), History::new());
    let mut load = db.bulk_load();
    load.put(&oracle::KEYS[5], &oracle::SETS[3]).unwrap();
    commit(&db, &[(1, Some(1))]).unwrap();
    history.commit(&[(1, Some(1))]);
    db.checkpoint().unwrap();
    load.commit().unwrap();
    history.commit(&[(5, Some(3))]);
    db.close().unwrap();
    compare(&open(&files).snapshot(), history.now(), "after opening");
}

/// A crash while a log was created or removed left a directory that nothing removed. One without an id file blocked
/// all later commits (STEP-8).
#[test]
fn a_crash_while_a_log_is_made_or_removed_leaves_nothing_behind() {
    let files = FaultyFiles::new();
    let db = create(&files, Options::default().with_background(false));
    commit(&db, &[(1, Some(1))]).unwrap();
    db.close().unwrap();
    let mut seen = 0;
    files.for_each_crash(|at, kind, image| {
        let known = matches!(kind, CrashKind::Killed | CrashKind::NothingUnsynced);
        if !known || image.kind(Path::new(PATH)).unwrap().is_none() {
            return;
        }
        seen += 1;
        open(&image).close().unwrap();
        assert_eq!(names(&image), [PATH], "{kind:?} after {at} changes");
        let db = open(&image);
        commit(&db, &[(2, Some(2))]).unwrap();
        db.close().unwrap();
        assert_eq!(names(&image), [PATH], "{kind:?} after {at} changes");
    });
    assert!(seen > 40, "{seen}");
}

/// A log that could not be created stayed beside the database (STEP-4).
#[test]
fn a_first_commit_that_fails_leaves_nothing_and_can_be_tried_again() {
    let mut again_after_failure = 0;
    for (fails, again) in (0..12).flat_map(|fails| [(fails, false), (fails, true)]) {
        let files = FaultyFiles::new();
        let db = create(&files, Options::default().with_background(false));
        files.arm(Fault::after(fails, Failure::Full));
        let failed = commit(&db, &[(1, Some(1))]).is_err();
        files.disarm();
        if failed && again {
            again_after_failure += u64::from(commit(&db, &[(1, Some(1))]).is_ok());
        }
        // After a failed sync the state of the disk is unknown, so this writer stops writing.
        if let Err(error) = db.close() {
            assert!(matches!(error, Error::Poisoned { .. }), "{fails}: {error}");
            open(files.running()).close().unwrap();
        }
        assert_eq!(names(files.running()), [PATH], "{fails}");
    }
    assert!(again_after_failure > 3, "{again_after_failure}");
}

/// The unfinished copy stayed and took the space that was missing.
#[test]
fn a_vacuum_that_fails_leaves_no_copy_and_all_as_it_was() {
    let mut failures = 0;
    for fails in 0..40 {
        let files = FaultyFiles::new();
        let options = Options::default().with_background(false).with_memtable_rows(2);
        let (db, mut history) = (create(&files, options), History::new());
        for changes in [&[(1, Some(1)), (2, Some(5))][..], &[(1, None)], &[(4, Some(0))]] {
            assert_eq!(commit(&db, changes).unwrap(), history.commit(changes));
        }
        db.checkpoint().unwrap();
        files.arm(Fault::after(fails, Failure::Full));
        let result = db.vacuum();
        files.disarm();
        let Err(error) = result else { break };
        failures += 1;
        let vacuum = format!("{PATH}-vacuum");
        let renamed = matches!(&error, Error::NoSpace { operation: "sync" | "rename", .. });
        assert!(renamed || !names(files.running()).contains(&vacuum), "{fails}: {error}");
        compare(&db.snapshot(), history.now(), "after a vacuum that failed");
        let _ = db.close();
        let db = open(files.running());
        compare(&db.snapshot(), history.now(), "after opening");
        db.close().unwrap();
        assert_eq!(names(files.running()), [PATH], "{fails}");
    }
    assert!(failures > 5, "{failures}");
}

/// The page cache returned pages of the old file for the new one, where extent numbers were the same.
#[test]
fn a_reader_that_finds_another_database_in_its_place_reads_that_one() {
    let files = MemoryFiles::new();
    let layer: Arc<dyn FileLayer> = Arc::new(files.clone());
    let mut histories = Vec::new();
    let mut reader: Option<Reader> = None;
    for changes in [&[(1, Some(3)), (2, Some(4))], &[(1, Some(5)), (2, None)]] {
        if files.kind(Path::new(PATH)).unwrap().is_some() {
            files.remove_file(Path::new(PATH)).unwrap();
        }
        let (db, mut history) = (create(&files, Options::default()), History::new());
        commit(&db, changes).unwrap();
        history.commit(changes);
        db.close().unwrap();
        match &reader {
            None => {
                let path = Path::new(PATH);
                let opened = Reader::open_in(Arc::clone(&layer), path, Options::default());
                reader = Some(opened.unwrap());
            }
            Some(reader) => reader.refresh().unwrap(),
        }
        let snapshot = reader.as_ref().unwrap().snapshot();
        compare(&snapshot, history.now(), "the database that is there");
        histories.push((snapshot, history));
        for (snapshot, history) in &histories {
            compare(snapshot, history.now(), "a snapshot of a database that was there");
        }
    }
}

/// A bulk load that waited for a checkpoint waited forever after the checkpoint thread had ended.
#[test]
fn a_bulk_load_that_outlives_its_database_is_committed_or_refused() {
    for round in 0..200 {
        let files = MemoryFiles::new();
        let db = create(&files, Options::default().with_memtable_rows(1));
        commit(&db, &[(1, Some(1))]).unwrap();
        commit(&db, &[(1, Some(2)), (2, Some(3))]).unwrap();
        let mut load = db.bulk_load();
        load.put(&oracle::KEYS[3], &oracle::SETS[3]).unwrap();
        let loading = std::thread::spawn(move || load.commit());
        if round % 2 == 0 {
            std::thread::yield_now();
        }
        db.close().unwrap();
        let loaded = match loading.join().unwrap() {
            Ok(_) => true,
            Err(error) => {
                assert!(matches!(error, Error::Closed { .. }), "{error}");
                false
            }
        };
        let db = open(&files);
        assert_eq!(db.snapshot().contains(&oracle::KEYS[3]).unwrap(), loaded);
        assert_eq!(names(&files), [PATH, &format!("{PATH}-lock")]);
    }
}

/// A merge at the end of a load wrote to the file after the database was closed and its lock released.
#[test]
fn nothing_is_written_once_a_database_is_closed() {
    for round in 0..300 {
        let files = MemoryFiles::new();
        let options = Options::default().with_background(false).with_build_bytes(1);
        let db = create(&files, options);
        let mut load = db.bulk_load();
        for (i, key) in oracle::KEYS.iter().enumerate() {
            load.put(key, &oracle::SETS[i % oracle::SETS.len()]).unwrap();
        }
        let loading = std::thread::spawn(move || load.commit());
        for _ in 0..round {
            std::thread::yield_now();
        }
        db.close().unwrap();
        let bytes = files.contents(PATH).unwrap();
        match loading.join().unwrap() {
            Ok(_) => {}
            Err(error) => assert!(matches!(error, Error::Closed { .. }), "{error}"),
        }
        assert!(files.contents(PATH).unwrap() == bytes, "it changed after it was closed");
        assert!(open(&files).open_report().clean);
    }
}
