//! All pairs and clusters of a database, from stored signatures: how long they take, how that grows, what they find.
//!
//! `cargo bench --bench groups` uses the sets of the peer comparison (200 elements, skewed vocabulary; one in a
//! hundred is a base, one in ten is planted near one) and one thread. `RINGER_BENCH_ROWS` sets sizes other than 100 k
//! and 1 M. `RINGER_BENCH_DIR` keeps the databases there for the next run.

#[path = "ratio/mod.rs"]
mod ratio;

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Instant;

use ringer::{Database, Found, Linkage, Options, Scheme, Snapshot};
use testkit::workload::{self, MEMBERS, Workload};

const ROUNDS: usize = 5;
const GO_ON: ControlFlow<()> = ControlFlow::Continue(());

/// Returns set `i`. The bases come before the background.
fn set(w2: &Workload, i: u64) -> workload::Set {
    if i < w2.clusters() { w2.query(i) } else { w2.set(i) }
}

fn filled(path: &Path, scheme: &Scheme, w2: &Workload) -> Database {
    let options = Options::default().with_cache_bytes(64 << 20).with_threads(1);
    if path.exists() {
        return Database::open(path, options).unwrap();
    }
    let db = Database::create(path, scheme, options).unwrap();
    let mut load = db.bulk_load();
    (0..w2.len()).for_each(|i| load.put(key(i), &set(w2, i)).unwrap());
    load.commit().unwrap();
    db.compact().unwrap();
    db
}

/// Returns keys in an order unrelated to the sets.
fn key(i: u64) -> [u8; 16] {
    let mut key = [0; 16];
    key[..8].copy_from_slice(&testkit::random::mix(i).to_be_bytes());
    key[8..].copy_from_slice(&i.to_be_bytes());
    key
}

fn number(key: &[u8]) -> u64 {
    u64::from_be_bytes(key[8..].try_into().unwrap())
}

/// Counts the pairs of planted sets and bases with a resemblance of at least `min`.
fn truth(w2: &Workload, min: f64) -> HashSet<(u64, u64)> {
    let mut all = HashSet::new();
    for cluster in 0..w2.clusters() {
        let numbers = (0..MEMBERS).map(|m| w2.member(cluster, m));
        let numbers: Vec<u64> = std::iter::once(cluster).chain(numbers).collect();
        let sets: Vec<HashSet<u64>> =
            numbers.iter().map(|i| set(w2, *i).into_iter().collect()).collect();
        for i in 0..sets.len() {
            for j in 0..i {
                let common = sets[i].intersection(&sets[j]).count() as f64;
                if common / (2.0 * workload::ELEMENTS as f64 - common) >= min {
                    all.insert((numbers[j], numbers[i]));
                }
            }
        }
    }
    all
}

/// Returns the best of some rounds, in seconds.
fn best(mut work: impl FnMut()) -> f64 {
    let rounds = (0..ROUNDS).map(|_| {
        let start = Instant::now();
        work();
        start.elapsed().as_secs_f64()
    });
    rounds.fold(f64::INFINITY, f64::min)
}

/// Returns the peak memory of the process in MiB, or 0 if the system does not report it.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|kb| kb.trim_end_matches("kB").trim().parse::<u64>().ok()).unwrap_or(0) / 1024
}

/// Measures pairs with an estimate of at least `ask`, where those of resemblance `min` are wanted. `ask` is somewhat
/// lower, because estimates have errors.
fn bench(snapshot: &Snapshot, w2: &Workload, name: &str, min: f64, ask: f64) {
    let mut found = Vec::new();
    let mut report = None;
    let pairs = best(|| {
        found.clear();
        let run = snapshot.pairs(ask).expand().run(|event| {
            if let Found::Pair(pair) = event {
                found.push(pair);
            }
            GO_ON
        });
        report = Some(run.unwrap());
    });
    let report = report.unwrap();
    let mut clusters = [0; 2];
    let linkages = [Linkage::Connected, Linkage::Strict];
    let mut seconds = [0.0; 2];
    for (i, linkage) in linkages.into_iter().enumerate() {
        seconds[i] = best(|| {
            clusters[i] = 0;
            let run = snapshot.clusters(ask).linkage(linkage).run(|cluster| {
                clusters[i] += usize::from(cluster.keys.len() > 1);
                GO_ON
            });
            run.unwrap();
        });
    }
    let right = truth(w2, min);
    let keys: HashSet<(u64, u64)> = found
        .iter()
        .map(|pair| {
            let (a, b) = (number(&pair.a), number(&pair.b));
            (a.min(b), a.max(b))
        })
        .collect();
    assert_eq!(keys.len(), found.len(), "each once");
    let of = |pairs: &HashSet<(u64, u64)>| -> HashSet<u64> {
        pairs.iter().flat_map(|(a, b)| [*a, *b]).collect()
    };
    let (wanted, flagged) = (of(&right), of(&keys));
    let flags = wanted.intersection(&flagged).count() as f64;
    let hits = right.intersection(&keys).count() as f64;
    let sure: Vec<_> = found.iter().filter(|pair| !pair.undecided).collect();
    let title = format!("{name}, {} sets, wanted {min}, asked for {ask}", w2.len());
    let figures = [
        ("all pairs", pairs * 1e3, "ms"),
        ("clusters, connected", seconds[0] * 1e3, "ms"),
        ("clusters, strict", seconds[1] * 1e3, "ms"),
        ("recall of pairs", hits / right.len() as f64, ""),
        ("precision of pairs", hits / keys.len() as f64, ""),
        ("peak memory", peak() as f64, "MiB"),
    ];
    for (what, value, unit) in figures {
        ratio::figure(&title, what, value, unit, None);
    }
    println!(
        "{name}, {} sets, R >= {min} (asked {ask}): pairs {:.0} ms ({:.0} ns a set), clusters {:.0} and {:.0} ms \
         (connected {}, strict {}); {} pairs, {} of them certain, {} compared; recall {:.4}, precision {:.3}; \
         of sets in a pair {:.4}, {:.3}; peak {} MiB",
        w2.len(),
        pairs * 1e3,
        pairs * 1e9 / w2.len() as f64,
        seconds[0] * 1e3,
        seconds[1] * 1e3,
        clusters[0],
        clusters[1],
        found.len(),
        sure.len(),
        report.compared,
        hits / right.len() as f64,
        hits / keys.len() as f64,
        flags / wanted.len() as f64,
        flags / flagged.len() as f64,
        peak(),
    );
}

fn main() {
    if !ratio::wanted() {
        return;
    }
    let kept = std::env::var_os("RINGER_BENCH_DIR").map(PathBuf::from);
    let temporary = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let folder = kept.as_deref().unwrap_or(temporary.path());
    let sets = std::env::var("RINGER_BENCH_ROWS").unwrap_or("100000,1000000".into());
    let schemes = [("near-duplicate", Scheme::near_duplicate()), ("precise", Scheme::precise())];
    for sets in sets.split(',').map(|n| n.parse::<u64>().unwrap()) {
        let w2 = Workload::new(sets);
        for (name, scheme) in &schemes {
            let path = folder.join(format!("groups-{name}-{sets}.ringer"));
            let db = filled(&path, scheme, &w2);
            for (min, ask) in [(0.8, 0.8), (0.8, 0.7), (0.5, 0.5)] {
                bench(&db.snapshot(), &w2, name, min, ask);
            }
        }
    }
}
