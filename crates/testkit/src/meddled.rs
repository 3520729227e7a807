//! A file system on which a writer acts between two steps of a reader.
//!
//! In: a history with its writer, the number of an operation, and steps. Out: the answers of the history's files. The
//! steps run just before the operation with this number. So a test can try every place at which a writer may come in
//! between, always in the same order.

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use ringer::internals::store::file_layer::{Access, File, FileLayer, Identity, Kind, Lock, Rights};

use crate::history::{History, Step};

/// The files of a history. Clones share it.
#[derive(Clone)]
pub struct Meddled {
    shared: Arc<Mutex<Shared>>,
}

/// The history, and what is planned.
pub struct Shared {
    pub history: History,
    /// Operations since the steps were planned.
    operations: usize,
    /// The operation before which the steps run, and how many operations in a row have them.
    at: usize,
    times: usize,
    meddling: Meddling,
}

/// What happens between two operations.
type Meddling = Arc<dyn Fn(&mut History) + Send + Sync>;

impl fmt::Debug for Meddled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Meddled")
    }
}

impl Meddled {
    /// Wraps the files of a history. Nothing is planned.
    pub fn new(history: History) -> Meddled {
        let meddling: Meddling = Arc::new(|_| {});
        let shared = Shared { history, operations: 0, at: 0, times: 0, meddling };
        Meddled { shared: Arc::new(Mutex::new(shared)) }
    }

    /// Returns a layer for a reader.
    pub fn layer(&self) -> Arc<dyn FileLayer> {
        Arc::new(self.clone())
    }

    /// Returns the history.
    pub fn shared(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Plans steps before operation `at`, and before the next `times - 1` operations. Counts operations from here.
    pub fn plan(&self, steps: &[Step], at: usize, times: usize) {
        let steps = steps.to_vec();
        let run = move |history: &mut History| {
            let done = steps.iter().try_for_each(|step| history.step(step));
            done.unwrap_or_else(|error| panic!("{error}"));
        };
        self.plan_to(run, at, times);
    }

    /// Like [`plan`](Meddled::plan), for anything else that may happen.
    pub fn plan_to(
        &self,
        meddling: impl Fn(&mut History) + Send + Sync + 'static,
        at: usize,
        times: usize,
    ) {
        let mut shared = self.shared();
        (shared.operations, shared.at, shared.times) = (0, at, times);
        shared.meddling = Arc::new(meddling);
    }

    /// Returns the number of operations since the last plan.
    pub fn operations(&self) -> usize {
        self.shared().operations
    }

    /// Counts an operation, runs the steps if it is their turn, and returns the files.
    fn files(&self) -> Arc<dyn FileLayer> {
        let shared = &mut *self.shared();
        if (shared.at..shared.at + shared.times).contains(&shared.operations) {
            // The reader's thread may hold locks that a writer takes, too.
            let Shared { history, meddling, .. } = shared;
            let done = thread::scope(|scope| scope.spawn(|| meddling(history)).join());
            done.expect("a step panicked");
        }
        shared.operations += 1;
        Arc::new(shared.history.files.running().clone())
    }
}

impl FileLayer for Meddled {
    fn open(&self, path: &Path, access: Access) -> io::Result<Arc<dyn File>> {
        let file = self.files().open(path, access)?;
        Ok(Arc::new(MeddledFile { meddled: self.clone(), file }))
    }

    fn kind(&self, path: &Path) -> io::Result<Option<Kind>> {
        self.files().kind(path)
    }

    fn canonical(&self, path: &Path) -> io::Result<PathBuf> {
        self.files().canonical(path)
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.files().link(from, to)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.files().rename(from, to)
    }

    fn identity(&self, path: &Path) -> io::Result<Option<Identity>> {
        self.files().identity(path)
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.files().remove_file(path)
    }

    fn create_dir(&self, path: &Path) -> io::Result<()> {
        self.files().create_dir(path)
    }

    fn names(&self, path: &Path) -> io::Result<Vec<OsString>> {
        self.files().names(path)
    }

    fn remove_dir_all(&self, path: &Path) -> io::Result<()> {
        self.files().remove_dir_all(path)
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        self.files().sync_dir(path)
    }

    fn is_locked(&self, path: &Path) -> io::Result<bool> {
        self.files().is_locked(path)
    }

    fn try_lock(&self, path: &Path, rights: Option<&Rights>) -> io::Result<Option<Box<dyn Lock>>> {
        self.files().try_lock(path, rights)
    }
}

/// An open file. Its reads are operations too.
#[derive(Debug)]
struct MeddledFile {
    meddled: Meddled,
    file: Arc<dyn File>,
}

impl MeddledFile {
    fn file(&self) -> &dyn File {
        drop(self.meddled.files());
        &*self.file
    }
}

impl File for MeddledFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.file().read_at(buffer, offset)
    }

    fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.file().write_all_at(bytes, offset)
    }

    fn sync(&self) -> io::Result<()> {
        self.file().sync()
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        self.file().set_len(length)
    }

    fn length(&self) -> io::Result<u64> {
        self.file().length()
    }

    fn identity(&self) -> io::Result<Identity> {
        self.file().identity()
    }

    fn try_lock(&self) -> io::Result<bool> {
        self.file().try_lock()
    }

    fn unlock(&self) -> io::Result<()> {
        self.file().unlock()
    }

    fn is_locked(&self) -> io::Result<bool> {
        self.file().is_locked()
    }
}
