//! Disk failures during create, copy, salvage, repair and reindex: any operation fails, once or from then on. The call returns
//! a typed error, the old database is unchanged, no unfinished file has the name of the new one, and the next attempt
//! on a working disk succeeds.

use testkit::history;
use testkit::maintenance;
use testkit::scale::cases;

use std::collections::BTreeSet;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use rayon::prelude::*;
use ringer::internals::maintenance::salvage;
use ringer::internals::store::file_layer::FileLayer;
use ringer::internals::store::file_layer::faulty::{Failure, Fault, FaultyFiles};
use ringer::internals::store::file_layer::memory::MemoryFiles;
use ringer::{Error, SalvageReport};

use history::{PATH, bytes_of, is_of_the_disk, open};
use maintenance::{Layer, Making, Rows, TARGET, check_whole, copy, rows_of};

/// How an operation fails, and whether all later ones fail as well.
const FAILURES: [(Failure, bool); 5] = [
    (Failure::Device, false),
    (Failure::Full, false),
    (Failure::ShortWrite(40), false),
    (Failure::Device, true),
    (Failure::Full, true),
];

/// Runs `act` with each failure of each operation that it makes on this disk, and passes the resulting disk, working
/// again, to `check`. Returns the number of attempts, and how many of them failed.
fn try_each(
    disk: &MemoryFiles,
    act: impl Fn(&Layer) -> ringer::Result<()> + Sync,
    check: impl Fn(&MemoryFiles, bool, bool) + Sync,
) -> (usize, usize) {
    let files = FaultyFiles::resume(copy(disk));
    act(&(Arc::new(files.clone()) as Layer)).unwrap();
    let operations = files.operations();
    let tries: Vec<_> = (0..operations)
        .step_by(cases(3, 1))
        .flat_map(|n| FAILURES.map(|failure| (n, failure)))
        .collect();
    let failed = tries.par_iter().panic_fuse().filter(|(n, (failure, sticky))| {
        history::at(
            || format!("operation {n} of {operations}: {failure:?}, for good: {sticky}"),
            || {
                let files = FaultyFiles::resume(copy(disk));
                let fault = Fault::after(*n, *failure);
                files.arm(if *sticky { fault.sticky() } else { fault });
                let done = act(&(Arc::new(files.clone()) as Layer));
                assert!(files.tripped() > 0, "nothing failed");
                if let Err(error) = &done {
                    assert!(is_of_the_disk(error), "{error}");
                }
                files.disarm();
                check(files.running(), done.is_ok(), *sticky);
                done.is_err()
            },
        )
    });
    let failed = failed.count();
    (tries.len(), failed)
}

/// Checks what a failed creation left, and that the next attempt succeeds.
fn check_made(making: &Making, disk: &MemoryFiles, done: bool, sticky: bool) {
    making.check_source(disk);
    let there = disk.contents(TARGET).is_some();
    match (done, there) {
        (true, _) => making.check_target(disk),
        (false, false) => making.check_again(disk),
        (false, true) => {
            assert!(sticky, "{} failed, but its file has the final name", making.name);
            making.check_target(disk);
        }
    }
}

#[test]
fn every_failure_of_making_a_database_leaves_none_and_the_next_try_succeeds() {
    for making in maintenance::makings() {
        let check = |disk: &MemoryFiles, done, sticky| check_made(&making, disk, done, sticky);
        let act = |layer: &Layer| making.act_in(layer);
        let (tries, failed) = try_each(&making.disk(), act, check);
        println!("{}: {tries} failures, {failed} of them reported", making.name);
        // The failures that are not reported concern removals of names, which are retried later.
        assert!(failed * 10 >= tries * 7, "{failed} of {tries}");
    }
}

fn check_mended(disk: &MemoryFiles, rows: &Rows) {
    // An open without repair is refused or shows all rows.
    if let Ok(db) = open(&copy(disk)) {
        assert!(rows_of(&db.snapshot()) == *rows);
    }
    let layer: Layer = Arc::new(copy(disk));
    maintenance::mend(&layer).unwrap();
    check_whole(&layer, PATH, rows);
}

#[test]
fn every_failure_of_a_repair_leaves_what_can_be_repaired() {
    let (disk, rows) = maintenance::mendable();
    let (tries, failed) = try_each(&disk, maintenance::mend, |left, done, _| {
        check_mended(left, &rows);
        if done {
            check_whole(&(Arc::new(copy(left)) as Layer), PATH, &rows);
        }
    });
    println!("repair: {tries} failures, {failed} of them reported");
    assert!(failed * 10 >= tries * 7, "{failed} of {tries}");
}

#[test]
fn every_failure_of_a_reindex_leaves_the_old_database_or_the_new_one() {
    for history in [maintenance::closed(), maintenance::killed()] {
        let old = maintenance::rows_after(&history, history.model.last());
        let new = maintenance::with_fewer_bits(&old);
        let disk = copy(history.files.running());
        let (tries, failed) = try_each(&disk, maintenance::reindexed, |left, done, _| {
            let new_rows = maintenance::check_reindexed(left, [&old, &new]);
            assert!(new_rows || !done, "it said that it was done");
        });
        println!("reindex: {tries} failures, {failed} of them reported");
        assert!(failed * 10 >= tries * 7, "{failed} of {tries}");
    }
}

/// Salvages from a disk on which some bytes of a file cannot be read. Returns the report and the rows.
fn save(disk: &MemoryFiles, path: &str, bad: Range<u64>) -> Result<(SalvageReport, Rows), Error> {
    let files = FaultyFiles::resume(copy(disk));
    files.refuse_reads(path, bad).unwrap();
    let layer: Layer = Arc::new(files.clone());
    let saved = salvage::salvage(&layer, Path::new(PATH), Path::new(TARGET), history::options());
    let names = |disk: &MemoryFiles| disk.entries().len();
    assert_eq!(names(files.running()), names(disk) + usize::from(saved.is_ok()));
    let report = saved?;
    let rows = maintenance::rows_in(&layer, TARGET);
    check_whole(&layer, TARGET, &rows);
    assert_eq!(report.sets, rows.len() as u64);
    Ok((report, rows))
}

/// Unreadable disk blocks count as zeros, and nothing else is lost.
#[test]
fn a_salvage_continues_past_unreadable_blocks() {
    let none = 0..0;
    for disk in [maintenance::closed(), maintenance::killed()].map(|h| copy(h.files.running())) {
        let bytes = disk.contents(PATH).unwrap();
        let (report, all) = save(&disk, PATH, none.clone()).unwrap();
        assert_eq!((report.bytes_unreadable, report.log_damage), (0, None));
        let (mut missed, mut fewer) = (0, 0);
        for start in (0..bytes.len()).step_by(4096) {
            let end = bytes.len().min(start + 4096);
            let mut zeros = bytes.clone();
            zeros[start..end].fill(0);
            let zeroed = save(&copy(&disk).with_file(PATH, zeros), PATH, none.clone()).unwrap();
            let (report, rows) = save(&disk, PATH, start as u64..end as u64).unwrap();
            let mut known = report.clone();
            known.bytes_unreadable = 0;
            assert!((known, &rows) == (zeroed.0, &zeroed.1), "block at {start}: {report:?}");
            // A row is as it was, or has lost its value, which is counted.
            let mut changed = 0;
            for (key, (signature, value)) in &rows {
                let right = all.get(key).filter(|right| right.0 == *signature);
                assert!(report.deletions_may_return || right.is_some(), "another row");
                let lost = right.is_some_and(|right| right.1 != *value);
                assert!(!lost || value.is_none() || report.deletions_may_return, "another value");
                changed += u64::from(lost && value.is_none());
            }
            assert!(report.deletions_may_return || changed <= report.rows_without_value);
            assert!(matches!(report.bytes_unreadable, 0 | 4096), "{report:?}");
            missed += usize::from(report.bytes_unreadable > 0);
            fewer += usize::from(rows.len() < all.len());
        }
        println!("{} bytes: {missed} blocks were missed, {fewer} had rows", bytes.len());
        assert!(missed > 3 && fewer > 1, "{missed} {fewer}");
        let nothing = save(&disk, PATH, 0..u64::MAX);
        assert!(matches!(nothing, Err(Error::Io { operation: "read", .. })), "{nothing:?}");
    }
}

/// The report says if a log cannot be read or has lost a part.
#[test]
fn a_salvage_says_which_commits_are_lost() {
    let history = maintenance::killed();
    let disk = copy(history.files.running());
    let (report, all) = save(&disk, PATH, 0..0).unwrap();
    let (last, replayed) = (history.model.last(), report.commits_replayed);
    assert!(replayed > 1 && report.commits_lost.is_none());
    let log = format!("{PATH}-hot/log");
    let length = disk.contents(&log).unwrap().len();
    let mut seen = BTreeSet::new();
    for at in (0..length).step_by(64) {
        let saved = save(&disk, &log, at as u64..at as u64 + 64).unwrap();
        let cut = disk.contents(&log).unwrap()[..at].to_vec();
        let short = save(&copy(&disk).with_file(&log, cut), PATH, 0..0).unwrap();
        for (report, rows) in [saved, short] {
            let kept = last - replayed + report.commits_replayed;
            assert!(rows == maintenance::rows_after(&history, kept), "{at}");
            assert_eq!(report.commits_lost, (kept < last).then_some((kept + 1, last)), "{at}");
            assert!(kept == last || report.log_damage.is_some(), "{at}");
            seen.insert(report.commits_replayed);
        }
    }
    assert!(seen.len() as u64 >= replayed, "{seen:?}");
    let id = format!("{PATH}-hot/id");
    let (report, _) = save(&disk, &id, 0..1).unwrap();
    assert!(report.log_damage.is_some() && report.commits_replayed == 0);
    let gone = copy(&disk);
    gone.remove_dir_all(Path::new(&format!("{PATH}-hot"))).unwrap();
    let (report, rows) = save(&gone, PATH, 0..0).unwrap();
    assert_eq!(report.commits_lost, Some((last - replayed + 1, last)));
    assert!(report.log_damage.is_some() && rows != all);
}

/// Returns the bytes of all logs, in place or quarantined.
fn logs(disk: &MemoryFiles) -> Vec<Vec<u8>> {
    let log = |path: &Path| path.file_name().is_some_and(|name| name == "log");
    bytes_of(disk)
        .into_iter()
        .filter(|(path, _)| log(path))
        .filter_map(|(_, bytes)| bytes)
        .collect()
}

#[test]
fn every_failure_of_opening_in_salvage_mode_keeps_what_can_be_read_and_the_damaged_log() {
    let (disk, rows) = maintenance::cut_short();
    let act = |layer: &Layer| maintenance::open_salvaging(layer).and_then(ringer::Database::close);
    let (tries, failed) = try_each(&disk, act, |left, _, _| {
        assert!(logs(left) == logs(&disk), "the damaged log is gone");
        match open(&copy(left)) {
            Ok(db) => assert!(rows_of(&db.snapshot()) == rows),
            Err(Error::LogDamaged { .. } | Error::LogMissing { .. }) => {}
            Err(error) => panic!("{error}"),
        }
        let again = copy(left);
        let db = maintenance::open_salvaging(&(Arc::new(again.clone()) as Layer)).unwrap();
        assert!(rows_of(&db.snapshot()) == rows);
        db.close().unwrap();
        assert!(logs(&again) == logs(&disk), "the damaged log is gone");
        check_whole(&(Arc::new(again) as Layer), PATH, &rows);
    });
    println!("salvage mode: {tries} failures, {failed} of them reported");
    assert!(failed * 10 >= tries * 7, "{failed} of {tries}");
}
