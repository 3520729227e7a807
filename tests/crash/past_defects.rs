//! Regression tests for defects found by crash and fault tests, each in its smallest form. Each comment describes the
//! defect.

use testkit::history;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ringer::internals::store::file_layer::FileLayer;
use ringer::internals::store::file_layer::faulty::{
    Change, CrashKind, Failure, Fault, FaultyFiles,
};
use ringer::internals::store::file_layer::memory::MemoryFiles;
use ringer::{Error, Reader};

use history::{History, PATH, Step, create, names_of, open, options, script, set};

fn empty() -> MemoryFiles {
    MemoryFiles::new().with_file("/d/other", "")
}

/// Builds a closed database with one set.
fn closed() -> MemoryFiles {
    let files = empty();
    let db = create(&files).unwrap();
    db.put("a", &set(1)).unwrap();
    db.close().unwrap();
    files
}

fn beside(ending: &str) -> PathBuf {
    PathBuf::from(format!("{PATH}{ending}"))
}

/// The manifest listed segments in the order in which they were added, while their numbers were assigned when they
/// were started. The numbers were then not ascending, and the next open refused the manifest (MAN-4).
#[test]
fn a_segment_begun_before_a_checkpoint_and_added_after_it_can_be_read_again() {
    let files = empty();
    let db = create(&files).unwrap();
    let mut load = db.bulk_load();
    (0..100).for_each(|i| load.put(format!("b{i}"), &set(i)).unwrap());
    db.put("a", &set(1)).unwrap();
    load.commit().unwrap();
    db.close().unwrap();
    assert_eq!(open(&files).unwrap().snapshot().len().unwrap(), 101);
}

/// The write-ahead log expected the sequence that the bulk load had taken, and poisoned the writer.
#[test]
fn a_commit_follows_a_bulk_load() {
    let files = empty();
    let db = create(&files).unwrap();
    db.put("a", &set(1)).unwrap();
    let mut load = db.bulk_load();
    load.put("b", &set(2)).unwrap();
    assert_eq!(load.commit().unwrap().sequence, 2);
    assert_eq!(db.put("c", &set(3)).unwrap().sequence, 3);
}

/// A create that was killed between its link and its unlink left a file with two names, which no open accepted.
#[test]
fn a_leftover_second_name_of_a_new_file_does_not_block_opening() {
    let files = closed();
    files.link(Path::new(PATH), &beside("-new")).unwrap();
    drop(open(&files).unwrap());
    assert_eq!(names_of(&files, PATH), [PathBuf::from(PATH)]);
    files.link(Path::new(PATH), Path::new("/d/second")).unwrap();
    assert!(matches!(open(&files), Err(Error::InvalidArgument { .. })));
}

/// A create that was killed before its file had its final name left a temporary file that nothing removed. A file of
/// somebody else under that name is not touched (TEMP-1).
#[test]
fn what_an_unfinished_create_left_is_replaced() {
    let whole = FaultyFiles::resume(empty());
    create(&whole).unwrap().close().unwrap();
    let named = whole.changes().iter().position(|change| matches!(change, Change::Rename { .. }));
    for at in 0..named.unwrap() {
        for kind in whole.images_at(at) {
            let files = whole.crash_image(at, kind);
            create(&files).unwrap().close().unwrap();
            assert_eq!(names_of(&files, PATH), [PathBuf::from(PATH)], "{at} {kind:?}");
        }
    }
    let files = empty().with_file(beside("-new"), "half");
    assert_eq!(create(&files).unwrap_err(), Error::Exists { path: beside("-new") });
    assert_eq!(files.contents(beside("-new")).unwrap(), b"half");
}

/// A directory without an id, which no state names, was quarantined without confirmation. It may belong to somebody
/// else (STEP-12).
#[test]
fn a_log_without_id_that_no_state_names_is_refused() {
    let files = closed().with_file(beside("-hot/log"), "remains");
    let before = files.contents(PATH);
    let error = open(&files).unwrap_err();
    assert_eq!(error, Error::NotOurs { path: beside("-hot"), database: PATH.into() });
    assert_eq!(files.contents(beside("-hot/log")).unwrap(), b"remains");
    assert_eq!(files.contents(PATH), before);
}

/// A log was removed file by file under its own name.
#[test]
fn a_log_is_renamed_before_its_files_are_removed() {
    let history = History::of(&[script::beginning(), vec![Step::Close]].concat());
    let changes = history.files.changes();
    let gone = changes.iter().rposition(|change| match change {
        Change::Rename { to, .. } => to.name == "corpus.ringer-hot-new",
        _ => false,
    });
    let after: Vec<_> = changes[gone.unwrap() + 1..].iter().collect();
    assert!(matches!(after[0], Change::SyncDir { .. }), "{after:?}");
    assert!(matches!(after[1], Change::RemoveFile { .. }), "{after:?}");
}

/// Recovery wrote both superblocks, the good one first. A crash during that write left none.
#[test]
fn a_torn_superblock_is_written_from_the_other_and_that_one_is_not_touched() {
    for slot in [0_u64, 1] {
        let mut bytes = closed().contents(PATH).unwrap();
        bytes[slot as usize * 4096 + 50] ^= 1;
        let files = FaultyFiles::resume(MemoryFiles::new().with_file(PATH, bytes));
        let db = open(&files).unwrap();
        assert!(db.open_report().superblock_repaired);
        let writes = files.changes().into_iter().filter_map(|change| match change {
            Change::Write { offset, .. } => Some(offset),
            _ => None,
        });
        assert_eq!(writes.collect::<Vec<_>>(), [4096 * slot]);
    }
}

/// Two equal superblocks were taken as durable, although the process that wrote the second was killed before its
/// sync. The log was removed, and a power cut brought back the superblock that named it.
#[test]
fn unsynced_writes_of_a_killed_writer_are_synced_before_anything_is_removed() {
    let history = History::of(&[script::beginning(), vec![Step::Close]].concat());
    let second = |change: &Change| matches!(change, Change::Write { offset: 4096, .. });
    let killed = history.files.changes().iter().rposition(second).unwrap() + 1;
    let files = history.files.killed_at(killed);
    drop(open(&files).unwrap());
    let opened = files.operations();
    let image = files.crash_image(opened, CrashKind::NothingUnsynced);
    let mut bytes = image.contents(PATH).unwrap();
    // The next change of state is torn in its first superblock.
    bytes[100] ^= 1;
    let disk = MemoryFiles::new().with_file(PATH, bytes);
    history.model.check(&open(&disk).unwrap().snapshot());
}

/// A create or vacuum was killed before its directory was synced, and a bulk load followed. No step of the load
/// synced the directory, and a power cut lost the file with the load in it.
#[test]
fn a_bulk_load_into_a_file_without_a_durable_name_gives_it_one() {
    let files = FaultyFiles::resume(empty());
    drop(create(&files).unwrap());
    let linked = files.changes().iter().position(|change| matches!(change, Change::Rename { .. }));
    let files = files.killed_at(linked.unwrap() + 1);
    let db = open(&files).unwrap();
    let mut load = db.bulk_load();
    load.put("a", &set(1)).unwrap();
    load.commit().unwrap();
    let image = files.crash_image(files.operations(), CrashKind::NothingUnsynced);
    assert_eq!(open(&image).unwrap().snapshot().len().unwrap(), 1);
}

/// A vacuum that failed half way left its copy behind, even after a clean close.
#[test]
fn a_failed_vacuum_leaves_nothing_after_a_close() {
    let history = History::of(&script::beginning());
    let db = history.db.unwrap();
    history.files.arm(Fault::after_syncs(0, Failure::Device));
    assert!(matches!(db.vacuum(), Err(Error::Io { .. })));
    history.files.disarm();
    db.close().unwrap();
    assert_eq!(names_of(history.files.running(), PATH), [PathBuf::from(PATH)]);
}

/// A checkpoint failed and stopped all writing if its log could not be trimmed, although the checkpoint was complete.
#[test]
fn a_log_that_cannot_be_trimmed_costs_only_space() {
    let history = History::of(&script::beginning());
    let db = history.db.as_ref().unwrap();
    db.put("k50", &set(1)).unwrap();
    let before = history.files.operations();
    let twin = History::of(&script::beginning());
    twin.db.as_ref().unwrap().put("k50", &set(1)).unwrap();
    twin.db.as_ref().unwrap().checkpoint().unwrap();
    let is_trim = |change: &Change| match change {
        Change::CreateFile { at, .. } => at.name == "log-new",
        _ => false,
    };
    let trim = twin.files.changes().iter().rposition(is_trim).unwrap();
    history.files.arm(Fault::after(trim - before, Failure::Full));
    db.checkpoint().unwrap();
    assert_eq!(history.files.tripped(), 1);
    db.put("k51", &set(2)).unwrap();
}

/// Cached pages of the old database were returned for the new one.
#[test]
fn a_reader_refreshed_onto_another_database_shows_that_one() {
    let (files, other) = (closed(), empty());
    let db = create(&other).unwrap();
    db.put("z", &set(7)).unwrap();
    db.close().unwrap();
    let reader = Reader::open_in(Arc::new(files.clone()), Path::new(PATH), options()).unwrap();
    assert!(reader.get("a").unwrap().is_some());
    let files = files.with_file(PATH, other.contents(PATH).unwrap());
    reader.refresh().unwrap();
    assert_eq!(reader.get("a").unwrap(), None);
    assert_eq!(reader.get("z").unwrap(), open(&files).unwrap().get("z").unwrap());
}
