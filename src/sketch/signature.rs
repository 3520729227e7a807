//! Signatures: k samples cut to b bits and laid out in bit planes.
//!
//! In: k full samples. Out: plane i holds bit i of all samples, 64 to a word, so that equality of
//! samples is XOR, OR over the planes, and a count of bits, the same loop for every b. Normative:
//! `format-spec/signature.md`. Comparing signatures is no business of this file: see
//! [`crate::kernel`] for counting and [`crate::estimate`] for what the counts mean.

use std::sync::Arc;

use super::planes::Rows;
use crate::error::{Error, Result};
use crate::scheme::{Cardinality, Scheme};

/// What is kept of one set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signature {
    scheme: Arc<Scheme>,
    planes: Box<[u64]>,
    cardinality_code: u32,
    empty: bool,
}

impl Signature {
    /// Packs samples. `samples` are ignored for the empty set, whose planes are zero (SIG-4).
    pub(crate) fn new(
        scheme: Arc<Scheme>,
        samples: &[u64],
        cardinality_code: u32,
        empty: bool,
    ) -> Signature {
        let mut planes = vec![0; scheme.words_per_signature()].into_boxed_slice();
        if !empty {
            pack(samples, &mut planes, scheme.words_per_plane());
        }
        Signature { scheme, planes, cardinality_code, empty }
    }

    /// The scheme it was made with.
    pub fn scheme(&self) -> &Scheme {
        &self.scheme
    }

    /// Whether the set has no elements.
    pub fn is_empty(&self) -> bool {
        self.empty
    }

    /// The planes: all words of plane 0, then those of plane 1, and so on (SIG-2).
    pub fn planes(&self) -> &[u64] {
        &self.planes
    }

    /// The b bits of sample `index`, or `None` past the last (SIG-1).
    pub fn sample(&self, index: usize) -> Option<u16> {
        let words = self.scheme.words_per_plane();
        let in_range = index < self.scheme.samples as usize;
        in_range.then(|| {
            let planes = self.planes.chunks_exact(words).rev();
            planes
                .fold(0, |value, plane| value << 1 | (plane[index / 64] >> (index % 64)) as u16 & 1)
        })
    }

    /// The size of the set as far as the scheme keeps it.
    pub fn cardinality(&self) -> Option<Cardinality> {
        if self.empty {
            return Some(Cardinality::exact(0));
        }
        self.scheme.cardinality.decode(self.cardinality_code, self.scheme.universe)
    }

    /// The stored code of the size (SIG-5).
    pub fn cardinality_code(&self) -> u32 {
        self.cardinality_code
    }

    /// This signature as one row for the kernels.
    pub(crate) fn rows(&self) -> Rows<'_> {
        let (first, rest) = self.planes.split_at(self.scheme.words_per_plane());
        Rows::of_whole(&self.scheme, first, rest)
    }

    /// Refuses a signature of another scheme.
    pub(crate) fn check_scheme(&self, other: &Arc<Scheme>) -> Result<()> {
        check_schemes(&self.scheme, other)
    }

    /// The shared scheme.
    pub(crate) fn shared_scheme(&self) -> &Arc<Scheme> {
        &self.scheme
    }
}

/// Only signatures of equal schemes may meet (SIG-6).
fn check_schemes(stored: &Arc<Scheme>, asked: &Arc<Scheme>) -> Result<()> {
    if Arc::ptr_eq(stored, asked) || stored == asked {
        return Ok(());
    }
    let (stored, asked) = (Box::new((**stored).clone()), Box::new((**asked).clone()));
    Err(Error::SchemeMismatch { stored, asked })
}

/// Many signatures of one scheme, in the order of a signature page: plane 0 of all rows, then the
/// other planes row by row. A scan reads one plane in b until a row looks promising.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signatures {
    scheme: Arc<Scheme>,
    first: Vec<u64>,
    rest: Vec<u64>,
    cardinality_codes: Vec<u32>,
    empty: Vec<bool>,
}

impl Signatures {
    /// No signatures yet.
    pub fn new(scheme: &Scheme) -> Signatures {
        Signatures::shared(Arc::new(scheme.clone()))
    }

    pub(crate) fn shared(scheme: Arc<Scheme>) -> Signatures {
        let (first, rest) = (Vec::new(), Vec::new());
        Signatures { scheme, first, rest, cardinality_codes: Vec::new(), empty: Vec::new() }
    }

    /// The scheme of all of them.
    pub fn scheme(&self) -> &Scheme {
        &self.scheme
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.empty.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.empty.is_empty()
    }

    /// Appends one. A signature of another scheme is refused.
    pub fn push(&mut self, signature: &Signature) -> Result<()> {
        check_schemes(&self.scheme, &signature.scheme)?;
        let (first, rest) = signature.planes.split_at(self.scheme.words_per_plane());
        self.first.extend_from_slice(first);
        self.rest.extend_from_slice(rest);
        self.cardinality_codes.push(signature.cardinality_code);
        self.empty.push(signature.empty);
        Ok(())
    }

    /// Appends all of another collection of the same scheme.
    pub(crate) fn append(&mut self, mut other: Signatures) {
        self.first.append(&mut other.first);
        self.rest.append(&mut other.rest);
        self.cardinality_codes.append(&mut other.cardinality_codes);
        self.empty.append(&mut other.empty);
    }

    /// Appends a row from its full samples, without an allocation of its own.
    pub(crate) fn push_samples(&mut self, samples: &[u64], cardinality_code: u32, empty: bool) {
        let words = self.scheme.words_per_plane();
        let (f, r) = (self.first.len(), self.rest.len());
        self.first.resize(f + words, 0);
        self.rest.resize(r + self.scheme.words_per_signature() - words, 0);
        if !empty {
            pack_split(samples, &mut self.first[f..], &mut self.rest[r..]);
        }
        self.cardinality_codes.push(cardinality_code);
        self.empty.push(empty);
    }

    /// Signature number `index`, or `None` past the last.
    pub fn get(&self, index: usize) -> Option<Signature> {
        let empty = *self.empty.get(index)?;
        let words = self.scheme.words_per_plane();
        let others = self.scheme.words_per_signature() - words;
        let first = &self.first[index * words..(index + 1) * words];
        let rest = &self.rest[index * others..(index + 1) * others];
        Some(Signature {
            scheme: Arc::clone(&self.scheme),
            planes: [first, rest].concat().into_boxed_slice(),
            cardinality_code: self.cardinality_codes[index],
            empty,
        })
    }

    /// The rows for the kernels.
    pub(crate) fn rows(&self) -> Rows<'_> {
        Rows::of_whole(&self.scheme, &self.first, &self.rest)
    }

    /// The shared scheme.
    pub(crate) fn shared_scheme(&self) -> &Arc<Scheme> {
        &self.scheme
    }
}

/// Packs samples into planes that start at zero.
fn pack(samples: &[u64], planes: &mut [u64], words_per_plane: usize) {
    let (first, rest) = planes.split_at_mut(words_per_plane);
    pack_split(samples, first, rest);
}

/// Packs samples into plane 0 and the planes after it, all of which start at zero (SIG-2, SIG-3).
fn pack_split(samples: &[u64], first: &mut [u64], rest: &mut [u64]) {
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

/// Bit `bit` of each of 64 bytes, as one word.
#[inline]
fn gather_bit(bytes: &[u8; 64], bit: usize) -> u64 {
    let (eights, _) = bytes.as_chunks::<8>();
    eights.iter().rev().fold(0, |word, eight| {
        let ones = u64::from_le_bytes(*eight) >> bit & 0x0101_0101_0101_0101;
        word << 8 | ones.wrapping_mul(0x0102_0408_1020_4080) >> 56
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheme::{Parameters, Slots, presets};
    use crate::sketch::hash::mix;

    #[test]
    fn planes_hold_the_low_bits_of_every_sample() {
        for bits in 1..=16 {
            for k in [1_u32, 12, 63, 64, 65, 128, 200] {
                let p =
                    Parameters { samples: k, bits, slots: Slots::NONE, ..presets::NEAR_DUPLICATE };
                let scheme = Arc::new(Scheme::new(p).unwrap());
                let samples: Vec<u64> = (0..u64::from(k)).map(|i| mix(i + 9)).collect();
                let signature = Signature::new(Arc::clone(&scheme), &samples, 0, false);
                let mut many = Signatures::new(&scheme);
                many.push_samples(&samples, 0, false);
                many.push(&signature).unwrap();
                many.push_samples(&samples, 0, true);
                for (i, sample) in samples.iter().enumerate() {
                    let expected = (sample & ((1 << bits) - 1)) as u16;
                    assert_eq!(signature.sample(i), Some(expected), "b {bits} k {k} sample {i}");
                }
                assert_eq!(signature.sample(k as usize), None);
                assert_eq!(many.get(0).as_ref(), Some(&signature));
                assert_eq!(many.get(1).as_ref(), Some(&signature));
                assert!(many.get(2).unwrap().planes().iter().all(|w| *w == 0));
                assert_eq!((many.len(), many.get(3)), (3, None));
            }
        }
    }
}
