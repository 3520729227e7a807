//! Runs contenders side by side. Each runs once in each of many rounds, and its best round counts. So a machine that
//! slows down for a while slows all of them.
//!
//! Benches print for people. For `benches/report` they also append [`figure`]s to the file that the environment
//! variable `RINGER_BENCH_FIGURES` names.
#![allow(dead_code, reason = "each bench uses a part of it")]

use std::fs::File;
use std::io::Write;
use std::time::Instant;

/// The number of rounds, unless `RINGER_BENCH_ROUNDS` is set.
const ROUNDS: usize = 40;

/// A named piece of work.
pub(crate) type Contender<'a> = (&'a str, &'a mut dyn FnMut());

/// Prints ratios.
pub(crate) struct Ratio {
    rounds: usize,
}

impl Ratio {
    pub(crate) fn new() -> Ratio {
        let asked = std::env::var("RINGER_BENCH_ROUNDS").ok();
        let rounds = asked.and_then(|n| n.parse().ok()).unwrap_or(ROUNDS);
        println!("\nside by side, best of {rounds} rounds");
        Ratio { rounds }
    }

    /// Runs all contenders and prints the speed of each relative to the baseline.
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
        for _ in 0..self.rounds {
            best[0] = best[0].min(time(base));
            for (best, (_, work)) in best[1..].iter_mut().zip(others.iter_mut()) {
                *best = best.min(time(work));
            }
        }
        println!("{title}");
        let names = std::iter::once(first).chain(others.iter().map(|(name, _)| *name));
        for (name, seconds) in names.zip(&best) {
            let (rate, ratio) = (work / seconds, best[0] / seconds);
            println!("  {name:42} {rate:10.1} {unit:14} {ratio:5.2}");
            figure(title, name, rate, unit, Some(ratio));
        }
    }
}

/// Records a figure for `benches/report` as one line of tab-separated fields: title, name, value, unit, and the speed
/// relative to the first contender of the title (empty if there is none).
pub(crate) fn figure(title: &str, name: &str, value: f64, unit: &str, ratio: Option<f64>) {
    let Some(path) = std::env::var_os("RINGER_BENCH_FIGURES") else { return };
    let ratio = ratio.map_or(String::new(), |ratio| ratio.to_string());
    let mut file = File::options().create(true).append(true).open(path).expect("a writable file");
    writeln!(file, "{title}\t{name}\t{value}\t{unit}\t{ratio}").expect("space for a line");
}

/// Returns whether this is a real run, not `cargo test` or `--list` trying out the benches.
pub(crate) fn wanted() -> bool {
    !std::env::args().any(|argument| argument == "--test" || argument == "--list")
}
