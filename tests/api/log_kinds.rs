//! Both kinds of write-ahead log on real files. Each kind can be opened with the other one selected, damage is
//! reported, and the answers are the same (LOG-1, LOG-11, LOG-12).

use testkit::folder;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ringer::internals::maintenance::recovery;
use ringer::internals::store::file_layer::FileLayer;
use ringer::internals::store::file_layer::memory::MemoryFiles;
use ringer::internals::store::file_layer::real::RealFiles;
use ringer::{Database, Error, LogKind, Options, Recovery, Scheme, Snapshot};

const KINDS: [LogKind; 2] = [LogKind::Plain, LogKind::Sled];
const COMMITS: u64 = 60;

fn options(log: LogKind) -> Options {
    Options::default().with_log(log).with_background(false).with_memtable_rows(40)
}

fn key(i: u64) -> String {
    format!("key{:02}", i % 50)
}

fn set(i: u64) -> Vec<u64> {
    (i..i + 1 + i % 5).collect()
}

/// Leaves the files of a process that is killed after its last commit: some commits in the file, the rest in the log.
fn left_by(kind: LogKind, top: &Path) -> PathBuf {
    let (life, killed) = (top.join("life"), top.join("killed"));
    fs::create_dir(&life).unwrap();
    fs::create_dir(&killed).unwrap();
    let path = life.join("corpus.ringer");
    let db = Database::create(&path, &Scheme::precise(), options(kind)).unwrap();
    for i in 1..=COMMITS {
        assert_eq!(db.put(key(i), &set(i)).unwrap().sequence, i);
    }
    folder::copy(&life, &killed);
    drop(db);
    killed.join("corpus.ringer")
}

/// Copies the database to a folder of its own.
fn copy_of(path: &Path, top: &Path, name: &str) -> PathBuf {
    let copy = top.join(name);
    fs::create_dir(&copy).unwrap();
    folder::copy(path.parent().unwrap(), &copy);
    copy.join("corpus.ringer")
}

fn log_of(path: &Path) -> PathBuf {
    path.with_file_name("corpus.ringer-hot")
}

/// Asserts that the snapshot shows exactly the first `commits` commits.
fn check(snapshot: &Snapshot, commits: u64) {
    let sketcher = ringer::Sketcher::new(&Scheme::precise());
    assert_eq!(snapshot.len().unwrap(), commits.min(50));
    for i in commits.saturating_sub(49).max(1)..=commits {
        let stored = snapshot.get(key(i)).unwrap().unwrap();
        assert_eq!((stored.sequence, stored.signature), (i, sketcher.sketch(&set(i)).unwrap()));
    }
}

/// Returns the file names of the log beside a database, which show its kind.
fn found(path: &Path) -> Vec<String> {
    folder::names(&log_of(path))
}

#[test]
fn each_kind_of_log_is_read_by_both_and_the_next_log_is_as_selected() {
    for left in KINDS {
        let top = tempfile::tempdir().unwrap();
        let path = left_by(left, top.path());
        for chosen in KINDS {
            let path = copy_of(&path, top.path(), &format!("{chosen:?}"));
            let db = Database::open(&path, options(chosen)).unwrap();
            assert_eq!(db.open_report().log_damage, None);
            assert!(db.open_report().commits_replayed > 0);
            check(&db.snapshot(), COMMITS);
            db.put(key(COMMITS + 1), &set(COMMITS + 1)).unwrap();
            let names = match chosen {
                LogKind::Plain => ["id", "log"],
                LogKind::Sled => ["id", "sled"],
                other => panic!("{other:?}"),
            };
            assert_eq!(found(&path), names);
            check(&db.snapshot(), COMMITS + 1);
            db.close().unwrap();
            assert_eq!(folder::names(path.parent().unwrap()), ["corpus.ringer"]);
        }
    }
}

/// If the id of a log is damaged, its files still tell its kind (LOG-1).
#[test]
fn a_damaged_log_id_loses_nothing() {
    for left in KINDS {
        let top = tempfile::tempdir().unwrap();
        let path = left_by(left, top.path());
        let mut id = fs::read(log_of(&path).join("id")).unwrap();
        id[10] ^= 3;
        fs::write(log_of(&path).join("id"), id).unwrap();
        for chosen in KINDS {
            let saved = top.path().join(format!("saved-{chosen:?}"));
            let report = Database::salvage(&path, &saved, options(chosen)).unwrap();
            assert!(report.commits_replayed > 0);
            assert_eq!(report.sets, 50);
            let repaired = copy_of(&path, top.path(), &format!("repaired-{chosen:?}"));
            Database::repair(&repaired, &options(chosen)).unwrap();
            check(&Database::open(&repaired, options(chosen)).unwrap().snapshot(), COMMITS);
            let path = copy_of(&path, top.path(), &format!("{chosen:?}"));
            let db = Database::open(&path, options(chosen)).unwrap();
            assert!(db.open_report().log_damage.as_ref().unwrap().contains("LOG-3"));
            check(&db.snapshot(), COMMITS);
        }
    }
}

/// The commit mark reveals commits that were cut off. The log alone cannot (LOG-12).
#[test]
fn a_truncated_log_is_refused_and_salvaged_to_a_prefix() {
    for left in KINDS {
        let top = tempfile::tempdir().unwrap();
        let path = left_by(left, top.path());
        let files = match left {
            LogKind::Plain => "log",
            LogKind::Sled => "sled/db",
            other => panic!("{other:?}"),
        };
        let length = fs::metadata(log_of(&path).join(files)).unwrap().len();
        for (n, share) in (0..).zip([0, 1, 2, 5, 7, 9]) {
            let path = copy_of(&path, top.path(), &format!("cut-{n}"));
            let file = File::options().write(true).open(log_of(&path).join(files)).unwrap();
            // sled's log has unused space at its end.
            let used = if left == LogKind::Plain { length } else { length / 64 };
            file.set_len(used * share / 10).unwrap();
            let chosen = KINDS[n % 2];
            for _ in 0..2 {
                let refused = Database::open(&path, options(chosen)).map(drop);
                let Err(Error::LogDamaged { readable, marked, .. }) = refused else {
                    panic!("{left:?}, {share} tenths: {refused:?}")
                };
                assert!(readable < COMMITS && marked == Some(COMMITS));
            }
            let salvage = options(chosen).with_recovery(Recovery::Salvage);
            let db = Database::open(&path, salvage).unwrap();
            let report = db.open_report().clone();
            let (first, last) = report.commits_lost.unwrap();
            assert_eq!(last, COMMITS);
            assert!(report.quarantine.unwrap().exists());
            assert_eq!(db.snapshot().sequence(), COMMITS, "a lost sequence is reused");
            let rows = db.snapshot();
            let sequences = rows.range::<&[u8]>(..).map(|row| row.unwrap().1.sequence);
            assert_eq!(sequences.max(), Some(first - 1));
            assert_eq!(db.put("next", &[1]).unwrap().sequence, COMMITS + 1);
        }
    }
}

/// A torn tail of an unacknowledged commit, as a kill during an append leaves it.
#[test]
fn half_a_commit_at_the_end_of_the_log_is_dropped() {
    let top = tempfile::tempdir().unwrap();
    let path = left_by(LogKind::Plain, top.path());
    let log = fs::read(log_of(&path).join("log")).unwrap();
    for (n, cut) in (0..).zip([1, 10, 23, 24, 40]) {
        let path = copy_of(&path, top.path(), &format!("torn-{n}"));
        let torn = [&log[..], &log[log.len() - 60..][..cut]].concat();
        fs::write(log_of(&path).join("log"), torn).unwrap();
        let db = Database::open(&path, options(LogKind::Plain)).unwrap();
        assert_eq!(db.open_report().log_damage, None);
        check(&db.snapshot(), COMMITS);
    }
}

/// The log file never exceeds the size of two memtables, however much is committed.
#[test]
fn a_log_on_disk_is_trimmed_by_checkpoints() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("corpus.ringer");
    for background in [true, false] {
        let options = options(LogKind::Plain).with_background(background);
        let db = match path.exists() {
            true => Database::open(&path, options).unwrap(),
            false => Database::create(&path, &Scheme::precise(), options).unwrap(),
        };
        let mut most = 0;
        for i in 1..=400 {
            db.put(key(i), &set(i)).unwrap();
            most = most.max(fs::metadata(log_of(&path).join("log")).map_or(0, |found| found.len()));
        }
        let each = 24 + 200;
        assert!(most > 0 && most < 2 * 41 * each + 24, "{most}");
        db.checkpoint().unwrap();
        assert_eq!(fs::metadata(log_of(&path).join("log")).unwrap().len(), 24);
        db.close().unwrap();
    }
}

/// Builds spill to files beside a real database, whichever log is selected.
#[test]
fn builds_spill_beside_a_real_database_with_either_kind() {
    for kind in KINDS {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("corpus.ringer");
        drop(Database::create(&path, &Scheme::precise(), options(kind)).unwrap());
        let layer: Arc<dyn FileLayer> = Arc::new(RealFiles);
        let (writer, _) = recovery::open(&layer, &path, options(kind)).unwrap();
        let place = writer.spill_place().directory.unwrap();
        assert_eq!(*place, fs::canonicalize(folder.path()).unwrap());
        writer.close().unwrap();
    }
    let (layer, path) = (Arc::new(MemoryFiles::new()), Path::new("/corpus.ringer"));
    let log = options(LogKind::Plain);
    drop(Database::create_in(layer.clone(), path, &Scheme::precise(), log.clone()).unwrap());
    let layer: Arc<dyn FileLayer> = layer;
    let (writer, _) = recovery::open(&layer, path, log).unwrap();
    assert_eq!(writer.spill_place().directory, None);
    writer.close().unwrap();
}
