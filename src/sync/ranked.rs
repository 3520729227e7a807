//! A mutex with a rank. Debug builds check that every thread takes its locks in rising order.
//!
//! Two threads that take the same locks in the same order cannot wait for each other. A lock's rank is part of its type,
//! and a thread may take it only while all locks that it holds have lower ranks. In a build with debug assertions, a
//! thread that breaks the rule panics at once, also in runs in which no other thread happens to be in the way. In other
//! builds a [`Ranked`] is a plain mutex.

use std::ops::{Deref, DerefMut};

use super::{Condvar, Mutex, MutexGuard, PoisonError};

/// A mutex of rank `RANK`, below 64.
#[derive(Debug, Default)]
pub(crate) struct Ranked<const RANK: u8, T>(Mutex<T>);

/// A [`Ranked`] mutex that is held.
#[derive(Debug)]
pub(crate) struct RankedGuard<'a, const RANK: u8, T> {
    // Dropped in this order: the rank is free only after the lock is.
    guard: MutexGuard<'a, T>,
    held: held::Held,
}

impl<const RANK: u8, T> Ranked<RANK, T> {
    /// A mutex that nobody holds.
    pub(crate) fn new(value: T) -> Ranked<RANK, T> {
        const { assert!(RANK < 64, "ranks are bits of a word") };
        Ranked(Mutex::new(value))
    }

    /// Waits for the mutex. What a thread that panicked left in it is used as it is: every change of a value behind a
    /// ranked mutex is a single assignment, so none is half done.
    pub(crate) fn lock(&self) -> RankedGuard<'_, RANK, T> {
        // Checked before the wait: a thread that waits for ever reports nothing.
        let held = held::Held::new(RANK);
        RankedGuard { guard: self.0.lock().unwrap_or_else(PoisonError::into_inner), held }
    }
}

impl<const RANK: u8, T> RankedGuard<'_, RANK, T> {
    /// Releases the mutex, waits to be notified, and takes it again.
    pub(crate) fn wait(self, condition: &Condvar) -> Self {
        // The rank stays taken: a thread that waits takes no other lock.
        let RankedGuard { guard, held } = self;
        let guard = condition.wait(guard).unwrap_or_else(PoisonError::into_inner);
        RankedGuard { guard, held }
    }
}

impl<const RANK: u8, T> Deref for RankedGuard<'_, RANK, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.guard
    }
}

impl<const RANK: u8, T> DerefMut for RankedGuard<'_, RANK, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.guard
    }
}

#[cfg(debug_assertions)]
mod held {
    use std::cell::Cell;
    use std::marker::PhantomData;

    #[cfg(shuttle)]
    use shuttle::thread_local;

    thread_local! {
        /// The ranks that this thread holds, one bit each.
        static HELD: Cell<u64> = const { Cell::new(0) };
    }

    /// A rank that this thread holds until this is dropped. Like a guard, it stays in its thread.
    #[derive(Debug)]
    pub(super) struct Held(u8, PhantomData<*const ()>);

    impl Held {
        pub(super) fn new(rank: u8) -> Held {
            // A thread that is ending has no such memory any more. Nothing is checked then.
            let held = HELD.try_with(Cell::get).unwrap_or(0);
            assert!(
                held >> rank == 0,
                "lock order: rank {rank} is taken while rank {} is held",
                held.checked_ilog2().unwrap_or(0)
            );
            let _ = HELD.try_with(|held| held.set(held.get() | 1 << rank));
            Held(rank, PhantomData)
        }
    }

    impl Drop for Held {
        fn drop(&mut self) {
            let _ = HELD.try_with(|held| held.set(held.get() & !(1 << self.0)));
        }
    }
}

#[cfg(not(debug_assertions))]
mod held {
    /// Nothing: ranks are checked in debug builds only.
    #[derive(Debug)]
    pub(super) struct Held;

    impl Held {
        pub(super) fn new(_rank: u8) -> Held {
            Held
        }
    }
}

#[cfg(all(test, debug_assertions))]
mod tests {
    use std::panic::catch_unwind;

    use super::*;

    #[test]
    fn rising_ranks_are_taken_and_freed_in_any_order() {
        let (first, second) = (Ranked::<1, _>::new(10), Ranked::<2, _>::new(20));
        let low = first.lock();
        let high = second.lock();
        assert_eq!((*low, *high), (10, 20));
        drop(low);
        // Rank 2 is still held, rank 3 is above it.
        *Ranked::<3, _>::new(0).lock() += *high;
        drop(high);
        *first.lock() += 1;
        assert_eq!(*first.lock(), 11);
    }

    #[test]
    fn a_lower_or_equal_rank_is_refused() {
        let refused = catch_unwind(|| {
            let (first, second) = (Ranked::<1, _>::new(()), Ranked::<2, _>::new(()));
            let _high = second.lock();
            let _low = first.lock();
        });
        let message = *refused.unwrap_err().downcast::<String>().unwrap();
        assert_eq!(message, "lock order: rank 1 is taken while rank 2 is held");
        let equal = catch_unwind(|| {
            let (one, other) = (Ranked::<2, _>::new(()), Ranked::<2, _>::new(()));
            let _one = one.lock();
            let _other = other.lock();
        });
        assert!(equal.is_err());
        // Both threads of control have let go of everything.
        drop(Ranked::<0, _>::new(()).lock());
    }

    #[test]
    fn a_wait_keeps_the_rank() {
        let (mutex, condition) = (Ranked::<5, _>::new(false), Condvar::new());
        std::thread::scope(|scope| {
            scope.spawn(|| {
                *mutex.lock() = true;
                condition.notify_all();
            });
            let mut guard = mutex.lock();
            while !*guard {
                guard = guard.wait(&condition);
            }
            assert!(catch_unwind(|| drop(Ranked::<5, _>::new(()).lock())).is_err());
            drop(guard);
            drop(Ranked::<5, _>::new(()).lock());
        });
    }
}
