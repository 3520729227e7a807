//! Where documents come from: files and folders, or lines of a file or of standard input.
//!
//! A source is read in a thread of its own, block by block, while the blocks before are being sketched; so an
//! interrupt is heard even while a pipe is silent. No block is larger than its limits, however long the input.

mod document;
mod files;
mod gathered;
mod lines;
mod records;

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, sync_channel};

pub(crate) use document::{DocumentLimits, Worker, reason_of};
pub(crate) use files::{Files, Walk};
pub(crate) use lines::{Line, LineBlock, Lines, MAX_LINE_BYTES, content};
pub(crate) use records::{Content, Records};

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
}

/// Some of it.
pub(crate) enum Block {
    Files(Vec<PathBuf>),
    Lines(LineBlock),
}

impl Source {
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
        });
        match thread {
            Ok(_) => Ok(receiver),
            Err(error) => Err(Failure::Io(format!("cannot start a thread to read in: {error}"))),
        }
    }
}
