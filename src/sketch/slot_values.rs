//! Slot values: what the index stores of a signature.
//!
//! In: the planes of a signature. Out: one value for each slot of its scheme. A slot is g consecutive samples. Its
//! value is their bits, concatenated, and hashed if the scheme keeps fewer (SLOT-1 to SLOT-3 of
//! `format-spec/signature.md`). Values follow from what is stored, so the index can always be rebuilt, and similar
//! sets are found without the set itself.
//!
//! The samples of all slots form one stream of bits, made from the planes eight samples at a time: a table spreads
//! the bits of a byte b places apart, and the planes are interleaved. The value of a slot is a run of bits of that
//! stream.

use xxhash_rust::xxh3::xxh3_64;

use crate::scheme::Scheme;

/// The stream of most schemes: 1,024 bits. It is cleared for each signature, so a small one is faster.
const SHORT_STREAM: usize = 128 + SLACK;

/// Streams up to this length need no allocation: all schemes of up to 1,024 samples of 4 bits.
const SMALL_STREAM: usize = 512 + SLACK;

/// Bytes behind a stream, so that eight can be read from any of its bytes.
const SLACK: usize = 8;

/// Reads the slot values of a scheme's signatures.
///
/// ```
/// use ringer::{Scheme, Sketcher, sketch::SlotReader};
/// let scheme = Scheme::precise();
/// let slots = SlotReader::new(&scheme);
/// let signature = Sketcher::new(&scheme).sketch(&[1, 2, 3])?;
/// let mut values = vec![0; slots.count()];
/// slots.read(signature.planes(), &mut values);
/// assert!(values.iter().all(|value| *value < 1 << 16));
/// # Ok::<(), ringer::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct SlotReader {
    count: usize,
    words: usize,
    bits: usize,
    /// Bits of the samples of a slot.
    slot_bits: usize,
    value_bits: u32,
    /// The bits of each byte value, `bits` places apart. With more than 8 planes, of each half byte.
    spread: Box<[u64]>,
}

impl SlotReader {
    /// For the signatures of a scheme.
    pub fn new(scheme: &Scheme) -> SlotReader {
        let bits = usize::from(scheme.bits);
        let entries = if bits <= 8 { 256_usize } else { 16 };
        let ones = |i: usize| (0..8).filter(move |bit| i >> bit & 1 == 1);
        let spread = |i| ones(i).fold(0_u64, |word, bit| word | 1 << (bit * bits));
        SlotReader {
            count: usize::from(scheme.slots.count),
            words: scheme.words_per_plane(),
            bits,
            slot_bits: usize::from(scheme.slots.samples_per_slot) * bits,
            value_bits: u32::from(scheme.slots.value_bits),
            spread: (0..entries).map(spread).collect(),
        }
    }

    /// L, the number of slots.
    pub fn count(&self) -> usize {
        self.count
    }

    /// v, the number of bits of a value.
    pub fn value_bits(&self) -> u32 {
        self.value_bits
    }

    /// Whether values are hashed. Then different samples may have equal values.
    pub fn is_folded(&self) -> bool {
        self.slot_bits > self.value_bits as usize
    }

    /// The values of a signature, given by its planes one after the other.
    ///
    /// # Panics
    /// When the planes are not those of one signature, or there is not one value for each slot.
    pub fn read(&self, planes: &[u64], values: &mut [u32]) {
        assert_eq!(planes.len(), self.words * self.bits, "the planes of one signature");
        assert_eq!(values.len(), self.count, "one value for each slot");
        let groups = (self.count * self.slot_bits).div_ceil(8 * self.bits);
        let bytes = groups * self.bits + SLACK;
        if bytes <= SHORT_STREAM {
            self.read_by(&mut [0; SHORT_STREAM], groups, planes, values);
        } else if bytes <= SMALL_STREAM {
            self.read_by(&mut [0; SMALL_STREAM], groups, planes, values);
        } else {
            self.read_by(&mut vec![0; bytes], groups, planes, values);
        }
    }

    /// The same with a stream of zeros that is long enough.
    fn read_by(&self, stream: &mut [u8], groups: usize, planes: &[u64], values: &mut [u32]) {
        self.interleave(planes, groups, stream);
        for (slot, value) in values.iter_mut().enumerate() {
            // SLOT-1
            let start = slot * self.slot_bits;
            *value = if self.is_folded() {
                self.folded(stream, start)
            } else {
                (word_at(stream, start) & low_bits(self.slot_bits)) as u32
            };
        }
    }

    /// Interleaves the planes, eight samples at a time, which make `bits` bytes of the stream (SLOT-2).
    fn interleave(&self, planes: &[u64], groups: usize, stream: &mut [u8]) {
        let byte_of = |plane: usize, group: usize| {
            (planes[plane * self.words + group / 8] >> (group % 8 * 8)) as u8
        };
        for group in 0..groups {
            let start = group * self.bits;
            if self.bits <= 8 {
                let mut samples = 0;
                for plane in 0..self.bits {
                    samples |= self.spread[usize::from(byte_of(plane, group))] << plane;
                }
                stream[start..start + 8].copy_from_slice(&samples.to_le_bytes());
            } else {
                let (mut low, mut high) = (0_u64, 0_u64);
                for plane in 0..self.bits {
                    let byte = byte_of(plane, group);
                    low |= self.spread[usize::from(byte & 15)] << plane;
                    high |= self.spread[usize::from(byte >> 4)] << plane;
                }
                let samples = u128::from(low) | u128::from(high) << (4 * self.bits);
                stream[start..start + self.bits]
                    .copy_from_slice(&samples.to_le_bytes()[..self.bits]);
            }
        }
    }

    /// The top bits of the hash of a slot's samples (SLOT-3).
    fn folded(&self, stream: &[u8], start: usize) -> u32 {
        let hash = if self.slot_bits <= 56 {
            let word = word_at(stream, start) & low_bits(self.slot_bits);
            xxh3_64(&word.to_le_bytes()[..self.slot_bits.div_ceil(8)])
        } else {
            let mut bytes = Vec::with_capacity(self.slot_bits.div_ceil(8));
            for bit in (0..self.slot_bits).step_by(8) {
                let word = word_at(stream, start + bit) & low_bits((self.slot_bits - bit).min(8));
                bytes.push(word as u8);
            }
            xxh3_64(&bytes)
        };
        (hash >> (64 - self.value_bits)) as u32
    }
}

/// At least 56 bits of a stream, from a given bit on.
fn word_at(stream: &[u8], bit: usize) -> u64 {
    let bytes = stream[bit / 8..].first_chunk().expect("a stream has slack behind it");
    u64::from_le_bytes(*bytes) >> (bit % 8)
}

fn low_bits(count: usize) -> u64 {
    u64::MAX >> (64 - count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheme::{Parameters, Slots, presets};
    use crate::sketch::Sketcher;

    /// SLOT-1, SLOT-2 and SLOT-3, bit by bit.
    fn naive(signature: &crate::Signature) -> Vec<u32> {
        let scheme = signature.scheme();
        let Slots { count, samples_per_slot: g, value_bits: v, .. } = scheme.slots;
        let b = u32::from(scheme.bits);
        let slot = |slot: u16| {
            let mut bits = Vec::new();
            for j in 0..g {
                let sample = signature.sample(usize::from(slot * g + j)).unwrap();
                bits.extend((0..b).map(|bit| sample >> bit & 1 == 1));
            }
            if bits.len() == usize::from(v) {
                return bits.iter().rev().fold(0, |value, bit| value << 1 | u32::from(*bit));
            }
            let byte = |bits: &[bool]| bits.iter().rev().fold(0, |v, bit| v << 1 | u8::from(*bit));
            let bytes: Vec<u8> = bits.chunks(8).map(byte).collect();
            (xxh3_64(&bytes) >> (64 - v)) as u32
        };
        (0..count).map(slot).collect()
    }

    #[test]
    fn values_are_what_the_specification_says() {
        let shapes: &[(u32, u8, u16, u16, u8)] = &[
            (128, 4, 32, 4, 16),
            (128, 4, 42, 3, 12),
            (128, 6, 42, 3, 18),
            (12, 6, 12, 1, 6),
            (84, 16, 6, 14, 32),
            (30, 16, 6, 5, 16),
            (200, 1, 20, 10, 10),
            (64, 8, 64, 1, 8),
            (65, 3, 9, 7, 21),
            (65, 3, 9, 7, 20),
            (100, 9, 33, 3, 27),
            (100, 11, 12, 8, 32),
            (130, 13, 65, 2, 26),
            (1, 1, 1, 1, 1),
            (7, 7, 1, 7, 32),
            (2_000, 5, 2_000, 1, 5),
            (16_384, 16, 1, 16_384, 31),
        ];
        for &(samples, bits, count, samples_per_slot, value_bits) in shapes {
            let slots = Slots { count, samples_per_slot, value_bits, min_matches: 1 };
            let parameters = Parameters { samples, bits, slots, ..presets::PRECISE };
            let scheme = Scheme::new(parameters).unwrap();
            let (reader, sketcher) = (SlotReader::new(&scheme), Sketcher::new(&scheme));
            for size in [1_u64, 5, 300] {
                let set: Vec<u64> = (0..size).map(|i| i * 77 + size).collect();
                let signature = sketcher.sketch(&set).unwrap();
                let mut values = vec![0; reader.count()];
                reader.read(signature.planes(), &mut values);
                assert_eq!(values, naive(&signature), "{parameters:?}");
            }
        }
    }
}
