//! An in-memory file system that records how much is read and which names are used.
//!
//! In: the files. Out: the same file system. It panics if a name is used that belongs neither to a database nor to
//! its companions, whatever the file contains. [`Watched::read`] measures work in a unit that is the same on every
//! machine.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ringer::internals::store::file_layer::memory::MemoryFiles;
use ringer::internals::store::file_layer::{Access, File, FileLayer, Identity, Kind, Lock, Rights};

/// The suffixes that may follow the name of a database (format-spec/file.md, log.md, steps.md).
const COMPANIONS: [&str; 16] = [
    "",
    "-new",
    "-lock",
    "-vacuum",
    "-hot",
    "-hot/id",
    "-hot/log",
    "-hot/log-new",
    "-hot-new",
    "-hot-new/id",
    "-hot-new/log",
    "-hot-new/log-new",
    "-hot-new/sled",
    "-hot-replay",
    "-hot-replay/id",
    "-hot-replay/sled",
];

/// The file system, and the databases that may be touched in it.
#[derive(Debug, Clone)]
pub struct Watched {
    pub files: MemoryFiles,
    databases: &'static [&'static str],
    reads: Arc<AtomicU64>,
    bytes: Arc<AtomicU64>,
}

impl Watched {
    /// Wraps a file system in which only these databases may exist or be created.
    pub fn new(files: MemoryFiles, databases: &'static [&'static str]) -> Watched {
        Watched { files, databases, reads: Arc::default(), bytes: Arc::default() }
    }

    /// Returns a shared handle to the same file system.
    pub fn share(&self) -> Arc<dyn FileLayer> {
        Arc::new(self.clone())
    }

    /// Returns the number of reads so far and their total bytes.
    pub fn read(&self) -> (u64, u64) {
        (self.reads.load(Ordering::Relaxed), self.bytes.load(Ordering::Relaxed))
    }

    fn allowed(&self, path: &Path) {
        let text = path.to_str().unwrap_or_default();
        let beside = |database: &&str| {
            let rest = text.strip_prefix(database);
            rest.is_some_and(|rest| COMPANIONS.contains(&rest) || quarantined(rest))
        };
        assert!(self.databases.iter().any(beside), "{} is touched", path.display());
    }

    fn watch(&self, file: Arc<dyn File>) -> Arc<dyn File> {
        let (reads, bytes) = (Arc::clone(&self.reads), Arc::clone(&self.bytes));
        Arc::new(WatchedFile { file, reads, bytes })
    }
}

/// Returns whether this is the numbered name of a quarantined log.
fn quarantined(rest: &str) -> bool {
    let number = rest.strip_prefix("-hot-quarantine-");
    number.is_some_and(|n| !n.is_empty() && n.bytes().all(|byte| byte.is_ascii_digit()))
}

impl FileLayer for Watched {
    fn open(&self, path: &Path, access: Access) -> io::Result<Arc<dyn File>> {
        self.allowed(path);
        Ok(self.watch(self.files.open(path, access)?))
    }

    fn kind(&self, path: &Path) -> io::Result<Option<Kind>> {
        self.allowed(path);
        self.files.kind(path)
    }

    fn canonical(&self, path: &Path) -> io::Result<PathBuf> {
        self.files.canonical(path)
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        [from, to].iter().for_each(|path| self.allowed(path));
        self.files.link(from, to)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        [from, to].iter().for_each(|path| self.allowed(path));
        self.files.rename(from, to)
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.allowed(path);
        self.files.remove_file(path)
    }

    fn create_dir(&self, path: &Path) -> io::Result<()> {
        self.allowed(path);
        self.files.create_dir(path)
    }

    fn names(&self, path: &Path) -> io::Result<Vec<OsString>> {
        self.allowed(path);
        self.files.names(path)
    }

    fn remove_dir_all(&self, path: &Path) -> io::Result<()> {
        self.allowed(path);
        self.files.remove_dir_all(path)
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        self.files.sync_dir(path)
    }

    fn is_locked(&self, path: &Path) -> io::Result<bool> {
        self.allowed(path);
        self.files.is_locked(path)
    }

    fn try_lock(&self, path: &Path, rights: Option<&Rights>) -> io::Result<Option<Box<dyn Lock>>> {
        self.allowed(path);
        self.files.try_lock(path, rights)
    }
}

#[derive(Debug)]
struct WatchedFile {
    file: Arc<dyn File>,
    reads: Arc<AtomicU64>,
    bytes: Arc<AtomicU64>,
}

impl File for WatchedFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let read = self.file.read_at(buffer, offset)?;
        self.reads.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(read as u64, Ordering::Relaxed);
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

    fn try_lock(&self) -> io::Result<bool> {
        self.file.try_lock()
    }

    fn unlock(&self) -> io::Result<()> {
        self.file.unlock()
    }

    fn is_locked(&self) -> io::Result<bool> {
        self.file.is_locked()
    }
}
