//! Bytes in use: an allocator that counts, and bounds on what a call may take.
//!
//! A test binary that asks declares [`Counting`] as its global allocator. A block that grows counts as a new block
//! and, for a moment, the old one.
#![allow(unsafe_code, reason = "an allocator is unsafe by its trait")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicIsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// What an attack with damaged or forged bytes may take.
pub const MOST: isize = 64 << 20;

thread_local! {
    /// Bytes in use by this thread, and the most that were.
    static OWN: Cell<(isize, isize)> = const { Cell::new((0, 0)) };
}

/// Bytes in use by all threads, and the most that were since [`capped_call`] last started.
static IN_USE: AtomicIsize = AtomicIsize::new(0);
static PEAK: AtomicIsize = AtomicIsize::new(0);
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// The system's allocator, counted.
#[derive(Debug)]
pub struct Counting;

fn count(bytes: isize) {
    let now = IN_USE.fetch_add(bytes, Ordering::Relaxed) + bytes;
    PEAK.fetch_max(now, Ordering::Relaxed);
    let _ = OWN.try_with(|own| {
        let (now, most) = own.get();
        own.set((now + bytes, most.max(now + bytes)));
    });
}

// SAFETY: every call goes to the system's allocator as it is; only numbers are kept in addition.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: the caller keeps the contract of `alloc_zeroed`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        // SAFETY: the caller keeps the contract of `dealloc`, and the pointer came from `System`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// What a call returns, and the most bytes that this thread had in use during it. Other threads do not count, so tests
/// that run at the same time do not disturb each other.
pub fn taking<T>(call: impl FnOnce() -> T) -> (T, usize) {
    let before = OWN.get().0;
    OWN.set((before, before));
    let given = call();
    (given, (OWN.get().1 - before).max(0) as usize)
}

/// The most bytes that all threads had in use at a time.
pub fn most_in_use() -> usize {
    PEAK.load(Ordering::Relaxed).max(0) as usize
}

/// Runs an attack and fails if all threads together took more than [`MOST`].
pub fn capped(attack: fn(&[u8]), bytes: &[u8]) {
    capped_call(|| attack(bytes));
}

/// The same for any call.
pub fn capped_call(attack: impl FnOnce()) {
    let _one = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let before = IN_USE.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    attack();
    let taken = PEAK.load(Ordering::Relaxed) - before;
    assert!(taken <= MOST, "{taken} bytes were in use");
}
