//! Progress without a terminal, and what the tool prints after an interrupt.
#![cfg(unix)]

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use crate::run::Tool;

/// A load that waits for input prints progress lines. After an interrupt, it says what is stored.
#[test]
fn a_line_is_printed_now_and_then_and_an_interrupt_says_what_is_safe() {
    let tool = Tool::with_sets("");
    let mut command =
        tool.command(&["add", "db.ringer", "--sets", "-", "--commit-every", "1", "--ack"]);
    command.env("RINGER_PROGRESS_SECONDS", "1");
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(b"a\tx y z\nb\tx y\n").unwrap();
    let mut acknowledged = BufReader::new(child.stdout.take().unwrap()).lines();
    assert_eq!(acknowledged.next().unwrap().unwrap(), "committed 1");
    assert_eq!(acknowledged.next().unwrap().unwrap(), "committed 2");
    let mut said = BufReader::new(child.stderr.take().unwrap()).lines();
    let line = said.next().unwrap().unwrap();
    assert!(line.starts_with("reading sets: 14 B, "), "{line}");
    let interrupt = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(interrupt.success());
    let rest: Vec<String> = said.map(|line| line.unwrap()).collect();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{rest:?}");
    drop(input);
    let rest = rest.join("\n");
    assert!(rest.contains("added 2 sets\ninterrupted: the sets added so far are stored"), "{rest}");
    assert_eq!(tool.keys("db.ringer"), ["a", "b"]);
}

#[test]
fn quiet_commands_print_nothing_and_verbose_ones_say_what_they_do() {
    let tool = Tool::with_sets("a\tx\n");
    let quiet = tool.run(&["compact", "db.ringer", "--quiet"]).with_status(0);
    assert_eq!((&*quiet.out, &*quiet.err), ("", ""));
    let verbose = tool.run(&["compact", "db.ringer", "--verbose"]).with_status(0);
    assert!(
        verbose.err.starts_with("opening db.ringer to change it\ncompacting\n"),
        "{}",
        verbose.err
    );
    tool.run(&["compact", "db.ringer", "--verbose", "--quiet"]).with_status(2);
}
