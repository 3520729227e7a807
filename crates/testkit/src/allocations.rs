//! The bytes that a call has in use. A test binary that asks declares [`Counting`] as its global allocator.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    /// Bytes in use by this thread, and the most that were. A query runs in the thread that asks, so tests
    /// beside each other do not disturb each other.
    static IN_USE: Cell<(isize, isize)> = const { Cell::new((0, 0)) };
}

/// Counts bytes, and asks the system for them.
#[derive(Debug)]
pub struct Counting;

fn count(bytes: isize) {
    let _ = IN_USE.try_with(|used| {
        let (now, most) = used.get();
        used.set((now + bytes, most.max(now + bytes)));
    });
}

#[expect(unsafe_code, reason = "an allocator is unsafe by its trait")]
// SAFETY: every call goes to the system's allocator as it is; only numbers are kept beside.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        // SAFETY: the caller keeps the contract of `dealloc`, and the pointer came from `System`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// What a call gives, and the most bytes that it had in use.
pub fn taking<T>(call: impl FnOnce() -> T) -> (T, usize) {
    let before = IN_USE.get().0;
    IN_USE.set((before, before));
    let given = call();
    (given, (IN_USE.get().1 - before).max(0) as usize)
}
