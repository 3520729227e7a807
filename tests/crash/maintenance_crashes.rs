//! Crashes of create, copy, salvage, repair and reindex, at every disk change, with every disk state that a crash there can
//! leave, and again during the second attempt. A new database is there completely or not at all, the old one is
//! unchanged, and nothing hinders the next attempt.
//!
//! A full run tries all disks, and continues to a second crash from hundreds of them instead of a few.

use testkit::history;
use testkit::maintenance;
use testkit::scale::cases;

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use rayon::prelude::*;
use ringer::internals::store::file_layer::faulty::{CrashKind, FaultyFiles};
use ringer::internals::store::file_layer::memory::MemoryFiles;
use ringer::{Database, Error};

use history::{PATH, bytes_of, open};
use maintenance::{Layer, Making, Rows, TARGET, check_whole, copy, fingerprint, rows_of};

/// Returns the distinct disks that crashes of a run leave, with the point and kind of the crash.
fn disks_of(files: &FaultyFiles) -> Vec<(usize, CrashKind, MemoryFiles)> {
    let (mut seen, mut disks) = (HashSet::new(), Vec::new());
    files.for_each_crash(|at, kind, disk| {
        if seen.insert(fingerprint(&disk)) {
            disks.push((at, kind, disk));
        }
    });
    disks
}

/// Selects disks to continue to a second crash: undamaged ones, and a share of the others.
fn some(disks: Vec<(usize, CrashKind, MemoryFiles)>) -> Vec<MemoryFiles> {
    let whole = |kind| matches!(kind, CrashKind::Killed | CrashKind::NothingUnsynced);
    let most = (SECOND_DISKS / disks.len().max(1)).clamp(3, 8);
    let disks = disks.into_iter().enumerate();
    let chosen = disks.filter(|(i, (_, kind, _))| whole(*kind) || i % 9 == 0);
    let chosen: Vec<_> = chosen.map(|(_, (.., disk))| disk).collect();
    let step = cases(chosen.len().div_ceil(most), 1);
    chosen.into_iter().step_by(step.max(1)).collect()
}

/// The approximate number of disks of second crashes in a quick run.
const SECOND_DISKS: usize = 500;

/// The approximate number of disks that a quick run checks, of the thousands that one run of a command can leave.
const MOST_DISKS: usize = 400;

/// Checks crashes of creating a database on a disk. Returns how many, and the disks among them that have no new database.
fn crash_making(
    making: &Making,
    disk: MemoryFiles,
) -> (usize, Vec<(usize, CrashKind, MemoryFiles)>) {
    let files = FaultyFiles::resume(disk);
    making.act(files.clone()).unwrap();
    let mut disks = disks_of(&files);
    let one_in = cases(disks.len().div_ceil(MOST_DISKS), 1);
    disks = disks.into_iter().step_by(one_in.max(1)).collect();
    let count = disks.len();
    let without = disks.into_par_iter().panic_fuse().filter(|(at, kind, disk)| {
        history::at(
            || format!("{}, {at} changes, {kind:?}", making.name),
            || {
                making.check_source(disk);
                let there = disk.contents(TARGET).is_some();
                if there {
                    making.check_target(disk);
                    let again = making.act(copy(disk));
                    assert!(matches!(again, Err(Error::Exists { .. })), "{again:?}");
                } else {
                    making.check_again(disk);
                }
                !there
            },
        )
    });
    (count, without.collect())
}

#[test]
fn every_crash_of_making_a_database_leaves_a_whole_one_or_none() {
    for making in maintenance::makings() {
        let (first, without) = crash_making(&making, making.disk());
        let again = some(without);
        let tries = again.len();
        let second: usize = again.into_iter().map(|disk| crash_making(&making, disk).0).sum();
        println!(
            "{}: {first} disks, {second} of the second try after {tries} of them",
            making.name
        );
        assert!(first > 10 && second > 10);
    }
}

/// Repairs a disk, and checks that a crash at any point of the repair leaves a disk that can be repaired.
fn crash_repair(disk: MemoryFiles, rows: &Rows) -> Vec<(usize, CrashKind, MemoryFiles)> {
    let files = FaultyFiles::resume(disk);
    maintenance::mend(&(Arc::new(files.clone()) as Layer)).unwrap();
    let disks = disks_of(&files);
    disks.par_iter().panic_fuse().for_each(|(at, kind, disk)| {
        history::at(
            || format!("repair, {at} changes, {kind:?}"),
            || {
                let layer: Layer = Arc::new(copy(disk));
                maintenance::mend(&layer).unwrap();
                check_whole(&layer, PATH, rows);
            },
        );
    });
    disks
}

/// Also covers the repair of a disk that a crashed repair left, with commits in the write-ahead log.
#[test]
fn every_crash_of_a_second_repair_can_be_repaired() {
    let (disk, rows) = maintenance::mendable();
    let first = crash_repair(disk, &rows);
    let images = first.len();
    let again = some(first);
    let tries = again.len();
    let second: usize = again.into_iter().map(|disk| crash_repair(disk, &rows).len()).sum();
    println!("repair: {images} disks, {second} of the second try after {tries} of them");
    assert!(images > 50 && second > images);
}

/// Reindexes a disk, and checks that a crash at any point leaves the old database or the new one (STEP-13).
fn crash_reindex(
    disk: MemoryFiles,
    [old, new]: [&Rows; 2],
) -> Vec<(usize, CrashKind, MemoryFiles)> {
    let files = FaultyFiles::resume(disk);
    maintenance::reindexed(&(Arc::new(files.clone()) as Layer)).unwrap();
    let disks = disks_of(&files);
    let finished = disks.par_iter().panic_fuse().filter(|(at, kind, disk)| {
        history::at(
            || format!("reindex, {at} changes, {kind:?}"),
            || maintenance::check_reindexed(disk, [old, new]),
        )
    });
    let finished = finished.count();
    assert!(0 < finished && finished < disks.len(), "{finished} of {}", disks.len());
    disks
}

/// Also covers commits that are only in the write-ahead log, and the reindex of a disk that a crashed one left.
#[test]
fn every_crash_of_a_reindex_leaves_the_old_database_or_the_new_one() {
    for history in [maintenance::closed(), maintenance::killed()] {
        let old = maintenance::rows_after(&history, history.model.last());
        let new = maintenance::with_fewer_bits(&old);
        let first = crash_reindex(copy(history.files.running()), [&old, &new]);
        let images = first.len();
        let unfinished = first.into_iter().filter(|(.., disk)| {
            let layer: Layer = Arc::new(copy(disk));
            maintenance::rows_in(&layer, PATH) != new
        });
        let again = some(unfinished.collect());
        let tries = again.len();
        let second: usize =
            again.into_iter().map(|disk| crash_reindex(disk, [&old, &new]).len()).sum();
        println!("reindex: {images} disks, {second} of the second try after {tries} of them");
        assert!(images > 20 && second > images);
    }
}

/// Returns the bytes of all logs, wherever they are.
fn logs(disk: &MemoryFiles) -> Vec<Vec<u8>> {
    let log = |path: &Path| path.file_name().is_some_and(|name| name == "log");
    bytes_of(disk)
        .into_iter()
        .filter(|(path, _)| log(path))
        .filter_map(|(_, bytes)| bytes)
        .collect()
}

/// Opens a disk in salvage mode, and checks that a crash at any point loses neither readable data nor the damaged
/// log.
fn crash_salvaging(disk: MemoryFiles, rows: &Rows) -> Vec<(usize, CrashKind, MemoryFiles)> {
    let log = logs(&disk);
    let files = FaultyFiles::resume(disk);
    let db = maintenance::open_salvaging(&(Arc::new(files.clone()) as Layer)).unwrap();
    assert!(rows_of(&db.snapshot()) == *rows);
    let opened = files.operations();
    drop(db);
    let mut disks = disks_of(&files);
    disks.retain(|(at, ..)| *at <= opened);
    disks.par_iter().panic_fuse().for_each(|(at, kind, disk)| {
        history::at(
            || format!("salvaging, {at} changes of {opened}, {kind:?}"),
            || check_salvaged(disk, rows, &log),
        );
    });
    disks
}

fn check_salvaged(disk: &MemoryFiles, rows: &Rows, log: &[Vec<u8>]) {
    assert!(logs(disk) == log, "the damaged log is gone");
    let strict = copy(disk);
    match open(&strict) {
        Ok(db) => assert!(rows_of(&db.snapshot()) == *rows),
        Err(Error::LogDamaged { .. } | Error::LogMissing { .. }) => {
            assert!(bytes_of(&strict) == bytes_of(disk), "a refused open changed bytes");
        }
        Err(error) => panic!("{error}"),
    }
    let files = copy(disk);
    let layer: Layer = Arc::new(files.clone());
    let db: Database = maintenance::open_salvaging(&layer).unwrap();
    assert!(rows_of(&db.snapshot()) == *rows);
    let last = db.snapshot().sequence();
    assert_eq!(db.put("one more", &[1, 2]).unwrap().sequence, last + 1);
    db.close().unwrap();
    assert!(logs(&files) == log, "the damaged log is gone");
    assert_eq!(rows_of(&open(&files).unwrap().snapshot()).len(), rows.len() + 1);
}

#[test]
fn every_crash_of_opening_in_salvage_mode_keeps_what_can_be_read_and_the_damaged_log() {
    let (disk, rows) = maintenance::cut_short();
    assert_eq!(logs(&disk).len(), 1);
    let first = crash_salvaging(disk, &rows);
    let images = first.len();
    let again = some(first);
    let tries = again.len();
    let second: usize = again.into_iter().map(|disk| crash_salvaging(disk, &rows).len()).sum();
    println!("salvage mode: {images} disks, {second} of the second try after {tries} of them");
    assert!(images > 20 && second > images);
}
