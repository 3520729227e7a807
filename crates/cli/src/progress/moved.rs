//! Progress of work inside the library that reports none: the bytes that this process has read and written so far, compared
//! with what such work usually takes.
//!
//! Linux counts them in `/proc/self/io`. Elsewhere only the time is shown.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use indicatif::ProgressBar;

use super::{STACK_BYTES, Unit};
use crate::show::Style;

/// How often the bar is moved.
const EVERY: Duration = Duration::from_millis(200);

/// A bar that moves by itself until it is dropped.
pub(crate) struct Moved {
    bar: ProgressBar,
    mover: Option<(Sender<()>, JoinHandle<()>)>,
}

/// A bar for work that reads and writes about `expected` bytes.
pub(crate) fn moved(style: Style, what: &'static str, expected: u64) -> Moved {
    let Some(before) = bytes_moved() else {
        return Moved { bar: super::spinner(style, what), mover: None };
    };
    let bar = super::bar(style, what, Unit::Moved, Some(expected.max(1)));
    let (stop, stopped) = channel();
    let moving = bar.clone();
    let move_it = move || {
        while let Err(RecvTimeoutError::Timeout) = stopped.recv_timeout(EVERY) {
            let moved = bytes_moved().unwrap_or(before).saturating_sub(before);
            // The work may take more bytes than usual, but it ends only when the command says so.
            moving.set_position(moved.min(expected / 100 * 99));
        }
    };
    let thread = std::thread::Builder::new().name("progress".into()).stack_size(STACK_BYTES);
    // Without a thread the bar stands still, and nothing else is lost.
    let mover = thread.spawn(move_it).ok().map(|thread| (stop, thread));
    Moved { bar, mover }
}

impl Drop for Moved {
    fn drop(&mut self) {
        if let Some((stop, thread)) = self.mover.take() {
            drop(stop);
            let _ = thread.join();
        }
        self.bar.finish_and_clear();
    }
}

/// The bytes that this process has read and written.
pub(crate) fn bytes_moved() -> Option<u64> {
    let counts = std::fs::read_to_string("/proc/self/io").ok()?;
    let count = |name| -> Option<u64> {
        counts.lines().find_map(|line| line.strip_prefix(name))?.trim().parse().ok()
    };
    Some(count("rchar:")? + count("wchar:")?)
}
