//! Twins of what shuttle does not have: a lock whose writer can become a reader, and an `Arc` that is swapped.
//! They have the methods that this crate uses, by the names and with the results of the originals.

use std::ops::{Deref, DerefMut};
use std::sync::{Arc, LockResult, PoisonError};

use shuttle::sync as modelled;

/// As [`std::sync::RwLock`].
#[derive(Debug, Default)]
pub(crate) struct RwLock<T>(modelled::RwLock<T>);

/// As [`std::sync::RwLockReadGuard`]. One that was a writer goes on keeping everybody else out: others wait
/// longer than they would have to, and see nothing that they could not see otherwise.
#[derive(Debug)]
pub(crate) enum RwLockReadGuard<'a, T> {
    /// It came to read.
    Read(modelled::RwLockReadGuard<'a, T>),
    /// It came to write.
    Downgraded(RwLockWriteGuard<'a, T>),
}

/// As [`std::sync::RwLockWriteGuard`].
#[derive(Debug)]
pub(crate) struct RwLockWriteGuard<'a, T>(modelled::RwLockWriteGuard<'a, T>);

impl<T> RwLock<T> {
    /// A lock that nobody holds.
    pub(crate) fn new(value: T) -> RwLock<T> {
        RwLock(modelled::RwLock::new(value))
    }

    /// Waits for all writers.
    pub(crate) fn read(&self) -> LockResult<RwLockReadGuard<'_, T>> {
        let guard = self.0.read().unwrap_or_else(PoisonError::into_inner);
        Ok(RwLockReadGuard::Read(guard))
    }

    /// Waits for all others.
    pub(crate) fn write(&self) -> LockResult<RwLockWriteGuard<'_, T>> {
        Ok(RwLockWriteGuard(self.0.write().unwrap_or_else(PoisonError::into_inner)))
    }
}

impl<'a, T> RwLockWriteGuard<'a, T> {
    /// Lets other readers in, and no writer.
    pub(crate) fn downgrade(guard: RwLockWriteGuard<'a, T>) -> RwLockReadGuard<'a, T> {
        RwLockReadGuard::Downgraded(guard)
    }
}

impl<T> Deref for RwLockReadGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        match self {
            RwLockReadGuard::Read(guard) => guard,
            RwLockReadGuard::Downgraded(guard) => guard,
        }
    }
}

impl<T> Deref for RwLockWriteGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> DerefMut for RwLockWriteGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

/// As [`arc_swap::ArcSwapOption`]: each load and each swap is one step, and others may come between them.
#[derive(Debug)]
pub(crate) struct ArcSwapOption<T>(modelled::Mutex<Option<Arc<T>>>);

impl<T> ArcSwapOption<T> {
    /// Nothing.
    pub(crate) fn empty() -> ArcSwapOption<T> {
        ArcSwapOption(modelled::Mutex::new(None))
    }

    /// What is there now.
    pub(crate) fn load(&self) -> Option<Arc<T>> {
        self.load_full()
    }

    /// What is there now.
    pub(crate) fn load_full(&self) -> Option<Arc<T>> {
        self.held().clone()
    }

    /// Puts what `change` makes of what is there in its place, and calls it again where another was quicker.
    pub(crate) fn rcu(&self, change: impl Fn(&Option<Arc<T>>) -> Option<Arc<T>>) {
        loop {
            let old = self.load_full();
            let new = change(&old);
            let mut held = self.held();
            let same = match (&*held, &old) {
                (None, None) => true,
                (Some(now), Some(old)) => Arc::ptr_eq(now, old),
                _ => false,
            };
            if same {
                let replaced = std::mem::replace(&mut *held, new);
                drop(held);
                return drop(replaced);
            }
        }
    }

    fn held(&self) -> modelled::MutexGuard<'_, Option<Arc<T>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
