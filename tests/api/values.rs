//! Values: every one is returned as it was stored, wherever it has been. It belongs to its key, also where keys share a
//! signature, and goes with the key's set. Reads that do not ask for values do not read them.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use ringer::internals::maintenance::{check, repair, salvage};
use ringer::internals::store::file_layer::FileLayer;
use ringer::internals::store::file_layer::memory::MemoryFiles;
use ringer::limits::{MAX_BATCH_BYTES, MAX_VALUE_BYTES};
use ringer::scheme::Elements;
use ringer::{Database, Depth, Error, Like, Options, Reader, Scheme, Snapshot, presets};
use testkit::random::word_at;

const PATH: &str = "/values.ringer";
const OTHER: &str = "/other.ringer";

/// A set and its value, by key.
type Rows = BTreeMap<Vec<u8>, (Vec<u64>, Option<Vec<u8>>)>;

fn options() -> Options {
    Options::default().with_background(false).with_merge(false).with_build_bytes(40_000)
}

fn schemes() -> [Scheme; 2] {
    let kept = presets::NEAR_DUPLICATE.with_elements(Elements::EXACT);
    [Scheme::near_duplicate(), Scheme::new(kept).unwrap()]
}

fn create(scheme: &Scheme) -> (MemoryFiles, Arc<dyn FileLayer>, Database) {
    let files = MemoryFiles::new();
    let layer: Arc<dyn FileLayer> = Arc::new(files.clone());
    let db = Database::create_in(Arc::clone(&layer), Path::new(PATH), scheme, options()).unwrap();
    (files, layer, db)
}

fn key(n: u64) -> Vec<u8> {
    format!("{:04}", n * 7 % 1000).into_bytes()
}

/// Returns set `n`. One in four is the same set, and some are empty.
fn set(n: u64) -> Vec<u64> {
    match n % 8 {
        0 => Vec::new(),
        1 | 5 => vec![1, 2, 3],
        size => (0..20 + size).map(|i| word_at(n * 100 + i)).collect(),
    }
}

/// Returns value `n`: none, empty, short, over several pages, or the longest.
fn value(n: u64) -> Option<Vec<u8>> {
    let length = match n % 10 {
        0..3 => return None,
        3 => 0,
        4 if n % 50 == 4 => MAX_VALUE_BYTES,
        5 => 9_000 + n as usize,
        short => (n % 100 + short) as usize,
    };
    Some((0..length as u64).map(|i| word_at(n * 70_000 + i) as u8).collect())
}

fn sorted(mut set: Vec<u64>) -> Vec<u64> {
    set.sort_unstable();
    set.dedup();
    set
}

/// Stores sets in a log, in a memtable, and in segments made by commits and bulk loads.
fn fill(db: &Database) -> Rows {
    let mut truth = Rows::new();
    let mut load = db.bulk_load();
    for n in 0..120 {
        load.put(key(n), &set(n)).unwrap();
        if let Some(value) = value(n) {
            load.with_value(value).unwrap();
        }
        truth.insert(key(n), (sorted(set(n)), value(n)));
    }
    load.commit().unwrap();
    for n in 60..160 {
        let mut batch = db.batch();
        batch.put(key(n), &set(n + 1000)).unwrap();
        if let Some(value) = value(n + 1001) {
            batch.with_value(value).unwrap();
        }
        truth.insert(key(n), (sorted(set(n + 1000)), value(n + 1001)));
        if n % 5 == 0 {
            batch.delete(key(n - 50)).unwrap();
            truth.remove(&key(n - 50));
        }
        db.commit(batch).unwrap();
        if n == 100 || n == 130 {
            db.checkpoint().unwrap();
        }
    }
    truth
}

/// Compares every row, read in order and by key, and the value of each match, with the truth.
fn compare(snapshot: &Snapshot, truth: &Rows, what: &str) {
    let sketcher = ringer::Sketcher::new(snapshot.scheme());
    let rows: Vec<_> = snapshot.iter().map(Result::unwrap).collect();
    assert_eq!(rows.len(), truth.len(), "{what}");
    for ((key, stored), (wanted, (set, value))) in rows.iter().zip(truth) {
        assert_eq!(**key, **wanted, "{what}");
        assert_eq!(stored.value.as_deref(), value.as_deref(), "{what}: {}", key.escape_ascii());
        assert_eq!(stored.signature, sketcher.sketch(set).unwrap(), "{what}");
        assert_eq!(snapshot.get(key).unwrap().as_ref(), Some(stored), "{what}");
        assert_eq!(snapshot.value(key).unwrap(), stored.value, "{what}");
    }
    assert_eq!(snapshot.value("no such key").unwrap(), None);
    let query = || snapshot.query(Like::Features(&[1, 2, 3])).top(200);
    let answer = query().with_values().run().unwrap();
    assert!(answer.matches.len() > 10, "{what}");
    for found in &answer.matches {
        assert_eq!(found.value.as_deref(), truth[&*found.key].1.as_deref(), "{what}");
    }
    let without = query().run().unwrap().matches;
    assert!(without.iter().all(|found| found.value.is_none()), "{what}");
    assert!(without.iter().map(|m| &m.key).eq(answer.matches.iter().map(|m| &m.key)), "{what}");
}

fn check_deep(layer: &Arc<dyn FileLayer>, path: &str, rows: usize) {
    let report = check::check(&**layer, Path::new(path), Depth::Deep).unwrap();
    assert_eq!((report.findings, report.rows), (Vec::new(), rows as u64), "{path}");
}

fn open(layer: &Arc<dyn FileLayer>, path: &str) -> Snapshot {
    Reader::open_in(Arc::clone(layer), Path::new(path), options()).unwrap().snapshot()
}

#[test]
fn values_survive_every_way_through_a_database() {
    for scheme in schemes() {
        let (files, layer, db) = create(&scheme);
        let truth = fill(&db);
        assert!(db.stat().unwrap().segments > 4 && db.stat().unwrap().fresh > 0);
        compare(&db.snapshot(), &truth, "filled");
        // The log of a killed writer is replayed.
        let killed: Arc<dyn FileLayer> = Arc::new(MemoryFiles::from_entries(files.entries()));
        let replayed = Database::open_in(Arc::clone(&killed), Path::new(PATH), options()).unwrap();
        compare(&replayed.snapshot(), &truth, "replayed");
        drop(replayed);
        let early = db.snapshot();
        db.checkpoint().unwrap();
        compare(&db.snapshot(), &truth, "checkpointed");
        db.vacuum().unwrap();
        db.pack(OTHER).unwrap();
        db.compact().unwrap();
        compare(&db.snapshot(), &truth, "compacted");
        compare(&early, &truth, "an earlier snapshot");
        drop(early);
        let stat = db.stat().unwrap();
        let bytes: usize =
            truth.values().filter_map(|(_, value)| value.as_ref()).map(Vec::len).sum();
        assert!(stat.value_bytes as usize > bytes, "{stat:?}");
        db.close().unwrap();
        for path in [PATH, OTHER] {
            compare(&open(&layer, path), &truth, path);
            check_deep(&layer, path, truth.len());
        }
        let saved = "/saved.ringer";
        salvage::salvage(&layer, Path::new(PATH), Path::new(saved), options()).unwrap();
        compare(&open(&layer, saved), &truth, saved);
    }
}

/// A put without a value drops the earlier one, and so does a delete. The last value of a batch counts.
#[test]
fn a_value_goes_with_its_set() {
    let db = Database::in_memory(&Scheme::near_duplicate()).unwrap();
    let value = |key: &str| db.snapshot().value(key).unwrap().map(|value| value.to_vec());
    db.put_with_value("a", &[1, 2], "first").unwrap();
    assert_eq!(value("a"), Some(b"first".to_vec()));
    db.checkpoint().unwrap();
    db.put_with_value("a", &[1, 2], "second").unwrap();
    assert_eq!(value("a"), Some(b"second".to_vec()));
    db.checkpoint().unwrap();
    db.put("a", &[1, 2]).unwrap();
    assert_eq!(value("a"), None);
    db.compact().unwrap();
    assert_eq!((value("a"), db.stat().unwrap().value_bytes), (None, 0));
    let mut batch = db.batch();
    batch.put("a", &[3]).unwrap().with_value("not this").unwrap().with_value("this").unwrap();
    batch.put("b", &[3]).unwrap().with_value("nor this").unwrap();
    batch.put("b", &[3]).unwrap();
    batch.put_signature("c", db.sketcher().sketch(&[3]).unwrap()).unwrap().with_value([]).unwrap();
    db.commit(batch).unwrap();
    assert_eq!((value("a"), value("b"), value("c")), (Some(b"this".to_vec()), None, Some(vec![])));
    db.delete("a").unwrap();
    db.put("a", &[3]).unwrap();
    assert_eq!(value("a"), None);
}

/// Texts, bytes, pages and weighted sets carry values too, in batches and in bulk loads.
#[test]
fn every_kind_of_put_can_have_a_value() {
    let db = Database::in_memory(&Scheme::near_duplicate()).unwrap();
    let mut batch = db.batch();
    batch.put_many(&[("many 1", [1]), ("many 2", [2])]).unwrap().with_value("many").unwrap();
    db.commit(batch).unwrap();
    let weights = Database::in_memory(&Scheme::new(presets::WEIGHTED).unwrap()).unwrap();
    let mut batch = weights.batch();
    batch.put_weighted("weighted", &[(1, 1.5)]).unwrap().with_value("weighted").unwrap();
    weights.commit(batch).unwrap();
    let text = Database::in_memory(&Scheme::default()).unwrap();
    let mut batch = text.batch();
    batch.put_text("text", "one two three four five six").unwrap().with_value("text").unwrap();
    batch.put_html("html", b"<p>one two three four five six").unwrap().with_value("html").unwrap();
    text.commit(batch).unwrap();
    let mut load = text.bulk_load();
    load.put_text("loaded", "one two three four five six").unwrap();
    load.with_value("loaded").unwrap();
    load.commit().unwrap();
    for (db, key) in [
        (&db, "many 2"),
        (&weights, "weighted"),
        (&text, "text"),
        (&text, "html"),
        (&text, "loaded"),
    ] {
        let wanted = key.split(' ').next().map(str::as_bytes);
        assert_eq!(db.snapshot().value(key).unwrap().as_deref(), wanted, "{key}");
    }
    assert_eq!(db.snapshot().value("many 1").unwrap(), None);
}

/// A value that is too long, or for which a batch has no room, takes its put back.
#[test]
fn refused_values_store_nothing() {
    let db = Database::in_memory(&Scheme::near_duplicate()).unwrap();
    let refused = |result: Result<(), Error>| {
        assert!(matches!(result, Err(Error::InvalidArgument { .. })), "{result:?}");
    };
    let (longest, longer) = (vec![7; MAX_VALUE_BYTES], vec![7; MAX_VALUE_BYTES + 1]);
    refused(db.put_with_value("a", &[1], &longer).map(drop));
    let mut load = db.bulk_load();
    refused(load.with_value("of nothing"));
    load.put("a", &[1]).unwrap();
    load.with_value(&longest).unwrap();
    load.put("b", &[2]).unwrap();
    refused(load.with_value(&longer));
    load.put("c", &[3]).unwrap();
    load.with_value("c").unwrap();
    assert_eq!(load.commit().unwrap().stored, 2);
    assert_eq!(db.snapshot().value("a").unwrap().as_deref(), Some(&*longest));
    assert_eq!((db.get("b").unwrap(), db.snapshot().len().unwrap()), (None, 2));
    let mut batch = db.batch();
    let mut count = 0;
    let full = loop {
        match batch.put(format!("{count}"), &[1]).unwrap().with_value(&longest) {
            Ok(_) => count += 1,
            Err(error) => break error,
        }
    };
    refused(Err(full));
    assert_eq!((count, batch.len()), (MAX_BATCH_BYTES / (MAX_VALUE_BYTES + 100), count));
    assert_eq!(db.commit(batch).unwrap().stored, count);
}

/// Returns a closed database of one segment, where its value pages start, and where their directory starts.
fn closed() -> (Vec<u8>, Rows, usize, usize) {
    let (files, _, db) = create(&Scheme::near_duplicate());
    let mut truth = fill(&db);
    db.put("last", &[1, 2, 3]).unwrap();
    truth.insert(b"last".to_vec(), (vec![1, 2, 3], None));
    db.compact().unwrap();
    db.close().unwrap();
    let bytes = files.contents(PATH).unwrap();
    let kind = |wanted: u8| {
        let units = (12_288..bytes.len()).step_by(64);
        let mut pages = units.filter(|at| {
            let head = &bytes[*at..*at + 24];
            // Version 1, two reserved bytes, and an extent id below 2^16.
            head[4] == wanted && head[5..8] == [1, 0, 0] && head[10..16] == [0; 6]
        });
        pages.next().expect("a page of this kind")
    };
    let (values, directory) = (kind(18), kind(19));
    (bytes, truth, values, directory)
}

/// Damages all pages from one place to another.
fn damage(bytes: &mut [u8], from: usize, to: usize) {
    (from..to).step_by(64).for_each(|at| bytes[at + 40] ^= 0xFF);
}

/// Pages of values are read only for values: with all of them destroyed, everything else is still answered.
#[test]
fn nothing_but_values_reads_values() {
    let (mut bytes, truth, values, directory) = closed();
    let end = bytes.len() - 256;
    damage(&mut bytes, values, directory);
    damage(&mut bytes, directory, end);
    let layer: Arc<dyn FileLayer> = Arc::new(MemoryFiles::new().with_file(PATH, bytes));
    let snapshot = open(&layer, PATH);
    assert_eq!(snapshot.len().unwrap(), truth.len() as u64);
    assert_eq!(snapshot.keys::<&[u8]>(..).map(Result::unwrap).count(), truth.len());
    let query = || snapshot.query(Like::Key(b"last"));
    let matches = query().top(200).run().unwrap().matches;
    assert!(matches.len() > 10);
    assert!(snapshot.pairs(0.9).expand().collect().unwrap().len() > 10);
    assert!(snapshot.clusters(0.9).run(|_| std::ops::ControlFlow::Continue(())).is_ok());
    snapshot.compare("last", &*matches[0].key).unwrap();
    let refused = |result: Result<(), Error>| {
        assert!(matches!(result, Err(Error::Corrupt { rule: "PAGE-1", .. })), "{result:?}");
    };
    refused(query().with_values().run().map(drop));
    refused(snapshot.get("last").map(drop));
    refused(snapshot.value("last").map(drop));
}

/// A damaged directory of values is made anew by a repair. Damaged values are found by a check and refused by a repair; a
/// salvage saves all rows, without the values that are gone, and says how many.
#[test]
fn damaged_values_are_found_and_repaired_or_reported() {
    let (whole, truth, values, directory) = closed();
    let layer_of = |bytes: &[u8]| -> Arc<dyn FileLayer> {
        Arc::new(MemoryFiles::new().with_file(PATH, bytes))
    };
    let path = Path::new(PATH);

    let mut bytes = whole.clone();
    bytes[directory + 40] ^= 1;
    let layer = layer_of(&bytes);
    let found = check::check(&*layer, path, Depth::Full).unwrap().findings;
    assert_eq!(found.iter().map(|f| f.rule).collect::<Vec<_>>(), ["PAGE-1"], "{found:?}");
    assert!(found[0].fix.contains("repair"), "{found:?}");
    assert_eq!(repair::repair(&layer, path, &options()).unwrap().segments.len(), 1);
    compare(&open(&layer, PATH), &truth, "repaired");
    check_deep(&layer, PATH, truth.len());

    let mut bytes = whole.clone();
    bytes[values + 100] ^= 1;
    let layer = layer_of(&bytes);
    let found = check::check(&*layer, path, Depth::Full).unwrap().findings;
    assert!(found.iter().all(|f| f.rule == "PAGE-1" && f.fix.contains("salvage")), "{found:?}");
    assert!(!found.is_empty() && repair::repair(&layer, path, &options()).is_err());
    let report = salvage::salvage(&layer, path, Path::new(OTHER), options()).unwrap();
    let saved = open(&layer, OTHER);
    assert_eq!((report.sets, saved.len().unwrap()), (truth.len() as u64, truth.len() as u64));
    let mut lost = 0;
    for (key, (_, value)) in &truth {
        let found = saved.value(key).unwrap();
        // What is in the damaged page counts as lost even if it is "no value".
        lost += u64::from(found.as_deref() != value.as_deref());
    }
    assert!(lost > 0 && report.rows_without_value >= lost, "{lost} {report:?}");
    assert!(lost < truth.len() as u64 / 2, "one page of many is damaged");
    check_deep(&layer, OTHER, truth.len());
}
