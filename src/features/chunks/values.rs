//! The value of each place between two bytes: the upper half of the fingerprint of the window before it (CHUNK-1).
//!
//! In: bytes. Out: one value for each place. Fingerprints are modulo the standard polynomial. Sliding a window is a
//! chain of dependent table lookups. So a stretch of bytes is divided into parts, and their windows slide in parallel.

use crate::features::rabin::{Polynomial, Rabin, leaving};

/// The length of a window. It is long enough that windows are equal only if the content repeats, and short enough
/// that an edit changes the values of few places.
pub(super) const WINDOW: usize = 16;

/// The correction for each byte that leaves a window.
static LEAVING: [u64; 256] = leaving(Polynomial::STANDARD, WINDOW as u64);

/// The number of parts whose windows slide in parallel, and the places in each.
const PARTS: usize = 4;
const PART: usize = 128;
const STRETCH: usize = PARTS * PART;

/// The value of a place: the upper half of a fingerprint. Two different windows have the same value with probability
/// 2^-32, which is harmless.
#[inline(always)]
fn order(fingerprint: u64) -> u32 {
    (fingerprint >> 32) as u32
}

/// Moves a window by one byte (RABIN-4).
#[inline(always)]
fn slide(table: &[u64; 256], fingerprint: u64, oldest: u8, newest: u8) -> u64 {
    let top = (fingerprint >> 56) as u8 ^ newest;
    (fingerprint << 8 ^ LEAVING[usize::from(oldest)]) ^ table[usize::from(top)]
}

/// Computes the values of consecutive places. The first place is after the first window of `bytes`, and the last is
/// at the end. There are `WINDOW - 1` more bytes than values.
pub(super) fn fill(bytes: &[u8], values: &mut [u32]) {
    debug_assert_eq!(bytes.len(), values.len() + WINDOW - 1);
    let (stretches, rest) = values.as_chunks_mut::<STRETCH>();
    let done = stretches.len() * STRETCH;
    for (i, stretch) in stretches.iter_mut().enumerate() {
        if let Some(windows) = bytes[i * STRETCH..].first_chunk() {
            fill_stretch(windows, stretch);
        }
    }
    let bytes = &bytes[done..];
    let (Some(window), Some((first, rest))) =
        (bytes.first_chunk::<WINDOW>(), rest.split_first_mut())
    else {
        return;
    };
    let rabin = Rabin::standard();
    let mut fingerprint = rabin.fingerprint(window);
    *first = order(fingerprint);
    for ((value, oldest), newest) in rest.iter_mut().zip(bytes).zip(&bytes[WINDOW..]) {
        fingerprint = slide(rabin.byte_table(), fingerprint, *oldest, *newest);
        *value = order(fingerprint);
    }
}

/// The same as [`fill`] for one stretch. Its arrays have fixed lengths, so one counter addresses all parts.
fn fill_stretch(bytes: &[u8; STRETCH + WINDOW - 1], values: &mut [u32; STRETCH]) {
    let rabin = Rabin::standard();
    let table = rabin.byte_table();
    let first = |part: usize| rabin.fingerprint(&bytes[part * PART..part * PART + WINDOW]);
    let mut abreast: [u64; PARTS] = std::array::from_fn(first);
    for i in 0..PART - 1 {
        for (part, fingerprint) in abreast.iter_mut().enumerate() {
            let at = part * PART + i;
            values[at] = order(*fingerprint);
            *fingerprint = slide(table, *fingerprint, bytes[at], bytes[at + WINDOW]);
        }
    }
    for (part, fingerprint) in abreast.iter().enumerate() {
        values[part * PART + PART - 1] = order(*fingerprint);
    }
}
