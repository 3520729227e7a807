//! A mutex with a rank. Debug builds check that every thread takes its locks in rising order.
//!
//! Threads that take locks in the same order cannot deadlock. The rank is part of the lock's type. A thread may take
//! a lock only if all locks that it holds have lower ranks. With debug assertions, a thread that breaks this rule
//! panics at once, even if no other thread is in its way. In other builds a [`Ranked`] is a plain mutex.

use std::ops::{Deref, DerefMut};

use super::{Condvar, Mutex, MutexGuard, PoisonError};

/// A mutex of rank `RANK`, below 64.
#[derive(Debug, Default)]
pub(crate) struct Ranked<const RANK: u8, T>(Mutex<T>);

/// The guard of a [`Ranked`] mutex.
#[derive(Debug)]
pub(crate) struct RankedGuard<'a, const RANK: u8, T> {
    // Fields drop in this order: first the lock is released, then the rank.
    guard: MutexGuard<'a, T>,
    held: held::Held,
}

impl<const RANK: u8, T> Ranked<RANK, T> {
    /// Makes an unlocked mutex.
    pub(crate) fn new(value: T) -> Ranked<RANK, T> {
        const { assert!(RANK < 64, "ranks are bits of a word") };
        Ranked(Mutex::new(value))
    }

    /// Locks the mutex. Ignores poisoning by a panicked thread: no change of a value behind a ranked mutex is
    /// half done where code can panic. What follows a panic in a writer is decided there.
    pub(crate) fn lock(&self) -> RankedGuard<'_, RANK, T> {
        // Check before waiting: a deadlocked thread cannot report anything.
        let held = held::Held::new(RANK);
        RankedGuard { guard: self.0.lock().unwrap_or_else(PoisonError::into_inner), held }
    }

    /// Whether a thread panicked while it held the mutex.
    #[cfg(test)]
    pub(crate) fn is_poisoned(&self) -> bool {
        self.0.is_poisoned()
    }
}

impl<const RANK: u8, T> RankedGuard<'_, RANK, T> {
    /// Releases the mutex, waits for a notification, and locks it again.
    pub(crate) fn wait(self, condition: &Condvar) -> Self {
        // The rank stays taken, because a waiting thread takes no other lock.
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
pub(super) mod held {
    use std::cell::Cell;
    use std::marker::PhantomData;

    #[cfg(shuttle)]
    use shuttle::thread_local;

    thread_local! {
        /// A bit for each rank that this thread holds.
        static HELD: Cell<u64> = const { Cell::new(0) };
    }

    /// A rank that this thread holds until the value is dropped. It is not `Send`, like a guard.
    #[derive(Debug)]
    pub(crate) struct Held {
        /// The bit to clear at the end. Zero if another lock of this thread has the same rank.
        bit: u64,
        not_send: PhantomData<*const ()>,
    }

    impl Held {
        /// Takes a rank above all that this thread holds.
        pub(crate) fn new(rank: u8) -> Held {
            Held::above(rank, rank)
        }

        /// Takes a rank that this thread may hold already. It must end before the first lock of this rank.
        pub(crate) fn beside(rank: u8) -> Held {
            Held::above(rank, rank + 1)
        }

        fn above(rank: u8, first_refused: u8) -> Held {
            // A thread that is ending has no thread-locals any more. Then nothing is checked.
            let held = HELD.try_with(Cell::get).unwrap_or(0);
            assert!(
                held >> first_refused == 0,
                "lock order: rank {rank} is taken while rank {} is held",
                held.checked_ilog2().unwrap_or(0)
            );
            let bit = (1 << rank) & !held;
            let _ = HELD.try_with(|held| held.set(held.get() | bit));
            Held { bit, not_send: PhantomData }
        }
    }

    impl Drop for Held {
        fn drop(&mut self) {
            let _ = HELD.try_with(|held| held.set(held.get() & !self.bit));
        }
    }
}

#[cfg(not(debug_assertions))]
pub(super) mod held {
    /// Empty, because only debug builds check ranks.
    #[derive(Debug)]
    pub(crate) struct Held;

    impl Held {
        pub(crate) fn new(_rank: u8) -> Held {
            Held
        }

        pub(crate) fn beside(_rank: u8) -> Held {
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
        // The panics have released all locks and ranks.
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
