//! Links that somebody planted at names that the tool uses: companions, temporary names, targets. No command changes what
//! the links lead to, whether it succeeds or not.
#![cfg(unix)]

use crate::run;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use run::Tool;

const SETS: &str = "a\tone two three four\nb\tone two three five\nc\tsix seven\n";

/// Predictable names beside a database or a target.
const NAMES: [&str; 14] = [
    "db.ringer-lock",
    "db.ringer-new",
    "db.ringer-vacuum",
    "db.ringer-hot",
    "db.ringer-hot-new",
    "db.ringer-hot-quarantine-1",
    "out.ringer",
    "out.ringer-new",
    "out.ringer-lock",
    "out.ringer-hot",
    "out.ringer-hot-new",
    "out.ringer-vacuum",
    "pages",
    "pages/ringer.1",
];

/// Commands that write, all in one folder.
const COMMANDS: [&[&str]; 10] = [
    &["add", "db.ringer", "--sets", "lines"],
    &["add", "db.ringer", "--sets", "lines", "--commit-every", "1"],
    &["delete", "db.ringer", "a"],
    &["compact", "db.ringer"],
    &["reindex", "db.ringer", "--slots", "16", "--samples-per-slot", "4"],
    &["repair", "db.ringer"],
    &["pack", "db.ringer", "out.ringer"],
    &["salvage", "db.ringer", "out.ringer"],
    &["create", "out.ringer"],
    &["dedup", "lines", "--db", "out.ringer"],
];

/// What a link leads to, in the folder of the victim.
const TARGETS: [&str; 4] = ["file", "folder", "nothing", "database"];

/// Returns all names below a folder, with contents, modes and owners.
fn contents(folder: &Path) -> Vec<(PathBuf, Vec<u8>, u32)> {
    use std::os::unix::fs::PermissionsExt;
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        let found = fs::symlink_metadata(&entry).unwrap();
        let bytes = if found.is_file() { fs::read(&entry).unwrap() } else { Vec::new() };
        if found.is_dir() {
            all.extend(contents(&entry));
        }
        all.push((entry, bytes, found.permissions().mode()));
    }
    all.sort();
    all
}

/// The victim: a file, a folder with the names of a log in it, a database.
fn victim(folder: &Path, database: &[u8]) {
    fs::create_dir_all(folder.join("folder")).unwrap();
    fs::write(folder.join("file"), "a letter").unwrap();
    fs::write(folder.join("database"), database).unwrap();
    for name in ["id", "log", "diary"] {
        fs::write(folder.join("folder").join(name), "dear diary").unwrap();
    }
}

#[test]
fn what_planted_links_lead_to_stays_as_it_is() {
    let original = Tool::with_sets(SETS);
    let database = fs::read(original.path("db.ringer")).unwrap();
    let (mut worked, mut refused) = (0, 0);
    for name in NAMES {
        for target in TARGETS {
            let tool = Tool::new();
            let theirs = tempfile::tempdir().unwrap();
            victim(theirs.path(), &database);
            let before = contents(theirs.path());
            for command in COMMANDS {
                tool.write("db.ringer", &database).write("lines", "new\tone two\n");
                let at = tool.path(name);
                fs::create_dir_all(at.parent().unwrap()).unwrap();
                if fs::symlink_metadata(&at).is_err() {
                    symlink(theirs.path().join(target), &at).unwrap();
                }
                let ran = tool.run(command);
                assert!(
                    matches!(ran.status, Some(0..=6)),
                    "{name} {target} {command:?}: {}",
                    ran.err
                );
                assert!(!ran.err.contains("has a bug"), "{name} {command:?}: {}", ran.err);
                if ran.status == Some(0) {
                    worked += 1;
                } else {
                    refused += 1;
                }
                // A link that the user passes as the database is followed.
                let said = name == "out.ringer" && target == "database" && command[0] == "dedup";
                assert!(said || contents(theirs.path()) == before, "{name} {target} {command:?}");
                if said {
                    fs::remove_dir_all(theirs.path().join("folder")).unwrap();
                    victim(theirs.path(), &database);
                }
                let left = fs::symlink_metadata(tool.path("out.ringer"));
                if left.is_ok_and(|left| left.is_file()) {
                    fs::remove_file(tool.path("out.ringer")).unwrap();
                }
            }
        }
    }
    println!("{worked} commands worked, {refused} refused");
    assert!(worked > 100 && refused > 50);
}
