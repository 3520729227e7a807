//! The store compared with its lower bounds: sled alone, a bare append and sync, and the bytes themselves.
//!
//! `cargo bench --bench store` runs everything at 1 M sets (k = 128, b = 4, 16-byte keys, no index) and prints each
//! figure beside its reference. Each part has its own process, so its peak memory is its own. `RINGER_BENCH_ROWS`
//! sets another size, `RINGER_BENCH_PARTS` selects the parts, and `RINGER_BENCH_DIR` sets the folder for files (by
//! default a temporary directory in `target`).

#[path = "ratio/mod.rs"]
mod ratio;

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

use ringer::internals::format::signature_page;
use ringer::scheme::Slots;
use ringer::{Database, LogKind, Options, Scheme, Signature, presets};
use testkit::random::Random;

const PER_COMMIT: u64 = 1000;

/// Signature bytes, cardinality code and key of one set: the minimum to store.
const NEEDED: u64 = 64 + 1 + 16;

fn key(i: u64) -> [u8; 16] {
    let mut random = Random(i);
    let mut key = [0; 16];
    key[..8].copy_from_slice(&random.word().to_be_bytes());
    key[8..].copy_from_slice(&random.word().to_be_bytes());
    key
}

struct Bench {
    folder: PathBuf,
    scheme: Arc<Scheme>,
    rows: u64,
}

impl Bench {
    fn new(folder: &Path) -> Bench {
        let parameters = presets::PRECISE.with_slots(Slots::NONE);
        let rows = std::env::var("RINGER_BENCH_ROWS").map_or(1_000_000, |n| n.parse().unwrap());
        Bench { folder: folder.into(), scheme: Arc::new(Scheme::new(parameters).unwrap()), rows }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Returns a distinct signature for every row without a set, because sketching is not measured here.
    fn signature(&self, i: u64) -> Signature {
        let mut random = Random(i ^ 0xABCD);
        let planes = (0..8).map(|_| random.word()).collect();
        signature_page::signature(&self.scheme, planes, 1 + (i % 250) as u32).unwrap()
    }

    /// The title of this size in the report.
    fn title(&self) -> String {
        format!("{} sets, k = 128, b = 4, 16-byte keys, no index", self.rows)
    }

    fn report(&self, what: &str, start: Instant) {
        let rate = self.rows as f64 / start.elapsed().as_secs_f64() / 1e3;
        let what_alone = what.split(" (").next().unwrap_or(what);
        ratio::figure(&self.title(), what_alone, rate, "k sets/s", None);
        println!("{what}: {rate:.0} k sets/s, peak memory {} MiB", peak_memory());
    }

    /// Stores rows in durable commits of a thousand through sled alone: one tree, one batch per commit, flushed and
    /// synced as durability requires.
    fn sled(&self) {
        let path = self.path("alone.sled");
        let start = Instant::now();
        let config = sled::Config::new().path(&path).cache_capacity(64 << 20).flush_every_ms(None);
        let db = config.open().unwrap();
        let file = File::open(path.join("db")).unwrap();
        for first in (0..self.rows).step_by(PER_COMMIT as usize) {
            let mut batch = sled::Batch::default();
            for i in first..(first + PER_COMMIT).min(self.rows) {
                let signature = self.signature(i);
                let words = signature.planes().iter();
                let value: Vec<u8> = words.flat_map(|word| word.to_le_bytes()).collect();
                batch.insert(&key(i), value);
            }
            db.apply_batch(batch).unwrap();
            db.flush().unwrap();
            file.sync_data().unwrap();
        }
        drop(db);
        self.report("sled alone, durable commits of 1,000 sets", start);
        fs::remove_dir_all(path).unwrap();
    }

    fn commits(&self) {
        let path = self.path("commits.ringer");
        let _ = fs::remove_file(&path);
        let start = Instant::now();
        let db = Database::create(path, &self.scheme, Options::default()).unwrap();
        let mut times = Vec::new();
        for first in (0..self.rows).step_by(PER_COMMIT as usize) {
            let mut batch = db.batch();
            for i in first..(first + PER_COMMIT).min(self.rows) {
                batch.put_signature(key(i), self.signature(i)).unwrap();
            }
            let begun = Instant::now();
            db.commit(batch).unwrap();
            times.push(begun.elapsed().as_secs_f64() * 1e3);
        }
        let stat = db.stat().unwrap();
        db.close().unwrap();
        self.report("ringer, durable commits of 1,000 sets (goal: 5x sled)", start);
        let (p50, p99) = (share(&mut times, 0.5), share(&mut times, 0.99));
        println!(
            "  a commit: p50 {p50:.2} ms, p99 {p99:.2} ms; {} segments at the end",
            stat.segments
        );
    }

    fn bulk(&self) {
        let start = Instant::now();
        let path = self.path("bulk.ringer");
        let db = Database::create(&path, &self.scheme, Options::default()).unwrap();
        let mut load = db.bulk_load();
        for i in 0..self.rows {
            load.put_signature(key(i), &self.signature(i)).unwrap();
        }
        load.commit().unwrap();
        db.close().unwrap();
        self.report("ringer, bulk load (goal: 10x sled)", start);
        fs::remove_file(path).unwrap();
    }

    fn compact(&self) {
        let path = self.path("commits.ringer");
        let start = Instant::now();
        let db = Database::open(&path, Options::default()).unwrap();
        db.compact().unwrap();
        db.close().unwrap();
        self.report("compact", start);
        let bytes = fs::metadata(&path).unwrap().len();
        let ratio = bytes as f64 / (self.rows * NEEDED) as f64;
        let overhead = "file size over the size of signatures and keys";
        ratio::figure(&self.title(), overhead, ratio, "times", None);
        println!("  {bytes} bytes, {ratio:.4} of signatures, codes and keys alone (goal: 1.05)");
    }

    /// Commits of one set with each kind of write-ahead log, compared with bare appends and syncs of 4 KiB and of as
    /// many bytes as the log writes for such a commit. Each contender goes first equally often, because a sync also
    /// pays for what the previous one left unwritten.
    fn single(&self) {
        let cases = [("no checkpoint within", 1 << 16), ("checkpoints every 500", 500)];
        for (name, memtable_rows) in cases {
            let kinds = [LogKind::Plain, LogKind::Sled];
            let [log, other] = kinds.map(|log| {
                let path = self.path(&format!("single-{log:?}.ringer"));
                let options = Options::default().with_memtable_rows(memtable_rows).with_log(log);
                (Database::create(&path, &self.scheme, options).unwrap(), path)
            });
            let [large, small] = ["bare-4096", "bare-small"].map(|name| {
                let path = self.path(name);
                (File::options().create(true).append(true).open(&path).unwrap(), path)
            });
            let commit = |db: &Database, i: u64| {
                let mut batch = db.batch();
                batch.put_signature(key(i), self.signature(i)).unwrap();
                let begun = Instant::now();
                db.commit(batch).unwrap();
                begun.elapsed()
            };
            let append = |mut file: &File, bytes: &[u8]| {
                let begun = Instant::now();
                file.write_all(bytes).unwrap();
                file.sync_data().unwrap();
                begun.elapsed()
            };
            commit(&log.0, 0);
            commit(&other.0, 0);
            let before = log.0.stat().unwrap().log_bytes;
            commit(&log.0, 1);
            let length = (log.0.stat().unwrap().log_bytes - before) as usize;
            let mut times = [const { Vec::new() }; 4];
            for i in 2..3002_u64 {
                for turn in 0..4 {
                    let which = (i as usize + turn) % 4;
                    let took = match which {
                        0 => append(&large.0, &[i as u8; 4096]),
                        1 => append(&small.0, &vec![i as u8; length]),
                        2 => commit(&log.0, i),
                        _ => commit(&other.0, i),
                    };
                    times[which].push(took.as_secs_f64() * 1e6);
                }
            }
            println!("commits of one set, {name}, against bare appends + fdatasync");
            for (of, what) in [(0.5, "p50"), (0.99, "p99")] {
                let [large, small, log, other] = times.each_mut().map(|times| share(times, of));
                let title = format!("durable commits of one set, {name}, {what}");
                let names = ["bare append of 4 KiB", "bare append of as many bytes", "log", "sled"];
                for (name, time) in names.into_iter().zip([large, small, log, other]) {
                    ratio::figure(&title, name, time, "us", Some(large / time));
                }
                println!("  {what}: bare 4 KiB {large:.0} us, bare {length} bytes {small:.0} us");
                for (kind, time) in kinds.into_iter().zip([log, other]) {
                    println!(
                        "    {kind:?} {time:.0} us, speed {:.2} of 4 KiB (goal at p50: .75), {:.2} of {length} bytes",
                        large / time,
                        small / time
                    );
                }
            }
            for (db, path) in [log, other] {
                db.close().unwrap();
                fs::remove_file(path).unwrap();
            }
            for (_, path) in [large, small] {
                fs::remove_file(path).unwrap();
            }
        }
    }

    fn reads(&self) {
        let path = self.path("commits.ringer");
        let before = io_counters();
        let db = Database::open_read_only(path, Options::default()).unwrap();
        let after = io_counters();
        let (bytes, reads) = (after.0 - before.0, after.1 - before.1);
        println!(
            "open: {bytes} bytes in {reads} reads, the counters' own included (goal: 1 MiB, 64)"
        );
        let snapshot = db.snapshot();
        assert!(snapshot.get(key(0)).unwrap().is_some());
        let (lookups, mut most) = (50_000, 0);
        let start = Instant::now();
        for i in 0..lookups {
            let before = db.pages_touched();
            assert!(snapshot.get(key(i * 37 % self.rows)).unwrap().is_some());
            most = most.max(db.pages_touched() - before);
        }
        let each = start.elapsed().as_secs_f64() * 1e6 / lookups as f64;
        let segments = db.stat().unwrap().segments;
        println!(
            "get: at most {most} pages with {segments} segments (goal: 3 for one), {each:.2} us each"
        );
        let start = Instant::now();
        let walked = snapshot.range::<&[u8]>(..).map(Result::unwrap).count();
        assert_eq!(walked as u64, self.rows);
        self.report("range over everything", start);
    }

    fn run(&self, part: &str) {
        match part {
            "sled" => self.sled(),
            "commits" => self.commits(),
            "bulk" => self.bulk(),
            "compact" => self.compact(),
            "reads" => self.reads(),
            "single" => self.single(),
            other => panic!("no part {other}"),
        }
    }
}

fn share(times: &mut [f64], of: f64) -> f64 {
    times.sort_by(f64::total_cmp);
    times[(of * (times.len() - 1) as f64) as usize]
}

/// Returns the bytes and calls of reading so far.
fn io_counters() -> (u64, u64) {
    let text = fs::read_to_string("/proc/self/io").unwrap_or_default();
    let value = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        line.map_or(0, |value| value.trim().parse().unwrap())
    };
    (value("rchar:"), value("syscr:"))
}

/// Returns the peak memory in MiB.
fn peak_memory() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.map_or(0, |value| value.trim_end_matches("kB").trim().parse::<u64>().unwrap() / 1024)
}

fn main() {
    if !ratio::wanted() {
        return;
    }
    if let Ok(part) = std::env::var("RINGER_BENCH_PART") {
        Bench::new(Path::new(&std::env::var("RINGER_BENCH_FOLDER").unwrap())).run(&part);
        return;
    }
    let parent = std::env::var("RINGER_BENCH_DIR").unwrap_or_else(|_| "target".into());
    let folder = tempfile::tempdir_in(parent).unwrap();
    let parts = std::env::var("RINGER_BENCH_PARTS");
    let parts = parts.unwrap_or_else(|_| "sled,commits,bulk,reads,compact,reads,single".into());
    for part in parts.split(',') {
        let status = Command::new(std::env::current_exe().unwrap())
            .env("RINGER_BENCH_PART", part)
            .env("RINGER_BENCH_FOLDER", folder.path())
            .status()
            .unwrap();
        assert!(status.success(), "{part}");
    }
}
