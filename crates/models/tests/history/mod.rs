//! What was committed to a database and what was seen of it, by threads in any order, and whether the two agree.
//!
//! The oracle is a map for each commit, made from the commits in the order of their numbers once all threads have
//! ended. Every look must be the map of the commit that it stands at, whole, and that commit must not come before one
//! that had been acknowledged.

use std::collections::BTreeMap;
use std::sync::{LazyLock, Mutex, PoisonError};

use ringer::{BulkLoad, Committed, Database, Like, Result, Scheme, Signature, Sketcher, Snapshot};
use shuttle::sync::atomic::{AtomicU64, Ordering};

/// What a commit does: sets by their numbers, and deletions.
pub(crate) type Changes = BTreeMap<&'static str, Option<u64>>;

/// The keys at a commit, with the number of the set and the commit that stored it.
type Rows = BTreeMap<String, (u64, u64)>;

/// How many different sets there are.
const SETS: u64 = 5;

fn set(number: u64) -> Vec<u64> {
    (0..3).map(|i| number % SETS * 100 + i).collect()
}

/// Their signatures, the same in all runs.
static SIGNATURES: LazyLock<Vec<Signature>> = LazyLock::new(|| {
    let sketcher = Sketcher::new(&Scheme::precise());
    (0..SETS).map(|number| sketcher.sketch(&set(number)).unwrap()).collect()
});

/// Commits and looks. The locks are those of the system: nobody gives way while holding one.
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

    /// A commit was acknowledged.
    pub(crate) fn acknowledge(&self, committed: Committed, changes: &Changes) {
        let mut commits = self.commits.lock().unwrap_or_else(PoisonError::into_inner);
        let twice = commits.insert(committed.sequence, (changes.clone(), committed));
        assert!(twice.is_none(), "two commits with the number {}", committed.sequence);
        drop(commits);
        self.acknowledged.fetch_max(committed.sequence, Ordering::SeqCst);
    }

    /// Loads sets in bulk, to be committed with what this gives.
    pub(crate) fn load(db: &Database, changes: &Changes) -> BulkLoad {
        let mut load = db.bulk_load();
        for (key, number) in changes {
            load.put(key, &set(number.expect("loads only store"))).unwrap();
        }
        load
    }

    /// Looks at all that is there now, and gives the snapshot for another look.
    pub(crate) fn look(&self, db: &Database) -> Snapshot {
        let acknowledged = self.acknowledged.load(Ordering::SeqCst);
        let snapshot = db.snapshot();
        assert!(snapshot.sequence() >= acknowledged, "an acknowledged commit is not seen");
        self.look_again(&snapshot);
        snapshot
    }

    /// Looks at all of a snapshot: by a range, by its keys, by a query.
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

    /// Compares all looks with the commits, once nobody is at work.
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
