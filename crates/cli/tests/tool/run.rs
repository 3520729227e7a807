//! Runs the real binary in a folder of its own.
#![allow(dead_code, reason = "each test file uses its own part")]

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// The tool, in an empty folder.
pub(crate) struct Tool {
    pub(crate) folder: tempfile::TempDir,
}

/// The result of a command.
pub(crate) struct Ran {
    pub(crate) status: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ran {
    /// The lines of the output as JSON.
    pub(crate) fn json(&self) -> Vec<Value> {
        let parse = |line: &str| {
            serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))
        };
        self.out.lines().map(parse).collect()
    }

    /// Asserts that the command ended with this status, and returns the same result.
    #[track_caller]
    pub(crate) fn with_status(self, status: i32) -> Ran {
        let Ran { out, err, .. } = &self;
        assert_eq!(self.status, Some(status), "\n-- out: {out}\n-- err: {err}");
        assert!(!err.contains("panicked") && !err.contains("has a bug"), "{err}");
        self
    }
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Returns the tool with these arguments, and with a fixed seed instead of a random one.
pub(crate) fn ringer(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ringer"));
    command.args(arguments);
    let draws = ["create", "dedup"].iter().any(|draws| arguments.first() == Some(draws));
    if draws && !arguments.contains(&"--seed") && !arguments.contains(&"--help") {
        command.args(["--seed", "90474799383890"]);
    }
    command
}

/// Returns a text of 300 words. Texts of different numbers differ.
pub(crate) fn words(number: u64) -> String {
    let mut random = testkit::random::Random(number);
    (0..300).map(|_| format!("w{} ", random.below(1 << 16))).collect()
}

impl Tool {
    pub(crate) fn new() -> Tool {
        Tool { folder: tempfile::tempdir().expect("a temporary folder") }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> &Tool {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a folder")).unwrap();
        fs::write(path, content).unwrap();
        self
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = ringer(arguments);
        command.current_dir(self.folder.path());
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        ran(&self.command(arguments).stdin(Stdio::null()).output().expect("the tool runs"))
    }

    /// Runs a command with this standard input.
    pub(crate) fn run_with(&self, input: impl AsRef<[u8]>, arguments: &[&str]) -> Ran {
        let mut child = self
            .command(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the tool runs");
        // The command may end before it reads everything.
        let _ = child.stdin.take().expect("piped").write_all(input.as_ref());
        ran(&child.wait_with_output().expect("it ends"))
    }

    /// Creates a database with these sets of tokens.
    pub(crate) fn with_sets(sets: &str) -> Tool {
        let tool = Tool::new();
        tool.run(&["create", "db.ringer", "--features", "tokens"]).with_status(0);
        tool.run_with(sets, &["add", "db.ringer", "--sets", "-"]).with_status(0);
        tool
    }

    /// The names in the folder, in order.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.folder.path()).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| text(entry.unwrap().file_name().as_encoded_bytes())).collect();
        names.sort();
        names
    }

    /// Returns the keys of a database, as `ringer keys` prints them.
    pub(crate) fn keys(&self, database: &str) -> Vec<String> {
        let listed = self.run(&["keys", database]).with_status(0);
        listed.out.lines().map(str::to_string).collect()
    }
}

/// Converts the output of a command that has ended.
pub(crate) fn ran(output: &Output) -> Ran {
    Ran { status: output.status.code(), out: text(&output.stdout), err: text(&output.stderr) }
}

/// A path as an argument.
pub(crate) fn path(path: &Path) -> &str {
    path.to_str().expect("a UTF-8 path")
}
