//! Texts as sequences of words.
//!
//! In: bytes, meant to be UTF-8. Out: the words of the normalised text (FEAT-5, FEAT-6), each followed
//! by one space, in one buffer that is used again for the next text.
//!
//! ASCII white space is no part of a word and nothing across it has to do with each other, neither in
//! normalisation nor in word boundaries: what stands between is a *piece*, and only pieces that have a
//! character outside ASCII, and those near them, take the slower way.

use super::ascii;
use super::buffer::Buffer;
use super::pieces::Pieces;
use crate::kernel::{BLOCK, marks};

/// Text is read in parts of about this size, so that working memory stays small and near.
const WINDOW: usize = 4096;

/// Words one behind the other, each followed by a space.
#[derive(Debug)]
pub(super) struct Flat {
    pub(super) bytes: Buffer<u8>,
    /// 0, and the end of each word and its space.
    pub(super) bounds: Buffer<usize>,
}

impl Flat {
    /// A buffer without words.
    pub(super) fn new() -> Flat {
        let mut bounds = Buffer::default();
        bounds.push(0);
        Flat { bytes: Buffer::default(), bounds }
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
        while let Some(start) = rest.iter().position(|byte| !is_space(*byte)) {
            rest = &rest[start..];
            if rest[0].is_ascii() {
                let taken = ascii::read(rest, WINDOW, &mut self.flat);
                rest = &rest[taken..];
                if taken > 0 {
                    continue;
                }
            }
            let (pieces, behind) = rest.split_at(end_of_pieces(rest));
            rest = behind;
            if pieces.is_ascii() {
                ascii::read(pieces, pieces.len(), &mut self.flat);
            } else {
                self.pieces.read(pieces, &mut self.flat);
            }
        }
        &mut self.flat
    }
}

/// Where a piece ends, together with those after it up to the next block of ASCII, or about a window of them.
fn end_of_pieces(text: &[u8]) -> usize {
    let (blocks, _) = text[..text.len().min(WINDOW)].as_chunks::<BLOCK>();
    let others = blocks.iter().take_while(|block| marks(block) != 0).count() * BLOCK;
    let rest = text[others..].iter();
    others + rest.clone().position(|byte| is_space(*byte)).unwrap_or(rest.len())
}

/// ASCII white space.
pub(super) fn is_space(byte: u8) -> bool {
    matches!(byte, b'\t'..=b'\r' | b' ')
}
