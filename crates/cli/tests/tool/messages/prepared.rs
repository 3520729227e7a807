//! The folder in which the command lines run: databases, and files of every kind that can be wrong.

use std::fs;
use std::io::{Read, Write};
use std::process::Stdio;

use crate::run::{Tool, words};

/// The databases: name, and options of `create`.
const DATABASES: &[(&str, &[&str])] = &[
    ("db", &["--features", "tokens"]),
    ("locked", &["--features", "tokens"]),
    ("ids", &["--features", "ids"]),
    ("texts", &["--features", "text"]),
    ("vectors", &["--features", "ids", "--preset", "cosine"]),
    ("kept", &["--features", "tokens", "--keep-sets"]),
    ("numbers", &["--features", "text", "--preset", "precise"]),
    ("uncounted", &["--features", "tokens", "--cardinality", "none"]),
    ("weighed", &["--features", "tokens", "--sampler", "weighted"]),
    ("spots", &["--features", "text", "--sampler", "weighted"]),
    ("equal", &["--features", "tokens"]),
    ("files", &["--features", "text"]),
    ("vanished", &["--features", "text"]),
    ("synced", &["--features", "text"]),
    ("damaged", &["--features", "tokens"]),
    ("crashed", &["--features", "tokens"]),
];

fn row(id: u32, text: &str) -> String {
    format!("{{\"id\": {id}, \"text\": \"{text}\"}}\n")
}

/// Rows of JSON, each with another fault, after one that is fine.
fn many_faults() -> Vec<u8> {
    let faults: [&[u8]; 17] = [
        b"{\"id\": 1, \"text\": \"one two three four five six\"}",
        b"{\"id\": 2}",
        b"{\"text\": \"no id\"}",
        b"{\"id\": {}, \"text\": \"an object as id\"}",
        b"{\"id\": 5, \"text\": 7}",
        b"{\"id\": 6, \"text\": null}",
        b"{\"id\": 7, \"text\": \"\"}",
        b"{\"id\": 8, \"text\": \"\xff\xfe\"}",
        b"{\"id\": 9, \"text\": \"\\ud800\"}",
        b"not json",
        b"{\"id\": 11, \"text\": \"cut off",
        b"[1, 2]",
        b"{\"id\": 13, \"text\": \"more\"} x",
        b"{\"id\": 14 \"text\": \"no comma\"}",
        b"{id: 15, \"text\": \"no quotes\"}",
        b"{\"id\" 16, \"text\": \"no colon\"}",
        b"{\"id\": 1, \"text\": \"seven eight nine ten eleven\"}",
    ];
    faults.join(&b"\n"[..])
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(text).expect("memory");
    encoder.finish().expect("memory")
}

pub(super) fn prepared() -> Tool {
    let tool = Tool::new();
    for (name, options) in DATABASES {
        let name = format!("{name}.ringer");
        tool.run(&[&["create", &name], *options].concat()).with_status(0);
    }
    text_files(&tool);
    row_files(&tool);
    fill(&tool);
    tool
}

fn text_files(tool: &Tool) {
    tool.write("plain.txt", "a plain text")
        .write("folder/file", "")
        .write("binary.bin", b"\x00\x01");
    tool.write("in/a.txt", "one two three four five six seven");
    fs::create_dir(tool.path("empty-folder")).expect("a new folder");
    let mut flipped = gzip(words(1).as_bytes());
    let checksum = flipped.len() - 6;
    flipped[checksum] ^= 1;
    tool.write("broken.gz", b"\x1f\x8b\x08\x00").write("flipped.gz", flipped);
    // A frame whose block is of a reserved type.
    tool.write("broken.zst", [0x28, 0xb5, 0x2f, 0xfd, 0x20, 5, 7, 0, 0, 1, 2, 3]);
    tool.write("page.xz", b"\xfd7zXZ\x00 and more").write("rows.parquet", b"PAR1 and more");
    // Files that repeat others, and files that resemble others.
    for name in ["copies/a.txt", "copies/b.txt", "copies/c.txt", "more-copies/d.txt", "mixed/a.txt"]
    {
        tool.write(name, words(1));
    }
    let changed = |count: usize| words(1).replacen('w', "x", count);
    tool.write("copies/e.txt", changed(1)).write("mixed/b.txt", words(1));
    tool.write("mixed/c.txt", changed(2)).write("similar/a.txt", words(1));
    tool.write("similar/b.txt", changed(3)).write("similar/c.txt", changed(4));
    // The first file resembles the second, and the second the third.
    tool.write("chain/a.txt", words(1)).write("chain/b.txt", changed(50));
    tool.write("chain/c.txt", changed(100));
    for name in ["synced/a.txt", "synced/b.txt", "synced/c.txt", "away/a.txt", "gone.txt"] {
        tool.write(name, words(5));
    }
}

fn row_files(tool: &Tool) {
    tool.write("rows.tsv", "a\tx y z\n").write("two.tsv", "c\tx y\nd\tz\n");
    tool.write("three.tsv", "d\tz\ne\tx\nnone\t\n");
    tool.write("no-tab.tsv", "no tab\n").write("weights.tsv", "a\tx:1\n");
    tool.write("wrong-weights.tsv", "a\tx\nb\t1:0\nc\t1:inf\nd\t1:-1\n");
    tool.write("many-faults.tsv", "no tab\n".repeat(25));
    tool.write("strange.tsv", "nobody\t1\n").write("twice.tsv", "a\t1\na\t-1\n");
    tool.write("words.tsv", "a\tgood\n").write("more-labels.tsv", "a\t1\nnobody\t-1\n");
    tool.write("rows.jsonl", row(1, "one two three four five six"));
    tool.write("bad.jsonl", "{\"id\": 1}\nnot json\n").write("many-faults.jsonl", many_faults());
    let long = "x".repeat(65_537);
    tool.write("long.jsonl", format!("{{\"id\": 1, \"text\": \"a b\", \"value\": \"{long}\"}}\n"));
    tool.write("long-key.tsv", format!("{long}\ta b\n"));
    tool.write("long-key.jsonl", format!("{{\"id\": \"{long}\", \"text\": \"a b\"}}\n"));
    tool.write("few.jsonl", (0..2).map(|i| row(i, &words(i.into()))).collect::<String>());
    let copies = |from: u32| [row(from, "a b c d"), row(from + 1, "a b c d"), row(from + 2, "e f")];
    tool.write("shards/one/a.jsonl", copies(1).concat());
    tool.write("shards/two/a.jsonl", copies(4).concat());
    tool.write("chain.jsonl", row(1, "a b c") + &row(2, "b c d") + &row(3, "c d e"));
}

fn fill(tool: &Tool) {
    for name in ["db", "kept", "uncounted", "damaged"] {
        let name = format!("{name}.ringer");
        tool.run(&["add", &name, "--sets", "rows.tsv"]).with_status(0);
    }
    tool.run_with("none\t\n", &["add", "db.ringer", "--sets", "-"]).with_status(0);
    tool.run_with("a\tx\nb\tx\nc\tx\n", &["add", "equal.ringer", "--sets", "-"]).with_status(0);
    tool.run(&["add", "files.ringer", "gone.txt", "away/a.txt", "synced/a.txt"]).with_status(0);
    tool.run(&["add", "vanished.ringer", "away"]).with_status(0);
    tool.run(&["add", "synced.ringer", "synced"]).with_status(0);
    for name in ["gone.txt", "away/a.txt", "synced/b.txt"] {
        fs::remove_file(tool.path(name)).expect("a file");
    }
    tool.write("synced/a.txt", words(6));
    kill_a_writer(tool);
    let mut bytes = fs::read(tool.path("damaged.ringer")).expect("a file");
    let page = bytes.len() - 100;
    bytes[page..].fill(0xff);
    tool.write("damaged.ringer", bytes);
}

/// Kills a writer after its first commit. The commit is in the log that it leaves.
fn kill_a_writer(tool: &Tool) {
    let add = ["add", "crashed.ringer", "--sets", "-", "--commit-every", "1", "--ack"];
    let mut command = tool.command(&add);
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut writer = command.spawn().expect("the tool runs");
    let mut input = writer.stdin.take().expect("piped");
    input.write_all(b"c\tx\n").and_then(|()| input.flush()).expect("it reads");
    let mut acknowledged = [0; 11];
    writer.stdout.take().expect("piped").read_exact(&mut acknowledged).expect("a commit");
    writer.kill().and_then(|()| writer.wait()).expect("it ends");
}
