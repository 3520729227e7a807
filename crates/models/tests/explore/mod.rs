//! Runs a model under schedulers that try many orders of its threads.
//!
//! In: a model, which starts threads, joins them and asserts. Out: nothing, or a failure (a panic of the model, a
//! deadlock, or a run without end) with the seed that reproduces it. `RINGER_SHUTTLE` sets the number of runs of each
//! model, and `RINGER_SHUTTLE_SEED` the first seed.

use shuttle::scheduler::{PctScheduler, RandomScheduler};
use shuttle::{Config, FailurePersistence, MaxSteps, Runner};

/// The default number of runs of a model.
const RUNS: u64 = 1000;

/// Runs that share one priority scheduler. It learns from the first how long a run is.
const RUNS_TOGETHER: u64 = 10;

/// A run with more steps counts as endless.
const MOST_STEPS: usize = 5_000_000;

/// The stack of a model's threads. Compression and sorting need more than shuttle's default.
const STACK_BYTES: usize = 1 << 20;

fn number(variable: &str, otherwise: u64) -> u64 {
    std::env::var(variable).map_or(otherwise, |text| text.parse().expect("a number"))
}

/// Runs a model many times. Half of the runs choose the next thread at random at each step. The other half give
/// threads random priorities and change them a few times (PCT).
pub(crate) fn explore(model: impl Fn() + Send + Sync + Copy + 'static) {
    let mut config = Config::new();
    config.stack_size = STACK_BYTES;
    config.failure_persistence = FailurePersistence::None;
    config.max_steps = MaxSteps::FailAfter(MOST_STEPS);
    config.silence_warnings = true;
    let (runs, first) = (number("RINGER_SHUTTLE", RUNS), number("RINGER_SHUTTLE_SEED", 1));
    for seed in first..first + runs.div_ceil(2) {
        let _told = Told(seed, "at random");
        Runner::new(RandomScheduler::new_from_seed(seed, 1), config.clone()).run(model);
    }
    for seed in first..first + (runs / 2).div_ceil(RUNS_TOGETHER) {
        let _told = Told(seed, "by priorities");
        let depth = 2 + seed as usize % 4;
        let scheduler = PctScheduler::new_from_seed(seed, depth, RUNS_TOGETHER as usize);
        Runner::new(scheduler, config.clone()).run(model);
    }
}

/// Prints the seed of a run that fails.
struct Told(u64, &'static str);

impl Drop for Told {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("threads were chosen {}: RINGER_SHUTTLE_SEED={}", self.1, self.0);
        }
    }
}
