//! Reads the lines of a JSONL shard as bytes, for both passes over it.
//!
//! Lines keep their line ends, so that kept lines are written as they were read. A line that is too long for memory is
//! returned in pieces. Both passes use this module, so they count lines in the same way.

use std::io::{self, BufRead, BufReader, Read};
use std::ops::Range;

/// The longest line that is held in memory. Longer lines are rows that cannot be compared.
pub(crate) const MAX_LINE_BYTES: usize = 64 << 20;

const BUFFER_BYTES: usize = 1 << 20;

/// A reader of lines.
pub(crate) struct RawLines<R: Read> {
    input: BufReader<R>,
}

/// The result of reading a line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    /// The input has ended.
    End,
    /// A whole line.
    Line,
    /// The start of a line that is too long; [`RawLines::rest`] reads the rest.
    Start,
}

impl<R: Read> RawLines<R> {
    pub(crate) fn new(input: R) -> RawLines<R> {
        RawLines { input: BufReader::with_capacity(BUFFER_BYTES, input) }
    }

    /// Appends the next line to `text`, with its line end.
    pub(crate) fn next(&mut self, text: &mut Vec<u8>) -> io::Result<Taken> {
        let most = MAX_LINE_BYTES as u64;
        let read = self.input.by_ref().take(most).read_until(b'\n', text)? as u64;
        Ok(match read {
            0 => Taken::End,
            read if read == most && text.last() != Some(&b'\n') => Taken::Start,
            _ => Taken::Line,
        })
    }

    /// Passes the rest of a long line to `visit`, piece by piece.
    pub(crate) fn rest(
        &mut self,
        mut visit: impl FnMut(&[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        loop {
            let buffer = match self.input.fill_buf() {
                Ok(buffer) => buffer,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            let end = buffer.iter().position(|byte| *byte == b'\n');
            let used = end.map_or(buffer.len(), |at| at + 1);
            visit(&buffer[..used])?;
            self.input.consume(used);
            if end.is_some() || used == 0 {
                return Ok(());
            }
        }
    }
}

/// The content of a line: without its line end and, if it is the first line, without a byte order mark.
pub(crate) fn content(line: &[u8], is_first: bool) -> Range<usize> {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    crate::input::content(line, is_first)
}

/// Whether a line holds no row.
pub(crate) fn is_blank(content: &[u8]) -> bool {
    content.trim_ascii().is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_back_byte_for_byte() {
        let input = b"\xef\xbb\xbfa\r\n\n  \nb\nlast";
        let mut lines = RawLines::new(&input[..]);
        let (mut text, mut ends) = (Vec::new(), Vec::new());
        while lines.next(&mut text).unwrap() != Taken::End {
            ends.push(text.len());
        }
        assert_eq!((&*text, &*ends), (&input[..], &[6, 7, 10, 12, 16][..]));
        assert_eq!(content(&text[..6], true), 3..4);
        assert!(is_blank(&text[6..7]) && is_blank(&text[7..10]));
    }

    #[test]
    fn a_long_line_is_given_in_pieces() {
        let long = vec![b'x'; MAX_LINE_BYTES + 5];
        let input = [&long[..], b"\nnext\n"].concat();
        let mut lines = RawLines::new(&input[..]);
        let mut text = Vec::new();
        assert_eq!(lines.next(&mut text).unwrap(), Taken::Start);
        let mut take = |piece: &[u8]| {
            text.extend_from_slice(piece);
            Ok(())
        };
        lines.rest(&mut take).unwrap();
        assert_eq!(text.len(), long.len() + 1);
        text.clear();
        assert_eq!(lines.next(&mut text).unwrap(), Taken::Line);
        assert_eq!(text, b"next\n");
        assert_eq!(lines.next(&mut text).unwrap(), Taken::End);
    }
}
