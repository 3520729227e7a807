//! Reads lines of a file or of standard input in blocks, with their numbers.
//!
//! A line ends with LF or CRLF; the last line may have no line end. A byte order mark at the start is dropped. A line that is
//! too long is reported and skipped.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::ops::Range;
use std::path::Path;

use crate::compression;
use crate::problems::{Problem, Reason};
use crate::show;

/// The longest line that is read.
pub(crate) const MAX_LINE_BYTES: usize = 64 << 20;

/// A block ends with the line that reaches this many bytes.
const BLOCK_BYTES: usize = 4 << 20;

/// How many bytes are requested at a time. A pipe returns fewer.
const BUFFER_BYTES: usize = 1 << 20;

/// The most lines of a block.
const BLOCK_LINES: usize = 4096;

/// A source of lines.
pub(crate) struct Lines {
    name: String,
    input: BufReader<Box<dyn Read + Send>>,
    /// The length of the input, if it is known.
    bytes: Option<u64>,
    number: u64,
    /// Bytes that were read.
    offset: u64,
    most_lines: usize,
}

/// Consecutive lines of the input.
#[derive(Default)]
pub(crate) struct LineBlock {
    text: Vec<u8>,
    lines: Vec<(u64, u64, Range<usize>)>,
    /// Lines that are too long.
    pub(crate) problems: Vec<Problem>,
    /// Bytes that were read for this block.
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
    /// Opens a file; `-` is standard input. A block has at most `most_lines` lines, so that small commits need not wait for
    /// thousands of lines.
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
        if found.is_file() && !compressed {
            let mut start = Vec::new();
            let mut again = File::open(path).map_err(unreadable)?;
            again.by_ref().take(64).read_to_end(&mut start).map_err(unreadable)?;
            if let Some(kind) = compression::kind_of(&start) {
                return Err(unreadable(io::Error::other(format!(
                    "it is {kind}; {}",
                    compression::advice(kind).unwrap_or("name a file of text lines")
                ))));
            }
        }
        let bytes = (found.is_file() && !compressed).then_some(found.len());
        let input = BufReader::with_capacity(BUFFER_BYTES, input);
        Ok(Lines { name: show::path(path), input, bytes, number: 0, offset: 0, most_lines })
    }

    /// The length of the input, if it is known.
    pub(crate) fn bytes(&self) -> Option<u64> {
        self.bytes
    }

    /// The name of the input in messages.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The next lines; `None` at the end.
    pub(crate) fn next_block(&mut self) -> Result<Option<LineBlock>, Problem> {
        let mut block = LineBlock::default();
        while block.lines.len() < self.most_lines && block.text.len() < BLOCK_BYTES {
            // Return the lines at hand before waiting for more. The writer of a pipe may itself be waiting for an answer.
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
                let message =
                    format!("{name}, line {number}: longer than {most} MiB, the limit of a line");
                block.problems.push(Problem::new(Reason::TooLarge, message));
                continue;
            }
            let content = content(&block.text[line], self.number == 1);
            block.lines.push((self.number, offset, start + content.start..start + content.end));
        }
        Ok((block.bytes > 0).then_some(block))
    }

    /// Reads a line and appends it without its line end. Of a line that is too long, only the start is appended. Returns the
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

/// The content of a line, without a CR at its end and, if it is the first line, without a byte order mark.
pub(crate) fn content(line: &[u8], is_first: bool) -> Range<usize> {
    let mark = is_first && line.starts_with(b"\xef\xbb\xbf");
    let start = if mark { 3 } else { 0 };
    start..line.len() - usize::from(line[start..].ends_with(b"\r"))
}

/// Skips the rest of a line. Returns the number of bytes skipped.
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
