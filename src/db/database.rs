//! The handle of a database that is open for writing.
//!
//! In: a path, sets and documents. Out: durable commits, snapshots and reports. The modules `maintenance`, `ingest`
//! and `store` do the work.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use super::open::Open;
use super::snapshot::Snapshot;
use super::stat::{Stat, stat};
use super::{
    Batch, BulkLoad, CheckReport, Committed, Depth, OpenReport, Reader, ReindexReport,
    RepairReport, SalvageReport, Stored,
};
use crate::error::{Error, Result};
use crate::ingest::pack::pack;
use crate::maintenance::{check, create, recovery, reindex, repair, salvage};
use crate::options::{LogKind, Options};
use crate::scheme::Scheme;
use crate::sketch::Sketcher;
use crate::store::file_layer::memory::MemoryFiles;
use crate::store::file_layer::real::RealFiles;
use crate::store::file_layer::{FileLayer, Rights};

/// The path of a database in memory, within its own file layer. It appears in messages.
const MEMORY_PATH: &str = "/in-memory.ringer";

/// A handle to a database that is open for writing. Only one process can have it open for writing at a time.
///
/// Clones are cheap and refer to the same open database. Several threads can use handles at once, and their commits are
/// made durable together. The database closes when the last handle is dropped. [`close`](Database::close) closes it at
/// once and reports failures.
///
/// The handle belongs to the process that opened the database. In a forked process, every method that returns a `Result`
/// fails with [`Error::Forked`], and dropping the handle does nothing.
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
    /// Creates a new database and opens it. Fails if anything exists at the path.
    pub fn create(path: impl AsRef<Path>, scheme: &Scheme, options: Options) -> Result<Database> {
        let path = path.as_ref();
        Database::create_in(Arc::new(RealFiles), path, scheme, options)
    }

    /// Creates a database in memory, for tests and for jobs that keep nothing.
    ///
    /// It is the same engine, but writes nothing to disk, not even temporary files. It takes as much memory as its data, and
    /// up to twice as much during a merge or vacuum. The data is gone when the last handle is dropped.
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

    /// Creates a database [in memory](Database::in_memory) with the given options.
    pub fn in_memory_with(scheme: &Scheme, options: Options) -> Result<Database> {
        if options.log == LogKind::Sled {
            let limit = "this log needs real files; use LogKind::Plain for a database in memory";
            return Err(Error::invalid("option log = Sled", limit));
        }
        options.check()?;
        let layer: Arc<dyn FileLayer> = Arc::new(MemoryFiles::new().limited_to(u64::MAX));
        let path = Path::new(MEMORY_PATH);
        create::create(&layer, path, scheme)?;
        let (writer, report) = recovery::open(&layer, path, options)?;
        Ok(Database { open: Arc::new(Open::new(writer, report, Arc::new(RealFiles))) })
    }

    /// Opens a database for writing, and recovers it after a crash. The [report](Database::open_report) says what was
    /// found.
    pub fn open(path: impl AsRef<Path>, options: Options) -> Result<Database> {
        Database::open_in(Arc::new(RealFiles), path.as_ref(), options)
    }

    /// Opens a database for reading. It shows every acknowledged commit, writes nothing, and works while a writer has the
    /// database open.
    pub fn open_read_only(path: impl AsRef<Path>, options: Options) -> Result<Reader> {
        Reader::open_in(Arc::new(RealFiles), path.as_ref(), options)
    }

    /// Checks a database for damage. It writes nothing, and works while a writer has the database open.
    pub fn check(path: impl AsRef<Path>, depth: Depth) -> Result<CheckReport> {
        check::check(&RealFiles, path.as_ref(), depth)
    }

    /// Rebuilds damaged derived data: a superblock from the other one; fences, filters and the list of duplicate rows from
    /// leaf pages; postings from signatures; the directories of kept sets and of values from these. It never drops a row, and fails if
    /// rows themselves are damaged.
    pub fn repair(path: impl AsRef<Path>, options: &Options) -> Result<RepairReport> {
        let layer: Arc<dyn FileLayer> = Arc::new(RealFiles);
        repair::repair(&layer, path.as_ref(), options)
    }

    /// Gives a closed database other slots, or fewer bits, from the stored signatures, without the sets. Queries then find
    /// the same as in a database that was made with this scheme. Keys, values, kept sets and the numbers of commits stay.
    ///
    /// The scheme must [follow](Scheme::check_derives) from the stored one. The new file is written beside the old one, as
    /// one segment, and replaces it when it is complete. That takes up to twice its size in free space, which is checked
    /// before the start. A crash leaves the old file or the new one. Readers keep what they have open, and see the new
    /// scheme after [`Reader::refresh`].
    ///
    /// ```
    /// use ringer::{Database, Like, Options, Scheme, estimate::capacity};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("corpus.ringer");
    /// let stored = Scheme::near_duplicate();
    /// let db = Database::create(&path, &stored, Options::default())?;
    /// db.put("a", &[1, 2, 3, 4])?;
    /// db.close()?;
    /// let slots = capacity::slots_for(&stored, 100_000_000)?;
    /// let scheme = Scheme::new(stored.with_slots(slots))?;
    /// let report = Database::reindex(&path, &scheme, &Options::default())?;
    /// assert!(report.rewritten && report.sets == 1);
    /// let reader = Database::open_read_only(&path, Options::default())?;
    /// assert_eq!(reader.scheme(), scheme);
    /// assert_eq!(reader.snapshot().query(Like::Features(&[1, 2, 3, 4])).run()?.matches.len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn reindex(
        path: impl AsRef<Path>,
        scheme: &Scheme,
        options: &Options,
    ) -> Result<ReindexReport> {
        Database::reindex_with(path, scheme, options, |_, _| ControlFlow::Continue(()))
    }

    /// Does what [`reindex`](Database::reindex) does, and reports progress: the rows that were read, and all rows. After the
    /// last row, the posting lists are built and the file is written. If `progress` breaks off, the call fails with
    /// [`Error::Interrupted`], and the database stays as it was.
    pub fn reindex_with(
        path: impl AsRef<Path>,
        scheme: &Scheme,
        options: &Options,
        mut progress: impl FnMut(u64, u64) -> ControlFlow<()>,
    ) -> Result<ReindexReport> {
        let layer: Arc<dyn FileLayer> = Arc::new(RealFiles);
        reindex::reindex(&layer, path.as_ref(), scheme, options, &mut progress)
    }

    /// Copies all verifiable rows of a damaged database into a new one. The source is not changed.
    ///
    /// The target gets its name once it is complete. Its segments are not merged; the next writer or
    /// [`compact`](Database::compact) does that.
    pub fn salvage(
        source: impl AsRef<Path>,
        target: impl AsRef<Path>,
        options: Options,
    ) -> Result<SalvageReport> {
        let layer: Arc<dyn FileLayer> = Arc::new(RealFiles);
        salvage::salvage(&layer, source.as_ref(), target.as_ref(), options)
    }

    /// Does what [`create`](Database::create) does, in any file layer.
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

    /// Does what [`open`](Database::open) does, in any file layer.
    #[doc(hidden)]
    pub fn open_in(layer: Arc<dyn FileLayer>, path: &Path, options: Options) -> Result<Database> {
        let (writer, report) = recovery::open(&layer, path, options)?;
        Ok(Database { open: Arc::new(Open::new(writer, report, layer)) })
    }

    /// Returns what opening the database found and did.
    pub fn open_report(&self) -> &OpenReport {
        &self.open.report
    }

    /// Returns the scheme of all signatures.
    pub fn scheme(&self) -> &Scheme {
        self.open.any_writer().scheme()
    }

    /// Returns the sketcher of this database, for callers that sketch in their own threads.
    pub fn sketcher(&self) -> &Sketcher {
        self.open.any_writer().sketcher()
    }

    /// Returns an empty batch.
    pub fn batch(&self) -> Batch {
        self.open.any_writer().batch()
    }

    /// Commits all operations of a batch, or none of them if it fails. The commit is durable when this returns.
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

    /// Commits one set, given by its elements, under a key, with a [value](Batch::with_value).
    ///
    /// ```
    /// use ringer::{Database, Scheme};
    ///
    /// let db = Database::in_memory(&Scheme::default())?;
    /// db.put_with_value("a", &[1, 2, 3], "a label")?;
    /// assert_eq!(db.get("a")?.unwrap().value.as_deref(), Some(&b"a label"[..]));
    /// # Ok::<(), ringer::Error>(())
    /// ```
    pub fn put_with_value(
        &self,
        key: impl AsRef<[u8]>,
        set: &[u64],
        value: impl AsRef<[u8]>,
    ) -> Result<Committed> {
        let mut batch = self.batch();
        batch.put(key, set)?.with_value(value)?;
        self.commit(batch)
    }

    /// Commits a set with [weights](Sketcher::sketch_weighted), or a vector, under a key.
    pub fn put_weighted(&self, key: impl AsRef<[u8]>, set: &[(u64, f64)]) -> Result<Committed> {
        let mut batch = self.batch();
        batch.put_weighted(key, set)?;
        self.commit(batch)
    }

    /// Commits the deletion of a key. A key that does not exist is counted as absent.
    pub fn delete(&self, key: impl AsRef<[u8]>) -> Result<Committed> {
        let mut batch = self.batch();
        batch.delete(key)?;
        self.commit(batch)
    }

    /// Starts a bulk load, the fast way to store many sets. All of them become visible when the load is committed.
    pub fn bulk_load(&self) -> BulkLoad {
        BulkLoad::new(Arc::clone(self.open.any_writer()))
    }

    /// Returns a view of the current state. Later changes do not affect it.
    pub fn snapshot(&self) -> Snapshot {
        let writer = self.open.any_writer();
        Snapshot::new(writer.state(), Arc::clone(writer.sketcher()))
    }

    /// Returns the set that is stored under a key, and its value.
    pub fn get(&self, key: impl AsRef<[u8]>) -> Result<Option<Stored>> {
        self.open.writer()?;
        self.snapshot().get(key)
    }

    /// Moves all commits from the write-ahead log into segments of the file.
    pub fn checkpoint(&self) -> Result<()> {
        self.open.writer()?.checkpoint()
    }

    /// Merges all segments into one and removes all dead bytes.
    pub fn compact(&self) -> Result<()> {
        self.open.writer()?.compact()
    }

    /// Rewrites the file without its dead bytes.
    pub fn vacuum(&self) -> Result<()> {
        self.open.writer()?.vacuum()
    }

    /// Writes a compact copy to a new file: one segment, without dead bytes. It has the mode and group of the
    /// original.
    ///
    /// Fails if anything exists at the path, or if another database uses the name for a companion file. A database in
    /// memory is copied to a real file.
    pub fn pack(&self, target: impl AsRef<Path>) -> Result<()> {
        let writer = self.open.writer()?;
        let (state, spill) = (writer.state(), writer.spill_place());
        let rights = writer.rights()?.map(Rights::of_copy);
        pack(&self.open.copies, &state, target.as_ref(), create::new_id(), rights, &spill)
    }

    /// Returns counts and sizes.
    pub fn stat(&self) -> Result<Stat> {
        let writer = self.open.writer()?;
        let stat =
            stat(&writer.state(), &writer.superblock(), writer.cache(), writer.log_bytes()?)?;
        let merge_failure = writer.merge_failure().map(|error| error.to_string());
        Ok(Stat { merge_failure, activity: writer.activity(), ..stat })
    }

    /// Closes the database. All commits are then in its file, and the companion files are removed. If this fails, no
    /// commit is lost, and the next open recovers them.
    ///
    /// This closes the database for all clones. Every later method that returns a `Result`, `close` included, fails with
    /// [`Error::Closed`], and so does the commit of a bulk load. Snapshots still show the last state, even new ones.
    pub fn close(self) -> Result<()> {
        self.open.close()
    }
}

#[cfg(test)]
#[path = "database_tests.rs"]
mod tests;
