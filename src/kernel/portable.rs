//! The kernels in plain Rust, which the others fall back on.
//!
//! The functions are always inlined. Inside a function that is compiled for an instruction set, they are compiled for
//! it, too.

use super::{Row, Rows};

/// Counts the samples of each row that equal the query's.
#[inline(always)]
pub(super) fn count_equal(query: Rows<'_>, rows: Rows<'_>, counts: &mut [u16]) {
    match (query.words(), query.first_planes()) {
        (1, 1) => fixed::<1, 1>(query, rows, counts),
        (1, 2) => fixed::<1, 2>(query, rows, counts),
        (2, 1) => fixed::<2, 1>(query, rows, counts),
        (2, 2) => fixed::<2, 2>(query, rows, counts),
        (4, 1) => fixed::<4, 1>(query, rows, counts),
        (4, 2) => fixed::<4, 2>(query, rows, counts),
        _ => any(query, rows, counts),
    }
}

/// Planes of `W` words, `F` of them first. Both are compile-time constants.
#[inline(always)]
fn fixed<const W: usize, const F: usize>(query: Rows<'_>, rows: Rows<'_>, counts: &mut [u16]) {
    let (rest, _) = rows.rest().as_chunks::<W>();
    let (first, _) = rows.first().as_chunks::<W>();
    let planes = query.rest().len() / W;
    let query = FixedQuery::<W, F>::new(query);
    for (row, (count, first)) in counts.iter_mut().zip(first.as_chunks::<F>().0).enumerate() {
        *count = query.equal(first, &rest[row * planes..][..planes]);
    }
}

/// A query with planes of `W` words, `F` of them first.
struct FixedQuery<'a, const W: usize, const F: usize> {
    samples: u32,
    first: [[u64; W]; F],
    rest: &'a [[u64; W]],
}

impl<'a, const W: usize, const F: usize> FixedQuery<'a, W, F> {
    #[inline(always)]
    fn new(query: Rows<'a>) -> FixedQuery<'a, W, F> {
        let first = std::array::from_fn(|p| std::array::from_fn(|w| query.first()[p * W + w]));
        FixedQuery { samples: query.samples(), first, rest: query.rest().as_chunks::<W>().0 }
    }

    /// How many samples equal those of a row.
    #[inline(always)]
    fn equal(&self, first: &[[u64; W]; F], rest: &[[u64; W]]) -> u16 {
        let mut differ = [0; W];
        for (plane, query) in first.iter().zip(&self.first) {
            for w in 0..W {
                differ[w] |= plane[w] ^ query[w];
            }
        }
        for (plane, query) in rest.iter().zip(self.rest) {
            for w in 0..W {
                differ[w] |= plane[w] ^ query[w];
            }
        }
        equal(self.samples, differ.iter().map(|d| d.count_ones()).sum())
    }
}

/// Counts the equal samples of rows that are not adjacent. No iteration depends on the one before, so the processor
/// waits for several rows at once.
#[inline(always)]
pub(super) fn count_equal_each<'r>(
    query: Rows<'_>,
    rows: impl Iterator<Item = Row<'r>>,
    counts: &mut [u16],
) {
    match (query.words(), query.first_planes()) {
        (1, 1) => fixed_each::<1, 1>(query, rows, counts),
        (1, 2) => fixed_each::<1, 2>(query, rows, counts),
        (2, 1) => fixed_each::<2, 1>(query, rows, counts),
        (2, 2) => fixed_each::<2, 2>(query, rows, counts),
        (4, 1) => fixed_each::<4, 1>(query, rows, counts),
        (4, 2) => fixed_each::<4, 2>(query, rows, counts),
        (words, _) => {
            for (count, (first, rest)) in counts.iter_mut().zip(rows) {
                let differ = (0..words).map(|w| differ(query, first, rest, w).count_ones());
                *count = equal(query.samples(), differ.sum());
            }
        }
    }
}

#[inline(always)]
fn fixed_each<'r, const W: usize, const F: usize>(
    query: Rows<'_>,
    rows: impl Iterator<Item = Row<'r>>,
    counts: &mut [u16],
) {
    let query = FixedQuery::<W, F>::new(query);
    for (count, (first, rest)) in counts.iter_mut().zip(rows) {
        let Some(first) = first.as_chunks::<W>().0.first_chunk::<F>() else { return };
        *count = query.equal(first, rest.as_chunks::<W>().0);
    }
}

/// Planes of any number of words.
#[inline(always)]
pub(super) fn any(query: Rows<'_>, rows: Rows<'_>, counts: &mut [u16]) {
    let (samples, words) = (query.samples(), query.words());
    for (row, count) in counts.iter_mut().enumerate() {
        let (first, rest) = rows.row(row);
        let differ = (0..words).map(|w| differ(query, first, rest, w).count_ones());
        *count = equal(samples, differ.sum());
    }
}

/// Marks the samples of two rows that are equal.
#[inline(always)]
pub(super) fn equal_mask(a: Rows<'_>, b: Rows<'_>, mask: &mut [u64]) {
    let samples = a.samples() as usize;
    for (w, word) in mask.iter_mut().enumerate() {
        let used = (samples - 64 * w).min(64);
        *word = !differ(a, b.first(), b.rest(), w) & (u64::MAX >> (64 - used));
    }
}

/// Word w of the mask of samples in which the query and a row differ in any plane.
#[inline(always)]
fn differ(query: Rows<'_>, first: &[u64], rest: &[u64], w: usize) -> u64 {
    let words = query.words();
    let mut differ = 0;
    for (query, row) in [(query.first(), first), (query.rest(), rest)] {
        for (a, b) in query.chunks_exact(words).zip(row.chunks_exact(words)) {
            differ |= a[w] ^ b[w];
        }
    }
    differ
}

/// The number of equal samples if `unequal` differ. At most 16,384, so it fits. `unequal` exceeds the number of
/// samples only in rows that violate the rule that bits past the last sample are zero.
#[inline(always)]
pub(super) fn equal(samples: u32, unequal: u32) -> u16 {
    samples.saturating_sub(unequal) as u16
}

/// Packs samples into the first planes and the others, all of which must be zero (SIG-2, SIG-3).
#[inline(always)]
pub(super) fn pack(samples: &[u64], first: &mut [u64], rest: &mut [u64]) {
    let (groups, last) = samples.as_chunks::<64>();
    let words = samples.len().div_ceil(64);
    for (word, group) in groups.iter().enumerate() {
        pack_word(group, (word, words), first, rest);
    }
    if !last.is_empty() {
        let mut group = [0; 64];
        group[..last.len()].copy_from_slice(last);
        pack_word(&group, (groups.len(), words), first, rest);
    }
}

/// Packs samples of 16 bits.
#[inline(always)]
pub(super) fn pack_short(samples: &[u16], first: &mut [u64], rest: &mut [u64]) {
    let words = samples.len().div_ceil(64);
    for (word, part) in samples.chunks(64).enumerate() {
        let mut group = [0; 64];
        group.iter_mut().zip(part).for_each(|(wide, sample)| *wide = u64::from(*sample));
        pack_word(&group, (word, words), first, rest);
    }
}

/// Packs up to 64 samples into one word of every plane. First they are narrowed to bytes, which is vectorised. Then
/// one multiplication extracts a bit from each of eight bytes.
#[inline(always)]
fn pack_word(
    samples: &[u64; 64],
    (word, words): (usize, usize),
    first: &mut [u64],
    rest: &mut [u64],
) {
    let mut planes = first.chunks_exact_mut(words).chain(rest.chunks_exact_mut(words));
    let low = samples.map(|sample| sample as u8);
    for (bit, plane) in (0..8).zip(planes.by_ref()) {
        plane[word] = gather_bit(&low, bit);
    }
    let mut planes = planes.peekable();
    if planes.peek().is_some() {
        let high = samples.map(|sample| (sample >> 8) as u8);
        for (bit, plane) in (0..8).zip(planes) {
            plane[word] = gather_bit(&high, bit);
        }
    }
}

/// A bit for each bin that holds anything but `u64::MAX`, 64 bins per word.
#[inline(always)]
pub(super) fn occupied(bins: &[u64], words: &mut [u64]) {
    for (group, word) in bins.chunks(64).zip(words) {
        let mut flags = [0; 64];
        flags.iter_mut().zip(group).for_each(|(flag, bin)| *flag = u8::from(*bin != u64::MAX));
        *word = gather_bit(&flags, 0);
    }
}

/// Bit `bit` of each of 64 bytes, as one word.
#[inline(always)]
fn gather_bit(bytes: &[u8; 64], bit: usize) -> u64 {
    let (eights, _) = bytes.as_chunks::<8>();
    eights.iter().rev().fold(0, |word, eight| {
        let ones = u64::from_le_bytes(*eight) >> bit & 0x0101_0101_0101_0101;
        word << 8 | ones.wrapping_mul(0x0102_0408_1020_4080) >> 56
    })
}
