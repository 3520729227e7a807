//! Damage to the log file: every truncation, every flipped bit, every failed operation.
#![allow(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::arithmetic_side_effects,
    clippy::as_conversions,
    reason = "a test fails by a panic"
)]

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::super::tests::{ID, Place, expected, payload};
use super::*;
use crate::error::Error;
use crate::format::log_part::MAX_PAYLOAD;
use crate::store::file_layer::faulty::{Failure, Fault, FaultyFiles};
use crate::store::file_layer::memory::MemoryFiles;
use crate::store::log::LogKind;

const LOG: &str = "/corpus.ringer-hot/log";

fn in_memory() -> (MemoryFiles, Place) {
    let files = MemoryFiles::new();
    let layer = Arc::new(files.clone());
    (files, Place { layer, directory: "/corpus.ringer-hot".into(), kind: LogKind::Plain })
}

/// Returns a log in memory with the commits `1..=last`, and where each of them ends.
fn tier_of(last: u64) -> (MemoryFiles, Place, Vec<usize>) {
    let (files, place) = in_memory();
    let log = place.create();
    let length = || files.contents(LOG).unwrap().len();
    let mut ends = vec![length()];
    for sequence in 1..=last {
        place.append(&*log, sequence..=sequence);
        ends.push(length());
    }
    (files, place, ends)
}

/// LOG-10, LOG-11: a truncated log gives the commits that are whole.
#[test]
fn every_truncation_gives_the_whole_commits_before_it() {
    let (files, place, ends) = tier_of(4);
    let log = files.contents(LOG).unwrap();
    for length in 0..log.len() {
        let _ = files.clone().with_file(LOG, &log[..length]);
        let whole = ends.iter().filter(|&&end| end <= length).count();
        let (commits, replayed) = place.replay(0);
        let last = whole.saturating_sub(1) as u64;
        assert_eq!((commits, replayed.last), (expected(0, last), last), "cut to {length}");
        assert_eq!(replayed.damage.is_some(), whole == 0, "cut to {length}");
    }
}

/// LOG-10: a flipped bit ends the log at the commit that contains it.
#[test]
fn every_flipped_bit_gives_the_whole_commits_before_it() {
    let (files, place, ends) = tier_of(3);
    let log = files.contents(LOG).unwrap();
    for bit in 0..log.len() * 8 {
        // Flip all bits near the ends of commits, and one bit in every other byte.
        let byte = bit / 8;
        let near = ends.iter().any(|&end| byte.abs_diff(end) < 32) || byte < 64;
        if !near && bit % 8 != byte % 8 {
            continue;
        }
        let mut bad = log.clone();
        bad[byte] ^= 1 << (bit % 8);
        let _ = files.clone().with_file(LOG, bad);
        let whole = ends.iter().filter(|&&end| end <= byte).count();
        let (commits, replayed) = place.replay(0);
        let last = whole.saturating_sub(1) as u64;
        assert_eq!((commits, replayed.last), (expected(0, last), last), "bit {bit}");
        assert_eq!(replayed.damage.is_some(), whole == 0, "bit {bit}");
    }
}

/// LOG-12: parts that verify but are in the wrong place are damage, and end the replay.
#[test]
fn commits_out_of_order_are_damage() {
    let (files, place, ends) = tier_of(4);
    let log = files.contents(LOG).unwrap();
    let piece = |sequence: usize| &log[ends[sequence - 1]..ends[sequence]];
    let opening = &log[..ends[0]];
    for (order, last) in [
        (&[1, 3, 4][..], 1),
        (&[1, 2, 2, 3], 2),
        (&[2, 1, 3], 0),
        (&[1, 2, 4, 3], 2),
        (&[1, 2, 3, 1], 3),
    ] {
        let pieces: Vec<_> = order.iter().flat_map(|&sequence| piece(sequence)).copied().collect();
        let _ = files.clone().with_file(LOG, [opening, &pieces].concat());
        let (commits, replayed) = place.replay(0);
        assert_eq!((commits, replayed.last), (expected(0, last), last), "{order:?}");
        assert!(replayed.damage.unwrap().contains("LOG-12"), "{order:?}");
    }
    // Without the opening part, the rest is still read.
    let _ = files.clone().with_file(LOG, &log[ends[0]..]);
    let (commits, replayed) = place.replay(0);
    assert_eq!(commits, expected(0, 4));
    assert!(replayed.damage.unwrap().contains("LOG-7"));
}

/// LOG-6: parts that are not cut as a writer cuts them are damage.
#[test]
fn parts_of_two_commits_are_never_joined() {
    let encoded = |payload: &[u8]| -> Vec<Vec<u8>> {
        crate::format::log_part::encode_parts(ID, 1, payload).map(|(_, part)| part).collect()
    };
    let (two, three) = (encoded(&[1; MAX_PAYLOAD + 9]), encoded(&[2; 3 * MAX_PAYLOAD]));
    let (files, place, ends) = tier_of(0);
    let opening = files.contents(LOG).unwrap()[..ends[0]].to_vec();
    for parts in [[&two[0], &three[1], &three[2]], [&three[0], &two[1], &three[2]]] {
        let bytes: Vec<_> = parts.into_iter().flatten().copied().collect();
        let _ = files.clone().with_file(LOG, [&opening[..], &bytes].concat());
        let (commits, replayed) = place.replay(0);
        assert_eq!((commits, replayed.last), (vec![], 0));
        assert!(replayed.damage.unwrap().contains("LOG-12"));
    }
}

/// LOG-2: a log that a database refers to has its file.
#[test]
fn a_log_without_its_log_is_damaged() {
    let (files, place, _) = tier_of(2);
    files.remove_file(Path::new(LOG)).unwrap();
    let (commits, replayed) = place.replay(0);
    assert_eq!((commits, replayed.last), (vec![], 0));
    assert!(replayed.damage.unwrap().contains("LOG-2"));
}

/// LOG-13, for the plain-file log.
#[test]
fn a_replay_leaves_every_byte_as_it_was() {
    let (files, place, ends) = tier_of(5);
    let all = || -> Vec<_> {
        files.files().into_iter().map(|path| (files.contents(&path), path)).collect()
    };
    let _ = files.clone().with_file(LOG, &files.contents(LOG).unwrap()[..ends[5] - 1]);
    let before = all();
    assert_eq!(place.replay(0).1.last, 4);
    assert_eq!(all(), before);
}

/// Returns a log on a disk that can fail, with the commits 1 to 3.
fn faulty() -> (FaultyFiles, Place, Box<dyn Log>) {
    let files = FaultyFiles::new();
    let layer = Arc::new(files.clone());
    let place = Place { layer, directory: "/corpus.ringer-hot".into(), kind: LogKind::Plain };
    let log = place.create();
    place.append(&*log, 1..=3);
    (files, place, log)
}

/// LOG-15: a failed append may leave parts. If it cannot be undone, nothing is written after it.
#[test]
fn a_log_takes_nothing_after_a_failure_that_is_not_undone() {
    // What fails is the write (not for lack of space), the truncation after it, or one of the syncs.
    for (after, failure, sticky) in [
        (0, Failure::Device, false),
        (0, Failure::Full, true),
        (0, Failure::ShortWrite(3000), true),
        (1, Failure::Full, false),
        (1, Failure::Device, false),
    ] {
        let (files, place, log) = faulty();
        let fault = Fault::after(after, failure);
        files.arm(if sticky { fault.sticky() } else { fault });
        log.append(&[Commit { sequence: 4, payload: &[7; 5000] }]).expect_err("a failure");
        files.disarm();
        assert!(log.is_broken());
        let changes = files.operations();
        for result in [log.append(&[Commit { sequence: 4, payload: b"x" }]), log.trim(2)] {
            assert!(matches!(result, Err(Error::Poisoned { .. })), "{result:?}");
        }
        assert_eq!(files.operations(), changes);
        drop(log);
        let (commits, _) = place.replay(0);
        assert_eq!(commits[..3], expected(0, 3));
    }
}

/// LOG-15: an append that runs out of space leaves the log unchanged and usable.
#[test]
fn an_append_without_space_is_undone() {
    for room in [0, 1, 24, 600, 4096, 5000] {
        let (files, place) = in_memory();
        let log = place.create();
        place.append(&*log, 1..=3);
        let before = files.contents(LOG).unwrap();
        let files = files.limited_to(before.len() as u64 + room);
        for _ in 0..3 {
            let error = log.append(&[Commit { sequence: 4, payload: &[7; 5000] }]);
            assert!(matches!(error, Err(Error::NoSpace { .. })), "{error:?}");
            assert!(!log.is_broken() && files.contents(LOG).unwrap() == before);
        }
        let _ = files.limited_to(1 << 30);
        place.append(&*log, 4..=5);
        log.trim(2).unwrap();
        place.append(&*log, 6..=6);
        place.holds(2, 6);
    }
}

/// LOG-15: an append runs out of space and power fails afterwards. Every acknowledged commit survives, and no
/// commit is joined from parts that were written at different times.
#[test]
fn a_crash_around_an_undone_append_never_joins_two() {
    let payloads = [[1; 9000], [2; 9000]];
    let mut images = 0;
    for written in [0, 1, 100, 512, 4096, 4097, 8192, 9071, 9072, 9500, 20_000] {
        let (files, place, log) = faulty();
        let begun = files.operations();
        files.arm(Fault::after(0, Failure::ShortWrite(written)));
        // A group of commits, so that the first may be written in full.
        let group = [4, 5, 6].map(|sequence| Commit { sequence, payload: &payloads[0] });
        let error = log.append(&group).expect_err("no space");
        assert!(matches!(error, Error::NoSpace { .. }) && !log.is_broken());
        let undone = files.operations();
        log.append(&[Commit { sequence: 4, payload: &payloads[1] }]).unwrap();
        let done = files.operations();
        let mut walk = files.walk().go_to(begun);
        loop {
            for kind in walk.kinds() {
                let place = Place { layer: Arc::new(walk.image(kind)), ..place.clone() };
                let (commits, replayed) = place.replay(0);
                let (old, new) = commits.split_at(3);
                assert_eq!(old, expected(0, 3), "{kind:?}");
                assert_eq!(replayed.damage, None);
                let at = walk.at();
                let from = |payload: &[u8; 9000]| new.iter().all(|(_, found)| found == payload);
                let right = match at {
                    _ if at < undone => from(&payloads[0]),
                    _ if at == undone => new.is_empty(),
                    _ if at < done => from(&payloads[1]) && new.len() <= 1,
                    _ => from(&payloads[1]) && new.len() == 1,
                };
                assert!(right, "{written} bytes, {at} of {undone} and {done}, {kind:?}");
                images += 1;
            }
            if !walk.step() {
                break;
            }
        }
    }
    assert!(images > 200, "{images}");
}

/// LOG-14: a trim that cannot write its new file leaves the old one, and the log stays usable.
#[test]
fn a_trim_without_space_changes_nothing() {
    let (files, place) = in_memory();
    let log = place.create();
    place.append(&*log, 1..=9);
    let files = files.limited_to(100);
    let error = log.trim(2).expect_err("full");
    assert!(matches!(error, Error::NoSpace { .. }), "{error}");
    let _ = files.limited_to(1 << 30);
    place.holds(0, 9);
    place.append(&*log, 10..=10);
    log.trim(8).unwrap();
    place.append(&*log, 11..=11);
    place.holds(8, 11);
}

/// LOG-14: after a panic in any operation of a trim, the log keeps every commit that it accepts.
#[test]
fn a_panic_in_a_trim_loses_no_later_commit() {
    let (mut accepted, mut refused) = (0, 0);
    loop {
        let (files, place, log) = faulty();
        files.arm(Fault::after(accepted + refused, Failure::Panic));
        let trimmed = catch_unwind(AssertUnwindSafe(|| log.trim(2)));
        files.disarm();
        if trimmed.is_ok() {
            break;
        }
        match log.append(&[Commit { sequence: 4, payload: &payload(4) }]) {
            Ok(()) => {
                place.holds(2, 4);
                accepted += 1;
            }
            Err(error) => {
                assert!(matches!(error, Error::Poisoned { .. }), "{error}");
                place.holds(2, 3);
                refused += 1;
            }
        }
    }
    // The last two operations are the rename and the sync of the directory.
    assert!(accepted >= 3 && refused == 2, "{accepted}, {refused}");
}

#[test]
fn a_trimmed_log_is_as_long_as_what_it_holds() {
    let (files, place) = in_memory();
    let log = place.create();
    let opening = log.disk_bytes().unwrap();
    for round in 0..50 {
        place.append(&*log, round * 8 + 1..=round * 8 + 8);
        log.trim(round * 8 + 7).unwrap();
        // The one remaining commit is the eighth, which has no payload.
        assert_eq!(log.disk_bytes().unwrap(), 2 * opening);
    }
    log.trim(400).unwrap();
    assert_eq!(files.contents(LOG).unwrap().len() as u64, opening);
}
