//! Groups of equal signatures, split into groups of equal sets.
//!
//! Two long texts that differ in one word often have the same signature. If sets can be read, only keys with equal sets
//! stay in one group.

use rayon::prelude::*;
use xxhash_rust::xxh3::xxh3_128;
use zerocopy::IntoBytes;

use super::progress::{Reporter, Step};
use super::results::Phase;
use super::signature_table::SignatureTable;
use crate::error::Result;
use crate::query::Originals;
use crate::sketch::Sketcher;
use crate::sync::can_spread;

/// Sets that are read in parallel between two progress reports.
const BATCH: usize = 1024;

impl SignatureTable<'_> {
    /// Splits groups whose sets differ, and removes keys whose sets cannot be read from them.
    pub(super) fn split_groups(
        &mut self,
        originals: &Originals<'_>,
        sketcher: &Sketcher,
        reporter: &mut Reporter<'_>,
    ) -> Step {
        let shared: Vec<u32> = self.shared_groups().collect();
        let members: Vec<(u32, u32)> = shared
            .iter()
            .flat_map(|group| self.members(*group).iter().map(|rank| (*group, *rank)))
            .collect();
        let mut hashes: Vec<(u32, u128, u32)> = Vec::with_capacity(members.len());
        for (i, batch) in members.chunks(BATCH).enumerate() {
            reporter.report(Phase::Reading, (i * BATCH) as u64, members.len() as u64)?;
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
            hashes.extend(found?.into_iter().flatten());
        }
        hashes.sort_unstable();
        self.regroup(&shared, &hashes);
        Ok(())
    }

    /// Replaces the groups of several keys by groups of equal sets. `hashes` has the group, the hash of the set and the
    /// rank of every key whose set could be read, sorted.
    fn regroup(&mut self, shared: &[u32], hashes: &[(u32, u128, u32)]) {
        let mut equal: Vec<(u32, Vec<u32>)> = Vec::new();
        for same in hashes.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
            equal.push((same[0].0, same.iter().map(|(_, _, rank)| *rank).collect()));
        }
        if equal.len() == shared.len() && hashes.len() == self.keys_in_shared_groups() {
            return;
        }
        let single = (0..self.groups() as u32).filter(|group| shared.binary_search(group).is_err());
        equal.extend(single.map(|group| (group, self.members(group).to_vec())));
        // Groups are numbered in the order of their smallest keys.
        equal.sort_unstable_by_key(|(_, ranks)| ranks[0]);
        self.replace_groups(&equal);
    }
}
