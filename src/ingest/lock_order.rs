//! The order of the writer's locks.
//!
//! A thread takes locks in rising rank: while it holds one, it may take only those with higher ranks. Each lock is a
//! [`Ranked`](crate::sync::Ranked) mutex with one of these ranks. Debug builds panic when a thread breaks the order.
//! Locks inside the store (memtable, page cache, log) come after all of these, because the store never calls back.

/// The turn to commit: sequences, and whether the database is closed. Held while a group of commits is made durable.
pub(super) const TURN: u8 = 1;

/// The queue of waiting batches. Held for moments.
pub(super) const QUEUE: u8 = 2;

/// The backlog of checkpoints and merges. Held for moments, and released while a thread waits.
pub(super) const BACKLOG: u8 = 3;

/// The append lock: the end of the database file, and its superblock. Held during a checkpoint or vacuum. Merges and
/// bulk loads take it only at the end, not while they build segments.
pub(super) const APPEND: u8 = 4;

/// The file of the commit mark. Held while one is written, and while a vacuum replaces the file.
pub(super) const MARK: u8 = 5;

/// The log. Held for moments.
pub(super) const HOT_TIER: u8 = 6;

/// The state that readers see. Held for moments.
pub(super) const PUBLISHED: u8 = 7;

/// One batch in the queue, and its outcome. Held for moments.
pub(super) const WAITING: u8 = 8;

/// The lock against other writers. Held for moments.
pub(super) const WRITER_LOCK: u8 = 9;
