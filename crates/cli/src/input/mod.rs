//! Where documents come from: files and folders, lines of a file or of standard input, or rows of a Parquet file.
//!
//! A source is read in a thread of its own, block by block, while the blocks before are being sketched; so an
//! interrupt is heard even while a pipe is silent. No block is larger than its limits, however long the input.

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
pub(crate) use document::{DocumentLimits, Worker, reason_of};
pub(crate) use files::{Files, Walk};
pub(crate) use lines::{LineBlock, Lines, MAX_LINE_BYTES, content};
pub(crate) use records::{Content, Record, Records, expected, json_set};

use ringer::scheme::Features;

use crate::exit::Failure;
use crate::problems::Problem;

/// Files of a block.
const BLOCK_FILES: usize = 256;

/// Blocks that wait to be sketched.
pub(crate) const WAITING_BLOCKS: usize = 2;

/// What is read.
pub(crate) enum Source {
    Files(Vec<PathBuf>),
    Lines(Lines),
    #[cfg(feature = "parquet")]
    Columns(Columns),
}

/// Some of it.
pub(crate) enum Block {
    Files(Vec<PathBuf>),
    Lines(LineBlock),
    #[cfg(feature = "parquet")]
    Columns(ColumnBlock),
}

impl Source {
    /// The rows of a Parquet file, whose columns `key` and `text` are read.
    pub(crate) fn parquet(
        path: &Path,
        fields: [&str; 2],
        features: Features,
    ) -> Result<Source, Failure> {
        #[cfg(feature = "parquet")]
        return Columns::open(path, fields, features)
            .map(Source::Columns)
            .map_err(|problem| Failure::Io(problem.message));
        #[cfg(not(feature = "parquet"))]
        {
            let _ = (path, fields, features);
            Err(crate::dataset::no_parquet())
        }
    }

    /// What the source is called in messages, if it is one file.
    pub(crate) fn name(&self) -> String {
        match self {
            Source::Files(_) => String::new(),
            Source::Lines(lines) => lines.name().to_string(),
            #[cfg(feature = "parquet")]
            Source::Columns(columns) => columns.name().to_string(),
        }
    }

    /// Reads in a thread of its own, until the end or until nobody listens. A failure is the last block.
    /// The system may have no thread to give.
    pub(crate) fn start(self) -> Result<Receiver<Result<Block, Problem>>, Failure> {
        // Those that sketch, too: rayon would panic where it cannot start them. Twice does nothing.
        let refused = |error: &dyn std::error::Error| {
            Failure::Io(format!("cannot start the threads that sketch: {error}"))
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
            Err(error) => Err(Failure::Io(format!("cannot start a thread to read in: {error}"))),
        }
    }
}

impl Block {
    /// Records that the block has; none if it has files.
    pub(crate) fn len(&self) -> usize {
        match self {
            Block::Files(_) => 0,
            Block::Lines(block) => block.len(),
            #[cfg(feature = "parquet")]
            Block::Columns(block) => block.len(),
        }
    }

    /// A record, or what is wrong with it: `None` if its line is empty.
    pub(crate) fn record(&self, i: usize, records: &Records) -> Result<Option<Record<'_>>, String> {
        match self {
            Block::Files(_) => Ok(None),
            Block::Lines(block) => records.parse(block.line(i).text),
            #[cfg(feature = "parquet")]
            Block::Columns(block) => block.record(i).map(Some),
        }
    }

    /// The place of a record, for messages: `line 5:`, or `row 7` for a message that goes on.
    pub(crate) fn place(&self, i: usize) -> String {
        match self {
            Block::Files(_) => String::new(),
            Block::Lines(block) => format!("line {}:", block.line(i).number),
            #[cfg(feature = "parquet")]
            Block::Columns(block) => format!("row {},", block.first + i as u64),
        }
    }

    /// Takes out what was wrong with lines that could not be held.
    pub(crate) fn take_problems(&mut self) -> Vec<Problem> {
        match self {
            Block::Lines(block) => std::mem::take(&mut block.problems),
            _ => Vec::new(),
        }
    }
}
