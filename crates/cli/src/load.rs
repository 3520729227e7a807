//! Documents go into a database: read, sketched in parallel, and committed in batches.
//!
//! Without a wish about commits sets go into bulk loads, the fast way: a good many thousand of them become
//! visible and durable at once. With one, each batch of the size wished for is a commit of its own. However
//! long the input is, memory holds no more than a few blocks of it and one batch.

use std::path::PathBuf;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use indicatif::ProgressBar;
use rayon::prelude::*;
use ringer::limits::MAX_KEY_BYTES;
use ringer::{Batch, BulkLoad, Database, Error, Signature};
use serde_json::json;

use crate::exit::{self, Failure};
use crate::input::{Block, DocumentLimits, Records, Source, WAITING_BLOCKS, Worker, reason_of};
use crate::interrupt;
use crate::problems::{Problem, Problems, Reason};
use crate::progress::{self, Unit};
use crate::show::{self, Output, Style};

/// Sets of one bulk load: after so many they are safe and the next load begins.
const BULK_SETS: u64 = 1 << 18;

/// Bytes of keys and signatures of one bulk load, likewise.
const BULK_BYTES: usize = 64 << 20;

/// How often a silent input is left to look for interrupts.
const PATIENCE: Duration = Duration::from_millis(100);

/// How sets are committed.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct Commits {
    /// A durable commit after every N sets, or before 64 MiB of signatures have gathered [default: large
    /// batches].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub(crate) commit_every: Option<u64>,
    /// Print `committed COUNT` after each commit: so many sets of this run are safe.
    #[arg(long)]
    pub(crate) ack: bool,
}

/// What is to be loaded, and how.
pub(crate) struct Load<'a> {
    pub(crate) db: &'a Database,
    pub(crate) style: Style,
    pub(crate) commits: &'a Commits,
    /// How lines are read, if the source has lines.
    pub(crate) records: Records,
    /// What one document may take.
    pub(crate) limits: DocumentLimits,
}

/// What came of it.
#[derive(Debug, Default)]
pub(crate) struct Loaded {
    /// Sets that are stored.
    pub(crate) sets: u64,
    /// Those of them that are empty.
    pub(crate) empty: u64,
    /// Whether someone asked to stop before the end.
    pub(crate) interrupted: bool,
}

type Sketched = Result<Option<(Vec<u8>, Signature)>, Problem>;

impl Load<'_> {
    /// Loads all of a source. When that fails, what was read before is stored all the same.
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
        let mut store = Store::new(self);
        let read = self.read(source, &name, &mut store, problems, &bar);
        bar.finish_and_clear();
        // What was read is stored even if no more can be.
        let stored = store.commit();
        let mut loaded = store.loaded;
        if let Err(failure) = read.and(stored) {
            let sets = show::count(loaded.sets, "set");
            exit::say(&format!("note: stored were {sets} before this:"));
            return Err(failure);
        }
        loaded.interrupted = interrupt::asked();
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
                    Ok(Some((key, signature))) => store.put(&key, signature)?,
                    Ok(None) => {}
                    Err(problem) => bar.suspend(|| problems.note(problem))?,
                }
            }
            bar.inc(steps);
            Ok::<(), Failure>(())
        };
        while !interrupt::asked() {
            match blocks.recv_timeout(PATIENCE) {
                Ok(block) => take(block)?,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            }
        }
        // What was read before the interrupt is stored. There may be no end to what comes after.
        blocks.try_iter().take(WAITING_BLOCKS).try_for_each(take)
    }

    /// The signatures of a block, in its order, and the progress that it means.
    fn sketch(&self, block: Block, name: &str) -> (Vec<Sketched>, u64) {
        let worker = || Worker::new(self.db.sketcher()).limited(self.limits);
        match block {
            Block::Files(files) => {
                let one = |worker: &mut Worker<'_>, file: &PathBuf| {
                    let key = file.as_os_str().as_encoded_bytes().to_vec();
                    check_key(&key).map_err(|what| {
                        let start = show::key(&key[..60]);
                        Problem::new(Reason::TooLarge, format!("{start}...: {what}"))
                    })?;
                    if interrupt::asked() {
                        return Ok(None);
                    }
                    Ok(worker.of_file(file)?.map(|signature| (key, signature)))
                };
                (files.par_iter().map_init(worker, one).collect(), files.len() as u64)
            }
            mut block => {
                let mut all: Vec<Sketched> = block.take_problems().into_iter().map(Err).collect();
                let one = |worker: &mut Worker<'_>, i| {
                    self.record(worker, &block, i).map_err(|Problem { reason, message }| {
                        let message = format!("{name}, {} {message}", block.place(i));
                        Problem::new(reason, message)
                    })
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

    fn record(&self, worker: &mut Worker<'_>, block: &Block, i: usize) -> Sketched {
        let malformed = |what| Problem::new(Reason::Malformed, what);
        let record = block.record(i, &self.records).map_err(malformed)?;
        let Some((key, content)) = record else { return Ok(None) };
        check_key(&key).map_err(malformed)?;
        match worker.of_content(&content) {
            Ok(signature) => Ok(Some((key.into_owned(), signature))),
            Err(Error::Interrupted) => Ok(None),
            Err(error) => Err(Problem::new(reason_of(&error), error.to_string())),
        }
    }
}

/// What is wrong with a key, if anything.
fn check_key(key: &[u8]) -> Result<(), String> {
    match key.len() {
        length if length > MAX_KEY_BYTES => {
            Err(format!("a key of {length} bytes: a key has at most {MAX_KEY_BYTES}"))
        }
        _ => Ok(()),
    }
}

/// Takes signatures and commits them.
struct Store<'a> {
    load: &'a Load<'a>,
    pending: Pending,
    waiting: u64,
    /// Bytes of what is waiting, about.
    bytes: usize,
    /// Whether someone still reads what is acknowledged.
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
        Store { load, pending, waiting: 0, bytes: 0, heard: true, loaded }
    }

    fn pending(load: &Load<'_>) -> Pending {
        match load.commits.commit_every {
            Some(_) => Pending::Batch(load.db.batch()),
            None => Pending::Bulk(Box::new(load.db.bulk_load())),
        }
    }

    fn put(&mut self, key: &[u8], signature: Signature) -> Result<(), Failure> {
        let empty = signature.is_empty();
        let bytes = key.len() + size_of_val(signature.planes());
        let has_room = match &self.pending {
            Pending::Batch(batch) => batch.has_room_for(key, &signature),
            Pending::Bulk(_) => self.bytes + bytes <= BULK_BYTES,
        };
        if !has_room {
            self.commit()?;
        }
        self.bytes += bytes;
        match &mut self.pending {
            Pending::Batch(batch) => batch.put_signature(key, signature).map(|_| ())?,
            Pending::Bulk(bulk) => bulk.put_signature(key, &signature)?,
        }
        self.waiting += 1;
        self.loaded.empty += u64::from(empty);
        if self.waiting >= self.load.commits.commit_every.unwrap_or(BULK_SETS) {
            self.commit()?;
        }
        Ok(())
    }

    fn commit(&mut self) -> Result<(), Failure> {
        // What fails to be committed waits no longer: no later commit may speak for it.
        let sets = std::mem::take(&mut self.waiting);
        self.bytes = 0;
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
                // That nobody listens any more is no reason to stop.
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
