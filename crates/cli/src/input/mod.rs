//! The sources of documents: files and folders, lines of a file or of standard input, or rows of a Parquet file.
//!
//! A thread reads the source block by block while earlier blocks are sketched, so an interrupt takes effect even while
//! a pipe delivers nothing. The size of a block is bounded, however long the input is.

#[cfg(feature = "parquet")]
mod columns;
mod document;
mod files;
mod gathered;
mod lines;
mod records;

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, sync_channel};

#[cfg(feature = "parquet")]
pub(crate) use columns::{ColumnBlock, Columns};
pub(crate) use document::{DocumentLimits, Worker, reason_of, refusal};
pub(crate) use files::{Files, Walk};
pub(crate) use lines::{LineBlock, Lines, MAX_LINE_BYTES, content};
pub(crate) use records::{Content, Record, Records, expected, json_fault, json_set, nested};

use ringer::scheme::Features;

use crate::exit::Failure;
use crate::problems::Problem;

/// The number of files in a block.
const BLOCK_FILES: usize = 256;

/// The most blocks that wait to be sketched.
pub(crate) const WAITING_BLOCKS: usize = 2;

/// An opened source.
pub(crate) enum Source {
    Files(Vec<PathBuf>),
    Lines(Lines),
    #[cfg(feature = "parquet")]
    Columns(Columns),
}

/// A part of a source that is sketched at once.
pub(crate) enum Block {
    Files(Vec<PathBuf>),
    Lines(LineBlock),
    #[cfg(feature = "parquet")]
    Columns(ColumnBlock),
}

impl Source {
    /// The rows of a Parquet file. `fields` are the names of the key column and the text column; `value` is the name of the
    /// column that is stored with the key.
    pub(crate) fn parquet(
        path: &Path,
        fields: [&str; 2],
        value: Option<&str>,
        features: Features,
    ) -> Result<Source, Failure> {
        #[cfg(feature = "parquet")]
        return Columns::open(path, fields, value, features)
            .map(Source::Columns)
            .map_err(|problem| Failure::Io(problem.message));
        #[cfg(not(feature = "parquet"))]
        {
            let _ = (path, fields, value, features);
            Err(crate::dataset::no_parquet())
        }
    }

    /// The name of the source in messages; empty if the source is several files.
    pub(crate) fn name(&self) -> String {
        match self {
            Source::Files(_) => String::new(),
            Source::Lines(lines) => lines.name().to_string(),
            #[cfg(feature = "parquet")]
            Source::Columns(columns) => columns.name().to_string(),
        }
    }

    /// Starts a thread that reads until the end or until the receiver is gone. A read error is sent as the last block.
    /// Fails if the system cannot start a thread.
    pub(crate) fn start(self) -> Result<Receiver<Result<Block, Problem>>, Failure> {
        // Start the threads of rayon, too: it would panic later if it could not start them. A second call does nothing.
        let refused = |error: &dyn std::error::Error| {
            Failure::Io(format!(
                "cannot start worker threads: {error}; start fewer with --threads, or raise the limit of processes (ulimit -u)"
            ))
        };
        if let Err(error) = rayon::ThreadPoolBuilder::new().build_global()
            && let Some(cause) = std::error::Error::source(&error)
        {
            return Err(refused(cause));
        }
        let (sender, receiver) = sync_channel(WAITING_BLOCKS);
        let thread = std::thread::Builder::new().name("reader".into()).spawn(move || match self {
            Source::Files(files) => {
                let blocks = files.chunks(BLOCK_FILES).map(|block| Block::Files(block.to_vec()));
                for block in blocks {
                    if sender.send(Ok(block)).is_err() {
                        return;
                    }
                }
            }
            Source::Lines(mut lines) => {
                while let Some(block) = lines.next_block().transpose() {
                    let failed = block.is_err();
                    if sender.send(block.map(Block::Lines)).is_err() || failed {
                        return;
                    }
                }
            }
            #[cfg(feature = "parquet")]
            Source::Columns(columns) => {
                let mut send = |block| sender.send(Ok(Block::Columns(block))).is_ok();
                if let Err(problem) = columns.read(&mut send) {
                    let _ = sender.send(Err(problem));
                }
            }
        });
        match thread {
            Ok(_) => Ok(receiver),
            Err(error) => Err(Failure::Io(format!(
                "cannot start a thread to read the input: {error}; raise the limit of processes (ulimit -u)"
            ))),
        }
    }
}

impl Block {
    /// The number of records in the block; 0 for files.
    pub(crate) fn len(&self) -> usize {
        match self {
            Block::Files(_) => 0,
            Block::Lines(block) => block.len(),
            #[cfg(feature = "parquet")]
            Block::Columns(block) => block.len(),
        }
    }

    /// Record `i`, or the problem with it. `None` for an empty line.
    pub(crate) fn record(&self, i: usize, records: &Records) -> Result<Option<Record<'_>>, String> {
        match self {
            Block::Files(_) => Ok(None),
            Block::Lines(block) => records.parse(block.line(i).text),
            #[cfg(feature = "parquet")]
            Block::Columns(block) => block.record(i).map(Some),
        }
    }

    /// The value of a record: what a field of its line of JSON has, or the value column of its row.
    pub(crate) fn value(&self, i: usize, field: &str) -> Result<Option<Vec<u8>>, String> {
        match self {
            Block::Files(_) => Ok(None),
            Block::Lines(block) => records::json_value(block.line(i).text, field),
            #[cfg(feature = "parquet")]
            Block::Columns(block) => Ok(block.value(i)),
        }
    }

    /// The place of a record in messages: `line 5:`, or `row 7,` for a message that continues the sentence.
    pub(crate) fn place(&self, i: usize) -> String {
        match self {
            Block::Files(_) => String::new(),
            Block::Lines(block) => format!("line {}:", block.line(i).number),
            #[cfg(feature = "parquet")]
            Block::Columns(block) => format!("row {},", block.first + i as u64),
        }
    }

    /// Takes the problems of lines that were too long.
    pub(crate) fn take_problems(&mut self) -> Vec<Problem> {
        match self {
            Block::Lines(block) => std::mem::take(&mut block.problems),
            _ => Vec::new(),
        }
    }
}
