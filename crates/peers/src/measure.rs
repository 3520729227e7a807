//! Measurement: wall and processor time, memory, and latency and recall of queries.

use std::collections::HashSet;
use std::fs;
use std::time::{Duration, Instant};

use cpu_time::ProcessTime;

use testkit::workload::{MEMBERS, Workload};

/// Queries per round, if the workload has as many.
const QUERIES: u64 = 1000;

/// Wall and processor time of pieces of work.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    wall: Duration,
    processor: Duration,
}

impl Watch {
    /// Times one more piece.
    pub(crate) fn time<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let (wall, processor) = (Instant::now(), ProcessTime::now());
        let result = work();
        self.wall += wall.elapsed();
        self.processor += processor.elapsed();
        result
    }

    /// Seconds of wall and of processor time so far.
    pub(crate) fn seconds(&self) -> (f64, f64) {
        (self.wall.as_secs_f64(), self.processor.as_secs_f64())
    }

    /// Thousands of items per second of wall time, and per second of processor time.
    pub(crate) fn rates(&self, things: u64) -> (f64, f64) {
        let rate = |time: Duration| things as f64 / time.as_secs_f64() / 1e3;
        (rate(self.wall), rate(self.processor))
    }
}

/// Resident memory of the process in bytes.
pub(crate) fn resident_bytes() -> u64 {
    bytes_of("/proc/self/status", "VmRSS:").unwrap_or(0)
}

/// Available memory in bytes, or unlimited if the system does not tell.
pub(crate) fn available_bytes() -> u64 {
    bytes_of("/proc/meminfo", "MemAvailable:").unwrap_or(u64::MAX)
}

fn bytes_of(path: &str, name: &str) -> Option<u64> {
    let text = fs::read_to_string(path).ok()?;
    let value = text.lines().find_map(|line| line.strip_prefix(name))?;
    Some(value.trim_end_matches("kB").trim().parse::<u64>().ok()? * 1024)
}

/// A filled index that has the signatures of the queries.
pub(crate) trait Contender {
    /// The answer in the index's own form.
    type Answer;

    /// The ten nearest sets of a query. This call is timed.
    fn query(&self, query: u64) -> Self::Answer;

    /// The numbers of the sets in an answer.
    fn numbers(&self, answer: Self::Answer) -> Vec<u64>;
}

/// Results of queries: latencies of each round, and hits at each resemblance.
#[derive(Debug, Default)]
pub(crate) struct Queries {
    rounds: Vec<Vec<f64>>,
    hits: [u64; MEMBERS as usize],
    queries: u64,
}

/// The number of queries per round for a workload.
pub(crate) fn queries_of(w2: &Workload) -> u64 {
    QUERIES.min(w2.clusters())
}

impl Queries {
    /// Runs every query once without timing. This warms caches and counts hits.
    pub(crate) fn warm<C: Contender>(&mut self, w2: &Workload, contender: &C) {
        for query in 0..queries_of(w2) {
            let found: HashSet<u64> =
                contender.numbers(contender.query(query)).into_iter().collect();
            assert!(found.len() <= 10, "more than the ten that were asked for");
            for (member, hits) in (0..MEMBERS).zip(&mut self.hits) {
                *hits += u64::from(found.contains(&w2.member(query, member)));
            }
            self.queries += 1;
        }
    }

    /// Times every query once, in reverse order. Otherwise the first queries would find their data in the processor's
    /// caches, left there by the previous round.
    pub(crate) fn round<C: Contender>(&mut self, w2: &Workload, contender: &C) {
        self.round_of(w2, contender, u64::MAX);
    }

    /// The same with at most this many queries.
    pub(crate) fn round_of<C: Contender>(&mut self, w2: &Workload, contender: &C, most: u64) {
        let mut times = Vec::new();
        for query in (0..queries_of(w2).min(most)).rev() {
            let start = Instant::now();
            let answer = contender.query(query);
            times.push(start.elapsed().as_secs_f64() * 1e6);
            drop(answer);
        }
        times.sort_by(f64::total_cmp);
        self.rounds.push(times);
    }

    /// A percentile of the latencies in microseconds: the lowest over all rounds. `share` is from 0 to 1.
    pub(crate) fn percentile(&self, share: f64) -> f64 {
        let at = |times: &Vec<f64>| times[(share * (times.len() - 1) as f64) as usize];
        self.rounds.iter().map(at).fold(f64::INFINITY, f64::min)
    }

    /// The share of planted sets that were found: in all, and at each resemblance.
    pub(crate) fn recall(&self) -> (f64, [f64; MEMBERS as usize]) {
        let each = self.hits.map(|hits| hits as f64 / self.queries as f64);
        (each.iter().sum::<f64>() / MEMBERS as f64, each)
    }
}
