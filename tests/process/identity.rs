//! A writer whose file, folder or process is no longer the one that it started with (STEP-12). It touches nothing
//! that belongs to somebody else, and its next commit reports what happened.

use testkit::folder;

use std::fs;
use std::path::Path;
use std::process::Command;

use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{ForkResult, fork};
use ringer::{Database, Error, LogKind, Options, Scheme};

const KINDS: [LogKind; 2] = [LogKind::Plain, LogKind::Sled];

fn options(log: LogKind) -> Options {
    Options::default().with_background(false).with_log(log)
}

fn create(path: &Path, kind: LogKind) -> Database {
    Database::create(path, &Scheme::precise(), options(kind)).unwrap()
}

fn put(db: &Database, key: &str) -> ringer::Result<u64> {
    db.put(key, &[1, 2, 3]).map(|committed| committed.sequence)
}

/// Returns how many sets a killed writer of this database would leave.
fn after_a_kill(path: &Path) -> u64 {
    let copy = tempfile::tempdir().unwrap();
    folder::copy(path.parent().unwrap(), copy.path());
    let path = copy.path().join(path.file_name().unwrap());
    let db = Database::open(path, Options::default()).unwrap();
    db.snapshot().len().unwrap()
}

/// Removes a database with its companions, as `rm a.ringer*` does.
fn remove_all(path: &Path) {
    for entry in fs::read_dir(path.parent().unwrap()).unwrap().map(|entry| entry.unwrap().path()) {
        let removed = fs::remove_file(&entry).or_else(|_| fs::remove_dir_all(&entry));
        removed.unwrap();
    }
}

/// Returns a writer whose file was removed, and the writer of the database that took its place.
fn replaced(path: &Path, kind: LogKind) -> (Database, Database) {
    let first = create(path, kind);
    put(&first, "old").unwrap();
    remove_all(path);
    (first, create(path, kind))
}

/// Closing the first writer used to remove the log of the second one, with four acknowledged commits.
#[test]
fn a_writer_whose_file_was_replaced_leaves_the_new_one_alone() {
    for kind in KINDS {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.ringer");
        let (first, second) = replaced(&path, kind);
        for key in ["1", "2", "3", "4"] {
            put(&second, key).unwrap();
        }
        let gone = Error::Replaced { path: path.canonicalize().unwrap() };
        assert_eq!(put(&first, "new"), Err(gone.clone()), "reported at the next commit");
        assert_eq!(first.checkpoint(), Err(gone.clone()));
        assert_eq!(first.vacuum(), Err(gone.clone()));
        assert_eq!(first.bulk_load().commit().map(|_| ()).err(), Some(gone.clone()));
        assert!(first.get("old").unwrap().is_some(), "what was open can be read");
        assert_eq!(first.close(), Err(gone));
        assert_eq!(after_a_kill(&path), 4, "{kind:?}");
        put(&second, "5").unwrap();
        second.close().unwrap();
        assert_eq!(folder::names(folder.path()), ["a.ringer"]);
        assert_eq!(Database::open(&path, options(kind)).unwrap().snapshot().len(), Ok(5));
    }
}

/// The same if the first writer is dropped without another call.
#[test]
fn dropping_a_writer_whose_file_was_replaced_removes_nothing() {
    for kind in KINDS {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.ringer");
        let (first, second) = replaced(&path, kind);
        put(&second, "1").unwrap();
        drop(first);
        assert!(matches!(Database::open(&path, options(kind)), Err(Error::Locked { .. })));
        assert_eq!(after_a_kill(&path), 1);
        second.close().unwrap();
    }
}

#[test]
fn a_writer_whose_file_has_another_name_stops() {
    for kind in KINDS {
        let folder = tempfile::tempdir().unwrap();
        let (path, moved) = (folder.path().join("a.ringer"), folder.path().join("b.ringer"));
        let db = create(&path, kind);
        put(&db, "old").unwrap();
        fs::rename(&path, &moved).unwrap();
        let bytes = fs::read(&moved).unwrap();
        assert!(matches!(put(&db, "new"), Err(Error::Replaced { .. })));
        // The writer stays refused even if the name comes back: others may have written in the meantime.
        fs::rename(&moved, &path).unwrap();
        assert!(matches!(put(&db, "new"), Err(Error::Replaced { .. })));
        drop(db);
        assert_eq!(fs::read(&path).unwrap(), bytes);
        assert_eq!(Database::open(&path, options(kind)).unwrap().snapshot().len(), Ok(1));
    }
}

/// The vacuum of a handle whose folder was moved used to overwrite the database that was created at the old path.
#[test]
fn a_writer_whose_folder_was_moved_continues_in_that_folder() {
    let top = tempfile::tempdir().unwrap();
    let (old, new) = (top.path().join("old"), top.path().join("new"));
    fs::create_dir(&old).unwrap();
    let path = old.join("a.ringer");
    let first = create(&path, LogKind::Plain);
    for i in 0..200 {
        put(&first, &format!("key {}", i % 5)).unwrap();
        first.checkpoint().unwrap();
    }
    fs::rename(&old, &new).unwrap();
    fs::create_dir(&old).unwrap();
    let second = create(&path, LogKind::Plain);
    put(&second, "other").unwrap();
    second.close().unwrap();
    let other = fs::read(&path).unwrap();
    let before = fs::metadata(new.join("a.ringer")).unwrap().len();
    first.compact().unwrap();
    put(&first, "one more").unwrap();
    first.close().unwrap();
    assert_eq!(fs::read(&path).unwrap(), other);
    assert_eq!(folder::names(&old), ["a.ringer"]);
    assert_eq!(folder::names(&new), ["a.ringer"]);
    assert!(fs::metadata(new.join("a.ringer")).unwrap().len() < before);
    let moved = Database::open(new.join("a.ringer"), Options::default()).unwrap();
    assert_eq!(moved.snapshot().len(), Ok(6));
}

#[test]
fn a_writer_whose_folder_was_removed_stops() {
    let top = tempfile::tempdir().unwrap();
    let old = top.path().join("old");
    fs::create_dir(&old).unwrap();
    let db = create(&old.join("a.ringer"), LogKind::Plain);
    put(&db, "old").unwrap();
    fs::remove_dir_all(&old).unwrap();
    assert!(matches!(put(&db, "new"), Err(Error::Replaced { .. })));
    assert!(db.close().is_err());
    assert!(!old.exists());
}

/// Runs a closure in a forked process, which must end normally.
#[expect(unsafe_code, reason = "a fork is")]
fn in_a_child(act: impl FnOnce()) {
    // SAFETY: no other test runs in this process. The only other threads are those of the database under test, which
    // are idle, and the child leaves without returning to the harness.
    match unsafe { fork() }.unwrap() {
        ForkResult::Child => {
            let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(act));
            std::process::exit(i32::from(ended.is_err()));
        }
        ForkResult::Parent { child } => {
            assert_eq!(waitpid(child, None).unwrap(), WaitStatus::Exited(child, 0));
        }
    }
}

/// Set in the process that the test below starts.
const FORKS: &str = "RINGER_FORKS";

/// The test starts itself in a separate process, because a fork is safe only if no other test runs.
#[test]
fn a_handle_in_a_forked_process_does_nothing_and_says_so() {
    if std::env::var_os(FORKS).is_some() {
        return fork_with_open_handles();
    }
    let name = "identity::a_handle_in_a_forked_process_does_nothing_and_says_so";
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", name, "--nocapture", "--test-threads=1"]).env(FORKS, "1");
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.contains("1 passed"), "{text}");
}

/// The child used to remove the log and the lock of its parent.
fn fork_with_open_handles() {
    for kind in KINDS {
        for background in [false, true] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("a.ringer");
            let options = options(kind).with_background(background);
            let db = Database::create(&path, &Scheme::precise(), options.clone()).unwrap();
            put(&db, "1").unwrap();
            let mut db = Some(db);
            let forked = Error::Forked { path: path.canonicalize().unwrap() };
            in_a_child(|| {
                let db = db.take().unwrap();
                assert_eq!(put(&db, "2"), Err(forked.clone()));
                assert_eq!(db.checkpoint(), Err(forked.clone()));
                assert_eq!(db.compact(), Err(forked.clone()));
                assert_eq!(db.vacuum(), Err(forked.clone()));
                assert_eq!(db.get("1"), Err(forked.clone()));
                let mut load = db.bulk_load();
                load.put("3", &[1]).unwrap();
                assert_eq!(load.commit().map(|_| ()), Err(forked.clone()));
                assert_eq!(db.pack(path.with_extension("copy")), Err(forked.clone()));
                assert_eq!(db.close(), Err(forked));
            });
            in_a_child(|| drop(db.take()));
            let names = folder::names(folder.path());
            assert_eq!(names, ["a.ringer", "a.ringer-hot", "a.ringer-lock"], "{kind:?}");
            let refused = Database::open(&path, options.clone());
            assert!(matches!(refused, Err(Error::Locked { .. })), "the lock is held");
            assert_eq!(after_a_kill(&path), 1);
            let db = db.take().unwrap();
            assert_eq!(put(&db, "2"), Ok(2));
            db.close().unwrap();
            assert_eq!(Database::open(&path, options).unwrap().snapshot().len(), Ok(2));
        }
    }
}
