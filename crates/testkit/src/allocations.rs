//! Counts the bytes in use with a wrapping allocator, and bounds what a call may allocate.
//!
//! A test binary that measures memory declares [`Counting`] as its global allocator. A reallocation counts the new
//! block and, for a moment, the old one as well.
#![allow(unsafe_code, reason = "an allocator is unsafe by its trait")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicIsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// The most bytes that an attack with damaged or forged input may use.
pub const MOST: isize = 64 << 20;

thread_local! {
    /// Bytes in use by this thread, and their maximum so far.
    static OWN: Cell<(isize, isize)> = const { Cell::new((0, 0)) };
}

/// Bytes in use by all threads, and their maximum since [`capped_call`] last started.
static IN_USE: AtomicIsize = AtomicIsize::new(0);
static PEAK: AtomicIsize = AtomicIsize::new(0);
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// The system allocator with counters.
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

// SAFETY: every call is passed to the system allocator unchanged. Only counters are added.
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

/// Runs a call and returns its result with the most bytes that this thread had in use during it. Other threads do not
/// count, so concurrent tests do not disturb each other.
pub fn taking<T>(call: impl FnOnce() -> T) -> (T, usize) {
    let before = OWN.get().0;
    OWN.set((before, before));
    let given = call();
    (given, (OWN.get().1 - before).max(0) as usize)
}

/// Returns the most bytes that all threads had in use at one time.
pub fn most_in_use() -> usize {
    PEAK.load(Ordering::Relaxed).max(0) as usize
}

/// Runs an attack and fails if all threads together used more than [`MOST`].
pub fn capped(attack: fn(&[u8]), bytes: &[u8]) {
    capped_call(|| attack(bytes));
}

/// Runs any call and fails if all threads together used more than [`MOST`].
pub fn capped_call(attack: impl FnOnce()) {
    let _one = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let before = IN_USE.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    attack();
    let taken = PEAK.load(Ordering::Relaxed) - before;
    assert!(taken <= MOST, "{taken} bytes were in use");
}
