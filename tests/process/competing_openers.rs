//! Two or twenty processes race to create and open one database for writing, commit, and are killed at random, while
//! others read. There are never two writers, a process that may not write gets the error "locked" and no other, no
//! reader gets an error, and every commit acknowledged to any process is there (STEP-3, STEP-11).
//!
//! A full run starts twenty times as many processes.
#![cfg(target_os = "linux")]

use testkit::child;
use testkit::folder;
use testkit::random::Random;
use testkit::scale::cases;

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use child::{Known, Task, witness};
use ringer::{Database, Error, LogKind, Options};

/// What all threads know about one database.
#[derive(Default)]
struct Told {
    /// The last commit that was acknowledged to any process.
    acknowledged: AtomicU64,
    opened: AtomicU64,
    locked: AtomicU64,
    done: AtomicBool,
}

/// Starts a process and kills it some time after its start, after opening, or after some commits. Returns `false` if
/// the process was refused and ended by itself.
fn run_and_kill(path: &Path, random: &mut Random, told: &Told) -> bool {
    let log = if random.below(4) == 0 { LogKind::Sled } else { LogKind::Plain };
    let commits = if random.below(3) == 0 { random.below(5) } else { u64::MAX };
    let task = Task { seed: random.below(1 << 30), commits, calm: 20, log };
    let (lines_first, at_most) = match random.below(4) {
        0 => (0, 15_000),
        1 => (1, 15_000),
        _ => (1 + random.below(8), 30_000),
    };
    let wait = Duration::from_micros(random.below(at_most));
    let least = told.acknowledged.load(Ordering::SeqCst);
    let mut command = child::command(path, task);
    let process = command.env(witness::VARIABLE, path.with_extension("witness")).spawn().unwrap();
    let said = child::kill_after(process, lines_first, wait, |said| {
        told.acknowledged.fetch_max(said.last().unwrap_or(0), Ordering::SeqCst);
    });
    let locked = said.failures.iter().filter(|text| text.starts_with("open Locked ")).count();
    assert_eq!(locked, said.failures.len(), "{:?}", said.failures);
    told.locked.fetch_add(locked as u64, Ordering::SeqCst);
    if let Some(found) = said.opened {
        told.opened.fetch_add(1, Ordering::SeqCst);
        assert!(found >= least, "{least} were acknowledged, {found} are there");
    }
    locked == 0
}

/// Repeats this until `rounds` processes were not refused.
fn compete(path: &Path, mut random: Random, rounds: u64, told: &Told) {
    let mut done = 0;
    while done < rounds {
        if run_and_kill(path, &mut random, told) {
            done += 1;
        } else {
            thread::sleep(Duration::from_millis(random.below(40)));
        }
    }
}

/// Reads concurrently until the writers are done.
fn read(path: &Path, told: &Told) -> u64 {
    let (mut known, mut looks, mut last, mut reader) = (Known::new(), 0, 0, None);
    while !told.done.load(Ordering::SeqCst) {
        let opened = match reader.take() {
            Some(reader) => Ok(reader),
            None => Database::open_read_only(path, Options::default()),
        };
        let current = match opened {
            Ok(current) => current,
            // No process has created it yet.
            Err(Error::Io { source, .. }) if looks == 0 => {
                assert_eq!(source.kind(), std::io::ErrorKind::NotFound);
                continue;
            }
            Err(error) => panic!("{error}"),
        };
        current.refresh().unwrap();
        let found = known.check(&current.snapshot());
        assert!(found >= last, "{found} after {last}");
        (last, looks) = (found, looks + 1);
        // Every other round opens a new reader.
        reader = (looks % 2 == 0).then_some(current);
        thread::sleep(Duration::from_millis(3));
    }
    looks
}

/// Runs `processes` processes at a time, each `rounds` times, on a database that does not exist at first.
fn race(processes: u64, rounds: u64, seed: u64) {
    let top = tempfile::tempdir().unwrap();
    let folder = top.path().join("database");
    std::fs::create_dir(&folder).unwrap();
    let path = folder.join("corpus.ringer");
    let told = Told::default();
    let looks = thread::scope(|scope| {
        let (path, told) = (&path, &told);
        let reader = scope.spawn(move || read(path, told));
        let racer = |n: u64| {
            let random = Random(seed * 1000 + n);
            scope.spawn(move || compete(path, random, rounds, told))
        };
        let racers: Vec<_> = (0..processes).map(racer).collect();
        // The reader ends even if one of these failed.
        let ended: Vec<_> = racers.into_iter().map(thread::ScopedJoinHandle::join).collect();
        told.done.store(true, Ordering::SeqCst);
        let looks = reader.join().unwrap();
        ended.into_iter().for_each(Result::unwrap);
        looks
    });
    let Told { acknowledged, opened, locked, .. } = told;
    let acknowledged = acknowledged.into_inner();
    println!(
        "{processes} processes: {opened:?} opened, {locked:?} were refused, {acknowledged} commits, {looks} reads"
    );
    let db = Database::open(&path, Options::default()).unwrap();
    let found = Known::new().check(&db.snapshot());
    // The last process may have been killed between a commit and its report.
    assert!((acknowledged..=acknowledged + 1).contains(&found), "{found} of {acknowledged}");
    assert_eq!(db.open_report().commits_lost, None);
    db.close().unwrap();
    let names = folder::names(&folder);
    assert!(
        names.iter().all(|name| !name.contains("-hot") && !name.contains("-lock")),
        "{names:?}"
    );
    assert!(opened.into_inner() > 0 && (processes < 20 || locked.into_inner() > 0));
}

fn times() -> u64 {
    cases(1, 20)
}

#[test]
fn two_processes_race_to_open() {
    (1..=2 * times()).for_each(|seed| race(2, 12, seed));
}

#[test]
fn twenty_processes_race_to_open() {
    (1..=times()).for_each(|seed| race(20, 2, 50 + seed));
}
