//! Counts of the order of samples.
//!
//! In: two signatures of one scheme. Out: how many samples are equal, smaller or larger, by the magnitude of the smaller
//! one. This is the contingency table of all pairs of values, with cells merged where they say nearly the same about the
//! sets. [`crate::estimate`] knows what the counts mean.

use super::signature::Signature;
use crate::error::Result;

/// The classes of the smaller value of a pair: 0, 1, 2 to 3, and 4 or more.
pub(crate) const MAGNITUDES: usize = 4;

/// Pairs of samples, by the magnitude of the smaller value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct OrderCounts {
    /// Both values are equal.
    pub(crate) equal: [u16; MAGNITUDES],
    /// The value of the first signature is the smaller one.
    pub(crate) below: [u16; MAGNITUDES],
    /// The value of the first signature is the larger one.
    pub(crate) above: [u16; MAGNITUDES],
}

impl Signature {
    /// Counts the order of the samples. Takes about as long as reading both signatures.
    pub(crate) fn count_order(&self, other: &Signature) -> Result<OrderCounts> {
        self.check_scheme(other.shared_scheme())?;
        let (words, samples) = (self.scheme().words_per_plane(), self.scheme().samples as usize);
        let mut counts = OrderCounts::default();
        for word in 0..words {
            let bits =
                |signature: &Signature, plane: usize| signature.planes()[plane * words + word];
            let planes = usize::from(self.scheme().bits);
            let (mut below, mut above) = (0_u64, 0_u64);
            for plane in (0..planes).rev() {
                let (a, b) = (bits(self, plane), bits(other, plane));
                let undecided = !(below | above);
                below |= undecided & !a & b;
                above |= undecided & a & !b;
            }
            let smaller = |plane: usize| bits(self, plane) & !above | bits(other, plane) & above;
            let large = (2..planes).fold(0, |all, plane| all | smaller(plane));
            let two = if planes > 1 { smaller(1) & !large } else { 0 };
            let one = smaller(0) & !(large | two);
            let used = u64::MAX >> (64 - (samples - word * 64).min(64));
            let classes = [!(large | two | one), one, two, large];
            let count = |into: &mut [u16; MAGNITUDES], these: u64| {
                for (count, class) in into.iter_mut().zip(classes) {
                    *count += (class & these & used).count_ones() as u16;
                }
            };
            count(&mut counts.equal, !(below | above));
            count(&mut counts.below, below);
            count(&mut counts.above, above);
        }
        Ok(counts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheme::{Parameters, Slots, presets};
    use crate::{Scheme, Sketcher};

    #[test]
    fn counts_are_those_of_single_samples() {
        for (samples, bits) in [(1, 1), (64, 1), (65, 2), (200, 3), (128, 4), (70, 16)] {
            let p = Parameters { samples, bits, slots: Slots::NONE, ..presets::PRECISE };
            let sketcher = Sketcher::new(&Scheme::new(p).unwrap());
            let sketch =
                |from: u64, to: u64| sketcher.sketch(&(from..to).collect::<Vec<_>>()).unwrap();
            let (a, b) = (sketch(0, 40), sketch(20, 90));
            let mut expected = OrderCounts::default();
            for j in 0..samples as usize {
                let (x, y) = (a.sample(j).unwrap(), b.sample(j).unwrap());
                let class = match x.min(y) {
                    0 => 0,
                    1 => 1,
                    2 | 3 => 2,
                    _ => 3,
                };
                let cells = match x.cmp(&y) {
                    std::cmp::Ordering::Equal => &mut expected.equal,
                    std::cmp::Ordering::Less => &mut expected.below,
                    std::cmp::Ordering::Greater => &mut expected.above,
                };
                cells[class] += 1;
            }
            assert_eq!(a.count_order(&b).unwrap(), expected, "k {samples} b {bits}");
        }
    }
}
