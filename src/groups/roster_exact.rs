//! Groups of equal signatures, told apart by the sets themselves.
//!
//! Equal signatures do not make equal sets: two long texts that differ in one word often have the same one. Where the sets can be read
//! again, each group of several keys is split into groups of equal sets.

use rayon::prelude::*;
use xxhash_rust::xxh3::xxh3_128;
use zerocopy::IntoBytes;

use super::found::Phase;
use super::roster::Roster;
use super::stop::{Step, Teller};
use crate::error::Result;
use crate::query::Originals;
use crate::sketch::Sketcher;
use crate::sync::can_spread;

/// Keys that are read in parallel before the run is told how far it has come.
const BATCH: usize = 1024;

impl Roster<'_> {
    /// Splits groups whose sets differ, and leaves out keys whose sets cannot be read again.
    pub(super) fn tell_apart(
        &mut self,
        originals: &Originals<'_>,
        sketcher: &Sketcher,
        teller: &mut Teller<'_>,
    ) -> Step {
        let several: Vec<u32> = self.several().collect();
        let members: Vec<(u32, u32)> = several
            .iter()
            .flat_map(|group| self.members(*group).iter().map(|rank| (*group, *rank)))
            .collect();
        let mut known: Vec<(u32, u128, u32)> = Vec::with_capacity(members.len());
        for (i, batch) in members.chunks(BATCH).enumerate() {
            teller.tell(Phase::Reading, (i * BATCH) as u64, members.len() as u64)?;
            let hash = |(group, rank): &(u32, u32)| -> Result<Option<(u32, u128, u32)>> {
                let key = self.key(*rank)?;
                let set = originals.set(&key, sketcher, || Ok(self.signature(*group)))?;
                Ok(set.map(|set| (*group, xxh3_128(set.as_bytes()), *rank)))
            };
            let found: Result<Vec<Option<_>>> = if can_spread() {
                batch.par_iter().map(hash).collect()
            } else {
                batch.iter().map(hash).collect()
            };
            known.extend(found?.into_iter().flatten());
        }
        known.sort_unstable();
        self.regroup(&several, &known);
        Ok(())
    }

    /// Replaces the groups of several keys by groups of equal sets: `known` has the group, the hash of the set and the rank
    /// of every key that could be read, sorted.
    fn regroup(&mut self, several: &[u32], known: &[(u32, u128, u32)]) {
        let mut equal: Vec<(u32, Vec<u32>)> = Vec::new();
        for same in known.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
            equal.push((same[0].0, same.iter().map(|(_, _, rank)| *rank).collect()));
        }
        if equal.len() == several.len() && known.len() == self.keys_of_several() {
            return;
        }
        let single =
            (0..self.groups() as u32).filter(|group| several.binary_search(group).is_err());
        equal.extend(single.map(|group| (group, self.members(group).to_vec())));
        // Groups are numbered in the order of their smallest keys.
        equal.sort_unstable_by_key(|(_, ranks)| ranks[0]);
        self.replace_groups(&equal);
    }
}
