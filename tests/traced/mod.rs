//! Runs the real binary under `strace`, which lets one of its system calls fail, or kills it there.
//!
//! In: a command and a call. Out: what came of it, and whether the call was reached. `strace` counts the calls
//! of each thread by itself: "the third write" is the third of any thread.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::{Command, Stdio};

use crate::tool_run::{Ran, Tool, ran, ringer};

/// The calls that change a disk, or tell of it. Not every system has all of them.
const CALLS: [&str; 20] = [
    "write",
    "writev",
    "pwrite64",
    "pwritev",
    "fsync",
    "fdatasync",
    "ftruncate",
    "fallocate",
    "rename",
    "renameat",
    "renameat2",
    "link",
    "linkat",
    "unlink",
    "unlinkat",
    "rmdir",
    "mkdir",
    "mkdirat",
    "chmod",
    "openat",
];

/// What a call does instead of its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Strike {
    /// The process is killed before it.
    Kill,
    /// It fails: no space is left.
    Full,
    /// It fails: the device does.
    Device,
}

pub(crate) const STRIKES: [Strike; 3] = [Strike::Kill, Strike::Full, Strike::Device];

impl Strike {
    fn option(self) -> &'static str {
        match self {
            Strike::Kill => "signal=KILL",
            Strike::Full => "error=ENOSPC",
            Strike::Device => "error=EIO",
        }
    }
}

/// The n-th call of this name, from 1 on.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Call {
    pub(crate) name: String,
    pub(crate) n: usize,
}

/// What a command came to whose call was struck.
pub(crate) struct Struck {
    pub(crate) ran: Ran,
    /// Whether the call was reached.
    pub(crate) hit: bool,
}

/// Whether processes can be traced here. Says so if not.
pub(crate) fn is_possible() -> bool {
    let mut command = Command::new("strace");
    command.args(["-f", "-qq", "-e", "trace=write", "-e", "inject=write:error=EIO:when=1"]);
    let traced = command.args(["-o", "/dev/null", "echo"]).output();
    // The one that writes nothing fails.
    let possible = traced.is_ok_and(|output| !output.status.success() && output.stdout.is_empty());
    if !possible {
        println!("skipped: no strace here that may trace and change system calls");
    }
    possible
}

const LOG: &str = "calls.trace";

fn traced(tool: &Tool, options: &[&str], arguments: &[&str]) -> Ran {
    let plain = ringer(arguments);
    let mut command = Command::new("strace");
    command.args(["-f", "-qq", "-o", LOG]).args(options).arg(plain.get_program());
    command.args(plain.get_args()).current_dir(tool.folder.path()).stdin(Stdio::null());
    ran(&command.output().expect("strace runs"))
}

fn take_log(tool: &Tool) -> String {
    let log = fs::read_to_string(tool.path(LOG)).unwrap_or_default();
    let _ = fs::remove_file(tool.path(LOG));
    log
}

/// The calls that a command makes which can be struck.
pub(crate) fn calls(tool: &Tool, arguments: &[&str]) -> (Ran, Vec<Call>) {
    // Those that a system does not have are no mistake.
    let all = format!("trace={}", CALLS.map(|name| format!("?{name}")).join(","));
    let ran = traced(tool, &["-e", &all], arguments);
    let (mut counts, mut found) = (BTreeMap::new(), BTreeSet::new());
    for line in take_log(tool).lines() {
        let Some((thread, call)) = line.split_once(char::is_whitespace) else { continue };
        let Some((name, rest)) = call.trim_start().split_once('(') else { continue };
        if !CALLS.contains(&name) {
            continue;
        }
        let n = counts.entry((thread.to_string(), name.to_string())).or_insert(0);
        *n += 1;
        // The loader's files and what is said on standard error are not of interest.
        let ours = match name {
            "openat" => rest.contains(".ringer") || rest.contains("O_CREAT"),
            "write" => !rest.starts_with("2,"),
            _ => true,
        };
        if ours {
            found.insert(Call { name: name.to_string(), n: *n });
        }
    }
    (ran, found.into_iter().collect())
}

/// Runs a command with one call struck.
pub(crate) fn strike(tool: &Tool, arguments: &[&str], call: &Call, strike: Strike) -> Struck {
    let Call { name, n } = call;
    let trace = format!("trace={name}");
    let inject = format!("inject={name}:{}:when={n}", strike.option());
    let ran = traced(tool, &["-e", &trace, "-e", &inject], arguments);
    let log = take_log(tool);
    let hit = log.contains("(INJECTED)") || log.contains("killed by SIGKILL");
    Struck { ran, hit }
}
