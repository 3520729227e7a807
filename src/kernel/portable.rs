//! The kernels in plain Rust, and the loops that the others fall back on.
//!
//! The functions are inlined into their callers on purpose: inside a function that may use an
//! instruction set they are compiled for it.

use super::Rows;

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

/// Samples that are equal when `unequal` of them differ. At most 16,384, so it fits.
#[inline(always)]
pub(super) fn equal(samples: u32, unequal: u32) -> u16 {
    (samples - unequal) as u16
}
