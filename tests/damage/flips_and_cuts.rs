//! Damage to a closed file. With any bit flipped, cut anywhere, or with bytes appended, a database gives the same
//! answers as before or a typed error, and every answer that it still gives is correct. It does not panic, run
//! forever, or allocate what damaged lengths dictate.

use testkit::damaged;
use testkit::history;
use testkit::scale::cases;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;
use ringer::internals::format::temporary_mark::{self, TEMPORARY_OFFSET};
use ringer::internals::store::file_layer::FileLayer;
use ringer::internals::store::file_layer::faulty::CrashKind;
use ringer::internals::store::file_layer::memory::MemoryFiles;
use ringer::{Database, Error, Options, Reader, Recovery, Result, Stored};

use damaged::Damaged;
use history::{History, Model, PATH, Step, bytes_of, open, scheme, script, set};
use testkit::allocations::most_in_use;

/// A limit for the bytes in use by all threads together.
const MOST_BYTES: usize = 64 << 20;

/// There are many threads, because some damage makes a reader wait for a possible writer.
const THREADS: usize = 32;

/// The undamaged file and its answers.
struct Original {
    bytes: Arc<Vec<u8>>,
    rows: BTreeMap<Vec<u8>, Stored>,
    absent: Vec<Vec<u8>>,
}

/// Builds about 200 sets in 3 segments: equal, empty, replaced and deleted ones, and long keys.
fn original() -> Original {
    let files = MemoryFiles::new().with_file("/d/other", "");
    let layer = Arc::new(files.clone());
    let options = history::options().with_merge(false).with_memtable_rows(1000);
    let db = Database::create_in(layer, Path::new(PATH), &scheme(), options);
    let db = db.unwrap();
    let key = |i: u64| match i {
        13 => vec![13; 900],
        130 => vec![130; 4096],
        _ => format!("key {:03}", i * 7 % 211).into_bytes(),
    };
    for part in 0..3 {
        let mut batch = db.batch();
        for i in part * 70..part * 70 + 70 {
            let n = if i % 9 == 0 { 5 } else { i % 60 };
            batch.put(key(i), &set(n)).unwrap();
        }
        for i in 0..part * 8 {
            batch.delete(key(i * 5)).unwrap();
            batch.put(key(i * 3 + 1), &set(i + 100)).unwrap();
        }
        db.commit(batch).unwrap();
        db.checkpoint().unwrap();
    }
    assert_eq!(db.stat().unwrap().segments, 3);
    assert!(db.stat().unwrap().hidden_rows > 20);
    db.close().unwrap();
    let bytes = Arc::new(files.contents(PATH).unwrap());
    let reader = Reader::open_in(Arc::new(files), Path::new(PATH), options_of_readers()).unwrap();
    let snapshot = reader.snapshot();
    let rows = snapshot.range::<&[u8]>(..).map(|row| {
        let (key, stored) = row.unwrap();
        (key.into_vec(), stored)
    });
    let rows: BTreeMap<_, _> = rows.collect();
    let absent = (0..210).map(key).filter(|key| !rows.contains_key(key));
    let absent = absent.chain([b"a".to_vec(), b"key 0005".to_vec(), vec![255]]).collect();
    assert!(rows.len() > 180, "{}", rows.len());
    Original { bytes, rows, absent }
}

fn options_of_readers() -> Options {
    Options::default().with_cache_bytes(1 << 20)
}

/// Asserts that an error says what is wrong with the file.
fn check_error(error: &Error) {
    let typed = matches!(
        error,
        Error::Corrupt { .. } | Error::NotADatabase { .. } | Error::UnsupportedFormat { .. }
    );
    assert!(typed, "{error}");
}

impl Original {
    /// Asks a damaged file for everything, and returns whether everything was answered.
    fn check(&self, damaged: Damaged) -> bool {
        let layer = Arc::new(damaged);
        match Reader::open_in(layer, Path::new(PATH), options_of_readers()) {
            Ok(reader) => self.check_answers(&reader.snapshot()),
            Err(error) => {
                check_error(&error);
                false
            }
        }
    }

    fn check_answers(&self, snapshot: &ringer::Snapshot) -> bool {
        let mut errors = 0;
        let mut answer = |found: Result<Option<Stored>>, right: Option<&Stored>| match found {
            Ok(found) => assert_eq!(found.as_ref(), right),
            Err(error) => {
                check_error(&error);
                errors += 1;
            }
        };
        for (key, stored) in &self.rows {
            answer(snapshot.get(key), Some(stored));
        }
        for key in &self.absent {
            answer(snapshot.get(key), None);
        }
        let mut rows = self.rows.iter();
        for row in snapshot.range::<&[u8]>(..) {
            match row {
                Ok((key, stored)) => {
                    let (right_key, right) = rows.next().expect("no more rows than there were");
                    assert_eq!((&*key, &stored), (&**right_key, right));
                }
                Err(error) => {
                    check_error(&error);
                    errors += 1;
                }
            }
        }
        assert!(errors > 0 || rows.next().is_none(), "rows are missing");
        match snapshot.len() {
            Ok(length) => assert_eq!(length, self.rows.len() as u64),
            Err(error) => check_error(&error),
        }
        errors == 0
    }

    /// Tries many kinds of damage, and returns how many changed nothing.
    fn try_all(&self, count: usize, damage: impl Fn(usize) -> Damaged + Sync) -> usize {
        let same = AtomicUsize::new(0);
        let threads = rayon::ThreadPoolBuilder::new().num_threads(THREADS).build().unwrap();
        threads.install(|| {
            (0..count).into_par_iter().panic_fuse().for_each(|i| {
                let checked = catch_unwind(AssertUnwindSafe(|| self.check(damage(i))));
                let all = checked.unwrap_or_else(|panic| {
                    eprintln!("failed with damage {i} of {count}");
                    resume_unwind(panic)
                });
                same.fetch_add(all.into(), Ordering::Relaxed);
            });
        });
        assert!(most_in_use() < MOST_BYTES, "{} bytes in use", most_in_use());
        same.into_inner()
    }
}

#[test]
fn every_flipped_bit_gives_the_same_answers_or_an_error() {
    let original = original();
    assert!(original.check(Damaged::new(&original.bytes)));
    let one_in = cases(17, 1);
    let bits = 8 * original.bytes.len() / one_in;
    let same = original.try_all(bits, |i| Damaged {
        flipped: Some(i * one_in + i % one_in),
        ..Damaged::new(&original.bytes)
    });
    eprintln!("{bits} flips of {} bytes, {same} changed nothing", original.bytes.len());
    assert!((1..bits).contains(&same));
}

#[test]
fn every_cut_gives_an_error_and_bytes_behind_the_end_change_nothing() {
    let original = original();
    let length = original.bytes.len();
    let one_in = cases(11, 1);
    let same = original.try_all(length / one_in, |i| Damaged {
        length: i * one_in + i % one_in,
        ..Damaged::new(&original.bytes)
    });
    assert_eq!(same, 0, "the file ends where its data ends");
    let more = [1, 7, 63, 64, 4096, 70_000];
    let same = original.try_all(more.len(), |i| Damaged {
        length: length + more[i],
        ..Damaged::new(&original.bytes)
    });
    assert_eq!(same, more.len());
    eprintln!("{} cuts", length / one_in);
}

/// An open for writing finds the damage before it changes anything, or has the same answers.
#[test]
fn a_refused_open_for_writing_leaves_every_byte_as_it_was() {
    let original = original();
    let refused = AtomicUsize::new(0);
    let bits: Vec<usize> = (0..8 * original.bytes.len()).step_by(cases(409, 41)).collect();
    bits.par_iter().panic_fuse().for_each(|bit| {
        let mut bytes = original.bytes.to_vec();
        bytes[bit / 8] ^= 1 << (bit % 8);
        // Adds a tail that recovery would cut off, and files that it would remove.
        bytes.extend_from_slice(&[7; 100]);
        let files = MemoryFiles::new().with_file(PATH, bytes);
        let mut copy = vec![0; TEMPORARY_OFFSET as usize];
        copy.extend(temporary_mark::encode(original.bytes[32..48].try_into().unwrap()));
        copy.extend(b"half a copy");
        let files = files.with_file(format!("{PATH}-vacuum"), copy);
        let before = bytes_of(&files);
        match open(&files) {
            Ok(db) => drop(original.check_answers(&db.snapshot())),
            Err(error) => {
                check_error(&error);
                assert!(bytes_of(&files) == before, "bit {bit}: a refused open changed bytes");
                refused.fetch_add(1, Ordering::Relaxed);
            }
        }
    });
    eprintln!("{} opens, {} refused", bits.len(), refused.into_inner());
}

/// The files of a killed writer: rows in segments, and later commits only in the log.
fn unclean() -> (MemoryFiles, Model, u64) {
    let mut steps = script::beginning();
    let put = |key: &str, n| (key.as_bytes().to_vec(), Some(n));
    steps.extend([
        Step::Commit(vec![put("h1", 1), put("k01", 2)]),
        Step::Commit(vec![(vec![9; 4096], Some(3)), put("h2", 0)]),
        Step::Commit(vec![(b"k04".to_vec(), None)]),
        Step::Commit(vec![put("h3", 4)]),
    ]);
    let history = History::of(&steps);
    let image = history.files.crash_image(history.files.operations(), CrashKind::Killed);
    let checkpointed = history.model.last() - 4;
    (image, history.model, checkpointed)
}

/// Opens a damaged log, in strict and in salvage mode. Returns whether all commits were there. A reader shows what a
/// writer finds, or refuses the log for the same reason.
fn check_log_damage(damaged: &MemoryFiles, model: &Model, checkpointed: u64) -> bool {
    let before = bytes_of(damaged);
    let copy = MemoryFiles::from_entries(damaged.entries());
    let last = model.last();
    let read = |options: Options| {
        let reader = Reader::open_in(Arc::new(damaged.clone()), Path::new(PATH), options)?;
        assert!(bytes_of(damaged) == before, "reading changed bytes");
        model.check(&reader.snapshot());
        Ok::<u64, Error>(reader.snapshot().sequence())
    };
    let seen = read(history::options());
    let opened = open(&copy);
    let found = opened.as_ref().map(|db| db.snapshot().sequence());
    assert_eq!(seen.as_ref().copied(), found, "a reader sees something else");
    let seen = read(history::options().with_recovery(Recovery::Salvage)).unwrap();
    match opened {
        Ok(db) => {
            assert_eq!(db.snapshot().sequence(), last);
            model.check(&db.snapshot());
            return true;
        }
        Err(Error::LogDamaged { readable, marked, .. }) => {
            assert!((checkpointed..last).contains(&readable), "{readable}");
            assert_eq!(marked, Some(last));
        }
        Err(Error::LogMissing { checkpointed: found, marked }) => {
            assert_eq!((found, marked), (checkpointed, Some(last)));
        }
        Err(error) => panic!("{error}"),
    }
    assert!(bytes_of(&copy) == before, "a refused open changed bytes");

    let options = history::options().with_recovery(Recovery::Salvage);
    let layer = Arc::new(damaged.clone());
    let db = Database::open_in(layer, Path::new(PATH), options).unwrap();
    let report = db.open_report().clone();
    let (first_lost, last_lost) = report.commits_lost.expect("the report says what is lost");
    assert_eq!(last_lost, last);
    assert!((checkpointed + 1..=last).contains(&first_lost));
    assert_eq!(report.commits_replayed, first_lost - 1 - checkpointed);
    assert!(report.log_damage.is_some());
    assert_eq!(seen, first_lost - 1, "a reader sees something else");
    model.check_contents(&db.snapshot(), model.at(first_lost - 1));
    assert_eq!(db.put("after", &set(1)).unwrap().sequence, last + 1, "a sequence is reused");
    db.close().unwrap();
    // The damaged log is kept in quarantine, unchanged.
    let log = Path::new("/d/corpus.ringer-hot");
    for (path, bytes) in before.iter().filter(|(path, _)| path.starts_with(log)) {
        let kept = report.quarantine.as_ref().expect("it is kept");
        let kept = kept.join(path.strip_prefix(log).unwrap());
        assert_eq!(damaged.contents(&kept), *bytes, "{}", kept.display());
    }
    assert!(open(damaged).unwrap().open_report().clean);
    false
}

/// Changes a file of the log in each of `count` ways, and returns how many of them lost commits.
fn try_log(
    name: &str,
    count: usize,
    one_in: usize,
    change: impl Fn(&mut Vec<u8>, usize) + Sync,
) -> usize {
    let (image, model, checkpointed) = unclean();
    let path = format!("{PATH}-hot/{name}");
    let bytes = image.contents(&path).unwrap();
    let all = 0..count.min(8 * bytes.len());
    let changes = all.into_par_iter().step_by(one_in).panic_fuse();
    let lost = changes.filter(|&i| {
        let mut bytes = bytes.clone();
        change(&mut bytes, i);
        let damaged = MemoryFiles::from_entries(image.entries()).with_file(&path, bytes);
        let checked = AssertUnwindSafe(|| check_log_damage(&damaged, &model, checkpointed));
        !catch_unwind(checked).unwrap_or_else(|panic| {
            eprintln!("failed with change {i} of {name}");
            resume_unwind(panic)
        })
    });
    lost.count()
}

#[test]
fn every_flipped_bit_of_a_log_is_harmless_or_reported() {
    let flip = |bytes: &mut Vec<u8>, bit: usize| bytes[bit / 8] ^= 1 << (bit % 8);
    let lost = try_log("log", usize::MAX, cases(11, 1), flip);
    let in_id = try_log("id", usize::MAX, cases(7, 1), flip);
    eprintln!("{lost} flips in the log and {in_id} in the id lost commits");
    assert!(lost > 0);
    assert_eq!(in_id, 0, "each commit carries the id of its log");
}

#[test]
fn every_cut_of_a_log_is_harmless_or_reported() {
    let (image, model, checkpointed) = unclean();
    for name in ["log", "id"] {
        let length = image.contents(format!("{PATH}-hot/{name}")).unwrap().len();
        let lost = try_log(name, length, 1, Vec::truncate);
        assert_eq!(lost, if name == "log" { length } else { 0 });
        let longer = try_log(name, 100, cases(9, 1), |bytes, more| bytes.extend(vec![0xA5; more]));
        assert_eq!(longer, 0);
    }
    for gone in ["log", "id"] {
        let files = MemoryFiles::from_entries(image.entries());
        files.remove_file(Path::new(&format!("{PATH}-hot/{gone}"))).unwrap();
        assert_eq!(check_log_damage(&files, &model, checkpointed), gone == "id");
    }
    let files = MemoryFiles::from_entries(image.entries());
    files.remove_dir_all(Path::new(&format!("{PATH}-hot"))).unwrap();
    assert!(!check_log_damage(&files, &model, checkpointed));
}

/// A damaged mark counts as absent, and nothing depends on it.
#[test]
fn every_flipped_bit_of_the_mark_is_harmless() {
    let (image, model, checkpointed) = unclean();
    for bit in 8 * 8192..8 * (8192 + 32) {
        let mut bytes = image.contents(PATH).unwrap();
        bytes[bit / 8] ^= 1 << (bit % 8);
        let damaged = MemoryFiles::from_entries(image.entries()).with_file(PATH, bytes);
        assert!(check_log_damage(&damaged, &model, checkpointed), "bit {bit}");
    }
}
