//! The first pass over the input: sketches the rows of all shards.
//!
//! In: shards. Out: signatures in a working database, keys and sets in a spill file, and the number of rows of each
//! shard. Rows that cannot be compared are counted, and never removed. Rows that resemble a row of an earlier run
//! (`--db`) do not enter the working database.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};

use indicatif::ProgressBar;
use ringer::{BulkLoad, Database, Signature};

use super::read::{Judged, JudgedRow, Reading};
use super::row::{self, KeepRow, Value};
use super::shards::Shard;
use super::spill::SpillWriter;
use super::stored::Known;
use crate::exit::Failure;
use crate::problems::{Problem, Problems, Reason};
use crate::show;

/// The number of rows in one bulk load of the working database.
const LOAD_ROWS: u64 = 1 << 18;

/// The first pass: its settings, and where its results go.
pub(crate) struct Collecting<'a> {
    pub(crate) keep: KeepRow,
    /// The row with the largest value of this field is kept.
    pub(crate) keep_by: Option<&'a str>,
    pub(crate) working: &'a Database,
    pub(crate) spill: SpillWriter,
    pub(crate) problems: &'a mut Problems,
    pub(crate) bar: &'a ProgressBar,
}

/// The result of the first pass.
#[derive(Default)]
pub(crate) struct Collected {
    /// The number of the first row of each shard, followed by the total number of rows.
    pub(crate) starts: Vec<u64>,
    /// The number of rows that cannot be compared.
    pub(crate) unjudged: u64,
    /// Rows that resemble a row of an earlier run, in ascending order.
    pub(crate) known: Vec<(u64, Known)>,
    /// How many rows have a value in the field `keep_by`.
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
                "no row has {}, the field of --keep-by: nothing was written; name another field",
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
    let message = format!("{name}, row {number}, has the same key as an earlier row: {key}");
    Problem::new(Reason::RepeatedKey, message)
}

/// Loads signatures into the working database, in several bulk loads.
struct Loading<'a> {
    db: &'a Database,
    load: BulkLoad,
    /// The number of rows in `load`.
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
