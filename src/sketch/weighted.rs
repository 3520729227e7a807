//! `Weighted`: consistent samples of sets whose elements have weights. Ioffe's scheme.
//!
//! In: a weighted set that is not empty ([`super::weights`]). Out: samples that agree with a probability that is the
//! sum of the smaller weights over the sum of the larger ones. Normative: `format-spec/hashing.md`.
//!
//! Each element draws, for each sample, three random numbers that do not depend on its weight; its rank does, and the element
//! of least rank wins. Most cannot win, which is seen before any logarithm is taken ([`Best::look_at`]).

use super::hash::{GOLDEN, Keys, Purpose, mix, stir};
use super::numbers::{floor, ln, product, unit};
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
        let heaviest = set.iter().map(|(_, weight)| *weight).fold(0.0, f64::max);
        let mut elements: Vec<Element> = set
            .iter()
            .map(|&(x, weight)| Element {
                h: stir(x ^ self.element_key),
                lightness: heaviest / weight,
                ln_weight: libm::log(weight),
            })
            .collect();
        elements.sort_unstable_by(|a, b| a.lightness.total_cmp(&b.lightness));
        let ln_heaviest = libm::log(heaviest);
        for (j, sample) in samples.iter_mut().enumerate() {
            let mut best = Best::new(ln_heaviest);
            for part in elements.chunks(PART) {
                best.look_at(part, self.draw_keys[j]);
            }
            let pair = mix(best.h.wrapping_add(GOLDEN.wrapping_mul(best.t as i64 as u64)));
            *sample = mix(pair ^ self.sample_keys[j]);
        }
    }
}

/// Elements that are looked at together.
const PART: usize = 64;

/// Limits are larger by this than what they limit, which is far more than all roundings together.
const SLACK: f64 = 1.0 + 1.0 / 1_048_576.0;

/// What all samples ask of an element.
struct Element {
    h: u64,
    /// The weight of the heaviest element over its own.
    lightness: f64,
    ln_weight: f64,
}

/// The element of least rank so far (SAMPLE-10).
struct Best {
    rank: f64,
    h: u64,
    t: f64,
    ln_heaviest: f64,
    /// `SLACK a W`, with the least rank `ln a` and the weight W of the heaviest element.
    limit: f64,
}

impl Best {
    fn new(ln_heaviest: f64) -> Best {
        Best { rank: f64::INFINITY, h: 0, t: 0.0, ln_heaviest, limit: f64::INFINITY }
    }

    /// Looks at elements, the heaviest of the set among the first.
    ///
    /// A rank is `ln a`, where `a = g e^-r / y` and `y = e^(r (t - u))`, which is w or less: so `a >= g v / w` with `v = e^-r`.
    /// This v is no power to be computed but a product of two numbers that come with the word, and so is z in `g = -ln z`, which is
    /// above `q + q^2/2 + q^3/3` with `q = 1 - z`. An element for which that is above the least a so far cannot win. With
    /// one logarithm r is known and with it `e^(r f)`, f being what t lost when it was rounded down: the
    /// factor by which `a` is above `g v / w`.
    ///
    /// That neither test ever changes the winner: r, g and ln w are good to a unit in the last place, |ln w| < 746,
    /// `2^-32 < r < 46` and `2^-98 < g v < 46`. Hence the rank, as it is computed, is `ln(g v e^(r f) / w)` to within 2^-38, and both
    /// sides of the tests are good to one part in 2^36. The slack of one part in 2^20 is more than all of that. Nor
    /// is anything out of range: a limit is between 2^-99 and 47, since the heaviest element has `a <= g / W` and no
    /// element `a` below `g v / W`; and where the lightness of an element is beyond what doubles hold, it cannot win.
    #[inline]
    fn look_at(&mut self, part: &[Element], key: u64) {
        let mut words = [0; PART];
        let mut bounds = [f64::INFINITY; PART];
        let mut least = f64::INFINITY;
        for ((element, word), bound) in part.iter().zip(&mut words).zip(&mut bounds) {
            *word = mix(element.h ^ key);
            let q = 1.0 - product(Keys::below(*word).key(0));
            *bound = q * (1.0 + q * (0.5 + q * (1.0 / 3.0))) * product(*word) * element.lightness;
            least = least.min(*bound);
        }
        // The most promising one first: then few of the others are evaluated.
        for turn in 0..2 {
            for ((element, word), bound) in part.iter().zip(words).zip(&bounds) {
                let wanted = if turn == 0 { *bound == least } else { *bound != least };
                if wanted && *bound < self.limit {
                    self.evaluate(element, word, *bound);
                }
            }
        }
    }

    #[inline]
    fn evaluate(&mut self, element: &Element, word: u64, bound: f64) {
        let draw = Draw::new(word, element.ln_weight);
        let e = draw.r * draw.lost;
        if bound * (1.0 + e * (1.0 + e * (0.5 + e * (1.0 / 6.0)))) >= self.limit {
            return;
        }
        let rank = draw.rank();
        if rank < self.rank || rank == self.rank && element.h < self.h {
            (self.rank, self.h, self.t) = (rank, element.h, draw.t);
            self.limit = SLACK * libm::exp(rank + self.ln_heaviest);
        }
    }
}

/// The random numbers of an element for one sample, and what its weight makes of them (SAMPLE-10).
struct Draw {
    word: u64,
    r: f64,
    u: f64,
    t: f64,
    /// By how much t was rounded down.
    lost: f64,
}

impl Draw {
    #[inline]
    fn new(word: u64, ln_weight: f64) -> Draw {
        let r = -ln(product(word));
        let u = unit(Keys::below(word).key(1));
        let steps = ln_weight / r + u;
        let t = floor(steps);
        Draw { word, r, u, t, lost: steps - t }
    }

    #[inline]
    fn rank(&self) -> f64 {
        let g = -ln(product(Keys::below(self.word).key(0)));
        ln(g) - self.r * (self.t - self.u) - self.r
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheme::{Parameters, presets};

    /// SAMPLE-10: what is left out could not have won. Every element evaluated in full, in the order of the set.
    #[test]
    fn shortcuts_change_no_sample() {
        let words = Keys::new(5, Purpose::Elements);
        for case in 0..400 {
            let word = |i: u64| words.key(case * 10_000 + i);
            let scheme = Scheme::new(Parameters { seed: word(0), ..presets::WEIGHTED }).unwrap();
            let weighted = Weighted::new(&scheme);
            // From equal weights to all that a double can hold.
            let span = [0.0, 1e-9, 1.0, 14.0, 700.0, 1400.0][case as usize % 6];
            let middle = [0.0, -700.0, 700.0][case as usize / 6 % 3] * (1.0 - span / 1400.0);
            let size = [1, 2, 3, 10, 60, 300][case as usize / 18 % 6];
            let weight =
                |i| libm::exp(middle + span * (unit(word(i)) - 0.5)).max(f64::from_bits(1));
            let set: Vec<(u64, f64)> = (0..size).map(|i| (word(i) ^ i, weight(i + 1))).collect();
            let mut samples = vec![0; 64];
            weighted.sample(&set, &mut samples);
            for (j, sample) in samples.into_iter().enumerate() {
                let ranks = set.iter().map(|&(x, weight)| {
                    let h = stir(x ^ weighted.element_key);
                    let draw = Draw::new(mix(h ^ weighted.draw_keys[j]), libm::log(weight));
                    (draw.rank(), h, draw.t)
                });
                let winner = ranks.min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
                let (_, h, t) = winner.unwrap();
                let pair = mix(h.wrapping_add(GOLDEN.wrapping_mul(t as i64 as u64)));
                assert_eq!(sample, mix(pair ^ weighted.sample_keys[j]), "case {case} sample {j}");
            }
        }
    }

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
