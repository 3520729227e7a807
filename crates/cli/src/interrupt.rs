//! Ctrl-C and polite kills: the first one asks the command to come to a good end, the second one ends it at
//! once. Either way the database is whole, since a commit is durable or has not happened.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::exit;

static ASKED: AtomicBool = AtomicBool::new(false);

/// Folders and files to remove if the process is ended at once.
static TEMPORARY: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// From here on an interrupt only asks.
pub(crate) fn listen() {
    let heard = || {
        if ASKED.swap(true, Ordering::SeqCst) {
            for path in &*TEMPORARY.lock().unwrap_or_else(PoisonError::into_inner) {
                let _ = std::fs::remove_dir_all(path).or_else(|_| std::fs::remove_file(path));
            }
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

/// Removes a folder or a file if the process is ended at once.
pub(crate) fn remove_at_exit(path: &Path) {
    TEMPORARY.lock().unwrap_or_else(PoisonError::into_inner).push(path.into());
}
