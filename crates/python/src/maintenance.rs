//! Work of the library that cannot be stopped and reports no progress: checks, checkpoints, compactions and copies.
//!
//! In: such work, and about how many bytes it reads and writes. Out: its result. Progress is the number of bytes that the
//! process has read and written since. Ctrl-C ends the call at once, and the work goes on in its own thread: what it does is safe
//! at any time, and what must not remain is undone at its end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};

use pyo3::prelude::*;
use ringer::Stat;

use crate::failure::{Failure, Outcome};
use crate::work::{PATIENCE, Run, Watch, caught, look};

/// How often each live byte is read and written when several segments are merged, by way of temporary files, and dead bytes are
/// removed; when only dead bytes are removed; and when a copy is written. `ringer compact` expects the same.
const MERGED: u64 = 7;
const MOVED: u64 = 2;
const COPIED: u64 = 5;

/// The bytes that a compaction reads and writes.
pub(crate) fn bytes_to_compact(stat: &Stat) -> u64 {
    let merges = stat.segments > 1 || stat.hidden_rows > 0;
    live_bytes(stat) * if merges { MERGED } else { MOVED }
}

/// The bytes that a copy reads and writes.
pub(crate) fn bytes_to_pack(stat: &Stat) -> u64 {
    live_bytes(stat) * COPIED
}

fn live_bytes(stat: &Stat) -> u64 {
    stat.file_bytes.saturating_sub(stat.dead_bytes)
}

/// Runs work that reads and writes about `expected` bytes, in a thread of its own. If the call ends before the work, because of
/// Ctrl-C or an exception of the callback, `undo` runs after work that succeeds.
pub(crate) fn unstoppable<T: Send + 'static>(
    py: Python<'_>,
    run: &Run,
    expected: u64,
    work: impl FnOnce() -> Outcome<T> + Send + 'static,
    undo: impl Fn() + Send + Sync + 'static,
) -> Outcome<T> {
    let (sender, receiver) = sync_channel(1);
    let (undo, decided) = (Arc::new(undo), Arc::new(AtomicBool::new(false)));
    let (undo_later, ended) = (Arc::clone(&undo), Arc::clone(&decided));
    let work = move || {
        let outcome = caught(work);
        // Whoever comes first decides whether the result counts.
        if !ended.swap(true, Ordering::AcqRel) {
            let _ = sender.send(outcome);
        } else if outcome.is_ok() {
            undo_later();
        }
    };
    let started = std::thread::Builder::new().name("ringerdb".into()).spawn(work);
    started.map_err(|error| {
        Failure::Named("OverLimit", format!("cannot start a thread: {error}; end other programs"))
    })?;
    let (watch, before, expected) = (Watch::default(), ringer_cli::bytes_moved(), expected.max(1));
    let watch = &watch;
    let look = || Python::attach(|py| look(py, run.progress.as_ref(), watch));
    py.detach(move || {
        loop {
            match receiver.recv_timeout(PATIENCE) {
                Ok(outcome) => {
                    let outcome = outcome?;
                    watch.set(expected, expected);
                    return match look() {
                        Ok(()) => Ok(outcome),
                        Err(error) => {
                            undo();
                            Err(error.into())
                        }
                    };
                }
                Err(RecvTimeoutError::Timeout) => {
                    let moved = ringer_cli::bytes_moved().zip(before);
                    let moved = moved.map_or(0, |(now, before)| now.saturating_sub(before));
                    // The work may take more bytes than usual, but it ends only when its result is there.
                    watch.set(moved.min(expected / 100 * 99), expected);
                    let Err(error) = look() else { continue };
                    if decided.swap(true, Ordering::AcqRel) && matches!(receiver.recv(), Ok(Ok(_)))
                    {
                        undo();
                    }
                    return Err(error.into());
                }
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(Failure::Panic("a thread ended early".into()));
                }
            }
        }
    })
}
