//! A database whose file or companion was deleted, emptied, or replaced by a directory, a link or a FIFO, after a
//! close and after a kill. Every way to open it returns what was there (a reader: what was checkpointed) or a typed
//! error. It does not block, and changes nothing that does not belong to the database.

use testkit::folder;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use ringer::{Answer, Database, Depth, Error, Like, Options, Result, Scheme, Snapshot, Stored};

/// No case takes this long unless it blocks.
const FOREVER: Duration = Duration::from_secs(100);

/// All companions, and files inside one of them.
const SUBJECTS: [&str; 8] =
    ["", "-hot", "-hot/log", "-hot/id", "-hot-new", "-lock", "-vacuum", "-new"];

/// What replaces a file.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Change {
    Deleted,
    Emptied,
    Directory,
    LinkToItself,
    LinkToAnother,
    LinkToItsOwn,
    DanglingLink,
    Fifo,
}

const CHANGES: [Change; 8] = [
    Change::Deleted,
    Change::Emptied,
    Change::Directory,
    Change::LinkToItself,
    Change::LinkToAnother,
    Change::LinkToItsOwn,
    Change::DanglingLink,
    Change::Fifo,
];

/// What a snapshot shows: all rows, and the answer to a query for one of them.
type Shown = (Vec<(Box<[u8]>, Stored)>, Answer);

fn shown(snapshot: &Snapshot) -> Result<Shown> {
    let rows: Vec<_> = snapshot.range::<&[u8]>(..).collect::<Result<_>>()?;
    let answer = snapshot.query(Like::Features(&set(7))).min_resemblance(0.1).run()?;
    Ok((rows, answer))
}

fn set(n: u64) -> Vec<u64> {
    (n..n + 60).collect()
}

fn options() -> Options {
    Options::default().with_background(false)
}

/// The files of a killed writer in `killed`, with commits in the write-ahead log, and the same database closed in
/// `closed`.
struct Originals {
    root: tempfile::TempDir,
    /// What the file and the log contain together.
    all: Shown,
}

const NAME: &str = "x.ringer";

impl Originals {
    /// Creates both. The numbers of the sets start with `first`.
    fn new(first: u64) -> Originals {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        for name in ["work", "killed", "closed"] {
            fs::create_dir(at(name)).unwrap();
        }
        let path = at("work").join(NAME);
        let db = Database::create(&path, &Scheme::near_duplicate(), options()).unwrap();
        for n in first..first + 40 {
            db.put(format!("key {n}"), &set(n)).unwrap();
        }
        db.checkpoint().unwrap();
        db.delete(format!("key {}", first + 3)).unwrap();
        db.checkpoint().unwrap();
        let checkpointed = shown(&db.snapshot()).unwrap();
        db.put("log", &set(first + 8)).unwrap();
        db.delete(format!("key {}", first + 9)).unwrap();
        let all = shown(&db.snapshot()).unwrap();
        assert!(checkpointed.1.matches.len() > 10 && all != checkpointed);
        folder::copy(&at("work"), &at("killed"));
        db.close().unwrap();
        folder::copy(&at("work"), &at("closed"));
        let names = folder::names(&at("killed"));
        assert_eq!(names, [NAME, "x.ringer-hot", "x.ringer-lock"], "a killed writer leaves these");
        Originals { root, all }
    }
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    PathBuf::from(format!("{}{ending}", path.display()))
}

/// Replaces a file or directory. Returns `false` if that is not possible there.
fn change(subject: &Path, change: Change, another: &Path, scratch: &Path) -> bool {
    let there = fs::symlink_metadata(subject).is_ok();
    if !subject.parent().unwrap().is_dir() {
        return false;
    }
    let own = scratch.join("its own");
    if change == Change::LinkToItsOwn {
        if there {
            fs::rename(subject, &own).unwrap();
        }
        return there && symlink(own, subject).is_ok();
    }
    let was_directory = subject.is_dir();
    if was_directory {
        fs::remove_dir_all(subject).unwrap();
    } else if there {
        fs::remove_file(subject).unwrap();
    }
    match change {
        Change::Deleted | Change::LinkToItsOwn => return there,
        Change::Emptied if was_directory => fs::create_dir(subject).unwrap(),
        Change::Emptied => fs::write(subject, "").unwrap(),
        Change::Directory => {
            fs::create_dir(subject).unwrap();
            fs::write(subject.join("somebody's"), "precious").unwrap();
        }
        Change::LinkToItself => symlink(subject, subject).unwrap(),
        Change::LinkToAnother => symlink(another, subject).unwrap(),
        Change::DanglingLink => symlink(scratch.join("nothing"), subject).unwrap(),
        Change::Fifo => {
            let made = std::process::Command::new("mkfifo").arg(subject).status();
            assert!(made.unwrap().success());
        }
    }
    true
}

/// Returns all names below a folder, with bytes of files and targets of links.
fn everything(folder: &Path) -> Vec<(PathBuf, String, Vec<u8>)> {
    let (mut found, mut folders) = (Vec::new(), vec![folder.to_path_buf()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let kind = fs::symlink_metadata(&path).unwrap().file_type();
            let bytes = if kind.is_file() { fs::read(&path).unwrap() } else { Vec::new() };
            if kind.is_dir() {
                folders.push(path.clone());
            }
            found.push((path, format!("{kind:?}"), bytes));
        }
    }
    found.sort();
    found
}

/// Asserts that an error says what is in the way or what is wrong.
fn check_error(error: &Error) {
    let typed = matches!(
        error,
        Error::Io { .. }
            | Error::NotADatabase { .. }
            | Error::Corrupt { .. }
            | Error::Exists { .. }
            | Error::NotOurs { .. }
            | Error::Replaced { .. }
            | Error::Locked { .. }
            | Error::InvalidArgument { .. }
            | Error::LogMissing { .. }
            | Error::LogDamaged { .. }
    );
    assert!(typed && !error.to_string().is_empty(), "{error:?}");
}

/// Runs something in a thread and fails if it does not return.
fn in_time<T: Send + 'static>(at: &str, act: impl FnOnce() -> T + Send + 'static) -> T {
    let (tell, told) = mpsc::channel();
    let thread = thread::spawn(move || tell.send(act()));
    match told.recv_timeout(FOREVER) {
        Ok(value) => value,
        Err(mpsc::RecvTimeoutError::Timeout) => panic!("{at}: it blocks"),
        Err(mpsc::RecvTimeoutError::Disconnected) => {
            std::panic::resume_unwind(thread.join().unwrap_err())
        }
    }
}

/// Counts how each way to open ended.
#[derive(Default, Debug)]
struct Counts {
    cases: usize,
    read: usize,
    opened: usize,
    written: usize,
}

struct Case<'a> {
    at: String,
    path: PathBuf,
    /// What a reader and a writer may show.
    all: &'a Shown,
}

impl Case<'_> {
    fn read(&self) -> bool {
        let path = self.path.clone();
        let seen = in_time(&self.at, move || {
            drop(Database::check(&path, Depth::Deep).map_err(|error| check_error(&error)));
            let reader = Database::open_read_only(&path, options())?;
            let _ = reader.has_writer().map_err(|error| check_error(&error));
            reader.refresh()?;
            shown(&reader.snapshot())
        });
        match &seen {
            Ok(seen) => {
                assert!(seen == self.all, "{}: a reader sees something else", self.at);
            }
            Err(error) => check_error(error),
        }
        seen.is_ok()
    }

    /// Opens for writing and commits. An acknowledged commit must be there at the next open. Returns whether the open
    /// and the commit succeeded.
    fn write(&self) -> (bool, bool) {
        let path = self.path.clone();
        let all = self.all.clone();
        let at = self.at.clone();
        in_time(&self.at, move || {
            let db = match Database::open(&path, options()) {
                Ok(db) => db,
                Err(error) => {
                    check_error(&error);
                    return (false, false);
                }
            };
            assert!(shown(&db.snapshot()).unwrap() == all, "{at}: a writer sees something else");
            let put = db.put("one more", &set(5)).map_err(|error| check_error(&error)).is_ok();
            let _ = db.close().map_err(|error| check_error(&error));
            let seen = Database::open_read_only(&path, options()).unwrap().snapshot();
            assert_eq!(seen.get("one more").unwrap().is_some(), put, "{at}");
            (true, put)
        })
    }
}

/// Tries one case. Reads and refused opens change nothing, and files of others never change.
fn try_case(own: &Originals, other: &Originals, case: (&str, &str, Change), counts: &mut Counts) {
    let (state, subject, how) = case;
    let scratch = tempfile::tempdir().unwrap();
    let make = |name: &str| {
        let folder = scratch.path().join(name);
        fs::create_dir(&folder).unwrap();
        folder
    };
    let (folder, beside_it, strangers) = (make("own"), make("moved"), make("other"));
    folder::copy(&own.root.path().join(state), &folder);
    folder::copy(&other.root.path().join("killed"), &strangers);
    let path = folder.join(NAME);
    let another = beside(&strangers.join(NAME), subject);
    if !change(&beside(&path, subject), how, &another, &beside_it) {
        return;
    }
    let dangling = beside(&path, subject).is_symlink() && !beside(&path, subject).exists();
    let is_other = subject.is_empty() && how == Change::LinkToAnother;
    let shows = if is_other { other } else { own };
    let at = format!("{state} `{subject}` {how:?}");
    let case = Case { at: at.clone(), path, all: &shows.all };
    let before = everything(scratch.path());
    counts.cases += 1;
    counts.read += usize::from(case.read());
    assert!(everything(scratch.path()) == before, "{at}: reading changed something");
    let (opened, written) = case.write();
    counts.opened += usize::from(opened);
    counts.written += usize::from(written);
    let precious = before.iter().filter(|(path, ..)| path.ends_with("somebody's")).count();
    if is_other {
        return;
    }
    let after = everything(scratch.path());
    if opened {
        let kept = after.iter().filter(|(path, ..)| path.ends_with("somebody's")).count();
        assert!(kept == precious, "{at}: something was removed");
    } else if !dangling {
        // A dangling link is noticed only when something is to be created there.
        let without_lock = |all: &[(PathBuf, String, Vec<u8>)]| {
            let own = |entry: &&(PathBuf, String, Vec<u8>)| !entry.0.ends_with("x.ringer-lock");
            all.iter().filter(own).cloned().collect::<Vec<_>>()
        };
        assert!(
            without_lock(&after) == without_lock(&before),
            "{at}: a refused open changed bytes"
        );
    }
    if !opened && ["-hot-new", "-lock", "-vacuum", "-new"].contains(&subject) {
        let subject = beside(&case.path, subject);
        let removed = fs::remove_file(&subject).or_else(|_| fs::remove_dir_all(&subject));
        removed.unwrap();
        assert_eq!(case.write(), (true, true), "{at}: with nothing in the way all is there");
        counts.opened += 1;
        counts.written += 1;
    }
    let theirs = |all: &[(PathBuf, String, Vec<u8>)]| {
        all.iter().filter(|(path, ..)| path.starts_with(&strangers)).cloned().collect::<Vec<_>>()
    };
    assert!(theirs(&after) == theirs(&before), "{at}: another database was changed");
}

#[test]
fn replaced_files_give_correct_answers_or_errors() {
    let (own, other) = (Originals::new(1), Originals::new(5));
    let mut counts = Counts::default();
    for state in ["closed", "killed"] {
        for subject in SUBJECTS {
            for how in CHANGES {
                try_case(&own, &other, (state, subject, how), &mut counts);
            }
        }
    }
    eprintln!("{counts:?}");
    assert!(counts.cases > 90 && counts.read > 60 && counts.opened > 30 && counts.written > 30);
}
