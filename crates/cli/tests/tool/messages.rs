//! The texts that users read, in one file: the `--help` of every command, and typical errors and notes.
//!
//! `messages.txt` holds what the real binary prints. With `RINGER_BLESS=1` the test rewrites it. Then read the difference.

mod lines;
mod prepared;

use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Stdio;

use ringer::{Database, Options};

use crate::run::{Tool, ran};
use lines::LINES;
use prepared::prepared;

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
    "reindex",
    "pack",
    "dump",
    "weights",
    "export",
    "completions",
    "man",
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
            writeln!(all, "{}", without_chance(printed.trim_end())).expect("memory");
        }
    }
    all.push('\n');
}

/// A line without what differs between two runs: times and rates, and what merges in the background left to compact.
fn without_chance(line: &str) -> &str {
    if line.ends_with(" rows per second") && line.contains(" s, ") {
        "SECONDS s, RATE rows per second"
    } else if line.starts_with("compacted ") && line.contains(" segments into 1; the file had ") {
        "compacted COUNT segments into 1; the file had SIZE and now has SIZE"
    } else {
        line
    }
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
