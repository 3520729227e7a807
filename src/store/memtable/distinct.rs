//! The distinct signatures of a memtable, found by content and by slot.
//!
//! In: signatures. Out: their numbers. A million equal documents share one signature here, as in a segment. If sets
//! are kept, two signatures are equal only if their sets are.
//!
//! The first planes of all signatures are stored apart from the rest, as in a signature page, so that the same
//! kernels read both.

use std::sync::Arc;

use hashbrown::HashTable;
use xxhash_rust::xxh3::xxh3_64;
use zerocopy::IntoBytes;

use super::chains::Chains;
use crate::format::kept_set::KeptShape;
use crate::kernel::{Rows, prefetch};
use crate::scheme::Scheme;
use crate::sketch::{Signature, SlotReader};

/// The distinct signatures, numbered from 0.
#[derive(Debug)]
pub(super) struct Distinct {
    scheme: Arc<Scheme>,
    first: Vec<u64>,
    rest: Vec<u64>,
    entries: Vec<Entry>,
    by_hash: HashTable<u32>,
    chains: Chains,
    /// How sets are encoded, if they are kept.
    kept: Option<KeptShape>,
    /// The encoded sets of all signatures, concatenated.
    sets: Vec<u8>,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    hash: u64,
    code: u32,
    /// The start of its set in `sets`.
    set: usize,
}

impl Distinct {
    pub(super) fn new(scheme: &Arc<Scheme>) -> Distinct {
        Distinct {
            scheme: Arc::clone(scheme),
            first: Vec::new(),
            rest: Vec::new(),
            entries: Vec::new(),
            by_hash: HashTable::new(),
            chains: Chains::new(SlotReader::new(scheme)),
            kept: KeptShape::of(scheme),
            sets: Vec::new(),
        }
    }

    /// Returns the number of a signature, adding it if it is new.
    pub(super) fn add(&mut self, signature: &Signature) -> u32 {
        let (planes, code) = (signature.planes(), signature.cardinality_code());
        // The set is encoded after the others, and truncated again if the signature is already there.
        let set = self.sets.len();
        if let (Some(kept), Some(elements)) = (self.kept, signature.elements()) {
            kept.encode(elements, &mut self.sets);
        }
        let of_planes = xxh3_64(planes.as_bytes());
        let hash = match &self.sets[set..] {
            [] => of_planes,
            encoded => of_planes ^ xxh3_64(encoded).rotate_left(32),
        };
        let (one, entries) = (self.scheme.first_words(), &mut self.entries);
        let (first, rest, sets) = (&mut self.first, &mut self.rest, &mut self.sets);
        let others = planes.len() - one;
        let same = |number: &u32| {
            let (i, entry) = (*number as usize, &entries[*number as usize]);
            (entry.hash, entry.code) == (hash, code)
                && first[i * one..][..one] == planes[..one]
                && rest[i * others..][..others] == planes[one..]
                && sets[entry.set..entries.get(i + 1).map_or(set, |next| next.set)] == sets[set..]
        };
        if let Some(number) = self.by_hash.find(hash, same).copied() {
            sets.truncate(set);
            return number;
        }
        self.chains.push(planes, |i, words| {
            words.clear();
            words.extend_from_slice(&first[i as usize * one..][..one]);
            words.extend_from_slice(&rest[i as usize * others..][..others]);
        });
        let number = entries.len() as u32;
        first.extend_from_slice(&planes[..one]);
        rest.extend_from_slice(&planes[one..]);
        entries.push(Entry { hash, code, set });
        self.by_hash.insert_unique(hash, number, |number| entries[*number as usize].hash);
        number
    }

    /// Returns the number of signatures.
    pub(super) fn len(&self) -> u32 {
        self.entries.len() as u32
    }

    /// Returns all signatures, for the kernels.
    pub(super) fn rows(&self) -> Rows<'_> {
        Rows::new(&self.scheme, &self.first, &self.rest).expect("whole signatures were added")
    }

    /// Returns the words of a signature, plane by plane.
    pub(super) fn planes(&self, number: u32) -> impl Iterator<Item = u64> + '_ {
        let (i, one) = (number as usize, self.scheme.first_words());
        let others = self.scheme.words_per_signature() - one;
        let (first, rest) = (&self.first[i * one..], &self.rest[i * others..]);
        first[..one].iter().chain(&rest[..others]).copied()
    }

    /// Returns the cardinality code of a signature.
    pub(super) fn code(&self, number: u32) -> u32 {
        self.entries[number as usize].code
    }

    /// Returns the encoded set of a signature, or no bytes if sets are not kept.
    pub(super) fn set(&self, number: u32) -> &[u8] {
        let next = self.entries.get(number as usize + 1).map_or(self.sets.len(), |next| next.set);
        &self.sets[self.entries[number as usize].set..next]
    }

    /// Appends the elements of a signature's set, if sets are kept.
    pub(super) fn elements(&self, number: u32, into: &mut Vec<u64>) {
        if let Some(kept) = self.kept {
            kept.decode(self.set(number), into).expect("it was encoded here");
        }
    }

    /// Prefetches the signatures that have one of these values in its slot. Each is a few scattered cache lines, so
    /// all are requested before the first is needed.
    pub(super) fn prefetch(&self, wanted: impl Iterator<Item = (usize, u32)> + Clone) {
        wanted.clone().for_each(|(slot, value)| self.chains.prefetch(slot, value));
        let one = self.scheme.first_words();
        let others = self.scheme.words_per_signature() - one;
        for first in wanted.filter_map(|(slot, value)| self.chains.first(slot, value)) {
            prefetch(&self.first[first as usize * one..]);
            prefetch(&self.rest[first as usize * others..]);
        }
    }

    /// Returns all signatures that have this value in this slot, and a few others, newest first.
    pub(super) fn with_value(&self, slot: usize, value: u32) -> impl Iterator<Item = u32> + '_ {
        self.chains.chain(slot, value)
    }

    /// Returns the approximate number of bytes in use.
    pub(super) fn bytes(&self) -> usize {
        8 * (self.first.len() + self.rest.len())
            + self.sets.len()
            + self.entries.len() * (size_of::<Entry>() + 6)
            + self.chains.bytes()
    }
}
