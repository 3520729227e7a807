//! Loads documents into a database: reads them, sketches them in parallel, and commits them in batches.
//!
//! By default, sets go into bulk loads, the fast way: many thousands of them become visible and durable at once. With
//! `--commit-every N`, every N sets are one commit. Memory holds a few blocks of the input and one batch, however long the
//! input is.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use indicatif::ProgressBar;
use rayon::prelude::*;
use ringer::features::Weighting;
use ringer::limits::{MAX_KEY_BYTES, MAX_VALUE_BYTES};
use ringer::{Batch, BulkLoad, Database, Error, Signature, Snapshot};
use serde_json::json;

use crate::exit::{self, Failure};
use crate::input::{
    Block, Content, DocumentLimits, Records, Source, WAITING_BLOCKS, Worker, reason_of, refusal,
};
use crate::interrupt;
use crate::problems::{Problem, Problems, Reason};
use crate::progress::{self, Unit};
use crate::show::{self, Output, Style};

/// The most sets in one bulk load.
const BULK_SETS: u64 = 1 << 18;

/// The most bytes of keys and signatures in one bulk load.
const BULK_BYTES: usize = 64 << 20;

/// How long to wait for input before checking for an interrupt.
const PATIENCE: Duration = Duration::from_millis(100);

/// How sets are committed.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct Commits {
    /// Make a durable commit after every N sets, or earlier if 64 MiB of signatures have been collected [default: commit in
    /// large batches].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub(crate) commit_every: Option<u64>,
    /// Print `committed COUNT` after each commit, when COUNT sets of this run are durable.
    #[arg(long)]
    pub(crate) ack: bool,
}

/// A load: where to, and how.
pub(crate) struct Load<'a> {
    pub(crate) db: &'a Database,
    pub(crate) style: Style,
    pub(crate) commits: &'a Commits,
    /// How to parse the lines of the source, if it has lines.
    pub(crate) records: Records,
    /// The field of a line of JSON that is stored as the value of its key.
    pub(crate) value_field: Option<&'a str>,
    /// How the elements of documents are weighted, if not by their number.
    pub(crate) weighting: Option<&'a Weighting>,
    /// The limits of one document.
    pub(crate) limits: DocumentLimits,
    pub(crate) existing: Existing,
}

/// What happens to a set whose key is stored already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Existing {
    /// It replaces the stored one.
    Replace,
    /// The stored one stays.
    Keep,
    /// It replaces the stored one if they differ.
    Compare,
}

/// The result of a load.
#[derive(Debug, Default)]
pub(crate) struct Loaded {
    /// Sets that were stored.
    pub(crate) sets: u64,
    /// How many of them are empty.
    pub(crate) empty: u64,
    /// How many of them replaced earlier ones.
    pub(crate) replaced: u64,
    /// Sets that were left as they are stored.
    pub(crate) present: u64,
    /// Whether an interrupt ended the load early.
    pub(crate) interrupted: bool,
}

/// A set to store, or nothing.
enum One {
    Set(Vec<u8>, Signature, Option<Vec<u8>>),
    /// The stored set stays.
    Present,
    Nothing,
}

type Sketched = Result<One, Problem>;

impl Load<'_> {
    /// Loads a whole source. If that fails, the sets read before the failure are stored all the same.
    pub(crate) fn run(&self, source: Source, problems: &mut Problems) -> Result<Loaded, Failure> {
        let bar = match &source {
            Source::Files(files) => {
                let files = files.len() as u64;
                progress::bar(self.style, "reading files", Unit::Things, Some(files))
            }
            Source::Lines(lines) => {
                progress::bar(self.style, "reading sets", Unit::Bytes, lines.bytes())
            }
            #[cfg(feature = "parquet")]
            Source::Columns(columns) => {
                progress::bar(self.style, "reading rows", Unit::Things, Some(columns.rows()))
            }
        };
        let name = source.name();
        let before = self.db.snapshot().len()?;
        let mut store = Store::new(self);
        let read = self.read(source, &name, &mut store, problems, &bar);
        bar.finish_and_clear();
        // Sets that were read are stored even if reading failed.
        let stored = store.commit();
        let mut loaded = store.loaded;
        if let Err(failure) = read.and(stored) {
            let were = if loaded.sets == 1 { "was" } else { "were" };
            let sets = show::count(loaded.sets, "set");
            exit::say(&format!(
                "note: {sets} of this run {were} stored before the following error"
            ));
            return Err(failure);
        }
        loaded.interrupted = interrupt::requested();
        let new = self.db.snapshot().len()?.saturating_sub(before);
        loaded.replaced = loaded.sets.saturating_sub(new);
        Ok(loaded)
    }

    fn read(
        &self,
        source: Source,
        name: &str,
        store: &mut Store<'_>,
        problems: &mut Problems,
        bar: &ProgressBar,
    ) -> Result<(), Failure> {
        let blocks = source.start()?;
        let mut take = |block: Result<Block, Problem>| {
            let block = block.map_err(|problem| Failure::Io(problem.message))?;
            let (sketched, steps) = self.sketch(block, name);
            for one in sketched {
                match one {
                    Ok(One::Set(key, signature, value)) => store.put(&key, signature, value)?,
                    Ok(One::Present) => store.loaded.present += 1,
                    Ok(One::Nothing) => {}
                    Err(problem) => bar.suspend(|| problems.note(problem))?,
                }
            }
            bar.inc(steps);
            Ok::<(), Failure>(())
        };
        while !interrupt::requested() {
            match blocks.recv_timeout(PATIENCE) {
                Ok(block) => take(block)?,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            }
        }
        // Sets read before the interrupt are stored. The input itself may be endless, so no more of it is read.
        blocks.try_iter().take(WAITING_BLOCKS).try_for_each(take)
    }

    /// The signatures of a block, in its order, and by how much to advance the progress bar.
    fn sketch(&self, block: Block, name: &str) -> (Vec<Sketched>, u64) {
        let snapshot = &self.db.snapshot();
        let worker =
            || Worker::new(self.db.sketcher()).limited(self.limits).weighing(self.weighting);
        match block {
            Block::Files(files) => {
                let one = |worker: &mut Worker<'_>, file: &PathBuf| {
                    let key = file.as_os_str().as_encoded_bytes().to_vec();
                    check_key(&key).map_err(|what| {
                        let start = show::key(&key[..60]);
                        Problem::new(Reason::TooLarge, format!("{start}...: {what}"))
                    })?;
                    if interrupt::requested() {
                        return Ok(One::Nothing);
                    }
                    if self.is_kept(snapshot, &key) {
                        return Ok(One::Present);
                    }
                    let signature = worker.of_file(file)?;
                    Ok(signature.map_or(One::Nothing, |signature| {
                        self.compared(snapshot, key, signature, None)
                    }))
                };
                (files.par_iter().map_init(worker, one).collect(), files.len() as u64)
            }
            mut block => {
                let mut all: Vec<Sketched> = block.take_problems().into_iter().map(Err).collect();
                let one = |worker: &mut Worker<'_>, i| {
                    self.record(worker, snapshot, &block, i).map_err(
                        |Problem { reason, message }| {
                            let message = format!("{name}, {} {message}", block.place(i));
                            Problem::new(reason, message)
                        },
                    )
                };
                all.par_extend((0..block.len()).into_par_iter().map_init(worker, one));
                let steps = match &block {
                    Block::Lines(lines) => lines.bytes,
                    block => block.len() as u64,
                };
                (all, steps)
            }
        }
    }

    fn record(
        &self,
        worker: &mut Worker<'_>,
        snapshot: &Snapshot,
        block: &Block,
        i: usize,
    ) -> Sketched {
        let malformed = |what| Problem::new(Reason::Malformed, what);
        let record = block.record(i, &self.records).map_err(malformed)?;
        let Some((key, content)) = record else { return Ok(One::Nothing) };
        check_key(&key).map_err(malformed)?;
        if self.is_kept(snapshot, &key) {
            return Ok(One::Present);
        }
        if let Content::Document(text) = &content {
            self.limits.check_words(text)?;
        }
        let value = self.value_field.map(|field| block.value(i, field).map_err(malformed));
        let value = value.transpose()?.flatten();
        if let Some(long) = value.as_ref().filter(|value| value.len() > MAX_VALUE_BYTES) {
            let what =
                format!("the value has {} bytes, and may have {MAX_VALUE_BYTES}", long.len());
            return Err(Problem::new(Reason::TooLarge, what));
        }
        match worker.of_content(&content) {
            Ok(signature) => Ok(self.compared(snapshot, key.into_owned(), signature, value)),
            Err(Error::Interrupted) => Ok(One::Nothing),
            Err(error) => Err(Problem::new(reason_of(&error), refusal(&error))),
        }
    }

    /// Whether a key is stored and stays. If that cannot be read, storing the set fails with the reason.
    fn is_kept(&self, snapshot: &Snapshot, key: &[u8]) -> bool {
        self.existing == Existing::Keep && snapshot.contains(key).unwrap_or(false)
    }

    fn compared(
        &self,
        snapshot: &Snapshot,
        key: Vec<u8>,
        signature: Signature,
        value: Option<Vec<u8>>,
    ) -> One {
        let stored = match self.existing {
            Existing::Compare => snapshot.get(&key).ok().flatten(),
            Existing::Replace | Existing::Keep => None,
        };
        match stored {
            Some(stored) if stored.signature == signature => One::Present,
            _ => One::Set(key, signature, value),
        }
    }
}

/// Rejects keys that are too long.
fn check_key(key: &[u8]) -> Result<(), String> {
    match key.len() {
        length if length > MAX_KEY_BYTES => {
            Err(format!("the key has {length} bytes, and a key may have at most {MAX_KEY_BYTES}"))
        }
        _ => Ok(()),
    }
}

/// Collects signatures and commits them.
struct Store<'a> {
    load: &'a Load<'a>,
    pending: Pending,
    waiting: u64,
    /// The keys that wait, if a later set with the same key is not stored.
    keys: HashSet<Vec<u8>>,
    /// The approximate size of the waiting sets.
    bytes: usize,
    /// Whether standard output, where commits are acknowledged, still has a reader.
    heard: bool,
    loaded: Loaded,
}

enum Pending {
    Batch(Batch),
    Bulk(Box<BulkLoad>),
}

impl<'a> Store<'a> {
    fn new(load: &'a Load<'a>) -> Store<'a> {
        let (pending, loaded) = (Store::pending(load), Loaded::default());
        Store { load, pending, waiting: 0, keys: HashSet::new(), bytes: 0, heard: true, loaded }
    }

    fn pending(load: &Load<'_>) -> Pending {
        match load.commits.commit_every {
            Some(_) => Pending::Batch(load.db.batch()),
            None => Pending::Bulk(Box::new(load.db.bulk_load())),
        }
    }

    fn put(
        &mut self,
        key: &[u8],
        signature: Signature,
        value: Option<Vec<u8>>,
    ) -> Result<(), Failure> {
        if self.load.existing == Existing::Keep {
            // The block was compared with the state before the last commits.
            if self.keys.contains(key) || self.load.db.snapshot().contains(key)? {
                self.loaded.present += 1;
                return Ok(());
            }
        }
        let empty = signature.is_empty();
        let bytes =
            key.len() + size_of_val(signature.planes()) + value.as_ref().map_or(0, Vec::len);
        let has_room = match (&self.pending, &value) {
            (Pending::Batch(batch), None) => batch.has_room_for(key, &signature),
            (Pending::Batch(batch), Some(value)) => {
                batch.has_room_for_value(key, &signature, value)
            }
            (Pending::Bulk(_), _) => self.bytes + bytes <= BULK_BYTES,
        };
        if !has_room {
            self.commit()?;
        }
        self.bytes += bytes;
        if self.load.existing == Existing::Keep {
            self.keys.insert(key.to_vec());
        }
        match &mut self.pending {
            Pending::Batch(batch) => {
                batch.put_signature(key, signature)?;
                value.map_or(Ok(()), |value| batch.with_value(value).map(drop))?;
            }
            Pending::Bulk(bulk) => {
                bulk.put_signature(key, &signature)?;
                value.map_or(Ok(()), |value| bulk.with_value(value))?;
            }
        }
        self.waiting += 1;
        self.loaded.empty += u64::from(empty);
        if self.waiting >= self.load.commits.commit_every.unwrap_or(BULK_SETS) {
            self.commit()?;
        }
        Ok(())
    }

    fn commit(&mut self) -> Result<(), Failure> {
        // Sets whose commit fails stop waiting, so that no later commit acknowledges them.
        let sets = std::mem::take(&mut self.waiting);
        self.bytes = 0;
        self.keys.clear();
        if sets == 0 {
            return Ok(());
        }
        match std::mem::replace(&mut self.pending, Store::pending(self.load)) {
            Pending::Batch(batch) => self.load.db.commit(batch)?,
            Pending::Bulk(bulk) => bulk.commit()?,
        };
        self.loaded.sets += sets;
        if self.load.commits.ack && self.heard {
            match self.acknowledge() {
                // Loading goes on when the reader of the acknowledgements is gone.
                Err(Failure::OutputClosed) => self.heard = false,
                other => other?,
            }
        }
        Ok(())
    }

    fn acknowledge(&self) -> Result<(), Failure> {
        let mut out = Output::new();
        let sets = self.loaded.sets;
        match self.load.style.json {
            true => out.line(json!({ "committed": sets }))?,
            false => out.line(format_args!("committed {sets}"))?,
        }
        out.flush()
    }
}
