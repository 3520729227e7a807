//! Chunks of a stream of bytes.
//!
//! In: bytes in pieces of any size. Out: chunks, which do not depend on the pieces. Memory depends on the horizon
//! only: the buffer holds the bytes after the last cut, and their values.

use xxhash_rust::xxh3::xxh3_64;

use super::cuts::Cuts;
use super::values::{WINDOW, fill};
use crate::error::{Error, Result};
use crate::limits::{MAX_HORIZON, MIN_HORIZON};

/// The bytes that are collected before cuts are searched. Their values fit in the first-level cache.
const GATHERED: usize = 4096;

/// The bytes between two cuts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chunk<'a> {
    start: u64,
    bytes: &'a [u8],
}

impl<'a> Chunk<'a> {
    /// The offset of the chunk in the input.
    pub fn start(&self) -> u64 {
        self.start
    }

    /// The bytes of the chunk, at least one.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The feature of the chunk: XXH3-64, seed 0, of its bytes (CHUNK-4).
    pub fn feature(&self) -> u64 {
        xxh3_64(self.bytes)
    }
}

/// Cuts a stream of bytes into chunks. Its memory depends on the horizon only: at most 90 bytes for each byte of
/// the horizon, plus 40 KiB.
///
/// ```
/// use ringer::features::{Chunker, DEFAULT_HORIZON, chunks};
///
/// let mut chunker = Chunker::new(DEFAULT_HORIZON)?;
/// let (mut features, mut bytes) = (Vec::new(), 0);
/// for piece in [&b"first piece "[..], b"", b"and another"] {
///     chunker.push(piece, |chunk| features.push(chunk.feature()));
/// }
/// chunker.finish(|chunk| {
///     features.push(chunk.feature());
///     bytes += chunk.bytes().len();
/// });
/// assert_eq!(features, chunks(b"first piece and another", DEFAULT_HORIZON)?);
/// assert_eq!(bytes, 23); // too short to be cut
/// # Ok::<(), ringer::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Chunker {
    cuts: Cuts,
    /// The bytes after the last cut, and perhaps some before it.
    bytes: Vec<u8>,
    /// The values of the places before, between and after these bytes, as far as computed. The first `WINDOW`
    /// places of the input have no values. They hold a placeholder, on which no cut depends.
    values: Vec<u32>,
    /// The offset of the buffer in the input.
    start: u64,
    capacity: usize,
}

impl Chunker {
    /// Makes a chunker with a horizon of [`MIN_HORIZON`] to [`MAX_HORIZON`] bytes.
    pub fn new(horizon: u32) -> Result<Chunker> {
        if !(MIN_HORIZON..=MAX_HORIZON).contains(&horizon) {
            return Err(Error::invalid(
                format!("chunks with a horizon of {horizon} bytes"),
                format!("the horizon must be {MIN_HORIZON} to {MAX_HORIZON} bytes"),
            ));
        }
        let cuts = Cuts::new(horizon as usize);
        let capacity = cuts.outlook() + GATHERED.max(horizon as usize);
        Ok(Chunker { cuts, bytes: Vec::new(), values: Vec::new(), start: 0, capacity })
    }

    /// Takes a piece of the input and hands out the chunks that are certain by now, in order. The search runs only
    /// after enough bytes were collected, so a chunk may come later than it could.
    pub fn push(&mut self, mut piece: &[u8], mut give: impl FnMut(Chunk<'_>)) {
        while !piece.is_empty() {
            let room = self.capacity - self.bytes.len();
            let (now, later) = piece.split_at(room.min(piece.len()));
            self.bytes.extend_from_slice(now);
            piece = later;
            if self.bytes.len() == self.capacity {
                self.give_certain(&mut give);
                self.move_along();
            }
        }
    }

    /// Ends the input and hands out the remaining chunks. Together with those from [`Chunker::push`] they cover all
    /// bytes. An empty input has no chunks.
    pub fn finish(mut self, mut give: impl FnMut(Chunk<'_>)) {
        self.give_certain(&mut give);
        let mut from = self.cuts.last();
        while let Some(cut) = self.cuts.next_at_end(&self.values) {
            give(self.chunk(from, cut));
            from = cut;
        }
        if from < self.bytes.len() {
            give(self.chunk(from, self.bytes.len()));
        }
    }

    /// The memory that the buffers take.
    #[cfg(test)]
    pub(super) fn memory(&self) -> usize {
        self.bytes.capacity() + self.values.capacity() * size_of::<u32>()
    }

    fn chunk(&self, from: usize, to: usize) -> Chunk<'_> {
        Chunk { start: self.start + from as u64, bytes: &self.bytes[from..to] }
    }

    fn give_certain(&mut self, give: &mut impl FnMut(Chunk<'_>)) {
        // Places at the start of the input do not have a whole window before them.
        let known = self.values.len().max(WINDOW);
        self.values.resize(self.bytes.len().max(WINDOW - 1) + 1, u32::MAX);
        if known < self.values.len() {
            fill(&self.bytes[known - WINDOW..], &mut self.values[known..]);
        }
        let mut from = self.cuts.last();
        while let Some(cut) = self.cuts.next(&self.values) {
            give(self.chunk(from, cut));
            from = cut;
        }
    }

    /// Drops everything before the last cut.
    fn move_along(&mut self) {
        let cut = self.cuts.last();
        self.cuts.rebase();
        self.bytes.drain(..cut);
        self.values.drain(..cut);
        self.start += cut as u64;
    }
}
