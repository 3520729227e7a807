//! The slot values of all signatures as they stand in postings, slot by slot: written once as signatures come, read back slot after
//! slot.
//!
//! Values are collected for some thousand signatures, turned, and spilled: chunk after chunk, in a chunk slot
//! after slot. So a column is read in long pieces, whatever its length.

use crate::error::Result;
use crate::format::bytes::PutBytes;
use crate::format::posting_shape::spread;
use crate::scheme::Scheme;
use crate::sketch::SlotReader;
use crate::store::spill::{Spill, SpillPlace};
use byteorder::{ByteOrder, LittleEndian};

/// Values of a chunk, about: they stay in the second-level cache until they are turned.
const CHUNK_VALUES: usize = 1 << 17;

/// Fewest signatures of a chunk, however many slots there are.
const LEAST_CHUNK: usize = 256;

/// Values of all slots.
#[derive(Debug)]
pub(super) struct Columns {
    slots: SlotReader,
    /// Bytes of a value.
    width: usize,
    chunk_ids: usize,
    /// The values of the chunk that is not full yet, signature after signature.
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

    /// The values of the next signature.
    pub(super) fn push(&mut self, planes: &[u64]) -> Result<()> {
        let start = self.open.len();
        self.open.resize(start + self.count(), 0);
        self.slots.read(planes, &mut self.open[start..]);
        let bits = self.slots.value_bits();
        self.open[start..].iter_mut().for_each(|value| *value = spread(*value, bits));
        self.ids += 1;
        if self.ids.is_multiple_of(self.chunk_ids) { self.flush() } else { Ok(()) }
    }

    /// Spills what is open. Must come before reading.
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

    /// The values of a slot in order, as pieces with the id of their first. The id `skip` is left out.
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
