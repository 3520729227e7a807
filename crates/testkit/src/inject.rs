//! Runs a program under `strace`, which lets one of its system calls fail, or kills it there.
//!
//! In: a command and a call. Out: what came of it, and whether the call was reached. `strace` counts the calls
//! of each thread by itself: "the third write" is the third of any thread.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

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
pub enum Injection {
    /// The process is killed before it.
    Kill,
    /// It fails: no space is left.
    NoSpace,
    /// It and all later ones of its name fail: no space is left.
    NoSpaceFromNowOn,
    /// It fails: the device does.
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

/// The n-th call of this name, from 1 on.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Call {
    pub name: String,
    pub n: usize,
}

/// All threads, and nothing said of them.
const OPTIONS: [&str; 2] = ["-f", "-qq"];

/// No stop at calls that are not asked for: much faster, but then no signals come.
const QUICK: &str = "--seccomp-bpf";

/// Whether processes can be traced here. Says so if not.
pub fn is_possible() -> bool {
    let mut command = Command::new("strace");
    command.args(OPTIONS).args(["-e", "trace=write", "-e", "inject=write:error=EIO:when=1"]);
    let traced = command.args(["-o", "/dev/null", "echo"]).output();
    // The one that writes nothing fails.
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

/// What came of a command, and the calls of it that can be made to fail. The log is gone afterwards.
pub fn calls(plain: &Command, log: &Path) -> (Output, Vec<Call>) {
    // Those that a system does not have are no mistake.
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
        // The loader's files and what is said on standard error are not of interest.
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

/// What came of a command of which one call was injected, and whether it was reached.
pub fn run(plain: &Command, log: &Path, call: &Call, how: Injection) -> (Output, bool) {
    let Call { name, n } = call;
    let trace = format!("trace={name}");
    let inject = format!("inject={name}:{}", how.option(*n));
    let quick = if how == Injection::Kill { &[][..] } else { &[QUICK] };
    let output = traced(plain, log, &[quick, &["-e", &trace, "-e", &inject]].concat());
    let text = take(log);
    (output, text.contains("(INJECTED)") || text.contains("killed by SIGKILL"))
}
