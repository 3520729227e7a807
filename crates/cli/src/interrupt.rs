//! Ctrl-C and SIGTERM. The first one asks the command to finish cleanly, the second one ends it at once. The database stays
//! intact either way, because a commit is either durable or did not happen. The last line says what is safe.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::exit;

static REQUESTED: AtomicBool = AtomicBool::new(false);

/// Folders and files to remove when the process ends at once.
static TEMPORARY: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// What is safe if the command ends now.
static SAFE: Mutex<String> = Mutex::new(String::new());

/// Installs the handler of a command that can stop in the middle. `safe` is what is safe then.
pub(crate) fn listen(safe: &str) {
    now_safe(safe.into());
    let heard = || {
        if REQUESTED.swap(true, Ordering::SeqCst) {
            end();
        }
        exit::say("stopping; interrupt again to stop at once");
    };
    // If the handler cannot be installed, an interrupt ends the process, which is safe as well.
    let _ = ctrlc::set_handler(heard);
}

/// Installs the handler of a command that cannot stop in the middle and needs not: it says what is safe and ends the process.
pub(crate) fn end_at_once(safe: &str) {
    now_safe(safe.into());
    let _ = ctrlc::set_handler(end);
}

/// Changes what is safe.
pub(crate) fn now_safe(safe: String) {
    *SAFE.lock().unwrap_or_else(PoisonError::into_inner) = safe;
}

/// Says what is safe, when a command ends because of an interrupt.
pub(crate) fn tell() {
    let safe = SAFE.lock().unwrap_or_else(PoisonError::into_inner);
    if !safe.is_empty() {
        exit::say(&format!("interrupted: {safe}"));
    }
}

fn end() {
    for path in &*TEMPORARY.lock().unwrap_or_else(PoisonError::into_inner) {
        let _ = std::fs::remove_dir_all(path).or_else(|_| std::fs::remove_file(path));
    }
    tell();
    std::process::exit(130);
}

/// Whether an interrupt arrived.
pub(crate) fn requested() -> bool {
    REQUESTED.load(Ordering::SeqCst)
}

/// Registers a folder or a file to be removed when the process ends at once.
pub(crate) fn remove_at_exit(path: &Path) {
    TEMPORARY.lock().unwrap_or_else(PoisonError::into_inner).push(path.into());
}
