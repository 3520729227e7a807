//! Promises of the public interface apart from its answers: databases in memory, and handles that are shared and
//! closed.

use std::thread;

use ringer::scheme::{Features, Parameters};
use ringer::{Database, Error, Like, LogKind, Options, Originals, Scheme, features, presets};

fn set(first: u64) -> Vec<u64> {
    (first..first + 50).collect()
}

#[test]
fn there_is_one_default_scheme() {
    assert_eq!(Scheme::new(Parameters::default()).unwrap(), Scheme::default());
    assert_eq!(Scheme::new(presets::DEFAULT).unwrap(), Scheme::default());
}

/// The same commits, loads, merges and deletions give the same rows, queries and pairs in memory and in a file.
#[test]
fn a_database_in_memory_answers_as_one_in_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let options = Options::default().with_memtable_rows(40).with_build_bytes(1 << 14);
    let scheme = Scheme::precise();
    let path = folder.path().join("x.ringer");
    let file = Database::create(path, &scheme, options.clone()).unwrap();
    let memory = Database::in_memory_with(&scheme, options).unwrap();
    for db in [&file, &memory] {
        let mut load = db.bulk_load();
        (0..500).try_for_each(|i| load.put(format!("load {i:03}"), &set(7 * i))).unwrap();
        load.commit().unwrap();
        (0..200).try_for_each(|i| db.put(format!("put {i:03}"), &set(11 * i)).map(drop)).unwrap();
        (0..500).step_by(9).try_for_each(|i| db.delete(format!("load {i:03}")).map(drop)).unwrap();
        db.checkpoint().unwrap();
        db.compact().unwrap();
        db.put("late", &set(3)).unwrap();
    }
    let (a, b) = (file.snapshot(), memory.snapshot());
    let rows = |snapshot: &ringer::Snapshot| -> Vec<_> {
        snapshot
            .range::<&[u8]>(..)
            .map(Result::unwrap)
            .map(|(key, row)| (key, row.signature))
            .collect()
    };
    assert_eq!(rows(&a).len(), 500 - 56 + 200 + 1);
    assert_eq!(rows(&a), rows(&b));
    let matches = |snapshot: &ringer::Snapshot| {
        snapshot.query(Like::Features(&set(777))).min_resemblance(0.2).run().unwrap().matches
    };
    assert!(matches(&a).len() > 5);
    assert_eq!(matches(&a), matches(&b));
    let pairs = |snapshot: &ringer::Snapshot| -> Vec<_> {
        let pairs = snapshot.pairs(0.5).collect().unwrap();
        pairs.into_iter().map(|pair| (pair.a, pair.b)).collect()
    };
    assert!(pairs(&a).len() > 500);
    assert_eq!(pairs(&a), pairs(&b));
}

/// A database in memory can be packed into a file that opens like any other. Two databases in memory share nothing.
#[test]
fn a_database_in_memory_is_packed_into_a_real_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("saved.ringer");
    let db = Database::in_memory(&Scheme::default()).unwrap();
    let other = Database::in_memory(&Scheme::default()).unwrap();
    db.put("a", &set(1)).unwrap();
    assert!(other.get("a").unwrap().is_none());
    db.pack(&path).unwrap();
    db.close().unwrap();
    let saved = Database::open(&path, Options::default()).unwrap();
    assert!(saved.get("a").unwrap().is_some());
    let sled = Options::default().with_log(LogKind::Sled);
    let refused = Database::in_memory_with(&Scheme::default(), sled);
    assert!(matches!(refused, Err(Error::InvalidArgument { .. })));
}

fn is_shared<T: Clone + Send + Sync>() {}

/// Clones are one database: each reads what another writes, and dropping the last one closes it.
#[test]
fn the_last_clone_closes_the_database() {
    is_shared::<Database>();
    is_shared::<ringer::Snapshot>();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.ringer");
    let db = Database::create(&path, &Scheme::default(), Options::default()).unwrap();
    let threads = (0..4).map(|i| {
        let db = db.clone();
        thread::spawn(move || {
            (0..10).try_for_each(|j| db.put(format!("{i} {j}"), &set(j)).map(drop)).unwrap();
        })
    });
    threads.collect::<Vec<_>>().into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(db.snapshot().len().unwrap(), 40);
    let last = db.clone();
    drop(db);
    let locked = Database::open(&path, Options::default());
    assert!(matches!(locked, Err(Error::Locked { .. })), "{locked:?}");
    last.put("more", &set(1)).unwrap();
    drop(last);
    let names: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
    assert_eq!(names.len(), 1, "one file, nothing beside it");
    let db = Database::open(&path, Options::default()).unwrap();
    assert!(db.open_report().clean);
    assert_eq!(db.snapshot().len().unwrap(), 41);
}

/// After a close through a clone, a handle refuses every call with the same error. Snapshots still work.
#[test]
fn a_clone_of_a_closed_database_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.ringer");
    let db = Database::create(&path, &Scheme::default(), Options::default()).unwrap();
    db.put("a", &set(1)).unwrap();
    let (other, early) = (db.clone(), db.snapshot());
    let mut load = db.bulk_load();
    load.put("b", &set(2)).unwrap();
    db.close().unwrap();
    let closed = Err(Error::Closed { path: path.canonicalize().unwrap() });
    assert_eq!(other.put("c", &set(3)), closed);
    assert_eq!(other.commit(other.batch()), closed);
    assert_eq!(load.commit(), closed);
    let closed = |result: Result<(), Error>| assert!(matches!(result, Err(Error::Closed { .. })));
    closed(other.get("a").map(drop));
    closed(other.checkpoint());
    closed(other.compact());
    closed(other.vacuum());
    closed(other.stat().map(drop));
    closed(other.pack(folder.path().join("copy.ringer")));
    for snapshot in [early, other.snapshot()] {
        assert_eq!(
            snapshot.keys::<&[u8]>(..).map(Result::unwrap).collect::<Vec<_>>(),
            [(*b"a").into()]
        );
    }
    closed(other.close());
    assert!(Database::open(&path, Options::default()).unwrap().get("a").unwrap().is_some());
}

/// For every kind of features, every entry point stores and finds documents by the features of the scheme.
#[test]
fn documents_become_the_features_of_the_scheme() {
    let text = "It was the best of times, it was the worst of times; http://a.example/b?c=d";
    let page = format!("<script>x</script><p>{}", text.replace("best", "<b>best</b>"));
    let bytes = text.as_bytes();
    let kinds: [(&str, Vec<u64>); 6] = [
        ("text", features::shingles(bytes, 5).unwrap()),
        ("text:3:plain", features::plain_shingles(bytes, 3).unwrap()),
        ("grams:4", features::grams(bytes, 4).unwrap()),
        ("spots", features::spots(bytes, 1, 3).unwrap()),
        ("chunks:16", features::chunks(bytes, 16).unwrap()),
        ("url", text.split(' ').flat_map(|url| features::url(url.as_bytes())).collect()),
    ];
    for (kind, set) in kinds {
        let kind = kind.parse().unwrap();
        let of_text = matches!(
            kind,
            Features::Shingles { .. } | Features::Grams { .. } | Features::Spots { .. }
        );
        let db =
            Database::in_memory(&Scheme::new(Parameters::default().with_features(kind)).unwrap())
                .unwrap();
        let page = if of_text { page.as_bytes() } else { bytes };
        db.put_text("text", text).unwrap();
        db.put_bytes("bytes", bytes).unwrap();
        db.put_html("html", page).unwrap();
        let mut batch = db.batch();
        batch.put_text("batch text", text).unwrap();
        batch.put_bytes("batch bytes", bytes).unwrap().put_html("batch html", page).unwrap();
        db.commit(batch).unwrap();
        let mut load = db.bulk_load();
        load.put_text("load text", text).unwrap();
        load.put_bytes("load bytes", bytes).unwrap();
        load.put_html("load html", page).unwrap();
        load.commit().unwrap();
        let signature = db.sketcher().sketch(&set).unwrap();
        let snapshot = db.snapshot();
        for (key, stored) in snapshot.range::<&[u8]>(..).map(Result::unwrap) {
            assert_eq!(stored.signature, signature, "{kind} {}", key.escape_ascii());
        }
        let expected = snapshot.query(Like::Features(&set)).run().unwrap();
        assert_eq!(expected.matches.len(), 9, "{kind}");
        for like in [Like::Text(text), Like::Bytes(bytes), Like::Html(page)] {
            assert_eq!(snapshot.query(like).run().unwrap(), expected, "{kind} {like:?}");
            let originals = Originals::new(|_| Ok(Some(set.clone())));
            let exact = snapshot.query(like).verify(&originals).run().unwrap();
            assert!(exact.matches.len() == 9 && exact.matches[0].comparison.is_exact(), "{kind}");
        }
    }
}

/// A scheme for caller-supplied sets refuses documents, and its error says what to use instead.
#[test]
fn sets_of_tokens_and_ids_refuse_documents() {
    for (kind, advice) in [(Features::Tokens, "features::tokens"), (Features::Ids, "`put`")] {
        let db = Database::in_memory(&Scheme::new(presets::PRECISE.with_features(kind)).unwrap());
        let db = db.unwrap();
        let snapshot = db.snapshot();
        let errors = [
            db.put_text("a", "some words").unwrap_err(),
            db.put_bytes("a", b"some words").unwrap_err(),
            db.put_html("a", b"some words").unwrap_err(),
            db.bulk_load().put_text("a", "some words").unwrap_err(),
            snapshot.query(Like::Text("some words")).run().unwrap_err(),
            snapshot.query(Like::Bytes(b"some words")).explain().unwrap_err(),
        ];
        for error in errors {
            assert!(matches!(error, Error::NotDocuments { .. }), "{error:?}");
            assert!(error.to_string().contains(advice), "{error}");
        }
        db.put("a", &features::tokens(["some", "words"])).unwrap();
    }
}

/// Serialized form: keys are text, or hexadecimal if they are not UTF-8; estimates include their errors.
#[cfg(feature = "serde")]
#[test]
fn answers_and_reports_can_be_serialized() {
    let db = Database::in_memory(&Scheme::default()).unwrap();
    db.put("a", &set(0)).unwrap();
    db.put([b'b', 0xff], &set(10)).unwrap();
    let snapshot = db.snapshot();
    let json = |value: Result<serde_json::Value, _>| value.unwrap();
    let answer = snapshot.query(Like::Key(b"a")).run().unwrap();
    let value = json(serde_json::to_value(&answer));
    let found = &value["matches"][0];
    assert_eq!(found["key"]["hex"], "62ff");
    assert_eq!(found["comparison"]["measure"], "jaccard");
    let similarity = answer.matches[0].similarity();
    assert_eq!(found["comparison"]["similarity"]["value"], similarity.value);
    assert_eq!(found["comparison"]["similarity"]["high"], similarity.high);
    assert_eq!(value["truncated"], false);
    let pairs = json(serde_json::to_value(snapshot.pairs(0.3).collect().unwrap()));
    assert_eq!((&pairs[0]["a"], &pairs[0]["b"]["hex"]), (&"a".into(), &"62ff".into()));
    let mut clusters = Vec::new();
    let run = snapshot.clusters(0.3).run(|cluster| {
        clusters.push(serde_json::to_value(&cluster).unwrap());
        std::ops::ControlFlow::Continue(())
    });
    assert_eq!(json(serde_json::to_value(run.unwrap()))["sets"], 2);
    assert_eq!(clusters[0]["keys"], serde_json::json!(["a", { "hex": "62ff" }]));
    let stat = json(serde_json::to_value(db.stat().unwrap()));
    assert_eq!((&stat["sets"], &stat["scheme"]["samples"]), (&2.into(), &"64".into()));
}
