//! Tests of what every kind of log promises, run on both.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use super::*;
use crate::format::log_part::MAX_PAYLOAD;
use crate::store::companions::Leftover;
use crate::store::file_layer::memory::MemoryFiles;
use crate::store::file_layer::real::RealFiles;

pub(super) const ID: LogId = LogId { database: *b"0123456789abcdef", number: 7 };

/// A place for a log, and its file layer.
#[derive(Clone)]
pub(super) struct Place {
    pub(super) layer: Arc<dyn FileLayer>,
    pub(super) directory: PathBuf,
    pub(super) kind: LogKind,
}

impl Place {
    pub(super) fn real(folder: &Path, kind: LogKind) -> Place {
        let directory = folder.join("corpus.ringer-hot");
        Place { layer: Arc::new(RealFiles), directory, kind }
    }

    pub(super) fn create(&self) -> Box<dyn Log> {
        self.try_create().expect("a new log")
    }

    pub(super) fn try_create(&self) -> Result<Box<dyn Log>> {
        create(&self.layer, None, &self.directory, ID, self.kind)
    }

    /// Returns the commits after `after`, and the result of the replay.
    pub(super) fn replay(&self, after: u64) -> (Vec<(u64, Vec<u8>)>, Replayed) {
        self.replay_as(ID, after)
    }

    pub(super) fn replay_as(&self, id: LogId, after: u64) -> (Vec<(u64, Vec<u8>)>, Replayed) {
        let mut commits = Vec::new();
        let mut visit = |sequence, payload| {
            commits.push((sequence, payload));
            Ok(())
        };
        let replayed = replay(&self.layer, &self.directory, id, after, &mut visit);
        (commits, replayed.expect("a replay"))
    }

    /// Appends the commits `sequences` one by one, with payloads from [`payload`].
    pub(super) fn append(&self, log: &dyn Log, sequences: std::ops::RangeInclusive<u64>) {
        for sequence in sequences {
            let payload = payload(sequence);
            log.append(&[Commit { sequence, payload: &payload }]).expect("an append");
        }
    }

    /// Asserts that a replay gives exactly the commits `after + 1 ..= last`, without damage.
    pub(super) fn holds(&self, after: u64, last: u64) {
        let (commits, replayed) = self.replay(after);
        assert_eq!(replayed, Replayed { last, verified: true, damage: None });
        assert_eq!(commits, expected(after, last));
    }
}

pub(super) fn expected(after: u64, last: u64) -> Vec<(u64, Vec<u8>)> {
    (after..last).map(|before| before + 1).map(|sequence| (sequence, payload(sequence))).collect()
}

/// Returns a payload for a commit: empty, short, or up to five parts long.
pub(super) fn payload(sequence: u64) -> Vec<u8> {
    let lengths = [0, 1, 30, MAX_PAYLOAD, 5000, MAX_PAYLOAD + 1, 2 * MAX_PAYLOAD, 19_000];
    let length = lengths[sequence as usize % lengths.len()];
    (0..length as u64).map(|i| (i * 7 + sequence * 131) as u8).collect()
}

/// Runs a test for both kinds on the real file system, and for the plain file in memory.
fn on_every_kind(promise: fn(&Place)) {
    for kind in [LogKind::Sled, LogKind::Plain] {
        let folder = tempfile::tempdir().unwrap();
        promise(&Place::real(folder.path(), kind));
    }
    let layer = Arc::new(MemoryFiles::new());
    promise(&Place { layer, directory: "/corpus.ringer-hot".into(), kind: LogKind::Plain });
}

/// LOG-1, LOG-7: a new log has its id and no commits.
#[test]
fn a_new_log_is_empty_and_says_whose_it_is() {
    on_every_kind(|place| {
        assert_eq!(identify(&place.layer, &place.directory).unwrap(), Found::Nothing);
        let log = place.create();
        assert!(log.disk_bytes().unwrap() > 0);
        let found = identify(&place.layer, &place.directory).unwrap();
        assert_eq!(found, Found::Log(ID, place.kind));
        drop(log);
        place.holds(0, 0);
        place.holds(41, 41);
    });
}

#[test]
fn commits_of_all_lengths_come_back_after_the_log_is_dropped() {
    on_every_kind(|place| {
        let log = place.create();
        place.append(&*log, 1..=20);
        drop(log);
        place.holds(0, 20);
        place.holds(0, 20);
    });
}

/// A killed writer runs no destructors, so acknowledged commits must be readable while the log is open.
#[test]
fn commits_are_there_while_the_writer_still_has_the_log() {
    on_every_kind(|place| {
        let log = place.create();
        place.append(&*log, 1..=9);
        place.holds(0, 9);
        place.append(&*log, 10..=11);
        place.holds(0, 11);
    });
}

/// LOG-11: checkpointed commits are skipped, whether they were trimmed or not.
#[test]
fn checkpointed_commits_are_skipped() {
    on_every_kind(|place| {
        let log = place.create();
        place.append(&*log, 5..=12);
        drop(log);
        place.holds(4, 12);
        place.holds(8, 12);
        place.holds(12, 12);
        place.holds(u64::MAX, u64::MAX);
    });
}

#[test]
fn one_append_takes_many_commits() {
    on_every_kind(|place| {
        let log = place.create();
        let payloads: Vec<_> = (1..=300).map(payload).collect();
        let commits: Vec<_> =
            (1..).zip(&payloads).map(|(sequence, payload)| Commit { sequence, payload }).collect();
        log.append(&commits[..100]).unwrap();
        log.append(&[]).unwrap();
        log.append(&commits[100..]).unwrap();
        drop(log);
        place.holds(0, 300);
    });
}

#[test]
fn a_payload_of_many_parts_comes_back() {
    on_every_kind(|place| {
        let log = place.create();
        let payload: Vec<u8> = (0..3_000_000_u32).map(|i| (i.wrapping_mul(i) >> 7) as u8).collect();
        log.append(&[Commit { sequence: 1, payload: &payload }]).unwrap();
        drop(log);
        let (commits, replayed) = place.replay(0);
        assert_eq!(replayed, Replayed { last: 1, verified: true, damage: None });
        assert!(commits == [(1, payload)]);
    });
}

/// LOG-14: trimmed commits are gone, the others stay, and appends go on.
#[test]
fn trimmed_commits_are_forgotten() {
    on_every_kind(|place| {
        let log = place.create();
        place.append(&*log, 1..=30);
        log.trim(0).unwrap();
        place.holds(0, 30);
        log.trim(20).unwrap();
        place.append(&*log, 31..=33);
        place.holds(20, 33);
        log.trim(20).unwrap();
        log.trim(33).unwrap();
        place.append(&*log, 34..=35);
        place.holds(33, 35);
        let (commits, replayed) = place.replay(0);
        assert_eq!((commits, replayed.last), (vec![], 0));
        assert!(replayed.damage.unwrap().contains("LOG-12"), "a gap is damage");
        drop(log);
        place.holds(33, 35);
    });
}

/// LOG-14: commits that arrive during a trim are kept.
#[test]
fn appends_and_trims_of_two_threads_keep_every_commit() {
    on_every_kind(|place| {
        let log = place.create();
        let last = AtomicU64::new(0);
        let (log, last) = (&*log, &last);
        let checkpointed = std::thread::scope(|scope| {
            let trims = scope.spawn(move || {
                loop {
                    let seen = last.load(Ordering::SeqCst);
                    log.trim(seen.saturating_sub(seen % 7)).unwrap();
                    if seen == 300 {
                        return seen - seen % 7;
                    }
                }
            });
            for sequence in 1..=300 {
                place.append(log, sequence..=sequence);
                last.store(sequence, Ordering::SeqCst);
            }
            trims.join().unwrap()
        });
        place.holds(checkpointed, 300);
    });
}

/// LOG-8: the log takes only the next commit. Sequences that a bulk load checkpointed may be skipped.
#[test]
fn a_gap_between_commits_is_refused() {
    on_every_kind(|place| {
        let log = place.create();
        let refused = |sequences: &[u64]| {
            let commits: Vec<_> =
                sequences.iter().map(|&sequence| Commit { sequence, payload: b"x" }).collect();
            let error = log.append(&commits).expect_err("not the next one");
            assert!(matches!(error, Error::InvalidArgument { .. }), "{error}");
        };
        refused(&[0]);
        refused(&[3, 5]);
        place.append(&*log, 3..=4);
        [[4, 5], [6, 7], [5, 5], [5, 4], [0, 1]].iter().for_each(|sequences| refused(sequences));
        place.append(&*log, 5..=5);
        place.holds(2, 5);
        log.trim(9).unwrap();
        refused(&[9]);
        refused(&[11]);
        place.append(&*log, 10..=11);
        drop(log);
        place.holds(9, 11);
    });
}

/// LOG-8: checkpointed sequences need not have been in the log, even without a trim.
#[test]
fn a_gap_below_the_checkpointed_commit_is_none() {
    on_every_kind(|place| {
        let log = place.create();
        place.append(&*log, 1..=3);
        log.trim(5).unwrap();
        place.append(&*log, 6..=8);
        drop(log);
        place.holds(5, 8);
        place.holds(7, 8);
    });
}

/// LOG-4, LOG-12: a log of another database gives nothing and is left alone.
#[test]
fn a_foreign_log_gives_nothing() {
    on_every_kind(|place| {
        let log = place.create();
        place.append(&*log, 1..=3);
        drop(log);
        for other in [LogId { number: 8, ..ID }, LogId { database: [0; 16], ..ID }] {
            let (commits, replayed) = place.replay_as(other, 0);
            assert_eq!((commits, replayed.last), (vec![], 0));
            assert!(replayed.damage.is_some());
        }
        place.holds(0, 3);
    });
}

/// LOG-12: a log without its id file is damaged, but whoever knows the id can read it.
#[test]
fn a_log_without_its_id_is_damaged_and_readable() {
    on_every_kind(|place| {
        let log = place.create();
        place.append(&*log, 1..=3);
        drop(log);
        place.layer.remove_file(&place.directory.join("id")).unwrap();
        let found = identify(&place.layer, &place.directory).unwrap();
        assert!(matches!(found, Found::Unreadable(Error::Corrupt { rule: "LOG-1", .. })));
        let (commits, replayed) = place.replay(0);
        assert_eq!((commits, replayed.last), (expected(0, 3), 3));
        assert!(replayed.damage.unwrap().contains("LOG-1"));
        let (commits, replayed) = place.replay_as(LogId { number: 8, ..ID }, 0);
        assert_eq!((commits, replayed.last), (vec![], 0));
    });
}

#[test]
fn a_later_version_or_something_else_in_its_place_is_unreadable() {
    on_every_kind(|place| {
        drop(place.create());
        let path = place.directory.join("id");
        let file = place.layer.open(&path, Access::Write).unwrap();
        file.set_len(ID_BYTES as u64 + 1).unwrap();
        let found = identify(&place.layer, &place.directory).unwrap();
        assert!(matches!(found, Found::Unreadable(Error::Corrupt { rule: "LOG-3", .. })));
        place.layer.remove_dir_all(&place.directory).unwrap();
        place.layer.open(&place.directory, Access::CreateNew).unwrap();
        let found = identify(&place.layer, &place.directory).unwrap();
        assert!(matches!(found, Found::Unreadable(Error::Corrupt { rule: "LOG-1", .. })));
    });
}

/// LOG-2: nothing is replaced except the leftover of a log that no database ever referred to.
#[test]
fn a_log_is_made_only_where_none_stands() {
    on_every_kind(|place| {
        let leftover = unfinished_name(&place.directory);
        place.layer.create_dir(&leftover).unwrap();
        place.layer.open(&leftover.join("id"), Access::CreateNew).unwrap();
        let log = place.create();
        assert_eq!(place.layer.kind(&leftover).unwrap(), None);
        place.append(&*log, 1..=2);
        let error = place.try_create().expect_err("a log is there");
        assert_eq!(error, Error::Exists { path: place.directory.clone() });
        drop(log);
        place.holds(0, 2);
        remove(&place.layer, &place.directory, ID).unwrap();
        assert_eq!(identify(&place.layer, &place.directory).unwrap(), Found::Nothing);
        drop(place.create());
    });
}

/// An attempt that fails after the rename, and cannot clean up, leaves an empty log. The next attempt replaces it.
#[test]
fn an_empty_log_of_an_earlier_try_is_replaced() {
    on_every_kind(|place| {
        drop(place.create());
        let log = place.create();
        place.append(&*log, 1..=2);
        drop(log);
        place.holds(0, 2);
        let other = LogId { number: ID.number + 1, ..ID };
        remove(&place.layer, &place.directory, ID).unwrap();
        drop(create(&place.layer, None, &place.directory, other, place.kind).unwrap());
        let error = place.try_create().expect_err("the log of another time");
        assert_eq!(error, Error::Exists { path: place.directory.clone() });
    });
}

/// STEP-12: what has the name of a leftover is removed if it is blank or has the id of the database. Anything else
/// is an error and is left alone.
#[test]
fn what_is_no_leftover_is_refused() {
    on_every_kind(|place| {
        let (layer, leftover) = (&place.layer, unfinished_name(&place.directory));
        let found = || unfinished(layer, &place.directory, ID.database).unwrap();
        let write = |name: &str, bytes: &[u8]| {
            let file = layer.open(&leftover.join(name), Access::CreateNew).unwrap();
            file.write_all_at(bytes, 0).unwrap();
        };
        assert_eq!(found(), Leftover::Nothing);
        layer.create_dir(&leftover).unwrap();
        assert_eq!(found(), Leftover::Ours);
        write("id", &[7; ID_BYTES]);
        write("log", &[7; 24]);
        assert_eq!(found(), Leftover::Ours, "what a crash before the first sync leaves");
        write("letter", b"");
        assert_eq!(found(), Leftover::Theirs);
        layer.remove_dir_all(&leftover).unwrap();
        layer.create_dir(&leftover).unwrap();
        write("log", &[7; 25]);
        assert_eq!(found(), Leftover::Theirs);
        let refused = remove_unfinished(layer, &place.directory, ID.database);
        assert!(matches!(refused, Err(Error::NotOurs { path, .. }) if path == leftover));
        let other = LogId { database: [9; 16], ..ID };
        write("id", &encode_id(other, place.kind));
        assert_eq!(found(), Leftover::Theirs);
        layer.remove_file(&leftover.join("id")).unwrap();
        write("id", &encode_id(ID, place.kind));
        assert_eq!(found(), Leftover::Ours);
        remove_unfinished(layer, &place.directory, ID.database).unwrap();
        assert_eq!(found(), Leftover::Nothing);
        layer.open(&leftover, Access::CreateNew).unwrap();
        assert_eq!(found(), Leftover::Theirs);
    });
}

/// STEP-12: a log of another database is not removed.
#[test]
fn a_log_of_another_database_is_not_removed() {
    on_every_kind(|place| {
        drop(place.create());
        let other = LogId { database: [9; 16], ..ID };
        let refused = remove(&place.layer, &place.directory, other);
        assert!(matches!(refused, Err(Error::NotOurs { path, .. }) if path == place.directory));
        place.holds(0, 0);
    });
}

/// LOG-1: an empty directory counts as a log whose file is missing. No file is created in it.
#[test]
fn a_log_that_lost_everything_is_damaged_and_left_as_it_is() {
    on_every_kind(|place| {
        place.layer.create_dir(&place.directory).unwrap();
        let (commits, replayed) = place.replay(3);
        assert_eq!((commits, replayed.last), (vec![], 3));
        assert!(replayed.damage.unwrap().contains("LOG-1"));
        let kind = kind_by_names(&place.layer, &place.directory).unwrap();
        assert_eq!(kind, LogKind::Plain);
    });
}

#[test]
fn a_missing_log_is_told() {
    on_every_kind(|place| {
        let mut visit = |_, _| Ok(());
        let error = replay(&place.layer, &place.directory, ID, 9, &mut visit);
        assert_eq!(error, Err(Error::LogMissing { checkpointed: 9, marked: None }));
    });
}

#[test]
fn an_error_of_the_visitor_ends_the_replay() {
    on_every_kind(|place| {
        let log = place.create();
        place.append(&*log, 1..=9);
        drop(log);
        let mut visited = 0;
        let mut visit = |sequence, _| {
            visited = sequence;
            if sequence < 4 { Ok(()) } else { Err(Error::Locked { path: "stop".into() }) }
        };
        let error = replay(&place.layer, &place.directory, ID, 0, &mut visit);
        assert_eq!((error, visited), (Err(Error::Locked { path: "stop".into() }), 4));
        place.holds(0, 9);
    });
}
