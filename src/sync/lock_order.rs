//! The order of the engine's locks.
//!
//! A thread takes locks in rising rank: while it holds one, it may take only those with higher ranks. Each lock is a
//! [`Ranked`](super::Ranked) mutex or a [`RankedRwLock`](super::RankedRwLock) with one of these ranks. Debug builds panic
//! when a thread breaks the order. Locks of the store come after those of the writer, because the store never calls back.

/// A handle: closing a database, or refreshing a reader. Held meanwhile.
pub(crate) const HANDLE: u8 = 0;

/// The turn to commit: sequences, and whether the database is closed. Held while a group of commits is made durable.
pub(crate) const TURN: u8 = 1;

/// The queue of waiting batches. Held for moments.
pub(crate) const QUEUE: u8 = 2;

/// The backlog of checkpoints and merges. Held for moments, and released while a thread waits.
pub(crate) const BACKLOG: u8 = 3;

/// The append lock: the end of the database file, and its superblock. Held during a checkpoint or vacuum. Merges and
/// bulk loads take it only at the end, not while they build segments.
pub(crate) const APPEND: u8 = 4;

/// The file of the commit mark. Held while one is written, and while a vacuum replaces the file.
pub(crate) const MARK: u8 = 5;

/// The log. Held for moments.
pub(crate) const LOG: u8 = 6;

/// The state that readers see. Held for moments.
pub(crate) const PUBLISHED: u8 = 7;

/// One batch in the queue, and its outcome. Held for moments.
pub(crate) const WAITING: u8 = 8;

/// The lock against other writers. Held for moments.
pub(crate) const WRITER_LOCK: u8 = 9;

/// The trim of a log. Held while the commits that remain are copied.
pub(crate) const TRIM: u8 = 10;

/// The end of a log. Held while commits are appended and synced.
pub(crate) const LOG_END: u8 = 11;

/// The rows of a memtable. Held while a commit is applied, and by readers while they visit rows.
pub(crate) const MEMTABLE: u8 = 12;

/// One shard of the page cache. Held for moments. Page tables have no lock.
pub(crate) const PAGE_CACHE: u8 = 13;

/// The names of a file system in memory. Held for moments.
pub(crate) const MEMORY_NAMES: u8 = 14;

/// The bytes of a file in memory. Held while they are copied.
pub(crate) const MEMORY_BYTES: u8 = 15;

/// The cached sets of a verification, and the list of those that are lost. Held for moments, one at a time.
pub(crate) const ORIGINALS: u8 = 16;

/// The blocks of a failing disk that salvage could not read. Held for moments.
pub(crate) const REFUSED_BLOCKS: u8 = 17;
