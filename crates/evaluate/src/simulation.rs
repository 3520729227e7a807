//! Sketches sets again and again under other seeds, and compares estimates with the truth.

use rayon::prelude::*;
use ringer::estimate::Chance;
use ringer::scheme::{CardinalityField, Packing, Sampler, Slots, Universe};
use ringer::{Parameters, Scheme, Signature, Sketcher, presets};

use crate::Outcome;

/// Two sets and the universe that they are in.
pub(crate) struct Pair<'a> {
    pub(crate) sets: [&'a [u64]; 2],
    pub(crate) universe: u64,
}

impl Pair<'_> {
    /// The shares of the universe that the sets fill.
    pub(crate) fn shares(&self) -> [f64; 2] {
        self.sets.map(|set| set.len() as f64 / self.universe as f64)
    }

    pub(crate) fn resemblance(&self) -> f64 {
        resemblance(self.sets[0], self.sets[1])
    }

    /// The collision law of b-bit samples.
    pub(crate) fn chance(&self, bits: u32) -> Chance {
        let [r1, r2] = self.shares();
        Chance::dense(bits, r1, r2)
    }
}

/// The exact resemblance of two sets in ascending order.
pub(crate) fn resemblance(a: &[u64], b: &[u64]) -> f64 {
    let common = ringer::sketch::intersection_size(a, b) as f64;
    let union = a.len() as f64 + b.len() as f64 - common;
    if union > 0.0 { common / union } else { 0.0 }
}

/// A scheme without an index, of independent permutations.
pub(crate) fn scheme(universe: Universe, samples: u32, bits: u8, packing: Packing) -> Parameters {
    presets::PRECISE
        .with_sampler(Sampler::Independent)
        .with_cardinality(CardinalityField::Exact)
        .with_slots(Slots::NONE)
        .with_universe(universe)
        .with_samples(samples)
        .with_bits(bits)
        .with_packing(packing)
}

/// Sketches sets under the seeds 1, 2, .. and returns what `visit` makes of the signatures.
pub(crate) fn repeat<T: Send>(
    parameters: Parameters,
    sets: &[&[u64]],
    seeds: u64,
    visit: impl Fn(&[Signature]) -> ringer::Result<T> + Sync,
) -> Outcome<Vec<T>> {
    Scheme::new(parameters)?;
    let of_seed = |seed| {
        let sketcher = Sketcher::new(&Scheme::new(parameters.with_seed(seed))?);
        let signatures: ringer::Result<Vec<Signature>> =
            sets.iter().map(|set| sketcher.sketch(set)).collect();
        visit(&signatures?)
    };
    let all: ringer::Result<Vec<T>> = (1..=seeds).into_par_iter().map(of_seed).collect();
    Ok(all?)
}

/// The samples of a signature.
pub(crate) fn samples(signature: &Signature) -> Vec<u16> {
    (0..).map_while(|j| signature.sample(j)).collect()
}

/// For each prefix of the samples, how many pairs agree in their low `bits`.
pub(crate) fn equal_by_prefix(a: &[u16], b: &[u16], bits: u32, prefixes: &[usize]) -> Vec<u32> {
    let mask = ((1_u32 << bits) - 1) as u16;
    let (mut at, mut equal) = (0, 0);
    let count = |end: &usize| {
        let until = (*end).min(a.len());
        equal += (at..until).filter(|i| (a[*i] ^ b[*i]) & mask == 0).count() as u32;
        at = until;
        equal
    };
    prefixes.iter().map(count).collect()
}

/// The mean of squares.
pub(crate) fn mean_square(errors: &[f64]) -> f64 {
    errors.iter().map(|e| e * e).sum::<f64>() / errors.len().max(1) as f64
}

pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// The mean and the standard deviation.
pub(crate) fn spread(values: &[f64]) -> (f64, f64) {
    let mean = mean(values);
    let square = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>();
    (mean, (square / (values.len().max(2) - 1) as f64).sqrt())
}
