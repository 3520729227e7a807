//! Whether work can be spread over threads.
//!
//! rayon starts the threads of the whole program when they are first used, and panics where the system has none to
//! give: little memory, or a limit of processes. Whoever spreads work asks here first, and does it alone otherwise.

use std::error::Error;
use std::sync::OnceLock;

/// Whether rayon has threads: those of the pool in which this one is, or those of the whole program, which start now
/// unless they have before.
pub(crate) fn can_spread() -> bool {
    static STARTED: OnceLock<bool> = OnceLock::new();
    let start = || match rayon::ThreadPoolBuilder::new().build_global() {
        Ok(()) => true,
        // Without a cause: somebody else has started them.
        Err(refused) => refused.source().is_none(),
    };
    rayon::current_thread_index().is_some() || *STARTED.get_or_init(start)
}
