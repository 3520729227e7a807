//! Runs a reader that may panic or hang in its own thread.
//!
//! In: a reader and a time limit. Out: its items, one by one, and how it ended. It must not know what is read.
//!
//! A panic is caught in that thread. The program's panic hook stays in place and may print it. A thread that hangs
//! cannot be stopped from outside, so it is left behind.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Duration;

/// The name of reader threads.
const THREAD: &str = "ringer-replay";

/// How many items may be queued between the threads.
const WAITING: usize = 16;

/// How a reader ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    /// It read to the end.
    Well,
    /// The consumer wanted no more.
    Stopped,
    /// It panicked.
    Panicked,
    /// It did not answer in time.
    Silent,
}

/// A message from the reader's thread.
enum Message<T> {
    Item(T),
    End(Ended),
}

/// Reads in a separate thread. `read` passes items to its argument until that returns `false`. Each item goes to
/// `take`, which returns whether it wants more. `limit` bounds the wait for each item and for the end.
pub(super) fn read_in_thread<T: Send + 'static>(
    limit: Duration,
    read: impl FnOnce(&mut dyn FnMut(T) -> bool) + Send + 'static,
    take: &mut dyn FnMut(T) -> bool,
) -> std::io::Result<Ended> {
    let (sender, items) = sync_channel(WAITING);
    let (running, finished) = sync_channel::<()>(0);
    let thread = thread::Builder::new().name(THREAD.into()).spawn(move || {
        // Dropped last, which signals that the thread has finished.
        let _running = running;
        let give = &mut |item| sender.send(Message::Item(item)).is_ok();
        // After a panic the reader's state is dropped unused, so it need not be unwind-safe.
        let ended = match catch_unwind(AssertUnwindSafe(|| read(give))) {
            Ok(()) => Ended::Well,
            Err(_) => Ended::Panicked,
        };
        // This fails if the consumer wanted no more and is gone.
        let _ = sender.send(Message::End(ended));
    })?;
    let ended = loop {
        match items.recv_timeout(limit) {
            Ok(Message::Item(item)) => {
                if !take(item) {
                    break Ended::Stopped;
                }
            }
            Ok(Message::End(ended)) => break ended,
            Err(RecvTimeoutError::Disconnected) => break Ended::Panicked,
            Err(RecvTimeoutError::Timeout) => break Ended::Silent,
        }
    };
    drop(items);
    // Wait until the reader has closed its files, because the caller may remove them next. A panic at this point
    // changes nothing.
    if ended != Ended::Silent && finished.recv_timeout(limit) == Err(RecvTimeoutError::Disconnected)
    {
        let _ = thread.join();
    }
    Ok(ended)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by a panic")]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_secs(20);

    #[test]
    fn items_arrive_in_order_and_the_end_is_told() {
        let mut taken = Vec::new();
        let ended =
            read_in_thread(LIMIT, |give| (0..100).for_each(|i| assert!(give(i))), &mut |i| {
                taken.push(i);
                true
            });
        assert_eq!(ended.unwrap(), Ended::Well);
        assert_eq!(taken, (0..100).collect::<Vec<_>>());
    }

    #[test]
    fn a_taker_that_wants_no_more_ends_the_reader() {
        let ended = read_in_thread(LIMIT, |give| while give(1) {}, &mut |_| false);
        assert_eq!(ended.unwrap(), Ended::Stopped);
    }

    #[test]
    fn a_panic_of_the_reader_ends_there() {
        let mut taken = 0;
        let read = |give: &mut dyn FnMut(i32) -> bool| {
            give(7);
            panic!("a reader that fails");
        };
        let ended = read_in_thread(LIMIT, read, &mut |item| {
            taken += item;
            true
        });
        assert_eq!((ended.unwrap(), taken), (Ended::Panicked, 7));
    }

    #[test]
    fn a_reader_that_never_answers_is_left_behind() {
        let (release, held) = sync_channel::<()>(0);
        let read = move |_: &mut dyn FnMut(i32) -> bool| held.recv().unwrap_or_default();
        let ended = read_in_thread(Duration::from_millis(20), read, &mut |_| true);
        assert_eq!(ended.unwrap(), Ended::Silent);
        drop(release);
    }
}
