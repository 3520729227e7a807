//! Records what threads commit to a database and what they read, and compares the two.
//!
//! In: acknowledged commits and reads. Out: a panic if they disagree. When all threads have ended, the oracle applies
//! the commits in the order of their sequences to a map. A read at a sequence must equal the map at that sequence. It
//! must also contain every commit that was acknowledged before the read began.

use std::collections::BTreeMap;
use std::sync::{LazyLock, Mutex, PoisonError};

use ringer::{BulkLoad, Committed, Database, Like, Result, Scheme, Signature, Sketcher, Snapshot};
use shuttle::sync::atomic::{AtomicU64, Ordering};

/// The changes of a commit by key: the number of a set, or `None` for a deletion.
pub(crate) type Changes = BTreeMap<&'static str, Option<u64>>;

/// All rows at a sequence: the number of each set, and the sequence that stored it.
type Rows = BTreeMap<String, (u64, u64)>;

/// The number of different sets.
const SETS: u64 = 5;

fn set(number: u64) -> Vec<u64> {
    (0..3).map(|i| number % SETS * 100 + i).collect()
}

/// The signatures of the sets.
static SIGNATURES: LazyLock<Vec<Signature>> = LazyLock::new(|| {
    let sketcher = Sketcher::new(&Scheme::precise());
    (0..SETS).map(|number| sketcher.sketch(&set(number)).unwrap()).collect()
});

/// Commits and reads. Its locks are those of `std`, which is safe because no thread yields while it holds one.
#[derive(Default)]
pub(crate) struct History {
    acknowledged: AtomicU64,
    commits: Mutex<BTreeMap<u64, (Changes, Committed)>>,
    looks: Mutex<Vec<(u64, Rows)>>,
}

impl History {
    /// Commits a batch.
    pub(crate) fn commit(&self, db: &Database, changes: &Changes) -> Result<()> {
        let mut batch = db.batch();
        for (key, number) in changes {
            match number {
                Some(number) => batch.put(key, &set(*number))?,
                None => batch.delete(key)?,
            };
        }
        self.acknowledge(db.commit(batch)?, changes);
        Ok(())
    }

    /// Records an acknowledged commit.
    pub(crate) fn acknowledge(&self, committed: Committed, changes: &Changes) {
        let mut commits = self.commits.lock().unwrap_or_else(PoisonError::into_inner);
        let twice = commits.insert(committed.sequence, (changes.clone(), committed));
        assert!(twice.is_none(), "two commits with the number {}", committed.sequence);
        drop(commits);
        self.acknowledged.fetch_max(committed.sequence, Ordering::SeqCst);
    }

    /// Starts a bulk load of these sets. The caller commits it.
    pub(crate) fn load(db: &Database, changes: &Changes) -> BulkLoad {
        let mut load = db.bulk_load();
        for (key, number) in changes {
            load.put(key, &set(number.expect("loads only store"))).unwrap();
        }
        load
    }

    /// Takes a snapshot, reads all of it, and returns it for another read.
    pub(crate) fn look(&self, db: &Database) -> Snapshot {
        let acknowledged = self.acknowledged.load(Ordering::SeqCst);
        let snapshot = db.snapshot();
        assert!(snapshot.sequence() >= acknowledged, "an acknowledged commit is not seen");
        self.look_again(&snapshot);
        snapshot
    }

    /// Reads all of a snapshot: by a range, by key, and by a query.
    pub(crate) fn look_again(&self, snapshot: &Snapshot) {
        let number = |signature: &Signature| SIGNATURES.iter().position(|s| s == signature);
        let mut rows = Rows::new();
        for row in snapshot.range::<&[u8]>(..) {
            let (key, stored) = row.unwrap();
            let number = number(&stored.signature).expect("a set that was stored") as u64;
            assert_eq!(snapshot.get(&key).unwrap(), Some(stored.clone()));
            rows.insert(String::from_utf8(key.into()).unwrap(), (number, stored.sequence));
        }
        assert_eq!(snapshot.len().unwrap(), rows.len() as u64);
        let asked = snapshot.sequence() % SETS;
        let query =
            snapshot.query(Like::Signature(&SIGNATURES[asked as usize])).min_resemblance(0.9);
        let mut found: Vec<_> = query.run().unwrap().matches.into_iter().map(|m| m.key).collect();
        found.sort();
        let right = rows.iter().filter(|(_, (number, _))| *number == asked);
        let right = right.map(|(key, _)| key.as_bytes());
        assert!(found.iter().map(|key| &**key).eq(right), "a query sees other sets");
        self.looks.lock().unwrap_or_else(PoisonError::into_inner).push((snapshot.sequence(), rows));
    }

    /// Compares all reads with the commits. No thread may be running.
    pub(crate) fn check(&self) {
        let commits = self.commits.lock().unwrap_or_else(PoisonError::into_inner);
        assert!(commits.keys().copied().eq(1..=commits.len() as u64), "numbers without a gap");
        let mut states = vec![Rows::new()];
        for (sequence, (changes, committed)) in &*commits {
            let mut rows = states[states.len() - 1].clone();
            let deleted = changes.iter().filter(|(k, n)| n.is_none() && rows.contains_key(**k));
            assert_eq!(deleted.count(), committed.deleted, "commit {sequence}");
            for (key, number) in changes {
                match number {
                    Some(number) => drop(rows.insert((*key).into(), (number % SETS, *sequence))),
                    None => drop(rows.remove(*key)),
                }
            }
            states.push(rows);
        }
        for (sequence, rows) in &*self.looks.lock().unwrap_or_else(PoisonError::into_inner) {
            assert_eq!(rows, &states[*sequence as usize], "a look after {sequence} commits");
        }
    }
}
