//! Evaluation of large sets with a bitmap of their hashes. The bitmap gives a close upper limit of the least hash of
//! each bin, and only hashes up to that limit are compared.
//!
//! In: elements and the bitmap of their hashes. Out: the least hash of each bin. Only for sets that visit every bin
//! at time 0, where later visits do not count.

use super::{EveryBin, NONE};
use crate::kernel::{FOUND, HASHES, Kernel, Work};
use crate::sketch::hash_bitmap::HashBitmap;
use crate::sketch::one_permutation::take;

/// Least number of elements per bin. With fewer, a bin is likely to be empty.
const MIN_PER_BIN: usize = 6;

impl EveryBin {
    /// Adds all elements of a set. Returns false, with nothing done, if a bin would stay empty or if this evaluation
    /// would not be faster. `found` is working memory.
    pub(super) fn absorb_early(
        &self,
        elements: &[u64],
        bitmap: &HashBitmap,
        bins: &mut [u64],
        found: &mut Vec<u64>,
    ) -> bool {
        if let Some(bins) = bins.as_mut_array::<64>() {
            self.absorb_in(elements, bitmap, bins, found)
        } else if let Some(bins) = bins.as_mut_array::<128>() {
            self.absorb_in(elements, bitmap, bins, found)
        } else {
            false
        }
    }

    fn absorb_in<const K: usize>(
        &self,
        elements: &[u64],
        bitmap: &HashBitmap,
        bins: &mut [u64; K],
        found: &mut Vec<u64>,
    ) -> bool {
        let kernel = Kernel::best();
        let mut limits = [0; K];
        let many = elements.len() >= MIN_PER_BIN * K;
        if !many || !kernel.finds_early(K) || !bitmap.limits(&mut limits) {
            return false;
        }
        let room = elements.len() + FOUND;
        if found.len() < room {
            found.resize(room, 0);
        }
        let (mut hashes, mut count) = ([0; HASHES], 0);
        for round in elements.chunks(HASHES) {
            // Pads the last round with hashes that change no bin.
            hashes[round.len()..].fill(NONE);
            kernel.run(Hashes { sampler: self, elements: round, hashes: &mut hashes });
            let Some(found) = found[count..].first_chunk_mut() else { return false };
            count += kernel.early(&hashes, &limits, found);
        }
        found[..count].iter().for_each(|hash| take(*hash, bins));
        true
    }
}

/// The hashes of up to a round of elements.
struct Hashes<'a> {
    sampler: &'a EveryBin,
    elements: &'a [u64],
    hashes: &'a mut [u64; HASHES],
}

impl Work for Hashes<'_> {
    type Done = ();

    #[inline(always)]
    fn run(self) {
        for (hash, x) in self.hashes.iter_mut().zip(self.elements) {
            *hash = self.sampler.hash(*x);
        }
    }
}
