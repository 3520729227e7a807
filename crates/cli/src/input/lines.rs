//! Lines of a file or of standard input, in blocks, with their numbers.
//!
//! A line ends with LF or CRLF, the last one perhaps with neither. A mark of byte order at the start is
//! dropped. A line that is too long to be held is left out with a message, and the next one is read.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::ops::Range;
use std::path::Path;

use crate::compression;
use crate::problems::{Problem, Reason};
use crate::show;

/// Longest line.
pub(crate) const MAX_LINE_BYTES: usize = 64 << 20;

/// Bytes of a block: it ends with the line that reaches this.
const BLOCK_BYTES: usize = 4 << 20;

/// Bytes that are asked for at a time. A pipe gives fewer.
const BUFFER_BYTES: usize = 1 << 20;

/// Lines of a block.
const BLOCK_LINES: usize = 4096;

/// Where lines come from.
pub(crate) struct Lines {
    name: String,
    input: BufReader<Box<dyn Read + Send>>,
    /// The length, if it is known.
    bytes: Option<u64>,
    number: u64,
    /// Bytes that were read.
    offset: u64,
    most_lines: usize,
}

/// Some lines.
#[derive(Default)]
pub(crate) struct LineBlock {
    text: Vec<u8>,
    lines: Vec<(u64, u64, Range<usize>)>,
    /// Lines that could not be held.
    pub(crate) problems: Vec<Problem>,
    /// Bytes that were read for it.
    pub(crate) bytes: u64,
}

/// One line.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Line<'a> {
    pub(crate) number: u64,
    /// Where it starts in the input, in bytes.
    pub(crate) start: u64,
    pub(crate) text: &'a [u8],
}

impl LineBlock {
    pub(crate) fn len(&self) -> usize {
        self.lines.len()
    }

    pub(crate) fn line(&self, i: usize) -> Line<'_> {
        let (number, start, range) = &self.lines[i];
        Line { number: *number, start: *start, text: &self.text[range.clone()] }
    }
}

impl Lines {
    /// The lines of a file; `-` is standard input. No block has more than `most_lines` lines: who acknowledges
    /// every line must not wait for thousands.
    pub(crate) fn open(path: &Path, most_lines: Option<usize>) -> Result<Lines, Problem> {
        let most_lines = most_lines.unwrap_or(BLOCK_LINES).clamp(1, BLOCK_LINES);
        if path == Path::new("-") {
            let name = "standard input".into();
            let input = compression::decompressed(io::stdin()).map_err(|error| {
                Problem::new(Reason::Unreadable, format!("cannot read standard input: {error}"))
            })?;
            let input = BufReader::with_capacity(BUFFER_BYTES, input);
            return Ok(Lines { name, input, bytes: None, number: 0, offset: 0, most_lines });
        }
        let unreadable = |error: io::Error| {
            let message = format!("cannot read {}: {error}", show::path(path));
            Problem::new(Reason::Unreadable, message)
        };
        let file = File::open(path).map_err(unreadable)?;
        let found = file.metadata().map_err(unreadable)?;
        if found.is_dir() {
            return Err(unreadable(io::ErrorKind::IsADirectory.into()));
        }
        let (input, compressed) = compression::recognised(file).map_err(unreadable)?;
        let bytes = (found.is_file() && !compressed).then_some(found.len());
        let input = BufReader::with_capacity(BUFFER_BYTES, input);
        Ok(Lines { name: show::path(path), input, bytes, number: 0, offset: 0, most_lines })
    }

    /// The length of the input, if it is known.
    pub(crate) fn bytes(&self) -> Option<u64> {
        self.bytes
    }

    /// What the input is called in messages.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The next lines; `None` at the end.
    pub(crate) fn next_block(&mut self) -> Result<Option<LineBlock>, Problem> {
        let mut block = LineBlock::default();
        while block.lines.len() < self.most_lines && block.text.len() < BLOCK_BYTES {
            // What is there is given before waiting for more: whoever writes into the pipe may be waiting, too.
            if block.bytes > 0 && !self.input.buffer().contains(&b'\n') {
                break;
            }
            let start = block.text.len();
            let read = self.read_line(&mut block.text).map_err(|error| {
                let (name, number) = (&self.name, self.number + 1);
                let message = format!("cannot read {name}, line {number}: {error}");
                Problem::new(Reason::Unreadable, message)
            })?;
            if read == 0 {
                break;
            }
            block.bytes += read;
            self.number += 1;
            let offset = self.offset;
            self.offset += read;
            let line = start..block.text.len();
            if line.len() > MAX_LINE_BYTES {
                block.text.truncate(start);
                let (name, number) = (&self.name, self.number);
                let most = MAX_LINE_BYTES >> 20;
                let message = format!("{name}, line {number}: it has more than {most} MiB");
                block.problems.push(Problem::new(Reason::TooLarge, message));
                continue;
            }
            let content = content(&block.text[line], self.number == 1);
            block.lines.push((self.number, offset, start + content.start..start + content.end));
        }
        Ok((block.bytes > 0).then_some(block))
    }

    /// Appends a line without its end, or a little more than the most of it, and reads it whole. Gives the
    /// number of bytes read, 0 at the end of the input.
    fn read_line(&mut self, text: &mut Vec<u8>) -> io::Result<u64> {
        let most = MAX_LINE_BYTES as u64 + 2;
        let mut read = self.input.by_ref().take(most).read_until(b'\n', text)? as u64;
        if text.ends_with(b"\n") && read > 0 {
            text.pop();
        } else if read == most {
            read += skip_line(&mut self.input)?;
        }
        Ok(read)
    }
}

/// What a line says, without the CR at its end and, if it is the first, without a mark of byte order.
pub(crate) fn content(line: &[u8], is_first: bool) -> Range<usize> {
    let mark = is_first && line.starts_with(b"\xef\xbb\xbf");
    let start = if mark { 3 } else { 0 };
    start..line.len() - usize::from(line[start..].ends_with(b"\r"))
}

/// Reads up to the end of the line and keeps nothing.
fn skip_line(input: &mut impl BufRead) -> io::Result<u64> {
    let mut skipped = 0;
    loop {
        let buffer = match input.fill_buf() {
            Ok(buffer) => buffer,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let end = buffer.iter().position(|byte| *byte == b'\n');
        let used = end.map_or(buffer.len(), |at| at + 1);
        input.consume(used);
        skipped += used as u64;
        if end.is_some() || used == 0 {
            return Ok(skipped);
        }
    }
}
