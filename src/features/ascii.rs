//! Words of ASCII text, 64 characters at a time.
//!
//! In: ASCII bytes. Out: the words of FEAT-6 in lower case, each followed by one space. Which characters
//! are parts of words becomes one bit each of a `u64`; edges of words are where bits change.

use super::words::Flat;

/// Bits of a byte's class.
const CORE: u8 = 1;
const SPACE: u8 = 2;
const LOW_LINE: u8 = 4;

/// Words up to this length are copied without asking how long they are.
const SHORT: usize = 16;

/// Working memory.
#[derive(Debug, Default)]
pub(super) struct AsciiWords {
    /// The text in lower case, in whole blocks, the rest spaces.
    lower: Vec<u8>,
    /// Where words start and end, in turn; what is behind the last that was found has no meaning.
    edges: Vec<usize>,
}

/// Bit i of the result is bit `1 << bit` of byte i.
#[inline(always)]
fn gather(classes: &[u8; 64], bit: u32) -> u64 {
    let (eights, _) = classes.as_chunks::<8>();
    let mut bits = 0;
    for (i, eight) in eights.iter().enumerate() {
        let ones = (u64::from_le_bytes(*eight) >> bit) & 0x0101_0101_0101_0101;
        // Brings bit 8i to bit 56 + i.
        bits |= (ones.wrapping_mul(0x0102_0408_1020_4080) >> 56) << (8 * i);
    }
    bits
}

/// Brings a block into lower case. Out: the class of each byte, and all bits that are in one.
#[inline(always)]
fn classify(block: &mut [u8; 64], classes: &mut [u8; 64]) -> u8 {
    let mut any = 0;
    for (byte, class) in block.iter_mut().zip(classes.iter_mut()) {
        let lower = *byte | 0x20;
        let letter = lower.wrapping_sub(b'a') < 26;
        let digit = byte.wrapping_sub(b'0') < 10;
        let low_line = *byte == b'_';
        *class = CORE * u8::from(letter | digit | low_line)
            | SPACE * u8::from(*byte == b' ')
            | LOW_LINE * u8::from(low_line);
        any |= *class;
        *byte |= u8::from(letter) << 5;
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

impl AsciiWords {
    /// Appends the words of an ASCII text.
    pub(super) fn read(&mut self, text: &[u8], words: &mut Flat) {
        // At least one space stands after the text and ends its last word, and SHORT bytes after that.
        let blocks = (text.len() + 1).div_ceil(64);
        self.lower.clear();
        self.lower.extend_from_slice(text);
        self.lower.resize(64 * blocks + SHORT, b' ');
        // An edge for each byte and the end, and room to write eight where one is needed.
        if self.edges.len() < text.len() + 9 {
            self.edges.resize(text.len() + 9, 0);
        }
        let (mut edges, low_lines) = self.find_edges(blocks);
        if low_lines {
            edges = self.drop_low_lines(edges);
        }
        words.append(&self.lower, &self.edges[..edges]);
    }

    /// Finds where words start and end. Out: how many edges, and whether there is a `_`, since a run of
    /// these alone is no word.
    #[inline(never)]
    fn find_edges(&mut self, blocks: usize) -> (usize, bool) {
        let (mut count, mut open, mut any) = (0, 0, 0);
        let mut classes = [0; 64];
        for number in 0..blocks {
            let start = 64 * number;
            let next = self.lower.get(start + 64).is_some_and(|byte| is_core(*byte));
            let Some(block) = self.lower[start..].first_chunk_mut::<64>() else { break };
            any |= classify(block, &mut classes);
            let mut core = gather(&classes, 0);
            let between = !core & (core << 1 | open) & (core >> 1 | u64::from(next) << 63);
            let mut middles = between & !gather(&classes, 1);
            while middles != 0 {
                let at = start + middles.trailing_zeros() as usize;
                let left = self.lower[at.saturating_sub(1)];
                if joins(left, self.lower[at], self.lower[at + 1]) {
                    core |= middles & middles.wrapping_neg();
                }
                middles &= middles - 1;
            }
            let mut changes = core ^ (core << 1 | open);
            open = core >> 63;
            let all = changes.count_ones() as usize;
            // Eight in one go, needed or not: fewer branches that cannot be foreseen.
            let mut left = &mut self.edges[count..];
            while changes != 0 {
                let Some((eight, rest)) = left.split_first_chunk_mut::<8>() else { break };
                for edge in eight {
                    *edge = start + changes.trailing_zeros() as usize;
                    changes &= changes.wrapping_sub(1);
                }
                left = rest;
            }
            count += all;
        }
        (count, any & LOW_LINE != 0)
    }

    /// Leaves out words without letter or digit. Out: how many edges are left.
    fn drop_low_lines(&mut self, edges: usize) -> usize {
        let mut kept = 0;
        for i in (0..edges).step_by(2) {
            let (start, end) = (self.edges[i], self.edges[i + 1]);
            if self.lower[start..end].iter().any(u8::is_ascii_alphanumeric) {
                (self.edges[kept], self.edges[kept + 1]) = (start, end);
                kept += 2;
            }
        }
        kept
    }
}

impl Flat {
    /// Appends slices of a text as words, each followed by a space. `edges` are starts and ends in turn,
    /// and the text goes on for [`SHORT`] bytes after the last.
    #[inline(never)]
    fn append(&mut self, text: &[u8], edges: &[usize]) {
        let (pairs, _) = edges.as_chunks::<2>();
        let Some([first, _]) = pairs.first() else { return };
        let mut at = self.bytes.len();
        // A word and its space take no more than the word and what ended it.
        self.bytes.resize(at + text.len() - first, b' ');
        let bytes = &mut self.bytes[..];
        self.bounds.extend(pairs.iter().map(|[start, end]| {
            let length = end - start;
            let from = &text[*start..];
            match (from.first_chunk::<SHORT>(), bytes[at..].first_chunk_mut::<SHORT>()) {
                (Some(from), Some(to)) if length <= SHORT => *to = *from,
                _ => bytes[at..at + length].copy_from_slice(&from[..length]),
            }
            bytes[at + length] = b' ';
            at += length + 1;
            at
        }));
        self.bytes.truncate(at);
    }
}
