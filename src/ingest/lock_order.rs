//! The order of the writer's locks, stated here and nowhere else.
//!
//! A thread takes locks in rising rank: while it holds one, it may take only those of higher ranks. Each lock is a
//! [`Ranked`](crate::sync::Ranked) mutex with one of these ranks, and debug builds panic where the order is broken.
//! Locks inside the store (memtable, page cache, hot tier) come after all of these: the store never calls back.

/// The turn to commit: sequences, and whether the database is closed. Held while a group of commits is made durable.
pub(super) const TURN: u8 = 1;

/// Batches that wait for their turn. Held for moments.
pub(super) const QUEUE: u8 = 2;

/// What the threads of maintenance should do. Held for moments, and given up while a thread waits.
pub(super) const BACKLOG: u8 = 3;

/// The append lock: the end of the database file, and its superblock. Held while a checkpoint or a vacuum is made, and
/// at the end of merges and bulk loads, never while those build.
pub(super) const APPEND: u8 = 4;

/// The file that takes commit marks. Held while one is written, and while a vacuum replaces the file.
pub(super) const MARK: u8 = 5;

/// The hot tier. Held for moments.
pub(super) const HOT_TIER: u8 = 6;

/// The state that readers see. Held for moments.
pub(super) const PUBLISHED: u8 = 7;

/// One batch in the queue, and what became of it. Held for moments.
pub(super) const WAITING: u8 = 8;

/// The lock that keeps other writers out. Held for moments.
pub(super) const WRITER_LOCK: u8 = 9;
