//! The handle of a database that is open for reading.
//!
//! In: a path. Out: snapshots with every acknowledged commit. A reader writes nothing to the database, and holds no lock.
//! `maintenance/reading.rs` does the work.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Stored;
use super::snapshot::Snapshot;
use super::stat::{Stat, stat};
use crate::error::{Error, Result};
use crate::ingest::pack::pack;
use crate::maintenance::create::new_id;
use crate::maintenance::reading::{self, View};
use crate::options::Options;
use crate::scheme::Scheme;
use crate::sketch::Sketcher;
use crate::store::file_layer::{FileLayer, Rights};
use crate::store::spill::SpillPlace;
use crate::sync::Ranked;
use crate::sync::lock_order::{HANDLE, PUBLISHED};

/// A handle to a database that is open for reading. It writes nothing and holds no lock, so it works beside a writer and on
/// read-only files.
///
/// It shows every commit that was acknowledged before the handle was opened, in this process or in another one, also those
/// that are only in the write-ahead log, and after the writer was killed. [`refresh`](Reader::refresh) reads later ones.
///
/// The commits of the log are in memory. The writer's [`Options`] bound them: twice its `memtable_rows` and `memtable_bytes`,
/// and one batch. If the log does not have all acknowledged commits, the open fails with
/// [`Error::LogMissing`] or [`Error::LogDamaged`]. With [`Recovery::Salvage`](crate::Recovery::Salvage) it shows those
/// that can be read.
#[derive(Debug)]
pub struct Reader {
    layer: Arc<dyn FileLayer>,
    path: PathBuf,
    options: Options,
    current: Ranked<PUBLISHED, Current>,
    /// Held during a refresh, so that of two refreshes at once the older state cannot replace the newer one.
    refreshing: Ranked<HANDLE, ()>,
}

#[derive(Debug, Clone)]
struct Current {
    view: Arc<View>,
    sketcher: Arc<Sketcher>,
}

impl Reader {
    /// Opens a database in any file layer.
    #[doc(hidden)]
    pub fn open_in(layer: Arc<dyn FileLayer>, path: &Path, options: Options) -> Result<Reader> {
        let current = Ranked::new(load(&layer, path, &options, None)?);
        Ok(Reader { layer, path: path.into(), options, current, refreshing: Ranked::default() })
    }

    fn current(&self) -> Current {
        self.current.lock().clone()
    }

    fn view(&self) -> Arc<View> {
        self.current().view
    }

    /// Reads the commits since the last refresh, and the current state of the file, even if another file has replaced it.
    /// Earlier snapshots do not change. If it fails, the reader keeps its state.
    ///
    /// ```
    /// use ringer::{Database, Options, Scheme};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("corpus.ringer");
    /// let db = Database::create(&path, &Scheme::default(), Options::default())?;
    /// let reader = Database::open_read_only(&path, Options::default())?;
    /// db.put("a", &[1, 2, 3])?;                         // durable, and visible to whoever refreshes or opens from here on
    /// reader.refresh()?;
    /// assert!(reader.get("a")?.is_some());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn refresh(&self) -> Result<()> {
        let _one = self.refreshing.lock();
        let new = load(&self.layer, &self.path, &self.options, Some(&self.current()))?;
        *self.current.lock() = new;
        Ok(())
    }

    /// Returns a view of the last state that was read. A refresh does not affect it.
    pub fn snapshot(&self) -> Snapshot {
        let Current { view, sketcher } = self.current();
        Snapshot::new(Arc::clone(&view.state), sketcher)
    }

    /// Returns the set that is stored under a key, and its value.
    pub fn get(&self, key: impl AsRef<[u8]>) -> Result<Option<Stored>> {
        self.snapshot().get(key)
    }

    /// Returns the scheme of all signatures.
    pub fn scheme(&self) -> Scheme {
        (*self.view().state.scheme).clone()
    }

    /// Returns the number of commits that are in the write-ahead log and not yet in a segment. The writer's next checkpoint
    /// moves them into the file. If the writer was killed, the next open for writing does. All of them can be seen here,
    /// except for [`hidden_commits`](Reader::hidden_commits).
    pub fn commits_in_log(&self) -> u64 {
        let view = self.view();
        view.state.sequence - view.file.manifest.checkpointed + view.hidden
    }

    /// Returns the number of acknowledged commits that cannot be seen here, because they are in a log of the kind
    /// [`LogKind::Sled`](crate::LogKind::Sled), which cannot be read without writing. They can be seen after the writer's next
    /// checkpoint or, if the writer was killed, after the next open for writing. After a power cut there may be more of them
    /// than this number. It is 0 for the default kind of log.
    pub fn hidden_commits(&self) -> u64 {
        self.view().hidden
    }

    /// Whether the last writer closed the database. Otherwise a writer has it open or was killed.
    pub fn is_clean(&self) -> bool {
        self.view().file.superblock.clean
    }

    /// Whether a writer has the database open now.
    pub fn has_writer(&self) -> Result<bool> {
        reading::is_locked(&self.layer, &self.path)
    }

    /// Writes a compact copy to a new file with the mode and group of the original. The copy has all commits that
    /// this reader shows, those in the write-ahead log included.
    ///
    /// Fails if anything exists at the path, or if another database uses the name for a companion file.
    pub fn pack(&self, target: impl AsRef<Path>) -> Result<()> {
        let spill = SpillPlace {
            directory: Some(Arc::new(std::env::temp_dir())),
            memory: self.options.build_bytes / 2,
        };
        let view = self.view();
        let rights = view.handle.rights();
        let rights = rights.map_err(|error| Error::io("look at", &self.path, error))?;
        let rights = rights.map(Rights::of_copy);
        pack(&self.layer, &view.state, target.as_ref(), new_id(), rights, &spill)
    }

    /// Returns how many pages were requested so far, from the cache or from the file.
    #[doc(hidden)]
    pub fn pages_touched(&self) -> u64 {
        let view = self.view();
        view.cache.hits() + view.cache.misses()
    }

    /// Returns counts and sizes.
    pub fn stat(&self) -> Result<Stat> {
        let view = self.view();
        stat(&view.state, &view.file.superblock, &view.cache, view.log_bytes)
    }
}

fn load(
    layer: &Arc<dyn FileLayer>,
    path: &Path,
    options: &Options,
    before: Option<&Current>,
) -> Result<Current> {
    let view = reading::read(layer, path, options, before.map(|current| &*current.view))?;
    let sketcher = match before {
        Some(before) if before.view.state.scheme == view.state.scheme => {
            Arc::clone(&before.sketcher)
        }
        _ => Arc::new(Sketcher::new(&view.state.scheme)),
    };
    Ok(Current { view: Arc::new(view), sketcher })
}
