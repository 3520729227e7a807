//! Processes with few file descriptors or little memory. At every limit the work succeeds or fails with an error that
//! names the file, without a panic, and afterwards everything acknowledged is there. If an allocation fails, the
//! process ends; the database is intact then too. Without threads all work runs on one.
#![cfg(target_os = "linux")]

use testkit::child;
use testkit::folder;

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, ExitStatus};

use child::{Known, Said, Task};
use ringer::{Database, Like, LogKind, Options, Scheme};

const KINDS: [LogKind; 2] = [LogKind::Plain, LogKind::Sled];

/// How a process ended.
struct Ended {
    said: Said,
    status: ExitStatus,
    errors: String,
}

impl Ended {
    fn is_done(&self) -> bool {
        self.status.success() && self.said.closed && self.said.failures.is_empty()
    }
}

/// Runs the child under a limit of the shell: `n` file descriptors or `v` KiB of address space.
fn under(limit: &str, path: &Path, seed: u64, log: LogKind) -> Ended {
    let mut command = Command::new("sh");
    command.arg("-c").arg(format!("ulimit -{limit} && exec \"$0\" \"$@\""));
    command.arg(std::env::current_exe().unwrap()).args(child::ARGUMENTS);
    child::tell(&mut command, path, Task { seed, commits: 25, calm: 12, log });
    // The standard library deadlocks if there is no memory for a backtrace.
    command.env("RUST_BACKTRACE", "0");
    let mut process = command.spawn().unwrap();
    let said = child::listen(&mut process, |_| false);
    let output = process.wait_with_output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    Ended { said, status: output.status, errors }
}

/// Opens without a limit. Everything acknowledged is there, and no leftovers are. Returns the last commit.
fn check(path: &Path, before: u64, said: &Said) -> u64 {
    if before == 0 && !path.exists() {
        assert_eq!(said.opened, None);
        return 0;
    }
    let acknowledged = said.last().unwrap_or(before);
    let db = Database::open(path, Options::default()).unwrap();
    let found = Known::new().check(&db.snapshot());
    assert!((acknowledged..=acknowledged + 1).contains(&found), "{found} of {acknowledged}");
    assert_eq!(db.open_report().commits_lost, None);
    db.close().unwrap();
    assert_eq!(folder::names(path.parent().unwrap()), ["corpus.ringer"]);
    found
}

/// Loads sets and queries them with everything that uses threads. Returns what was found.
fn work(path: &Path) -> String {
    let set = |i: u64| (i / 2 * 1000 + i % 2 * 5..).take(60).collect::<Vec<u64>>();
    let sets: Vec<(String, Vec<u64>)> = (0..3000).map(|i| (format!("{i:04}"), set(i))).collect();
    let db = Database::create(path, &Scheme::near_duplicate(), Options::default()).unwrap();
    let (loaded, committed) = sets.split_at(2000);
    let mut load = db.bulk_load();
    load.put_many(loaded).unwrap();
    load.commit().unwrap();
    let mut batch = db.batch();
    batch.put_many(committed).unwrap();
    db.commit(batch).unwrap();
    let queries: Vec<Like<'_>> = sets.iter().map(|(key, _)| Like::Key(key.as_bytes())).collect();
    let answers = db.snapshot().query_all(&queries, |query| query.top(2));
    let keys = answers.into_iter().flat_map(|answer| answer.unwrap().matches);
    let found = keys.map(|found| found.key.escape_ascii().to_string()).collect::<Vec<_>>();
    db.close().unwrap();
    found.join(" ")
}

/// Not a test by itself: the process that gets no threads.
#[test]
fn alone() {
    if let Some(path) = std::env::var_os("RINGER_ALONE") {
        assert!(std::thread::Builder::new().spawn(|| ()).is_err(), "no thread can be started");
        println!("found {}", work(Path::new(&path)));
    }
}

/// Each thread requests a stack that fits no machine.
#[test]
fn without_threads_all_is_done_on_one() {
    let folder = tempfile::tempdir().unwrap();
    let expected = work(&folder.path().join("with.ringer"));
    assert!(expected.split(' ').count() >= 3000, "each finds its twin");
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["limited_resources::alone", "--exact", "--nocapture", "--test-threads=1"]);
    command.env("RUST_MIN_STACK", (1_u64 << 46).to_string());
    let output = command.env("RINGER_ALONE", folder.path().join("alone.ringer")).output().unwrap();
    let (said, errors) = (String::from_utf8_lossy(&output.stdout), &output.stderr);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(errors));
    let found = said.lines().find_map(|line| line.split_once("found ")).expect("a line").1;
    assert!(found == expected, "{found}");
}

/// Asserts that only sled panicked, which the library catches and reports as an error.
fn check_panics(errors: &str, log: LogKind) {
    let of_sled = |line: &str| {
        log == LogKind::Sled && (line.contains("/crossbeam-") || line.contains("/sled-"))
    };
    // The standard library panics like this if there is no memory for the stack of a new thread.
    let panics = errors.lines().filter(|line| line.contains("panicked at"));
    let panics = panics.filter(|line| !line.contains("/stack_overflow.rs"));
    assert!(panics.filter(|line| !of_sled(line)).count() == 0, "{errors}");
}

#[test]
fn with_few_files_work_is_done_or_refused_and_nothing_is_lost() {
    for log in KINDS {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("corpus.ringer");
        let (mut last, mut done, mut refused) = (0, 0, 0);
        let limit = (3..60).find(|files| {
            let ended = under(&format!("n {files}"), &path, *files, log);
            let Ended { said, errors, .. } = &ended;
            check_panics(errors, log);
            // Too few to load the program at all.
            let loaded = !errors.contains("shared librar");
            assert_eq!(
                ended.status.success(),
                loaded,
                "{files} files: {:?} {errors}",
                ended.status
            );
            for failure in &said.failures {
                let typed = ["Io-", "Poisoned"].iter().any(|kind| failure.contains(kind));
                let named = failure.contains(folder.path().to_str().unwrap());
                assert!(typed && named, "{files} files: {failure}");
            }
            println!("{log:?}, {files} files: {:?} {:?}", said.last(), said.failures.first());
            last = check(&path, last, said);
            refused += u64::from(!said.failures.is_empty());
            done = if ended.is_done() { done + 1 } else { 0 };
            done == 2
        });
        let limit = limit.expect("sixty files are enough");
        println!("{log:?}: {} files are enough, {refused} limits led to refusals", limit - 1);
        assert!(refused > 0);
    }
}

/// Only with the log: sled's threads do not handle a lack of memory.
#[test]
fn with_little_memory_a_process_ends_and_the_database_is_whole() {
    let log = LogKind::Plain;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("corpus.ringer");
    let (mut last, mut done, mut ends) = (0, 0, 0);
    // The limits ascend: once the system can map the program, it always can.
    let mut mapped = false;
    let sizes = std::iter::successors(Some(6_u64), |mib| Some(mib + mib.div_ceil(4))).take(20);
    let enough = (1..).zip(sizes).find(|(seed, mib)| {
        let ended = under(&format!("v {}", mib << 10), &path, *seed, log);
        let Ended { said, status, errors } = &ended;
        let first = errors.lines().next().unwrap_or_default();
        println!(
            "{log:?}, {mib} MiB: {:?} {status} {:?} {first}",
            said.last(),
            said.failures.first()
        );
        check_panics(errors, log);
        // The system cannot map the program, the loader or an allocation is refused, or the program reports an error.
        let unmapped = !mapped && status.signal() == Some(11) && errors.is_empty();
        mapped |= !unmapped;
        let aborted = status.signal() == Some(6) && errors.contains("memory");
        let loader = status.code() == Some(127);
        assert!(status.success() || unmapped || aborted || loader, "{mib} MiB: {status} {errors}");
        last = check(&path, last, said);
        ends += u64::from(!ended.is_done());
        done = if ended.is_done() { done + 1 } else { 0 };
        done == 2
    });
    println!("{log:?}: enough {enough:?}, {ends} limits were too small");
    assert!(enough.is_some() && ends > 0);
}
