//! Ringer: one compacted segment in a file, with all pages in the cache.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use ::ringer::scheme::Slots;
use ::ringer::{
    Answer, Database, Like, Options, Parameters, Scheme, Signature, Sketcher, Snapshot, presets,
};

use crate::Result;
use crate::measure::{Contender, Queries, Watch, queries_of};
use crate::table::Row;
use testkit::random::Random;
use testkit::workload::{MEMBERS, Workload};

/// Sets that are sketched before they are loaded. Sketching is not timed.
const BLOCK: usize = 4096;

/// Builds of each scheme. The best counts, as for other indexes. On some machines, touching memory for the first time
/// costs more than a build.
pub(crate) const ROUNDS: usize = 3;

/// Exhaustive queries that are timed.
const TIMED_SCANS: u64 = 200;

/// Bytes of a key. Keys are random, so neighbours share no prefix that could be saved.
const KEY_BYTES: u64 = 16;

/// More than rows need while they are sorted, and more than the pages of a set take in the file.
const MOST_BYTES: usize = 512;

type Key = [u8; KEY_BYTES as usize];

/// The schemes to measure: the default, the one with the smaller error, and one with twice the bytes.
pub(crate) const SCHEMES: &[(&str, Parameters)] = &[
    ("ringer near-duplicate", presets::NEAR_DUPLICATE),
    ("ringer precise", presets::PRECISE),
    (
        "ringer k = 128, b = 8, 23 slots",
        presets::NEAR_DUPLICATE
            .with_samples(128)
            .with_slots(Slots { count: 23, ..presets::NEAR_DUPLICATE.slots }),
    ),
];

/// The schemes of exhaustive queries: 128 samples without an index, with the numbers of bits that `beside.py` uses
/// for faiss.
const SCANNED: &[(&str, Parameters)] = &[
    ("ringer exhaustive b = 1", without_index(1)),
    ("ringer exhaustive b = 2", without_index(2)),
    ("ringer exhaustive b = 4", without_index(4)),
    ("ringer exhaustive b = 8", without_index(8)),
];

const fn without_index(bits: u8) -> Parameters {
    presets::PRECISE.with_bits(bits).with_slots(Slots::NONE)
}

/// The filled database.
pub(crate) struct Ringer {
    snapshot: Snapshot,
    queries: Vec<Signature>,
    /// Whether all signatures are compared, instead of those in posting lists.
    exhaustive: bool,
    /// The numbers of the sets that queries should find.
    planted: HashMap<Key, u64>,
    /// Dropped last.
    _database: Database,
}

impl Ringer {
    /// Loads all sets into a new file, compacts it and reopens it.
    pub(crate) fn build(
        w2: &Workload,
        folder: &Path,
        scheme: &(&str, Parameters),
        rounds: usize,
    ) -> Result<(Ringer, Row)> {
        let (name, parameters) = scheme;
        let path = folder.join(format!("{name}.ringer"));
        let scheme = Scheme::new(*parameters)?;
        let sketcher = Sketcher::new(&scheme);
        let room = MOST_BYTES * w2.len() as usize;
        let options = Options::default()
            .with_cache_bytes(room)
            .with_build_bytes(room)
            .with_threads(1)
            .with_background(false);

        let mut best = (0.0, 0.0);
        for _ in 0..rounds {
            let _ = fs::remove_file(&path);
            let (wall, processor) = fill(&path, &scheme, &options, w2)?.rates(w2.len());
            best = (f64::max(best.0, wall), f64::max(best.1, processor));
        }
        let mut row = Row::new(format!("{name}, durable"));
        let bytes = fs::metadata(&path)?.len() - KEY_BYTES * w2.len();
        row.bytes = Some(bytes as f64 / w2.len() as f64);
        row.set_build(best);

        let database = Database::open(&path, options)?;
        let stat = database.stat()?;
        assert_eq!(stat.segments, 1, "compacted");
        let queries = (0..queries_of(w2)).map(|c| sketcher.sketch(&w2.query(c)));
        let queries = queries.collect::<std::result::Result<_, _>>()?;
        let numbers = (0..queries_of(w2)).flat_map(|c| (0..MEMBERS).map(move |m| (c, m)));
        let numbers = numbers.map(|(c, m)| w2.member(c, m));
        let planted = numbers.map(|i| (key(i), i)).collect();
        let snapshot = database.snapshot();
        let exhaustive = parameters.slots == Slots::NONE;
        Ok((Ringer { snapshot, queries, exhaustive, planted, _database: database }, row))
    }
}

/// Exhaustive queries, as many as `beside.py` runs on faiss. Returns a row for each number of bits.
pub(crate) fn scans(w2: &Workload, folder: &Path) -> Result<Vec<Row>> {
    let build = |scheme| {
        let (ringer, mut row) = Ringer::build(w2, folder, scheme, 1)?;
        let mut queries = Queries::default();
        queries.warm(w2, &ringer);
        queries.round_of(w2, &ringer, TIMED_SCANS);
        row.set_queries(&queries);
        Ok(row)
    };
    SCANNED.iter().map(build).collect()
}

/// Loads all sets into a new file and compacts it. Returns the time without sketching.
fn fill(path: &Path, scheme: &Scheme, options: &Options, w2: &Workload) -> Result<Watch> {
    let sketcher = Sketcher::new(scheme);
    let mut watch = Watch::default();
    let mut block = Vec::with_capacity(BLOCK);
    let database = watch.time(|| Database::create(path, scheme, options.clone()))?;
    let mut load = database.bulk_load();
    for first in (0..w2.len()).step_by(BLOCK) {
        for i in first..(first + BLOCK as u64).min(w2.len()) {
            block.push((key(i), sketcher.sketch(&w2.set(i))?));
        }
        watch.time(|| block.drain(..).try_for_each(|(key, s)| load.put_signature(key, &s)))?;
    }
    watch.time(|| {
        load.commit()?;
        database.compact()?;
        database.close()
    })?;
    Ok(watch)
}

/// The key of a set.
fn key(i: u64) -> Key {
    let mut random = Random::of(4, i);
    let mut key = [0; KEY_BYTES as usize];
    key[..8].copy_from_slice(&random.word().to_be_bytes());
    key[8..].copy_from_slice(&random.word().to_be_bytes());
    key
}

impl Contender for Ringer {
    type Answer = Answer;

    fn query(&self, query: u64) -> Answer {
        let like = Like::Signature(&self.queries[query as usize]);
        let query = self.snapshot.query(like).top(10);
        let query = if self.exhaustive { query.exhaustive() } else { query };
        query.run().expect("an answer")
    }

    /// Sets that were not planted for these queries get a number that no set has.
    fn numbers(&self, answer: Answer) -> Vec<u64> {
        let number = |key: &[u8]| self.planted.get(key).copied().unwrap_or(u64::MAX);
        answer.matches.iter().map(|found| number(&found.key)).collect()
    }
}
