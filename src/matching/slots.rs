//! How many slots two signatures have in common.
//!
//! Slots whose values are the samples themselves match if all of their samples are equal. That is counted on words of
//! equal samples, without reading values. Hashed slots, and slots that may differ in one bit, are compared by value.

use crate::scheme::Scheme;
use crate::sketch::SlotReader;

/// Counts matching slots of signatures of one scheme.
#[derive(Debug)]
pub(crate) struct SlotMatcher<'a> {
    reader: &'a SlotReader,
    /// Bits in which matching values may differ.
    most_differing_bits: u32,
    samples_per_slot: u32,
    /// A bit at the first sample of each slot, in as many words as a plane has; `None` if values are compared.
    starts: Option<Vec<u64>>,
}

impl<'a> SlotMatcher<'a> {
    /// `reader` is one of the scheme.
    pub(crate) fn new(
        scheme: &Scheme,
        reader: &'a SlotReader,
        within_hamming_1: bool,
    ) -> SlotMatcher<'a> {
        let by_samples = !reader.is_folded() && !within_hamming_1;
        SlotMatcher {
            reader,
            most_differing_bits: u32::from(within_hamming_1),
            samples_per_slot: u32::from(scheme.slots.samples_per_slot),
            starts: if by_samples { slot_starts(scheme) } else { None },
        }
    }

    pub(crate) fn reader(&self) -> &'a SlotReader {
        self.reader
    }

    /// How many slots match, by the samples that are equal: `equal(w)` has a bit for each equal sample of word w.
    /// `None` if slots are compared by value.
    #[inline]
    pub(crate) fn count_by_samples(&self, equal: impl Fn(usize) -> u64) -> Option<u32> {
        let starts = self.starts.as_deref()?;
        let (words, mut slots, mut next) = (starts.len(), 0, equal(0));
        for (word, starts) in starts.iter().enumerate() {
            // A slot may reach into the next word. No slot reaches past the last one.
            let this = next;
            next = if word + 1 < words { equal(word + 1) } else { 0 };
            let mut all = this;
            for sample in 1..self.samples_per_slot {
                all &= this >> sample | next << (64 - sample);
            }
            slots += (all & starts).count_ones();
        }
        Some(slots)
    }

    /// How many slots match, by their values.
    pub(crate) fn count_by_values(&self, a: &[u32], b: &[u32]) -> u32 {
        let matches = |(a, b): &(&u32, &u32)| (*a ^ *b).count_ones() <= self.most_differing_bits;
        a.iter().zip(b).filter(matches).count() as u32
    }

    /// Whether slots are compared by value.
    pub(crate) fn needs_values(&self) -> bool {
        self.starts.is_none()
    }
}

fn slot_starts(scheme: &Scheme) -> Option<Vec<u64>> {
    let g = usize::from(scheme.slots.samples_per_slot);
    // A slot reaches into one more word at most.
    if g >= 64 {
        return None;
    }
    let mut starts = vec![0_u64; scheme.words_per_plane()];
    for slot in 0..usize::from(scheme.slots.count) {
        starts[slot * g / 64] |= 1 << (slot * g % 64);
    }
    Some(starts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sketch::Sketcher;

    /// Both ways to count give the same, and the number of slots whose samples are all equal.
    #[test]
    fn samples_and_values_count_the_same_slots() {
        for scheme in [Scheme::near_duplicate(), Scheme::precise(), Scheme::rdc()] {
            let sketcher = Sketcher::new(&scheme);
            let sketch = |set: std::ops::Range<u64>| sketcher.sketch(&set.collect::<Vec<_>>());
            let matcher = SlotMatcher::new(&scheme, sketcher.slot_reader(), false);
            let (g, words) = (usize::from(scheme.slots.samples_per_slot), scheme.words_per_plane());
            let a = sketch(0..200).unwrap();
            for first in [0, 3, 20, 60, 120, 5000] {
                let b = sketch(first..first + 200).unwrap();
                let equal = |sample: usize| a.sample(sample) == b.sample(sample);
                let slots = 0..usize::from(scheme.slots.count);
                let expected = slots.filter(|slot| (slot * g..(slot + 1) * g).all(equal)).count();
                let values = [&a, &b].map(|signature| {
                    let mut values = vec![0; matcher.reader().count()];
                    matcher.reader().read(signature.planes(), &mut values);
                    values
                });
                assert_eq!(matcher.count_by_values(&values[0], &values[1]) as usize, expected);
                let word = |word: usize| {
                    let samples = (word * 64..(word * 64 + 64).min(scheme.samples as usize)).rev();
                    samples.fold(0, |mask, sample| mask << 1 | u64::from(equal(sample)))
                };
                assert_eq!(words, (scheme.samples as usize).div_ceil(64));
                let by_samples = matcher.count_by_samples(word);
                assert_eq!(by_samples.is_none(), matcher.needs_values());
                assert_eq!(by_samples.map_or(expected, |count| count as usize), expected);
            }
        }
    }
}
