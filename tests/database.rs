//! A database as a program uses it: what goes in comes out, whatever happens in between.

use std::path::Path;

use ringer::{Database, Error, Options, Scheme};

fn scheme() -> Scheme {
    Scheme::near_duplicate()
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

#[test]
fn a_second_writer_is_refused_at_once_and_readers_are_not() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("corpus.ringer");
    let db = Database::create(&path, &scheme(), Options::default()).unwrap();
    db.put("a", &set(1)).unwrap();
    assert!(matches!(Database::open(&path, Options::default()), Err(Error::Locked { .. })));
    let reader = Database::open_read_only(&path, Options::default()).unwrap();
    assert_eq!((reader.unsealed(), reader.is_clean()), (1, false));
    assert_eq!(reader.get("a").unwrap(), None);
    db.checkpoint().unwrap();
    assert_eq!(reader.get("a").unwrap(), None, "a reader stays where it is");
    reader.refresh().unwrap();
    assert_eq!(reader.get("a").unwrap(), db.get("a").unwrap());
    db.close().unwrap();
    drop(Database::open(&path, Options::default()).unwrap());
}

#[test]
fn a_bulk_load_appears_at_once_and_the_last_of_equal_keys_counts() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("corpus.ringer");
    let options = Options { build_bytes: 4096, ..Options::default() };
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
