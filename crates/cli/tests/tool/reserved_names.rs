//! The names of companion files (format-spec/file.md, STEP-12). Foreign files under such a name are refused and left
//! unchanged, and no database can be created or opened under it. Names that are too long are refused before anything is
//! created.
#![cfg(unix)]

use crate::run;

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use ringer::{Database, Error, Options, Scheme};
use run::Tool;

const SETS: &str = "a\tone two three four\nb\tone two three five\n";

const ENDINGS: [&str; 7] =
    ["-lock", "-new", "-vacuum", "-hot", "-hot-new", "-hot-replay", "-hot-quarantine-3"];

/// A foreign file or directory under such a name.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Thing {
    Text,
    Short,
    Zeros,
    Database,
    Folder,
    /// The log of another database.
    Log,
}

const THINGS: [Thing; 6] =
    [Thing::Text, Thing::Short, Thing::Zeros, Thing::Database, Thing::Folder, Thing::Log];

impl Thing {
    fn make(self, path: &Path, database: &[u8]) {
        match self {
            Thing::Text => fs::write(path, "a letter\n".repeat(2000)).unwrap(),
            Thing::Short => fs::write(path, "x").unwrap(),
            Thing::Zeros => fs::write(path, [0; 9000]).unwrap(),
            Thing::Database => fs::write(path, database).unwrap(),
            Thing::Folder => {
                fs::create_dir_all(path.join("log")).unwrap();
                fs::write(path.join("log/diary"), "dear diary").unwrap();
            }
            Thing::Log => {
                let other = path.with_file_name("other");
                let db = Database::create(&other, &Scheme::precise(), Options::default()).unwrap();
                db.put("k", &[1, 2, 3]).unwrap();
                fs::rename(path.with_file_name("other-hot"), path).unwrap();
                drop(db);
                fs::remove_file(&other).unwrap();
            }
        }
    }
}

/// Returns all names below a folder, with contents, inode numbers and modes.
fn everything(folder: &Path) -> Vec<(PathBuf, Vec<u8>, u64, u32)> {
    let (mut all, mut folders) = (Vec::new(), vec![folder.to_path_buf()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            let found = fs::symlink_metadata(&entry).unwrap();
            let bytes = if found.is_file() { fs::read(&entry).unwrap() } else { Vec::new() };
            if found.is_dir() {
                folders.push(entry.clone());
            }
            all.push((entry, bytes, found.ino(), found.mode()));
        }
    }
    all.sort();
    all
}

/// An earlier version deleted, locked or moved such files, with status 0.
#[test]
fn what_has_a_companions_name_is_refused_and_left_as_it_is() {
    let original = Tool::with_sets(SETS);
    let database = fs::read(original.path("db.ringer")).unwrap();
    let commands: [&[&str]; 6] = [
        &["add", "db.ringer", "--sets", "lines"],
        &["add", "db.ringer", "--sets", "lines", "--commit-every", "1"],
        &["delete", "db.ringer", "a"],
        &["compact", "db.ringer"],
        &["reindex", "db.ringer", "--bits", "4"],
        &["repair", "db.ringer"],
    ];
    let targets: [&[&str]; 3] = [
        &["create", "out.ringer"],
        &["pack", "db.ringer", "out.ringer"],
        &["salvage", "db.ringer", "out.ringer"],
    ];
    for ending in &ENDINGS[..6] {
        for thing in THINGS {
            let tool = Tool::new();
            tool.write("db.ringer", &database).write("lines", "new\tone two\n");
            thing.make(&tool.path(&format!("db.ringer{ending}")), &database);
            let before = everything(&tool.path("."));
            for command in commands {
                let ran = tool.run(command);
                let at = format!("{ending} {thing:?} {command:?}: {}", ran.err);
                // If the name of the lock is a directory, the system reports the error.
                let expected = if ran.err.contains("lock") { [3, 5] } else { [5, 5] };
                assert!(expected.contains(&ran.status.unwrap()), "{at}");
                assert!(ran.err.contains(ending), "{at}");
                assert!(everything(&tool.path(".")) == before, "{at}");
            }
            let reads = tool.run(&["keys", "db.ringer"]);
            assert_eq!(reads.status, Some(0), "{}", reads.err);

            let tool = Tool::new();
            tool.write("db.ringer", &database);
            thing.make(&tool.path(&format!("out.ringer{ending}")), &database);
            let before = everything(&tool.path("."));
            for command in targets {
                let ran = tool.run(command);
                let at = format!("{ending} {thing:?} {command:?}: {}", ran.err);
                assert!([3, 5].contains(&ran.status.unwrap()), "{at}");
                assert!(everything(&tool.path(".")) == before, "{at}");
            }
        }
    }
}

#[test]
fn no_database_is_made_or_opened_under_a_companions_name() {
    let original = Tool::with_sets(SETS);
    let database = fs::read(original.path("db.ringer")).unwrap();
    for ending in ENDINGS {
        let name = format!("db.ringer{ending}");
        let tool = Tool::new();
        tool.write("db.ringer", &database).write("source.ringer", &database);
        let before = everything(&tool.path("."));
        for command in [
            &["create", &name][..],
            &["pack", "source.ringer", &name],
            &["salvage", "source.ringer", &name],
        ] {
            let ran = tool.run(command);
            assert_eq!(ran.status, Some(5), "{command:?}: {}", ran.err);
            assert!(ran.err.contains("choose another name"), "{}", ran.err);
            assert!(everything(&tool.path(".")) == before, "{command:?}");
        }
        tool.write(&name, &database);
        let before = everything(&tool.path("."));
        let ran = tool.run(&["delete", &name, "a"]);
        assert_eq!(ran.status, Some(5), "{}", ran.err);
        let error = Database::open(tool.path(&name), Options::default()).unwrap_err();
        assert!(matches!(error, Error::ReservedName { .. }), "{error}");
        assert!(everything(&tool.path(".")) == before, "{name}");
        // Reading touches nothing.
        assert_eq!(tool.run(&["keys", &name]).status, Some(0));
        // Without a database beside it, such a name is an ordinary one.
        fs::remove_file(tool.path("db.ringer")).unwrap();
        assert_eq!(tool.run(&["delete", &name, "a"]).status, Some(0));
    }
}

/// With a name that was too long for its companions, create failed half-way and left a file that blocked the next try.
#[test]
fn a_name_that_is_too_long_is_refused_before_anything_is_made() {
    let folder = tempfile::tempdir().unwrap();
    for (length, fits) in [(200, true), (235, true), (236, false), (248, false), (255, false)] {
        let path = folder.path().join("n".repeat(length));
        let made = Database::create(&path, &Scheme::precise(), Options::default());
        match (made, fits) {
            (Ok(db), true) => {
                db.put("k", &[1, 2, 3]).unwrap();
                db.compact().unwrap();
                db.close().unwrap();
                fs::remove_file(&path).unwrap();
            }
            (Err(Error::InvalidArgument { .. }), false) => {}
            (other, _) => panic!("{length}: {other:?}"),
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "{length}");
        // A database that was copied to such a name can be read but not written.
        if length == 248 {
            let short = folder.path().join("short");
            Database::create(&short, &Scheme::precise(), Options::default())
                .unwrap()
                .close()
                .unwrap();
            fs::rename(&short, &path).unwrap();
            assert!(Database::open_read_only(&path, Options::default()).is_ok());
            let error = Database::open(&path, Options::default()).unwrap_err();
            assert!(matches!(error, Error::InvalidArgument { .. }), "{error}");
            fs::remove_file(&path).unwrap();
        }
    }
}
