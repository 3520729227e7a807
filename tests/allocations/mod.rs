//! The bytes that a call has in use: a test that says `mod allocations` has them counted.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    /// Bytes in use by this thread, and the most that were. A query runs in the thread that asks, so tests
    /// beside each other do not disturb each other.
    static IN_USE: Cell<(isize, isize)> = const { Cell::new((0, 0)) };
}

struct Counting;

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

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// What a call gives, and the most bytes that it had in use.
pub(crate) fn taking<T>(call: impl FnOnce() -> T) -> (T, usize) {
    let before = IN_USE.get().0;
    IN_USE.set((before, before));
    let given = call();
    (given, (IN_USE.get().1 - before).max(0) as usize)
}
