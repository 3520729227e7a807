//! Reads, parses and sketches rows.
//!
//! In: shards. Out: for each row in order, its key, set and signature, or why it cannot be compared. One thread reads and
//! decompresses while others sketch.

use std::borrow::Cow;
use std::sync::mpsc::{Receiver, sync_channel};

use indicatif::ProgressBar;
use rayon::prelude::*;
use ringer::scheme::Features;
use ringer::{Error, Signature, Sketcher};

use super::blocks::{self, Block, Rows};
use super::json;
use super::lines::MAX_LINE_BYTES;
use super::row::{self, Fields, Row, Value};
use super::shards::{Format, Shard, unreadable};
use super::stored::{Earlier, Known};
use crate::exit::Failure;
use crate::input::{DocumentLimits, Worker, reason_of, refusal};
use crate::interrupt;
use crate::problems::{Problem, Reason};

/// How to read rows.
pub(crate) struct Reading<'a> {
    pub(crate) format: Format,
    pub(crate) fields: &'a Fields,
    pub(crate) sketcher: &'a Sketcher,
    pub(crate) limits: DocumentLimits,
    /// The stored rows of earlier runs, if any.
    pub(crate) earlier: Option<&'a Earlier>,
}

/// A row of a shard.
pub(crate) enum Judged {
    Row(JudgedRow),
    /// A row that cannot be compared. It is kept.
    Unjudged(Problem),
}

/// A row that can be compared.
pub(crate) struct JudgedRow {
    pub(crate) key: Vec<u8>,
    /// Whether the row has a key field.
    pub(crate) named: bool,
    /// The number of the row in its shard, for messages.
    pub(crate) number: u64,
    /// In ascending order, without duplicates.
    pub(crate) set: Vec<u64>,
    pub(crate) signature: Signature,
    pub(crate) order: Value,
    pub(crate) length: u64,
    /// The stored row that this row resembles, if any.
    pub(crate) known: Option<Known>,
}

impl Reading<'_> {
    /// Reads all rows of a shard and passes them to `visit`, in order.
    pub(crate) fn shard(
        &self,
        shard: &Shard,
        bar: &ProgressBar,
        visit: &mut dyn FnMut(Judged) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        std::thread::scope(|scope| {
            let (sender, blocks) = sync_channel(blocks::WAITING);
            let read = move || match self.format {
                Format::Jsonl => blocks::send_lines(shard, &sender),
                #[cfg(feature = "parquet")]
                Format::Parquet => {
                    let features = self.sketcher.scheme().features;
                    blocks::send_columns(shard, self.fields, features, &sender)
                }
                #[cfg(not(feature = "parquet"))]
                Format::Parquet => Err(super::no_parquet()),
            };
            let thread = std::thread::Builder::new().name("reader".into());
            let thread = thread
                .spawn_scoped(scope, read)
                .map_err(|error| Failure::Io(format!("cannot start a thread: {error}")))?;
            let taken = self.take(shard, blocks, bar, visit);
            let ended = thread.join();
            let ended = ended.unwrap_or_else(|_| Err(unreadable(&shard.name, &"it is damaged")));
            taken.and(ended)
        })
    }

    /// Sketches the rows of each block in parallel, one block after another.
    fn take(
        &self,
        shard: &Shard,
        blocks: Receiver<Block>,
        bar: &ProgressBar,
        visit: &mut dyn FnMut(Judged) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let mut first = 1;
        for Block { rows, bytes } in blocks {
            let judged = self.judge_all(shard, &rows, first);
            first += judged.len() as u64;
            for one in judged {
                visit(one?)?;
            }
            bar.inc(bytes);
            if interrupt::requested() {
                return Err(Failure::Interrupted);
            }
        }
        Ok(())
    }

    fn judge_all(&self, shard: &Shard, rows: &Rows, first: u64) -> Vec<Result<Judged, Failure>> {
        let worker = || Worker::new(self.sketcher).limited(self.limits);
        let features = self.sketcher.scheme().features;
        match rows {
            Rows::Lines(text, lines) => {
                let one = |worker: &mut Worker<'_>, (i, line): (usize, &blocks::Line)| {
                    let place = || format!("{}, line {},", shard.name, line.number);
                    let Some(content) = &line.content else {
                        let most = MAX_LINE_BYTES >> 20;
                        let message =
                            format!("{} is longer than {most} MiB, the limit of a line", place());
                        return Ok(Judged::Unjudged(Problem::new(Reason::TooLarge, message)));
                    };
                    let row = json::parse(&text[content.clone()], self.fields, features);
                    self.judge(worker, row, shard, first + i as u64, &place)
                };
                lines.par_iter().enumerate().map_init(worker, one).collect()
            }
            #[cfg(feature = "parquet")]
            Rows::Columns(rows) => {
                let one =
                    |worker: &mut Worker<'_>,
                     (i, row): (usize, &crate::parquet::columns::ColumnRow)| {
                        let number = first + i as u64;
                        let place = || format!("{}, row {number},", shard.name);
                        self.judge(worker, row.borrowed(), shard, number, &place)
                    };
                rows.par_iter().enumerate().map_init(worker, one).collect()
            }
        }
    }

    /// Extracts the set of a row and sketches it.
    fn judge(
        &self,
        worker: &mut Worker<'_>,
        row: Result<Row<'_>, String>,
        shard: &Shard,
        number: u64,
        place: &dyn Fn() -> String,
    ) -> Result<Judged, Failure> {
        let unjudged = |reason, what: &str| {
            Ok(Judged::Unjudged(Problem::new(reason, format!("{} {what}", place()))))
        };
        let refused = |error: &Error| {
            unjudged(reason_of(error), &format!("cannot be compared: {}", refusal(error)))
        };
        let row = match row {
            Ok(row) => row,
            Err(what) => return unjudged(Reason::Malformed, &what),
        };
        let key = row.key.filter(|key| !key.is_empty());
        let named = key.is_some();
        let key = key.map_or_else(|| shard.key_of_row(number), Cow::into_owned);
        if key.len() > ringer::limits::MAX_KEY_BYTES {
            return unjudged(
                Reason::Malformed,
                &format!("has {} that is too long for a key", row::named(&self.fields.key)),
            );
        }
        let length = row::length(&row.content);
        let mut set = match worker.set_of_content(&row.content) {
            Ok(set) => set,
            Err(Error::Interrupted) => return Err(Failure::Interrupted),
            Err(error) => return refused(&error),
        };
        set.sort_unstable();
        set.dedup();
        if set.is_empty() {
            let features = self.sketcher.scheme().features;
            let what = if features == Features::Ids { "ids" } else { "words" };
            return unjudged(
                Reason::Malformed,
                &format!("has no {what} in `{}`", self.fields.text),
            );
        }
        let signature = match self.sketcher.sketch(&set) {
            Ok(signature) => signature,
            Err(error) => return refused(&error),
        };
        let known = match self.earlier {
            Some(earlier) => earlier.find(&set)?,
            None => None,
        };
        let order = row.order;
        Ok(Judged::Row(JudgedRow { key, named, number, set, signature, order, length, known }))
    }
}
