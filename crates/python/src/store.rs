//! An open database.
//!
//! In: paths, keys and columns. Out: commits, reports and views. The Python class `ringerdb.Database` is the interface to
//! this. A handle that was closed, or that belongs to the process from which this one was forked, refuses every call.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;
use pyo3::types::PyDict;
use rayon::prelude::*;
use ringer::{Batch, BulkLoad, Database, Depth, Options, Reader, Signature, Stat};

use crate::columns::{Column, Scratch, Text, Texts, key};
use crate::failure::{Failure, Outcome};
use crate::maintenance::{bytes_to_compact, bytes_to_pack, unstoppable};
use crate::sketching::{Sketcher, scheme_of};
use crate::view::View;
use crate::work::{Run, detached, watched};

/// Rows that are sketched together.
const BLOCK: usize = 1 << 13;

/// From this many rows on, they are a bulk load and not a batch.
const BULK_ROWS: usize = 1 << 13;

/// Longer signatures go into bulk loads. With a key of the greatest length, a batch of [`BULK_ROWS`] has about 40 MB.
const BATCH_SIGNATURE: usize = 1 << 10;

/// More bytes of values go into bulk loads. A batch of the most rows then has less than 64 MB, which is its limit.
const BATCH_VALUES: usize = 16 << 20;

enum Handle {
    Writer(Database),
    Reader(Box<Reader>),
}

/// An open database.
#[pyclass(frozen, module = "ringerdb._core", name = "Store")]
pub(crate) struct Store {
    handle: Mutex<Option<Arc<Handle>>>,
    /// For the scheme of the last call. A refresh may find another one, after a reindex.
    sketcher: Mutex<Arc<ringer::Sketcher>>,
    /// `None` in memory.
    path: Option<PathBuf>,
    process: u32,
}

/// Where signatures wait for their commit.
enum Pending {
    Batch(Batch),
    Bulk(Box<BulkLoad>),
}

fn options(threads: Option<usize>) -> Options {
    Options::default().with_threads(threads.unwrap_or(0))
}

impl Store {
    fn new(handle: Handle, path: Option<PathBuf>) -> Store {
        let scheme = match &handle {
            Handle::Writer(db) => db.scheme().clone(),
            Handle::Reader(reader) => reader.scheme(),
        };
        Store {
            handle: Mutex::new(Some(Arc::new(handle))),
            sketcher: Mutex::new(Arc::new(ringer::Sketcher::new(&scheme))),
            path,
            process: std::process::id(),
        }
    }

    fn name(&self) -> String {
        self.path
            .as_ref()
            .map_or("the database in memory".into(), |path| path.display().to_string())
    }

    fn handle(&self) -> Outcome<Arc<Handle>> {
        let closed = |message| Err(Failure::Named("ClosedError", message));
        if self.process != std::process::id() {
            let name = self.name();
            return closed(format!(
                "{name} was opened before this process was forked; open it again in this process"
            ));
        }
        match &*self.handle.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(handle) => Ok(Arc::clone(handle)),
            None => closed(format!("{} was closed; open it again", self.name())),
        }
    }

    /// The database, if it is open for writing.
    pub(crate) fn writer(&self) -> Outcome<Database> {
        match &*self.handle()? {
            Handle::Writer(db) => Ok(db.clone()),
            Handle::Reader(_) => Err(Failure::invalid(format!(
                "{} is open read-only; open it for writing to change it",
                self.name()
            ))),
        }
    }

    fn counted(&self, py: Python<'_>) -> Outcome<Stat> {
        let handle = self.handle()?;
        detached(py, || match &*handle {
            Handle::Writer(db) => Ok(db.stat()?),
            Handle::Reader(reader) => Ok(reader.stat()?),
        })
    }

    /// The sketcher for a scheme. It is kept for the next call.
    fn sketcher_for(&self, scheme: &ringer::Scheme) -> Arc<ringer::Sketcher> {
        let mut kept = self.sketcher.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.scheme() != scheme {
            *kept = Arc::new(ringer::Sketcher::new(scheme));
        }
        Arc::clone(&kept)
    }

    /// The sketcher for the scheme of the database.
    fn current_sketcher(&self) -> Outcome<Arc<ringer::Sketcher>> {
        Ok(match &*self.handle()? {
            Handle::Writer(db) => self.sketcher_for(db.scheme()),
            Handle::Reader(reader) => self.sketcher_for(&reader.scheme()),
        })
    }

    fn one_signature(&self, kind: &str, data: &Bound<'_, PyAny>) -> Outcome<Signature> {
        let sketcher = self.current_sketcher()?;
        let column = Column::new(kind, data, sketcher.scheme())?;
        let rows = column.rows()?;
        let sketch = || rows.signature(0, &sketcher, &mut Scratch::default());
        let signature = match rows.len() {
            1 => detached(data.py(), sketch)?,
            _ => None,
        };
        signature.ok_or_else(|| {
            Failure::invalid("there is nothing to store; use delete to remove a set")
        })
    }
}

#[pymethods]
impl Store {
    #[staticmethod]
    fn create(
        py: Python<'_>,
        path: PathBuf,
        scheme: Vec<String>,
        threads: Option<usize>,
    ) -> Outcome<Store> {
        let scheme = scheme_of(scheme)?;
        let db = detached(py, || Ok(Database::create(&path, &scheme, options(threads))?))?;
        Ok(Store::new(Handle::Writer(db), Some(path)))
    }

    #[staticmethod]
    fn memory(py: Python<'_>, scheme: Vec<String>, threads: Option<usize>) -> Outcome<Store> {
        let scheme = scheme_of(scheme)?;
        let db = detached(py, || Ok(Database::in_memory_with(&scheme, options(threads))?))?;
        Ok(Store::new(Handle::Writer(db), None))
    }

    #[staticmethod]
    fn open(
        py: Python<'_>,
        path: PathBuf,
        read_only: bool,
        threads: Option<usize>,
    ) -> Outcome<Store> {
        let handle = detached(py, || {
            Ok(match read_only {
                true => {
                    Handle::Reader(Box::new(Database::open_read_only(&path, options(threads))?))
                }
                false => Handle::Writer(Database::open(&path, options(threads))?),
            })
        })?;
        Ok(Store::new(handle, Some(path)))
    }

    #[staticmethod]
    fn check_file(py: Python<'_>, path: PathBuf, depth: &str, run: Run) -> Outcome<Vec<Found>> {
        let depth = match depth {
            "quick" => Depth::Quick,
            "full" => Depth::Full,
            "deep" => Depth::Deep,
            other => {
                let message = format!("depth `{other}`: choose one of quick, full, deep");
                return Err(Failure::invalid(message));
            }
        };
        // A deep check rebuilds the postings and looks up every key.
        let times = if depth == Depth::Deep { 2 } else { 1 };
        let expected = path.metadata().map_or(0, |found| found.len()) * times;
        let check = move || Ok(Database::check(&path, depth)?);
        let report = unstoppable(py, &run, expected, check, || ())?;
        let found = report.findings.into_iter();
        Ok(found.map(|f| (f.rule, f.offset, f.detail, f.effect, f.fix)).collect())
    }

    /// Closes the database. Nothing happens if it is closed already, or in a forked process.
    fn close(&self, py: Python<'_>) -> Outcome<()> {
        if self.process != std::process::id() {
            return Ok(());
        }
        let handle = self.handle.lock().unwrap_or_else(PoisonError::into_inner).take();
        detached(py, || match handle.as_deref() {
            Some(Handle::Writer(db)) => Ok(db.clone().close()?),
            Some(Handle::Reader(_)) | None => Ok(()),
        })
    }

    #[getter]
    fn closed(&self) -> bool {
        self.handle().is_err()
    }

    #[getter]
    fn path(&self) -> Option<PathBuf> {
        self.path.clone()
    }

    #[getter]
    fn read_only(&self) -> Outcome<bool> {
        Ok(matches!(*self.handle()?, Handle::Reader(_)))
    }

    fn sketcher(&self) -> Outcome<Sketcher> {
        // Also after the database was closed.
        let sketcher = match self.handle() {
            Ok(_) => self.current_sketcher()?,
            Err(_) => Arc::clone(&self.sketcher.lock().unwrap_or_else(PoisonError::into_inner)),
        };
        Ok(Sketcher::new_shared(&sketcher))
    }

    fn view(&self) -> Outcome<View> {
        let snapshot = match &*self.handle()? {
            Handle::Writer(db) => db.snapshot(),
            Handle::Reader(reader) => reader.snapshot(),
        };
        let sketcher = self.sketcher_for(snapshot.scheme());
        Ok(View::new(snapshot, sketcher))
    }

    fn put(
        &self,
        py: Python<'_>,
        name: &Bound<'_, PyAny>,
        kind: &str,
        data: &Bound<'_, PyAny>,
        value: Option<Bound<'_, PyAny>>,
    ) -> Outcome<()> {
        let (db, name) = (self.writer()?, key(name)?);
        let value = value.map(|value| Text::new(&value, || "the value".into())).transpose()?;
        let signature = self.one_signature(kind, data)?;
        detached(py, || {
            let mut batch = db.batch();
            batch.put_signature(name, signature)?;
            if let Some(value) = &value {
                batch.with_value(value.bytes())?;
            }
            db.commit(batch)?;
            Ok(())
        })
    }

    fn put_many(
        &self,
        py: Python<'_>,
        keys: &Bound<'_, PyAny>,
        kind: &str,
        data: &Bound<'_, PyAny>,
        values: Option<Bound<'_, PyAny>>,
        run: Run,
    ) -> Outcome<usize> {
        let db = self.writer()?;
        let values = values.map(|values| Texts::new(&values, "values")).transpose()?;
        let keys = Texts::new(keys, "keys")?;
        let sketcher = self.current_sketcher()?;
        let column = Column::new(kind, data, sketcher.scheme())?;
        let rows = column.rows()?;
        let count = keys.len();
        if count != rows.len() {
            let message = format!("there are {count} keys, but {} rows", rows.len());
            return Err(Failure::invalid(message));
        }
        if let Some(values) = values.as_ref().filter(|values| values.len() != count) {
            let message = format!("there are {count} keys, but {} values", values.len());
            return Err(Failure::invalid(message));
        }
        if let Some(row) = keys.first_null() {
            return Err(Failure::invalid(format!("row {row} has no key")));
        }
        watched(py, &run, |watch| {
            watch.set_total(count);
            // All rows are one commit, and a batch may be too small for large signatures or kept sets.
            let small = !sketcher.scheme().elements.are_kept()
                && sketcher.signature_bytes() <= BATCH_SIGNATURE
                && values.as_ref().is_none_or(|values| values.bytes() <= BATCH_VALUES);
            let mut pending = match small && count < BULK_ROWS {
                true => Pending::Batch(db.batch()),
                false => Pending::Bulk(Box::new(db.bulk_load())),
            };
            for start in (0..count).step_by(BLOCK) {
                let sketch = |scratch: &mut Scratch, row| {
                    watch.check()?;
                    watch.step();
                    rows.signature(row, &sketcher, scratch)
                };
                let block = (start..count.min(start + BLOCK)).into_par_iter().with_min_len(8);
                let sketched: Outcome<Vec<_>> = block.map_init(Scratch::default, sketch).collect();
                for (row, signature) in (start..).zip(sketched?) {
                    let name = keys.get(row).unwrap_or_default();
                    let signature = signature.ok_or_else(|| {
                        Failure::invalid(format!("row {row} is null; leave out rows without data"))
                    })?;
                    let value = values.as_ref().and_then(|values| values.get(row));
                    let put = pending.put(name, signature, value);
                    put.map_err(|error| Failure::Row(row, error))?;
                }
            }
            watch.check()?;
            match pending {
                Pending::Batch(batch) => db.commit(batch)?,
                Pending::Bulk(bulk) => bulk.commit()?,
            };
            Ok(count)
        })
    }

    /// Deletes keys in one commit, and returns how many of them were stored.
    fn delete(&self, py: Python<'_>, keys: &Bound<'_, PyAny>) -> Outcome<usize> {
        let (db, keys) = (self.writer()?, Texts::new(keys, "keys")?);
        detached(py, || {
            let mut batch = db.batch();
            for row in 0..keys.len() {
                let name = keys.get(row);
                let name = name.ok_or_else(|| Failure::invalid(format!("row {row} has no key")))?;
                batch.delete(name).map_err(|error| Failure::Row(row, error))?;
            }
            Ok(db.commit(batch)?.deleted)
        })
    }

    fn compact(&self, py: Python<'_>, run: Run) -> Outcome<()> {
        let (db, stat) = (self.writer()?, self.counted(py)?);
        unstoppable(py, &run, bytes_to_compact(&stat), move || Ok(db.compact()?), || ())
    }

    fn checkpoint(&self, py: Python<'_>, run: Run) -> Outcome<()> {
        let (db, stat) = (self.writer()?, self.counted(py)?);
        unstoppable(py, &run, 2 * stat.log_bytes, move || Ok(db.checkpoint()?), || ())
    }

    fn pack(&self, py: Python<'_>, target: PathBuf, run: Run) -> Outcome<()> {
        let (handle, expected) = (self.handle()?, bytes_to_pack(&self.counted(py)?));
        let made = target.clone();
        let pack = move || match &*handle {
            Handle::Writer(db) => Ok(db.pack(&target)?),
            Handle::Reader(reader) => Ok(reader.pack(&target)?),
        };
        // The caller was told that there is no copy. If it cannot be removed, it is a complete one.
        unstoppable(py, &run, expected, pack, move || drop(std::fs::remove_file(&made)))
    }

    /// Reads the commits since the last refresh of a database that is open read-only.
    fn refresh(&self, py: Python<'_>) -> Outcome<()> {
        let handle = self.handle()?;
        detached(py, || match &*handle {
            Handle::Writer(_) => Ok(()),
            Handle::Reader(reader) => Ok(reader.refresh()?),
        })
    }

    fn stat<'py>(&self, py: Python<'py>) -> Outcome<Bound<'py, PyDict>> {
        let stat = self.counted(py)?;
        let dict = PyDict::new(py);
        dict.set_item("sets", stat.sets)?;
        dict.set_item("rows", stat.rows)?;
        dict.set_item("segments", stat.segments)?;
        dict.set_item("sequence", stat.sequence)?;
        dict.set_item("distinct_signatures", stat.distinct_signatures)?;
        dict.set_item("file_bytes", stat.file_bytes)?;
        dict.set_item("dead_bytes", stat.dead_bytes)?;
        dict.set_item("key_bytes", stat.key_bytes)?;
        dict.set_item("signature_bytes", stat.signature_bytes)?;
        dict.set_item("posting_bytes", stat.posting_bytes)?;
        dict.set_item("element_bytes", stat.element_bytes)?;
        dict.set_item("value_bytes", stat.value_bytes)?;
        dict.set_item("scheme", stat.scheme.to_string())?;
        Ok(dict)
    }
}

/// A finding of a check: rule, offset, detail, effect and fix.
type Found = (&'static str, u64, String, &'static str, &'static str);

impl Pending {
    fn put(
        &mut self,
        name: &[u8],
        signature: Signature,
        value: Option<&[u8]>,
    ) -> Result<(), ringer::Error> {
        match self {
            Pending::Batch(batch) => {
                batch.put_signature(name, signature)?;
                value.map_or(Ok(()), |value| batch.with_value(value).map(drop))
            }
            Pending::Bulk(bulk) => {
                bulk.put_signature(name, &signature)?;
                value.map_or(Ok(()), |value| bulk.with_value(value))
            }
        }
    }
}
