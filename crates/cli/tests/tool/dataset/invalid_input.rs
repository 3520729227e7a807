//! Unusable input: the message, the exit status, and that no row is lost.

use std::fs;
use std::io::Write;

use serde_json::Value;

use crate::run::{Ran, Tool, words};

/// Runs on one file of these lines, between two rows that are fine.
fn with_line(line: &[u8], more: &[&str]) -> (Tool, Vec<u8>, Ran) {
    let tool = Tool::new();
    let fine = |number| format!("{{\"id\":{number},\"text\":\"{}\"}}\n", words(number));
    let input = [fine(1).as_bytes(), line, b"\n", fine(2).as_bytes()].concat();
    tool.write("d.jsonl", &input);
    let ran =
        tool.run(&[&["dedup", "--jsonl", "d.jsonl", "--out", "out", "--json"][..], more].concat());
    (tool, input, ran)
}

#[test]
fn rows_that_cannot_be_judged_are_kept_and_counted() {
    let fine = words(9);
    let cases: [(&[u8], &str); 11] = [
        (b"{\"id\": 7}", "has no field `text`"),
        (b"{\"text\": 7}", "has a `text` that is not a string"),
        (b"{\"text\": [\"a\"]}", "has a `text` that is not a string"),
        (b"{\"text\": null}", "has a `text` that is null"),
        (b"{\"text\": \"\"}", "has no words in `text`"),
        (b"{\"text\": \" . \"}", "has no words in `text`"),
        (b"{\"text\": \"\xff\xfe\"}", "is not UTF-8"),
        (b"{\"text\": \"\\ud800\"}", "has a `text` that cannot be read: "),
        (b"not json", "is not a JSON object: "),
        (b"{\"text\": \"cut off", "is not a JSON object: "),
        (b"[1, 2]", "is not a JSON object: "),
    ];
    let wrong_key = format!("{{\"id\": {{}}, \"text\": \"{fine}\"}}");
    let long_key = format!("{{\"id\": \"{}\", \"text\": \"{fine}\"}}", "k".repeat(1 << 17));
    let more: [(&[u8], &str); 2] = [
        (wrong_key.as_bytes(), "has an `id` that is neither a string nor a number"),
        (long_key.as_bytes(), "has an `id` that is too long"),
    ];
    for (line, message) in cases.into_iter().chain(more) {
        let (tool, input, ran) = with_line(line, &[]);
        let ran = ran.with_status(0);
        let said = format!("warning: d.jsonl, line 2, {message}");
        assert!(ran.err.contains(&said), "{}", ran.err);
        assert!(ran.err.contains("; the row is kept\n"), "{}", ran.err);
        let summary = &ran.json()[0];
        let counts = ["rows", "kept", "removed", "groups", "unjudged"].map(|name| &summary[name]);
        assert_eq!(counts, [3, 3, 0, 0, 1], "{message}");
        assert!(fs::read(tool.path("out/d.jsonl")).unwrap() == input);

        let (tool, _, ran) = with_line(line, &["--strict"]);
        let ran = ran.with_status(3);
        assert!(ran.err.starts_with(&format!("error: d.jsonl, line 2, {message}")), "{}", ran.err);
        assert_eq!(tool.names(), ["d.jsonl"]);
    }
}

#[test]
fn repeated_keys_are_said_and_the_rows_compared() {
    let line = format!("{{\"id\": 1, \"text\": \"{}\"}}", words(1));
    let (_, _, ran) = with_line(line.as_bytes(), &[]);
    let ran = ran.with_status(0);
    let said = "warning: d.jsonl, row 2, has the same key as an earlier row: 1\n";
    assert!(ran.err.contains(said), "{}", ran.err);
    assert_eq!(ran.json()[0]["removed"], 1);
    let (tool, _, ran) = with_line(line.as_bytes(), &["--strict"]);
    assert!(
        ran.with_status(3)
            .err
            .starts_with("error: d.jsonl, row 2, has the same key as an earlier row")
    );
    assert_eq!(tool.names(), ["d.jsonl"]);
}

#[test]
fn a_line_that_is_too_long_is_kept() {
    let mut line = b"{\"text\": \"".to_vec();
    line.resize((64 << 20) + 100, b'a');
    line.extend(b"\"}");
    let (tool, input, ran) = with_line(&line, &[]);
    let ran = ran.with_status(0);
    assert!(ran.err.contains(
        "warning: d.jsonl, line 2, is longer than 64 MiB, the limit of a line; the row is kept"
    ));
    assert_eq!(ran.json()[0]["unjudged"], 1);
    assert!(fs::read(tool.path("out/d.jsonl")).unwrap() == input);
}

#[test]
fn limits_of_a_document_leave_the_row_where_it_is() {
    let line = format!("{{\"text\": \"{}\"}}", words(1).repeat(9));
    let (tool, input, ran) = with_line(line.as_bytes(), &["--max-features", "1000"]);
    assert_eq!(ran.with_status(0).json()[0]["unjudged"], 1);
    assert!(fs::read(tool.path("out/d.jsonl")).unwrap() == input);
}

#[test]
fn nothing_usable_is_an_error_and_nothing_at_all_is_not() {
    let tool = Tool::new();
    tool.write("bad.jsonl", "{\"body\": \"text\"}\n{}\n").write("empty.jsonl", "");
    let ran = tool.run(&["dedup", "--jsonl", "bad.jsonl", "--out", "out"]).with_status(3);
    assert!(ran.err.ends_with(
        "error: none of the 2 rows could be compared, so nothing was written: check --text-field\n"
    ));
    assert_eq!(tool.names(), ["bad.jsonl", "empty.jsonl"]);
    let ran =
        tool.run(&["dedup", "--jsonl", "empty.jsonl", "--out", "out", "--json"]).with_status(0);
    assert_eq!(ran.json()[0]["rows"], 0);
    assert_eq!(fs::read(tool.path("out/empty.jsonl")).unwrap(), b"");
    let row = format!("{{\"text\": \"{}\"}}\n", words(1));
    tool.write("one.jsonl", row);
    let ran = tool.run(&["dedup", "--jsonl", "one.jsonl", "--out", "by", "--keep-by", "stars"]);
    assert!(ran.with_status(3).err.contains("no row has a `stars`, the field of --keep-by"));
    assert!(!tool.path("by").exists());
}

#[test]
fn broken_compression_loses_nothing() {
    let text = format!("{{\"text\": \"{}\"}}\n", words(1)).repeat(300);
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(text.as_bytes()).unwrap();
    let gzip = encoder.finish().unwrap();
    let mut flipped = gzip.clone();
    let checksum = gzip.len() - 6;
    flipped[checksum] ^= 1;
    // A frame of Zstandard whose block is of a reserved type, and one that ends within its only block, which has raw bytes.
    let zstd = vec![0x28, 0xb5, 0x2f, 0xfd, 0x20, 5, 7, 0, 0, 1, 2, 3];
    let raw = &text.as_bytes()[..100_000];
    let head = [&[0x28, 0xb5, 0x2f, 0xfd, 0xa0], &100_000_u32.to_le_bytes()[..]].concat();
    let block = (100_000_u32 << 3 | 1).to_le_bytes();
    let whole = [&head, &block[..3], raw].concat();
    let cut = whole[..whole.len() / 2].to_vec();
    // The whole frame can be read, so it is the cut that is reported.
    let tool = Tool::new();
    tool.write("whole.jsonl.zst", &whole);
    tool.run(&["dedup", "--jsonl", "whole.jsonl.zst", "--clusters", "c.csv"]).with_status(0);
    let cases = [
        ("cut.jsonl.zst", cut),
        ("cut.jsonl.gz", gzip[..gzip.len() / 2].to_vec()),
        ("flipped.jsonl.gz", flipped),
        ("broken.jsonl.zst", zstd),
    ];
    for (name, bytes) in cases {
        let tool = Tool::new();
        tool.write(name, bytes);
        let ran = tool.run(&["dedup", "--jsonl", name, "--clusters", "c.csv"]).with_status(3);
        assert!(ran.err.starts_with(&format!("error: cannot read {name}")), "{}", ran.err);
        assert_eq!(tool.names(), [name]);
    }
}

#[test]
fn arguments_that_make_no_sense_are_refused() {
    let tool = Tool::new();
    tool.write("d.jsonl", format!("{{\"text\": \"{}\"}}\n", words(1)));
    let cases: [&[&str]; 9] = [
        &["--jsonl", "d.jsonl"],
        &["--jsonl", "d.jsonl", "-", "--out", "out"],
        &["--jsonl", "d.jsonl", "--clusters", "c.txt"],
        &["--jsonl", "d.jsonl", "--out", "x", "--removed", "x"],
        &["--jsonl", "d.jsonl", "--out", "x", "--features", "chunks"],
        &["--jsonl", "d.jsonl", "--out", "x", "--min", "0"],
        &["--jsonl", "d.jsonl", "--out", "x", "--memory", "lots"],
        &["--jsonl", "d.jsonl", "--out", "x", "--preset", "cosine"],
        &[".", "--out", "x"],
    ];
    for case in cases {
        tool.run(&[&["dedup"], case].concat()).with_status(2);
    }
    tool.run(&["dedup", "--jsonl", "none.jsonl", "--out", "out"]).with_status(3);
    tool.run(&["dedup", "--jsonl", "none-*.jsonl", "--out", "out"]).with_status(3);
    assert_eq!(tool.names(), ["d.jsonl"]);
}

#[test]
fn too_little_memory_is_a_limit() {
    let tool = Tool::new();
    let row = |i| format!("{{\"text\": \"{}\"}}\n", words(i));
    tool.write("d.jsonl", (0..200).map(row).collect::<String>());
    let ran = tool.run(&["dedup", "--jsonl", "d.jsonl", "--out", "out", "--memory", "4KiB"]);
    ran.with_status(6);
    assert_eq!(tool.names(), ["d.jsonl"]);
}

#[test]
#[cfg(unix)]
fn the_summary_names_the_files_that_lost_most() {
    let tool = Tool::new();
    let row = |i| format!("{{\"text\": \"{}\"}}\n", words(i));
    tool.write("a.jsonl", row(1) + &row(2)).write("b.jsonl", row(1) + &row(3) + &row(1) + &row(4));
    let ran = tool.run(&["dedup", "--jsonl", "a.jsonl", "b.jsonl", "--out", "out"]).with_status(0);
    assert!(ran.err.contains("6 rows: kept 4, removed 2 (33.3 %) in 1 group"), "{}", ran.err);
    assert!(ran.err.contains("large group: 3 rows similar to a.jsonl:1\n"), "{}", ran.err);
    assert!(ran.err.contains("b.jsonl: removed 2 of 4 rows (50.0 %)\n"), "{}", ran.err);
    let ran =
        tool.run(&["dedup", "--jsonl", "a.jsonl", "b.jsonl", "--out", "out", "--force", "--json"]);
    let summary: Value = ran.with_status(0).json().remove(0);
    assert_eq!(
        summary["files"][1],
        serde_json::json!({"file": "b.jsonl", "rows": 4, "removed": 2})
    );
}
