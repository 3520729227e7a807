//! Queries for several files and for standard input, explanations, caches and threads, and the fields of JSON.

use crate::run::{Tool, words};

fn texts() -> Tool {
    let tool = Tool::new();
    tool.run(&["create", "db.ringer"]).with_status(0);
    tool.write("in/a", words(1)).write("in/b", words(2));
    tool.run(&["add", "db.ringer", "in"]).with_status(0);
    tool
}

/// A file that is larger than the usual cache. Bytes after the end of the last write are not read.
#[test]
fn many_queries_use_a_cache_as_large_as_the_file() {
    let tool = Tool::with_sets("a\tx y z\n");
    tool.write("queries.tsv", "q\tx y z\n").write("queries.jsonl", r#"{"id": 1, "text": "x y z"}"#);
    tool.write("one.txt", "x y z").write("two.txt", "x y z");
    let file = std::fs::File::options().write(true).open(tool.path("db.ringer")).unwrap();
    file.set_len(100 << 20).unwrap();
    let one: [&[&str]; 3] = [&["--key", "a"], &["--set", "x y z"], &["--file", "one.txt"]];
    let many: [&[&str]; 3] = [
        &["--sets", "queries.tsv"],
        &["--jsonl", "queries.jsonl"],
        &["--file", "one.txt", "--file", "two.txt"],
    ];
    let query = ["query", "db.ringer", "--verbose", "--min", "0"];
    for (what, usual) in [(one, "64.0 MiB"), (many, "100.0 MiB")] {
        for what in what {
            for (cache, size) in [(&[][..], usual), (&["--cache", "16MiB"], "16.0 MiB")] {
                let said = tool.run(&[&query[..], what, cache].concat()).err;
                let first = format!("opening db.ringer to read it, with a cache of {size}\n");
                assert!(said.starts_with(&first), "{what:?}: {said}");
            }
        }
    }
}

#[test]
fn the_status_says_whether_anything_was_found() {
    let tool = texts();
    let new = |text: String| {
        tool.run_with(text, &["query", "db.ringer", "--file", "-", "--threshold", "0.8"]).status
    };
    assert_eq!((new(words(1)), new(words(3))), (Some(0), Some(1)));
    tool.write("new", words(3));
    assert_eq!(tool.run(&["query", "db.ringer", "--file", "new"]).status, Some(1));
    assert_eq!(
        tool.run(&["query", "db.ringer", "--file", "new", "--file", "in/b"]).status,
        Some(0)
    );
}

#[test]
fn several_files_are_several_queries() {
    let tool = texts();
    tool.write("new", words(3));
    let query = [
        "query",
        "db.ringer",
        "--file",
        "in/b",
        "--file",
        "new",
        "--file",
        "nowhere",
        "--file",
        "in/a",
        "--json",
    ];
    let ran = tool.run(&query).with_status(0);
    let found: Vec<(String, String)> = ran
        .json()
        .iter()
        .map(|line| (line["query"].as_str().unwrap().into(), line["key"].as_str().unwrap().into()))
        .collect();
    assert_eq!(found, [("in/b".into(), "in/b".into()), ("in/a".into(), "in/a".into())]);
    assert!(ran.err.contains("warning: cannot read nowhere"), "{}", ran.err);
    let strict = [&query[..], &["--strict"]].concat();
    tool.run(&strict).with_status(3);
    tool.run(&["query", "db.ringer", "--file", "nowhere", "--file", "nowhere2"]).with_status(3);
}

#[test]
fn batches_are_explained_and_take_a_cache_and_threads() {
    let tool = texts();
    tool.write("queries", format!("q1\t{}\nq2\t{}\n", words(1), words(3)));
    let query = [
        "query",
        "db.ringer",
        "--sets",
        "queries",
        "--explain",
        "--json",
        "--cache",
        "8MiB",
        "--threads",
        "1",
    ];
    let lines = tool.run(&query).with_status(0).json();
    let names: Vec<_> =
        lines.iter().filter(|line| !line["explain"].is_null()).map(|line| &line["query"]).collect();
    assert_eq!(names, ["q1", "q2"]);
    let text =
        tool.run(&["query", "db.ringer", "--sets", "queries", "--explain"]).with_status(0).out;
    assert!(text.contains("q1\n") && text.contains("q2\nno match\n"), "{text}");
    for wrong in [&["--threads", "0"][..], &["--cache", "much"], &["--cache", "0"]] {
        tool.run(&[&["stat", "db.ringer"], wrong].concat()).with_status(2);
    }
    let said = tool.run(&["stat", "db.ringer", "--cache", "1GiB", "--verbose"]).with_status(0);
    assert!(said.err.contains("with a cache of 1024.0 MiB"), "{}", said.err);
}

#[test]
fn json_has_everything_that_the_text_has() {
    let tool = texts();
    let stat = tool.run(&["stat", "db.ringer", "--json"]).with_status(0).json();
    let text = tool.run(&["stat", "db.ringer"]).with_status(0).out;
    for field in ["seed", "slots", "samples_per_slot", "value_bits", "min_matches"] {
        assert!(stat[0][field].is_u64(), "{field}");
    }
    let names = text.lines().skip(1).map_while(|line| line.strip_prefix("  ")?.split("  ").next());
    for name in names {
        let value = stat[0]["parameters"][name.trim()].as_str();
        assert!(value.is_some_and(|value| text.contains(value)), "{name}");
    }
    tool.write("in/c", words(1) + "more");
    tool.run(&["add", "db.ringer", "in/c"]).with_status(0);
    let clusters =
        tool.run(&["clusters", "db.ringer", "--min", "0.5", "--json"]).with_status(0).json();
    for field in ["min_resemblance", "min_resemblance_low", "min_resemblance_high"] {
        assert!(clusters[0][field].is_f64(), "{field}");
    }
    let members = clusters[0]["members"].as_array().unwrap();
    assert_eq!(members.len(), 2);
    for field in ["resemblance", "std_error", "low", "high"] {
        assert!(members[1][field].is_f64(), "{field}");
    }
    let wrong = tool.run(&["create", "ids.ringer", "--features", "ids"]).with_status(0);
    drop(wrong);
    let wrong = tool.run(&["query", "ids.ringer", "--text", "some words"]).with_status(2);
    assert!(
        wrong.err.contains("this database holds sets of numbers: ask with --set '1 2 3'"),
        "{}",
        wrong.err
    );
}
