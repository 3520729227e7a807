//! `Independent`: k permutations, and the least image of the set under each. The reference sampler.
//!
//! In: the elements of a set that is not empty. Out: the samples. Normative: `format-spec/hashing.md`. Cost: k hashes
//! per element, except for dense sets of a bounded universe ([`Members`]).

use super::hash::{Keys, Purpose, mix, stir};
use super::members::Members;
use super::permutation::Permutation;
use crate::scheme::{Scheme, Universe};

/// The sampler, with its keys or permutations.
pub(crate) struct Independent {
    permutations: Permutations,
}

enum Permutations {
    /// Permutations of all 64-bit words: one key for the elements and one per sample.
    Open { element_key: u64, sample_keys: Vec<u64> },
    /// Permutations of `{0..size-1}`.
    Bounded { size: u64, each: Vec<Permutation> },
}

impl Independent {
    pub(crate) fn new(scheme: &Scheme) -> Independent {
        let samples = 0..u64::from(scheme.drawn_samples());
        let permutations = match scheme.universe {
            Universe::Open => {
                let keys = Keys::new(scheme.seed, Purpose::Samples);
                Permutations::Open {
                    element_key: Keys::new(scheme.seed, Purpose::Elements).key(0),
                    sample_keys: samples.map(|j| keys.key(j)).collect(),
                }
            }
            Universe::Bounded(size) => {
                let keys = Keys::new(scheme.seed, Purpose::Permutations);
                let each = samples.map(|j| Permutation::new(size, keys.key(j))).collect();
                Permutations::Bounded { size, each }
            }
        };
        Independent { permutations }
    }

    /// Adds elements to samples that start at `u64::MAX` (SAMPLE-2, SAMPLE-3).
    pub(crate) fn absorb(&self, elements: &[u64], samples: &mut [u64]) {
        match &self.permutations {
            Permutations::Open { element_key, sample_keys } => {
                for &x in elements {
                    let h = stir(x ^ element_key);
                    for (sample, key) in samples.iter_mut().zip(sample_keys) {
                        *sample = (*sample).min(mix(h ^ key));
                    }
                }
            }
            Permutations::Bounded { size, each } => {
                if Members::worthwhile(elements.len(), *size, 1) {
                    return self.absorb_dense(&Members::new(elements, *size), samples);
                }
                for (sample, permutation) in samples.iter_mut().zip(each) {
                    for &x in elements {
                        *sample = (*sample).min(permutation.place(x));
                    }
                }
            }
        }
    }

    /// The same from a bitmap of the set.
    fn absorb_dense(&self, members: &Members, samples: &mut [u64]) {
        let Permutations::Bounded { size, each } = &self.permutations else { return };
        if members.count() == 0 {
            return;
        }
        for (sample, permutation) in samples.iter_mut().zip(each) {
            if let Some(place) = members.first_place(permutation, 0, (*sample).min(*size)) {
                *sample = place;
            }
        }
    }
}
