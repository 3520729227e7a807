//! The words of a text.
//!
//! In: bytes that should be UTF-8. Out: the words of the normalised text (FEAT-5, FEAT-6), each followed by one
//! space, in a buffer that is reused for the next text.
//!
//! ASCII white space is never part of a word, and neither normalisation nor word boundaries reach across it. The
//! bytes between white space are a *piece*. Only pieces with a character outside ASCII, and pieces near them, take
//! the slow path.

use super::ascii;
use super::buffer::Buffer;
use super::limits::Watch;
use super::pieces::Pieces;
use crate::error::Result;
use crate::kernel::{BLOCK, marks};

/// The size of the parts in which text is read, so that working memory stays in the cache.
const WINDOW: usize = 4096;

/// The bytes of words that are collected before `Take` is called.
const FULL: usize = 1 << 16;

/// Words one after the other, each followed by a space.
#[derive(Debug)]
pub(super) struct Flat {
    pub(super) bytes: Buffer<u8>,
    /// 0, and the end of each word with its space.
    pub(super) bounds: Buffer<usize>,
    /// The bytes of words that were removed already.
    pub(super) taken: usize,
}

/// Processes words and removes them from the front while a text is being read. The last ones may stay.
pub(super) type Take<'a> = &'a mut dyn FnMut(&mut Flat) -> Result<()>;

/// The limits on the reading of a text, and the receiver of its words.
pub(super) struct Reading<'a> {
    pub(super) watch: &'a Watch<'a>,
    pub(super) take: Take<'a>,
}

impl Reading<'_> {
    /// Checks the limits, and calls `take` if there are many words. `more` bytes were read but not appended yet.
    pub(super) fn step(&mut self, words: &mut Flat, more: usize) -> Result<()> {
        self.watch.at(words.taken + words.bytes.len() + more)?;
        if words.bytes.len() >= FULL { (self.take)(words) } else { Ok(()) }
    }
}

impl Flat {
    /// Makes a buffer without words.
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

    /// Appends the first `count` words of another buffer.
    pub(super) fn copy_words(&mut self, other: &Flat, count: usize) {
        for i in 0..count.min(other.len()) {
            self.bytes.extend_from_slice(&other.bytes[other.bounds[i]..other.bounds[i + 1]]);
            self.bounds.push(self.bytes.len());
        }
    }

    /// Appends all words of another buffer.
    pub(super) fn append(&mut self, other: &Flat) {
        self.copy_words(other, other.len());
    }

    /// Removes the first `count` words.
    pub(super) fn drop_words(&mut self, count: usize) {
        let gone = self.bounds[count];
        self.bounds.drop_front(count);
        self.bounds.iter_mut().for_each(|bound| *bound -= gone);
        self.bytes.drop_front(gone);
        self.taken += gone;
    }

    /// Removes the first `count` bytes of text without bounds.
    pub(super) fn drop_bytes(&mut self, count: usize) {
        self.bounds.truncate(1);
        self.bytes.drop_front(count);
        self.taken += count;
    }

    /// The number of words.
    pub(super) fn len(&self) -> usize {
        self.bounds.len() - 1
    }

    /// Word `i`, without its space.
    pub(super) fn word(&self, i: usize) -> &[u8] {
        &self.bytes[self.bounds[i]..self.bounds[i + 1] - 1]
    }
}

/// Reads texts and reuses its buffers.
#[derive(Debug)]
pub(super) struct Words {
    pub(super) flat: Flat,
    pieces: Pieces,
}

impl Words {
    /// Makes a reader of words that are each followed by a space.
    pub(super) fn new() -> Words {
        Words { flat: Flat::new(), pieces: Pieces::new(false) }
    }

    /// Makes a reader of gram text, for character n-grams. Words that touch have no space between them (FEAT-8),
    /// and bounds have no meaning.
    pub(super) fn touching() -> Words {
        Words { pieces: Pieces::new(true), ..Words::new() }
    }

    /// All words of a text.
    #[cfg(test)]
    pub(super) fn read(&mut self, text: &[u8]) -> &mut Flat {
        let watch = Watch::none();
        let read = self.read_each(text, &watch, &mut |_| Ok(()));
        debug_assert!(read.is_ok(), "nothing limits it");
        &mut self.flat
    }

    /// Reads the words of a text. Returns those that `take` did not remove.
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

/// The end of the first piece, together with later pieces up to the next block of ASCII, or about a window of them.
fn end_of_pieces(text: &[u8]) -> usize {
    let (blocks, _) = text[..text.len().min(WINDOW)].as_chunks::<BLOCK>();
    let others = blocks.iter().take_while(|block| marks(block) != 0).count() * BLOCK;
    let rest = text[others..].iter();
    others + rest.clone().position(|byte| is_space(*byte)).unwrap_or(rest.len())
}

/// True for ASCII white space.
pub(super) fn is_space(byte: u8) -> bool {
    matches!(byte, b'\t'..=b'\r' | b' ')
}
