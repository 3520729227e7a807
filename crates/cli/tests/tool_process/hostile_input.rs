//! Hostile input for the tool: a hundred thousand lines that are equal, that are empty, or whose sets share slot
//! values; a line with millions of elements; a pipe in place of a file. The operating system limits memory, and
//! `--explain` counts the work.
#![cfg(target_os = "linux")]

use crate::run;

use std::process::{Command, Stdio};

use run::{Ran, Tool, text, words};
use serde_json::Value;

const SETS: usize = 100_000;

/// The memory limit of a command: enough for its caches and threads.
const MOST_KIB: usize = 400 << 10;

/// The memory limit for a line of 24 MiB, which is read into a buffer that grows by doubling.
const MOST_KIB_OF_LINE: usize = 144 << 10;

/// Runs the tool with limited memory.
fn limited(tool: &Tool, arguments: &[&str]) -> Ran {
    limited_to(MOST_KIB, tool, arguments).with_status(0)
}

fn limited_to(most_kib: usize, tool: &Tool, arguments: &[&str]) -> Ran {
    let limit = format!("ulimit -d {most_kib}; exec \"$0\" \"$@\"");
    let ran = Command::new("sh")
        .args(["-c", &limit, env!("CARGO_BIN_EXE_ringer")])
        .args(arguments)
        .current_dir(tool.folder.path())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    Ran { status: ran.status.code(), out: text(&ran.stdout), err: text(&ran.stderr) }
}

/// Creates a database with [`SETS`] lines.
fn filled(create: &[&str], line: impl Fn(usize) -> String) -> Tool {
    let tool = Tool::new();
    let create = [&["create", "db.ringer", "--features", "tokens", "--seed", "7"], create].concat();
    tool.run(&create).with_status(0);
    tool.write("lines", (0..SETS).map(|i| format!("k{i:06}\t{}\n", line(i))).collect::<String>());
    limited(&tool, &["add", "db.ringer", "--sets", "lines"]);
    tool
}

fn query(tool: &Tool, arguments: &[&str]) -> Vec<Value> {
    limited(tool, &[arguments, &["--json", "--quiet"]].concat()).json()
}

fn explained(tool: &Tool, set: &str) -> (Vec<Value>, Value) {
    let query = ["query", "db.ringer", "--set", set, "--explain", "--json", "--quiet"];
    let ran = limited_to(MOST_KIB, tool, &query);
    let mut lines = ran.json();
    let work = lines.pop().expect("an explanation")["explain"].clone();
    // A query without a match ends with status 1.
    ran.with_status(i32::from(lines.is_empty()));
    (lines, work)
}

#[test]
fn equal_lines_are_one_candidate_and_one_group() {
    let tool = filled(&[], |_| "bread milk beer".into());
    let (found, work) = explained(&tool, "bread milk beer");
    let keys: Vec<&str> = found.iter().map(|found| found["key"].as_str().unwrap()).collect();
    assert_eq!(keys, (0..10).map(|i| format!("k{i:06}")).collect::<Vec<_>>());
    let parts = work["parts"].as_array().unwrap().len() as u64;
    assert!(work["compared"].as_u64().unwrap() <= parts, "{work}");
    let clusters = query(&tool, &["clusters", "db.ringer", "--min", "0.9"]);
    assert_eq!(clusters[0]["keys"].as_array().unwrap().len(), SETS);
    let pairs = query(&tool, &["pairs", "db.ringer", "--min", "0.9"]);
    assert!(pairs.len() <= 2, "a group, not five billion pairs: {}", pairs.len());
}

#[test]
fn empty_lines_are_found_by_nobody() {
    let tool = filled(&[], |_| String::new());
    let (found, work) = explained(&tool, "bread milk beer");
    assert_eq!(found, [Value::Null; 0]);
    assert!(work["compared"].as_u64().unwrap() <= 10, "{work}");
    assert!(
        query(&tool, &["clusters", "db.ringer", "--min", "0.1"])
            .iter()
            .all(|c| c["keys"].is_null())
    );
}

/// With one slot of one bit, half of all sets are candidates. A query compares each of them once.
#[test]
fn lines_that_collide_are_looked_at_once() {
    let slots = ["--slots", "1", "--samples-per-slot", "1", "--value-bits", "1"];
    let tool = filled(&slots, |i| format!("a{i} b{i} c{i}"));
    let (found, work) = explained(&tool, "a7 b7 c7");
    assert_eq!(found[0]["key"], "k000007");
    assert!(work["compared"].as_u64().unwrap() <= SETS as u64, "{work}");
    let exhaustive = query(&tool, &["query", "db.ringer", "--set", "a7 b7 c7", "--exhaustive"]);
    assert_eq!(exhaustive[0]["key"], "k000007");
}

/// Twelve million elements with 26 different values. Memory is needed for the line and the distinct elements only.
#[test]
fn a_line_of_very_many_elements_takes_little_memory() {
    let tool = Tool::new();
    tool.run(&["create", "db.ringer", "--features", "tokens"]).with_status(0);
    let letters: String = ('a'..='z').map(|letter| format!("{letter} ")).collect();
    tool.write("lines", format!("short\t{letters}\nlong\t{}\n", letters.repeat((24 << 20) / 52)));
    limited_to(MOST_KIB_OF_LINE, &tool, &["add", "db.ringer", "--sets", "lines"]).with_status(0);
    let found = query(&tool, &["query", "db.ringer", "--key", "short"]);
    assert_eq!((&found[0]["key"], &found[0]["resemblance"]), (&"long".into(), &1.0.into()));
}

/// A pipe, as a shell passes it for `<(command)`, is read to its end.
#[test]
fn a_pipe_is_a_file_to_ask_about() {
    let tool = Tool::new();
    tool.write("words.txt", words(3)).write("other.txt", words(4));
    tool.run(&["create", "db.ringer", "--features", "text"]).with_status(0);
    tool.run(&["add", "db.ringer", "words.txt", "other.txt"]).with_status(0);
    let made = Command::new("mkfifo").arg(tool.path("pipe")).status();
    assert!(made.is_ok_and(|status| status.success()), "mkfifo");
    let mut writer = Command::new("sh");
    let writer = writer.args(["-c", "cat words.txt > pipe"]).current_dir(tool.folder.path());
    let mut writer = writer.spawn().unwrap();
    let found = tool.run(&["query", "db.ringer", "--file", "pipe", "--json"]).with_status(0).json();
    assert!(writer.wait().unwrap().success());
    assert_eq!(found[0]["key"], "words.txt");
    assert_eq!(found[0]["resemblance"], 1.0);
}
