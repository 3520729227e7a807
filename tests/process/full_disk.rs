//! A full disk: commits fail with an error that says so, nothing panics, and reads still work. Once space is
//! available, everything acknowledged is there (STEP-10).

use testkit::child;
use testkit::folder;

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;

use child::{Known, Said, Task};
use ringer::internals::store::file_layer::real::RealFiles;
use ringer::internals::store::file_layer::{Access, FileLayer};
use ringer::scheme::Slots;
use ringer::{Database, Error, LogKind, Options, Scheme};

const KINDS: [LogKind; 2] = [LogKind::Plain, LogKind::Sled];

fn task(seed: u64, commits: u64, calm: u64, log: LogKind) -> Task {
    Task { seed, commits, calm, log }
}

/// The failures that a process may report. Only sled does not say what reached a full disk.
fn expected(log: LogKind) -> &'static [&'static str] {
    match log {
        LogKind::Plain => &["NoSpace"],
        LogKind::Sled => &["NoSpace", "Poisoned"],
        other => panic!("{other:?}"),
    }
}

/// Runs the process to its end. It stops after a number of failures and checks that it can still read.
fn run(mut command: Command) -> Said {
    let mut process = command.spawn().unwrap();
    let said = child::listen(&mut process, |_| false);
    let output = process.wait_with_output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{:?}: {errors}", output.status);
    assert!(!errors.contains("panicked"), "{errors}");
    said
}

/// Opens with space available. Everything acknowledged is there, and the database can be used.
fn check(path: &Path, said: &Said) {
    let acknowledged = said.last().unwrap_or(0);
    let mut known = Known::new();
    let in_sled = path.with_file_name("corpus.ringer-hot/sled").exists();
    let reader = Database::open_read_only(path, Options::default()).unwrap();
    let read = known.check(&reader.snapshot());
    let db = Database::open(path, Options::default()).unwrap();
    let found = known.check(&db.snapshot());
    assert!(read + reader.hidden_commits() >= acknowledged, "{read} of {acknowledged}");
    assert!(in_sled || read == found, "a reader sees {read} commits, a writer {found}");
    assert!((acknowledged..=acknowledged + 1).contains(&found), "{found} of {acknowledged}");
    db.compact().unwrap();
    db.close().unwrap();
    assert_eq!(folder::names(path.parent().unwrap()), ["corpus.ringer"]);
    let said = run(child::command(path, task(1, 20, 10, LogKind::Plain)));
    assert_eq!((said.opened, said.last(), said.closed), (Some(found), Some(found + 20), true));
    assert!(said.failures.is_empty(), "{:?}", said.failures);
}

/// Returns the distinct kinds of failure that a process reported.
fn kinds(said: &Said) -> Vec<String> {
    let kind = |text: &String| text.split(' ').nth(1).unwrap_or_default().to_string();
    let mut kinds: Vec<String> = said.failures.iter().map(kind).collect();
    kinds.sort();
    kinds.dedup();
    kinds
}

/// Returns this program under a file size limit, in blocks of 512 bytes.
fn under_limit(blocks: u64) -> Command {
    let mut command = Command::new("sh");
    let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\"");
    command.arg("-c").arg(script).arg(std::env::current_exe().unwrap());
    command
}

/// Returns the child process under such a limit.
fn limited(path: &Path, blocks: u64, task: Task) -> Command {
    let mut command = under_limit(blocks);
    command.args(child::ARGUMENTS);
    child::tell(&mut command, path, task);
    command
}

#[test]
fn a_limit_of_file_sizes_stops_commits_and_loses_nothing() {
    let mut failed = [0; 2];
    for (seed, blocks) in (1..).zip([30, 50, 70, 120, 160, 250, 50, 160]) {
        let which = usize::from(seed > 6);
        let kind = KINDS[which];
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("corpus.ringer");
        drop(run(child::command(&path, task(seed, 5, 10, kind))));
        let said = run(limited(&path, blocks, task(seed, 300, 30, kind)));
        println!("{kind:?}, {blocks} blocks: {:?}, {:?}", said.acknowledged, kinds(&said));
        let expected = expected(kind);
        assert!(kinds(&said).iter().all(|kind| expected.contains(&&**kind)), "{:?}", said.failures);
        failed[which] += u64::from(!said.failures.is_empty());
        check(&path, &said);
    }
    assert!(failed[0] > 3 && failed[1] > 0, "{failed:?}");
}

/// The environment variable that tells a process where to write beyond its limit.
const CUT_SHORT: &str = "RINGER_CUT_SHORT";

/// Not a test by itself: writes across the file size limit, so that the system performs a short write.
#[test]
fn write_across_a_limit() {
    let Some(path) = std::env::var_os(CUT_SHORT) else { return };
    let file = RealFiles.open(Path::new(&path), Access::CreateNew).unwrap();
    let error = file.write_all_at(&[7; 5000], 0).expect_err("a part was written");
    assert_eq!(error.kind(), ErrorKind::FileTooLarge);
    assert_eq!(file.length().unwrap(), 4096, "a part was written, and the rest was refused");
}

#[test]
fn a_write_of_which_only_a_part_fits_fails() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("short");
    let mut command = under_limit(8);
    let command =
        command.args(["--exact", "full_disk::write_across_a_limit"]).env(CUT_SHORT, &path);
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(std::fs::read(&path).unwrap(), [7; 4096]);
}

/// A small file system in memory. It is unmounted on drop.
struct Small(PathBuf);

impl Small {
    /// Mounts one, or returns `None` without the privilege to mount.
    fn mount(place: &Path, kib: u64) -> Option<Small> {
        let size = format!("size={kib}k");
        let mut command = Command::new("mount");
        command.args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(place);
        let mounted = command.output().is_ok_and(|output| output.status.success());
        mounted.then(|| Small(place.to_path_buf()))
    }

    fn grow(&self, kib: u64) {
        let options = format!("remount,size={kib}k");
        let status = Command::new("mount").args(["-o", &options]).arg(&self.0).status().unwrap();
        assert!(status.success());
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

#[test]
fn a_full_disk_stops_commits_and_loses_nothing() {
    let place = tempfile::tempdir().unwrap();
    let mut failed = [0; 2];
    let sizes = [32, 40, 48, 56, 64, 72, 80, 96, 112, 128, 160, 200, 40, 64, 96, 160];
    for (seed, kib) in (1..).zip(sizes) {
        let which = usize::from(seed > 12);
        let kind = KINDS[which];
        let Some(disk) = Small::mount(place.path(), 16_384) else {
            println!("skipped: a tmpfs cannot be mounted here");
            return;
        };
        let path = place.path().join("corpus.ringer");
        drop(run(child::command(&path, task(seed, 5, 10, kind))));
        disk.grow(kib);
        let said = run(child::command(&path, task(seed, 300, 30, kind)));
        println!("{kind:?}, {kib} KiB: {:?}, {:?}", said.acknowledged, kinds(&said));
        let expected = expected(kind);
        assert!(kinds(&said).iter().all(|kind| expected.contains(&&**kind)), "{:?}", said.failures);
        failed[which] += u64::from(!said.failures.is_empty());
        // An open on a full disk succeeds or is refused, and loses nothing either way.
        let again = run(child::command(&path, task(seed, 5, 30, kind)));
        assert!(again.failures.iter().all(|text| text.contains("no space left")), "{again:?}");
        if let (Some(before), Some(found)) = (said.last(), again.opened) {
            assert!((before..=before + 1).contains(&found), "{found} of {before}");
        }
        disk.grow(16_384);
        check(&path, if again.last().is_some() { &again } else { &said });
    }
    assert!(failed[0] > 3 && failed[1] > 0, "{failed:?}");
}

/// A commit that does not fit into the log is rolled back, and later ones succeed in the same process once there is
/// space. With sled the database has to be reopened (LOG-15).
#[test]
fn commits_continue_when_there_is_space_again() {
    let place = tempfile::tempdir().unwrap();
    for kind in KINDS {
        let Some(_disk) = Small::mount(place.path(), 4096) else {
            println!("skipped: a tmpfs cannot be mounted here");
            return;
        };
        let path = place.path().join("corpus.ringer");
        let ballast = place.path().join("ballast");
        let options = || Options::default().with_log(kind);
        let db = Database::create(&path, &Scheme::precise(), options()).unwrap();
        let large = |first: u64| {
            let mut batch = db.batch();
            for i in first..first + 300 {
                batch.put(format!("{i}"), &[i, 7]).unwrap();
            }
            db.commit(batch).map(|committed| committed.sequence)
        };
        assert_eq!(large(0), Ok(1));
        for round in 1..=3 {
            let full = std::fs::write(&ballast, vec![1; 4 << 20]);
            assert!(full.is_err(), "the ballast fits");
            let last = db.snapshot().sequence();
            let refused = large(1000 * round);
            assert!(matches!(refused, Err(Error::NoSpace { .. })), "{kind:?}: {refused:?}");
            // The last page may have room for a small commit.
            let small = db.put("small", &[round]).is_ok();
            assert_eq!(db.snapshot().sequence(), last + u64::from(small), "{kind:?}");
            std::fs::remove_file(&ballast).unwrap();
            let later = large(1000 * round);
            if kind == LogKind::Sled {
                assert!(matches!(later, Err(Error::Poisoned { .. })), "{later:?}");
                break;
            }
            assert_eq!(later, Ok(last + u64::from(small) + 1));
        }
        let (sequence, sets) = (db.snapshot().sequence(), db.snapshot().len().unwrap());
        let closed = db.close();
        assert_eq!(closed.is_ok(), kind == LogKind::Plain, "{closed:?}");
        let db = Database::open(&path, options()).unwrap();
        let found = (db.snapshot().sequence(), db.snapshot().len().unwrap());
        // What sled accepted before it failed may turn out to be stored.
        let after_all = kind == LogKind::Sled && found == (sequence + 1, sets + 300);
        assert!(found == (sequence, sets) || after_all, "{kind:?}: {found:?}");
        db.put("more", &[1]).unwrap();
        db.close().unwrap();
    }
}

/// A reindex needs room for a second file and for temporary ones. It says so before it starts, and changes nothing.
#[test]
fn a_reindex_checks_the_free_space_first() {
    let place = tempfile::tempdir().unwrap();
    let Some(disk) = Small::mount(place.path(), 65_536) else {
        println!("skipped: a tmpfs cannot be mounted here");
        return;
    };
    let path = place.path().join("corpus.ringer");
    let scheme = Scheme::near_duplicate();
    let db = Database::create(&path, &scheme, Options::default()).unwrap();
    let mut load = db.bulk_load();
    for i in 0..20_000_u64 {
        load.put(format!("key {i}"), &[i, i + 1, i + 2]).unwrap();
    }
    load.commit().unwrap();
    db.close().unwrap();
    let bytes = std::fs::read(&path).unwrap();
    let slots = Slots { count: 16, samples_per_slot: 4, value_bits: 32, min_matches: 1 };
    let other = Scheme::new(scheme.with_slots(slots)).unwrap();
    // With a tiny budget of memory, everything goes to temporary files.
    let options = Options::default().with_build_bytes(1);
    let kib = bytes.len() as u64 / 1024;
    let mut stated = 0;
    for size in [kib + 100, 2 * kib + 100] {
        disk.grow(size);
        match Database::reindex(&path, &other, &options) {
            Err(Error::TooLittleSpace { needed, free, .. }) => {
                assert!(free <= 1024 * size && needed > free, "{needed} {free}");
                stated = needed;
            }
            other => panic!("{size} KiB: {other:?}"),
        }
        assert!(std::fs::read(&path).unwrap() == bytes);
        assert_eq!(folder::names(place.path()), ["corpus.ringer"]);
    }
    // What it asks for is enough.
    disk.grow(kib + stated / 1024 + 64);
    let report = Database::reindex(&path, &other, &options).unwrap();
    println!("{report:?}");
    assert!(report.rewritten && report.needed_bytes < 4 * report.file_bytes, "{report:?}");
    assert_eq!(folder::names(place.path()), ["corpus.ringer"]);
    let reader = Database::open_read_only(&path, Options::default()).unwrap();
    assert_eq!((reader.scheme(), reader.snapshot().len().unwrap()), (other, 20_000));
}
