//! Documents over a limit: the tool skips and lists them, and ends with the documented status. An interrupt works in the
//! middle of a document, too.
#![cfg(unix)]

use crate::run;

use std::process::Stdio;
use std::time::Duration;

use run::Tool;

/// A character of 3 bytes whose normal form has 33.
const LIGATURE: &str = "\u{FDFA}";

#[test]
fn documents_over_a_limit_are_listed_and_counted() {
    let tool = Tool::new();
    tool.run(&["create", "db.ringer"]).with_status(0);
    tool.write("in/good.txt", "one two three four five six seven");
    tool.write("in/large.txt", LIGATURE.repeat(200));
    let arguments = ["add", "db.ringer", "in", "--max-text", "1000"];
    let added = tool.run(&arguments).with_status(6);
    assert!(
        added.err.contains("in/large.txt: the document has more than 1000 bytes"),
        "{}",
        added.err
    );
    assert!(added.err.contains("added 1 set; skipped: 1 over a limit"), "{}", added.err);
    assert!(added.err.contains("raise --max-text or --max-features"), "{}", added.err);
    let keys = tool.run(&["keys", "db.ringer"]).with_status(0);
    assert_eq!(keys.out, "in/good.txt\n");
    let json = tool.run(&[&arguments[..], &["--json"]].concat()).with_status(6).json();
    assert_eq!(json[0]["left_out"]["over a limit"], 1);
    let added = tool.run(&["add", "db.ringer", "in", "--max-features", "7"]).with_status(6);
    assert!(added.err.contains("more than 7 features"), "{}", added.err);
    // None of the input could be used.
    let added =
        tool.run(&["add", "db.ringer", "in/large.txt", "--max-text", "1000"]).with_status(3);
    assert!(added.err.contains("none of the input could be used"), "{}", added.err);
    tool.run(&[&arguments[..], &["--strict"]].concat()).with_status(6);
    tool.run(&["add", "db.ringer", "in"]).with_status(0);
    let found = tool.run(&["dedup", "in", "--max-text", "1000"]).with_status(6);
    assert!(found.err.contains("skipped: 1 over a limit"), "{}", found.err);
}

#[test]
fn lines_over_a_limit_are_listed_and_counted() {
    let tool = Tool::new();
    tool.run(&["create", "db.ringer", "--features", "tokens"]).with_status(0);
    let lines = "a\tx y z\nb\tx y\nc\tx x x x\n";
    let arguments = ["add", "db.ringer", "--sets", "-", "--max-features", "3"];
    let added = tool.run_with(lines, &arguments).with_status(6);
    assert!(added.err.contains("line 3: the document has more than 3 features"), "{}", added.err);
    assert!(added.err.contains("added 2 sets; skipped: 1 over a limit"), "{}", added.err);
}

/// Files that become chunks are read in pieces, so they have no limit unless an option sets one.
#[test]
fn chunks_are_limited_where_that_is_asked_for() {
    let tool = Tool::new();
    tool.run(&["create", "db.ringer", "--features", "chunks"]).with_status(0);
    let bytes: Vec<u8> =
        (0..50_000_u32).flat_map(|i| i.wrapping_mul(0x9E37_79B1).to_be_bytes()).collect();
    tool.write("in/file", bytes);
    tool.run(&["add", "db.ringer", "in", "--max-features", "100"]).with_status(3);
    tool.run(&["add", "db.ringer", "in"]).with_status(0);
}

/// A file of 60 MiB of ligatures took 8 GB and a minute, and an interrupt had to wait for most of it. Here the address
/// space allows for 64 MiB of text, and the tool reports that the document is over the limit.
#[test]
fn a_text_that_grows_by_normalisation_takes_neither_memory_nor_patience() {
    let tool = Tool::new();
    tool.write("in/bomb.txt", LIGATURE.repeat(20 << 20));
    tool.write("in/good.txt", "one two three four five six seven");
    for features in ["text", "grams"] {
        let name = format!("{features}.ringer");
        tool.run(&["create", &name, "--features", features]).with_status(0);
        let mut command = std::process::Command::new("sh");
        let line =
            format!("ulimit -v 1500000; exec {} add {name} in", env!("CARGO_BIN_EXE_ringer"));
        let ran = command.arg("-c").arg(line).current_dir(tool.path(".")).output().unwrap();
        let err = run::text(&ran.stderr);
        assert_eq!(ran.status.code(), Some(6), "{features}: {err}");
        assert!(err.contains("1 over a limit"), "{err}");
    }
}

/// An interrupt ends the work on one document, which would take minutes without a limit. Earlier sets are stored.
#[test]
fn an_interrupt_is_heard_in_the_middle_of_a_document() {
    let tool = Tool::new();
    tool.write("in/bomb.txt", LIGATURE.repeat(20 << 20));
    tool.run(&[
        "create",
        "db.ringer",
        "--features",
        "grams",
        "--sampler",
        "independent",
        "--samples",
        "512",
    ])
    .with_status(0);
    let arguments =
        ["add", "db.ringer", "in", "--max-text", "99999999999", "--max-features", "99999999999"];
    let mut child =
        tool.command(&arguments).stdin(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(Duration::from_secs(2));
    let id = child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(tool.run(&["keys", "db.ringer"]).with_status(0).out, "");
}
