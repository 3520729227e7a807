//! Runs a program under `strace`, which makes one of its system calls fail or kills the program there.
//!
//! In: a command and a system call. Out: the result, and whether the call was reached. `strace` counts calls per
//! thread: "the third write" is the third of any thread.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// The system calls that change a disk or report about it. Not every system has all of them.
const CALLS: [&str; 22] = [
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
    "symlink",
    "symlinkat",
    "unlink",
    "unlinkat",
    "rmdir",
    "mkdir",
    "mkdirat",
    "chmod",
    "openat",
];

/// What happens instead of a system call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Injection {
    /// The process is killed before the call.
    Kill,
    /// The call fails: no space is left.
    NoSpace,
    /// This and all later calls of the same name fail: no space is left.
    NoSpaceFromNowOn,
    /// The call fails with a device error.
    DeviceError,
}

pub const INJECTIONS: [Injection; 4] =
    [Injection::Kill, Injection::NoSpace, Injection::NoSpaceFromNowOn, Injection::DeviceError];

impl Injection {
    fn option(self, n: usize) -> String {
        match self {
            Injection::Kill => format!("signal=KILL:when={n}"),
            Injection::NoSpace => format!("error=ENOSPC:when={n}"),
            Injection::NoSpaceFromNowOn => format!("error=ENOSPC:when={n}+"),
            Injection::DeviceError => format!("error=EIO:when={n}"),
        }
    }
}

/// The n-th call of this name, counted from 1.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Call {
    pub name: String,
    pub n: usize,
}

/// Follow all threads, and print nothing about them.
const OPTIONS: [&str; 2] = ["-f", "-qq"];

/// Stop only at the calls that are traced. This is much faster, but cannot inject signals.
const QUICK: &str = "--seccomp-bpf";

/// Returns whether processes can be traced here, and prints a note if not.
pub fn is_possible() -> bool {
    let mut command = Command::new("strace");
    command.args(OPTIONS).args(["-e", "trace=write", "-e", "inject=write:error=EIO:when=1"]);
    let traced = command.args(["-o", "/dev/null", "echo"]).output();
    // The injected failure must prevent the write.
    let possible = traced.is_ok_and(|output| !output.status.success() && output.stdout.is_empty());
    if !possible {
        println!("skipped: no strace here that may trace and change system calls");
    }
    possible
}

fn traced(plain: &Command, log: &Path, options: &[&str]) -> Output {
    let mut command = Command::new("strace");
    command.args(OPTIONS).arg("-o").arg(log).args(options);
    command.arg(plain.get_program()).args(plain.get_args()).stdin(Stdio::null());
    plain.get_current_dir().map(|folder| command.current_dir(folder));
    let told = plain.get_envs().filter_map(|(name, value)| Some((name, value?)));
    command.envs(told).output().expect("strace runs")
}

fn take(log: &Path) -> String {
    let text = fs::read_to_string(log).unwrap_or_default();
    let _ = fs::remove_file(log);
    text
}

/// Runs a command and returns its output with the calls that can be made to fail. The log is removed afterwards.
pub fn calls(plain: &Command, log: &Path) -> (Output, Vec<Call>) {
    // The question mark ignores calls that this system does not have.
    let all = format!("trace={}", CALLS.map(|name| format!("?{name}")).join(","));
    let output = traced(plain, log, &[QUICK, "-e", &all]);
    let (mut counts, mut found, mut other) = (BTreeMap::new(), BTreeSet::new(), BTreeSet::new());
    for line in take(log).lines() {
        let Some((thread, call)) = line.split_once(char::is_whitespace) else { continue };
        let Some((name, rest)) = call.trim_start().split_once('(') else { continue };
        if !CALLS.contains(&name) {
            continue;
        }
        let n = counts.entry((thread.to_string(), name.to_string())).or_insert(0);
        *n += 1;
        // Skips the loader's files and writes to standard error.
        let ours = match name {
            "openat" => rest.contains(".ringer") || rest.contains("O_CREAT"),
            "write" => !rest.starts_with("2,"),
            _ => true,
        };
        let into = if ours { &mut found } else { &mut other };
        into.insert(Call { name: name.to_string(), n: *n });
    }
    (output, found.difference(&other).cloned().collect())
}

/// Runs a command with one injected call. Returns its output and whether the call was reached.
pub fn run(plain: &Command, log: &Path, call: &Call, how: Injection) -> (Output, bool) {
    let Call { name, n } = call;
    let trace = format!("trace={name}");
    let inject = format!("inject={name}:{}", how.option(*n));
    let quick = if how == Injection::Kill { &[][..] } else { &[QUICK] };
    let output = traced(plain, log, &[quick, &["-e", &trace, "-e", &inject]].concat());
    let text = take(log);
    (output, text.contains("(INJECTED)") || text.contains("killed by SIGKILL"))
}
