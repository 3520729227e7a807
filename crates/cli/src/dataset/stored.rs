//! What earlier runs kept: the database of `--db`.
//!
//! Rows are stored under their keys. A row whose key is taken by another set is stored as `KEY (2)`, `KEY (3)` and so on,
//! so that nothing stored is lost.
//!
//! A run stores its rows after its output has its final name, in one commit, and then closes the database. If it is killed
//! after the commit, the database holds rows of the run that will be repeated. A run knows that it may be such a repetition
//! when the database was not closed, or when it replaces output. Then [`Earlier::own`] finds the rows of its input that are
//! stored, by key and signature. They are not compared with, so that the repeated run gives the same result.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};

use ringer::{Database, Error, Estimate, Like, Signature, Snapshot};

use super::spill::Spill;
use crate::exit::Failure;

/// Rows that are looked at to find one that was stored under a key that is taken.
const MOST_OF_ONE_KEY: u32 = 10_000;

/// The stored rows that new ones are compared with.
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

    /// Leaves out the row with this key and signature, if it is stored.
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

    /// The stored row that resembles a new one most, if any does.
    pub(crate) fn find(&self, set: &[u64]) -> Result<Option<Known>, Error> {
        // The best one alone is found faster than all.
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

/// Stores the kept rows, all or none.
pub(crate) fn add(
    db: &Database,
    spill: &Spill,
    kept: impl Iterator<Item = u64>,
) -> Result<(), Failure> {
    let snapshot = db.snapshot();
    let mut load = db.bulk_load();
    // For each key of this run, by its hash, the last number that was used. Keys with equal hashes only skip numbers.
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
