//! A database as a program uses it: what is stored can be read back, whatever happens in between.

use std::path::Path;

use ringer::{Database, Error, LogKind, Options, Scheme};

fn scheme() -> Scheme {
    Scheme::precise()
}

fn set(n: u64) -> Vec<u64> {
    (0..20 + n % 7).map(|i| n * 1000 + i).collect()
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn what_was_committed_is_there_after_closing_and_opening() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("corpus.ringer");
    let db = Database::create(&path, &scheme(), Options::default()).unwrap();
    for i in 0..100_u64 {
        let committed = db.put(format!("key{i:03}"), &set(i)).unwrap();
        assert_eq!((committed.sequence, committed.stored), (i + 1, 1));
    }
    assert_eq!(db.delete("key050").unwrap().deleted, 1);
    assert_eq!(db.delete("key050").unwrap().absent, 1);
    let expected = |i: u64| db.sketcher().sketch(&set(i)).unwrap();
    assert_eq!(db.get("key007").unwrap().unwrap().signature, expected(7));
    assert!(names(folder.path()).contains(&"corpus.ringer-hot".to_string()));
    db.close().unwrap();
    assert_eq!(names(folder.path()), ["corpus.ringer"]);

    let db = Database::open(&path, Options::default()).unwrap();
    assert!(db.open_report().clean);
    assert_eq!(db.snapshot().len().unwrap(), 99);
    let keys: Vec<_> = db.snapshot().prefix_keys("key05").map(Result::unwrap).collect();
    let keys: Vec<_> = keys.iter().map(|key| std::str::from_utf8(key).unwrap()).collect();
    let nine = ["1", "2", "3", "4", "5", "6", "7", "8", "9"].map(|n| format!("key05{n}"));
    assert_eq!(keys, nine);
    let stored = db.get("key099").unwrap().unwrap();
    assert_eq!((stored.sequence, stored.signature), (100, db.sketcher().sketch(&set(99)).unwrap()));
    assert_eq!(db.get("key050").unwrap(), None);
    drop(db);
    assert_eq!(names(folder.path()), ["corpus.ringer"]);
}

/// An empty batch is not a commit. It reports the last sequence, and the next commit takes the next one.
#[test]
fn an_empty_batch_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("corpus.ringer");
    let db = Database::create(&path, &scheme(), Options::default()).unwrap();
    for last in 0..3 {
        let empty = db.commit(db.batch()).unwrap();
        assert_eq!((empty.sequence, empty.stored, empty.deleted, empty.absent), (last, 0, 0, 0));
        assert_eq!(db.snapshot().sequence(), last);
        assert_eq!(db.put("a", &set(last)).unwrap().sequence, last + 1);
    }
}

#[test]
fn a_second_writer_is_refused_at_once_and_readers_are_not() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("corpus.ringer");
    let db = Database::create(&path, &scheme(), Options::default()).unwrap();
    db.put("a", &set(1)).unwrap();
    assert!(matches!(Database::open(&path, Options::default()), Err(Error::Locked { .. })));
    let reader = Database::open_read_only(&path, Options::default()).unwrap();
    assert_eq!((reader.commits_in_log(), reader.is_clean()), (1, false));
    assert!(reader.has_writer().unwrap());
    assert_eq!(reader.get("a").unwrap(), db.get("a").unwrap());
    db.put("b", &set(2)).unwrap();
    assert_eq!(reader.get("b").unwrap(), None, "a reader keeps its state");
    for in_log in [2, 0] {
        reader.refresh().unwrap();
        assert_eq!((reader.commits_in_log(), reader.hidden_commits()), (in_log, 0));
        assert_eq!(reader.get("b").unwrap(), db.get("b").unwrap());
        db.checkpoint().unwrap();
    }
    db.close().unwrap();
    assert!(!reader.has_writer().unwrap());
    drop(Database::open(&path, Options::default()).unwrap());
}

#[test]
fn a_bulk_load_appears_at_once_and_the_last_of_equal_keys_counts() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("corpus.ringer");
    let options = Options::default().with_build_bytes(4096);
    let db = Database::create(&path, &scheme(), options).unwrap();
    db.put("k0005", &set(1)).unwrap();
    let before = db.snapshot();
    let mut load = db.bulk_load();
    for i in 0..1000_u64 {
        load.put(format!("k{i:04}"), &set(i)).unwrap();
    }
    load.put("k0007", &set(7777)).unwrap();
    assert_eq!(db.snapshot().len().unwrap(), 1);
    let committed = load.commit().unwrap();
    assert_eq!((committed.sequence, committed.stored), (2, 1000));
    assert_eq!(db.snapshot().len().unwrap(), 1000);
    assert_eq!(before.len().unwrap(), 1);
    let expected = |i: u64| db.sketcher().sketch(&set(i)).unwrap();
    for i in [0, 5, 7, 999] {
        let stored = db.get(format!("k{i:04}")).unwrap().unwrap();
        assert_eq!(stored.signature, expected(if i == 7 { 7777 } else { i }), "{i}");
    }
    db.put("l", &set(3)).unwrap();
    db.delete("l").unwrap();
    db.compact().unwrap();
    assert_eq!(db.stat().unwrap().segments, 1);
    for (i, row) in db.snapshot().range::<&[u8]>(..).enumerate() {
        let (key, stored) = row.unwrap();
        assert_eq!(*key, *format!("k{i:04}").as_bytes());
        assert_eq!(stored.signature, expected(if i == 7 { 7777 } else { i as u64 }));
    }
}

/// A database leaves files alone that are not its own (STEP-2, STEP-11).
#[test]
fn files_of_others_are_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("corpus.ringer");
    let exists = |result: Result<Database, Error>| matches!(result, Err(Error::Exists { .. }));
    std::fs::write(&path, "precious").unwrap();
    assert!(exists(Database::create(&path, &scheme(), Options::default())));
    assert!(matches!(Database::open(&path, Options::default()), Err(Error::NotADatabase { .. })));
    assert_eq!(std::fs::read(&path).unwrap(), b"precious");
    std::fs::remove_file(&path).unwrap();
    std::fs::create_dir(folder.path().join("corpus.ringer-hot")).unwrap();
    assert!(exists(Database::create(&path, &scheme(), Options::default())));
    std::fs::remove_dir(folder.path().join("corpus.ringer-hot")).unwrap();
    drop(Database::create(&path, &scheme(), Options::default()).unwrap());
    std::fs::hard_link(&path, folder.path().join("second")).unwrap();
    let result = Database::open(&path, Options::default());
    assert!(matches!(result, Err(Error::InvalidArgument { .. })));
    assert_eq!(names(folder.path()), ["corpus.ringer", "second"]);
    assert!(matches!(
        Database::open(folder.path(), Options::default()),
        Err(Error::NotADatabase { .. })
    ));
    let missing = Database::open(folder.path().join("none"), Options::default());
    assert!(matches!(missing, Err(Error::Io { .. })));
}

/// Batches and bulk loads, which are sketched in parallel, give the same rows as single puts.
#[test]
fn many_sets_at_once_are_the_same_as_one_by_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("corpus.ringer");
    let options = Options::default().with_threads(2);
    let db = Database::create(&path, &scheme(), options).unwrap();
    let sets: Vec<(String, Vec<u64>)> = (0..500).map(|i| (format!("{i}"), set(i))).collect();
    let mut batch = db.batch();
    batch.put_many(&sets[..200]).unwrap();
    db.commit(batch).unwrap();
    let mut load = db.bulk_load();
    load.put_many(&sets[200..]).unwrap();
    load.commit().unwrap();
    for (key, set) in &sets {
        let stored = db.get(key).unwrap().unwrap();
        assert_eq!(stored.signature, db.sketcher().sketch(set).unwrap());
    }
    let mut batch = db.batch();
    assert!(batch.put_many(&[("good", set(1)), ("", set(2))]).is_err());
    assert!(batch.is_empty());
}

#[test]
fn a_packed_copy_is_a_database_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let (path, copy) = (folder.path().join("a.ringer"), folder.path().join("b.ringer"));
    let db = Database::create(&path, &scheme(), Options::default()).unwrap();
    for i in 0..50 {
        db.put(format!("{i:02}"), &set(i)).unwrap();
    }
    db.checkpoint().unwrap();
    db.delete("07").unwrap();
    db.pack(&copy).unwrap();
    assert!(matches!(db.pack(&copy), Err(Error::Exists { .. })));
    let packed = Database::open(&copy, Options::default()).unwrap();
    let all = |db: &Database| -> Vec<_> {
        db.snapshot()
            .range::<&[u8]>(..)
            .map(|row| row.map(|(k, s)| (k, s.signature)).unwrap())
            .collect()
    };
    assert_eq!((all(&packed).len(), all(&packed)), (49, all(&db)));
    assert!(packed.put("07", &set(7)).unwrap().sequence > db.snapshot().sequence() - 1);
}

#[cfg(unix)]
#[test]
fn a_vacuum_keeps_the_permissions_of_the_file() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("corpus.ringer");
    let db = Database::create(&path, &scheme(), Options::default()).unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();
    db.put("a", &set(1)).unwrap();
    db.compact().unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
}

/// The write-ahead log contains data of the database, so it has the same permissions as the file.
#[cfg(unix)]
#[test]
fn the_log_directory_has_the_permissions_of_the_file() {
    use std::os::unix::fs::PermissionsExt;
    for (file, folder_of_commits) in [(0o600, 0o700), (0o640, 0o750), (0o644, 0o755)] {
        for log in [LogKind::Plain, LogKind::Sled] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("corpus.ringer");
            let options = Options::default().with_log(log);
            let db = Database::create(&path, &scheme(), options).unwrap();
            std::fs::set_permissions(&path, PermissionsExt::from_mode(file)).unwrap();
            db.put("a", &set(1)).unwrap();
            let directory = std::fs::metadata(folder.path().join("corpus.ringer-hot")).unwrap();
            assert_eq!(directory.permissions().mode() & 0o777, folder_of_commits, "{log:?}");
        }
    }
}

/// Here an empty memtable already exceeds its limit. That must not cause a checkpoint of nothing, which would lose
/// the checkpointed sequence.
#[test]
fn no_commit_is_forgotten_where_an_empty_memtable_is_too_large() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("corpus.ringer");
    let options = Options::default().with_memtable_bytes(1).with_background(false);
    let db = Database::create(&path, &scheme(), options.clone()).unwrap();
    for n in 0..10_u64 {
        db.put(format!("put {n}"), &set(n)).unwrap();
        let mut load = db.bulk_load();
        load.put(format!("load {n}"), &set(n)).unwrap();
        assert_eq!(load.commit().unwrap().sequence, 2 * n + 2);
        let reader = Database::open_read_only(&path, options.clone()).unwrap();
        let seen = reader.snapshot();
        assert_eq!((seen.sequence(), seen.len().unwrap()), (2 * n + 2, 2 * n + 2));
    }
    let mut batch = db.batch();
    batch.put("last", &[1]).unwrap();
    db.commit(batch).unwrap();
    let reader = Database::open_read_only(&path, options).unwrap();
    assert_eq!(reader.snapshot().sequence(), 21);
}

#[test]
fn stat_counts_what_the_writer_has_done_since_it_was_opened() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("corpus.ringer");
    let options = Options::default().with_background(false).with_merge(false);
    let db = Database::create(&path, &scheme(), options.clone()).unwrap();
    for i in 0..3 {
        db.put(format!("key{i}"), &set(i)).unwrap();
        db.checkpoint().unwrap();
    }
    // Neither an empty batch nor a rejected key is a commit.
    db.commit(db.batch()).unwrap();
    assert!(db.put("", &[1]).is_err());
    let mut load = db.bulk_load();
    load.put("key9", &set(9)).unwrap();
    load.commit().unwrap();
    let activity = db.stat().unwrap().activity;
    assert_eq!((activity.commits, activity.merges, activity.checkpoint_waits), (4, 0, 0));
    db.compact().unwrap();
    assert_eq!(db.stat().unwrap().activity.merges, 1);
    db.close().unwrap();
    let db = Database::open(&path, options).unwrap();
    assert_eq!(db.stat().unwrap().activity, ringer::Activity::default());
}
