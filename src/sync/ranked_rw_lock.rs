//! A reader-writer lock with a rank, which debug builds check as they do that of a [`Ranked`](super::Ranked) mutex.
//!
//! Readers need a rising rank, too. A thread that waits to read while it holds a lock can be part of a deadlock, because a
//! writer may wait in between.

use std::ops::{Deref, DerefMut};

use super::ranked::held::Held;
use super::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// A reader-writer lock of rank `RANK`, below 64.
#[derive(Debug, Default)]
pub(crate) struct RankedRwLock<const RANK: u8, T>(RwLock<T>);

/// The guard of a reader.
#[derive(Debug)]
pub(crate) struct RankedReadGuard<'a, const RANK: u8, T> {
    // Fields drop in this order: first the lock is released, then the rank.
    guard: RwLockReadGuard<'a, T>,
    _held: Held,
}

/// The guard of a writer.
#[derive(Debug)]
pub(crate) struct RankedWriteGuard<'a, const RANK: u8, T> {
    guard: RwLockWriteGuard<'a, T>,
    held: Held,
}

impl<const RANK: u8, T> RankedRwLock<RANK, T> {
    /// Makes an unlocked lock.
    pub(crate) fn new(value: T) -> RankedRwLock<RANK, T> {
        const { assert!(RANK < 64, "ranks are bits of a word") };
        RankedRwLock(RwLock::new(value))
    }

    /// Waits until no writer holds the lock. Ignores poisoning, as [`Ranked::lock`](super::Ranked::lock) does.
    pub(crate) fn read(&self) -> RankedReadGuard<'_, RANK, T> {
        let held = Held::new(RANK);
        let guard = self.0.read().unwrap_or_else(PoisonError::into_inner);
        RankedReadGuard { guard, _held: held }
    }

    /// Like [`RankedRwLock::read`], for a thread that may already read another lock of this rank. The caller must say why
    /// two of them cannot deadlock, and release this one first.
    pub(crate) fn read_beside(&self) -> RankedReadGuard<'_, RANK, T> {
        let held = Held::beside(RANK);
        let guard = self.0.read().unwrap_or_else(PoisonError::into_inner);
        RankedReadGuard { guard, _held: held }
    }

    /// Waits until nobody holds the lock.
    pub(crate) fn write(&self) -> RankedWriteGuard<'_, RANK, T> {
        let held = Held::new(RANK);
        RankedWriteGuard { guard: self.0.write().unwrap_or_else(PoisonError::into_inner), held }
    }
}

impl<'a, const RANK: u8, T> RankedWriteGuard<'a, RANK, T> {
    /// Turns the guard into one of a reader, without letting a writer in between.
    pub(crate) fn downgrade(self) -> RankedReadGuard<'a, RANK, T> {
        RankedReadGuard { guard: RwLockWriteGuard::downgrade(self.guard), _held: self.held }
    }
}

impl<const RANK: u8, T> Deref for RankedReadGuard<'_, RANK, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.guard
    }
}

impl<const RANK: u8, T> Deref for RankedWriteGuard<'_, RANK, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.guard
    }
}

impl<const RANK: u8, T> DerefMut for RankedWriteGuard<'_, RANK, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.guard
    }
}

#[cfg(all(test, debug_assertions))]
mod tests {
    use std::panic::catch_unwind;

    use super::*;

    #[test]
    fn readers_and_writers_need_rising_ranks() {
        let (first, second) = (RankedRwLock::<1, _>::new(1), RankedRwLock::<2, _>::new(2));
        let low = first.write();
        assert_eq!((*low, *second.read()), (1, 2));
        *second.write() += 1;
        let mut high = second.write();
        *high += 1;
        let high = high.downgrade();
        assert_eq!(*high, 4);
        drop(low);
        // The downgraded guard still has its rank.
        assert!(catch_unwind(|| drop(RankedRwLock::<1, _>::new(()).read())).is_err());
        assert!(catch_unwind(|| drop(RankedRwLock::<2, _>::new(()).read())).is_err());
        assert!(catch_unwind(|| drop(RankedRwLock::<2, _>::new(()).write())).is_err());
        drop(high);
        assert_eq!(*first.read(), 1);
    }

    #[test]
    fn two_locks_of_a_rank_are_read_only_side_by_side() {
        let (one, other) = (RankedRwLock::<2, _>::new(1), RankedRwLock::<2, _>::new(2));
        let (low, high) = (RankedRwLock::<1, _>::new(()), RankedRwLock::<3, _>::new(()));
        let first = one.read();
        assert_eq!((*first, *other.read_beside()), (1, 2));
        // The rank of the first lock is still held after the second one was released.
        assert!(catch_unwind(|| drop(low.read_beside())).is_err());
        assert!(catch_unwind(|| drop(other.read())).is_err());
        drop(first);
        drop(low.read());
        let _high = high.read();
        assert!(catch_unwind(|| drop(other.read_beside())).is_err());
    }
}
