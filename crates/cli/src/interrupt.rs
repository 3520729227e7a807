//! Ctrl-C and polite kills: the first one asks the command to come to a good end, the second one ends it at
//! once. Either way the database is whole, since a commit is durable or has not happened.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::exit;

static ASKED: AtomicBool = AtomicBool::new(false);

/// From here on an interrupt only asks.
pub(crate) fn listen() {
    let heard = || {
        if ASKED.swap(true, Ordering::SeqCst) {
            std::process::exit(130);
        }
        exit::say("stopping (once more to stop at once)");
    };
    // Without a handler an interrupt ends the process, which is safe too.
    let _ = ctrlc::set_handler(heard);
}

/// Whether someone asked us to stop.
pub(crate) fn asked() -> bool {
    ASKED.load(Ordering::SeqCst)
}
