//! The database of `--db`, which holds the rows that earlier runs kept.
//!
//! A database that `dedup` creates keeps whole sets, unless `--estimate` is given. So queries decide by exact resemblance. In
//! other databases they decide by estimates.
//!
//! Rows are stored under their keys. If the key already has another set, the row is stored as `KEY (2)`, `KEY (3)` and so on,
//! so that no stored row is lost.
//!
//! A run renames its output, stores its rows in one commit, and closes the database. If it is killed after the commit, the
//! database holds rows of a run that the user will repeat. A run may be such a repetition if the database was not closed, or
//! if the run replaces output. Then [`Earlier::own`] finds the stored rows of its own input by key and signature. New rows are
//! not compared with those, so that the repeated run gives the same result.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};

use ringer::{Database, Error, Estimate, Like, Signature, Snapshot};

use super::spill::Spill;
use crate::exit::Failure;

/// How many numbered keys (`KEY (2)`, ..) are tried to find a stored row.
const MOST_OF_ONE_KEY: u32 = 10_000;

/// The stored rows that new rows are compared with.
pub(crate) struct Earlier {
    snapshot: Snapshot,
    min: f64,
    own: HashSet<Box<[u8]>>,
}

/// A stored row that a row of this run resembles.
#[derive(Debug)]
pub(crate) struct Known {
    pub(crate) key: Box<[u8]>,
    pub(crate) similarity: Estimate,
}

impl Earlier {
    pub(crate) fn new(db: &Database, min: f64) -> Earlier {
        Earlier { snapshot: db.snapshot(), min, own: HashSet::new() }
    }

    /// Excludes the row with this key and signature, if it is stored.
    pub(crate) fn own(&mut self, key: &[u8], signature: &Signature) -> Result<(), Error> {
        for n in 1..MOST_OF_ONE_KEY {
            let name = name(key, n);
            match self.snapshot.get(&name)? {
                Some(found) if same(&found.signature, signature) => {
                    self.own.insert(name.into());
                    return Ok(());
                }
                Some(_) => {}
                None => return Ok(()),
            }
        }
        Ok(())
    }

    /// The stored row with the highest resemblance to a new one, if any reaches the threshold.
    pub(crate) fn find(&self, set: &[u64]) -> Result<Option<Known>, Error> {
        // Searching for the best match alone is faster. All matches are needed only if the best one is excluded.
        for top in [1, usize::MAX] {
            let query = self.snapshot.query(Like::Features(set));
            let answer = query.min_similarity(self.min).top(top).run()?;
            let any = !answer.matches.is_empty();
            let found = answer.matches.into_iter().find(|found| !self.own.contains(&found.key));
            if let Some(found) = found {
                let similarity = found.similarity();
                return Ok(Some(Known { key: found.key, similarity }));
            }
            if !any {
                break;
            }
        }
        Ok(None)
    }
}

fn name(key: &[u8], n: u32) -> Vec<u8> {
    match n {
        1 => key.to_vec(),
        n => [key, format!(" ({n})").as_bytes()].concat(),
    }
}

fn same(a: &Signature, b: &Signature) -> bool {
    a.planes() == b.planes() && a.cardinality_code() == b.cardinality_code()
}

/// Stores the kept rows in one commit.
pub(crate) fn add(
    db: &Database,
    spill: &Spill,
    kept: impl Iterator<Item = u64>,
) -> Result<(), Failure> {
    let snapshot = db.snapshot();
    let mut load = db.bulk_load();
    // The last number used for each key of this run, by the hash of the key. A hash collision only skips numbers.
    let mut used = HashMap::<u64, u32>::new();
    let hasher = RandomState::new();
    for row in kept {
        let (Some(key), Some(set)) = (spill.key(row)?, spill.set(row)?) else { continue };
        let last = used.entry(hasher.hash_one(&key)).or_default();
        loop {
            *last += 1;
            let name = name(&key, *last);
            match snapshot.get(&name)? {
                None => {
                    load.put(&name, &set)?;
                    break;
                }
                Some(found) if same(&found.signature, &db.sketcher().sketch(&set)?) => break,
                Some(_) => {}
            }
        }
    }
    load.commit()?;
    Ok(())
}
