//! Which files and lines are read: exclusions, lists of files, compressed files, and messages about other files.
#![cfg(unix)]

use std::fs;

use crate::run::{Tool, words};

/// A database of texts.
fn texts() -> Tool {
    let tool = Tool::new();
    tool.run(&["create", "db.ringer"]).with_status(0);
    tool
}

#[cfg(feature = "parquet")]
fn gzip(text: &str) -> Vec<u8> {
    use std::io::Write;

    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(text.as_bytes()).unwrap();
    packed.finish().unwrap()
}

#[cfg(feature = "parquet")]
fn zstd(text: &str) -> Vec<u8> {
    zstd::encode_all(text.as_bytes(), 1).unwrap()
}

#[test]
fn files_are_left_out_by_pattern_and_by_gitignore() {
    let tool = texts();
    for name in [
        "a.txt",
        "b.log",
        "build/c.txt",
        "sub/build/d.txt",
        "sub/keep.log",
        ".git/config",
        ".hidden",
    ] {
        tool.write(&format!("in/{name}"), words(1));
    }
    tool.write("in/.gitignore", "*.log\nbuild/\n").write("in/sub/.gitignore", "!keep.log\n");
    let keys = |options: &[&str]| {
        let tool2 = Tool::new();
        tool2.run(&["create", "db.ringer"]).with_status(0);
        fs::create_dir(tool2.path("in")).unwrap();
        testkit::folder::copy(&tool.path("in"), &tool2.path("in"));
        tool2.run(&[&["add", "db.ringer", "in"], options].concat()).with_status(0);
        tool2.keys("db.ringer").iter().map(|key| key["in/".len()..].to_string()).collect::<Vec<_>>()
    };
    assert_eq!(keys(&[]).len(), 9);
    let found = keys(&["--gitignore"]);
    assert_eq!(found, [".gitignore", ".hidden", "a.txt", "sub/.gitignore", "sub/keep.log"]);
    let found = keys(&["--exclude", "*.log", "--exclude", "/build", "--exclude", ".*"]);
    assert_eq!(found, ["a.txt", "sub/build/d.txt"]);
    let refused = tool.run(&["add", "db.ringer", "in", "--exclude", "a{b"]).with_status(2);
    assert!(refused.err.contains("--exclude a{b is not a pattern"), "{}", refused.err);
}

#[test]
fn paths_come_from_a_list() {
    let tool = texts();
    tool.write("in/a", words(1)).write("in/b\nb", words(2)).write("in/c", words(3));
    tool.write("list", "in/a\r\n\nin/c\nnowhere\n");
    let added = tool.run(&["add", "db.ringer", "--files-from", "list"]).with_status(0);
    assert!(added.err.contains("warning: cannot read nowhere"), "{}", added.err);
    assert_eq!(tool.keys("db.ringer"), ["in/a", "in/c"]);
    tool.run_with("in/b\nb\0", &["add", "db.ringer", "--files-from", "-"]).with_status(0);
    assert_eq!(tool.keys("db.ringer").len(), 3);
    let copies =
        tool.write("in/d", words(1)).run_with("in/d\nin/a\n", &["dedup", "--files-from", "-"]);
    assert!(copies.with_status(0).out.starts_with("group 1: 2 files"));
}

/// Options for folders mean nothing for lines and rows, and are refused there.
#[test]
fn options_for_folders_need_folders() {
    let tool = texts();
    tool.write("rows", "").write("list", "rows\n");
    let options: [&[&str]; 4] =
        [&["--files-from", "list"], &["--exclude", "x"], &["--gitignore"], &["--follow-links"]];
    for option in options {
        for input in ["--sets", "--jsonl"] {
            tool.run(&[&["add", "db.ringer", input, "rows"], option].concat()).with_status(2);
        }
        let rows = ["dedup", "--jsonl", "rows", "--out", "new"];
        tool.run(&[&rows, option].concat()).with_status(2);
    }
}

#[test]
fn short_texts_are_skipped_and_binary_files_are_read_on_demand() {
    let tool = texts();
    tool.write("in/short", "four words are few").write("in/long", words(1));
    tool.write("in/binary", [&[0, 1, 2][..], words(1).as_bytes()].concat());
    let added = tool.run(&["add", "db.ringer", "in", "--min-words", "5"]).with_status(0);
    assert!(added.err.contains("in/short has fewer than 5 words"), "{}", added.err);
    assert!(added.err.contains("skipped: 1 binary, 1 too short"), "{}", added.err);
    assert_eq!(tool.keys("db.ringer"), ["in/long"]);
    tool.run(&["add", "db.ringer", "in", "--min-words", "4", "-a", "--strict"]).with_status(0);
    assert_eq!(tool.keys("db.ringer").len(), 3);
    let rows = "{\"id\": 1, \"text\": \"one two\"}\n{\"id\": 2, \"text\": \"one two three\"}\n";
    let added = tool
        .run_with(rows, &["add", "db.ringer", "--jsonl", "-", "--min-words", "3"])
        .with_status(0);
    assert!(added.err.contains("line 1: has fewer than 3 words"), "{}", added.err);
}

#[cfg(feature = "parquet")]
#[test]
fn compressed_input_is_read_everywhere() {
    let tool = texts();
    tool.write("in/a.txt", words(1))
        .write("in/b.gz", gzip(&words(1)))
        .write("in/c.zst", zstd(&words(1)));
    tool.run(&["add", "db.ringer", "in"]).with_status(0);
    for file in ["in/a.txt", "in/b.gz", "in/c.zst"] {
        let found = tool
            .run(&["query", "db.ringer", "--file", file, "--json", "--min", "0.99"])
            .with_status(0);
        assert_eq!(found.json().len(), 3, "{file}");
    }
    let found = tool
        .run_with(zstd(&words(1)), &["query", "db.ringer", "--file", "-", "--json"])
        .with_status(0);
    assert_eq!(found.json().len(), 3);
    let rows = format!("{{\"id\": \"r\", \"text\": \"{}\"}}\n", words(2));
    for (name, packed) in [("rows.gz", gzip(&rows)), ("rows.zst", zstd(&rows))] {
        tool.write(name, packed);
        tool.run(&["add", "db.ringer", "--jsonl", name]).with_status(0);
        tool.run(&["query", "db.ringer", "--jsonl", name]).with_status(0);
    }
}

#[test]
fn other_files_are_named_for_what_they_are() {
    let tool = texts();
    for (name, start, kind) in [
        ("x.jsonl.xz", &b"\xfd7zXZ\0\0\0"[..], "it is xz-compressed; decompress it first"),
        ("x.bz2", b"BZh91AY&SY\0\0", "it is bzip2-compressed; decompress it first"),
        ("x.zip", b"PK\x03\x04\0\0\0", "it is a ZIP archive; name a file of text lines"),
        ("x.parquet", b"PAR1\0\0\0", "it is a Parquet file; name it with --parquet"),
        ("db2.ringer", b"RINGER\x1a\n\0", "it is a Ringer database; name a file of text lines"),
    ] {
        tool.write(name, start);
        for option in ["--jsonl", "--sets"] {
            let refused = tool.run(&["add", "db.ringer", option, name]).with_status(3);
            assert!(
                refused.err.contains(&format!("cannot read {name}: {kind}")),
                "{}",
                refused.err
            );
        }
    }
    let none = tool.run(&["add", "db.ringer", "x.zip", "x.bz2"]).with_status(3);
    assert!(none.err.contains("x.zip is a ZIP archive, not text"), "{}", none.err);
    assert!(none.err.contains("none of the input could be used"), "{}", none.err);
    // Text that only starts like a compressed file is text.
    tool.write("note.txt", format!("BZh {}", words(1)));
    tool.run(&["add", "db.ringer", "note.txt"]).with_status(0);
}

#[test]
fn a_larger_limit_lets_large_texts_in() {
    let tool = texts();
    let line = words(1) + "\n";
    tool.write("large.txt", line.repeat((65 << 20) / line.len() + 1));
    let skipped = tool.run(&["add", "db.ringer", "large.txt"]).with_status(3);
    assert!(skipped.err.contains("is larger than 64.0 MiB"), "{}", skipped.err);
    assert!(skipped.err.contains("--max-text"), "{}", skipped.err);
    tool.run(&["add", "db.ringer", "large.txt", "--max-text", "1GiB"]).with_status(0);
    fs::remove_file(tool.path("large.txt")).unwrap();
}

#[test]
fn fields_can_be_nested() {
    let tool = texts();
    let row = |id: &str, text: &str| {
        format!(
            "{{\"meta\": {{\"id\": \"{id}\"}}, \"page\": {{\"a.b\": {{\"text\": \"{text}\"}}}}}}\n"
        )
    };
    let rows = row("one", &words(1)) + &row("two", &words(1));
    let fields = ["--key-field", "meta.id", "--text-field", "page.a.b.text"];
    tool.run_with(&rows, &[&["add", "db.ringer", "--jsonl", "-"], &fields[..]].concat())
        .with_status(0);
    assert_eq!(tool.keys("db.ringer"), ["one", "two"]);
    tool.write("rows.jsonl", rows + "{\"page\": 1}\n");
    let kept =
        [&["dedup", "--jsonl", "rows.jsonl", "--clusters", "groups.jsonl"], &fields[..]].concat();
    tool.run(&kept).with_status(0);
    let groups = fs::read_to_string(tool.path("groups.jsonl")).unwrap();
    assert_eq!(groups.lines().count(), 2, "{groups}");
    assert!(
        groups.contains("\"key\":\"two\"") && groups.contains("\"representative\":\"one\""),
        "{groups}"
    );
}
