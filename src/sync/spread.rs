//! Whether parallel work is possible.
//!
//! rayon starts its global pool at the first use, and panics if the system refuses threads, for lack of memory or by
//! a process limit. Code that wants to run in parallel asks here first. If the answer is no, it runs in one thread.

use std::error::Error;
use std::sync::OnceLock;

/// Whether rayon has threads: those of the current pool, or those of the global pool, which this call starts if
/// necessary.
pub(crate) fn can_spread() -> bool {
    static STARTED: OnceLock<bool> = OnceLock::new();
    let start = || match rayon::ThreadPoolBuilder::new().build_global() {
        Ok(()) => true,
        // An error without a source means that the pool was already started.
        Err(refused) => refused.source().is_none(),
    };
    rayon::current_thread_index().is_some() || *STARTED.get_or_init(start)
}
