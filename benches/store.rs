//! The store against what bounds it: sled alone, a bare append and sync, and the bytes themselves.
//!
//! `cargo bench --bench store` runs everything at 1 M sets (k = 128, b = 4, 16-byte keys, no index) and
//! prints each figure beside what it is compared with, measured in the same run. `RINGER_BENCH_ROWS` sets
//! another size. Files go to a temporary directory under `RINGER_BENCH_DIR`, or the target directory.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Instant;

use ringer::scheme::Slots;
use ringer::{Database, Options, Parameters, Scheme, Signature, presets};

const PER_COMMIT: u64 = 1000;

/// SplitMix64: keys and signatures need nothing better.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
}

fn key(i: u64) -> [u8; 16] {
    let mut random = Random(i);
    let mut key = [0; 16];
    key[..8].copy_from_slice(&random.next().to_be_bytes());
    key[8..].copy_from_slice(&random.next().to_be_bytes());
    key
}

struct Bench {
    folder: PathBuf,
    scheme: Scheme,
    rows: u64,
    /// Signatures to take in turn: sketching is not what is measured here.
    signatures: Vec<Signature>,
}

impl Bench {
    fn new(folder: &Path) -> Bench {
        let scheme =
            Scheme::new(Parameters { slots: Slots::NONE, ..presets::NEAR_DUPLICATE }).unwrap();
        let sketcher = ringer::Sketcher::new(&scheme);
        let rows = std::env::var("RINGER_BENCH_ROWS").map_or(1_000_000, |n| n.parse().unwrap());
        // Distinct for every row: the store keeps equal signatures once, which would flatter it.
        let mut random = Random(1);
        let sets: Vec<[u64; 3]> =
            (0..rows).map(|_| std::array::from_fn(|_| random.next())).collect();
        let all = sketcher.sketch_all(&sets).unwrap();
        let signatures = (0..all.len()).map(|i| all.get(i).unwrap()).collect();
        Bench { folder: folder.into(), scheme, rows, signatures }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    fn signature(&self, i: u64) -> &Signature {
        &self.signatures[i as usize % self.signatures.len()]
    }

    fn report(&self, what: &str, seconds: f64) -> f64 {
        let rate = self.rows as f64 / seconds;
        println!("  {what:<46} {:>8.0} k sets/s", rate / 1e3);
        rate
    }

    /// Rows in durable commits of a thousand, through sled alone: one tree, one batch a commit, flushed
    /// and synced as durability needs it.
    fn sled_alone(&self) -> f64 {
        let path = self.path("alone.sled");
        let start = Instant::now();
        let db = sled::Config::new()
            .path(&path)
            .cache_capacity(64 << 20)
            .flush_every_ms(None)
            .open()
            .unwrap();
        let file = File::open(path.join("db")).unwrap();
        for first in (0..self.rows).step_by(PER_COMMIT as usize) {
            let mut batch = sled::Batch::default();
            for i in first..(first + PER_COMMIT).min(self.rows) {
                let words = self.signature(i).planes();
                let value: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
                batch.insert(&key(i), value);
            }
            db.apply_batch(batch).unwrap();
            db.flush().unwrap();
            file.sync_data().unwrap();
        }
        drop(db);
        let seconds = start.elapsed().as_secs_f64();
        fs::remove_dir_all(path).unwrap();
        self.report("sled alone, durable commits of 1,000", seconds)
    }

    fn commits(&self, path: &Path) -> f64 {
        let start = Instant::now();
        let db = Database::create(path, &self.scheme, Options::default()).unwrap();
        let mut slowest = Vec::new();
        for first in (0..self.rows).step_by(PER_COMMIT as usize) {
            let mut batch = db.batch();
            for i in first..(first + PER_COMMIT).min(self.rows) {
                batch.put_signature(key(i), self.signature(i).clone()).unwrap();
            }
            let begun = Instant::now();
            db.commit(batch).unwrap();
            slowest.push(begun.elapsed().as_secs_f64() * 1e3);
        }
        db.close().unwrap();
        let rate = self.report("ringer, durable commits of 1,000", start.elapsed().as_secs_f64());
        slowest.sort_by(f64::total_cmp);
        let at = |share: f64| slowest[(share * (slowest.len() - 1) as f64) as usize];
        println!(
            "    a commit of 1,000: p50 {:.2} ms, p99 {:.2}, most {:.2}",
            at(0.5),
            at(0.99),
            at(1.0)
        );
        rate
    }

    fn bulk(&self, path: &Path) -> f64 {
        let start = Instant::now();
        let db = Database::create(path, &self.scheme, Options::default()).unwrap();
        let mut load = db.bulk_load();
        for i in 0..self.rows {
            load.put_signature(key(i), self.signature(i)).unwrap();
        }
        load.commit().unwrap();
        db.close().unwrap();
        self.report("ringer, bulk load", start.elapsed().as_secs_f64())
    }

    /// Commits of one set against a bare append of 4 KiB with a sync, in turns.
    fn single_commits(&self) {
        let path = self.path("single.ringer");
        let options = Options { memtable_rows: 500, ..Options::default() };
        for (name, options) in
            [("no checkpoint within", Options::default()), ("a checkpoint every 500", options)]
        {
            let db = Database::create(&path, &self.scheme, options).unwrap();
            let bare_path = self.path("bare");
            let bare = File::options().create(true).append(true).open(&bare_path).unwrap();
            let (mut ours, mut theirs) = (Vec::new(), Vec::new());
            db.commit({
                let mut b = db.batch();
                b.put_signature("first", self.signature(0).clone()).unwrap();
                b
            })
            .unwrap();
            for i in 0..3000_u64 {
                let begun = Instant::now();
                (&bare).write_all(&[i as u8; 4096]).unwrap();
                bare.sync_data().unwrap();
                theirs.push(begun.elapsed().as_secs_f64() * 1e6);
                let mut batch = db.batch();
                batch.put_signature(key(i), self.signature(i).clone()).unwrap();
                let begun = Instant::now();
                db.commit(batch).unwrap();
                ours.push(begun.elapsed().as_secs_f64() * 1e6);
            }
            db.close().unwrap();
            fs::remove_file(&path).unwrap();
            fs::remove_file(&bare_path).unwrap();
            ours.sort_by(f64::total_cmp);
            theirs.sort_by(f64::total_cmp);
            let at = |all: &[f64], share: f64| all[(share * (all.len() - 1) as f64) as usize];
            println!("single durable commits, {name}");
            for (share, what) in [(0.5, "p50"), (0.99, "p99")] {
                let (a, b) = (at(&ours, share), at(&theirs, share));
                println!(
                    "  {what}: ringer {a:.0} us, bare append + sync {b:.0} us, speed ratio {:.2}",
                    b / a
                );
            }
        }
    }

    fn reads(&self, path: &Path) {
        let bytes = fs::metadata(path).unwrap().len();
        let io = || {
            let mut text = String::new();
            File::open("/proc/self/io").and_then(|mut f| f.read_to_string(&mut text)).unwrap();
            let value = |name: &str| {
                let line = text.lines().find(|line| line.starts_with(name)).unwrap();
                line.split_whitespace().last().unwrap().parse::<u64>().unwrap()
            };
            (value("rchar"), value("syscr"))
        };
        let before = io();
        let db = Database::open_read_only(path, Options::default()).unwrap();
        let after = io();
        println!(
            "open: {} bytes in {} reads (the counters' own included)",
            after.0 - before.0,
            after.1 - before.1
        );
        let stat = db.stat().unwrap();
        let needed = stat.sets * (64 + 1 + 16);
        println!(
            "file: {bytes} bytes, {:.1} a set; signatures, codes and keys alone {needed}; ratio {:.4}",
            bytes as f64 / stat.sets as f64,
            bytes as f64 / needed as f64
        );
        // Pages that a lookup touches, cold and warm: hits and misses of the cache.
        let snapshot = db.snapshot();
        let mut touched = 0;
        let start = Instant::now();
        let lookups = 20_000;
        for i in 0..lookups {
            let before = db.stat_pages();
            assert!(snapshot.get(key(i * 37 % self.rows)).unwrap().is_some());
            touched = touched.max(db.stat_pages() - before);
        }
        let each = start.elapsed().as_secs_f64() * 1e6 / lookups as f64;
        println!(
            "get: at most {touched} pages touched, {each:.2} us each with a 64 MiB cache, {} segments",
            stat.segments
        );
        let start = Instant::now();
        let walked = snapshot.range::<&[u8]>(..).map(Result::unwrap).count();
        println!(
            "range over all: {:.0} k rows/s",
            walked as f64 / start.elapsed().as_secs_f64() / 1e3
        );
    }
}

fn peak_memory() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() / 1024
}

fn main() {
    if !std::env::args().any(|arg| arg == "--bench") {
        return;
    }
    let parent = std::env::var("RINGER_BENCH_DIR").unwrap_or_else(|_| "target".into());
    let folder = tempfile::tempdir_in(parent).unwrap();
    let bench = Bench::new(folder.path());
    println!(
        "{} sets; peak memory {} MiB with the signatures of the bench",
        bench.rows,
        peak_memory()
    );
    let sled = bench.sled_alone();
    let committed = bench.path("commits.ringer");
    let commits = bench.commits(&committed);
    println!("    {:.1} times sled alone (goal 5)", commits / sled);
    let loaded = bench.path("bulk.ringer");
    let bulk = bench.bulk(&loaded);
    println!("    {:.1} times sled alone (goal 10)", bulk / sled);
    println!("peak memory {} MiB", peak_memory());
    let db = Database::open(&committed, Options::default()).unwrap();
    let start = Instant::now();
    db.compact().unwrap();
    println!("compact: {:.2} s", start.elapsed().as_secs_f64());
    db.close().unwrap();
    bench.reads(&committed);
    bench.single_commits();
    println!("peak memory {} MiB", peak_memory());
    let _ = File::open(&loaded).unwrap().read_at(&mut [0; 1], 0);
}
