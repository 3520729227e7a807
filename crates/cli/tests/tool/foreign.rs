//! Databases of other programs' sketches: the tool lists and searches them by key, and never compares them with texts or sets.

use ringer::scheme::{CardinalityField, Sampler};
use ringer::{Database, Options, Scheme, Sketcher, presets};

use crate::run::Tool;

/// A database with two equal signatures of a foreign scheme.
fn imported() -> Tool {
    let tool = Tool::new();
    let parameters = presets::PRECISE
        .with_sampler(Sampler::Independent)
        .with_cardinality(CardinalityField::None)
        .with_seed(0x464f_5245_0000_0001);
    let scheme = Scheme::new(parameters).unwrap();
    let db = Database::create(tool.folder.path().join("db.ringer"), &scheme, Options::default());
    let (db, sketcher) = (db.unwrap(), Sketcher::new(&scheme));
    let mut bytes = vec![0x3c; sketcher.signature_bytes()];
    *bytes.last_mut().unwrap() = 0;
    let signature = sketcher.signature_from_bytes(&bytes).unwrap();
    let mut batch = db.batch();
    for key in ["a", "b"] {
        batch.put_signature(key, signature.clone()).unwrap();
    }
    db.commit(batch).unwrap();
    db.close().unwrap();
    tool
}

#[test]
fn texts_and_sets_are_never_compared_with_sketches_of_other_programs() {
    let tool = imported();
    std::fs::write(tool.folder.path().join("in.txt"), "1 2 3\n").unwrap();
    let lines = "x\t1 2 3\n";
    for arguments in [
        &["query", "db.ringer", "--set", "1 2 3"][..],
        &["query", "db.ringer", "--set", "1 2 3", "--exhaustive", "--json"],
        &["query", "db.ringer", "--text", "some text"],
        &["query", "db.ringer", "--sets", "-"],
        &["query", "db.ringer", "--jsonl", "-"],
        &["query", "db.ringer", "--file", "in.txt"],
        &["add", "db.ringer", "--sets", "-"],
        &["add", "db.ringer", "in.txt"],
        &["dedup", "in.txt", "--db", "db.ringer"],
    ] {
        let ran = tool.run_with(lines, arguments).with_status(2);
        assert!(ran.err.contains("sketches of another program"), "{arguments:?}: {}", ran.err);
        assert!(ran.out.is_empty(), "{arguments:?}: {}", ran.out);
    }
    assert_eq!(tool.keys("db.ringer"), ["a", "b"]);
}

#[test]
fn keys_are_compared_with_each_other() {
    let tool = imported();
    let found = tool.run(&["query", "db.ringer", "--key", "a", "--json"]).with_status(0).json();
    assert_eq!((&found[0]["key"], &found[0]["resemblance"]), (&"b".into(), &1.0.into()));
    tool.run(&["estimate", "db.ringer", "a", "b"]).with_status(0);
    tool.run(&["pairs", "db.ringer", "--min", "0.9"]).with_status(0);
    tool.run(&["check", "db.ringer"]).with_status(0);
}
