//! The query as segments and memtables see it: a signature, its slot values, and its own key.

use super::request::Like;
use crate::error::{Error, Result};
use crate::kernel::{Row, Rows};
use crate::matching::SlotMatcher;
use crate::sketch::{Signature, Sketcher};
use crate::store::state::State;

/// What is looked for.
#[derive(Debug)]
pub(super) struct Target<'a> {
    pub(super) signature: Signature,
    /// The query's value of each slot.
    pub(super) slot_values: Vec<u32>,
    matcher: SlotMatcher<'a>,
    within_hamming_1: bool,
    /// The key of a query by key. It is not a match of itself.
    own_key: Option<Box<[u8]>>,
}

impl<'a> Target<'a> {
    pub(super) fn new(
        state: &State,
        sketcher: &'a Sketcher,
        like: Like<'_>,
        within_hamming_1: bool,
    ) -> Result<Target<'a>> {
        let mut own_key = None;
        let signature = match like {
            Like::Text(text) => sketcher.sketch_text(text)?,
            Like::Bytes(bytes) => sketcher.sketch_bytes(bytes)?,
            Like::Html(page) => sketcher.sketch_html(page)?,
            Like::Features(features) => sketcher.sketch(features)?,
            Like::Weighted(set) => sketcher.sketch_weighted(set)?,
            Like::Signature(signature) => {
                signature.check_scheme(&state.scheme)?;
                signature.clone()
            }
            Like::Key(key) => {
                let Some(signature) = state.signature(key)? else {
                    return Err(Error::NoSuchKey { key: key.into() });
                };
                own_key = Some(key.into());
                signature
            }
        };
        let reader = sketcher.slot_reader();
        let mut slot_values = vec![0; reader.count()];
        reader.read(signature.planes(), &mut slot_values);
        let matcher = SlotMatcher::new(&state.scheme, reader, within_hamming_1);
        Ok(Target { signature, slot_values, matcher, within_hamming_1, own_key })
    }

    /// The query's planes, for the kernels.
    pub(super) fn rows(&self) -> Rows<'_> {
        self.signature.rows()
    }

    /// Whether a key is the query's own.
    pub(super) fn is_own_key(&self, key: &[u8]) -> bool {
        self.own_key.as_deref() == Some(key)
    }

    /// Each slot with the values that match there: the query's own, and with `within_hamming_1` those that differ in one
    /// bit.
    pub(super) fn matching_values(&self) -> impl Iterator<Item = (usize, u32)> + Clone {
        let bits = if self.within_hamming_1 { self.matcher.reader().value_bits() } else { 0 };
        self.slot_values.iter().enumerate().flat_map(move |(slot, value)| {
            let neighbours = (0..bits).map(move |bit| value ^ 1 << bit);
            std::iter::once(*value).chain(neighbours).map(move |value| (slot, value))
        })
    }

    /// How many slots a signature has in common with the query.
    pub(super) fn matching_slots(&self, row: Row<'_>, buffers: &mut SlotBuffers) -> u32 {
        let (query, (first, rest)) = (self.rows(), row);
        let words = query.words();
        let by_samples = self.matcher.count_by_samples(|word| {
            let mut differ = 0;
            for (query, row) in [(query.first(), first), (query.rest(), rest)] {
                for plane in (word..row.len()).step_by(words) {
                    differ |= query[plane] ^ row[plane];
                }
            }
            !differ
        });
        by_samples.unwrap_or_else(|| self.matching_slots_by_value(row, buffers))
    }

    fn matching_slots_by_value(&self, row: Row<'_>, buffers: &mut SlotBuffers) -> u32 {
        let SlotBuffers { planes, values } = buffers;
        planes.clear();
        planes.extend_from_slice(row.0);
        planes.extend_from_slice(row.1);
        values.resize(self.slot_values.len(), 0);
        self.matcher.reader().read(planes, values);
        self.matcher.count_by_values(values, &self.slot_values)
    }
}

/// Memory for the slot values of one signature, used again for the next.
#[derive(Debug, Default)]
pub(super) struct SlotBuffers {
    planes: Vec<u64>,
    values: Vec<u32>,
}
