//! Words of ASCII text, 64 characters at a time.
//!
//! In: ASCII bytes. Out: the words of FEAT-6 in lower case, each followed by one space. Each block of 64 bytes
//! becomes a `u64` with a bit for each byte that is part of a word. A word starts at a set bit after a clear one.
//! Of the bytes between two words only the first is kept, as a space.

use super::words::{Flat, is_space};
use crate::kernel::{BLOCK, Kernel, Work, marks};

/// The classes of the bytes of a block, one bit per byte.
struct Classes {
    /// Letters, digits and low lines.
    core: u64,
    /// Bytes that may join two of these.
    middle: u64,
    /// True if the block has a low line.
    low_line: bool,
}

/// Classifies a block. Writes it in lower case to `plain`, with spaces for all but letters, digits and low lines.
#[inline(always)]
fn classify(block: &[u8; BLOCK], plain: &mut [u8; BLOCK]) -> Classes {
    let (mut cores, mut middles, mut low_lines) = ([0; BLOCK], [0; BLOCK], 0);
    for (i, (byte, plain)) in block.iter().zip(plain).enumerate() {
        let mask = |is: bool| if is { u8::MAX } else { 0 };
        let lower = *byte | 0x20;
        let letter = mask(lower.wrapping_sub(b'a') < 26);
        let digit = mask(byte.wrapping_sub(b'0') < 10);
        let low_line = mask(*byte == b'_');
        // These two ranges contain all joining characters. `joins` rejects the others in them.
        middles[i] = mask(byte.wrapping_sub(b'\'') < 8) | mask(byte.wrapping_sub(b':') < 2);
        cores[i] = letter | digit | low_line;
        low_lines |= low_line;
        *plain = (lower & letter) | (*byte & (digit | low_line)) | (b' ' & !cores[i]);
    }
    Classes { core: marks(&cores), middle: marks(&middles), low_line: low_lines != 0 }
}

fn is_core(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// True if a character joins its two neighbours: rules WB6, WB7, WB11 and WB12 of Unicode word boundaries.
fn joins(left: u8, middle: u8, right: u8) -> bool {
    let letters = left.is_ascii_alphabetic() && right.is_ascii_alphabetic();
    let digits = left.is_ascii_digit() && right.is_ascii_digit();
    match middle {
        b'.' | b'\'' => letters || digits,
        b':' => letters,
        b',' | b';' => digits,
        _ => false,
    }
}

/// Appends the words of the ASCII start of a text, reading about `most` bytes at most. It stops after the last
/// white space before the first other byte, or at the end of the text. Returns the number of bytes read.
///
/// The check for ASCII is part of the same pass, so memory is read while words are made.
pub(super) fn read(text: &[u8], most: usize, words: &mut Flat) -> usize {
    let most_blocks = text.len().min(most) / BLOCK;
    let (before, words_before) = (words.bytes.len(), words.len());
    // The first new word starts where the last word ended. That bound is written again below.
    words.bounds.truncate(words_before);
    let room = BLOCK * (most_blocks + 2);
    let bytes = words.bytes.spare(room);
    // A word takes at least two bytes. Starts are written eight at a time, and the end of the last word follows
    // them.
    let starts = words.bounds.spare(room / 2 + 9);
    let mut out = Output { before, bytes, starts, at: 0, count: 0 };
    let Done { taken, low_lines } = Kernel::best().run(Blocks { text, most_blocks, out: &mut out });
    let Output { at, count, starts, .. } = out;
    starts[count] = before + at;
    words.bytes.advance(at);
    words.bounds.advance(count + 1);
    if low_lines {
        drop_low_lines(words, words_before);
    }
    taken
}

/// The number of blocks of a text. At least one space follows the text and ends its last word.
fn blocks_of(text: &[u8]) -> usize {
    (text.len() + 1).div_ceil(BLOCK)
}

/// The output: the first `at` bytes and `count` starts are written. Starts are relative to the whole buffer, in
/// which `before` bytes come earlier.
struct Output<'a> {
    before: usize,
    bytes: &'a mut [u8],
    starts: &'a mut [usize],
    at: usize,
    count: usize,
}

/// The work on a text, block by block.
struct Blocks<'a, 'b> {
    text: &'a [u8],
    /// The number of whole blocks that there is room for. One more may be started.
    most_blocks: usize,
    out: &'a mut Output<'b>,
}

struct Done {
    /// The number of bytes read.
    taken: usize,
    /// True if the text has a `_`. A run of only these is not a word.
    low_lines: bool,
}

/// The state before a block: the output, and whether the last word continues.
#[derive(Clone, Copy, Default)]
struct Before {
    number: usize,
    at: usize,
    count: usize,
    open: u64,
}

impl Work for Blocks<'_, '_> {
    type Done = Done;

    #[inline(always)]
    fn run(self) -> Done {
        let Blocks { mut text, most_blocks, out } = self;
        let (mut open, mut low_lines, mut number) = (0, false, 0);
        let mut last = Before::default();
        // The block, followed by as many spaces: a copy always takes 64 bytes, from any place in the block.
        let mut plain = [b' '; 2 * BLOCK];
        let mut rest;
        while number < blocks_of(text) {
            let start = BLOCK * number;
            let block = match text[start..].first_chunk::<BLOCK>() {
                Some(block) => block,
                None => {
                    rest = [b' '; BLOCK];
                    rest[..text.len() - start].copy_from_slice(&text[start..]);
                    &rest
                }
            };
            let before = Before { number, at: out.at, count: out.count, open };
            let ascii = match marks(block) {
                _ if number == most_blocks && text.len() - start >= BLOCK => start,
                others => start + others.trailing_zeros() as usize,
            };
            if ascii < text.len().min(start + BLOCK) {
                let ascii = &text[..ascii];
                let end = ascii.iter().rposition(|byte| is_space(*byte)).map_or(0, |at| at + 1);
                text = &text[..end];
                // Continue from the block of that white space, if its state is known, or else from the start.
                let again = [before, last].into_iter().find(|block| block.number == end / BLOCK);
                let again = again.unwrap_or_default();
                (number, open) = (again.number, again.open);
                (out.at, out.count) = (again.at, again.count);
                continue;
            }
            let Some(front) = plain.first_chunk_mut::<BLOCK>() else { break };
            let Classes { mut core, middle, low_line } = classify(block, front);
            low_lines |= low_line;
            if middle != 0 {
                let next = text.get(start + BLOCK).is_some_and(|byte| is_core(*byte));
                let between = !core & (core << 1 | open) & (core >> 1 | u64::from(next) << 63);
                let mut middles = between & middle;
                while middles != 0 {
                    let i = middles.trailing_zeros() as usize;
                    let at = start + i;
                    if joins(text[at - 1], text[at], text[at + 1]) {
                        core |= 1 << i;
                        front[i] = text[at];
                    }
                    middles &= middles - 1;
                }
            }
            let after_core = core << 1 | open;
            open = core >> 63;
            out.take(&plain, core & !after_core, !core & !after_core);
            last = before;
            number += 1;
        }
        Done { taken: text.len(), low_lines }
    }
}

impl Output<'_> {
    /// Appends a block. Words start at the set bits of `starts`. Bytes at the set bits of `left_out` are skipped.
    #[inline(always)]
    fn take(&mut self, plain: &[u8; 2 * BLOCK], mut starts: u64, mut left_out: u64) {
        let mut from = 0;
        while from < BLOCK {
            let length = (left_out >> from).trailing_zeros().min((BLOCK - from) as u32) as usize;
            let to = self.bytes[self.at..].first_chunk_mut::<BLOCK>();
            if let (Some(source), Some(to)) = (plain[from..].first_chunk::<BLOCK>(), to) {
                *to = *source;
            }
            let end = from + length;
            let below = if end < BLOCK { (1 << end) - 1 } else { u64::MAX };
            self.start_words(starts & below, (self.before + self.at).wrapping_sub(from));
            starts &= !below;
            self.at += length;
            // Continue at the first byte after this run of skipped bytes.
            left_out |= below;
            from = (!left_out).trailing_zeros() as usize;
            left_out &= !below;
        }
    }

    /// Records the starts of words, always eight at a time. This avoids branches that are hard to predict.
    #[inline(always)]
    fn start_words(&mut self, mut starts: u64, offset: usize) {
        let count = starts.count_ones() as usize;
        let mut left = &mut self.starts[self.count..];
        while starts != 0 {
            let Some((eight, rest)) = left.split_first_chunk_mut::<8>() else { break };
            for start in eight {
                *start = offset.wrapping_add(starts.trailing_zeros() as usize);
                starts &= starts.wrapping_sub(1);
            }
            left = rest;
        }
        self.count += count;
    }
}

/// Removes words without a letter or digit, from word `first` on.
fn drop_low_lines(words: &mut Flat, first: usize) {
    let (mut kept, mut at) = (first, words.bounds[first]);
    let mut start = at;
    for i in first..words.len() {
        let end = words.bounds[i + 1];
        if words.bytes[start..end].iter().any(u8::is_ascii_alphanumeric) {
            words.bytes.copy_within(start..end, at);
            at += end - start;
            kept += 1;
            words.bounds[kept] = at;
        }
        start = end;
    }
    words.bounds.truncate(kept + 1);
    words.bytes.truncate(at);
}
