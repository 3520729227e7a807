//! Locks, atomics and threads of the modules that share data between threads.
//!
//! In an ordinary build these are the names of `std` and `arc_swap`. Under `cfg(shuttle)`, which the package
//! `crates/models` sets, they are twins that yield to a scheduler at every step, so that its tests can run the engine
//! itself in many orders of its threads (`.ci/shuttle`). What computes and never waits (`Arc`, `OnceLock`, rayon's
//! sorts) needs no twin. [`Ranked`] adds a lock order that debug builds check.

mod ranked;
mod spread;
#[cfg(shuttle)]
mod twins;

pub(crate) use ranked::{Ranked, RankedGuard};
pub(crate) use spread::can_spread;

#[cfg(not(shuttle))]
pub(crate) use arc_swap::ArcSwapOption;
#[cfg(not(shuttle))]
pub(crate) use std::sync::{
    Condvar, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard, atomic,
};
#[cfg(not(shuttle))]
pub(crate) use std::thread;

#[cfg(shuttle)]
pub(crate) use shuttle::sync::{Condvar, Mutex, MutexGuard, atomic};
#[cfg(shuttle)]
pub(crate) use shuttle::thread;
#[cfg(shuttle)]
pub(crate) use twins::{ArcSwapOption, RwLock, RwLockReadGuard, RwLockWriteGuard};

pub(crate) use std::sync::PoisonError;
