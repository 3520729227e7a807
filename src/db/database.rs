//! A database open for writing.

use std::path::Path;
use std::sync::Arc;

use super::open::Open;
use super::snapshot::Snapshot;
use super::stat::{Stat, stat};
use super::{
    Batch, BulkLoad, CheckReport, Committed, Depth, OpenReport, Reader, RepairReport,
    SalvageReport, Stored,
};
use crate::care::{check, create, recovery, repair, salvage};
use crate::error::{Error, Result};
use crate::ingest::pack::pack;
use crate::options::{HotTierKind, Options};
use crate::scheme::Scheme;
use crate::sketch::Sketcher;
use crate::store::file_layer::memory::MemoryFiles;
use crate::store::file_layer::real::RealFiles;
use crate::store::file_layer::{FileLayer, Rights};

/// The name of a database in memory, in its own file system. Messages print it.
const MEMORY_PATH: &str = "/in-memory.ringer";

/// A handle to a database that is open for writing: one file, which no other process writes meanwhile.
///
/// A clone is another handle to the same open database; cloning costs next to nothing, and handles may be used by several
/// threads at once. Commits of several threads are made durable together. The database closes when the last handle is
/// dropped. [`close`](Database::close) closes it at once and reports failures.
///
/// The handle belongs to the process that opened the database. In a process forked from that one, every method that returns a
/// `Result` gives [`Error::Forked`], and dropping the handle does nothing.
///
/// ```
/// use ringer::{Database, Options, Scheme};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("corpus.ringer");
/// let db = Database::create(&path, &Scheme::default(), Options::default())?;
/// let mut batch = db.batch();
/// batch.put("a", &[1, 2, 3, 4])?.put("b", &[2, 3, 4, 5])?;
/// db.commit(batch)?;                                  // durable from here on
/// let other = db.clone();
/// std::thread::spawn(move || other.put("c", &[3, 4, 5, 6])).join().unwrap()?;
/// assert!(db.get("c")?.is_some());
/// db.close()?;                                        // one file, nothing beside it
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Database {
    open: Arc<Open>,
}

impl Database {
    /// Makes a new database and opens it. Refuses a path where anything stands.
    pub fn create(path: impl AsRef<Path>, scheme: &Scheme, options: Options) -> Result<Database> {
        let path = path.as_ref();
        Database::create_in(Arc::new(RealFiles), path, scheme, options)
    }

    /// Makes a database in memory: the same engine without a file, for tests and for jobs that keep nothing.
    ///
    /// It writes nothing to a disk, not even temporary files. It takes the memory of its data, and up to as much again while
    /// segments are merged or dead bytes are dropped. When the last handle is dropped, the data is gone;
    /// [`pack`](Database::pack) saves a copy to a file.
    ///
    /// ```
    /// use ringer::{Database, Like, Scheme};
    ///
    /// let db = Database::in_memory(&Scheme::default())?;
    /// db.put("a", &[1, 2, 3, 4, 5])?;
    /// let answer = db.snapshot().query(Like::Features(&[1, 2, 3, 4, 5])).run()?;
    /// assert_eq!(&*answer.matches[0].key, b"a");
    /// # Ok::<(), ringer::Error>(())
    /// ```
    pub fn in_memory(scheme: &Scheme) -> Result<Database> {
        Database::in_memory_with(scheme, Options::default())
    }

    /// The same as [`in_memory`](Database::in_memory), run with these options.
    pub fn in_memory_with(scheme: &Scheme, options: Options) -> Result<Database> {
        if options.hot_tier == HotTierKind::Sled {
            let limit = "sled needs real files; use HotTierKind::Log for a database in memory";
            return Err(Error::invalid("option hot_tier = Sled", limit));
        }
        options.check()?;
        let layer: Arc<dyn FileLayer> = Arc::new(MemoryFiles::new().limited_to(u64::MAX));
        let path = Path::new(MEMORY_PATH);
        create::create(&layer, path, scheme)?;
        let (writer, report) = recovery::open(&layer, path, options)?;
        Ok(Database { open: Arc::new(Open::new(writer, report, Arc::new(RealFiles))) })
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
        Ok(Database { open: Arc::new(Open::new(writer, report, layer)) })
    }

    /// What opening it found and did.
    pub fn open_report(&self) -> &OpenReport {
        &self.open.report
    }

    /// The scheme of all signatures.
    pub fn scheme(&self) -> &Scheme {
        self.open.any_writer().scheme()
    }

    /// What turns sets into signatures of this database, for callers that sketch in their own threads.
    pub fn sketcher(&self) -> &Sketcher {
        self.open.any_writer().sketcher()
    }

    /// An empty batch.
    pub fn batch(&self) -> Batch {
        self.open.any_writer().batch()
    }

    /// Commits a batch: all of its operations or, after a failure, none of them. Durable when it returns.
    pub fn commit(&self, batch: Batch) -> Result<Committed> {
        self.open.writer()?.commit(batch)
    }

    /// Commits a text under a key, as the set of [its features in the scheme](Sketcher::sketch_text).
    ///
    /// ```
    /// use ringer::{Database, Like, Scheme};
    ///
    /// let db = Database::in_memory(&Scheme::default())?;
    /// db.put_text("a", "Never put off till tomorrow what you can do today.")?;
    /// let answer = db.snapshot().query(Like::Text("never put off till tomorrow what you can do")).run()?;
    /// assert_eq!(&*answer.matches[0].key, b"a");
    /// # Ok::<(), ringer::Error>(())
    /// ```
    pub fn put_text(&self, key: impl AsRef<[u8]>, text: &str) -> Result<Committed> {
        let mut batch = self.batch();
        batch.put_text(key, text)?;
        self.commit(batch)
    }

    /// Commits the [bytes of a file](Sketcher::sketch_bytes) under a key.
    pub fn put_bytes(&self, key: impl AsRef<[u8]>, bytes: &[u8]) -> Result<Committed> {
        let mut batch = self.batch();
        batch.put_bytes(key, bytes)?;
        self.commit(batch)
    }

    /// Commits an [HTML page](Sketcher::sketch_html) under a key.
    pub fn put_html(&self, key: impl AsRef<[u8]>, page: &[u8]) -> Result<Committed> {
        let mut batch = self.batch();
        batch.put_html(key, page)?;
        self.commit(batch)
    }

    /// Commits one set, given by its elements, under a key.
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
        BulkLoad::new(Arc::clone(self.open.any_writer()))
    }

    /// A view of the database as it is now, which stays as it is.
    pub fn snapshot(&self) -> Snapshot {
        let writer = self.open.any_writer();
        Snapshot::new(writer.state(), Arc::clone(writer.sketcher()))
    }

    /// The set stored under a key, as of now.
    pub fn get(&self, key: impl AsRef<[u8]>) -> Result<Option<Stored>> {
        self.open.writer()?;
        self.snapshot().get(key)
    }

    /// Puts all commits into segments of the file. Readers in other processes see them then.
    pub fn checkpoint(&self) -> Result<()> {
        self.open.writer()?.checkpoint()
    }

    /// Merges all segments into one and drops all dead bytes.
    pub fn compact(&self) -> Result<()> {
        self.open.writer()?.compact()
    }

    /// Drops the bytes of the file that no longer belong to the database's state.
    pub fn vacuum(&self) -> Result<()> {
        self.open.writer()?.vacuum()
    }

    /// Writes a compact copy into a new file, for those who may use the original: one segment, no dead bytes.
    /// Refuses a path where anything stands, or that another database uses for its companion files. A copy of a database
    /// in memory is a file like any other.
    pub fn pack(&self, target: impl AsRef<Path>) -> Result<()> {
        let writer = self.open.writer()?;
        let (state, spill) = (writer.state(), writer.spill_place());
        let rights = writer.rights()?.map(Rights::of_copy);
        pack(&self.open.copies, &state, target.as_ref(), create::new_id(), rights, &spill)
    }

    /// Counts and bytes.
    pub fn stat(&self) -> Result<Stat> {
        let writer = self.open.writer()?;
        let stat =
            stat(&writer.state(), &writer.superblock(), writer.cache(), writer.hot_bytes()?)?;
        let merge_failure = writer.merge_failure().map(|error| error.to_string());
        Ok(Stat { merge_failure, activity: writer.activity(), ..stat })
    }

    /// Closes the database: all commits are in its file, and nothing stands beside it. After a failure
    /// nothing is lost, and the next open goes on from there.
    ///
    /// This closes it for all clones: every later call of a method that returns a `Result` gives [`Error::Closed`], `close`
    /// included, and so does the commit of a bulk load. Snapshots, also those taken later, still show the last state.
    pub fn close(self) -> Result<()> {
        self.open.close()
    }
}

#[cfg(test)]
#[path = "database_tests.rs"]
mod tests;
