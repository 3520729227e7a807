//! Queries compared with their lower bounds (plain reads of the same bytes) and with each other.
//!
//! `cargo bench --bench query` runs all parts with one thread, over the sets of the peer comparison. These have 200
//! elements from a skewed vocabulary, and one set in ten is planted near a query. `RINGER_BENCH_ROWS` names the numbers
//! of sets, separated by commas, instead of one million. `RINGER_BENCH_PARTS` selects the parts (`latency`, `spread`,
//! `scan`, `counting`, `hostile`). `RINGER_BENCH_DIR` names a folder that keeps the databases for the next run.

#[path = "ratio/mod.rs"]
mod ratio;

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use ringer::internals::format::signature_page;
use ringer::internals::index::{Postings, merge};
use ringer::scheme::Slots;
use ringer::{Database, Like, Options, Parameters, Plan, Scheme, Signature, Snapshot, presets};
use testkit::workload::Workload;

const QUERIES: u64 = 500;
const ROUNDS: usize = 10;

fn options(sets: u64) -> Options {
    Options::default().with_cache_bytes(400 * sets as usize + (64 << 20)).with_threads(1)
}

fn key(i: u64) -> [u8; 16] {
    let mut key = [0; 16];
    key[..8].copy_from_slice(&testkit::random::mix(i).to_be_bytes());
    key[8..].copy_from_slice(&i.to_be_bytes());
    key
}

/// Builds all sets in one compacted segment.
fn compacted(folder: &Path, w2: &Workload) -> Database {
    let path = folder.join(format!("compacted-{}.ringer", w2.len()));
    if path.exists() {
        return Database::open(&path, options(w2.len())).unwrap();
    }
    filled(&path, &Scheme::near_duplicate(), w2)
}

fn filled(path: &Path, scheme: &Scheme, w2: &Workload) -> Database {
    let db = Database::create(path, scheme, options(w2.len())).unwrap();
    let mut load = db.bulk_load();
    for i in 0..w2.len() {
        load.put(key(i), &w2.set(i)).unwrap();
    }
    load.commit().unwrap();
    db.compact().unwrap();
    db
}

fn queries(db: &Database, w2: &Workload) -> Vec<Signature> {
    let clusters = 0..QUERIES.min(w2.clusters());
    clusters.map(|c| db.sketcher().sketch(&w2.query(c)).unwrap()).collect()
}

/// Returns median and 99th percentile of the best round, in microseconds.
fn latency(snapshot: &Snapshot, queries: &[Signature], plan: Option<Plan>) -> (f64, f64) {
    let mut best = (f64::INFINITY, f64::INFINITY);
    for _ in 0..ROUNDS {
        let mut times: Vec<f64> = queries
            .iter()
            .map(|signature| {
                let query = snapshot.query(Like::Signature(signature)).top(10);
                let query = plan.map_or(query.clone(), |plan| query.plan(plan));
                let start = Instant::now();
                black_box(query.run().unwrap());
                start.elapsed().as_secs_f64() * 1e6
            })
            .collect();
        times.sort_by(f64::total_cmp);
        best = (best.0.min(times[times.len() / 2]), best.1.min(times[times.len() * 99 / 100]));
    }
    best
}

fn report(what: &str, snapshot: &Snapshot, queries: &[Signature]) {
    let (p50, p99) = latency(snapshot, queries, None);
    let mut work = ringer::query::Work::default();
    for signature in queries {
        work += snapshot.query(Like::Signature(signature)).top(10).explain().unwrap().work;
    }
    let mean = |n: u64| n as f64 / queries.len() as f64;
    println!(
        "{what}: p50 {p50:.1} us, p99 {p99:.1} us; a query reads {:.0} postings, compares {:.0} and \
         verifies {:.0} signatures",
        mean(work.postings),
        mean(work.compared),
        mean(work.verified)
    );
    let title = format!("{what}, the ten best");
    ratio::figure(&title, "median", p50, "us", None);
    ratio::figure(&title, "99th percentile", p99, "us", None);
    ratio::figure(&title, "postings read", mean(work.postings), "a query", None);
    ratio::figure(&title, "signatures verified", mean(work.verified), "a query", None);
}

fn bench_latency(folder: &Path, sets: u64) {
    let w2 = Workload::new(sets);
    let db = compacted(folder, &w2);
    report(&format!("{sets} sets, one segment"), &db.snapshot(), &queries(&db, &w2));
}

/// A full memtable and a dozen segments, compared with one segment of the same sets.
fn bench_spread(folder: &Path, sets: u64) {
    let w2 = Workload::new(sets);
    let path = folder.join(format!("spread-{sets}.ringer"));
    let options =
        options(sets).with_memtable_rows(1 << 16).with_merge(false).with_background(false);
    let _ = std::fs::remove_file(&path);
    let db = Database::create(&path, &Scheme::near_duplicate(), options).unwrap();
    let fresh = sets.min(1 << 16) - 1;
    for part in 0..12 {
        let mut load = db.bulk_load();
        for i in (part..sets - fresh).step_by(12) {
            load.put(key(i), &w2.set(i)).unwrap();
        }
        load.commit().unwrap();
    }
    for first in (sets - fresh..sets).step_by(1000) {
        let mut batch = db.batch();
        for i in first..sets.min(first + 1000) {
            batch.put(key(i), &w2.set(i)).unwrap();
        }
        db.commit(batch).unwrap();
    }
    assert_eq!(db.stat().unwrap().segments, 12);
    let queries = queries(&db, &w2);
    report(
        &format!("{sets} sets, 12 segments and a memtable of {fresh}"),
        &db.snapshot(),
        &queries,
    );
    drop(db);
    std::fs::remove_file(path).unwrap();
    bench_latency(folder, sets);
}

/// Exhaustive search without an index over signatures of 128 samples of b bits, and of the default scheme, compared
/// with a plain read of all their words. Queries have ten sets near them, or none.
fn bench_scan(folder: &Path, sets: u64) {
    let w2 = Workload::new(sets);
    let without_index = |bits| presets::PRECISE.with_bits(bits).with_slots(Slots::NONE);
    let schemes = [1, 2, 4, 8].map(without_index);
    for parameters in schemes.into_iter().chain([presets::NEAR_DUPLICATE]) {
        let Parameters { samples, bits, .. } = parameters;
        let path = folder.join(format!("scan-{samples}-{bits}-{sets}.ringer"));
        let scheme = Scheme::new(parameters).unwrap();
        let db = if path.exists() {
            Database::open(&path, options(sets)).unwrap()
        } else {
            filled(&path, &scheme, &w2)
        };
        let (snapshot, queries) = (db.snapshot(), queries(&db, &w2));
        // Queries without similar sets: their clusters are not among the stored sets.
        let strange = w2.clusters()..w2.clusters() + QUERIES;
        let strange: Vec<Signature> =
            strange.map(|c| db.sketcher().sketch(&w2.query(c)).unwrap()).collect();
        let words: Vec<u64> = (0..scheme.words_per_signature() as u64 * sets).collect();
        let sum = |words: &[u64]| {
            black_box(words.chunks_exact(8).fold([0_u64; 8], |mut sum, eight| {
                sum.iter_mut().zip(eight).for_each(|(sum, word)| *sum = sum.wrapping_add(*word));
                sum
            }));
        };
        let scan = |signature: &Signature| {
            black_box(
                snapshot.query(Like::Signature(signature)).top(10).exhaustive().run().unwrap(),
            );
        };
        queries.iter().take(3).for_each(scan);
        let (mut like, mut unlike) = (queries.iter().cycle(), strange.iter().cycle());
        ratio::Ratio::new().compare(
            &format!("one against {sets}, exhaustive, top 10, k = {samples}, b = {bits}"),
            "searches/s",
            1.0,
            ("plain read of the same words", &mut || sum(&words)),
            &mut [
                ("exhaustive query", &mut || like.next().into_iter().for_each(scan)),
                ("the same, nothing like it", &mut || unlike.next().into_iter().for_each(scan)),
            ],
        );
    }
}

/// A list in memory, in blocks.
struct Blocks<'a> {
    ids: &'a [u32],
}

impl Postings for Blocks<'_> {
    fn next_block(&mut self) -> ringer::Result<&[u32]> {
        let (block, rest) = self.ids.split_at(self.ids.len().min(128));
        self.ids = rest;
        Ok(block)
    }
}

/// Counting over long lists, in memory and from the pages of a segment.
fn bench_counting(folder: &Path) {
    let bound = 1_000_000;
    let lists: Vec<Vec<u32>> =
        (0..12).map(|i| (i..bound).step_by(4 + i as usize).collect()).collect();
    let postings: usize = lists.iter().map(Vec::len).sum();
    let mut best = f64::INFINITY;
    for _ in 0..40 {
        let start = Instant::now();
        let mut found = 0_u64;
        let blocks = lists.iter().map(|ids| Blocks { ids }).collect();
        merge::dense(blocks, bound, 11, |_, _| found += 1).unwrap();
        black_box(found);
        best = best.min(start.elapsed().as_secs_f64());
    }
    println!("counting long lists in memory: {:.0} M postings/s", postings as f64 / best / 1e6);

    let path = folder.join("counting.ringer");
    let _ = std::fs::remove_file(&path);
    let db = Database::create(&path, &Scheme::rdc(), options(1_000_000)).unwrap();
    let mut load = db.bulk_load();
    (0..1_000_000_u64).for_each(|i| load.put(key(i), &[i, testkit::random::mix(i)]).unwrap());
    load.commit().unwrap();
    let snapshot = db.snapshot();
    let signature = db.sketcher().sketch(&[7, 8, 9]).unwrap();
    let query = || snapshot.query(Like::Signature(&signature)).min_matches(7).plan(Plan::Probe);
    let (mut best, mut postings) = (f64::INFINITY, 0);
    for _ in 0..40 {
        let start = Instant::now();
        postings = query().explain().unwrap().work.postings;
        best = best.min(start.elapsed().as_secs_f64());
    }
    let rate = postings as f64 / best / 1e6;
    println!("counting the lists of a segment, rdc: {rate:.0} M postings/s of {postings}");
    std::fs::remove_file(path).unwrap();
}

/// The number of sets of each kind: random, equal, empty, or with a common slot value.
const HOSTILE_SETS: u64 = 100_000;

/// Returns a signature of random planes with some bits left at 0.
fn random(scheme: &Arc<Scheme>, i: u64, keep: u64) -> Signature {
    let planes = (0..scheme.words_per_signature() as u64)
        .map(|word| testkit::random::mix(64 * i + word) & keep);
    signature_page::signature(scheme, planes.collect(), 1 + (i % 100) as u32).unwrap()
}

/// Inserts in durable commits of a thousand. Returns the new database and the microseconds per set.
fn insert(path: &Path, make: &dyn Fn(u64) -> Signature) -> (Database, f64) {
    let _ = std::fs::remove_file(path);
    let options = options(HOSTILE_SETS).with_background(false);
    let db = Database::create(path, &Scheme::near_duplicate(), options).unwrap();
    let mut seconds = 0.0;
    for first in (0..HOSTILE_SETS).step_by(1000) {
        let mut batch = db.batch();
        for i in first..first + 1000 {
            batch.put_signature(key(i), make(i)).unwrap();
        }
        let start = Instant::now();
        db.commit(batch).unwrap();
        seconds += start.elapsed().as_secs_f64();
    }
    (db, seconds * 1e6 / HOSTILE_SETS as f64)
}

/// Prints the times of inserts and queries of each kind, and their ratios to random data. The first slot consists of
/// the lowest 3 bits of each plane.
fn bench_hostile(folder: &Path) {
    let scheme = Arc::new(Scheme::near_duplicate());
    let nothing = ringer::Sketcher::new(&scheme).sketch(&[]).unwrap();
    let any = |i| random(&scheme, i, u64::MAX);
    let alike = |i| random(&scheme, i, !7);
    type Make<'a> = &'a dyn Fn(u64) -> Signature;
    // What is stored, and a similar query.
    let kinds: [(&str, Make<'_>, Make<'_>); 4] = [
        ("random", &any, &any),
        ("equal", &|_| any(1), &|_| any(1)),
        ("empty", &|_| nothing.clone(), &any),
        ("similar in one slot", &alike, &alike),
    ];
    let mut base = [f64::INFINITY; 3];
    println!(
        "{HOSTILE_SETS} sets of a kind (goals: inserts 3x random, queries 10x random or cut short)"
    );
    for (name, make, ask) in kinds {
        let path = folder.join("hostile.ringer");
        let (mut db, mut best) = insert(&path, make);
        for _ in 0..4 {
            drop(db);
            let (again, time) = insert(&path, make);
            (db, best) = (again, best.min(time));
        }
        let queries: Vec<Signature> = (0..50).map(|i| ask(HOSTILE_SETS + i)).collect();
        let (fresh, _) = latency(&db.snapshot(), &queries, None);
        let spread = db.snapshot().query(Like::Signature(&queries[0])).top(10).explain().unwrap();
        db.compact().unwrap();
        let (whole, _) = latency(&db.snapshot(), &queries, None);
        let one = db.snapshot().query(Like::Signature(&queries[0])).top(10).explain().unwrap();
        let figures = [best, fresh, whole];
        if name == "random" {
            base = figures;
        }
        let ratios: Vec<f64> = figures.iter().zip(&base).map(|(a, b)| a / b).collect();
        println!(
            "{name}: insert {best:.2} us a set ({:.2}x); query {fresh:.1} us ({:.2}x) as they came, {} parts{}; \
             {whole:.1} us ({:.2}x) in one segment{}",
            ratios[0],
            ratios[1],
            spread.parts.len(),
            if spread.answer.truncated { ", cut short" } else { "" },
            ratios[2],
            if one.answer.truncated { ", cut short" } else { "" },
        );
        for (what, found) in [("as they came", spread), ("one segment", one)] {
            let plans: Vec<String> = found.parts.iter().map(|part| part.plan.to_string()).collect();
            println!("  {what}: {}, {:?}", plans.join(" "), found.work);
        }
        drop(db);
        std::fs::remove_file(&path).unwrap();
    }
}

fn main() {
    if !ratio::wanted() {
        return;
    }
    let kept = std::env::var_os("RINGER_BENCH_DIR").map(PathBuf::from);
    let temporary = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let folder = kept.as_deref().unwrap_or(temporary.path());
    let parts = std::env::var("RINGER_BENCH_PARTS");
    let parts = parts.as_deref().unwrap_or("latency,spread,scan,counting,hostile");
    let sets = std::env::var("RINGER_BENCH_ROWS").unwrap_or("1000000".into());
    let sizes: Vec<u64> = sets.split(',').map(|n| n.parse().unwrap()).collect();
    for part in parts.split(',') {
        let of_each_size = |bench: fn(&Path, u64)| sizes.iter().for_each(|n| bench(folder, *n));
        match part {
            "latency" => of_each_size(bench_latency),
            "spread" => of_each_size(bench_spread),
            "scan" => of_each_size(bench_scan),
            "counting" => bench_counting(folder),
            "hostile" => bench_hostile(folder),
            _ => panic!("no part `{part}`"),
        }
    }
}
