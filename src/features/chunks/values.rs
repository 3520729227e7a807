//! The value of every place between two bytes: the fingerprint of the window before it (CHUNK-1).
//!
//! In: bytes. Out: fingerprints modulo the standard polynomial, one a place. Sliding a window is one long chain of
//! look-ups, each waiting for the one before; so a stretch is cut into four, which slide side by side.

use crate::features::rabin::{Polynomial, Rabin, leaving};

/// Bytes of a window. Long enough that two windows are equal only where the content repeats itself, short
/// enough that an edit changes the values of few places.
pub(super) const WINDOW: usize = 16;

/// What a byte that leaves a window takes with it.
static LEAVING: [u64; 256] = leaving(Polynomial::STANDARD, WINDOW as u64);

const LANES: usize = 4;

/// One lane: the windows from here on.
struct Lane<'a> {
    fingerprint: u64,
    leaving: &'a [u8],
    entering: &'a [u8],
    values: &'a mut [u64],
}

impl<'a> Lane<'a> {
    /// The values of places of which the first stands after the first window of `bytes`.
    fn new(bytes: &'a [u8], values: &'a mut [u64]) -> Lane<'a> {
        let steps = values.len() - 1;
        let fingerprint = Rabin::standard().fingerprint(&bytes[..WINDOW]);
        values[0] = fingerprint;
        let entering = &bytes[WINDOW..WINDOW + steps];
        Lane { fingerprint, leaving: &bytes[..steps], entering, values: &mut values[1..] }
    }

    #[inline(always)]
    fn step(&mut self, table: &[u64; 256], i: usize) {
        let top = (self.fingerprint >> 56) as u8 ^ self.entering[i];
        self.fingerprint = self.fingerprint << 8
            ^ table[usize::from(top)]
            ^ LEAVING[usize::from(self.leaving[i])];
        self.values[i] = self.fingerprint;
    }
}

/// Fills in the values of consecutive places. The first stands after the first window of `bytes`, the
/// last at the end: there are `WINDOW - 1` bytes more than values.
pub(super) fn fill(bytes: &[u8], values: &mut [u64]) {
    debug_assert_eq!(bytes.len(), values.len() + WINDOW - 1);
    let table = Rabin::standard().byte_table();
    let each = values.len() / LANES;
    if each > 0 {
        let (values, _) = values.split_at_mut(each * LANES);
        let mut parts = values.chunks_exact_mut(each).enumerate();
        let mut lane = || {
            let (i, part) = parts.next()?;
            Some(Lane::new(&bytes[i * each..], part))
        };
        if let (Some(mut a), Some(mut b), Some(mut c), Some(mut d)) = (lane(), lane(), lane(), lane()) {
            for i in 0..each - 1 {
                a.step(table, i);
                b.step(table, i);
                c.step(table, i);
                d.step(table, i);
            }
        }
    }
    let done = each * LANES;
    if done < values.len() {
        let mut rest = Lane::new(&bytes[done..], &mut values[done..]);
        (0..rest.values.len()).for_each(|i| rest.step(table, i));
    }
}
