//! How a database is run: memory, threads, merging, and the kind of write-ahead log.
//!
//! In: values of the caller. Out: options that were checked. Options never change an answer and are not stored in the
//! file. What is stored is the [scheme](crate::scheme).

use crate::error::{Error, Result};

/// How a database is run. The defaults suit a database that is one part of a larger program.
///
/// ```
/// use ringer::Options;
/// let options = Options::default().with_cache_bytes(1 << 30).with_threads(4);
/// assert_eq!((options.cache_bytes, options.threads), (1 << 30, 4));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Options {
    /// Size of the page cache in bytes. Default 64 MiB.
    pub cache_bytes: usize,
    /// Rows that the memtable collects before a checkpoint writes them to a segment. Up to twice as many are in memory
    /// during the checkpoint. Default 65,536.
    pub memtable_rows: usize,
    /// Bytes of keys and signatures that the memtable collects before a checkpoint. Default 64 MiB.
    pub memtable_bytes: usize,
    /// Bytes of rows that a bulk load or a merge keeps in memory before it spills to temporary files beside the
    /// database. Default 64 MiB.
    pub build_bytes: usize,
    /// Threads that sketch and sort in bulk loads and large batches; 0 means one per processor. Default 0.
    pub threads: usize,
    /// Whether checkpoints and merges run in a background thread. Otherwise they run inside the call that makes them
    /// necessary. Default true.
    pub background: bool,
    /// Whether segments are merged automatically when there are too many of them. Default true.
    pub merge: bool,
    /// What to do if acknowledged commits cannot be read when the database is opened. Default [`Recovery::Strict`].
    pub recovery: Recovery,
    /// The kind of write-ahead log. Default [`LogKind::Plain`].
    pub log: LogKind,
}

/// What to do if acknowledged commits cannot be read when the database is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Recovery {
    /// Opening fails and changes nothing.
    Strict,
    /// The database opens with the commits that can be read. Its [report](crate::OpenReport) says what is lost. The
    /// damaged write-ahead log is kept under another name. A reader shows the same commits, and changes nothing.
    Salvage,
}

/// The kind of write-ahead log, which keeps the commits since the last checkpoint in the directory `NAME-hot` beside the
/// database.
///
/// Both kinds survive a kill and a power cut, and both have the same records. The choice applies to the next log that is
/// created. A log that a crash left states its own kind and is read whatever is chosen here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum LogKind {
    /// An append-only file. A durable commit of one set takes about as long as a bare append and sync. If the disk is
    /// full, the commit is undone, and later commits succeed once there is space.
    #[default]
    Plain,
    /// A sled 0.34.7 database. Commits of one set take about twice as long as with [`LogKind::Plain`]. Commits of a
    /// thousand sets were up to a quarter faster when other programs kept the disk busy.
    ///
    /// If the disk is full, the commit fails and writing is disabled until the database is opened again. In a program
    /// built with `panic = "abort"`, opening a log that was damaged after a crash aborts the program instead of
    /// returning an error. It needs real files. [Readers](crate::Reader) cannot read it, so they do not show the
    /// commits since the last checkpoint.
    Sled,
}

/// Rows in memory have 32-bit numbers. This leaves enough of them for one more large batch.
const MOST_MEMTABLE_ROWS: usize = 1 << 30;

impl Default for Options {
    fn default() -> Options {
        Options {
            cache_bytes: 64 << 20,
            memtable_rows: 1 << 16,
            memtable_bytes: 64 << 20,
            build_bytes: 64 << 20,
            threads: 0,
            background: true,
            merge: true,
            recovery: Recovery::Strict,
            log: LogKind::Plain,
        }
    }
}

impl Options {
    /// Returns the options with another [`cache_bytes`](Options::cache_bytes).
    #[must_use]
    pub const fn with_cache_bytes(self, cache_bytes: usize) -> Options {
        Options { cache_bytes, ..self }
    }

    /// Returns the options with another [`memtable_rows`](Options::memtable_rows).
    #[must_use]
    pub const fn with_memtable_rows(self, memtable_rows: usize) -> Options {
        Options { memtable_rows, ..self }
    }

    /// Returns the options with another [`memtable_bytes`](Options::memtable_bytes).
    #[must_use]
    pub const fn with_memtable_bytes(self, memtable_bytes: usize) -> Options {
        Options { memtable_bytes, ..self }
    }

    /// Returns the options with another [`build_bytes`](Options::build_bytes).
    #[must_use]
    pub const fn with_build_bytes(self, build_bytes: usize) -> Options {
        Options { build_bytes, ..self }
    }

    /// Returns the options with another [`threads`](Options::threads).
    #[must_use]
    pub const fn with_threads(self, threads: usize) -> Options {
        Options { threads, ..self }
    }

    /// Returns the options with another [`background`](Options::background).
    #[must_use]
    pub const fn with_background(self, background: bool) -> Options {
        Options { background, ..self }
    }

    /// Returns the options with another [`merge`](Options::merge).
    #[must_use]
    pub const fn with_merge(self, merge: bool) -> Options {
        Options { merge, ..self }
    }

    /// Returns the options with another [`recovery`](Options::recovery).
    #[must_use]
    pub const fn with_recovery(self, recovery: Recovery) -> Options {
        Options { recovery, ..self }
    }

    /// Returns the options with another [`log`](Options::log).
    #[must_use]
    pub const fn with_log(self, log: LogKind) -> Options {
        Options { log, ..self }
    }

    /// Rejects options that cannot work.
    pub(crate) fn check(&self) -> Result<()> {
        let too_small = |what: &str, found: usize, least: usize| {
            Err(Error::invalid(
                format!("option {what} = {found}"),
                format!("it must be at least {least}"),
            ))
        };
        if self.memtable_rows == 0 {
            return too_small("memtable_rows", 0, 1);
        }
        if self.memtable_rows > MOST_MEMTABLE_ROWS {
            let what = format!("option memtable_rows = {}", self.memtable_rows);
            return Err(Error::invalid(what, format!("it must be at most {MOST_MEMTABLE_ROWS}")));
        }
        if self.memtable_bytes == 0 {
            return too_small("memtable_bytes", 0, 1);
        }
        Ok(())
    }
}
