//! The first pass: the rows of all shards are sketched and kept for the decision.
//!
//! In: shards. Out: the signatures in a working database, keys and sets in a spill file, and for each shard how many rows
//! it has. Rows that cannot be judged are counted; they will be kept. Rows that resemble a stored one are not put into the
//! working database.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};

use indicatif::ProgressBar;
use ringer::{BulkLoad, Database, Signature};

use super::read::{Judged, JudgedRow, Reading};
use super::row::{self, Keep, Value};
use super::shards::Shard;
use super::spill::SpillWriter;
use super::stored::Known;
use crate::exit::Failure;
use crate::problems::{Problem, Problems, Reason};
use crate::show;

/// Rows of one bulk load of the working database.
const LOAD_ROWS: u64 = 1 << 18;

/// Where the parts of the result go.
pub(crate) struct Collecting<'a> {
    pub(crate) keep: Keep,
    /// The field whose largest value is kept.
    pub(crate) keep_by: Option<&'a str>,
    pub(crate) working: &'a Database,
    pub(crate) spill: SpillWriter,
    pub(crate) problems: &'a mut Problems,
    pub(crate) bar: &'a ProgressBar,
}

/// What the first pass found.
#[derive(Default)]
pub(crate) struct Collected {
    /// The number of the first row of each shard, and at the end that of all rows.
    pub(crate) starts: Vec<u64>,
    pub(crate) unjudged: u64,
    /// Rows that resemble a stored one, in order.
    pub(crate) known: Vec<(u64, Known)>,
    /// Rows that have a value to be kept by.
    ordered: u64,
}

impl Collecting<'_> {
    pub(crate) fn run(
        mut self,
        shards: &[Shard],
        reading: &Reading<'_>,
    ) -> Result<(Collected, SpillWriter), Failure> {
        let mut collected = Collected { starts: vec![0], ..Collected::default() };
        let mut load = Loading { db: self.working, load: self.working.bulk_load(), waiting: 0 };
        let (mut keys, hasher) = (HashSet::new(), RandomState::new());
        for shard in shards {
            reading.shard(shard, self.bar, &mut |judged| match judged {
                Judged::Unjudged(problem) => {
                    collected.unjudged += 1;
                    self.spill.add_unjudged();
                    self.bar.suspend(|| self.problems.note(problem))
                }
                Judged::Row(row) => {
                    if row.named && !keys.insert(hasher.hash_one(&row.key)) {
                        let problem = repeated(shard, &row);
                        self.bar.suspend(|| self.problems.note_about(problem))?;
                    }
                    self.store(row, &mut load, &mut collected)
                }
            })?;
            collected.starts.push(self.spill.next_row());
        }
        load.load.commit()?;
        let judged = self.spill.next_row() - collected.unjudged;
        if let Some(field) = self.keep_by
            && collected.ordered == 0
            && judged > 0
        {
            return Err(Failure::Io(format!(
                "no row has {} to be kept by: nothing was written; name another field with --keep-by",
                row::named(field)
            )));
        }
        Ok((collected, self.spill))
    }

    fn store(
        &mut self,
        row: JudgedRow,
        load: &mut Loading<'_>,
        collected: &mut Collected,
    ) -> Result<(), Failure> {
        let number = self.spill.next_row();
        collected.ordered += u64::from(row.order != Value::None);
        self.spill.add(&row.key, &row.set)?;
        match row.known {
            Some(known) => collected.known.push((number, known)),
            None => {
                let order = self.keep_by.is_some().then_some(&row.order);
                let key = row::working_key(self.keep, order, row.length, number);
                load.put(&key, &row.signature)?;
            }
        }
        Ok(())
    }
}

fn repeated(shard: &Shard, row: &JudgedRow) -> Problem {
    let (name, number, key) = (&shard.name, row.number, show::key(&row.key));
    let message = format!("{name}, row {number}, has the key {key}, which an earlier row has");
    Problem::new(Reason::RepeatedKey, message)
}

/// Loads signatures into the working database, some at a time.
struct Loading<'a> {
    db: &'a Database,
    load: BulkLoad,
    waiting: u64,
}

impl Loading<'_> {
    fn put(&mut self, key: &[u8], signature: &Signature) -> Result<(), Failure> {
        self.load.put_signature(key, signature)?;
        self.waiting += 1;
        if self.waiting == LOAD_ROWS {
            self.waiting = 0;
            std::mem::replace(&mut self.load, self.db.bulk_load()).commit()?;
        }
        Ok(())
    }
}
