//! The kernels in plain Rust, and the loops that the others fall back on.
//!
//! The functions are inlined into their callers on purpose: inside a function that may use an
//! instruction set they are compiled for it.

use super::{Row, Rows};

/// Counts the samples of each row that equal the query's.
#[inline(always)]
pub(super) fn count_equal(query: Rows<'_>, rows: Rows<'_>, counts: &mut [u16]) {
    match query.words() {
        1 => fixed::<1>(query, rows, counts),
        2 => fixed::<2>(query, rows, counts),
        4 => fixed::<4>(query, rows, counts),
        _ => any(query, rows, counts),
    }
}

/// Planes of `W` words, a number that the compiler knows.
#[inline(always)]
fn fixed<const W: usize>(query: Rows<'_>, rows: Rows<'_>, counts: &mut [u16]) {
    let samples = query.samples();
    let (query_first, _) = query.first().as_chunks::<W>();
    let (query_rest, _) = query.rest().as_chunks::<W>();
    let Some(query_first) = query_first.first() else { return };
    let (first, _) = rows.first().as_chunks::<W>();
    let (rest, _) = rows.rest().as_chunks::<W>();
    let planes = query_rest.len();
    for (row, (count, first)) in counts.iter_mut().zip(first).enumerate() {
        let mut differ: [u64; W] = std::array::from_fn(|w| first[w] ^ query_first[w]);
        for (plane, query) in rest[row * planes..][..planes].iter().zip(query_rest) {
            for w in 0..W {
                differ[w] |= plane[w] ^ query[w];
            }
        }
        *count = equal(samples, differ.iter().map(|d| d.count_ones()).sum());
    }
}

/// Counts the samples of rows that lie apart. Nothing in the loop depends on a row before, so the
/// processor waits for several of them at once.
#[inline(always)]
pub(super) fn count_equal_each(query: Rows<'_>, rows: &[Row<'_>], counts: &mut [u16]) {
    match query.words() {
        1 => fixed_each::<1>(query, rows, counts),
        2 => fixed_each::<2>(query, rows, counts),
        4 => fixed_each::<4>(query, rows, counts),
        words => {
            for (count, (first, rest)) in counts.iter_mut().zip(rows) {
                let differ = (0..words).map(|w| differ(query, first, rest, w).count_ones());
                *count = equal(query.samples(), differ.sum());
            }
        }
    }
}

#[inline(always)]
fn fixed_each<const W: usize>(query: Rows<'_>, rows: &[Row<'_>], counts: &mut [u16]) {
    let samples = query.samples();
    let (query_rest, _) = query.rest().as_chunks::<W>();
    let Some(query_first) = query.first().first_chunk::<W>() else { return };
    for (count, (first, rest)) in counts.iter_mut().zip(rows) {
        let Some(first) = first.first_chunk::<W>() else { return };
        let mut differ: [u64; W] = std::array::from_fn(|w| first[w] ^ query_first[w]);
        for (plane, query) in rest.as_chunks::<W>().0.iter().zip(query_rest) {
            for w in 0..W {
                differ[w] |= plane[w] ^ query[w];
            }
        }
        *count = equal(samples, differ.iter().map(|d| d.count_ones()).sum());
    }
}

/// Planes of any number of words.
#[inline(always)]
pub(super) fn any(query: Rows<'_>, rows: Rows<'_>, counts: &mut [u16]) {
    let (samples, words) = (query.samples(), query.words());
    let others = query.rest().len();
    for (row, count) in counts.iter_mut().enumerate() {
        let first = &rows.first()[row * words..][..words];
        let rest = &rows.rest()[row * others..][..others];
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

/// Word w of the mask of samples that differ, in some plane, between the query and a row.
#[inline(always)]
fn differ(query: Rows<'_>, first: &[u64], rest: &[u64], w: usize) -> u64 {
    let words = query.words();
    let mut differ = query.first()[w] ^ first[w];
    for (a, b) in query.rest().chunks_exact(words).zip(rest.chunks_exact(words)) {
        differ |= a[w] ^ b[w];
    }
    differ
}

/// Samples that are equal when `unequal` of them differ. At most 16,384, so it fits. More than all can
/// differ only in rows that break the rule of zero bits past the last sample.
#[inline(always)]
pub(super) fn equal(samples: u32, unequal: u32) -> u16 {
    samples.saturating_sub(unequal) as u16
}

/// Packs samples into plane 0 and the planes after it, all of which start at zero (SIG-2, SIG-3).
#[inline(always)]
pub(super) fn pack(samples: &[u64], first: &mut [u64], rest: &mut [u64]) {
    let (groups, last) = samples.as_chunks::<64>();
    for (word, group) in groups.iter().enumerate() {
        pack_word(group, word, first, rest);
    }
    if !last.is_empty() {
        let mut group = [0; 64];
        group[..last.len()].copy_from_slice(last);
        pack_word(&group, groups.len(), first, rest);
    }
}

/// Packs 64 samples into one word of every plane. Bytes first: narrowing is a vector operation, and then
/// eight bytes give up one bit each by one multiplication.
#[inline(always)]
fn pack_word(samples: &[u64; 64], word: usize, first: &mut [u64], rest: &mut [u64]) {
    let words = first.len();
    let low = samples.map(|sample| sample as u8);
    first[word] = gather_bit(&low, 0);
    for (bit, plane) in (1..8).zip(rest.chunks_exact_mut(words)) {
        plane[word] = gather_bit(&low, bit);
    }
    if rest.len() > 7 * words {
        let high = samples.map(|sample| (sample >> 8) as u8);
        for (bit, plane) in (0..8).zip(rest[7 * words..].chunks_exact_mut(words)) {
            plane[word] = gather_bit(&high, bit);
        }
    }
}

/// A bit for each bin that holds anything but `u64::MAX`, 64 bins a word.
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
