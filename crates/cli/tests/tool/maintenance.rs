//! Files that are damaged, locked, read-only or not databases; help and completions.

use crate::run;

use std::fs;
use std::process::Stdio;

use ringer::{Database, Options};
use run::Tool;

const SETS: &str = "a\tone two three four\nb\tone two three five\nc\tsix seven\n";

/// Commands that only read, on `db.ringer`.
const READING: [&[&str]; 13] = [
    &["query", "db.ringer", "--key", "a"],
    &["query", "db.ringer", "--set", "one two"],
    &["get", "db.ringer", "a"],
    &["keys", "db.ringer"],
    &["estimate", "db.ringer", "a", "b"],
    &["pairs", "db.ringer", "--min", "0.3"],
    &["clusters", "db.ringer", "--min", "0.3"],
    &["triples", "db.ringer", "--min", "0.3"],
    &["stat", "db.ringer"],
    &["check", "db.ringer"],
    &["check", "db.ringer", "--quick"],
    &["check", "db.ringer", "--deep"],
    &["dump", "db.ringer"],
];

#[test]
fn commands_that_read_change_no_byte_and_work_on_read_only_files() {
    let tool = Tool::with_sets(SETS);
    let file = tool.path("db.ringer");
    let mut permissions = fs::metadata(&file).unwrap().permissions();
    permissions.set_readonly(true);
    fs::set_permissions(&file, permissions).unwrap();
    let before = (fs::read(&file).unwrap(), fs::metadata(&file).unwrap().modified().unwrap());
    for command in READING {
        tool.run(command).with_status(0);
        tool.run(&[command, &["--json"]].concat()).with_status(0).json();
        let quiet = tool.run(&[command, &["--quiet"]].concat()).with_status(0);
        assert_eq!(quiet.err, "", "{command:?}");
    }
    let after = (fs::read(&file).unwrap(), fs::metadata(&file).unwrap().modified().unwrap());
    assert!(before == after);
    assert_eq!(tool.names(), ["db.ringer"]);
}

#[test]
fn commands_that_write_leave_one_file() {
    let tool = Tool::with_sets(SETS);
    tool.run(&["delete", "db.ringer", "c"]).with_status(0);
    let compacted = tool.run(&["compact", "db.ringer", "--json"]).with_status(0).json();
    assert_eq!(compacted[0]["segments"], 1);
    tool.run(&["repair", "db.ringer"]).with_status(0);
    assert_eq!(tool.names(), ["db.ringer"]);
    tool.run(&["pack", "db.ringer", "packed.ringer"]).with_status(0);
    tool.run(&["salvage", "db.ringer", "saved.ringer"]).with_status(0);
    assert_eq!(tool.names(), ["db.ringer", "packed.ringer", "saved.ringer"]);
    for name in ["packed.ringer", "saved.ringer"] {
        assert_eq!(tool.keys(name), ["a", "b"]);
        tool.run(&["check", name, "--deep"]).with_status(0);
    }
    // Existing files are not replaced.
    tool.run(&["pack", "db.ringer", "packed.ringer"]).with_status(5);
    tool.run(&["salvage", "db.ringer", "saved.ringer"]).with_status(5);
}

#[test]
fn beside_a_writer_one_can_read_but_not_write() {
    let tool = Tool::with_sets(SETS);
    let db = Database::open(tool.path("db.ringer"), Options::default()).unwrap();
    let set = ringer::features::tokens(["eight", "nine"]);
    db.put("d", &set).unwrap();
    for command in READING {
        let ran = tool.run(command).with_status(0);
        assert!(!ran.err.contains("warning"), "{command:?}: {}", ran.err);
    }
    assert_eq!(tool.keys("db.ringer"), ["a", "b", "c", "d"]);
    tool.run(&["get", "db.ringer", "d"]).with_status(0);
    for command in [
        &["add", "db.ringer", "."][..],
        &["delete", "db.ringer", "a"],
        &["compact", "db.ringer"],
        &["reindex", "db.ringer", "--bits", "4"],
        &["repair", "db.ringer"],
    ] {
        let refused = tool.run(command).with_status(4);
        assert!(refused.err.contains("is open for writing in another process"), "{}", refused.err);
    }
    let stat = tool.run(&["stat", "db.ringer", "--json"]).with_status(0).json();
    assert_eq!((&stat[0]["commits_in_log"], &stat[0]["writer"]), (&1.into(), &true.into()));
    db.close().unwrap();
    assert_eq!(tool.keys("db.ringer"), ["a", "b", "c", "d"]);
}

#[test]
fn files_that_are_no_databases_are_refused() {
    let tool = Tool::new();
    tool.write("text", "no database").write("empty", "").write("folder/file", "");
    for command in READING {
        for (name, status) in [("text", 5), ("empty", 5), ("folder", 5), ("nowhere", 3)] {
            let mut command = command.to_vec();
            command[1] = name;
            let refused = tool.run(&command).with_status(status);
            assert!(refused.err.starts_with("error: "), "{command:?}: {}", refused.err);
            assert_eq!(refused.out, "", "{command:?}");
        }
    }
    for command in [
        &["add", "text", "folder"][..],
        &["delete", "text", "a"],
        &["compact", "text"],
        &["reindex", "text", "--bits", "4"],
        &["repair", "text"],
        &["salvage", "text", "new"],
        &["pack", "text", "new"],
    ] {
        tool.run(command).with_status(5);
    }
    assert_eq!(fs::read(tool.path("text")).unwrap(), b"no database");
    assert_eq!(tool.names(), ["empty", "folder", "text"]);
}

/// A bit is flipped at 40 places, one at a time. Each time `check` finds it, or no answer changes.
#[test]
fn damage_is_found_said_and_mended_or_salvaged() {
    let sets: String = (0..400).map(|i| format!("key{i:03}\tx{i} y{} z\n", i / 2)).collect();
    let tool = Tool::with_sets(&sets);
    let good = fs::read(tool.path("db.ringer")).unwrap();
    let dump = tool.run(&["dump", "db.ringer"]).with_status(0).out;
    let mut found = 0;
    for at in (0..good.len()).step_by(good.len() / 40) {
        let mut bad = good.clone();
        bad[at] ^= 0x10;
        fs::write(tool.path("bad.ringer"), &bad).unwrap();
        let check = tool.run(&["check", "bad.ringer", "--deep", "--json"]);
        match check.status {
            Some(0) => {
                let same = tool.run(&["dump", "bad.ringer"]).with_status(0);
                assert_eq!(same.out, dump, "byte {at}");
            }
            Some(1) => {
                found += 1;
                let finding = &check.json()[0];
                for field in ["file", "page", "offset", "rule", "effect", "fix"] {
                    assert!(finding.get(field).is_some_and(|v| !v.is_null()), "{field}: {finding}");
                }
                assert_eq!(finding["file"], "bad.ringer");
            }
            // Only damage to both superblocks gives another status.
            other => panic!("byte {at}: status {other:?}, {}", check.err),
        }
        let salvaged = tool.run(&["salvage", "bad.ringer", "saved.ringer"]);
        assert!(matches!(salvaged.status, Some(0 | 1)), "byte {at}: {}", salvaged.err);
        for line in tool.run(&["dump", "saved.ringer"]).with_status(0).out.lines() {
            assert!(dump.contains(line), "byte {at}: {line}");
        }
        let repaired = tool.run(&["repair", "bad.ringer"]);
        if repaired.status == Some(0) {
            tool.run(&["check", "bad.ringer", "--deep"]).with_status(0);
            assert_eq!(tool.run(&["dump", "bad.ringer"]).with_status(0).out, dump, "byte {at}");
        } else {
            repaired.with_status(5);
        }
        fs::remove_file(tool.path("saved.ringer")).unwrap();
    }
    assert!(found > 10, "{found}");
}

/// A copy of an open database without its log.
#[test]
fn a_salvage_that_misses_commits_says_so() {
    let tool = Tool::with_sets(SETS);
    let db = Database::open(tool.path("db.ringer"), Options::default()).unwrap();
    db.put("d", &ringer::features::tokens(["eight", "nine"])).unwrap();
    fs::copy(tool.path("db.ringer"), tool.path("copy.ringer")).unwrap();
    db.close().unwrap();
    let ran = tool.run(&["salvage", "copy.ringer", "saved.ringer"]).with_status(1);
    assert!(ran.err.contains("log is damaged (it is not there): commits "), "{}", ran.err);
    assert_eq!(tool.keys("saved.ringer"), ["a", "b", "c"]);
    let json =
        tool.run(&["salvage", "copy.ringer", "again.ringer", "--json"]).with_status(1).json();
    assert_eq!(json[0]["log_damage"], "it is not there");
    assert_eq!(json[0]["commits_lost"][0], json[0]["commits_lost"][1]);
    assert_eq!((&json[0]["bytes_unreadable"], &json[0]["sets"]), (&0.into(), &3.into()));
}

#[test]
fn output_closed_early_is_no_error() {
    let sets: String = (0..5000).map(|i| format!("key{i:04}\tx y z\n")).collect();
    let tool = Tool::with_sets(&sets);
    for command in [
        &["keys", "db.ringer"][..],
        &["dump", "db.ringer"],
        &["dump", "db.ringer", "--json"],
        &["export", "db.ringer", "--libsvm"],
        &["pairs", "db.ringer", "--min", "0.5", "--expand", "--quiet"],
        &["clusters", "db.ringer", "--min", "0.5", "--quiet"],
        &["query", "db.ringer", "--key", "key0000", "--all"],
        &["completions", "bash"],
        &["man"],
        &["plan", "--min", "0.5"],
    ] {
        let mut child = tool
            .command(command)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the tool runs");
        drop(child.stdout.take());
        let out = child.wait_with_output().expect("it ends");
        let err = run::text(&out.stderr);
        assert_eq!((out.status.code(), &*err), (Some(0), ""), "{command:?}");
    }
    // The status reports the findings even if nobody reads them.
    let mut bad = fs::read(tool.path("db.ringer")).unwrap();
    let end = bad.len();
    bad[end - 2000..].iter_mut().for_each(|byte| *byte ^= 1);
    fs::write(tool.path("db.ringer"), bad).unwrap();
    let mut child =
        tool.command(&["check", "db.ringer", "-q"]).stdout(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(1));
}

#[cfg(target_os = "linux")]
#[test]
fn output_that_cannot_be_written_is_status_3() {
    let tool = Tool::with_sets(SETS);
    for command in [&["keys", "db.ringer"][..], &["stat", "db.ringer"], &["completions", "zsh"]] {
        let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let out = tool.command(command).stdout(full).output().unwrap();
        assert_eq!(out.status.code(), Some(3), "{command:?}");
        let err = run::text(&out.stderr);
        assert!(err.starts_with("error: cannot write the output"), "{err}");
    }
}

#[test]
fn help_completions_and_manual_pages() {
    let tool = Tool::new();
    let help = tool.run(&["--help"]).with_status(0).out;
    let commands = "dedup create add query get delete keys estimate pairs clusters triples plan stat check \
                    repair salvage compact reindex pack dump weights export completions man";
    for command in commands.split_whitespace() {
        assert!(help.contains(&format!("\n  {command} ")), "{command}");
        let own = tool.run(&[command, "--help"]).with_status(0).out;
        assert!(own.contains("Usage: ringer"), "{own}");
    }
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = tool.run(&["completions", shell]).with_status(0).out;
        assert!(script.contains("clusters"), "{shell}");
    }
    tool.run(&["completions", "tcsh"]).with_status(2);
    assert!(tool.run(&["man"]).with_status(0).out.contains(".TH ringer 1"));
    tool.run(&["man", "--dir", "pages"]).with_status(0);
    assert!(tool.path("pages/ringer-add.1").is_file());
    assert!(tool.run(&["--version"]).with_status(0).out.starts_with("ringer 0."));
}
