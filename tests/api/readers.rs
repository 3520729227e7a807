//! Readers see acknowledged commits (LOG-16 to LOG-20, MARK-1): all that were acknowledged before they began, none
//! that a writer can take back, and never an older state than before, whatever a writer does between their steps.

use testkit::attacks::watched::Watched;
use testkit::history::{self, History, PATH, Step, bytes_of, options, scheme, set};
use testkit::meddled::Meddled;
use testkit::scale::cases;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ringer::internals::format::batch::{self, Operation};
use ringer::internals::format::log_part::{LogId, encode_parts};
use ringer::internals::format::superblock::{Slot, Superblock};
use ringer::internals::store::file_layer::memory::MemoryFiles;
use ringer::internals::store::file_layer::{Access, FileLayer};
use ringer::{Database, Error, LogKind, Reader, Recovery, Result, Sketcher};

fn put(key: &str, n: u64) -> (Vec<u8>, Option<u64>) {
    (key.into(), Some(n))
}

/// Returns a commit that replaces a row, adds one and deletes one.
fn commit(n: u64) -> Step {
    let gone = format!("k{}", (n + 1) % 5).into_bytes();
    Step::Commit(vec![put(&format!("k{}", n % 5), n), put(&format!("n{n}"), n), (gone, None)])
}

/// Returns a bulk load, which takes a sequence that is never in the log.
fn bulk(n: u64) -> Step {
    Step::Bulk(vec![(b"k1".to_vec(), n), (format!("b{n}").into_bytes(), n + 1)])
}

fn commits(numbers: std::ops::RangeInclusive<u64>) -> Vec<Step> {
    numbers.map(commit).collect()
}

/// Histories before a reader comes. The writer of the first three is alive.
fn beginnings() -> [Vec<Step>; 5] {
    let start = || vec![Step::Create, commit(1), commit(2), Step::Checkpoint];
    let and = |more: Vec<Step>| [start(), more].concat();
    [
        and(commits(3..=4)),
        and(vec![bulk(3)]),
        and(vec![Step::Close, Step::Open]),
        and([commits(3..=4), vec![Step::Kill]].concat()),
        and(vec![commit(3), Step::Close]),
    ]
}

/// What a writer does in between. The first are for a writer that is alive.
fn meddlings(alive: bool) -> Vec<Vec<Step>> {
    use Step::{Checkpoint, Close, Compact, Kill, Open, Vacuum};
    if !alive {
        return vec![
            vec![Open],
            vec![Open, commit(20)],
            vec![Open, commit(20), Checkpoint, commit(21), Kill],
            vec![Open, commit(20), Close],
        ];
    }
    vec![
        vec![commit(20)],
        vec![commit(20), Checkpoint],
        vec![commit(20), Checkpoint, commit(21)],
        vec![Checkpoint, commit(20), Checkpoint, commit(21), commit(22)],
        vec![bulk(20)],
        vec![commit(20), bulk(21), commit(22)],
        vec![commit(20), Compact],
        vec![Checkpoint, bulk(20), Compact, commit(21)],
        vec![Compact, Vacuum, commit(20), Compact],
        vec![Close],
        vec![commit(20), Close, Open],
        vec![Close, Open, commit(20)],
        vec![Close, Open, commit(20), Checkpoint, commit(21)],
        vec![commit(20), Kill],
        vec![commit(20), Kill, Open],
        vec![Kill, Open, commit(20), Close],
    ]
}

/// A history with a reader of its files.
struct Case {
    meddled: Meddled,
    reader: Option<Reader>,
    seen: u64,
}

impl Case {
    fn new(beginning: &[Step]) -> Case {
        Case { meddled: Meddled::new(History::of(beginning)), reader: None, seen: 0 }
    }

    /// Opens the reader or refreshes it, and checks what it shows. Returns the number of operations that this took. The
    /// plan ends with it.
    fn look(&mut self) -> Result<usize> {
        let acknowledged = self.meddled.shared().history.model.last();
        let held = self.reader.as_ref().map(Reader::snapshot);
        match &self.reader {
            Some(reader) => reader.refresh()?,
            None => {
                let opened = Reader::open_in(self.meddled.layer(), Path::new(PATH), options());
                self.reader = Some(opened?);
            }
        }
        let operations = self.meddled.operations();
        self.meddled.plan(&[], 0, 0);
        let snapshot = self.reader.as_ref().unwrap().snapshot();
        let sequence = snapshot.sequence();
        let model = self.meddled.shared().history.model.clone();
        let expected = acknowledged.max(self.seen)..=model.last();
        assert!(expected.contains(&sequence), "it shows {sequence}, not {expected:?}");
        self.seen = sequence;
        model.check(&snapshot);
        if let Some(held) = held {
            model.check(&held);
        }
        Ok(operations)
    }
}

/// Tries every place between two operations of an open, and of a refresh after other commits (LOG-17, LOG-19).
#[test]
fn a_reader_is_right_whatever_a_writer_does_between_its_steps() {
    let (mut tried, mut most) = (0, 0);
    for (number, beginning) in beginnings().iter().enumerate() {
        let alive = number < 3;
        for (steps, refreshed) in meddlings(alive).iter().flat_map(|s| [(s, false), (s, true)]) {
            let one_in = cases(3, 1);
            for at in (tried % one_in..).step_by(one_in) {
                let mut case = Case::new(beginning);
                if refreshed {
                    case.look().unwrap();
                    let more = if alive { vec![commit(10), commit(11)] } else { vec![] };
                    more.iter().for_each(|s| case.meddled.shared().history.step(s).unwrap());
                }
                case.meddled.plan(steps, at, 1);
                let taken = case.look();
                let taken = taken.unwrap_or_else(|e| panic!("{number} {steps:?} before {at}: {e}"));
                if taken <= at {
                    break;
                }
                // Nothing is disturbed any more.
                case.look().unwrap();
                assert_eq!(case.seen, case.meddled.shared().history.model.last());
                (tried, most) = (tried + 1, most.max(at));
            }
        }
    }
    println!("{tried} places, {most} the last one");
    assert!(most > 20);
}

/// A writer appends a commit between two operations of a reader, and has not acknowledged it yet. The reader does not
/// show it (LOG-16), wherever that happens.
#[test]
fn a_reader_does_not_show_a_commit_that_is_appended_meanwhile() {
    for beginning in &beginnings()[..2] {
        for at in 0.. {
            let mut case = Case::new(beginning);
            let append = |history: &mut History| {
                let files = history.files.running();
                let log = files.open(&log_path(), Access::Write).unwrap();
                let whole = record(files, history.model.last() + 1);
                log.write_all_at(&whole, log.length().unwrap()).unwrap();
            };
            case.meddled.plan_to(append, at, 1);
            let taken = case.look().unwrap();
            assert_eq!(case.seen, case.meddled.shared().history.model.last());
            if taken <= at {
                break;
            }
        }
    }
}

/// A reader tries again while the writer trims the log each time (LOG-18). It ends in any case.
#[test]
fn a_reader_ends_whatever_the_writer_does_before_each_step() {
    let meddling = [commit(20), Step::Checkpoint, commit(21)];
    for times in [2, 30, 300, 5_000] {
        let mut case = Case::new(&beginnings()[0]);
        case.meddled.plan(&meddling, 3, times);
        match case.look() {
            Ok(_) => {}
            Err(Error::LogDamaged { .. }) => assert!(times > 300, "{times}"),
            Err(error) => panic!("{error}"),
        }
        case.meddled.plan(&[], 0, 0);
        case.look().unwrap();
        assert_eq!(case.seen, case.meddled.shared().history.model.last());
    }
}

fn superblock(files: &MemoryFiles) -> Superblock {
    let Slot::Valid(superblock) = Superblock::decode(&files.contents(PATH).unwrap()[..4096]) else {
        panic!("it is valid");
    };
    superblock
}

fn log_path() -> PathBuf {
    PathBuf::from(format!("{PATH}-hot/log"))
}

/// Returns the record of a commit that puts one row.
fn record(files: &MemoryFiles, sequence: u64) -> Vec<u8> {
    let superblock = superblock(files);
    let id = LogId { database: superblock.database, number: superblock.log_number };
    let signature = Sketcher::new(&scheme()).sketch(&set(7)).unwrap();
    let operation = Operation { key: (*b"new").into(), signature: Some(signature), value: None };
    encode_parts(id, sequence, &batch::encode(&[operation])).flat_map(|(_, part)| part).collect()
}

fn read(files: &MemoryFiles) -> Result<Reader> {
    Reader::open_in(Arc::new(files.clone()), Path::new(PATH), options())
}

/// A writer appends a commit (C2) and is about to sync it. The commit is not shown, however much of it there is. If
/// the writer is killed, a commit that is there completely is shown, because the next writer keeps it.
#[test]
fn a_commit_that_is_not_acknowledged_is_shown_only_if_no_writer_can_take_it_back() {
    let history = History::of(&beginnings()[0]);
    let (running, last) = (history.files.running(), history.model.last());
    let whole = record(running, last + 1);
    let path = log_path();
    let old = running.contents(&path).unwrap();
    let earlier = read(running).unwrap();
    for length in 0..=whole.len() {
        let log = [&old[..], &whole[..length]].concat();
        let file = running.open(&path, Access::Write).unwrap();
        file.set_len(old.len() as u64).unwrap();
        file.write_all_at(&log, 0).unwrap();
        let reader = read(running).unwrap();
        earlier.refresh().unwrap();
        for reader in [&reader, &earlier] {
            history.model.check(&reader.snapshot());
            assert_eq!(reader.snapshot().sequence(), last, "{length} bytes");
        }
        // No lock is in a copy.
        let killed = MemoryFiles::from_entries(running.entries());
        let before = bytes_of(&killed);
        let reader = read(&killed).unwrap();
        let whole = length == whole.len();
        assert_eq!(reader.snapshot().sequence(), last + u64::from(whole), "{length} bytes");
        assert_eq!(reader.get("new").unwrap().is_some(), whole);
        assert!(bytes_of(&killed) == before, "reading changed bytes");
        let writer = history::open(&killed).unwrap();
        assert_eq!(writer.snapshot().sequence(), reader.snapshot().sequence());
    }
}

/// After a kill, a reader shows a commit after the mark. Then the next writer holds the lock and has changed nothing
/// yet. This reader and new ones still show the commit (LOG-20), even if a copy has replaced the log. The reader refuses
/// a copy that lacks it.
#[test]
fn a_reader_does_not_go_back_when_the_next_writer_begins() {
    let history = History::of(&beginnings()[3]);
    let (files, last) = (history.files.running(), history.model.last());
    let path = log_path();
    let old = files.contents(&path).unwrap();
    let replace = |log: &[u8]| {
        files.remove_file(&path).unwrap();
        files.open(&path, Access::CreateNew).unwrap().write_all_at(log, 0).unwrap();
    };
    let whole = [old.clone(), record(files, last + 1)].concat();
    replace(&whole);
    let reader = read(files).unwrap();
    let lock = files.try_lock(Path::new(&format!("{PATH}-lock")), None).unwrap();
    assert!(lock.is_some() && reader.has_writer().unwrap());
    for _ in 0..2 {
        reader.refresh().unwrap();
        assert_eq!(reader.snapshot().sequence(), last + 1, "a reader went back");
        let new = read(files).unwrap();
        assert_eq!(new.snapshot().sequence(), last + 1, "a new reader shows an older state");
        replace(&whole);
    }
    replace(&old);
    let error = reader.refresh().unwrap_err();
    assert!(matches!(error, Error::LogDamaged { readable, .. } if readable == last), "{error}");
    assert_eq!(reader.snapshot().sequence(), last + 1, "a reader keeps its state");
}

/// A damaged mark does not tell what is acknowledged. With a writer, that is an error until its next commit. Without
/// one, everything in the log counts.
#[test]
fn a_damaged_mark_beside_a_writer_is_an_error_until_the_next_commit() {
    let mut history = History::of(&beginnings()[0]);
    let running = history.files.running().clone();
    let reader = read(&running).unwrap();
    let file = running.open(Path::new(PATH), Access::Write).unwrap();
    let mark = &running.contents(PATH).unwrap()[8192..8192 + 32];
    let last = history.model.last();
    for bit in (0..256).step_by(cases(7, 1)) {
        let mut damaged = mark.to_vec();
        damaged[bit / 8] ^= 1 << (bit % 8);
        file.write_all_at(&damaged, 8192).unwrap();
        let error = read(&running).unwrap_err();
        assert!(matches!(error, Error::Corrupt { rule: "MARK-1", .. }), "bit {bit}: {error}");
        // A reader that has seen all commits needs no mark.
        reader.refresh().unwrap();
        assert_eq!(reader.snapshot().sequence(), last);
        let killed = read(&MemoryFiles::from_entries(running.entries())).unwrap();
        assert_eq!(killed.snapshot().sequence(), last);
    }
    // Salvage shows what can be read, and nothing that a writer may take back.
    let salvage = options().with_recovery(Recovery::Salvage);
    let layer = Arc::new(running.clone());
    let salvaged = Reader::open_in(layer, Path::new(PATH), salvage).unwrap();
    assert_eq!(salvaged.snapshot().sequence() + 2, last);
    history.step(&commit(9)).unwrap();
    reader.refresh().unwrap();
    assert_eq!(reader.snapshot().sequence(), last + 1);
    history.model.check(&reader.snapshot());
}

/// A log without acknowledged commits is refused beside a living writer, too.
#[test]
fn a_log_that_lost_acknowledged_commits_is_refused_beside_a_writer() {
    let history = History::of(&beginnings()[0]);
    let (running, last) = (history.files.running(), history.model.last());
    let whole = running.contents(log_path()).unwrap();
    for length in 0..whole.len() {
        running.open(&log_path(), Access::Write).unwrap().set_len(length as u64).unwrap();
        match read(running).unwrap_err() {
            Error::LogDamaged { readable, marked, .. } => {
                assert_eq!(marked, Some(last));
                assert!((last - 2..last).contains(&readable), "{readable}");
            }
            error => panic!("{length}: {error}"),
        }
        running.open(&log_path(), Access::Write).unwrap().write_all_at(&whole, 0).unwrap();
    }
    assert_eq!(read(running).unwrap().snapshot().sequence(), last);
    running.remove_dir_all(log_path().parent().unwrap()).unwrap();
    let missing = Error::LogMissing { checkpointed: last - 2, marked: Some(last) };
    assert_eq!(read(running).unwrap_err(), missing);
}

/// A refresh follows the log: what it reads depends on the new commits, not on those that it has.
#[test]
fn a_refresh_reads_only_what_is_new() {
    const COMMITS: u64 = 3_000;
    let files = MemoryFiles::new();
    let layer: Arc<dyn FileLayer> = Arc::new(files.clone());
    let options = options().with_memtable_rows(10_000);
    let path = Path::new("/corpus.ringer");
    let db = Database::create_in(layer, path, &scheme(), options.clone()).unwrap();
    let watched = Watched::new(files, &["/corpus.ringer"]);
    let reader = Reader::open_in(Arc::new(watched.clone()), path, options).unwrap();
    for n in 1..=COMMITS {
        db.put(format!("key {n}"), &set(n)).unwrap();
    }
    let log = db.stat().unwrap().log_bytes;
    let before = watched.read().1;
    reader.refresh().unwrap();
    let all = watched.read().1 - before;
    assert!(all > log && all < 3 * log, "{all} of {log} bytes");
    assert_eq!(reader.stat().unwrap().log_bytes, log);
    for more in 1..=20 {
        db.put(format!("more {more}"), &set(more)).unwrap();
        let before = watched.read().1;
        reader.refresh().unwrap();
        let read = watched.read().1 - before;
        assert!(read < 20_000, "{read} bytes were read again, of {log}");
        assert_eq!(reader.snapshot().sequence(), COMMITS + more);
    }
    assert_eq!(reader.commits_in_log(), COMMITS + 20);
}

/// The commits that a reader holds are those of two memtables of the writer at most: the one that is being
/// checkpointed, and the one that is being filled.
#[test]
fn a_reader_holds_no_more_than_two_memtables() {
    const ROWS: usize = 8;
    let mut history = History::of(&[Step::Create]);
    let layer: Arc<dyn FileLayer> = Arc::new(history.files.running().clone());
    let reader = Reader::open_in(layer, Path::new(PATH), options()).unwrap();
    let mut most = 0;
    for n in 0..100 {
        history.step(&commit(n)).unwrap();
        reader.refresh().unwrap();
        history.model.check(&reader.snapshot());
        assert_eq!(reader.snapshot().sequence(), history.model.last());
        most = most.max(reader.stat().unwrap().fresh);
    }
    // A memtable is full after the commit that reaches its limit. Each commit has three operations.
    assert!((ROWS..=2 * (ROWS + 2)).contains(&most), "{most} rows");
}

/// Sled writes when it opens a log, so readers do not read its logs. They tell how many commits they do not show.
#[test]
fn commits_in_a_sled_log_are_counted_and_not_shown() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("corpus.ringer");
    let db = Database::create(&path, &scheme(), options().with_log(LogKind::Sled)).unwrap();
    let reader = Database::open_read_only(&path, options()).unwrap();
    for n in 1..=3 {
        db.put(format!("key {n}"), &set(n)).unwrap();
        reader.refresh().unwrap();
        assert_eq!((reader.snapshot().sequence(), reader.snapshot().len().unwrap()), (0, 0));
        assert_eq!((reader.commits_in_log(), reader.hidden_commits()), (n, n));
    }
    db.checkpoint().unwrap();
    reader.refresh().unwrap();
    assert_eq!((reader.commits_in_log(), reader.hidden_commits()), (0, 0));
    assert_eq!(reader.snapshot().len().unwrap(), 3);
}
