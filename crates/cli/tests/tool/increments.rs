//! Repeated adds: `--sync`, `--if-absent`, and what `add` reports about sets that were already stored.

use std::fs;

use crate::run::{Tool, words};

#[test]
fn a_synced_database_has_the_files_of_the_folder() {
    let tool = Tool::new();
    tool.run(&["create", "db.ringer"]).with_status(0);
    for name in ["in/a", "in/b", "in/sub/c"] {
        tool.write(name, words(name.len() as u64));
    }
    tool.write("in2/other", words(9));
    tool.run(&["add", "db.ringer", "in2"]).with_status(0);
    let sync = |expected: &str| {
        let ran = tool.run(&["add", "db.ringer", "in", "--sync"]).with_status(0);
        assert_eq!(ran.err.trim_end(), expected);
    };
    sync("added 3 sets");
    let bytes = || fs::read(tool.path("db.ringer")).unwrap();
    let before = bytes();
    sync("added 0 sets; 3 sets were unchanged");
    assert!(bytes() == before, "nothing was stored");
    fs::remove_dir_all(tool.path("in/sub")).unwrap();
    tool.write("in/a", words(7)).write("in/new", words(8));
    sync(
        "added 2 sets, 1 of them replaced an earlier one; 1 set was unchanged; deleted 1 key of files that no longer exist",
    );
    assert_eq!(tool.keys("db.ringer"), ["in/a", "in/b", "in/new", "in2/other"]);
    // A folder that cannot be searched, or is empty because a disk is missing, deletes nothing.
    fs::rename(tool.path("in"), tool.path("away")).unwrap();
    tool.run(&["add", "db.ringer", "in", "--sync"]).with_status(3);
    fs::create_dir(tool.path("in")).unwrap();
    let empty = tool.run(&["add", "db.ringer", "in", "--sync"]).with_status(3);
    assert!(empty.err.contains("in has no files, but 3 keys are stored below it"), "{}", empty.err);
    assert_eq!(tool.keys("db.ringer").len(), 4);
}

/// A change that neither the size nor the time of a file shows is noticed.
#[test]
fn a_sync_is_decided_by_contents() {
    let tool = Tool::new();
    tool.run(&["create", "db.ringer"]).with_status(0);
    let text = words(1);
    tool.write("in/a", &text).write("in/b", words(2));
    let sync = ["add", "db.ringer", "in", "--sync"];
    tool.run(&sync).with_status(0);
    let time = fs::metadata(tool.path("in/a")).unwrap().modified().unwrap();
    let changed: String = text.split_inclusive(' ').rev().collect();
    assert_eq!(changed.len(), text.len());
    tool.write("in/a", changed);
    let file = fs::File::options().append(true).open(tool.path("in/a")).unwrap();
    file.set_modified(time).unwrap();
    let said = tool.run(&sync).with_status(0).err;
    assert_eq!(said.trim_end(), "added 1 set, which replaced an earlier one; 1 set was unchanged");
}

#[test]
fn sets_that_are_stored_stay_if_that_is_asked_for() {
    let tool = Tool::with_sets("a\tx y\n");
    let hash = |key: &str| tool.run(&["get", "db.ringer", key]).with_status(0).out;
    let before = hash("a");
    let rows = "a\tother words\nb\tone\nb\ttwo\nc\tthree\n";
    let added =
        tool.run_with(rows, &["add", "db.ringer", "--sets", "-", "--if-absent"]).with_status(0);
    assert_eq!(added.err.trim_end(), "added 2 sets; 2 sets were already stored");
    assert_eq!(hash("a"), before);
    let one = hash("b");
    let again = tool
        .run_with(rows, &["add", "db.ringer", "--sets", "-", "--if-absent", "--commit-every", "1"]);
    assert_eq!(again.with_status(0).err.trim_end(), "added 0 sets; 4 sets were already stored");
    let replaced =
        tool.run_with(rows, &["add", "db.ringer", "--sets", "-", "--json"]).with_status(0).json();
    assert_eq!((&replaced[0]["added"], &replaced[0]["replaced"]), (&4.into(), &4.into()));
    assert_ne!(hash("b"), one);
    // The first of several sets with one key stays, also within one commit.
    let tool = Tool::with_sets("");
    tool.run_with("k\tone\nk\ttwo\n", &["add", "db.ringer", "--sets", "-", "--if-absent"])
        .with_status(0);
    let found = tool.run(&["query", "db.ringer", "--set", "one", "--json"]).with_status(0).json();
    assert_eq!(found[0]["key"], "k");
}

#[test]
fn a_run_that_stores_nothing_of_its_input_fails() {
    let tool = Tool::with_sets("a\tx y\n");
    for (option, input) in
        [("--jsonl", "not json\n".repeat(100)), ("--sets", "no tab\n".repeat(100))]
    {
        let ran = tool.run_with(&input, &["add", "db.ringer", option, "-"]).with_status(3);
        assert!(ran.err.matches("line ").count() <= 10, "{}", ran.err);
        assert!(ran.err.contains("added 0 sets; skipped: 100 malformed"), "{}", ran.err);
    }
}

/// If all lines have the same fault, a few warnings say so. Other faults are still listed.
#[test]
fn warnings_that_repeat_are_cut_short() {
    let tool = Tool::new();
    tool.run(&["create", "db.ringer"]).with_status(0);
    let rows = "{\"url\": 1, \"text\": \"a b\"}\n".repeat(50) + "{\"id\": []}\n";
    let ran = tool.run_with(rows, &["add", "db.ringer", "--jsonl", "-"]).with_status(3);
    let said = "there is no field `id`, but `text`, `url`: name the field with --key-field\n";
    let lines: Vec<&str> = ran.err.lines().collect();
    assert_eq!(ran.err.matches(said).count(), 3, "{}", ran.err);
    assert_eq!(lines[3], "warning: further malformed lines like these are counted, but not listed");
    assert!(lines[4].contains("line 51: `id` is neither a string nor a number"), "{}", ran.err);
}
