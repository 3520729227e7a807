//! The state that a database file records. In: commits, bulk loads and handmade files. Out: superblock, manifest and
//! mark as `store::state_file` reads them. Their counts are correct, a state that another process is writing is read
//! again, and a mark of another log is ignored.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use ringer::internals::format::bytes::Seal;
use ringer::internals::format::commit_mark::{CommitMark, MARK_OFFSET};
use ringer::internals::format::manifest::SegmentEntry;
use ringer::internals::format::superblock::Superblock;
use ringer::internals::format::{BLOCK, DATA_START};
use ringer::internals::store::file_layer::memory::MemoryFiles;
use ringer::internals::store::file_layer::{Access, File, FileLayer, Identity};
use ringer::internals::store::state_file::{self, FileState};
use ringer::{Database, Error, Options, Result, Scheme};

const PATH: &str = "/corpus.ringer";

fn options() -> Options {
    Options::default().with_background(false).with_merge(false)
}

fn create(files: &MemoryFiles) -> Database {
    let layer = Arc::new(files.clone());
    Database::create_in(layer, Path::new(PATH), &Scheme::precise(), options()).unwrap()
}

fn file(files: &MemoryFiles, access: Access) -> Arc<dyn File> {
    files.open(Path::new(PATH), access).unwrap()
}

fn state(files: &MemoryFiles) -> FileState {
    state_file::read(&*file(files, Access::Read), Path::new(PATH)).unwrap()
}

/// Returns the bytes before the manifest that are in no extent of the state.
fn unused(state: &FileState) -> u64 {
    let blocks = state.manifest.segments.iter().flat_map(SegmentEntry::extents);
    let used: u64 = blocks.map(|block| block.length).sum();
    state.superblock.manifest_offset - DATA_START - used
}

#[test]
fn dead_bytes_are_those_in_no_extent() {
    let files = MemoryFiles::new();
    let db = create(&files);
    let mut dead = Vec::new();
    for key in ["a", "b", "a", "c"] {
        db.put(key, &[1, 2, 3]).unwrap();
        db.put("d", &[4]).unwrap();
        db.checkpoint().unwrap();
        let state = state(&files);
        let manifest = state.manifest.encode().len().next_multiple_of(64) as u64;
        assert_eq!(
            ringer::internals::format::manifest::Manifest::padded_bytes(
                state.manifest.segments.len()
            ),
            manifest
        );
        assert_eq!(state.superblock.end_of_data, state.superblock.manifest_offset + manifest);
        assert_eq!(state.manifest.dead_bytes, unused(&state));
        dead.push(state.manifest.dead_bytes);
    }
    // The first manifest of a new file becomes dead, and each new state makes the previous one dead.
    assert_eq!(dead[0], 128);
    assert!(dead.is_sorted_by(|a, b| a < b), "{dead:?}");
}

/// A changed database is unclean until it is closed, even if no commit went to the write-ahead log.
#[test]
fn a_bulk_load_leaves_the_file_unclean_until_it_is_closed() {
    let files = MemoryFiles::new();
    let db = create(&files);
    let mut load = db.bulk_load();
    load.put("a", &[1, 2]).unwrap();
    load.commit().unwrap();
    let superblock = state(&files).superblock;
    assert_eq!((superblock.clean, superblock.log_number), (false, 0));
    db.close().unwrap();
    assert!(state(&files).superblock.clean);
}

#[test]
fn a_mark_counts_only_for_the_log_that_the_superblock_names() {
    let files = MemoryFiles::new();
    let db = create(&files);
    let generation = state(&files).superblock.generation;
    db.put("a", &[1]).unwrap();
    let found = state(&files);
    assert_eq!(found.superblock.generation, generation + 1);
    let (log, seal) = (found.superblock.log_number, Seal::of(found.superblock.database));
    assert_eq!(found.mark, Some(CommitMark { sequence: 1, log_number: log }));
    let write = |log, superblock: &Superblock| {
        let (file, mark) =
            (file(&files, Access::Write), CommitMark { sequence: 9, log_number: log });
        state_file::write_mark(&*file, Path::new(PATH), seal, mark).unwrap();
        state_file::write_superblock(&*file, Path::new(PATH), superblock).unwrap();
        state(&files).mark
    };
    assert_eq!(MARK_OFFSET, 2 * BLOCK as u64);
    assert!(write(log, &found.superblock).is_some());
    assert_eq!(write(log + 1, &found.superblock), None);
    let without = Superblock { log_number: 0, ..found.superblock.clone() };
    assert_eq!(write(log, &without), None);
    assert_eq!(write(0, &without), None);
}

/// A file whose superblocks are torn for the first few reads.
#[derive(Debug)]
struct Torn {
    file: Arc<dyn File>,
    times: AtomicU32,
    reads: AtomicU32,
}

impl File for Torn {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let read = self.file.read_at(buffer, offset)?;
        if offset == 0 {
            let before = self.reads.fetch_add(1, Ordering::Relaxed);
            if before < self.times.load(Ordering::Relaxed) {
                buffer[100] ^= 1;
                buffer[BLOCK + 100] ^= 1;
            }
        }
        Ok(read)
    }

    fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.file.write_all_at(bytes, offset)
    }

    fn sync(&self) -> io::Result<()> {
        self.file.sync()
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        self.file.set_len(length)
    }

    fn length(&self) -> io::Result<u64> {
        self.file.length()
    }

    fn identity(&self) -> io::Result<Identity> {
        self.file.identity()
    }
}

/// A state that is being written is read again, up to five times in all.
#[test]
fn torn_superblocks_are_read_again() {
    let files = MemoryFiles::new();
    create(&files).close().unwrap();
    let read = |times: u32| -> (Result<FileState>, u32) {
        let (file, reads) = (file(&files, Access::Read), AtomicU32::new(0));
        let torn = Torn { file, times: times.into(), reads };
        (state_file::read(&torn, Path::new(PATH)), torn.reads.into_inner())
    };
    for times in 0..5 {
        let (state, reads) = read(times);
        assert!(state.is_ok());
        assert_eq!(reads, times + 1);
    }
    let (state, reads) = read(5);
    assert!(matches!(state, Err(Error::Corrupt { rule: "SUPER-1", .. })));
    assert_eq!(reads, 5);
}
