//! A database open for writing.

use std::path::Path;
use std::sync::Arc;

use super::snapshot::Snapshot;
use super::stat::{Stat, stat};
use super::{
    Batch, BulkLoad, CheckReport, Committed, Depth, OpenReport, Reader, RepairReport,
    SalvageReport, Stored,
};
use crate::care::{check, create, recovery, repair, salvage};
use crate::error::Result;
use crate::ingest::pack::pack;
use crate::ingest::{Maintenance, Writer};
use crate::options::Options;
use crate::scheme::Scheme;
use crate::sketch::Sketcher;
use crate::store::file_layer::real::RealFiles;
use crate::store::file_layer::{FileLayer, Rights};
use crate::sync::{Mutex, PoisonError};

/// A database that is open for writing: one file, which nobody else writes meanwhile.
///
/// All methods take `&self`: share it between threads. Commits of several threads are made durable
/// together. Dropping it closes it; [`close`](Database::close) does the same and tells of failures.
///
/// It belongs to the process that opened it. In a process forked from that one every method that returns a
/// `Result` gives [`Error::Forked`](crate::Error::Forked), and dropping it does nothing.
///
/// ```
/// use ringer::{Database, Options, Scheme};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("corpus.ringer");
/// let db = Database::create(&path, &Scheme::precise(), Options::default())?;
/// let mut batch = db.batch();
/// batch.put("a", &[1, 2, 3, 4])?.put("b", &[2, 3, 4, 5])?;
/// db.commit(batch)?;                                  // durable from here on
/// assert!(db.get("a")?.is_some());
/// db.close()?;                                        // one file, nothing beside it
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Database {
    writer: Arc<Writer>,
    maintenance: Mutex<Maintenance>,
    report: OpenReport,
    layer: Arc<dyn FileLayer>,
}

impl Database {
    /// Makes a new database and opens it. Refuses a path where anything stands.
    pub fn create(path: impl AsRef<Path>, scheme: &Scheme, options: Options) -> Result<Database> {
        let path = path.as_ref();
        Database::create_in(Arc::new(RealFiles), path, scheme, options)
    }

    /// Opens a database for writing. After a crash this brings it in order; the
    /// [report](Database::open_report) says what was found.
    pub fn open(path: impl AsRef<Path>, options: Options) -> Result<Database> {
        Database::open_in(Arc::new(RealFiles), path.as_ref(), options)
    }

    /// Opens a database for reading. Needs no lock, changes no byte, and works beside a writer.
    pub fn open_read_only(path: impl AsRef<Path>, options: Options) -> Result<Reader> {
        Reader::open_in(Arc::new(RealFiles), path.as_ref(), options)
    }

    /// Looks for damage. Never writes, and works beside a writer.
    pub fn check(path: impl AsRef<Path>, depth: Depth) -> Result<CheckReport> {
        check::check(&RealFiles, path.as_ref(), depth)
    }

    /// Makes derived data anew: a superblock from its twin, fences, filters and copies from the rows. Drops
    /// no row; refuses if rows themselves are damaged.
    pub fn repair(path: impl AsRef<Path>, options: &Options) -> Result<RepairReport> {
        let layer: Arc<dyn FileLayer> = Arc::new(RealFiles);
        repair::repair(&layer, path.as_ref(), options)
    }

    /// Copies every row that can be verified from a damaged database, which is not changed, into a new one, which has
    /// its name when all of them are in it. Its segments are not merged: the next writer does that, or `compact`.
    pub fn salvage(
        source: impl AsRef<Path>,
        target: impl AsRef<Path>,
        options: Options,
    ) -> Result<SalvageReport> {
        let layer: Arc<dyn FileLayer> = Arc::new(RealFiles);
        salvage::salvage(&layer, source.as_ref(), target.as_ref(), options)
    }

    /// As [`create`](Database::create), in any file layer.
    #[doc(hidden)]
    pub fn create_in(
        layer: Arc<dyn FileLayer>,
        path: &Path,
        scheme: &Scheme,
        options: Options,
    ) -> Result<Database> {
        options.check()?;
        create::create(&layer, path, scheme)?;
        Database::open_in(layer, path, options)
    }

    /// As [`open`](Database::open), in any file layer.
    #[doc(hidden)]
    pub fn open_in(layer: Arc<dyn FileLayer>, path: &Path, options: Options) -> Result<Database> {
        let (writer, report) = recovery::open(&layer, path, options)?;
        let writer = Arc::new(writer);
        let maintenance = Mutex::new(Maintenance::start(&writer));
        Ok(Database { writer, maintenance, report, layer })
    }

    /// What opening it found and did.
    pub fn open_report(&self) -> &OpenReport {
        &self.report
    }

    /// The scheme of all signatures.
    pub fn scheme(&self) -> &Scheme {
        self.writer.scheme()
    }

    /// What turns sets into signatures of this database, for callers that sketch in their own threads.
    pub fn sketcher(&self) -> &Sketcher {
        self.writer.sketcher()
    }

    /// An empty batch.
    pub fn batch(&self) -> Batch {
        self.writer.batch()
    }

    /// Commits a batch: all of its operations or, after a failure, none of them. Durable when it returns.
    pub fn commit(&self, batch: Batch) -> Result<Committed> {
        self.writer.commit(batch)
    }

    /// Commits one set under a key.
    pub fn put(&self, key: impl AsRef<[u8]>, set: &[u64]) -> Result<Committed> {
        let mut batch = self.batch();
        batch.put(key, set)?;
        self.commit(batch)
    }

    /// Commits one set whose elements have [weights](Sketcher::sketch_weighted), or a vector, under a key.
    pub fn put_weighted(&self, key: impl AsRef<[u8]>, set: &[(u64, f64)]) -> Result<Committed> {
        let mut batch = self.batch();
        batch.put_weighted(key, set)?;
        self.commit(batch)
    }

    /// Commits the deletion of a key. Deleting one that is not there is counted, and changes nothing.
    pub fn delete(&self, key: impl AsRef<[u8]>) -> Result<Committed> {
        let mut batch = self.batch();
        batch.delete(key)?;
        self.commit(batch)
    }

    /// Starts a bulk load: the fast way for many sets, which appear all at once when it is committed.
    pub fn bulk_load(&self) -> BulkLoad {
        BulkLoad::new(Arc::clone(&self.writer))
    }

    /// A view of the database as it is now, which stays as it is.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot::new(self.writer.state(), Arc::clone(self.writer.sketcher()))
    }

    /// The set stored under a key, as of now.
    pub fn get(&self, key: impl AsRef<[u8]>) -> Result<Option<Stored>> {
        self.writer.check_process()?;
        self.snapshot().get(key)
    }

    /// Puts all commits into segments of the file. Readers in other processes see them then.
    pub fn checkpoint(&self) -> Result<()> {
        self.writer.checkpoint()
    }

    /// Merges all segments into one and drops all dead bytes.
    pub fn compact(&self) -> Result<()> {
        self.writer.compact()
    }

    /// Drops the bytes of the file that no longer belong to the database's state.
    pub fn vacuum(&self) -> Result<()> {
        self.writer.vacuum()
    }

    /// Writes a compact copy into a new file, for those who may use the original: one segment, no dead bytes.
    /// Refuses a path where anything stands, or that another database uses for its companion files.
    pub fn pack(&self, target: impl AsRef<Path>) -> Result<()> {
        self.writer.check_process()?;
        let state = self.writer.state();
        let (spill, rights) = (self.writer.spill_place(), self.writer.rights()?);
        let rights = rights.map(Rights::of_copy);
        pack(&self.layer, &state, target.as_ref(), create::new_id(), rights, &spill)
    }

    /// Counts and bytes.
    pub fn stat(&self) -> Result<Stat> {
        self.writer.check_process()?;
        let (state, superblock) = (self.writer.state(), self.writer.superblock());
        let stat = stat(&state, &superblock, self.writer.cache(), self.writer.hot_bytes()?)?;
        let merge_failure = self.writer.merge_failure().map(|error| error.to_string());
        Ok(Stat { merge_failure, activity: self.writer.activity(), ..stat })
    }

    /// Closes the database: all commits are in its file, and nothing stands beside it. After a failure
    /// nothing is lost, and the next open goes on from there.
    pub fn close(self) -> Result<()> {
        self.shut()
    }

    fn shut(&self) -> Result<()> {
        self.writer.check_process()?;
        self.maintenance.lock().unwrap_or_else(PoisonError::into_inner).stop();
        self.writer.close()
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        if self.writer.check_process().is_err() {
            // What the writer holds belongs to the process that this one was forked from: it is not even dropped.
            std::mem::forget(Arc::clone(&self.writer));
            return;
        }
        // Closing twice does nothing. Who wants to know of failures calls `close`.
        let _ = self.shut();
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;
    use crate::error::Error;
    use crate::presets;
    use crate::store::file_layer::faulty::{Failure, Fault, FaultyFiles};
    use crate::store::file_layer::memory::MemoryFiles;

    /// Batches that wait for the one before them become one group: each sees what those before it in the group do,
    /// and all have numbers of their own, after a checkpoint, too.
    #[test]
    fn a_group_of_batches_counts_as_one_after_the_other() {
        let layer: Arc<dyn FileLayer> = Arc::new(MemoryFiles::new());
        let path = Path::new("/corpus.ringer");
        let scheme = Scheme::new(presets::PRECISE).unwrap();
        let options = Options { background: false, ..Options::default() };
        let shared = Arc::clone(&layer);
        let db = Database::create_in(shared, path, &scheme, options.clone()).unwrap();
        let put = |key: &str, set: &[u64]| {
            let mut batch = db.batch();
            batch.put(key, set).unwrap();
            batch
        };
        let delete = |key: &str| {
            let mut batch = db.batch();
            batch.delete(key).unwrap();
            batch
        };
        assert_eq!(db.commit(put("first", &[1])).unwrap().sequence, 1);
        let batches = [
            put("a", &[1, 2]),
            delete("a"),
            delete("a"),
            db.batch(),
            put("a", &[3]),
            delete("first"),
            put("b", &[4]),
        ];
        let committed: Vec<Committed> = thread::scope(|scope| {
            let busy = db.writer.hold_up();
            let threads = batches.into_iter().enumerate().map(|(i, batch)| {
                let thread = scope.spawn(|| db.commit(batch).unwrap());
                while db.writer.waiting() <= i {
                    thread::yield_now();
                }
                thread
            });
            let threads: Vec<_> = threads.collect();
            drop(busy);
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let all = |c: &Committed| (c.sequence, c.stored, c.deleted, c.absent);
        assert_eq!(
            committed.iter().map(all).collect::<Vec<_>>(),
            [
                (2, 1, 0, 0),
                (3, 0, 1, 0),
                (4, 0, 0, 1),
                (4, 0, 0, 0),
                (5, 1, 0, 0),
                (6, 0, 1, 0),
                (7, 1, 0, 0),
            ]
        );
        db.checkpoint().unwrap();
        let reader = Reader::open_in(layer, path, options).unwrap();
        let get = |key: &str| reader.get(key).unwrap().map(|stored| stored.signature);
        let set_of = |n: u64| Some(db.sketcher().sketch(&[n]).unwrap());
        assert_eq!((get("first"), get("a"), get("b")), (None, set_of(3), set_of(4)));
        assert_eq!(reader.snapshot().sequence(), 7);
    }

    /// If the caller that commits for others panics, they are told that it is not known what became of their batches.
    #[test]
    fn a_panic_of_the_leader_is_an_error_of_its_followers() {
        let files = FaultyFiles::new();
        let layer: Arc<dyn FileLayer> = Arc::new(files.clone());
        let path = Path::new("/corpus.ringer");
        let options = Options { background: false, ..Options::default() };
        let scheme = Scheme::precise();
        let db = Database::create_in(Arc::clone(&layer), path, &scheme, options.clone()).unwrap();
        db.put("first", &[1]).unwrap();
        let outcomes: Vec<_> = thread::scope(|scope| {
            let busy = db.writer.hold_up();
            let threads = (0..4_usize).map(|i| {
                let thread = scope.spawn({
                    let db = &db;
                    move || db.put(format!("key {i}"), &[1, 2])
                });
                while db.writer.waiting() <= i {
                    thread::yield_now();
                }
                thread
            });
            let threads: Vec<_> = threads.collect();
            files.arm(Fault::after(0, Failure::Panic));
            drop(busy);
            threads.into_iter().map(thread::ScopedJoinHandle::join).collect()
        });
        let told = |outcome: &&thread::Result<Result<Committed>>| {
            matches!(outcome, Ok(Err(Error::Poisoned { .. })))
        };
        assert_eq!(outcomes.iter().filter(|outcome| outcome.is_err()).count(), 1, "the leader");
        assert_eq!(outcomes.iter().filter(told).count(), 3);
        files.disarm();
        assert!(matches!(db.put("later", &[1]), Err(Error::Poisoned { .. })));
        drop(db);
        let again = Database::open_in(layer, path, options).unwrap();
        assert!(again.get("first").unwrap().is_some());
    }
}
