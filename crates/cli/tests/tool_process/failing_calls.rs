//! Runs the real binary under `strace`. Each system call that changes the disk is a place for four failures: the process
//! is killed, the call finds no space, all later calls find no space, or the device fails.
//!
//! After each failure the status is documented, nothing panicked, acknowledged commits are complete, a new file is
//! complete or absent, and the next command works. A full run tries every failure at every call, a quick run one in 29.
#![cfg(target_os = "linux")]

use crate::rows;
use crate::run;
use testkit::folder;
use testkit::inject;
use testkit::scale::cases;

use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;
use ringer::{Database, Options, Sketcher};

use inject::{Call, INJECTIONS, Injection};
use rows::{Put, Rows, acknowledged, dump, lines, put};
use run::{Ran, Tool, ran, words};

/// A command, the files that it starts from, and the states that it may leave.
struct Scene {
    name: &'static str,
    start: Tool,
    command: Vec<&'static str>,
    /// The database that the command changes or creates.
    file: &'static str,
    /// The rows before the command and after each of its commits. If the command creates the database, only the rows at
    /// its end: the file is complete or absent.
    states: Vec<Rows>,
    /// The number of sets in a commit. 0 if the command acknowledges nothing before its end.
    every: u64,
    /// The command that runs afterwards and recovers the database, and its status.
    again: (Vec<&'static str>, i32),
    /// The rows that may be left if the log could not be read. The command then warns, and its status is 1.
    without: Vec<Rows>,
}

const DB: &str = "db.ringer";
const NEW: &str = "new.ringer";

/// Returns the sets from number `first` on. Some of their keys are already stored.
fn puts(first: u64, count: u64) -> Vec<Put> {
    (first..first + count).map(|n| (format!("key{:02}", n * 7 % 23), n)).collect()
}

/// Creates a database with two segments and tombstones. Also returns its rows and its sketcher.
fn start() -> (Tool, Rows, Sketcher) {
    let tool = Tool::new();
    tool.run(&["create", DB, "--features", "tokens"]).with_status(0);
    let reader = Database::open_read_only(tool.path(DB), Options::default()).unwrap();
    let sketcher = Sketcher::new(&reader.scheme());
    let mut rows = Rows::new();
    for (first, count) in [(0, 15), (40, 9)] {
        tool.run_with(lines(&puts(first, count)), &["add", DB, "--sets", "-"]).with_status(0);
        put(&mut rows, &puts(first, count), &sketcher);
    }
    assert!(dump(&tool, DB) == rows);
    (tool, rows, sketcher)
}

/// Creates a database that a killed process left, with commits in its log. Returns the rows before and after each.
fn killed() -> (Tool, Vec<Rows>) {
    let (tool, rows, sketcher) = start();
    tool.write("more", lines(&puts(80, 9)));
    let add = ["add", DB, "--sets", "more", "--commit-every", "1", "--ack"];
    // The first syncs create the log.
    let call = Call { name: "fdatasync".into(), n: 12 };
    let (ran, hit) = inject_into(&tool, &add, &call, Injection::Kill);
    let safe = acknowledged(&ran.out);
    assert!(hit && (2..9).contains(&safe), "{safe}: {}", ran.err);
    assert!(tool.path("db.ringer-hot").exists());
    // The process was killed before it synced one more commit, which is in the log nevertheless.
    let mut states = vec![rows];
    for commit in puts(80, safe + 1) {
        let mut next = states.last().unwrap().clone();
        put(&mut next, &[commit], &sketcher);
        states.push(next);
    }
    (tool, states)
}

/// Runs a command and lets one call fail. Returns the result, and whether the call was reached.
fn inject_into(tool: &Tool, arguments: &[&str], call: &Call, how: Injection) -> (Ran, bool) {
    let command = tool.command(arguments);
    let (output, hit) = inject::run(&command, &tool.path(LOG), call, how);
    (ran(&output), hit)
}

const LOG: &str = "calls.trace";

/// Damages the bytes of a file at these places.
fn damage(tool: &Tool, name: &str, places: impl Fn(&[u8]) -> Vec<usize>) {
    let mut bytes = fs::read(tool.path(name)).unwrap();
    let places = places(&bytes);
    assert!(!places.is_empty());
    places.iter().for_each(|at| bytes[*at] ^= 0x55);
    fs::write(tool.path(name), bytes).unwrap();
}

const ABSENT: [&str; 3] = ["delete", DB, "no such key"];

/// A command that changes the database.
fn change(name: &'static str, start: Tool, command: &[&'static str], states: Vec<Rows>) -> Scene {
    let (command, again) = (command.to_vec(), (ABSENT.to_vec(), 1));
    Scene { name, start, command, file: DB, states, every: 0, again, without: Vec::new() }
}

/// A command that creates a database.
fn making(name: &'static str, start: Tool, command: &[&'static str], rows: Rows) -> Scene {
    let command = command.to_vec();
    let again = (command.clone(), 0);
    let (states, without) = (vec![rows], Vec::new());
    Scene { name, start, command, file: NEW, states, every: 0, again, without }
}

/// Commands that add, delete, compact or repair, on closed databases and on those of a killed process.
fn changes() -> Vec<Scene> {
    let (tool, before, sketcher) = start();
    let more = puts(80, 12);
    tool.write("more", lines(&more));
    let mut small = vec![before.clone()];
    for chunk in more.chunks(3) {
        let mut next = small.last().unwrap().clone();
        put(&mut next, chunk, &sketcher);
        small.push(next);
    }
    let at_once = vec![before.clone(), small.last().unwrap().clone()];
    let add = ["add", DB, "--sets", "more", "--ack"];
    let in_commits = [&add[..], &["--commit-every", "3"]].concat();
    let adding = Scene { every: 3, ..change("add in commits", tool, &in_commits, small) };
    let (tool, ..) = start();
    tool.write("more", lines(&more));
    let loading = Scene { every: 12, ..change("add at once", tool, &add, at_once) };
    let mut fewer = before.clone();
    fewer.retain(|key, _| key != "key00" && key != "key07");
    let deletion = ["delete", DB, "key00", "key07"];
    let (found, mut all) = killed();
    vec![
        adding,
        loading,
        change("delete", start().0, &deletion, vec![before.clone(), fewer]),
        change("compact", start().0, &["compact", DB], vec![before.clone()]),
        change("reindex", start().0, &["reindex", DB, "--min-matches", "2"], vec![before]),
        change("recover", found, &ABSENT, all.split_off(all.len() - 1)),
    ]
}

/// Returns the offsets of the fence pages.
fn fences(bytes: &[u8]) -> Vec<usize> {
    let units = 192..bytes.len() / 64;
    units.filter(|u| bytes[u * 64 + 4..u * 64 + 6] == [4, 1]).map(|u| u * 64 + 30).collect()
}

/// Commands that create or repair databases.
fn makings() -> Vec<Scene> {
    let (tool, rows, _) = start();
    let empty = Tool::new();
    let create = ["create", NEW, "--features", "tokens"];
    let (found, mut all) = killed();
    damage(&found, DB, |bytes| [fences(bytes), vec![4096 + 100]].concat());
    let repair = change("repair", found, &["repair", DB], all.split_off(all.len() - 1));
    let (found, mut without) = killed();
    damage(&found, DB, |_| vec![100]);
    let saved = without.pop().unwrap();
    let salvage = making("salvage", found, &["salvage", DB, NEW], saved);
    let texts = Tool::new();
    for i in 0..4 {
        texts.write(&format!("texts/{i}"), words(i / 2) + &words(9 + i)[..20]);
    }
    let dedup = ["dedup", "texts", "--db", NEW];
    texts.run(&dedup).with_status(0);
    let files = dump(&texts, NEW);
    fs::remove_file(texts.path(NEW)).unwrap();
    assert_eq!(files.len(), 4);
    vec![
        making("create", empty, &create, Rows::new()),
        making("pack", tool, &["pack", DB, NEW], rows),
        Scene { again: (vec!["repair", DB], 0), ..repair },
        Scene { without, ..salvage },
        Scene { states: vec![Rows::new(), files], ..making("dedup", texts, &dedup, Rows::new()) },
    ]
}

impl Scene {
    /// Copies the files that the command starts from into a new folder.
    fn folder(&self) -> Tool {
        let tool = Tool::new();
        folder::copy(self.start.folder.path(), tool.folder.path());
        tool
    }

    /// Tries one in `share` of all failures. Returns the number of calls, and the number of failures that happened.
    fn run(&self, share: usize) -> (usize, usize) {
        let tool = self.folder();
        let (usual, calls) = inject::calls(&tool.command(&self.command), &tool.path(LOG));
        let usual = usual.status.code().expect("a status");
        let all = calls.iter().flat_map(|call| INJECTIONS.map(|how| (call, how)));
        // There are four failures for each call. Since `share` is odd, all four are tried in turn.
        let tries: Vec<_> = all.step_by(share).collect();
        let hits = AtomicUsize::new(0);
        tries.par_iter().panic_fuse().for_each(|(call, how)| {
            let place = format!("{}: {how:?} at {} {}", self.name, call.name, call.n);
            let tool = self.folder();
            let (ran, hit) = inject_into(&tool, &self.command, call, *how);
            hits.fetch_add(usize::from(hit), Ordering::Relaxed);
            let bug = ran.err.contains("panicked") || ran.err.contains("has a bug");
            assert!(!bug, "{place}: {}", ran.err);
            let lossy = !self.without.is_empty() && hit && *how == Injection::DeviceError;
            if lossy && ran.status == Some(1) {
                assert!(ran.err.contains("warning: the log is damaged"), "{place}");
                assert!(ran.err.contains("Input/output error"), "{place}: {}", ran.err);
                self.check(&tool, &ran, usual, &self.without, &place);
            } else {
                check_end(&ran, *how, hit, usual, &place);
                self.check(&tool, &ran, usual, &self.states, &place);
            }
        });
        (calls.len(), hits.into_inner())
    }

    /// Checks the files after a failure, and after the command that recovers them.
    fn check(&self, tool: &Tool, ran: &Ran, usual: i32, states: &[Rows], place: &str) {
        let others = |tool: &Tool| {
            let own = |name: &String| !name.starts_with(self.file);
            let names = folder::names(tool.folder.path()).into_iter().filter(own);
            let files = names.filter(|name| tool.path(name).is_file());
            files.map(|name| (fs::read(tool.path(&name)).unwrap(), name)).collect::<Vec<_>>()
        };
        let untouched = |tool| assert!(others(tool) == others(&self.start), "{place}: a source");
        untouched(tool);
        let done = ran.status == Some(usual);
        let last = states.len() - 1;
        // A line is printed after each commit, so at most one commit is stored that was not reported.
        let told = acknowledged(&ran.out).checked_div(self.every).unwrap_or(0) as usize;
        let (least, most) = if done { (last, last) } else { (told, last.min(told + 1)) };
        let there = tool.path(self.file).exists();
        assert!(there || !done, "{place}: it is not there");
        let making = self.file == NEW;
        let (again, status) = &self.again;
        let (again, status) = match making && there {
            // The database exists: a second try refuses to replace it, and a writer can open it.
            true if self.states.len() == 1 => {
                tool.run(again).with_status(5);
                (&vec!["delete", NEW, "no such key"], 1)
            }
            _ => (again, *status),
        };
        let went = tool.run(again);
        assert_eq!(went.status, Some(status), "{place}: {}{}", went.out, went.err);
        let (least, most) = match making {
            true if ran.status == Some(1) => (0, last),
            true => (last, last),
            false => (least, most),
        };
        tool.run(&["check", self.file, "--deep"]).with_status(0);
        let rows = dump(tool, self.file);
        let found = (least..=most).any(|i| states[i] == rows);
        assert!(found, "{place}: not the rows after {least} to {most} commits: {}", ran.err);
        untouched(tool);
        let own = |name: &String| name.starts_with(self.file);
        let names: Vec<_> = folder::names(tool.folder.path()).into_iter().filter(own).collect();
        assert_eq!(names, [self.file], "{place}");
    }
}

/// Checks that the status and the message are documented ones.
fn check_end(ran: &Ran, how: Injection, hit: bool, usual: i32, place: &str) {
    let text = format!("{place}: {:?}: {}", ran.status, ran.err);
    match (how, hit) {
        (Injection::Kill, true) => assert_eq!(ran.status, None, "{text}"),
        (_, true) => {
            assert!(ran.status == Some(usual) || ran.status == Some(3), "{text}");
            // If all writes fail, the message cannot be printed either.
            let mute = how == Injection::NoSpaceFromNowOn && place.contains("at write ");
            let told = mute || ran.err.lines().any(|line| line.starts_with("error: "));
            assert!(ran.status == Some(usual) || told, "{text}");
        }
        (_, false) => assert_eq!(ran.status, Some(usual), "{text}"),
    }
}

/// One failure in this many is tried.
fn share() -> usize {
    cases(29, 1)
}

fn run_all(scenes: &[Scene]) {
    for scene in scenes {
        let (calls, injected) = scene.run(share());
        println!("{}: {injected} injections at {calls} calls", scene.name);
        assert!(calls > 10 && injected > 0);
    }
}

#[test]
fn a_command_that_changes_a_database_loses_nothing_when_a_call_fails() {
    if inject::is_possible() {
        run_all(&changes());
    }
}

#[test]
fn a_command_that_makes_or_repairs_a_database_leaves_a_whole_one_or_none_when_a_call_fails() {
    if inject::is_possible() {
        run_all(&makings());
    }
}
