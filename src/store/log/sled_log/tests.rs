//! Damage to sled's files. The result is a prefix or a report, never a wrong payload, a panic or a hang.
#![allow(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::arithmetic_side_effects,
    clippy::as_conversions,
    reason = "a test fails by a panic"
)]

use std::collections::BTreeMap;

use super::super::tests::{ID, Place, expected, payload};
use super::*;
use crate::store::file_layer::memory::MemoryFiles;
use crate::store::log::{LogKind, Replayed, create};

/// LOG-9: keys sort as sequences and parts do.
#[test]
fn keys_order_as_sequences_and_parts_do() {
    let places = [(0, 0), (1, 0), (1, 1), (1, 255), (1, 256), (2, 0), (255, 7), (256, 0)];
    let keys = places.map(|(sequence, part)| key(sequence, part));
    assert!(keys.is_sorted());
    assert_eq!(key(0x0102_0304_0506_0708, 0x090a_0b0c), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
}

/// The last commit and the checkpointed sequence of the log below.
const LAST: u64 = 160;
const CHECKPOINTED: u64 = 140;

/// Returns a log that was filled and trimmed several times, so that sled reuses parts of its file, and the path of
/// that file.
fn written(folder: &Path) -> (Place, PathBuf) {
    let place = Place::real(folder, LogKind::Sled);
    let log = place.create();
    for sequence in 1..=LAST {
        let payload = long(sequence);
        log.append(&[Commit { sequence, payload: &payload }]).unwrap();
        if sequence % 20 == 10 {
            log.trim(sequence - 10).unwrap();
        }
    }
    drop(log);
    let log = place.directory.join(NAME).join(LOG);
    let_go(&log);
    (place, log)
}

/// Waits until the threads of a dropped sled are done with its file. It is locked as long as one of them may write
/// to it.
fn let_go(log: &Path) {
    fs::File::open(log).unwrap().lock().unwrap();
}

fn long(sequence: u64) -> Vec<u8> {
    payload(sequence).repeat(6)
}

/// Replays a damaged log and asserts that the result is a prefix of what `written` wrote.
fn prefix_of(place: &Place, what: &str) -> Replayed {
    let (commits, replayed) = place.replay(CHECKPOINTED);
    let right: Vec<_> = (CHECKPOINTED + 1..=replayed.last).map(|s| (s, long(s))).collect();
    assert!(commits == right, "{what}: not a prefix up to {}", replayed.last);
    assert!(replayed.last <= LAST, "{what}");
    replayed
}

/// Replaces the bytes of sled's file.
fn put(log: &Path, bytes: &[u8]) {
    fs::remove_file(log).unwrap();
    fs::write(log, bytes).unwrap();
}

const ALL: Replayed = Replayed { last: LAST, verified: true, damage: None };

/// Returns all files below a directory, with their bytes.
fn all_bytes(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.append(&mut all_bytes(&path));
        } else {
            found.insert(path.clone(), fs::read(path).unwrap());
        }
    }
    found
}

/// LOG-12: a sample of flipped bits, truncations and lost blocks. Damage only ever shortens the result.
///
/// At least one of them should make sled panic. Sled orders a batch at random, so its file differs in every run.
/// For some files, none of these changes makes sled panic. Then the test tries another file.
#[test]
fn damaged_files_give_a_prefix_or_a_report() {
    let panicked = (0..20).any(|_| {
        let folder = tempfile::tempdir().unwrap();
        let (place, log) = written(folder.path());
        let good = fs::read(&log).unwrap();
        assert_eq!(prefix_of(&place, "no damage"), ALL);
        let panics = (0..48).filter(|case| {
            // Spread the damage over the file by the golden ratio, whatever its length.
            let at = (f64::from(*case) * 0.618_034).fract();
            let byte = (at * good.len() as f64) as usize;
            let mut bad = good.clone();
            match case % 3 {
                0 => bad[byte] ^= 1 << (case % 8),
                1 => bad.truncate(byte),
                _ => bad[byte / 512 * 512..].iter_mut().take(512).for_each(|byte| *byte = 0),
            }
            put(&log, &bad);
            let replayed = prefix_of(&place, &format!("case {case} at byte {byte}"));
            replayed.damage.as_deref() == Some(PANICKED)
        });
        let panics = panics.count();
        put(&log, &good);
        assert_eq!(prefix_of(&place, "repaired"), ALL);
        panics > 0
    });
    assert!(panicked, "no case made it panic: the sample is too kind");
}

/// Runs the test above in a separate process, with its panic hook in place. The hook prints sled's panics. All of
/// them end in the thread of the replay or in one of sled's own.
#[test]
fn panics_of_sled_end_in_its_threads_and_reach_the_panic_hook() {
    let name = "store::log::sled_log::tests::damaged_files_give_a_prefix_or_a_report";
    let arguments = ["--exact", name, "--nocapture", "--test-threads=1"];
    let this = std::env::current_exe().unwrap();
    let output = std::process::Command::new(this).args(arguments).output().unwrap();
    let [out, err] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
    assert!(out.contains("1 passed"), "{out}{err}");
    let panics: Vec<&str> = err.lines().filter(|line| line.contains("panicked at")).collect();
    assert!(!panics.is_empty(), "the hook was not called: {err}");
    let threads = ["thread 'ringer-replay'", "thread 'sled-io-"];
    let elsewhere = panics.iter().find(|line| !threads.iter().any(|name| line.starts_with(name)));
    assert_eq!(elsewhere, None);
}

/// LOG-2: a log that a database refers to has at least the opening part.
#[test]
fn a_log_without_its_log_is_damaged() {
    let folder = tempfile::tempdir().unwrap();
    let (place, log) = written(folder.path());
    put(&log, b"");
    let replayed = prefix_of(&place, "an empty log");
    assert_eq!(replayed.last, CHECKPOINTED);
    assert!(replayed.damage.unwrap().contains("LOG-7"));
    fs::remove_file(&log).unwrap();
    let replayed = prefix_of(&place, "no log");
    assert_eq!(replayed.last, CHECKPOINTED);
    assert!(replayed.damage.unwrap().contains("LOG-2"));
}

/// LOG-13: sled opens a copy. The copy is removed afterwards, whether sled could read it or not.
#[test]
fn a_replay_leaves_every_byte_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let (place, log) = written(folder.path());
    let before = all_bytes(&place.directory);
    // The leftover of a killed replay is no obstacle.
    let old = replay_name(&place.directory);
    fs::create_dir_all(old.join(NAME)).unwrap();
    fs::write(old.join(NAME).join(LOG), b"old").unwrap();
    fs::write(old.join(ID_NAME), encode_id(ID, LogKind::Sled)).unwrap();
    assert_eq!(prefix_of(&place, "no damage"), ALL);
    assert_eq!(all_bytes(folder.path()), before, "nothing changed, nothing beside it");
    let length = before[&log].len();
    put(&log, &before[&log][..length / 3]);
    let before = all_bytes(&place.directory);
    let _ = prefix_of(&place, "cut to a third");
    assert_eq!(all_bytes(folder.path()), before);
}

/// LOG-13: an unfinished snapshot would block sled forever.
#[test]
fn an_unfinished_snapshot_does_not_block() {
    let folder = tempfile::tempdir().unwrap();
    let (place, log) = written(folder.path());
    let leftover = log.with_file_name("snap.0000000000001000.generating");
    fs::write(&leftover, b"half a snap").unwrap();
    assert_eq!(prefix_of(&place, "a leftover"), ALL);
    assert!(leftover.exists());
}

fn first_part(sequence: u64, payload: &[u8]) -> Vec<u8> {
    encode_parts(ID, sequence, payload).next().unwrap().1
}

/// LOG-9, LOG-12: what sled returns is trusted only as far as it verifies.
#[test]
fn parts_that_sled_gives_are_checked() {
    type Change = fn(&Db);
    let changes: [(Change, u64, &str); 6] = [
        (|db| drop(db.remove(key(0, 0))), 3, "LOG-7"),
        (|db| drop(db.remove(key(2, 0))), 1, "LOG-12"),
        (|db| drop(db.insert(key(2, 0), b"no part")), 1, "LOG-5"),
        (|db| drop(db.insert(key(4, 0), db.get(key(3, 0)).unwrap().unwrap())), 3, "LOG-9"),
        (|db| drop(db.insert(b"x", b"")), 3, "LOG-5"),
        (|db| drop(db.insert(key(4, 0), first_part(4, &[1; 5000]))), 3, "LOG-12"),
    ];
    for (change, last, rule) in changes {
        let folder = tempfile::tempdir().unwrap();
        let place = Place::real(folder.path(), LogKind::Sled);
        let log = place.create();
        place.append(&*log, 1..=3);
        drop(log);
        // Sled releases its files some time after its last handle is dropped. A copy is free at once.
        let path = place.directory.join(NAME);
        let copy = Copied::of(&path, folder.path().join("changed")).unwrap();
        let db = config(copy.path()).open().unwrap();
        change(&db);
        db.flush().unwrap();
        std::mem::forget(Copied::of(copy.path(), path).unwrap());
        let (commits, replayed) = place.replay(0);
        assert_eq!((commits, replayed.last), (expected(0, last), last), "{rule}");
        assert!(replayed.damage.unwrap().contains(rule), "{rule}");
    }
}

/// Sled never syncs values that it stores outside of its log file.
#[test]
fn an_append_that_leaves_a_blob_is_not_acknowledged() {
    let folder = tempfile::tempdir().unwrap();
    let place = Place::real(folder.path(), LogKind::Sled);
    let log = place.create();
    place.append(&*log, 1..=2);
    fs::write(place.directory.join(NAME).join(BLOBS).join("7"), b"blob").unwrap();
    let append = || log.append(&[Commit { sequence: 3, payload: b"x" }]);
    assert!(matches!(append(), Err(Error::Io { operation: "append to", .. })));
    assert!(matches!(append(), Err(Error::Poisoned { .. })));
}

#[test]
fn sled_on_another_layer_is_refused() {
    let layer: Arc<dyn FileLayer> = Arc::new(MemoryFiles::new());
    let directory = Path::new("/corpus.ringer-hot");
    let error = create(&layer, None, directory, ID, LogKind::Sled);
    let error = error.expect_err("no real files");
    assert!(matches!(error, Error::InvalidArgument { .. }), "{error}");
    assert_eq!(layer.kind(directory).unwrap(), None);
}

/// LOG-14: repeated filling and trimming takes bounded disk space.
#[test]
fn trimming_bounds_the_room_on_disk() {
    let folder = tempfile::tempdir().unwrap();
    let place = Place::real(folder.path(), LogKind::Sled);
    let log = place.create();
    let payload = vec![7; 1 << 19];
    let mut largest = 0;
    for sequence in 1..=60 {
        log.append(&[Commit { sequence, payload: &payload }]).unwrap();
        log.trim(sequence.saturating_sub(2)).unwrap();
        largest = log.disk_bytes().unwrap().max(largest);
    }
    assert!(largest < 16 << 20, "30 MiB went through 1.5 MiB of commits: {largest} bytes");
}
