//! A process with background checkpoints and merges runs under `strace`. At system calls that change the disk it is
//! killed, finds no space, or gets a device error. It continues to read, reports the failure by its kind, and
//! everything acknowledged is there at the next open.
//!
//! A full run injects every failure into every call, a quick one into one in 43.
#![cfg(target_os = "linux")]

use testkit::child;
use testkit::folder;
use testkit::inject;
use testkit::scale::cases;

use std::path::Path;
use std::process::Output;
use std::sync::atomic::{AtomicUsize, Ordering};

use child::{Known, Said, Task};
use inject::{INJECTIONS, Injection};
use rayon::prelude::*;
use ringer::{Database, LogKind, Options};

fn said(output: &Output) -> Said {
    let mut said = Said::default();
    String::from_utf8_lossy(&output.stdout).lines().for_each(|line| said.hear(line));
    said
}

/// Asserts that the process reported failures by their kinds, and ended normally unless it was killed.
fn check_end(output: &Output, said: &Said, how: Injection, hit: bool, place: &str) {
    let errors = String::from_utf8_lossy(&output.stderr);
    let text = format!("{place}: {:?} {said:?} {errors}", output.status);
    assert!(!errors.contains("panicked"), "{text}");
    if how == Injection::Kill && hit {
        return assert!(output.status.code().is_none(), "{text}");
    }
    assert!(output.status.success(), "{text}");
    let typed = |failure: &String| {
        let kind = failure.split(' ').nth(1).unwrap_or_default();
        kind == "NoSpace" || kind == "Poisoned" || kind.starts_with("Io-")
    };
    assert!(said.failures.iter().all(typed), "{text}");
    assert!(hit || said.failures.is_empty(), "{text}");
}

/// Asserts that everything acknowledged is there, with at most one commit more, and that the database can be used.
fn check_left(path: &Path, said: &Said, place: &str) {
    let acknowledged = said.last().unwrap_or(0);
    if !path.exists() {
        return assert_eq!(acknowledged, 0, "{place}: the database is gone");
    }
    let mut known = Known::new();
    let reader = Database::open_read_only(path, Options::default()).unwrap();
    let read = known.check(&reader.snapshot());
    let db = Database::open(path, Options::default()).unwrap_or_else(|e| panic!("{place}: {e}"));
    let found = known.check(&db.snapshot());
    assert_eq!(read, found, "{place}: a reader sees what a writer finds");
    let expected = acknowledged..=acknowledged + 1;
    assert!(expected.contains(&found), "{place}: {found} of {acknowledged}");
    db.compact().unwrap();
    assert_eq!(known.check(&db.snapshot()), found);
    db.close().unwrap();
    assert_eq!(folder::names(path.parent().unwrap()), ["corpus.ringer"], "{place}");
}

/// Injects into one in `share` calls of a run. Returns the number of calls and of injections.
fn inject_into_life(seed: u64, share: usize) -> (usize, usize) {
    let task = Task { seed, commits: 40, calm: 9, log: LogKind::Plain };
    let log = |top: &tempfile::TempDir| top.path().join("calls.trace");
    let place = |top: &tempfile::TempDir| {
        std::fs::create_dir(top.path().join("database")).unwrap();
        top.path().join("database/corpus.ringer")
    };
    let top = tempfile::tempdir().unwrap();
    let (usual, mut calls) = inject::calls(&child::command(&place(&top), task), &log(&top));
    assert!(said(&usual).closed, "{:?}", said(&usual));
    // Writes to standard output concern the listener, not the disk.
    calls.retain(|call| call.name != "write");
    let all: Vec<_> = calls.iter().flat_map(|call| INJECTIONS.map(|how| (call, how))).collect();
    let tries: Vec<_> = all.into_iter().skip(seed as usize).step_by(share).collect();
    let hits = AtomicUsize::new(0);
    tries.par_iter().panic_fuse().for_each(|(call, how)| {
        let top = tempfile::tempdir().unwrap();
        let path = place(&top);
        let name = format!("life {seed}, {how:?} at {} {}", call.name, call.n);
        let (output, hit) = inject::run(&child::command(&path, task), &log(&top), call, *how);
        hits.fetch_add(usize::from(hit), Ordering::Relaxed);
        let said = said(&output);
        check_end(&output, &said, *how, hit, &name);
        check_left(&path, &said, &name);
    });
    (calls.len(), hits.into_inner())
}

#[test]
fn a_process_reports_an_injected_failure_and_loses_nothing() {
    if !inject::is_possible() {
        return;
    }
    for seed in 0..cases(1, 3) {
        let (calls, injected) = inject_into_life(seed, cases(43, 1));
        println!("run {seed}: {injected} injections at {calls} calls");
        assert!(calls > 50 && injected > 0);
    }
}
