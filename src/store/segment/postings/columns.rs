//! The slot values of all signatures, stored by slot.
//!
//! In: signatures, in the order of their ids. Out: the values of one slot after the other, as postings store them.
//!
//! Values are collected for a few thousand signatures, transposed, and spilled. Chunks follow each other, and
//! within a chunk slots do. So a column is read in long pieces.

use crate::error::Result;
use crate::format::bytes::PutBytes;
use crate::format::posting_shape::spread;
use crate::scheme::Scheme;
use crate::sketch::SlotReader;
use crate::store::spill::{Spill, SpillPlace};
use byteorder::{ByteOrder, LittleEndian};

/// Approximate values per chunk. They stay in the second-level cache until they are transposed.
const CHUNK_VALUES: usize = 1 << 17;

/// The fewest signatures per chunk, however many slots there are.
const LEAST_CHUNK: usize = 256;

/// The values of all slots.
#[derive(Debug)]
pub(super) struct Columns {
    slots: SlotReader,
    /// Bytes per value.
    width: usize,
    chunk_ids: usize,
    /// The values of the unfinished chunk, signature by signature.
    open: Vec<u32>,
    ids: usize,
    spill: Spill,
}

impl Columns {
    pub(super) fn new(scheme: &Scheme, place: &SpillPlace) -> Columns {
        let slots = SlotReader::new(scheme);
        Columns {
            width: slots.value_bits().div_ceil(8).max(1) as usize,
            chunk_ids: (CHUNK_VALUES / slots.count().max(1)).max(LEAST_CHUNK),
            open: Vec::new(),
            ids: 0,
            spill: Spill::new(place),
            slots,
        }
    }

    pub(super) fn count(&self) -> usize {
        self.slots.count()
    }

    /// Adds the values of the next signature.
    pub(super) fn push(&mut self, planes: &[u64]) -> Result<()> {
        let start = self.open.len();
        self.open.resize(start + self.count(), 0);
        self.slots.read(planes, &mut self.open[start..]);
        let bits = self.slots.value_bits();
        self.open[start..].iter_mut().for_each(|value| *value = spread(*value, bits));
        self.ids += 1;
        if self.ids.is_multiple_of(self.chunk_ids) { self.flush() } else { Ok(()) }
    }

    /// Spills the unfinished chunk. Must be called before reading.
    pub(super) fn flush(&mut self) -> Result<()> {
        let count = self.count();
        let mut bytes = Vec::with_capacity(self.open.len() * self.width);
        for slot in 0..count {
            let values = self.open[slot.min(self.open.len())..].iter().step_by(count);
            match self.width {
                1 => bytes.extend(values.map(|value| *value as u8)),
                width => values.for_each(|value| bytes.put_low(u64::from(*value), width)),
            }
        }
        self.open.clear();
        self.spill.push(&bytes)
    }

    /// Visits the values of a slot in order, in pieces with the id of their first value. Leaves out the id `skip`.
    pub(super) fn read(
        &self,
        slot: usize,
        skip: Option<u32>,
        visit: &mut dyn FnMut(u32, &[u32]) -> Result<()>,
    ) -> Result<()> {
        let (mut bytes, mut values) = (Vec::new(), Vec::new());
        for first in (0..self.ids).step_by(self.chunk_ids) {
            let ids = (self.ids - first).min(self.chunk_ids);
            let offset =
                (first as u64 * self.count() as u64 + ids as u64 * slot as u64) * self.width as u64;
            bytes.resize(ids * self.width, 0);
            self.spill.read(&mut bytes, offset)?;
            values.clear();
            match self.width {
                1 => values.extend(bytes.iter().map(|byte| u32::from(*byte))),
                2 => {
                    let words = bytes.as_chunks::<2>().0;
                    values.extend(words.iter().map(|v| u32::from(LittleEndian::read_u16(v))));
                }
                3 => {
                    let threes = bytes.as_chunks::<3>().0;
                    values.extend(threes.iter().map(|v| LittleEndian::read_u24(v)));
                }
                _ => {
                    let words = bytes.as_chunks::<4>().0;
                    values.extend(words.iter().map(|v| LittleEndian::read_u32(v)));
                }
            }
            let first = first as u32;
            match skip.and_then(|id| id.checked_sub(first)).filter(|i| (*i as usize) < ids) {
                Some(i) => {
                    visit(first, &values[..i as usize])?;
                    visit(first + i + 1, &values[i as usize + 1..])?;
                }
                None => visit(first, &values)?,
            }
        }
        Ok(())
    }
}
