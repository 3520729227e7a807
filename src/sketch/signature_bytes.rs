//! Converts a signature to bytes and back, for programs that send signatures elsewhere or store them themselves.
//!
//! In: a signature. Out: its bytes, as SIG-8 of `format-spec/signature.md` defines them. Their number depends on the
//! scheme alone. The bytes do not name their scheme, so the caller must know it.

use std::sync::Arc;

use super::signature::Signature;
use super::sketcher::Sketcher;
use crate::error::{Error, Result};
use crate::scheme::Scheme;

/// The last byte says whether the set is empty.
const EMPTY: u8 = 1;
const NOT_EMPTY: u8 = 0;

/// The number of bytes of a cardinality code.
fn code_bytes(scheme: &Scheme) -> usize {
    scheme.cardinality.bits().div_ceil(8) as usize
}

impl Signature {
    /// The signature as bytes (SIG-8), without kept elements.
    /// [`signature_from_bytes`](Sketcher::signature_from_bytes) is the inverse.
    pub fn to_bytes(&self) -> Vec<u8> {
        let code = self.cardinality_code().to_le_bytes();
        let mut bytes = Vec::with_capacity(self.planes().len() * 8 + code.len() + 1);
        self.planes().iter().for_each(|word| bytes.extend_from_slice(&word.to_le_bytes()));
        bytes.extend_from_slice(&code[..code_bytes(self.scheme())]);
        bytes.push(if self.is_empty() { EMPTY } else { NOT_EMPTY });
        bytes
    }
}

impl Sketcher {
    /// The number of bytes that [`Signature::to_bytes`] returns for signatures of this scheme.
    pub fn signature_bytes(&self) -> usize {
        self.scheme().words_per_signature() * 8 + code_bytes(self.scheme()) + 1
    }

    /// The signature that [`Signature::to_bytes`] wrote. Fails if no signature of this scheme can have these bytes.
    /// Also fails if the scheme keeps sets, because the bytes do not include them.
    ///
    /// ```
    /// use ringer::{Scheme, Sketcher};
    /// let sketcher = Sketcher::new(&Scheme::default());
    /// let signature = sketcher.sketch(&[1, 2, 3])?;
    /// let bytes = signature.to_bytes();
    /// assert_eq!(bytes.len(), sketcher.signature_bytes());
    /// assert_eq!(sketcher.signature_from_bytes(&bytes)?, signature);
    /// # Ok::<(), ringer::Error>(())
    /// ```
    pub fn signature_from_bytes(&self, bytes: &[u8]) -> Result<Signature> {
        let (scheme, expected) = (self.scheme(), self.signature_bytes());
        let refused = |limit: &str| Error::invalid("the bytes of this signature", limit);
        if bytes.len() != expected {
            let what = format!("a signature of {} bytes", bytes.len());
            return Err(Error::invalid(what, format!("signatures of this scheme have {expected}")));
        }
        if scheme.elements.are_kept() {
            return Err(refused("this scheme keeps sets, which signature bytes do not include"));
        }
        let (words, rest) = bytes.split_at(scheme.words_per_signature() * 8);
        let planes: Box<[u64]> =
            words.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word)).collect();
        let (code, mark) = rest.split_at(code_bytes(scheme));
        let code = code.iter().rev().fold(0, |code, byte| code << 8 | u32::from(*byte));
        let empty = match mark {
            [NOT_EMPTY] => false,
            [EMPTY] => true,
            _ => return Err(refused("the last byte must be 0 or 1")),
        };
        if empty && (code != 0 || planes.iter().any(|word| *word != 0)) {
            return Err(refused("the words and the cardinality code of the empty set must be 0"));
        }
        if !empty && !scheme.cardinality.is_valid_code(code) {
            return Err(refused("the scheme has no such cardinality code"));
        }
        let unused = scheme.words_per_plane() as u32 * 64 - scheme.samples;
        let last_words = planes.chunks_exact(scheme.words_per_plane()).filter_map(<[u64]>::last);
        if last_words.into_iter().any(|word| word.leading_zeros() < unused) {
            return Err(refused("the bits past the last sample must be 0"));
        }
        let scheme = Arc::clone(self.shared_scheme());
        Ok(Signature::from_planes(scheme, planes, code, empty, None))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheme::{CardinalityField, Elements, Parameters, Slots, Universe, presets};

    fn sketcher(samples: u32, bits: u8, cardinality: CardinalityField) -> Sketcher {
        let slots = Slots::NONE;
        let parameters = Parameters { samples, bits, cardinality, slots, ..presets::PRECISE };
        Sketcher::new(&Scheme::new(parameters).unwrap())
    }

    /// SIG-8, bit by bit.
    #[test]
    fn bytes_are_what_the_specification_says() {
        use CardinalityField::{Exact, Log8, None};
        for (samples, bits, field, code_bytes) in
            [(64, 8, Log8, 1), (65, 3, Exact, 4), (12, 6, None, 0), (128, 16, Log8, 1)]
        {
            let sketcher = sketcher(samples, bits, field);
            let words = samples.div_ceil(64) as usize;
            for size in [0_u64, 1, 7, 5000] {
                let signature = sketcher.sketch(&(0..size).collect::<Vec<_>>()).unwrap();
                let bytes = signature.to_bytes();
                assert_eq!(bytes.len(), words * usize::from(bits) * 8 + code_bytes + 1);
                assert_eq!(bytes.len(), sketcher.signature_bytes());
                for j in 0..samples as usize {
                    let bit = |i: usize| bytes[(i * words * 64 + j) / 8] >> (j % 8) & 1;
                    let sample = (0..usize::from(bits)).fold(0, |s, i| s | u16::from(bit(i)) << i);
                    assert_eq!(signature.sample(j), Some(sample));
                }
                assert_eq!(bytes.last(), Some(&u8::from(size == 0)));
                if field == Exact {
                    let code = &bytes[bytes.len() - 5..bytes.len() - 1];
                    assert_eq!(code, (size as u32).to_le_bytes());
                }
                assert_eq!(sketcher.signature_from_bytes(&bytes).unwrap(), signature);
            }
        }
    }

    #[test]
    fn other_bytes_are_refused() {
        let sketcher = sketcher(65, 2, CardinalityField::Log8);
        let good = sketcher.sketch(&[1, 2, 3]).unwrap().to_bytes();
        let length = good.len();
        let refused = |bytes: &[u8]| sketcher.signature_from_bytes(bytes).unwrap_err().to_string();
        let changed = |place: usize, byte: u8| {
            let mut bytes = good.clone();
            bytes[place] = byte;
            refused(&bytes)
        };
        assert!(refused(&good[1..]).contains("signatures of this scheme have"));
        assert!(changed(length - 1, 2).contains("must be 0 or 1"));
        assert!(changed(length - 1, 1).contains("of the empty set must be 0"));
        assert!(changed(length - 2, 0).contains("no such cardinality code"));
        assert!(changed(15, 128).contains("bits past the last sample must be 0"));
        let keeping = Parameters { elements: Elements::EXACT, ..presets::PRECISE };
        let keeping = Sketcher::new(&Scheme::new(keeping).unwrap());
        let bytes = keeping.sketch(&[1]).unwrap().to_bytes();
        let error = keeping.signature_from_bytes(&bytes).unwrap_err().to_string();
        assert!(error.contains("this scheme keeps sets"), "{error}");
        let universe = Universe::Bounded(1 << 20);
        let cardinality = CardinalityField::Linear4;
        let bounded = Parameters { universe, cardinality, ..presets::PRECISE }
            .with_sampler(crate::scheme::Sampler::OnePermutation);
        let bounded = Sketcher::new(&Scheme::new(bounded).unwrap());
        let mut bytes = bounded.sketch(&[1, 5]).unwrap().to_bytes();
        assert!(bounded.signature_from_bytes(&bytes).is_ok());
        let code = bytes.len() - 2;
        bytes[code] = 16;
        assert!(bounded.signature_from_bytes(&bytes).is_err());
    }
}
