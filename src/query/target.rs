//! The query as the parts of a database see it: a signature, its slot values, a key to leave out.

use super::ask::Like;
use crate::error::{Error, Result};
use crate::kernel::{Row, Rows};
use crate::sketch::{Signature, Sketcher, SlotReader};
use crate::store::state::State;

/// What is looked for.
#[derive(Debug)]
pub(super) struct Target<'a> {
    pub(super) signature: Signature,
    slots: &'a SlotReader,
    pub(super) values: Vec<u32>,
    within_hamming_1: bool,
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
        Ok(Target { signature, slots, values, within_hamming_1, itself })
    }

    /// The query for the kernels.
    pub(super) fn rows(&self) -> Rows<'_> {
        self.signature.rows()
    }

    /// Whether a key is the query's own.
    pub(super) fn is_itself(&self, key: &[u8]) -> bool {
        self.itself.as_deref() == Some(key)
    }

    /// The values that match in a slot: its own, and if asked for its neighbours.
    pub(super) fn values_of(&self, slot: usize) -> impl Iterator<Item = u32> {
        let value = self.values[slot];
        let bits = if self.within_hamming_1 { self.slots.value_bits() } else { 0 };
        std::iter::once(value).chain((0..bits).map(move |bit| value ^ 1 << bit))
    }

    /// How many slots another signature has in common with the query. `scratch` holds what is read.
    pub(super) fn matching_slots(&self, row: Row<'_>, scratch: &mut Scratch) -> u32 {
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
}

/// Memory for the slot values of one signature after the other.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    planes: Vec<u64>,
    values: Vec<u32>,
}
