//! Texts as sequences of words.
//!
//! In: bytes, meant to be UTF-8. Out: the words of the normalised text (FEAT-5, FEAT-6), each followed
//! by one space, in one buffer that is used again for the next text.
//!
//! ASCII white space is no part of a word and nothing across it has to do with each other, neither in
//! normalisation nor in word boundaries: what stands between is a *piece*, and only pieces that have a
//! character outside ASCII take the slower way.

use super::ascii;
use super::pieces::Pieces;

/// ASCII text is read in parts of about this size, so that working memory stays small and near.
const WINDOW: usize = 4096;

/// Bytes that are asked for characters outside ASCII in one go.
const CHUNK: usize = 32;

/// Words one behind the other, each followed by a space.
#[derive(Debug)]
pub(super) struct Flat {
    pub(super) bytes: Vec<u8>,
    /// 0, and the end of each word and its space.
    pub(super) bounds: Vec<usize>,
    /// Where the words of a part start; what is behind the last of them has no meaning.
    pub(super) starts: Vec<usize>,
}

impl Flat {
    /// A buffer without words.
    pub(super) fn new() -> Flat {
        Flat { bytes: Vec::new(), bounds: vec![0], starts: Vec::new() }
    }

    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.bounds.truncate(1);
    }

    /// Number of words.
    pub(super) fn len(&self) -> usize {
        self.bounds.len() - 1
    }

    /// A word, without its space.
    pub(super) fn word(&self, i: usize) -> &[u8] {
        &self.bytes[self.bounds[i]..self.bounds[i + 1] - 1]
    }
}

/// Reads texts. Keeps its buffers.
#[derive(Debug)]
pub(super) struct Words {
    pub(super) flat: Flat,
    pieces: Pieces,
}

impl Words {
    /// Reads words, each of which is followed by a space.
    pub(super) fn new() -> Words {
        Words { flat: Flat::new(), pieces: Pieces::new(false) }
    }

    /// Reads text for character n-grams: words that touch each other have no space between them (FEAT-8),
    /// and their bounds have no meaning.
    pub(super) fn touching() -> Words {
        Words { pieces: Pieces::new(true), ..Words::new() }
    }

    /// The words of a text.
    pub(super) fn read(&mut self, text: &[u8]) -> &mut Flat {
        self.flat.clear();
        let mut rest = text;
        while !rest.is_empty() {
            let prefix = ascii_prefix(&rest[..rest.len().min(WINDOW)]);
            // What ends with the text, or with white space, is read as a whole.
            let whole = if prefix == rest.len() {
                prefix
            } else {
                rest[..prefix].iter().rposition(|b| is_space(*b)).map_or(0, |at| at + 1)
            };
            let (front, behind) = rest.split_at(whole);
            rest = behind;
            if whole > 0 {
                ascii::read(front, &mut self.flat);
                continue;
            }
            let end = rest.iter().position(|b| is_space(*b)).unwrap_or(rest.len());
            let (piece, behind) = rest.split_at(end);
            rest = behind;
            if piece.is_ascii() {
                ascii::read(piece, &mut self.flat);
            } else {
                self.pieces.read(piece, &mut self.flat);
            }
        }
        &mut self.flat
    }
}

/// ASCII white space.
fn is_space(byte: u8) -> bool {
    matches!(byte, b'\t'..=b'\r' | b' ')
}

/// How many bytes from the start on are ASCII.
fn ascii_prefix(bytes: &[u8]) -> usize {
    let (chunks, _) = bytes.as_chunks::<CHUNK>();
    let whole = chunks.iter().take_while(|chunk| chunk.is_ascii()).count() * CHUNK;
    let rest = bytes[whole..].iter();
    whole + rest.take_while(|byte| byte.is_ascii()).count()
}
