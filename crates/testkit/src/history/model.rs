//! The contents that a database must have after each commit.
//!
//! In: operations. Out: one map of rows per sequence, and a comparison of a snapshot with the map of its sequence.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::{Contents, Operation, scheme, set, value};
use crate::query_oracle;
use ringer::{Like, Sketcher, Snapshot, Stored};

/// The correct contents.
#[derive(Debug, Clone)]
pub struct Model {
    sketcher: Arc<Sketcher>,
    /// The contents after each commit, indexed by sequence.
    states: Vec<Contents>,
    keys: BTreeSet<Vec<u8>>,
}

impl Model {
    pub fn new() -> Model {
        let sketcher = Arc::new(Sketcher::new(&scheme()));
        Model { sketcher, states: vec![Contents::new()], keys: BTreeSet::new() }
    }

    /// Returns the sequence of the last commit.
    pub fn last(&self) -> u64 {
        self.states.len() as u64 - 1
    }

    /// Returns the contents after a commit.
    pub fn at(&self, sequence: u64) -> &Contents {
        &self.states[sequence as usize]
    }

    /// Adds a commit.
    pub fn commit(&mut self, operations: &[Operation]) {
        let next = self.after(operations);
        self.push(next);
    }

    /// Returns the contents after one more commit, without adding it.
    pub fn after(&mut self, operations: &[Operation]) -> Contents {
        let mut contents = self.states.last().unwrap().clone();
        let sequence = self.last() + 1;
        for (key, n) in operations {
            self.keys.insert(key.clone());
            match n {
                Some(n) => {
                    let signature = self.sketcher.sketch(&set(*n)).unwrap();
                    let value = value(*n).map(Into::into);
                    contents.insert(key.clone(), Stored { signature, sequence, value });
                }
                None => drop(contents.remove(key)),
            }
        }
        contents
    }

    /// Adds a commit that leaves these contents.
    pub fn push(&mut self, contents: Contents) {
        self.states.push(contents);
    }

    /// Forgets the commits after `sequence`.
    pub fn cut(&mut self, sequence: u64) {
        self.states.truncate(sequence as usize + 1);
    }

    /// Compares a snapshot with the contents after its commit, through every way to read.
    pub fn check(&self, snapshot: &Snapshot) {
        assert!(
            snapshot.sequence() <= self.last(),
            "commit {} was never made",
            snapshot.sequence()
        );
        self.check_contents(snapshot, self.at(snapshot.sequence()));
    }

    /// Compares a snapshot with the contents that it should show, through every way to read.
    pub fn check_contents(&self, snapshot: &Snapshot, contents: &Contents) {
        for key in &self.keys {
            let found = snapshot.get(key).unwrap();
            assert_eq!(found.as_ref(), contents.get(key), "key {}", key.escape_ascii());
        }
        assert_eq!(snapshot.get("never stored").unwrap(), None);
        let rows = snapshot.range::<&[u8]>(..).map(|row| {
            let (key, stored) = row.unwrap();
            (key.into_vec(), stored)
        });
        assert!(rows.eq(contents.clone()), "a range differs");
        assert_eq!(snapshot.len().unwrap(), contents.len() as u64);
        let rows: query_oracle::Rows =
            contents.iter().map(|(key, row)| (key.clone(), row.signature.clone())).collect();
        let turn = snapshot.sequence() as usize + rows.len();
        // There are very many checks, so only one in four runs queries.
        let asked = rows.iter().nth(turn % rows.len().max(1)).filter(|_| turn.is_multiple_of(4));
        if let Some((key, row)) = asked {
            let request = query_oracle::Request::top(1 + turn % 5);
            let right = query_oracle::brute_force(&rows, row, Some(key), request);
            query_oracle::compare_plans(snapshot, Like::Key(key), request, &right, "a query");
        }
    }
}
