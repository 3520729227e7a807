//! The query as the parts of a database see it: a signature, its slot values, a key to leave out.

use super::ask::Like;
use crate::error::{Error, Result};
use crate::kernel::{Row, Rows};
use crate::scheme::Slots;
use crate::sketch::{Signature, Sketcher, SlotReader};
use crate::store::state::State;

/// What is looked for.
#[derive(Debug)]
pub(super) struct Target<'a> {
    pub(super) signature: Signature,
    slots: &'a SlotReader,
    pub(super) values: Vec<u32>,
    within_hamming_1: bool,
    /// Where slots start, if values are the samples themselves and must be equal.
    starts: Option<Vec<u64>>,
    samples_per_slot: u32,
    /// The key of the query itself.
    itself: Option<Box<[u8]>>,
}

impl<'a> Target<'a> {
    pub(super) fn new(
        state: &State,
        sketcher: &'a Sketcher,
        like: Like<'_>,
        within_hamming_1: bool,
    ) -> Result<Target<'a>> {
        let mut itself = None;
        let signature = match like {
            Like::Features(features) => sketcher.sketch(features)?,
            Like::Weighted(set) => sketcher.sketch_weighted(set)?,
            Like::Signature(signature) => {
                signature.check_scheme(&state.scheme)?;
                signature.clone()
            }
            Like::Key(key) => {
                let Some(stored) = state.get(key)? else {
                    return Err(Error::NoSuchKey { key: key.into() });
                };
                itself = Some(key.into());
                stored.signature
            }
        };
        let slots = sketcher.slot_reader();
        let mut values = vec![0; slots.count()];
        slots.read(signature.planes(), &mut values);
        let scheme = &state.scheme;
        let starts = if slots.is_folded() || within_hamming_1 {
            None
        } else {
            slot_starts(scheme.words_per_plane(), scheme.slots)
        };
        let samples_per_slot = u32::from(scheme.slots.samples_per_slot);
        Ok(Target { signature, slots, values, within_hamming_1, starts, samples_per_slot, itself })
    }

    /// The query for the kernels.
    pub(super) fn rows(&self) -> Rows<'_> {
        self.signature.rows()
    }

    /// Whether a key is the query's own.
    pub(super) fn is_itself(&self, key: &[u8]) -> bool {
        self.itself.as_deref() == Some(key)
    }

    /// The slots with the values that match there: the query's own, and if asked for its neighbours.
    pub(super) fn wanted(&self) -> impl Iterator<Item = (usize, u32)> + Clone {
        let bits = if self.within_hamming_1 { self.slots.value_bits() } else { 0 };
        self.values.iter().enumerate().flat_map(move |(slot, value)| {
            let neighbours = (0..bits).map(move |bit| value ^ 1 << bit);
            std::iter::once(*value).chain(neighbours).map(move |value| (slot, value))
        })
    }

    /// How many slots another signature has in common with the query. `scratch` holds what is read.
    pub(super) fn matching_slots(&self, row: Row<'_>, scratch: &mut Scratch) -> u32 {
        if let Some(starts) = &self.starts {
            return self.slots_of_equal_samples(row, starts);
        }
        let Scratch { planes, values } = scratch;
        planes.clear();
        planes.extend_from_slice(row.0);
        planes.extend_from_slice(row.1);
        values.resize(self.slots.count(), 0);
        self.slots.read(planes, values);
        let most = u32::from(self.within_hamming_1);
        let matches =
            values.iter().zip(&self.values).filter(|(a, b)| (*a ^ *b).count_ones() <= most);
        matches.count() as u32
    }

    /// The same where values are the samples themselves: a slot matches if all of its samples are equal.
    fn slots_of_equal_samples(&self, (first, rest): Row<'_>, starts: &[u64]) -> u32 {
        let (query, words) = (self.rows(), starts.len());
        let equal = |word: usize| {
            let mut differ = 0;
            for (query, row) in [(query.first(), first), (query.rest(), rest)] {
                for plane in (word..row.len()).step_by(words) {
                    differ |= query[plane] ^ row[plane];
                }
            }
            !differ
        };
        // Bits of the word after count for slots that reach into it; past the last there are no slots.
        let (mut slots, mut next) = (0, equal(0));
        for (word, starts) in starts.iter().enumerate() {
            let this = next;
            next = if word + 1 < words { equal(word + 1) } else { 0 };
            let mut all = this;
            for sample in 1..self.samples_per_slot {
                all &= this >> sample | next << (64 - sample);
            }
            slots += (all & starts).count_ones();
        }
        slots
    }
}

/// Bits at the first samples of all slots, in as many words as a plane has; `None` where slots are longer than
/// a word.
fn slot_starts(words: usize, slots: Slots) -> Option<Vec<u64>> {
    let g = usize::from(slots.samples_per_slot);
    if g >= 64 {
        return None;
    }
    let mut starts = vec![0_u64; words];
    for slot in 0..usize::from(slots.count) {
        starts[slot * g / 64] |= 1 << (slot * g % 64);
    }
    Some(starts)
}

/// Memory for the slot values of one signature after the other.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    planes: Vec<u64>,
    values: Vec<u32>,
}
