//! Side by side: every contender runs once in each of many rounds, and its best round counts, so that a
//! machine that slows down for a while slows them all.
#![allow(dead_code, reason = "each bench uses a part of it")]

use std::time::Instant;

const ROUNDS: usize = 40;

/// A named piece of work.
pub(crate) type Contender<'a> = (&'a str, &'a mut dyn FnMut());

/// Prints ratios.
pub(crate) struct Ratio;

impl Ratio {
    pub(crate) fn new() -> Ratio {
        println!("\nside by side, best of {ROUNDS} rounds");
        Ratio
    }

    /// Runs all contenders and prints the speed of each against the baseline's.
    pub(crate) fn compare(
        &mut self,
        title: &str,
        unit: &str,
        work: f64,
        (first, base): Contender<'_>,
        others: &mut [Contender<'_>],
    ) {
        let mut best = vec![f64::INFINITY; others.len() + 1];
        let time = |work: &mut dyn FnMut()| {
            let start = Instant::now();
            work();
            start.elapsed().as_secs_f64()
        };
        for _ in 0..ROUNDS {
            best[0] = best[0].min(time(base));
            for (best, (_, work)) in best[1..].iter_mut().zip(others.iter_mut()) {
                *best = best.min(time(work));
            }
        }
        println!("{title}");
        let names = std::iter::once(first).chain(others.iter().map(|(name, _)| *name));
        for (name, seconds) in names.zip(&best) {
            println!("  {name:42} {:10.1} {unit:14} {:5.2}", work / seconds, best[0] / seconds);
        }
    }
}

/// Whether this is a real run, and not `cargo test` or `--list` trying whether benches work.
pub(crate) fn wanted() -> bool {
    !std::env::args().any(|argument| argument == "--test" || argument == "--list")
}
