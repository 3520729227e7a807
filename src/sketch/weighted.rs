//! `Weighted`: consistent samples of sets whose elements have weights. Ioffe's scheme.
//!
//! In: a weighted set that is not empty ([`super::weights`]). Out: samples that agree with a probability that is the
//! sum of the smaller weights over the sum of the larger ones. Normative: `format-spec/hashing.md`.
//!
//! Each element draws, for each sample, three random numbers that do not depend on its weight; its rank does, and the element
//! of least rank wins. Most cannot win, which is seen before any logarithm is taken: with `e^-r` and a bound of
//! g from the words themselves.

use super::hash::{GOLDEN, Keys, Purpose, mix, stir};
use super::numbers::{ln, product, unit};
use crate::scheme::Scheme;

/// The sampler with its keys made ready.
pub(crate) struct Weighted {
    element_key: u64,
    sample_keys: Vec<u64>,
    draw_keys: Vec<u64>,
}

impl Weighted {
    pub(crate) fn new(scheme: &Scheme) -> Weighted {
        let all = |purpose| {
            let keys = Keys::new(scheme.seed, purpose);
            (0..u64::from(scheme.drawn_samples())).map(move |j| keys.key(j)).collect()
        };
        Weighted {
            element_key: Keys::new(scheme.seed, Purpose::Elements).key(0),
            sample_keys: all(Purpose::Samples),
            draw_keys: all(Purpose::Weights),
        }
    }

    /// The samples of a set of distinct elements with weights above 0 (SAMPLE-10).
    pub(crate) fn sample(&self, set: &[(u64, f64)], samples: &mut [u64]) {
        for (j, sample) in samples.iter_mut().enumerate() {
            let mut best = (f64::INFINITY, 0, 0);
            for &(x, weight) in set {
                let h = stir(x ^ self.element_key);
                let draw = mix(h ^ self.draw_keys[j]);
                let r = -ln(product(draw));
                let g = -ln(product(Keys::below(draw).key(0)));
                let u = unit(Keys::below(draw).key(1));
                let t = (ln(weight) / r + u).floor();
                let rank = ln(g) - r * (t - u) - r;
                if rank < best.0 || rank == best.0 && h < best.1 {
                    best = (rank, h, t as i64);
                }
            }
            let (_, h, t) = best;
            let pair = mix(h.wrapping_add(GOLDEN.wrapping_mul(t as u64)));
            *sample = mix(pair ^ self.sample_keys[j]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheme::presets;

    /// SAMPLE-10: a sample (x, t) stays while the weights of others fall.
    #[test]
    fn smaller_weights_of_others_change_no_sample() {
        let scheme = Scheme::new(presets::WEIGHTED).unwrap();
        let weighted = Weighted::new(&scheme);
        let samples_of = |set: &[(u64, f64)]| {
            let mut samples = vec![0; 64];
            weighted.sample(set, &mut samples);
            samples
        };
        let set: Vec<(u64, f64)> = (0..30).map(|i| (i, 1.3_f64.powi(i as i32 - 15))).collect();
        let whole = samples_of(&set);
        let mut kept = 0;
        for fallen in 0..30 {
            let mut fewer = set.clone();
            fewer[fallen].1 /= 2.0;
            let own = samples_of(&set[fallen..=fallen]);
            for (j, sample) in samples_of(&fewer).into_iter().enumerate() {
                if whole[j] != own[j] {
                    assert_eq!(sample, whole[j], "element {fallen} sample {j}");
                    kept += 1;
                }
            }
        }
        assert!(kept > 1500, "{kept}");
    }
}
