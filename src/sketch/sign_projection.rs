//! `SignProjection`: on which side of k random planes a vector lies. For the cosine; also called simhash.
//!
//! In: a vector as a weighted set that is not empty ([`super::weights`]). Out: samples of one bit, which agree with
//! probability `1 - angle / pi`. Normative: `format-spec/hashing.md`.

use super::hash::{Keys, Purpose, mix, stir};
use super::numbers::{DEVIATES, normals};
use crate::scheme::Scheme;

/// The sampler with its keys made ready.
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

    /// The samples of a vector, given by its coordinates other than 0, their elements rising (SAMPLE-11).
    pub(crate) fn sample(&self, vector: &[(u64, f64)], samples: &mut [u64]) {
        let largest = vector.iter().map(|(_, weight)| weight.abs()).fold(0.0, f64::max);
        // Lengths do not matter for the angle, and sums of scaled coordinates cannot overflow.
        let exponent = libm::ilogb(largest);
        let mut sums = vec![0.0; samples.len()];
        for &(x, weight) in vector {
            let h = stir(x ^ self.element_key);
            let weight = libm::scalbn(weight, -exponent);
            let parts = self.projection_keys.chunks(DEVIATES);
            for (sums, keys) in sums.chunks_mut(DEVIATES).zip(parts) {
                let mut words = [0; DEVIATES];
                words.iter_mut().zip(keys).for_each(|(word, key)| *word = mix(h ^ key));
                for (sum, deviate) in sums.iter_mut().zip(normals(&words)) {
                    *sum += weight * deviate;
                }
            }
        }
        for (sample, sum) in samples.iter_mut().zip(&sums) {
            *sample = u64::from(*sum > 0.0);
        }
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
