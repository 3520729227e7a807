//! Reads a shard and splits it into blocks of rows.
//!
//! In: a shard. Out: blocks, in order, through a bounded channel. This module must not know what a row means: it only splits
//! lines and decodes Parquet columns.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::sync::mpsc::SyncSender;

use super::lines::{self, RawLines, Taken};
use super::shards::{Shard, unreadable};
use crate::compression;
use crate::exit::Failure;
use crate::interrupt;
#[cfg(feature = "parquet")]
use crate::parquet;

/// A block ends with the line that reaches this many bytes.
const BLOCK_BYTES: usize = 4 << 20;

/// The most lines of a block.
const BLOCK_LINES: usize = 4096;

/// The most blocks that wait to be sketched.
pub(crate) const WAITING: usize = 2;

/// Consecutive rows of a shard.
pub(crate) enum Rows {
    Lines(Vec<u8>, Vec<Line>),
    #[cfg(feature = "parquet")]
    Columns(Vec<parquet::columns::ColumnRow>),
}

/// Rows, and how many bytes of the shard they stand for in the progress bar.
pub(crate) struct Block {
    pub(crate) rows: Rows,
    pub(crate) bytes: u64,
}

/// A line of a block that holds a row.
pub(crate) struct Line {
    pub(crate) number: u64,
    /// Where the line is in the block; `None` if it is too long to be held in memory.
    pub(crate) content: Option<Range<usize>>,
}

/// Sends the lines of a shard until its end, or until the receiver is gone.
pub(crate) fn send_lines(shard: &Shard, sender: &SyncSender<Block>) -> Result<(), Failure> {
    let file = File::open(&shard.path).map_err(|error| unreadable(&shard.name, &error))?;
    let input = compression::decompressed(file).map_err(|error| unreadable(&shard.name, &error))?;
    let mut lines = Lines { raw: RawLines::new(input), number: 0 };
    loop {
        let (text, rows, ended) = lines.next_block().map_err(|error| {
            let place = format!("{}, line {}", shard.name, lines.number + 1);
            unreadable(&place, &error)
        })?;
        let bytes = text.len() as u64;
        let block = Block { rows: Rows::Lines(text, rows), bytes };
        if sender.send(block).is_err() || ended || interrupt::requested() {
            return Ok(());
        }
    }
}

struct Lines<R: io::Read> {
    raw: RawLines<R>,
    /// The number of lines read so far.
    number: u64,
}

impl<R: io::Read> Lines<R> {
    /// The text of the next lines, the lines that are rows, and whether the input has ended.
    fn next_block(&mut self) -> io::Result<(Vec<u8>, Vec<Line>, bool)> {
        let (mut text, mut rows) =
            (Vec::with_capacity(BLOCK_BYTES + (BLOCK_BYTES >> 3)), Vec::new());
        while text.len() < BLOCK_BYTES && rows.len() < BLOCK_LINES {
            let start = text.len();
            match self.raw.next(&mut text)? {
                Taken::End => return Ok((text, rows, true)),
                Taken::Start => {
                    text.truncate(start);
                    self.raw.rest(|_| Ok(()))?;
                    self.number += 1;
                    rows.push(Line { number: self.number, content: None });
                }
                Taken::Line => {
                    self.number += 1;
                    let content = lines::content(&text[start..], self.number == 1);
                    if !lines::is_blank(&text[start..][content.clone()]) {
                        let content = Some(start + content.start..start + content.end);
                        rows.push(Line { number: self.number, content });
                    }
                }
            }
        }
        Ok((text, rows, false))
    }
}

/// Sends the wanted columns of a shard until its end, or until the receiver is gone.
#[cfg(feature = "parquet")]
pub(crate) fn send_columns(
    shard: &Shard,
    fields: &super::row::Fields,
    features: ringer::scheme::Features,
    sender: &SyncSender<Block>,
) -> Result<(), Failure> {
    let read = parquet::guarded(|| {
        let reader = parquet::open(&shard.path)?;
        let rows = parquet::rows(&reader).max(1);
        let mut send = |block: Vec<_>| {
            let bytes = shard.bytes() * block.len() as u64 / rows;
            let block = Block { rows: Rows::Columns(block), bytes };
            !interrupt::requested() && sender.send(block).is_ok()
        };
        parquet::columns::read(&reader, fields, features, &mut send)
    });
    read.map_err(|error| unreadable(&shard.name, &error))
}
