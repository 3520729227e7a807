//! Sketches sets of known resemblance repeatedly, under different seeds.

use rayon::prelude::*;
use ringer::scheme::{CardinalityField, Sampler, Slots, Universe};
use ringer::{Scheme, Signature, Sketcher, presets};

/// The number of samples of every signature in these tests.
pub const K: u32 = 128;

/// The numbers of bits that are tested. One signature of many bits serves all of them, because a signature of fewer
/// bits has the low bits of each sample.
pub const BITS: [u32; 4] = [1, 2, 4, 8];

/// Sets by region: entry r is the number of elements that are in exactly the sets of bit mask r.
#[derive(Debug, Clone)]
pub struct Regions(pub Vec<u64>);

impl Regions {
    /// Returns two sets with `shared` elements in both and the given numbers in only one.
    pub fn pair(first_only: u64, second_only: u64, shared: u64) -> Regions {
        Regions(vec![0, first_only, second_only, shared])
    }

    pub fn sets(&self) -> usize {
        self.0.len().trailing_zeros() as usize
    }

    pub fn union(&self) -> u64 {
        self.0.iter().sum()
    }

    /// Returns the resemblance of all sets.
    pub fn resemblance(&self) -> f64 {
        self.0[self.0.len() - 1] as f64 / self.union() as f64
    }

    pub fn size(&self, set: usize) -> u64 {
        self.0.iter().enumerate().filter(|(r, _)| r >> set & 1 == 1).map(|(_, n)| n).sum()
    }

    /// Returns the elements of each set. They are consecutive numbers, which would expose a weak hash.
    pub fn elements(&self) -> Vec<Vec<u64>> {
        let mut sets = vec![Vec::new(); self.sets()];
        let mut next = 0;
        for (region, size) in self.0.iter().enumerate() {
            for (set, elements) in sets.iter_mut().enumerate() {
                if region >> set & 1 == 1 {
                    elements.extend(next..next + size);
                }
            }
            next += size;
        }
        sets
    }
}

/// Returns a scheme with as many bits as its universe allows.
pub fn scheme(sampler: Sampler, universe: Universe, seed: u64) -> Scheme {
    let bits =
        if sampler == Sampler::OnePermutation && universe != Universe::Open { 8 } else { 16 };
    Scheme::new(
        presets::PRECISE
            .with_sampler(sampler)
            .with_universe(universe)
            .with_seed(seed)
            .with_bits(bits)
            .with_samples(K)
            .with_cardinality(CardinalityField::Exact)
            .with_slots(Slots::NONE),
    )
    .expect("a valid scheme")
}

/// Sketches all sets under the seeds 1, 2, ... `repetitions` in parallel, and passes the signatures to `visit`.
pub fn repeat<T: Send>(
    regions: &Regions,
    sampler: Sampler,
    universe: Universe,
    repetitions: u64,
    visit: impl Fn(&[Signature]) -> T + Sync,
) -> Vec<T> {
    let sets = regions.elements();
    (1..=repetitions)
        .into_par_iter()
        .map(|seed| {
            let sketcher = Sketcher::new(&scheme(sampler, universe, seed));
            let sketch = |set: &Vec<u64>| sketcher.sketch(set).expect("a valid set");
            visit(&sets.iter().map(sketch).collect::<Vec<_>>())
        })
        .collect()
}

/// Returns the samples of a signature.
pub fn samples(signature: &Signature) -> Vec<u16> {
    (0..K as usize).map(|i| signature.sample(i).expect("a sample")).collect()
}

/// Returns how many samples of two signatures agree in their low bits, for each of [`BITS`].
pub fn equal_counts(a: &Signature, b: &Signature) -> [u32; 4] {
    let (a, b) = (samples(a), samples(b));
    BITS.map(|bits| {
        let mask = ((1_u32 << bits) - 1) as u16;
        a.iter().zip(&b).filter(|(a, b)| (*a ^ *b) & mask == 0).count() as u32
    })
}
