//! Eight threads share one database: three write the same keys, one loads them in bulk, one compacts all the time,
//! and three read, one of them through its own reader. The test records what each commit did. Afterwards it compares
//! every read with that record: a read returns what the last commit visible in its snapshot left. All keys of a
//! family come from one commit, no reader sees a key go back, and a read after an acknowledged commit sees it
//! (STEP-5, STEP-7).
//!
//! Each writer makes a few hundred commits, or 40,000 in a full run.

use testkit::random::Random;
use testkit::scale::cases;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use ringer::internals::store::file_layer::FileLayer;
use ringer::internals::store::file_layer::memory::MemoryFiles;
use ringer::internals::store::file_layer::real::RealFiles;
use ringer::{Database, LogKind, Options, Reader, Scheme, Signature, Sketcher, Snapshot};

/// The number of keys that every commit stores or deletes together.
const FAMILY: usize = 3;
const FAMILIES: usize = 12;
const SETS: usize = 50;

fn key(family: usize, member: usize) -> Vec<u8> {
    format!("family {family:02}, member {member}").into_bytes()
}

fn set(number: usize) -> Vec<u64> {
    // Set 0 is empty.
    (0..number.min(1 + number % 7) as u64).map(|i| number as u64 * 10 + i).collect()
}

/// The number of a family's set, or `None` if the family was deleted.
type Left = Option<usize>;

/// The result of a read: the sequence of the snapshot, the family, and its set with the commit that stored it.
type Look = (u64, usize, Option<(usize, u64)>);

/// State shared by all threads.
struct Race {
    db: Database,
    signatures: Vec<Signature>,
    /// What each commit did.
    commits: Mutex<BTreeMap<u64, Vec<(usize, Left)>>>,
    /// The last acknowledged commit of each family.
    acknowledged: [AtomicU64; FAMILIES],
    done: AtomicBool,
}

impl Race {
    /// Records what a commit did before the commit is published as acknowledged.
    fn acknowledge(&self, sequence: u64, did: Vec<(usize, Left)>) {
        let families: Vec<usize> = did.iter().map(|(family, _)| *family).collect();
        assert_eq!(self.commits.lock().unwrap().insert(sequence, did), None, "{sequence} twice");
        for family in families {
            self.acknowledged[family].fetch_max(sequence, Ordering::SeqCst);
        }
    }

    fn write(&self, thread: u64, commits: u64) {
        let mut random = Random(thread);
        for _ in 0..commits {
            let mut batch = self.db.batch();
            let mut did = Vec::new();
            let first = random.below(FAMILIES as u64) as usize;
            for family in [first, (first + 5) % FAMILIES] {
                let left = (random.below(4) > 0).then(|| random.below(SETS as u64) as usize);
                for key in (0..FAMILY).map(|member| key(family, member)) {
                    match left {
                        Some(n) => batch.put_signature(key, self.signatures[n].clone()).unwrap(),
                        None => batch.delete(key).unwrap(),
                    };
                }
                did.push((family, left));
            }
            self.acknowledge(self.db.commit(batch).unwrap().sequence, did);
        }
    }

    fn load(&self, loads: u64) {
        let mut random = Random(77);
        for _ in 0..loads {
            let mut load = self.db.bulk_load();
            let mut did = Vec::new();
            for family in (0..FAMILIES).step_by(1 + random.below(4) as usize) {
                let number = random.below(SETS as u64) as usize;
                (0..FAMILY).for_each(|member| load.put(key(family, member), &set(number)).unwrap());
                did.push((family, Some(number)));
            }
            self.acknowledge(load.commit().unwrap().sequence, did);
        }
    }

    fn compact(&self) -> u64 {
        let (mut times, mut last) = (0, 0);
        while !self.done.load(Ordering::SeqCst) {
            let sequence = self.db.snapshot().sequence();
            if sequence == last {
                thread::yield_now();
                continue;
            }
            last = sequence;
            self.db.compact().unwrap();
            times += 1;
        }
        times
    }

    /// Returns what a snapshot shows of a family, and asserts that all members agree.
    fn family(&self, snapshot: &Snapshot, family: usize, by_range: bool) -> Option<(usize, u64)> {
        let found: Vec<_> = if by_range {
            let prefix = format!("family {family:02}");
            snapshot.prefix(prefix.as_bytes()).map(|row| row.unwrap().1).collect()
        } else {
            let get = |member| snapshot.get(key(family, member)).unwrap();
            (0..FAMILY).filter_map(get).collect()
        };
        let first = found.first()?;
        assert!(found.len() == FAMILY && found.iter().all(|s| s == first), "a part of a commit");
        let number = self.signatures.iter().position(|signature| *signature == first.signature);
        Some((number.expect("a set that somebody stored"), first.sequence))
    }

    /// Reads one family after the other, each in a new snapshot and in an old one.
    fn read(&self, thread: u64, outside: Option<&Reader>) -> Vec<Look> {
        let (mut random, mut looks, mut held) = (Random(thread), Vec::new(), Vec::new());
        while !self.done.load(Ordering::SeqCst) {
            let family = random.below(FAMILIES as u64) as usize;
            let acknowledged = self.acknowledged[family].load(Ordering::SeqCst);
            let snapshot = match outside {
                None => self.db.snapshot(),
                Some(reader) => {
                    reader.refresh().unwrap();
                    reader.snapshot()
                }
            };
            // A separate reader sees only what is checkpointed.
            assert!(outside.is_some() || snapshot.sequence() >= acknowledged, "not seen");
            held.push(snapshot);
            if held.len() > 5 {
                held.swap_remove(random.below(5) as usize);
            }
            let old = &held[random.below(held.len() as u64) as usize];
            for snapshot in [&held[held.len() - 1], old] {
                let found = self.family(snapshot, family, random.below(2) == 0);
                looks.push((snapshot.sequence(), family, found));
            }
        }
        looks
    }

    /// Compares every read with the recorded commits, and asserts that the sequences of new snapshots never decrease.
    fn check(&self, looks: &[Look]) {
        let commits = self.commits.lock().unwrap();
        let mut left: [BTreeMap<u64, Left>; FAMILIES] = Default::default();
        for (sequence, did) in &*commits {
            for (family, what) in did {
                left[*family].insert(*sequence, *what);
            }
        }
        for (sequence, family, found) in looks {
            let last = left[*family].range(..=sequence).next_back();
            let right = last.and_then(|(sequence, left)| left.map(|number| (number, *sequence)));
            assert_eq!(*found, right, "family {family} after {sequence} commits");
        }
        // The first of two reads is from a new snapshot.
        let new: Vec<u64> = looks.iter().step_by(2).map(|look| look.0).collect();
        assert!(new.is_sorted(), "a reader went back");
    }
}

fn race(layer: &Arc<dyn FileLayer>, path: &Path, options: Options, commits: u64) {
    let sketcher = Sketcher::new(&Scheme::precise());
    let race = Race {
        db: Database::create_in(Arc::clone(layer), path, &Scheme::precise(), options).unwrap(),
        signatures: (0..SETS).map(|number| sketcher.sketch(&set(number)).unwrap()).collect(),
        commits: Mutex::default(),
        acknowledged: Default::default(),
        done: AtomicBool::new(false),
    };
    let different = |n: usize| !race.signatures[..n].contains(&race.signatures[n]);
    assert!((0..SETS).all(different), "two sets have the same signature");
    let outside = Reader::open_in(Arc::clone(layer), path, Options::default()).unwrap();
    let start = std::time::Instant::now();
    let (looks, times) = thread::scope(|scope| {
        let (race, outside) = (&race, &outside);
        let reader = |t: u64| scope.spawn(move || race.read(t, (t == 3).then_some(outside)));
        let readers = [1, 2, 3].map(reader);
        let compactor = scope.spawn(move || race.compact());
        let writers = [4, 5, 6].map(|t| scope.spawn(move || race.write(t, commits)));
        let loader = scope.spawn(move || race.load(commits / 20));
        // The other threads end even if one of these failed.
        let ended = writers.map(thread::ScopedJoinHandle::join);
        let loaded = loader.join();
        race.done.store(true, Ordering::SeqCst);
        let looks = readers.map(|reader| reader.join().unwrap());
        let times = compactor.join().unwrap();
        ended.into_iter().chain([loaded]).for_each(Result::unwrap);
        (looks, times)
    });
    let seen: usize = looks.iter().map(Vec::len).sum();
    println!(
        "{commits} commits of each writer, {seen} reads, {times} compactions, {:?}",
        start.elapsed()
    );
    looks.iter().for_each(|looks| race.check(looks));
    let last = |db: &Database| {
        let snapshot = db.snapshot();
        let look = |family| (snapshot.sequence(), family, race.family(&snapshot, family, true));
        let looks: Vec<Look> = (0..FAMILIES).map(look).collect();
        assert_eq!(snapshot.sequence(), 3 * commits + commits / 20, "sequences have a gap");
        race.check(&looks);
    };
    last(&race.db);
}

#[test]
fn every_read_of_a_key_matches_its_history_in_memory() {
    for (background, cache_bytes, memtable_rows) in [(true, 1 << 15, 40), (false, 0, 7)] {
        let layer: Arc<dyn FileLayer> = Arc::new(MemoryFiles::new());
        let options = Options::default()
            .with_background(background)
            .with_cache_bytes(cache_bytes)
            .with_memtable_rows(memtable_rows);
        race(&layer, Path::new("/corpus.ringer"), options, cases(300, 40_000));
    }
}

#[test]
fn every_read_of_a_key_matches_its_history_on_disk() {
    for log in [LogKind::Plain, LogKind::Sled] {
        let folder = tempfile::tempdir().unwrap();
        let layer: Arc<dyn FileLayer> = Arc::new(RealFiles);
        let options = Options::default().with_memtable_rows(60).with_log(log);
        race(&layer, &folder.path().join("corpus.ringer"), options, cases(60, 40_000));
    }
}
