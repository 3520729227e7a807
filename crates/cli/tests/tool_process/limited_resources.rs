//! Runs the tool with few resources: without write permission, with few open files, and with little memory. Commands that
//! read give the same answer and change nothing. A command that cannot do its work ends with the status of an I/O error
//! and a message that names the file, and leaves the database unchanged.
#![cfg(target_os = "linux")]

use crate::run;
use testkit::unprivileged;

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use run::{Tool, text};
use unprivileged::{Unprivileged, Writable, allow, image};

const SETS: &str = "a\tone two three four\nb\tone two three five\nc\tsix seven\n";

/// Commands that only read.
const READING: [&[&str]; 9] = [
    &["query", "db.ringer", "--key", "a", "--exhaustive"],
    &["query", "db.ringer", "--set", "one two", "--exhaustive"],
    &["get", "db.ringer", "a"],
    &["keys", "db.ringer"],
    &["estimate", "db.ringer", "a", "b"],
    &["pairs", "db.ringer", "--min", "0.3"],
    &["stat", "db.ringer"],
    &["check", "db.ringer", "--deep"],
    &["dump", "db.ringer"],
];

/// Commands that write.
const WRITING: [&[&str]; 5] = [
    &["add", "db.ringer", "--sets", "more.txt"],
    &["delete", "db.ringer", "a"],
    &["compact", "db.ringer"],
    &["reindex", "db.ringer", "--slots", "20"],
    &["repair", "db.ringer"],
];

fn run(mut command: Command, folder: &Path, arguments: &[&str]) -> Output {
    command.args(arguments).current_dir(folder).stdin(Stdio::null()).output().unwrap()
}

/// Checks that the command ended with an I/O error about the database.
fn is_refused(output: &Output, at: &str) {
    let errors = text(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{at}: {errors}");
    assert!(errors.starts_with("error: ") && errors.contains("db.ringer"), "{at}: {errors}");
    assert!(!errors.contains("panicked") && !errors.contains("has a bug"), "{at}: {errors}");
}

#[test]
fn what_may_not_be_written_is_read_and_left_as_it_is() {
    let tool = Tool::with_sets(SETS);
    let place = Unprivileged::new(Path::new(env!("CARGO_BIN_EXE_ringer")));
    let folder = place.folder("here");
    std::fs::copy(tool.path("db.ringer"), folder.join("db.ringer")).unwrap();
    std::fs::write(folder.join("more.txt"), "d\tone two\n").unwrap();
    for writable in [Writable::Nothing, Writable::Files, Writable::Names] {
        allow(&folder, writable);
        let before = image(&folder);
        for command in READING {
            let output = run(place.command(), &folder, command);
            let right = tool.run(command).with_status(0).out;
            let at = format!("{command:?}, {writable:?}: {}", text(&output.stderr));
            assert!(output.status.success() && text(&output.stdout) == right, "{at}");
        }
        for command in WRITING {
            let output = run(place.command(), &folder, command);
            is_refused(&output, &format!("{command:?}, {writable:?}"));
        }
        if writable != Writable::Names {
            let output = run(place.command(), &folder, &["create", "new-db.ringer"]);
            is_refused(&output, "create");
            let output = run(place.command(), &folder, &["pack", "db.ringer", "new-db.ringer"]);
            is_refused(&output, "pack");
        }
        assert!(image(&folder) == before, "{writable:?}: something was written");
    }
}

/// Runs the tool under a limit of `ulimit`.
fn under(limit: &str) -> Command {
    let mut command = Command::new("sh");
    command.arg("-c").arg(format!("ulimit -{limit} && exec \"$0\" \"$@\""));
    // The standard library deadlocks if there is no memory for a backtrace.
    command.arg(env!("CARGO_BIN_EXE_ringer")).env("RUST_BACKTRACE", "0");
    command
}

/// Whether the program could not be loaded: the loader reports it, or the system ends the process without a message.
fn is_unloaded(output: &Output) -> bool {
    let errors = text(&output.stderr);
    let killed = output.status.signal() == Some(11) && errors.is_empty();
    killed || output.status.code() == Some(127) && errors.contains("shared librar")
}

#[test]
fn with_few_files_commands_are_done_or_refused() {
    let (tool, whole) = (Tool::with_sets(SETS), Tool::with_sets(SETS));
    tool.write("more.txt", "d\tone two\n");
    for command in READING.into_iter().chain(WRITING) {
        let mut refused = 0;
        let enough = (3..40).find(|files| {
            let output = run(under(&format!("n {files}")), tool.folder.path(), command);
            let at = format!("{command:?} with {files} files");
            if !output.status.success() && !is_unloaded(&output) {
                let errors = text(&output.stderr);
                assert_eq!(output.status.code(), Some(3), "{at}: {errors}");
                assert!(
                    errors.starts_with("error: ") && !errors.contains("panicked"),
                    "{at}: {errors}"
                );
                refused += 1;
            }
            assert_eq!(tool.names(), ["db.ringer", "more.txt"], "{at}");
            tool.run(&["check", "db.ringer", "--deep"]).with_status(0);
            if output.status.success() && READING.contains(&command) {
                assert_eq!(text(&output.stdout), whole.run(command).with_status(0).out, "{at}");
            }
            output.status.success()
        });
        println!("{command:?}: {enough:?} files are enough, {refused} times refused");
        assert!(enough.is_some(), "{command:?}");
    }
    assert_eq!(tool.keys("db.ringer"), ["b", "c", "d"]);
}

#[test]
fn with_little_memory_commands_are_done_or_end_and_the_database_is_whole() {
    let tool = Tool::with_sets(SETS);
    let many: String = (0..3000).map(|n| format!("s{n}\t{n} {} {}\n", n + 1, n + 2)).collect();
    tool.write("more.txt", many);
    for command in [READING[0], READING[5], READING[7], WRITING[0], WRITING[2]] {
        // The address space includes the program itself, about 20 MiB.
        let enough = (6..70).find(|mib| {
            let output = run(under(&format!("v {}", mib << 10)), tool.folder.path(), command);
            let (status, errors) = (output.status, text(&output.stderr));
            let at = format!("{command:?} with {mib} MiB: {status}: {errors}");
            if !status.success() {
                println!("{}", at.lines().next().unwrap_or_default());
            }
            assert!(!errors.contains("panicked"), "{at}");
            // An allocation failed in the Rust or the C library, which aborts.
            let aborted = status.signal() == Some(6) && errors.contains("memory");
            let refused = status.code() == Some(3) && errors.contains("error: ");
            assert!(status.success() || aborted || refused || is_unloaded(&output), "{at}");
            tool.run(&["check", "db.ringer"]).with_status(0);
            status.success()
        });
        println!("{command:?}: {enough:?} MiB are enough");
        assert!(enough.is_some(), "{command:?}");
    }
    assert_eq!(tool.keys("db.ringer").len(), 3003);
}
