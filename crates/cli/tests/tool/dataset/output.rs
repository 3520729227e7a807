//! The place and the names of the output, and that lines are copied byte for byte.

use std::fs;
use std::io::{Read, Write};

use super::oracle::{Row, planted};
use crate::run::{Tool, words};

fn lines(count: u64) -> String {
    planted(count, 7).iter().map(Row::line).collect()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn odd_lines_are_copied_byte_for_byte() {
    let tool = Tool::new();
    let long = words(3);
    let input = format!(
        "\u{feff}{{\"text\":\"{0}\"}}\r\n\n  \t\n{{\"text\":\"{0}\"}}\n{{ \"text\" : \"\\u00e9 {1}\",\"x\":1e400}}\r\n{{\"text\":\"{2}\"}}",
        words(1),
        words(2),
        long.trim()
    );
    tool.write("d.jsonl", &input);
    tool.run(&["dedup", "--jsonl", "d.jsonl", "--out", "out", "--removed", "gone"]).with_status(0);
    let second = format!("{{\"text\":\"{}\"}}\n", words(1));
    let at = input.find(&second).unwrap();
    let expected = format!("{}{}", &input[..at], &input[at + second.len()..]);
    assert!(fs::read_to_string(tool.path("out/d.jsonl")).unwrap() == expected);
    assert!(fs::read_to_string(tool.path("gone/d.jsonl")).unwrap() == second);
}

#[test]
fn standard_input_goes_to_standard_output() {
    let tool = Tool::new();
    let input = lines(200);
    let ran =
        tool.run_with(&input, &["dedup", "--jsonl", "-", "--features", "tokens"]).with_status(0);
    tool.write("d.jsonl", &input);
    tool.run(&["dedup", "--jsonl", "d.jsonl", "--features", "tokens", "--out", "out"])
        .with_status(0);
    assert!(ran.out == fs::read_to_string(tool.path("out/d.jsonl")).unwrap());
    assert!(ran.out.len() < input.len());
    let ran = tool.run_with(
        &input,
        &["dedup", "--jsonl", "-", "--features", "tokens", "--out", "folder", "--json"],
    );
    assert_eq!(ran.with_status(0).json()[0]["rows"], 200);
    assert!(tool.path("folder/stdin.jsonl").is_file());
}

/// Runs on a compressed shard of these rows. Returns the bytes of its output, and the text that they decompress to.
fn compressed(name: &str, compress: impl Fn(&str) -> Vec<u8>, between: &[u8]) -> (Vec<u8>, String) {
    let tool = Tool::new();
    let input = lines(150);
    // Two members, as after `cat a.gz b.gz`.
    let (a, b) = input.split_at(input.len() / 2);
    tool.write("plain.jsonl", &input)
        .write(name, [&compress(a)[..], between, &compress(b)].concat());
    for (file, out) in [("plain.jsonl", "plain"), (name, "out")] {
        let arguments = ["dedup", "--jsonl", file, "--features", "tokens", "--out", out];
        tool.run(&arguments).with_status(0);
    }
    let expected = fs::read_to_string(tool.path("plain/plain.jsonl")).unwrap();
    (fs::read(tool.path("out").join(name)).unwrap(), expected)
}

#[test]
fn compressed_shards_stay_compressed() {
    let (written, expected) = compressed("a.jsonl.gz", |text| gzip(text.as_bytes()), &[]);
    let mut text = String::new();
    flate2::read::MultiGzDecoder::new(&written[..]).read_to_string(&mut text).unwrap();
    assert!(text == expected);
}

#[cfg(feature = "parquet")]
#[test]
fn zstandard_shards_stay_compressed() {
    let zstd = |text: &str| zstd::encode_all(text.as_bytes(), 3).unwrap();
    let skippable = [0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3];
    let (written, expected) = compressed("a.jsonl.zst", zstd, &skippable);
    assert!(zstd::decode_all(&written[..]).unwrap() == expected.as_bytes());
}

#[test]
fn output_that_exists_is_refused_or_replaced() {
    let tool = Tool::new();
    tool.write("in/d.jsonl", lines(50)).write("out/old.jsonl", "old").write("c.csv", "old");
    fs::create_dir(tool.path("empty")).unwrap();
    let dedup = ["dedup", "--jsonl", "in", "--features", "tokens"];
    let run = |more: &[&str]| tool.run(&[&dedup[..], more].concat());
    let refused = run(&["--out", "out"]).with_status(2);
    assert_eq!(
        refused.err,
        "error: out already exists: choose another name, or replace it with --force\n"
    );
    run(&["--clusters", "c.csv"]).with_status(2);
    run(&["--out", "empty"]).with_status(0);
    assert!(tool.path("empty/d.jsonl").is_file());
    run(&["--out", "out", "--clusters", "c.csv", "--force"]).with_status(0);
    assert!(tool.path("out/d.jsonl").is_file() && !tool.path("out/old.jsonl").exists());
    assert!(fs::read_to_string(tool.path("c.csv")).unwrap().starts_with("key,file,"));
    // No option replaces the input.
    for out in ["in", "."] {
        let refused = run(&["--out", out, "--force"]).with_status(2);
        assert!(refused.err.contains("would replace the input in/d.jsonl"), "{}", refused.err);
    }
    assert_eq!(tool.names(), ["c.csv", "empty", "in", "out"]);
}

#[test]
fn patterns_and_several_files_keep_their_names() {
    let tool = Tool::new();
    tool.write("a-1.jsonl", lines(30)).write("a-2.jsonl", lines(30)).write("b.jsonl", lines(5));
    tool.run(&["dedup", "--jsonl", "a-*.jsonl", "--features", "tokens", "--out", "out"])
        .with_status(0);
    assert!(tool.path("out/a-1.jsonl").is_file() && !tool.path("out/b.jsonl").exists());
    // The second file has the rows of the first.
    assert_eq!(fs::read_to_string(tool.path("out/a-2.jsonl")).unwrap(), "");
    tool.write("x/a-1.jsonl", lines(5));
    let refused = tool.run(&["dedup", "--jsonl", "a-1.jsonl", "x/a-1.jsonl", "--out", "two"]);
    assert!(refused.with_status(2).err.contains("would both be written to a-1.jsonl"));
}
