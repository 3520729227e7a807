//! Queries of a database that another program made, for a comparison of the same queries from Rust and from Python.

use std::path::Path;
use std::time::Instant;

use ringer::{Database, Like, Options};

use crate::Result;

/// Queries that are timed, and how often all of them are. `crates/python/benches/measure.py` has the same numbers.
const QUERIES: usize = 1000;
const ROUNDS: usize = 5;

/// Prints the median time of a query by key in microseconds, of the best round: from the call to all keys and similarities.
pub(crate) fn run(path: &Path) -> Result<()> {
    rayon::ThreadPoolBuilder::new().num_threads(1).build_global()?;
    let reader = Database::open_read_only(path, Options::default())?;
    let snapshot = reader.snapshot();
    let keys = snapshot.keys::<Vec<u8>>(..).take(QUERIES);
    let keys: Vec<_> = keys.collect::<std::result::Result<_, _>>()?;
    let mut best = f64::INFINITY;
    for _ in 0..ROUNDS {
        let mut times = Vec::with_capacity(keys.len());
        for key in &keys {
            let start = Instant::now();
            let answer = snapshot.query(Like::Key(key)).top(10).run()?;
            for found in &answer.matches {
                std::hint::black_box((&found.key, found.similarity().value));
            }
            times.push(start.elapsed());
        }
        times.sort();
        let median = times.get(times.len() / 2).ok_or("the database is empty")?;
        best = best.min(median.as_secs_f64() * 1e6);
    }
    println!("{best:.3}");
    Ok(())
}
