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
use super::limits::Watch;
use super::pieces::Pieces;
use crate::error::Result;
use crate::kernel::{BLOCK, marks};

/// Text is read in parts of about this size, so that working memory stays small and near.
const WINDOW: usize = 4096;

/// Bytes of words that are gathered before somebody who can take words piece by piece is asked to.
const FULL: usize = 1 << 16;

/// Words one behind the other, each followed by a space.
#[derive(Debug)]
pub(super) struct Flat {
    pub(super) bytes: Buffer<u8>,
    /// 0, and the end of each word and its space.
    pub(super) bounds: Buffer<usize>,
    /// Bytes of words that were taken out of it already.
    pub(super) taken: usize,
}

/// Takes words out of the front of a text that is being read, all but the last ones.
pub(super) type Take<'a> = &'a mut dyn FnMut(&mut Flat) -> Result<()>;

/// What watches over the reading of a text, and takes the words.
pub(super) struct Reading<'a> {
    pub(super) watch: &'a Watch<'a>,
    pub(super) take: Take<'a>,
}

impl Reading<'_> {
    /// Looks at the limits, and has words taken if there are many. `more` bytes were read that are not there yet.
    pub(super) fn step(&mut self, words: &mut Flat, more: usize) -> Result<()> {
        self.watch.at(words.taken + words.bytes.len() + more)?;
        if words.bytes.len() >= FULL { (self.take)(words) } else { Ok(()) }
    }
}

impl Flat {
    /// A buffer without words.
    pub(super) fn new() -> Flat {
        let mut bounds = Buffer::default();
        bounds.push(0);
        Flat { bytes: Buffer::default(), bounds, taken: 0 }
    }

    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.bounds.truncate(1);
        self.taken = 0;
    }

    /// Copies the first words of another.
    pub(super) fn copy_words(&mut self, other: &Flat, count: usize) {
        for i in 0..count.min(other.len()) {
            self.bytes.extend_from_slice(&other.bytes[other.bounds[i]..other.bounds[i + 1]]);
            self.bounds.push(self.bytes.len());
        }
    }

    /// Appends all words of another.
    pub(super) fn append(&mut self, other: &Flat) {
        self.copy_words(other, other.len());
    }

    /// Takes the first words out.
    pub(super) fn drop_words(&mut self, count: usize) {
        let gone = self.bounds[count];
        self.bounds.drop_front(count);
        self.bounds.iter_mut().for_each(|bound| *bound -= gone);
        self.bytes.drop_front(gone);
        self.taken += gone;
    }

    /// Takes the first bytes out, where bounds have no meaning.
    pub(super) fn drop_bytes(&mut self, count: usize) {
        self.bounds.truncate(1);
        self.bytes.drop_front(count);
        self.taken += count;
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

    /// The words of a text, all of them.
    #[cfg(test)]
    pub(super) fn read(&mut self, text: &[u8]) -> &mut Flat {
        let watch = Watch::none();
        let read = self.read_each(text, &watch, &mut |_| Ok(()));
        debug_assert!(read.is_ok(), "nothing limits it");
        &mut self.flat
    }

    /// The words of a text, as far as `take` has not taken them while it was read.
    pub(super) fn read_each(
        &mut self,
        text: &[u8],
        watch: &Watch<'_>,
        take: Take<'_>,
    ) -> Result<&mut Flat> {
        self.flat.clear();
        let mut reading = Reading { watch, take };
        let mut rest = text;
        while let Some(start) = rest.iter().position(|byte| !is_space(*byte)) {
            rest = &rest[start..];
            reading.step(&mut self.flat, 0)?;
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
                self.pieces.read(pieces, &mut self.flat, &mut reading)?;
            }
        }
        watch.at(self.flat.taken + self.flat.bytes.len())?;
        Ok(&mut self.flat)
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
