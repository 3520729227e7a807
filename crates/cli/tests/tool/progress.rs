//! Progress without a terminal, and what the tool prints after an interrupt.
#![cfg(unix)]

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, Stdio};

use crate::run::{Tool, text, words};

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
    assert!(line.starts_with("reading sets: 14 bytes, "), "{line}");
    let interrupt = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(interrupt.success());
    let rest: Vec<String> = said.map(|line| line.unwrap()).collect();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{rest:?}");
    drop(input);
    let rest = rest.join("\n");
    assert!(rest.contains("added 2 sets\ninterrupted: the sets added so far are stored"), "{rest}");
    assert_eq!(tool.keys("db.ringer"), ["a", "b"]);
}

/// What a command prints on a terminal, with its status.
fn on_a_terminal(tool: &Tool, line: &str) -> Option<(String, Option<i32>)> {
    let line = format!("stty cols 120; '{}' {line}", env!("CARGO_BIN_EXE_ringer"));
    let mut script = Command::new("script");
    script.args(["-qefc", &line, "/dev/null"]).current_dir(tool.folder.path());
    let Ok(ran) = script.stdin(Stdio::null()).output() else {
        println!("skipped: there is no `script` here to make a terminal");
        return None;
    };
    Some((text(&ran.stdout), ran.status.code()))
}

/// Long commands show a bar with rate and time left, all in whole numbers. Not with --quiet, and not without a terminal.
#[test]
fn long_commands_show_a_bar_on_a_terminal() {
    let sets: String = (0..200).map(|i| format!("{i}\ta{0} b{0} c{0}\n", i / 2)).collect();
    let tool = Tool::with_sets("");
    tool.write("sets.tsv", sets).write("in/a", words(1)).write("in/b", words(1));
    tool.write("rows.jsonl", format!("{{\"id\": 1, \"text\": \"{}\"}}\n", words(1)));
    let commands = [
        "add db.ringer --sets sets.tsv",
        "dedup in",
        "dedup --jsonl rows.jsonl --out kept --force",
        "pairs db.ringer --min 0.9 --output pairs.csv",
        "clusters db.ringer --min 0.9 --output clusters.csv",
        "triples db.ringer --min 0.9",
        "check db.ringer",
        "compact db.ringer",
        "reindex db.ringer --bits 7",
        "salvage db.ringer saved.ringer",
    ];
    for line in commands {
        let Some((shown, status)) = on_a_terminal(&tool, line) else { return };
        assert_eq!(status, Some(0), "{line}: {shown}");
        let bars: Vec<&str> =
            shown.split(['\r', '\n']).filter(|bar| bar.ends_with(" left)")).collect();
        assert!(!bars.is_empty(), "{line}: {shown:?}");
        for bar in &bars {
            assert!(bar.contains("/s, ") && !bar.contains('.'), "{line}: {bar:?}");
        }
        let _ = std::fs::remove_file(tool.path("saved.ringer"));
        let (quiet, _) = on_a_terminal(&tool, &format!("{line} --quiet")).unwrap();
        assert!(!quiet.contains(" left)"), "{line}: {quiet:?}");
        let _ = std::fs::remove_file(tool.path("saved.ringer"));
        let arguments: Vec<&str> = line.split(' ').collect();
        let plain = tool.run(&arguments).with_status(0);
        assert!(!plain.err.contains("left"), "{line}: {}", plain.err);
    }
}

/// Results that go to a file do not move the bar, which would take longer than to write them.
#[test]
fn a_bar_is_not_drawn_again_for_each_result_in_a_file() {
    let sets: String = (0..1000).map(|i| format!("{i}\ta{0} b{0} c{0}\n", i / 2)).collect();
    let tool = Tool::with_sets(&sets);
    for command in ["pairs", "clusters"] {
        let line = format!("{command} db.ringer --min 0.9 --output found.csv");
        let Some((shown, status)) = on_a_terminal(&tool, &line) else { return };
        assert_eq!(status, Some(0), "{shown}");
        assert!(std::fs::read_to_string(tool.path("found.csv")).unwrap().lines().count() > 500);
        let bars = shown.matches(" left)").count();
        assert!(bars < 250, "{command}: {bars} bars");
    }
}

/// Nobody reads the results, so that the command waits in the middle of them. After an interrupt, hardly any more are printed.
#[test]
fn an_interrupt_ends_a_list_of_results() {
    let rows = |row: u32| format!("{row:064}\ta{0} b{0} c{0}\n", row / 2);
    let tool = Tool::with_sets(&(0..8000).map(rows).collect::<String>());
    for command in ["pairs", "clusters"] {
        let mut command = tool.command(&[command, "db.ringer", "--min", "0.9"]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut list = child.stdout.take().unwrap();
        list.read_exact(&mut [0]).unwrap();
        let interrupt = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
        assert!(interrupt.unwrap().success());
        let mut said = BufReader::new(child.stderr.take().unwrap());
        let mut all = String::new();
        said.read_line(&mut all).unwrap();
        let lines = BufReader::new(list).lines().count();
        std::io::Read::read_to_string(&mut said, &mut all).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(130), "{all}");
        let safe = "interrupted: the list is not complete; nothing was changed\n";
        assert!(all.ends_with(safe), "{all}");
        assert!(lines < 3000, "{lines} lines");
    }
}

/// A command that waits for its input is interrupted. It ends with status 130, and says what is safe.
#[test]
fn interrupted_commands_say_what_is_safe() {
    if !std::path::Path::new("/proc/self/status").exists() {
        println!("skipped: the signals that a process catches are not listed here");
        return;
    }
    let tool = Tool::with_sets("a\tx y z\n");
    tool.write("in/a", words(1)).write("in/b", words(1));
    // The command, whether it makes a temporary file or folder here, and what it says.
    let cases: [(&[&str], bool, &str); 3] = [
        (
            &["query", "db.ringer", "--sets", "-", "--output", "found.csv"],
            true,
            "interrupted: the answer is not complete; nothing was changed\n",
        ),
        (
            &["dedup", "in", "--files-from", "-", "--delete", "--yes"],
            false,
            "interrupted: no file was changed\n",
        ),
        (
            &["dedup", "--jsonl", "-", "--out", "kept", "--spill", "."],
            true,
            "interrupted: the input is as it was, and no incomplete output was left; run the same command again\n",
        ),
    ];
    for (arguments, makes, safe) in cases {
        let before = tool.names();
        let mut command = tool.command(arguments);
        let mut child = command.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let caught = format!("/proc/{}/status", child.id());
        // The handler is there when SIGINT, the second signal, is caught.
        let catches = |status: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
            line.is_some_and(|mask| {
                u64::from_str_radix(mask.trim(), 16).is_ok_and(|mask| mask & 2 != 0)
            })
        };
        loop {
            let status = std::fs::read_to_string(&caught).expect("the state of the process");
            assert_eq!(child.try_wait().unwrap(), None, "{arguments:?} ended early");
            if catches(&status) && (!makes || tool.names() != before) {
                break;
            }
            std::thread::yield_now();
        }
        let interrupt = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
        assert!(interrupt.unwrap().success());
        // A command that can stop in the middle says so first. Only then does its input end.
        let mut said = BufReader::new(child.stderr.take().unwrap());
        let mut all = String::new();
        said.read_line(&mut all).unwrap();
        drop(child.stdin.take());
        std::io::Read::read_to_string(&mut said, &mut all).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(130), "{arguments:?}: {all}");
        assert!(all.ends_with(safe), "{arguments:?}: {all}");
        assert_eq!(tool.names(), before, "{arguments:?}");
    }
}

/// Nobody reads the output, so the commands wait in the middle.
#[test]
fn interrupted_lists_say_that_they_are_not_complete() {
    let rows = |row| format!("{row}\t{}\n", words(row));
    let tool = Tool::with_sets(&(0..3000).map(rows).collect::<String>());
    let cases: [(&[&str], &str); 2] = [
        (&["export", "db.ringer", "--libsvm"], "the output is not complete; nothing was changed"),
        (&["dump", "db.ringer"], "the list is not complete; nothing was changed"),
    ];
    for (arguments, safe) in cases {
        let mut command = tool.command(arguments);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut list = child.stdout.take().unwrap();
        list.read_exact(&mut [0]).unwrap();
        let interrupt = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
        assert!(interrupt.unwrap().success());
        let ended = child.wait_with_output().unwrap();
        drop(list);
        assert_eq!(ended.status.code(), Some(130), "{arguments:?}");
        assert_eq!(text(&ended.stderr), format!("interrupted: {safe}\n"), "{arguments:?}");
    }
    assert_eq!(tool.names(), ["db.ringer"]);
}

#[test]
fn quiet_commands_print_nothing_and_verbose_ones_say_what_they_do() {
    let tool = Tool::with_sets("a\tx\nb\tx\nc\tx y\n");
    let quiet = tool.run(&["compact", "db.ringer", "--quiet"]).with_status(0);
    assert_eq!((&*quiet.out, &*quiet.err), ("", ""));
    let verbose = tool.run(&["compact", "db.ringer", "--verbose"]).with_status(0);
    assert!(
        verbose.err.starts_with("opening db.ringer to change it\ncompacting\n"),
        "{}",
        verbose.err
    );
    let pairs = ["pairs", "db.ringer", "--min", "0.9", "--verbose", "--output", "pairs.csv"];
    let verbose = tool.run(&pairs).with_status(0);
    assert!(verbose.err.contains("reading\ncomparing\ngrouping\n"), "{}", verbose.err);
    tool.run(&["compact", "db.ringer", "--verbose", "--quiet"]).with_status(2);
}
