//! Replacements for what shuttle lacks: an `RwLock` with downgrade, and `ArcSwapOption`.
//!
//! They have the methods that this crate uses, with the names and results of the originals.

use std::ops::{Deref, DerefMut};
use std::sync::{Arc, LockResult, PoisonError};

use shuttle::sync as modelled;

/// Like [`std::sync::RwLock`].
#[derive(Debug, Default)]
pub(crate) struct RwLock<T>(modelled::RwLock<T>);

/// Like [`std::sync::RwLockReadGuard`]. A downgraded guard still excludes other readers. So they wait longer than
/// necessary, but every order that a model sees is a possible one.
#[derive(Debug)]
pub(crate) enum RwLockReadGuard<'a, T> {
    /// Taken by `read`.
    Read(modelled::RwLockReadGuard<'a, T>),
    /// Taken by `write`, then downgraded.
    Downgraded(RwLockWriteGuard<'a, T>),
}

/// Like [`std::sync::RwLockWriteGuard`].
#[derive(Debug)]
pub(crate) struct RwLockWriteGuard<'a, T>(modelled::RwLockWriteGuard<'a, T>);

impl<T> RwLock<T> {
    /// Makes an unlocked lock.
    pub(crate) fn new(value: T) -> RwLock<T> {
        RwLock(modelled::RwLock::new(value))
    }

    /// Waits until no writer holds the lock.
    pub(crate) fn read(&self) -> LockResult<RwLockReadGuard<'_, T>> {
        let guard = self.0.read().unwrap_or_else(PoisonError::into_inner);
        Ok(RwLockReadGuard::Read(guard))
    }

    /// Waits until nobody holds the lock.
    pub(crate) fn write(&self) -> LockResult<RwLockWriteGuard<'_, T>> {
        Ok(RwLockWriteGuard(self.0.write().unwrap_or_else(PoisonError::into_inner)))
    }
}

impl<'a, T> RwLockWriteGuard<'a, T> {
    /// Turns a write guard into a read guard, without letting a writer in between.
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

/// Like [`arc_swap::ArcSwapOption`]. Each load and each swap is one step. Other threads may run between two steps.
#[derive(Debug)]
pub(crate) struct ArcSwapOption<T>(modelled::Mutex<Option<Arc<T>>>);

impl<T> ArcSwapOption<T> {
    /// Makes an empty one.
    pub(crate) fn empty() -> ArcSwapOption<T> {
        ArcSwapOption(modelled::Mutex::new(None))
    }

    /// The current value.
    pub(crate) fn load(&self) -> Option<Arc<T>> {
        self.load_full()
    }

    /// The current value.
    pub(crate) fn load_full(&self) -> Option<Arc<T>> {
        self.held().clone()
    }

    /// Replaces the value by `change` of it. Calls `change` again if another thread has replaced the value meanwhile.
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
