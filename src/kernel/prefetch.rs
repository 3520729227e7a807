//! Prefetching.
#![allow(unsafe_code, reason = "the hint takes a pointer")]

/// Prefetches the cache line in which some words or bytes start. Does nothing if there is no such instruction.
#[inline(always)]
pub fn prefetch<T>(start: &[T]) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch reads nothing and cannot fault, whatever the address; SSE is part of x86-64.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(
            start.as_ptr().cast(),
        );
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = start;
}
