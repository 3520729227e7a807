//! Runs work without the GIL: in this thread, or spread over threads and watched.
//!
//! In: work, a number of threads, and a progress callback. Out: its result, or an exception. While watched work runs, the
//! calling thread wakes up now and then, calls the callback and lets Python handle signals, so that Ctrl-C stops the work.
//! Panics are caught here.

use std::collections::HashMap;
use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use ringer::Error;

use crate::failure::{Failure, Outcome};

/// How long the calling thread sleeps between two looks at signals.
pub(crate) const PATIENCE: Duration = Duration::from_millis(50);

/// The most threads that a call may ask for.
const MOST_THREADS: usize = 1024;

/// Pools of different sizes that are kept for later calls.
const MOST_POOLS: usize = 4;

/// How a long call is run: the number of threads, and a function to call with the steps done and the steps in total.
#[derive(Default)]
pub(crate) struct Run {
    threads: Option<usize>,
    pub(crate) progress: Option<Py<PyAny>>,
}

/// A tuple `(threads, progress)`.
impl<'py> FromPyObject<'_, 'py> for Run {
    type Error = PyErr;

    fn extract(run: Borrowed<'_, 'py, PyAny>) -> PyResult<Run> {
        let (threads, progress): (Option<Bound<'_, PyAny>>, _) = run.extract()?;
        let threads = threads.map(|threads| {
            threads.extract::<usize>().map_err(|error: PyErr| {
                match error.is_instance_of::<PyOverflowError>(run.py()) {
                    true => refused(&threads).into(),
                    false => error,
                }
            })
        });
        Ok(Run { threads: threads.transpose()?, progress })
    }
}

fn refused(threads: impl Display) -> Failure {
    Failure::invalid(format!("threads = {threads}: it must be 1 to {MOST_THREADS}"))
}

/// What watched work and the calling thread share.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    stop: AtomicBool,
    done: AtomicU64,
    total: AtomicU64,
}

impl Watch {
    /// Whether the work should end.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// An error if the work should end.
    pub(crate) fn check(&self) -> Outcome<()> {
        if self.is_stopped() { Err(Error::Interrupted.into()) } else { Ok(()) }
    }

    pub(crate) fn set(&self, done: u64, total: u64) {
        self.done.store(done, Ordering::Relaxed);
        self.total.store(total, Ordering::Relaxed);
    }

    pub(crate) fn set_total(&self, total: usize) {
        self.total.store(total as u64, Ordering::Relaxed);
    }

    /// Counts a step.
    pub(crate) fn step(&self) {
        self.done.fetch_add(1, Ordering::Relaxed);
    }

    fn seen(&self) -> (u64, u64) {
        (self.done.load(Ordering::Relaxed), self.total.load(Ordering::Relaxed))
    }
}

/// Runs short work without the GIL, in this thread.
pub(crate) fn detached<T: Send>(
    py: Python<'_>,
    work: impl FnOnce() -> Outcome<T> + Send,
) -> Outcome<T> {
    py.detach(|| caught(work))
}

/// Runs long work in a pool of threads, and watches it from this one.
pub(crate) fn watched<T: Send>(
    py: Python<'_>,
    run: &Run,
    work: impl FnOnce(&Watch) -> Outcome<T> + Send,
) -> Outcome<T> {
    let pool = pool(py, run.threads)?;
    let (watch, progress) = (Watch::default(), &run.progress);
    py.detach(|| {
        let (sender, receiver) = sync_channel(1);
        let mut raised = None;
        let look = |raised: &mut Option<PyErr>| {
            if raised.is_none()
                && let Err(error) = Python::attach(|py| look(py, progress.as_ref(), &watch))
            {
                watch.stop.store(true, Ordering::Relaxed);
                *raised = Some(error);
            }
        };
        let outcome = pool.in_place_scope(|scope| {
            scope.spawn(|_| drop(sender.send(caught(|| work(&watch)))));
            loop {
                match receiver.recv_timeout(PATIENCE) {
                    Ok(outcome) => return outcome,
                    Err(RecvTimeoutError::Timeout) => look(&mut raised),
                    Err(RecvTimeoutError::Disconnected) => {
                        return Err(Failure::Panic("a thread ended early".into()));
                    }
                }
            }
        });
        if outcome.is_ok() {
            // Phases of the library may end before their last step.
            watch.done.store(watch.total.load(Ordering::Relaxed), Ordering::Relaxed);
            look(&mut raised);
        }
        raised.map_or(outcome, |error| Err(error.into()))
    })
}

/// Lets Python handle signals, and reports progress.
pub(crate) fn look(py: Python<'_>, progress: Option<&Py<PyAny>>, watch: &Watch) -> PyResult<()> {
    py.check_signals()?;
    match (progress, watch.seen()) {
        (Some(progress), seen @ (_, 1..)) => progress.call1(py, seen).map(drop),
        _ => Ok(()),
    }
}

pub(crate) fn caught<T>(work: impl FnOnce() -> Outcome<T>) -> Outcome<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<&str>().map(ToString::to_string);
        let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
        Err(Failure::Panic(text.unwrap_or_else(|| "a panic without a message".into())))
    })
}

/// Pools of the process that made them.
struct Pools {
    process: u32,
    by_threads: HashMap<usize, Arc<ThreadPool>>,
}

/// A pool of this many threads; by default one for each processor.
///
/// A forked process has none of the threads of its parent, so it gets pools of its own. The lock is never held during a fork
/// of Python: callers are attached to the interpreter, as `_py` proves, and do not detach while they hold it. A fork waits until
/// all other threads are detached or stand still between two instructions of Python, whether there is a GIL or not.
fn pool(_py: Python<'_>, threads: Option<usize>) -> Outcome<Arc<ThreadPool>> {
    static POOLS: Mutex<Option<Pools>> = Mutex::new(None);
    let usual = || std::thread::available_parallelism().map_or(1, usize::from);
    let threads = threads.unwrap_or_else(usual);
    if !(1..=MOST_THREADS).contains(&threads) {
        return Err(refused(threads));
    }
    let mut pools = POOLS.lock().unwrap_or_else(PoisonError::into_inner);
    let process = std::process::id();
    if pools.as_ref().is_none_or(|pools| pools.process != process) {
        // Pools of a parent process are left alone: ending them would wait for their threads.
        std::mem::forget(pools.replace(Pools { process, by_threads: HashMap::new() }));
    }
    let Some(Pools { by_threads, .. }) = pools.as_mut() else {
        return Err(Failure::Panic("no pools".into()));
    };
    if let Some(pool) = by_threads.get(&threads) {
        return Ok(Arc::clone(pool));
    }
    let pool = ThreadPoolBuilder::new().num_threads(threads).build().map_err(|error| {
        let message = format!("cannot start {threads} threads: {error}; ask for fewer");
        Failure::Named("OverLimit", message)
    })?;
    if by_threads.len() == MOST_POOLS {
        by_threads.clear();
    }
    let pool = Arc::new(pool);
    by_threads.insert(threads, Arc::clone(&pool));
    Ok(pool)
}
