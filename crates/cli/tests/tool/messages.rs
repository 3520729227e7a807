//! The texts that users read, in one file: the `--help` of every command, and typical errors and notes.
//!
//! `messages.txt` holds what the real binary prints. With `RINGER_BLESS=1` the test rewrites it. Then read the difference.

use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Stdio;

use ringer::{Database, Options};

use crate::run::{Tool, ran};

/// Every command, in the order of the help.
const COMMANDS: &[&str] = &[
    "dedup",
    "create",
    "add",
    "query",
    "get",
    "delete",
    "keys",
    "estimate",
    "pairs",
    "clusters",
    "triples",
    "plan",
    "stat",
    "check",
    "repair",
    "salvage",
    "compact",
    "pack",
    "dump",
    "export",
    "completions",
    "man",
];

/// Command lines that fail, warn, or end with a summary, with their standard input.
const LINES: &[(&str, &str)] = &[
    // Databases.
    ("stat nowhere.ringer", ""),
    ("add nowhere.ringer in", ""),
    ("query plain.txt --set a", ""),
    ("stat folder", ""),
    ("create db.ringer", ""),
    ("create no/folder/db.ringer", ""),
    ("pack db.ringer db.ringer", ""),
    ("delete locked.ringer a", ""),
    ("get locked.ringer a", ""),
    // Keys and queries.
    ("get db.ringer nobody", ""),
    ("delete db.ringer nobody", ""),
    ("query db.ringer --key nobody", ""),
    ("query db.ringer --set zebra", ""),
    ("query db.ringer --sets no-tab.tsv", ""),
    ("estimate db.ringer a", ""),
    // Options.
    ("query db.ringer --set a --mn 0.5", ""),
    ("quary db.ringer --set a", ""),
    ("query db.ringer --set a --min 2", ""),
    ("query db.ringer --set a --min high", ""),
    ("query db.ringer --set a --top 0", ""),
    ("pairs db.ringer --min 1.5", ""),
    ("clusters vectors.ringer --min -2", ""),
    ("dedup in --identical", ""),
    ("query db.ringer", ""),
    ("query db.ringer --set a --text b", ""),
    ("dedup in --min 0", ""),
    ("dedup in --db db.ringer --features chunks", ""),
    ("dedup --jsonl rows.jsonl", ""),
    ("dedup --jsonl rows.jsonl --out folder", ""),
    ("dedup --jsonl rows.jsonl --out new --memory 5parsecs", ""),
    ("dedup --jsonl rows.jsonl --clusters groups.xls", ""),
    ("dedup --jsonl empty-folder --out new", ""),
    ("create new.ringer --features words", ""),
    ("create new.ringer --slots 0 --value-bits 4", ""),
    ("add db.ringer --sets weights.tsv --weighted", ""),
    ("pairs db.ringer --min 0.5 --json --format csv", ""),
    ("pairs vectors.ringer --min 0.5 --verify-files", ""),
    // Input.
    ("add db.ringer", ""),
    ("add db.ringer nowhere", ""),
    ("add db.ringer --sets folder", ""),
    ("add db.ringer --sets -", "no tab\n\tno key\ngood\ta b c\n"),
    ("add db.ringer --sets - --strict", "good\ta b c\nno tab\n"),
    ("add db.ringer --jsonl plain.txt", ""),
    ("add db.ringer --jsonl broken.gz", ""),
    ("add ids.ringer --sets -", "k\t1 x\n"),
    ("query ids.ringer --set x", ""),
    ("query ids.ringer --text x", ""),
    ("add texts.ringer --jsonl rows.jsonl --key-field url", ""),
    ("add texts.ringer --jsonl rows.tsv", ""),
    ("add texts.ringer --sets rows.jsonl", ""),
    ("clusters db.ringer --min 0.5 --verify-jsonl rows.jsonl --text-field body", ""),
    ("dedup rows.jsonl", ""),
    ("add texts.ringer binary.bin", ""),
    ("add texts.ringer in --max-text 3", ""),
    ("query db.ringer --sets rows.tsv --verify-sets -", ""),
    ("dedup --jsonl bad.jsonl --out new", ""),
    // Answers and summaries.
    ("query kept.ringer --set x", ""),
    ("estimate db.ringer a a", ""),
    ("estimate kept.ringer a a", ""),
    ("estimate kept.ringer a a a", ""),
    ("add db.ringer --sets rows.tsv", ""),
    ("pairs db.ringer --min 0.3", ""),
    ("clusters db.ringer --min 0.9", ""),
    ("compact db.ringer", ""),
    ("check db.ringer", ""),
    ("repair db.ringer", ""),
    ("salvage db.ringer saved.ringer", ""),
];

/// Messages that new users did not understand.
const WORST: &[&str] = &[
    "± 0.000",
    "is found with probability",
    "nothing is missed",
    "Only sets of at least",
    "ids are whole numbers from",
    "it is no JSON object",
    "has more than 64 MiB of text",
    "close it there",
    "cannot open",
    "left out:",
];

fn prepared() -> Tool {
    let tool = Tool::new();
    for (name, features) in
        [("db", "tokens"), ("locked", "tokens"), ("ids", "ids"), ("texts", "text")]
    {
        let name = format!("{name}.ringer");
        tool.run(&["create", &name, "--features", features]).with_status(0);
    }
    let cosine = ["create", "vectors.ringer", "--features", "ids", "--preset", "cosine"];
    tool.run(&cosine).with_status(0);
    let kept = ["create", "kept.ringer", "--features", "tokens", "--keep-sets"];
    tool.run(&kept).with_status(0);
    tool.write("plain.txt", "a plain text")
        .write("folder/file", "")
        .write("rows.tsv", "a\tx y z\n");
    tool.write("no-tab.tsv", "no tab\n").write("weights.tsv", "a\tx:1\n");
    tool.write("rows.jsonl", "{\"id\": 1, \"text\": \"one two three four five six\"}\n");
    tool.write("bad.jsonl", "{\"id\": 1}\nnot json\n").write("broken.gz", b"\x1f\x8b\x08\x00");
    tool.write("binary.bin", b"\x00\x01").write("in/a.txt", "one two three four five six seven");
    fs::create_dir(tool.path("empty-folder")).expect("a new folder");
    for name in ["db.ringer", "kept.ringer"] {
        tool.run(&["add", name, "--sets", "rows.tsv"]).with_status(0);
    }
    tool
}

/// Runs a command line at a fixed width, and appends it with its status and what it prints.
fn append(all: &mut String, tool: &Tool, line: &str, input: &str) {
    let arguments: Vec<&str> = line.split(' ').collect();
    let mut command = tool.command(&arguments);
    command.env("COLUMNS", "100").stdin(Stdio::null());
    if !input.is_empty() {
        let name = tool.path("standard-input");
        fs::write(&name, input).expect("a writable folder");
        command.stdin(fs::File::open(name).expect("a readable file"));
    }
    let ran = ran(&command.output().expect("the tool runs"));
    let folder = tool.folder.path().display().to_string();
    let status = ran.status.expect("a status");
    writeln!(all, "$ ringer {line}\n[status {status}]").expect("memory");
    for text in [ran.out, ran.err] {
        let text = text.replace(&folder, "FOLDER").replace(env!("CARGO_PKG_VERSION"), "VERSION");
        for printed in text.lines() {
            writeln!(all, "{}", printed.trim_end()).expect("memory");
        }
    }
    all.push('\n');
}

#[test]
fn the_texts_that_users_read_are_those_of_messages_txt() {
    let tool = prepared();
    let writer =
        Database::open(tool.path("locked.ringer"), Options::default()).expect("a database");
    writer.put("b", &ringer::features::tokens(["x"])).expect("a commit");
    let mut all = String::new();
    append(&mut all, &tool, "--help", "");
    for command in COMMANDS {
        append(&mut all, &tool, &format!("{command} --help"), "");
    }
    for (line, input) in LINES {
        append(&mut all, &tool, line, input);
    }
    writer.close().expect("it closes");
    let worst: Vec<_> = WORST.iter().filter(|worst| all.contains(**worst)).collect();
    assert!(worst.is_empty(), "{worst:?}");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tool/messages.txt");
    if std::env::var_os("RINGER_BLESS").is_some() {
        fs::write(&path, &all).expect("a writable repository");
        return;
    }
    let expected = fs::read_to_string(&path).expect("messages.txt");
    let differing = all.lines().zip(expected.lines()).find(|(printed, stored)| printed != stored);
    assert!(
        all == expected,
        "messages have changed; run with RINGER_BLESS=1 and read the difference. First: {differing:#?}"
    );
}

#[test]
fn every_command_is_listed_here() {
    let help = Tool::new().run(&["--help"]).with_status(0).out;
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let names: Vec<&str> = listed
        .take_while(|line| !line.is_empty())
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .collect();
    assert_eq!(names, COMMANDS);
}
