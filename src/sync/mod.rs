//! Locks, atomics and threads of the modules that share data between threads.
//!
//! In an ordinary build these are the types of `std` and `arc_swap`. The package `crates/models` sets `cfg(shuttle)`.
//! Then they are replacements that yield to a scheduler at every step, so that tests can run the engine in many
//! thread orders (`.ci/shuttle`). What never waits for another thread (`Arc`, `OnceLock`, rayon's sorts) needs no
//! replacement. [`Ranked`] and [`RankedRwLock`] add a lock order that debug builds check.

pub(crate) mod lock_order;
mod ranked;
mod ranked_rw_lock;
mod spread;
#[cfg(shuttle)]
mod twins;

pub(crate) use ranked::{Ranked, RankedGuard};
pub(crate) use ranked_rw_lock::{RankedReadGuard, RankedRwLock, RankedWriteGuard};
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
