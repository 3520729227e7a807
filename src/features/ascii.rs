//! Words of ASCII text, 64 characters at a time.
//!
//! In: ASCII bytes. Out: the words of FEAT-6 in lower case, each followed by one space. Which characters
//! are parts of words becomes one bit each of a `u64`; words start where a bit is set and the one before is
//! not, and what stands between words is one space but for the bits to leave out.

use super::words::{Flat, is_space};
use crate::kernel::{BLOCK, Kernel, Work, marks};

/// What a block is made of: a bit for each byte.
struct Classes {
    /// Letters, digits and low lines.
    core: u64,
    /// What may keep two of these together.
    middle: u64,
    /// Whether there is a low line.
    low_line: bool,
}

/// Classifies a block, and writes it in lower case, all but letters, digits and low lines being spaces.
#[inline(always)]
fn classify(block: &[u8; BLOCK], plain: &mut [u8; BLOCK]) -> Classes {
    let (mut cores, mut middles, mut low_lines) = ([0; BLOCK], [0; BLOCK], 0);
    for (i, (byte, plain)) in block.iter().zip(plain).enumerate() {
        let mask = |is: bool| if is { u8::MAX } else { 0 };
        let lower = *byte | 0x20;
        let letter = mask(lower.wrapping_sub(b'a') < 26);
        let digit = mask(byte.wrapping_sub(b'0') < 10);
        let low_line = mask(*byte == b'_');
        // Three of them stand near each other, among some that never join.
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

/// Whether a character between two others keeps them together: rules WB6, WB7, WB11 and WB12.
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

/// Appends the words of a text, as far as it is ASCII and about `most` bytes long: up to the white space before
/// the first byte that is not so, or to the text's end. Out: how many bytes that are.
///
/// Characters are asked for when they are read, not all of them before: text then comes from memory
/// while words are made of what is there.
pub(super) fn read(text: &[u8], most: usize, words: &mut Flat) -> usize {
    let most_blocks = text.len().min(most) / BLOCK;
    let (before, words_before) = (words.bytes.len(), words.len());
    // The first word starts where the last one before ended.
    words.bounds.truncate(words_before);
    let room = BLOCK * (most_blocks + 2);
    let bytes = words.bytes.spare(room);
    // A word takes two bytes, eight are written where one is needed, and the last one ends.
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

/// Blocks of a text: at least one space stands after it and ends its last word.
fn blocks_of(text: &[u8]) -> usize {
    (text.len() + 1).div_ceil(BLOCK)
}

/// Where words go: bytes up to `at` and the starts of `count` words are written, which count from `before`
/// bytes ahead.
struct Output<'a> {
    before: usize,
    bytes: &'a mut [u8],
    starts: &'a mut [usize],
    at: usize,
    count: usize,
}

/// Reads a text block by block.
struct Blocks<'a, 'b> {
    text: &'a [u8],
    /// Whole blocks that there is room for; one more may be begun.
    most_blocks: usize,
    out: &'a mut Output<'b>,
}

struct Done {
    /// Bytes of the text.
    taken: usize,
    /// Whether there is a `_`, since a run of these alone is no word.
    low_lines: bool,
}

/// How things were before a block: what was written, and whether the last word goes on.
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
        // The block, and as much again: 64 bytes are copied from wherever a copy starts.
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
                // From the block of that white space on once more, or from the start on if that is longer ago.
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
    /// Appends a block: words start at the set bits of `starts`, and bytes at those of `left_out` are not
    /// taken.
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
            // The next byte to take is the first after this run of those to leave out.
            left_out |= below;
            from = (!left_out).trailing_zeros() as usize;
            left_out &= !below;
        }
    }

    /// Writes down where words start. Eight in one go, needed or not: fewer branches that cannot be
    /// foreseen.
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

/// Takes out words without letter or digit, from word number `first` on.
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
