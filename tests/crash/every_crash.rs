//! Crashes at every disk change in the history of a database, with every disk state that a crash there can leave. The
//! database opens without help, has every acknowledged commit and no part of any other. The same holds for a crash
//! during recovery from a crash.

use testkit::history;
use testkit::scale::cases;

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use rayon::prelude::*;
use ringer::internals::store::file_layer::faulty::{CrashKind, CrashWalk, FaultyFiles};
use ringer::internals::store::file_layer::memory::MemoryFiles;

use history::{History, PATH, Step, at, create, open, script};

/// Returns the change before a point of a run, as text.
fn last_change(walk: &CrashWalk) -> String {
    let change = walk.at().checked_sub(1).and_then(|i| walk.changes().get(i));
    let mut text = format!("{} changes, {change:?}", walk.at());
    text.truncate(300);
    text
}

/// Whether every write is on the disk either whole or not at all.
fn leaves_whole_writes(kind: CrashKind) -> bool {
    matches!(kind, CrashKind::Killed | CrashKind::NothingUnsynced)
}

/// Checks all crashes of a run from one point on, and returns their number. A quick run checks one in three of those that
/// leave a torn or missing write: they differ in a few bytes.
fn check_all(history: &History, from: usize, wanted: impl Fn(CrashKind) -> bool + Sync) -> usize {
    let mut walk = history.files.walk().go_to(from);
    let mut images = 0;
    loop {
        let mut kinds: Vec<CrashKind> = walk.kinds().into_iter().filter(|k| wanted(*k)).collect();
        if !walk.at().is_multiple_of(cases(3, 1)) {
            kinds.retain(|kind| leaves_whole_writes(*kind));
        }
        images += kinds.len();
        kinds.par_iter().panic_fuse().for_each(|kind| {
            at(
                || format!("{}: {kind:?}", last_change(&walk)),
                || history.check_crash(walk.at(), &walk.image(*kind)),
            );
        });
        if !walk.step() {
            return images;
        }
    }
}

#[test]
fn every_crash_leaves_all_acknowledged_commits_and_no_part_of_another() {
    let history = History::of(&script::all());
    let images = check_all(&history, 0, |_| true);
    eprintln!("{} changes, {images} images", history.files.operations());
}

/// Records the recovery from a disk, and checks every crash during it.
fn check_recovery(history: &History, point: usize, disk: MemoryFiles) -> usize {
    let files = FaultyFiles::resume(disk);
    let db = if files.running().contents(PATH).is_some() { open(&files) } else { create(&files) };
    let db = db.unwrap();
    let opened = files.operations();
    let seen = history.check_opened(point, &db);
    // Later changes are not part of the recovery.
    drop(db);
    let mut walk = files.walk();
    let mut images = 0;
    loop {
        for kind in walk.kinds() {
            let place = || format!("recovery, {}: {kind:?}", last_change(&walk));
            let image = walk.image(kind);
            at(place, || {
                let found = history.check_crash(point, &image);
                assert!(walk.at() < opened || found == seen, "what was seen once is gone");
            });
            images += 1;
        }
        if walk.at() == opened || !walk.step() {
            return images;
        }
    }
}

/// Returns a hash of a disk's contents.
fn fingerprint(disk: &MemoryFiles) -> u64 {
    let mut hasher = DefaultHasher::new();
    for entry in disk.entries() {
        (entry.path, entry.bytes).hash(&mut hasher);
    }
    hasher.finish()
}

#[test]
fn every_crash_of_the_recovery_from_a_crash_leaves_the_same() {
    let history = History::of(&script::all());
    let mut walk = history.files.walk();
    let mut seen = HashSet::new();
    let mut disks = Vec::new();
    loop {
        for kind in walk.kinds() {
            let disk = walk.image(kind);
            let whole = leaves_whole_writes(kind);
            // Of the disks with a torn or missing write, only some are used: they differ in a few bytes.
            if (whole || walk.at().is_multiple_of(7)) && seen.insert(fingerprint(&disk)) {
                disks.push((walk.at(), kind, disk));
            }
        }
        if !walk.step() {
            break;
        }
    }
    let disks: Vec<_> = disks.into_iter().step_by(cases(19, 1)).collect();
    let first = disks.len();
    let images: usize = disks
        .into_par_iter()
        .panic_fuse()
        .map(|(point, kind, disk)| {
            let place = || format!("{}: {kind:?}", last_change(&history.files.walk().go_to(point)));
            at(place, || check_recovery(&history, point, disk))
        })
        .sum();
    eprintln!("{images} images of recovery from {first} disks");
}

/// After a kill the next process sees everything that the killed one wrote, durable or not. A power cut then loses
/// what neither process synced, but nothing that either acknowledged.
#[test]
fn a_power_cut_after_a_kill_takes_nothing_that_was_acknowledged() {
    let history = History::of(&script::all());
    let points: Vec<usize> = (0..=history.files.operations()).step_by(cases(23, 1)).collect();
    let images: usize = points
        .into_par_iter()
        .panic_fuse()
        .map(|point| {
            let mut next = history.killed_at(point);
            let there = next.files.running().contents(PATH).is_some();
            let start = if there { Step::Open } else { Step::Create };
            at(
                || format!("a kill after {}", last_change(&history.files.walk().go_to(point))),
                || {
                    // Starts with a bulk load because it creates no log. Creating a log would sync the directory.
                    for step in [&[start], &*script::afterwards()].concat() {
                        next.step(&step).unwrap_or_else(|error| panic!("{step:?}: {error}"));
                    }
                    check_all(&next, point, |kind| {
                        use CrashKind::{
                            EveryWriteTorn, GarbageSector, LostNames, NothingUnsynced,
                        };
                        matches!(
                            kind,
                            NothingUnsynced | LostNames | GarbageSector(0) | EveryWriteTorn
                        )
                    })
                },
            )
        })
        .sum();
    eprintln!("{images} images of power cuts after kills");
}

/// Checkpoints and merges run concurrently with commits. In whatever order they write, a crash preserves every
/// acknowledged commit.
#[test]
fn crashes_while_checkpoints_and_merges_run_beside_commits() {
    let options = history::options().with_background(true).with_memtable_rows(5);
    let mut images = 0;
    for round in 0..cases(1, 3) {
        let mut history = History::with(options.clone());
        history.step(&Step::Create).unwrap();
        for step in script::many(60, round) {
            history.step(&step).unwrap();
        }
        history.step(&Step::Kill).unwrap();
        images += check_all(&history, 0, |kind| {
            use CrashKind::{GarbageSector, LostWrite, TornWrite, UnwrittenGrowth};
            let single = matches!(kind, GarbageSector(_) | LostWrite(_) | UnwrittenGrowth(_));
            !single && !matches!(kind, TornWrite(..))
        });
    }
    eprintln!("{images} images of crashes beside commits");
}
