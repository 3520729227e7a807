//! Checks which files the tool touches when it opens forged databases: the database, its companions and its output, and
//! nothing else, whatever the file says.
//!
//! In: database files with changed fields and correct checksums, closed or with a log. `strace` lists every path that a
//! command passes to the operating system. Paths outside the folder are only read, and only those that the same command
//! reads for an undamaged database, such as libraries. Temporary files are new, private, and removed at the end. The
//! test is skipped, with a message, if `strace` is missing.
#![cfg(target_os = "linux")]

use crate::strace;
use testkit::attacks;
use testkit::forged::fields;
use testkit::forged::images;
use testkit::scale::cases;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use attacks::seeds;
use images::Base;
use ringer::LogKind;
use ringer::internals::format::log_part::{LogId, encode_id};
use strace::{Call, traced};

/// Commands on `db.ringer`.
const COMMANDS: [&[&str]; 13] = [
    &["check", "db.ringer", "--deep"],
    &["query", "db.ringer", "--set", "7 8 9", "--exhaustive"],
    &["pairs", "db.ringer", "--min", "0.9"],
    &["repair", "db.ringer"],
    &["salvage", "db.ringer", "saved.ringer"],
    &["add", "db.ringer", "--sets", "lines"],
    &["stat", "db.ringer"],
    &["pack", "db.ringer", "packed.ringer"],
    &["dump", "db.ringer", "--json"],
    &["compact", "db.ringer"],
    &["reindex", "db.ringer", "--bits", "1"],
    &["clusters", "db.ringer", "--min", "0.5"],
    &["delete", "db.ringer", "key007xxx"],
];

/// A full run tries one in this many changes of each file, a quick run a quarter of those.
const ONE_IN: usize = 701;

/// Whether the tool may touch this name in the folder: the input, a database, or a companion of one.
fn is_own(name: &str) -> bool {
    let databases = ["db.ringer", "saved.ringer", "packed.ringer"];
    let companions = ["", "-new", "-lock", "-vacuum", "-hot", "-hot-new", "-hot-replay"];
    let inside = ["id", "log", "log-new"];
    let beside = |rest: &str| {
        let (companion, file) = rest.split_once('/').unwrap_or((rest, "id"));
        let aside = companion.strip_prefix("-hot-quarantine-");
        let aside = aside.is_some_and(|n| n.parse::<u32>().is_ok());
        (companions.contains(&companion) || aside) && inside.contains(&file)
    };
    let rests = databases.iter().filter_map(|database| name.strip_prefix(database));
    name == "lines" || name == "." || rests.into_iter().any(beside)
}

/// A folder with a database, and a folder for temporary files.
struct Place {
    root: tempfile::TempDir,
}

impl Place {
    fn new(file: &[u8], log: Option<&[u8]>) -> Place {
        let root = tempfile::tempdir().unwrap();
        let work = root.path().join("work");
        fs::create_dir(&work).unwrap();
        fs::create_dir(root.path().join("temporary")).unwrap();
        fs::write(work.join("lines"), "new\t1 2 3\n").unwrap();
        fs::write(work.join("db.ringer"), file).unwrap();
        if let Some(log) = log {
            let directory = work.join("db.ringer-hot");
            fs::create_dir(&directory).unwrap();
            let database = seeds::UNCLEAN[32..48].try_into().unwrap();
            let id = LogId { database, number: fields::number(seeds::UNCLEAN, 80, 8) };
            fs::write(directory.join("id"), encode_id(id, LogKind::Plain)).unwrap();
            fs::write(directory.join("log"), log).unwrap();
        }
        Place { root }
    }

    /// Runs a command, checks what it touches in the two folders, and returns what it reads elsewhere.
    fn run(&self, command: &[&str]) -> BTreeSet<String> {
        let root = self.root.path();
        let (status, calls) = traced(command, &root.join("work"), &root.join("temporary"));
        assert!((0..=6).contains(&status), "{command:?}: {status}");
        let mut outside = BTreeSet::new();
        for call in &calls {
            for path in &call.paths {
                self.check(call, path, &mut outside);
            }
        }
        let left: Vec<_> = fs::read_dir(root.join("temporary")).unwrap().collect();
        assert!(left.is_empty(), "{command:?}: {left:?}");
        outside
    }

    fn check(&self, call: &Call, path: &str, outside: &mut BTreeSet<String>) {
        let root = self.root.path().to_str().unwrap();
        let in_work = path.strip_prefix(&format!("{root}/work")).map(|p| p.trim_start_matches('/'));
        let relative = (!path.starts_with('/')).then_some(path);
        if let Some(name) = in_work.or(relative) {
            assert!(name.is_empty() || is_own(name), "{call:?}");
        } else if path.starts_with(&format!("{root}/temporary")) {
            assert!(!call.opens_for_writing() || call.is_private(), "{call:?}");
        } else {
            assert!(!call.changes(), "{call:?}");
            outside.insert(path.to_string());
        }
    }
}

/// Returns what each command reads elsewhere if the database is undamaged.
fn usual(file: &[u8], log: Option<&[u8]>) -> BTreeMap<usize, BTreeSet<String>> {
    let commands = COMMANDS.iter().enumerate();
    commands.map(|(i, command)| (i, Place::new(file, log).run(command))).collect()
}

/// Runs three of the commands on each changed file.
fn attack(base: &Base, log: Option<&[u8]>) -> usize {
    let usual = usual(&base.bytes, log);
    let one_in = cases(2803, ONE_IN);
    let images = base.images();
    let mut count = 0;
    for (turn, image) in images.iter().step_by(one_in).enumerate() {
        let bytes = base.forged(image);
        for i in (0..3).map(|i| (3 * turn + i) % COMMANDS.len()) {
            let outside = Place::new(&bytes, log).run(COMMANDS[i]);
            let label = base.label(image);
            let more: Vec<_> = outside.difference(&usual[&i]).collect();
            assert!(more.is_empty(), "{label}, {:?}: {more:?}", COMMANDS[i]);
            count += 1;
        }
    }
    count
}

#[test]
fn only_the_database_and_its_companions_are_touched() {
    if !strace::is_there() {
        println!("there is no strace: nothing is shown");
        return;
    }
    let closed = seeds::CLOSED.iter().map(|(name, bytes)| (Base::new(*name, bytes.to_vec()), None));
    let unclean = Base::new("unclean", seeds::UNCLEAN.to_vec());
    for (base, log) in closed.chain([(unclean, Some(seeds::UNCLEAN_LOG))]) {
        println!("{}: {} commands on forged files", base.name, attack(&base, log));
    }
}

/// Without `--db`, `dedup` keeps its database in memory: it makes no file and no folder.
#[test]
fn a_dedup_without_a_database_writes_nothing() {
    if !strace::is_there() {
        println!("there is no strace: nothing is shown");
        return;
    }
    let place = Place::new(b"never put off till tomorrow", None);
    let root = place.root.path();
    let (status, calls) =
        traced(&["dedup", "db.ringer", "lines"], &root.join("work"), &root.join("temporary"));
    assert_eq!(status, 0);
    let made: Vec<&Call> =
        calls.iter().filter(|call| call.name == "mkdir" || call.text.contains("O_CREAT")).collect();
    assert!(made.is_empty(), "{made:?}");
    assert_eq!(fs::read_dir(root.join("temporary")).unwrap().count(), 0);
}
