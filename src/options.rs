//! How a database is run: memory, threads, when to merge, what keeps fresh commits. Nothing here changes an answer, and nothing
//! here is stored; what is stored is the scheme.

use crate::error::{Error, Result};

/// How a database is run. The defaults suit a program that has other things to do as well.
///
/// ```
/// use ringer::Options;
/// let options = Options::default().with_cache_bytes(1 << 30).with_threads(4);
/// assert_eq!((options.cache_bytes, options.threads), (1 << 30, 4));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Bytes of pages kept in memory. Default 64 MiB.
    pub cache_bytes: usize,
    /// Rows that are collected in memory before they become a segment; up to twice as many are held
    /// while that goes on. Default 65,536.
    pub memtable_rows: usize,
    /// Bytes of keys and signatures that are collected before they become a segment. Default 64 MiB.
    pub memtable_bytes: usize,
    /// Bytes of rows that a bulk load or a merge holds before it spills to temporary files beside the
    /// database. Default 64 MiB.
    pub build_bytes: usize,
    /// Threads that sketch and sort in bulk loads and large batches; 0 for one a processor. Default 0.
    pub threads: usize,
    /// Whether checkpoints and merges run in a thread of their own. Without it they run inside the call
    /// that makes them necessary. Default true.
    pub background: bool,
    /// Whether segments are merged when there are too many of them, without being asked. Default true.
    pub merge: bool,
    /// What to do when commits that were acknowledged cannot be read again. Default [`Recovery::Strict`].
    pub recovery: Recovery,
    /// What keeps the commits between two checkpoints. Default [`HotTierKind::Log`].
    pub hot_tier: HotTierKind,
}

/// What to do when commits that were acknowledged cannot be read again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Recovery {
    /// Refuse to open, and change nothing.
    Strict,
    /// Go on with what can be read. The report of opening says what is lost; the damaged hot tier is kept
    /// under another name.
    Salvage,
}

/// What keeps the commits since the last checkpoint, in the directory `NAME-hot` beside the database.
///
/// Both survive a kill and a power cut, and both hold the same records. The choice is for the next hot tier
/// that is made: one that a crash left says itself of which kind it is, and is read whatever is chosen here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum HotTierKind {
    /// A plain file that grows at its end. A durable commit of one set takes about as long as a bare append
    /// and sync. A commit that finds the disk full is undone, and commits go on once there is space.
    #[default]
    Log,
    /// A sled 0.34.7 database. Commits of one set take about twice as long; those of a thousand were up to a
    /// quarter faster than with the log where other programs kept the disk busy. A commit that finds the
    /// disk full ends writing until the database is opened again, and in a program built with
    /// `panic = "abort"` a tier that was damaged after a crash aborts when it is opened, instead of giving
    /// an error. On real files only.
    Sled,
}

/// Rows in memory are numbered by 32 bits, with room for a last large batch.
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
            hot_tier: HotTierKind::Log,
        }
    }
}

impl Options {
    /// The same with another [`cache_bytes`](Options::cache_bytes).
    #[must_use]
    pub const fn with_cache_bytes(self, cache_bytes: usize) -> Options {
        Options { cache_bytes, ..self }
    }

    /// The same with another [`memtable_rows`](Options::memtable_rows).
    #[must_use]
    pub const fn with_memtable_rows(self, memtable_rows: usize) -> Options {
        Options { memtable_rows, ..self }
    }

    /// The same with another [`memtable_bytes`](Options::memtable_bytes).
    #[must_use]
    pub const fn with_memtable_bytes(self, memtable_bytes: usize) -> Options {
        Options { memtable_bytes, ..self }
    }

    /// The same with another [`build_bytes`](Options::build_bytes).
    #[must_use]
    pub const fn with_build_bytes(self, build_bytes: usize) -> Options {
        Options { build_bytes, ..self }
    }

    /// The same with another [`threads`](Options::threads).
    #[must_use]
    pub const fn with_threads(self, threads: usize) -> Options {
        Options { threads, ..self }
    }

    /// The same with another [`background`](Options::background).
    #[must_use]
    pub const fn with_background(self, background: bool) -> Options {
        Options { background, ..self }
    }

    /// The same with another [`merge`](Options::merge).
    #[must_use]
    pub const fn with_merge(self, merge: bool) -> Options {
        Options { merge, ..self }
    }

    /// The same with another [`recovery`](Options::recovery).
    #[must_use]
    pub const fn with_recovery(self, recovery: Recovery) -> Options {
        Options { recovery, ..self }
    }

    /// The same with another [`hot_tier`](Options::hot_tier).
    #[must_use]
    pub const fn with_hot_tier(self, hot_tier: HotTierKind) -> Options {
        Options { hot_tier, ..self }
    }

    /// Refuses options that cannot work.
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
