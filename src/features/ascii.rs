//! Words of ASCII text, 64 characters at a time.
//!
//! In: ASCII bytes. Out: the words of FEAT-6 in lower case, each followed by one space. Which characters
//! are parts of words becomes one bit each of a `u64`; words start where a bit is set and the one before is
//! not, and what stands between words is one space but for the bits to leave out.

use super::words::Flat;

/// Bits of a byte's class.
const CORE: u8 = 1;
const MIDDLE: u8 = 2;
const LOW_LINE: u8 = 4;

const BLOCK: usize = 64;

/// Bit i of the result is bit `1 << bit` of byte i.
#[inline(always)]
fn gather(classes: &[u8; BLOCK], bit: u32) -> u64 {
    let (eights, _) = classes.as_chunks::<8>();
    let mut bits = 0;
    for (i, eight) in eights.iter().enumerate() {
        let ones = (u64::from_le_bytes(*eight) >> bit) & 0x0101_0101_0101_0101;
        // Brings bit 8i to bit 56 + i.
        bits |= (ones.wrapping_mul(0x0102_0408_1020_4080) >> 56) << (8 * i);
    }
    bits
}

/// A block in lower case, all but letters, digits and low lines being spaces. Out: the class of each byte,
/// and all bits that are in one.
#[inline(always)]
fn classify(block: &[u8; BLOCK], plain: &mut [u8; BLOCK], classes: &mut [u8; BLOCK]) -> u8 {
    let mut any = 0;
    for ((byte, plain), class) in block.iter().zip(plain.iter_mut()).zip(classes.iter_mut()) {
        let lower = *byte | 0x20;
        let letter = lower.wrapping_sub(b'a') < 26;
        let digit = byte.wrapping_sub(b'0') < 10;
        let low_line = *byte == b'_';
        // Four of them are next to each other but for some that are never between letters or digits.
        let middle = (b'\''..=b'.').contains(byte) | (byte.wrapping_sub(b':') < 2);
        *class = (CORE * u8::from(letter | digit | low_line))
            | (MIDDLE * u8::from(middle))
            | (LOW_LINE * u8::from(low_line));
        any |= *class;
        *plain = match (letter, digit | low_line) {
            (true, _) => lower,
            (_, true) => *byte,
            _ => b' ',
        };
    }
    any
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

/// Appends the words of an ASCII text.
pub(super) fn read(text: &[u8], words: &mut Flat) {
    let (before, words_before) = (words.bytes.len(), words.len());
    // At least one space stands after the text and ends its last word.
    let blocks = (text.len() + 1).div_ceil(BLOCK);
    words.bytes.resize(before + BLOCK * (blocks + 1), b' ');
    // A word takes two bytes, and eight are written where one is needed.
    if words.starts.len() < text.len() / 2 + 10 {
        words.starts.resize(text.len() / 2 + 10, 0);
    }
    let mut out = Output { words, at: before, count: 0 };
    let low_lines = read_blocks(text, blocks, &mut out);
    let Output { at, count, .. } = out;
    words.bytes.truncate(at);
    if count > 0 {
        // The first starts where the last one before ended.
        words.bounds.extend_from_slice(&words.starts[1..count]);
        words.bounds.push(at);
    }
    if low_lines {
        drop_low_lines(words, words_before);
    }
}

/// Where words go: bytes up to `at` and the starts of `count` words are written.
struct Output<'a> {
    words: &'a mut Flat,
    at: usize,
    count: usize,
}

/// Out: whether there is a `_`, since a run of these alone is no word.
#[inline(never)]
fn read_blocks(text: &[u8], blocks: usize, out: &mut Output<'_>) -> bool {
    let (mut open, mut any) = (0, 0);
    // The block, and as much again: 64 bytes are copied from wherever a copy starts.
    let (mut plain, mut classes, mut rest) = ([b' '; 2 * BLOCK], [0; BLOCK], [b' '; BLOCK]);
    for number in 0..blocks {
        let start = BLOCK * number;
        let block = match text[start..].first_chunk::<BLOCK>() {
            Some(block) => block,
            None => {
                rest[..text.len() - start].copy_from_slice(&text[start..]);
                &rest
            }
        };
        let Some(front) = plain.first_chunk_mut::<BLOCK>() else { break };
        let here = classify(block, front, &mut classes);
        any |= here;
        let mut core = gather(&classes, 0);
        if here & MIDDLE != 0 {
            let next = text.get(start + BLOCK).is_some_and(|byte| is_core(*byte));
            let between = !core & (core << 1 | open) & (core >> 1 | u64::from(next) << 63);
            let mut middles = between & gather(&classes, 1);
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
    }
    any & LOW_LINE != 0
}

impl Output<'_> {
    /// Appends a block: words start at the set bits of `starts`, and bytes at those of `left_out` are not
    /// taken.
    #[inline(always)]
    fn take(&mut self, plain: &[u8; 2 * BLOCK], mut starts: u64, mut left_out: u64) {
        let mut from = 0;
        while from < BLOCK {
            let length = (left_out >> from).trailing_zeros().min((BLOCK - from) as u32) as usize;
            let to = self.words.bytes[self.at..].first_chunk_mut::<BLOCK>();
            if let (Some(source), Some(to)) = (plain[from..].first_chunk::<BLOCK>(), to) {
                *to = *source;
            }
            let end = from + length;
            let below = if end < BLOCK { (1 << end) - 1 } else { u64::MAX };
            self.start_words(starts & below, self.at.wrapping_sub(from));
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
        let mut left = &mut self.words.starts[self.count..];
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
