//! `SignProjection`, also called simhash: on which side of k random planes a vector is. For the cosine.
//!
//! In: a vector as a weighted set that is not empty ([`super::weights`]). Out: samples of one bit, which agree with
//! probability `1 - angle / pi`. Normative: `format-spec/hashing.md`.

use super::hash::{Keys, Purpose, mix, stir};
use super::numbers::{DEVIATES, Far, normals};
use crate::kernel::{Kernel, Work};
use crate::scheme::Scheme;

/// The sampler, with its keys.
pub(crate) struct SignProjection {
    element_key: u64,
    projection_keys: Vec<u64>,
}

impl SignProjection {
    pub(crate) fn new(scheme: &Scheme) -> SignProjection {
        let keys = Keys::new(scheme.seed, Purpose::Projections);
        SignProjection {
            element_key: Keys::new(scheme.seed, Purpose::Elements).key(0),
            projection_keys: (0..u64::from(scheme.samples)).map(|j| keys.key(j)).collect(),
        }
    }

    /// The samples of a vector, given its nonzero coordinates, elements ascending (SAMPLE-11).
    pub(crate) fn sample(&self, vector: &[(u64, f64)], samples: &mut [u64]) {
        self.sample_by(Kernel::best(), vector, samples);
    }

    fn sample_by(&self, kernel: Kernel, vector: &[(u64, f64)], samples: &mut [u64]) {
        let largest = vector.iter().map(|(_, weight)| weight.abs()).fold(0.0, f64::max);
        // Length does not affect the angle, and sums of scaled coordinates cannot overflow.
        let exponent = libm::ilogb(largest);
        let scaled: Vec<(u64, f64)> = vector
            .iter()
            .map(|&(x, weight)| (stir(x ^ self.element_key), libm::scalbn(weight, -exponent)))
            .collect();
        let parts = self.projection_keys.chunks(DEVIATES);
        for (samples, keys) in samples.chunks_mut(DEVIATES).zip(parts) {
            let sums = kernel.run(Round { vector: &scaled, keys });
            for (sample, sum) in samples.iter_mut().zip(sums) {
                *sample = u64::from(sum > 0.0);
            }
        }
    }
}

/// Some projections of a vector, given by the hashes of its elements.
struct Round<'a> {
    vector: &'a [(u64, f64)],
    keys: &'a [u64],
}

impl Work for Round<'_> {
    type Done = [f64; DEVIATES];

    #[inline(always)]
    fn run(self) -> [f64; DEVIATES] {
        let mut sums = [0.0; DEVIATES];
        let (mut words, mut deviates) = ([0; DEVIATES], [0.0; DEVIATES]);
        let mut far = Far::new();
        for (h, weight) in self.vector {
            words.iter_mut().zip(self.keys).for_each(|(word, key)| *word = mix(h ^ key));
            let count = self.keys.len().min(DEVIATES);
            normals(&words[..count], &mut deviates[..count], &mut far);
            for (sum, deviate) in sums.iter_mut().zip(&deviates[..count]) {
                *sum += weight * deviate;
            }
        }
        sums
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheme::presets;

    /// SAMPLE-11: lengths do not matter, however large or small, and opposite vectors lie on opposite sides.
    #[test]
    fn only_the_direction_counts() {
        let scheme = Scheme::new(presets::COSINE).unwrap();
        let signs = SignProjection::new(&scheme);
        let samples_of = |factor: f64| {
            let vector: Vec<(u64, f64)> =
                (0..50).map(|i| (i, (i as f64 - 20.5) * factor)).collect();
            let mut samples = vec![9; 256];
            signs.sample(&vector, &mut samples);
            for kernel in Kernel::available() {
                let mut same = vec![9; 256];
                signs.sample_by(kernel, &vector, &mut same);
                assert_eq!(same, samples, "{}", kernel.name());
            }
            samples
        };
        let one = samples_of(1.0);
        for factor in [2.0, 0.5, 1e-300, 5e306] {
            assert_eq!(samples_of(factor), one, "{factor}");
        }
        let opposite: Vec<u64> = samples_of(-1.0).iter().map(|bit| 1 - bit).collect();
        assert_eq!(opposite, one);
    }
}
