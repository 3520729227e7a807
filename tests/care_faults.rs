//! Failures of the disk while databases are made, copied, saved and mended: whichever operation fails, once or
//! for good, the call says so with a typed error, the old database is as it was, nothing half made has the new
//! one's name, and once the disk works again the next try succeeds.

mod cared;
mod history;

use std::path::Path;
use std::sync::Arc;

use rayon::prelude::*;
use ringer::Error;
use ringer::store::file_layer::faulty::{Failure, Fault, FaultyFiles};
use ringer::store::file_layer::memory::MemoryFiles;

use cared::{Layer, Making, Rows, TARGET, check_whole, copy, rows_of};
use history::{PATH, bytes_of, is_of_the_disk, open};

/// How an operation fails, and whether all after it do, too.
const FAILURES: [(Failure, bool); 5] = [
    (Failure::Device, false),
    (Failure::Full, false),
    (Failure::ShortWrite(40), false),
    (Failure::Device, true),
    (Failure::Full, true),
];

/// Tries `act` with each failure of each of the operations that it makes on this disk, and hands what is left,
/// with the disk working again, to `check`. Gives the number of tries, and how many of them failed.
fn try_each(
    disk: &MemoryFiles,
    act: impl Fn(&Layer) -> ringer::Result<()> + Sync,
    check: impl Fn(&MemoryFiles, bool, bool) + Sync,
) -> (usize, usize) {
    let files = FaultyFiles::resume(copy(disk));
    act(&(Arc::new(files.clone()) as Layer)).unwrap();
    let operations = files.operations();
    let tries: Vec<_> =
        (0..operations).flat_map(|n| FAILURES.map(|failure| (n, failure))).collect();
    let failed = tries.par_iter().panic_fuse().filter(|(n, (failure, sticky))| {
        history::at(
            || format!("operation {n} of {operations}: {failure:?}, for good: {sticky}"),
            || {
                let files = FaultyFiles::resume(copy(disk));
                let fault = Fault::after(*n, *failure);
                files.arm(if *sticky { fault.sticky() } else { fault });
                let done = act(&(Arc::new(files.clone()) as Layer));
                assert!(files.struck() > 0, "nothing failed");
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

/// What a failed making may leave, and what a try after it finds.
fn check_made(making: &Making, disk: &MemoryFiles, done: bool, sticky: bool) {
    making.check_source(disk);
    let there = disk.contents(TARGET).is_some();
    match (done, there) {
        (true, _) => making.check_target(disk),
        (false, false) => making.check_again(disk),
        (false, true) => {
            assert!(sticky, "{} failed, and its work has the name all the same", making.name);
            making.check_target(disk);
        }
    }
}

#[test]
fn every_failure_of_making_a_database_leaves_none_and_the_next_try_succeeds() {
    for making in cared::makings() {
        let check = |disk: &MemoryFiles, done, sticky| check_made(&making, disk, done, sticky);
        let act = |layer: &Layer| making.act_in(layer);
        let (tries, failed) = try_each(&making.disk(), act, check);
        println!("{}: {tries} failures, {failed} of them told", making.name);
        // What is not told is a name that was to go and is removed later.
        assert!(failed * 10 >= tries * 7, "{failed} of {tries}");
    }
}

fn check_mended(disk: &MemoryFiles, rows: &Rows) {
    // Opened as it is, it says what it said before or is whole: rows are never in doubt.
    if let Ok(db) = open(&copy(disk)) {
        assert!(rows_of(&db.snapshot()) == *rows);
    }
    let layer: Layer = Arc::new(copy(disk));
    cared::mend(&layer).unwrap();
    check_whole(&layer, PATH, rows);
}

#[test]
fn every_failure_of_a_repair_leaves_what_can_be_repaired() {
    let (disk, rows) = cared::mendable();
    let (tries, failed) = try_each(&disk, cared::mend, |left, done, _| {
        check_mended(left, &rows);
        if done {
            check_whole(&(Arc::new(copy(left)) as Layer), PATH, &rows);
        }
    });
    println!("repair: {tries} failures, {failed} of them told");
    assert!(failed * 10 >= tries * 7, "{failed} of {tries}");
}

/// Where the log of the hot tier is, or was put aside.
fn logs(disk: &MemoryFiles) -> Vec<Vec<u8>> {
    let log = |path: &Path| path.file_name().is_some_and(|name| name == "log");
    bytes_of(disk)
        .into_iter()
        .filter(|(path, _)| log(path))
        .filter_map(|(_, bytes)| bytes)
        .collect()
}

#[test]
fn every_failure_of_opening_in_salvage_mode_keeps_what_can_be_read_and_the_damaged_tier() {
    let (disk, rows) = cared::cut_short();
    let act = |layer: &Layer| cared::open_salvaging(layer).and_then(ringer::Database::close);
    let (tries, failed) = try_each(&disk, act, |left, _, _| {
        assert!(logs(left) == logs(&disk), "the damaged tier is gone");
        match open(&copy(left)) {
            Ok(db) => assert!(rows_of(&db.snapshot()) == rows),
            Err(Error::HotTierDamaged { .. } | Error::HotTierMissing { .. }) => {}
            Err(error) => panic!("{error}"),
        }
        let again = copy(left);
        let db = cared::open_salvaging(&(Arc::new(again.clone()) as Layer)).unwrap();
        assert!(rows_of(&db.snapshot()) == rows);
        db.close().unwrap();
        assert!(logs(&again) == logs(&disk), "the damaged tier is gone");
        check_whole(&(Arc::new(again) as Layer), PATH, &rows);
    });
    println!("salvage mode: {tries} failures, {failed} of them told");
    assert!(failed * 10 >= tries * 7, "{failed} of {tries}");
}
