//! The slot index of a memtable: for each slot, hash buckets that chain signatures.
//!
//! In: signatures, in order of their numbers. Out: for a slot and a value, a chain that contains every signature
//! with that value. A chain may contain others too, so the caller compares slot values afterwards.
//!
//! There are about as many buckets as signatures, so chains are short unless many signatures share a value. An
//! index that outgrows its buckets gets four times as many.

use crate::kernel::prefetch;
use crate::sketch::SlotReader;

/// Bits of the bucket number in a new index.
const FIRST_BITS: u32 = 6;

/// Marks the end of a chain.
const END: u32 = u32::MAX;

/// Chains of signature numbers, by slot and bucket.
#[derive(Debug)]
pub(super) struct Chains {
    reader: SlotReader,
    bucket_bits: u32,
    /// The newest signature of each bucket, slot by slot.
    heads: Vec<u32>,
    /// For each signature, the previous signature in the chain of each slot.
    before: Vec<u32>,
    values: Vec<u32>,
}

impl Chains {
    pub(super) fn new(reader: SlotReader) -> Chains {
        let bucket_bits = FIRST_BITS.min(reader.value_bits());
        let values = vec![0; reader.count()];
        let heads = vec![END; reader.count() << bucket_bits];
        Chains { reader, bucket_bits, heads, before: Vec::new(), values }
    }

    /// Adds the next signature. `words_of` returns the planes of any earlier one, in case the index must be
    /// rebuilt.
    pub(super) fn push(&mut self, planes: &[u64], mut words_of: impl FnMut(u32, &mut Vec<u64>)) {
        let slots = self.reader.count();
        if slots == 0 {
            return;
        }
        let number = (self.before.len() / slots) as u32;
        if number >> self.bucket_bits != 0 && self.bucket_bits < self.reader.value_bits() {
            self.bucket_bits = (self.bucket_bits + 2).min(self.reader.value_bits());
            self.heads.clear();
            self.heads.resize(slots << self.bucket_bits, END);
            self.before.clear();
            let mut words = Vec::new();
            for i in 0..number {
                words_of(i, &mut words);
                self.link(i, &words);
            }
        }
        self.link(number, planes);
    }

    fn link(&mut self, number: u32, planes: &[u64]) {
        self.reader.read(planes, &mut self.values);
        for (slot, value) in self.values.iter().enumerate() {
            let bucket = (slot << self.bucket_bits) + self.bucket(*value);
            self.before.push(std::mem::replace(&mut self.heads[bucket], number));
        }
    }

    /// Slot values of popular elements differ in few bits, so a multiplication spreads them.
    fn bucket(&self, value: u32) -> usize {
        if self.bucket_bits == self.reader.value_bits() {
            return value as usize;
        }
        (u64::from(value.wrapping_mul(0x9E37_79B1)) >> (32 - self.bucket_bits)) as usize
    }

    fn head(&self, slot: usize, value: u32) -> &u32 {
        &self.heads[(slot << self.bucket_bits) + self.bucket(value)]
    }

    /// Prefetches the head of the chain for a value in a slot.
    pub(super) fn prefetch(&self, slot: usize, value: u32) {
        prefetch(std::slice::from_ref(self.head(slot, value)));
    }

    /// Returns the first signature of that chain, and prefetches its successor.
    pub(super) fn first(&self, slot: usize, value: u32) -> Option<u32> {
        let first = Some(*self.head(slot, value)).filter(|head| *head != END)?;
        prefetch(&self.before[first as usize * self.reader.count() + slot..]);
        Some(first)
    }

    /// Returns the chain that contains all signatures with this value in this slot, newest first.
    pub(super) fn chain(&self, slot: usize, value: u32) -> impl Iterator<Item = u32> + '_ {
        let slots = self.reader.count();
        let head = *self.head(slot, value);
        std::iter::successors(Some(head).filter(|h| *h != END), move |at| {
            Some(self.before[*at as usize * slots + slot]).filter(|n| *n != END)
        })
    }

    /// Returns the number of bytes in use.
    pub(super) fn bytes(&self) -> usize {
        4 * (self.heads.len() + self.before.len())
    }
}
