//! Signatures: k samples of b bits, stored as bit planes.
//!
//! In: k full samples. Out: plane i holds bit i of all samples, 64 per word. Samples are compared by XOR, OR over the
//! planes, and a bit count, with the same loop for every b. Normative: `format-spec/signature.md`. This file must not
//! know what equal samples say about the sets: see [`crate::estimate`].

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::kernel::{Kernel, Rows};
use crate::scheme::{Cardinality, Scheme};

/// Full samples, of which a signature keeps the low b bits.
#[derive(Clone, Copy)]
pub(crate) enum Samples<'a> {
    /// Words of 64 bits.
    Wide(&'a [u64]),
    /// Words of 16 bits.
    Short(&'a [u16]),
}

impl Samples<'_> {
    fn pack(self, first: &mut [u64], rest: &mut [u64]) {
        match self {
            Samples::Wide(samples) => Kernel::best().pack(samples, first, rest),
            Samples::Short(samples) => Kernel::best().pack_short(samples, first, rest),
        }
    }
}

/// The signature of one set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signature {
    scheme: Arc<Scheme>,
    planes: Box<[u64]>,
    cardinality_code: u32,
    empty: bool,
    /// Present exactly if the scheme keeps sets, except in signatures that are only used for estimates.
    elements: Option<Arc<[u64]>>,
}

impl Signature {
    /// Packs samples, or ignores them for the empty set, whose planes are zero (SIG-4). `elements` are present exactly
    /// if the scheme keeps sets. They are distinct and ascending.
    pub(crate) fn new(
        scheme: Arc<Scheme>,
        samples: Samples<'_>,
        cardinality_code: u32,
        empty: bool,
        elements: Option<Arc<[u64]>>,
    ) -> Signature {
        let mut planes = vec![0; scheme.words_per_signature()].into_boxed_slice();
        if !empty {
            samples.pack(&mut planes, &mut []);
        }
        Signature::from_planes(scheme, planes, cardinality_code, empty, elements)
    }

    /// Rebuilds a stored signature. Planes and code must be valid for the scheme. Elements must be present exactly if
    /// the scheme keeps sets, distinct and ascending.
    pub(crate) fn from_planes(
        scheme: Arc<Scheme>,
        planes: Box<[u64]>,
        cardinality_code: u32,
        empty: bool,
        elements: Option<Arc<[u64]>>,
    ) -> Signature {
        debug_assert_eq!(elements.is_some(), scheme.elements.are_kept());
        debug_assert!(elements.iter().all(|set| set.is_sorted_by(|a, b| a < b)));
        Signature { scheme, planes, cardinality_code, empty, elements }
    }

    /// A signature for estimates, without its set even if the scheme keeps sets. It must not be stored.
    pub(crate) fn without_elements(
        scheme: Arc<Scheme>,
        planes: Box<[u64]>,
        cardinality_code: u32,
    ) -> Signature {
        Signature { scheme, planes, cardinality_code, empty: false, elements: None }
    }

    /// The scheme of the signature.
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

    /// The elements of the set, distinct and ascending, if the scheme [keeps](crate::scheme::Elements) them. If it
    /// keeps fewer than 64 bits, these are the low bits of hashes.
    pub fn elements(&self) -> Option<&[u64]> {
        self.elements.as_deref()
    }

    /// The size of the set, as exact as the cardinality code; `None` if the scheme has no such code. If the scheme
    /// keeps sets, the length of [`elements`](Signature::elements) is the exact size.
    pub fn cardinality(&self) -> Option<Cardinality> {
        if self.empty {
            return Some(Cardinality::exact(0));
        }
        self.scheme.cardinality.decode(self.cardinality_code, self.scheme.universe)
    }

    /// The cardinality code (SIG-5).
    pub fn cardinality_code(&self) -> u32 {
        self.cardinality_code
    }

    /// This signature as one row for the kernels.
    pub(crate) fn rows(&self) -> Rows<'_> {
        let (first, rest) = self.planes.split_at(self.scheme.first_words());
        Rows::of_whole(&self.scheme, first, rest)
    }

    /// Rejects a signature of another scheme.
    pub(crate) fn check_scheme(&self, other: &Arc<Scheme>) -> Result<()> {
        check_schemes(&self.scheme, other)
    }

    /// The shared scheme.
    pub(crate) fn shared_scheme(&self) -> &Arc<Scheme> {
        &self.scheme
    }
}

/// Only signatures of equal schemes can be compared (SIG-6).
fn check_schemes(stored: &Arc<Scheme>, requested: &Arc<Scheme>) -> Result<()> {
    if Arc::ptr_eq(stored, requested) || stored == requested {
        return Ok(());
    }
    let (stored, requested) = (Box::new((**stored).clone()), Box::new((**requested).clone()));
    Err(Error::SchemeMismatch { stored, requested })
}

/// Many signatures of one scheme, in the order of a signature page: the first planes row by row, then the other
/// planes. A scan reads the other planes only of rows that can still match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signatures {
    scheme: Arc<Scheme>,
    first: Vec<u64>,
    rest: Vec<u64>,
    cardinality_codes: Vec<u32>,
    empty: Vec<bool>,
    /// One per signature if the scheme keeps sets, otherwise none.
    elements: Vec<Arc<[u64]>>,
}

impl Signatures {
    /// An empty collection.
    pub fn new(scheme: &Scheme) -> Signatures {
        Signatures::with_room(Arc::new(scheme.clone()), 0)
    }

    /// The scheme of all signatures.
    pub fn scheme(&self) -> &Scheme {
        &self.scheme
    }

    /// The number of signatures.
    pub fn len(&self) -> usize {
        self.empty.len()
    }

    /// Whether there are no signatures.
    pub fn is_empty(&self) -> bool {
        self.empty.is_empty()
    }

    /// Appends a signature. Fails if it has another scheme.
    pub fn push(&mut self, signature: &Signature) -> Result<()> {
        check_schemes(&self.scheme, &signature.scheme)?;
        let (first, rest) = signature.planes.split_at(self.scheme.first_words());
        self.first.extend_from_slice(first);
        self.rest.extend_from_slice(rest);
        self.cardinality_codes.push(signature.cardinality_code);
        self.empty.push(signature.empty);
        self.elements.extend(signature.elements.clone());
        Ok(())
    }

    /// An empty collection with capacity for `rows`.
    pub(crate) fn with_room(scheme: Arc<Scheme>, rows: usize) -> Signatures {
        let words = scheme.first_words();
        let others = scheme.words_per_signature() - words;
        Signatures {
            scheme,
            first: Vec::with_capacity(rows * words),
            rest: Vec::with_capacity(rows * others),
            cardinality_codes: Vec::with_capacity(rows),
            empty: Vec::with_capacity(rows),
            elements: Vec::new(),
        }
    }

    /// Appends all of another collection of the same scheme.
    pub(crate) fn append(&mut self, mut other: Signatures) {
        self.first.append(&mut other.first);
        self.rest.append(&mut other.rest);
        self.cardinality_codes.append(&mut other.cardinality_codes);
        self.empty.append(&mut other.empty);
        self.elements.append(&mut other.elements);
    }

    /// Appends a row from its full samples, without an allocation. `elements` are present if the scheme keeps sets.
    pub(crate) fn push_samples(
        &mut self,
        samples: Samples<'_>,
        cardinality_code: u32,
        empty: bool,
        elements: Option<Arc<[u64]>>,
    ) {
        let words = self.scheme.first_words();
        let (f, r) = (self.first.len(), self.rest.len());
        self.first.resize(f + words, 0);
        self.rest.resize(r + self.scheme.words_per_signature() - words, 0);
        if !empty {
            samples.pack(&mut self.first[f..], &mut self.rest[r..]);
        }
        self.cardinality_codes.push(cardinality_code);
        self.empty.push(empty);
        self.elements.extend(elements);
    }

    /// Signature number `index`, or `None` past the last.
    pub fn get(&self, index: usize) -> Option<Signature> {
        let empty = *self.empty.get(index)?;
        let words = self.scheme.first_words();
        let others = self.scheme.words_per_signature() - words;
        let first = &self.first[index * words..(index + 1) * words];
        let rest = &self.rest[index * others..(index + 1) * others];
        Some(Signature {
            scheme: Arc::clone(&self.scheme),
            planes: [first, rest].concat().into_boxed_slice(),
            cardinality_code: self.cardinality_codes[index],
            empty,
            elements: self.elements.get(index).cloned(),
        })
    }

    /// Whether row `index` is the empty set.
    pub(crate) fn is_empty_set(&self, index: usize) -> bool {
        self.empty.get(index).copied().unwrap_or(false)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheme::{Parameters, Slots, presets};
    use crate::sketch::hash::mix;

    #[test]
    fn planes_hold_the_low_bits_of_every_sample() {
        for bits in 1..=16 {
            for k in [1_u32, 12, 63, 64, 65, 128, 200] {
                let p = Parameters { samples: k, bits, slots: Slots::NONE, ..presets::PRECISE };
                let scheme = Arc::new(Scheme::new(p).unwrap());
                let samples: Vec<u64> = (0..u64::from(k)).map(|i| mix(i + 9)).collect();
                let short: Vec<u16> = samples.iter().map(|sample| *sample as u16).collect();
                let (wide, short) = (Samples::Wide(&samples), Samples::Short(&short));
                let signature = Signature::new(Arc::clone(&scheme), wide, 0, false, None);
                assert_eq!(Signature::new(Arc::clone(&scheme), short, 0, false, None), signature);
                let mut many = Signatures::new(&scheme);
                many.push_samples(wide, 0, false, None);
                many.push(&signature).unwrap();
                many.push_samples(short, 0, true, None);
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
