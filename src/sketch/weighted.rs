//! `Weighted`: consistent samples of sets whose elements have weights, after Ioffe.
//!
//! In: a weighted set that is not empty ([`super::weights`]). Out: samples that agree with a probability equal to the
//! sum of the smaller weights over the sum of the larger ones. Normative: `format-spec/hashing.md`.
//!
//! For each sample, each element draws three random numbers that do not depend on its weight. Its rank depends on them
//! and on its weight, and the element of least rank wins. Most elements are ruled out before any logarithm is computed
//! ([`Round::look_at`]).

use super::hash::{GOLDEN, Keys, Purpose, mix, stir};
use super::numbers::{floor, ln, product, unit};
use crate::kernel::{Kernel, Work};
use crate::scheme::Scheme;

/// The sampler, with its keys.
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
        self.sample_by(Kernel::best(), set, samples);
    }

    fn sample_by(&self, kernel: Kernel, set: &[(u64, f64)], samples: &mut [u64]) {
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
        let keys = self.draw_keys.chunks(ROUND).zip(self.sample_keys.chunks(ROUND));
        for (samples, (keys, sample_keys)) in samples.chunks_mut(ROUND).zip(keys) {
            let ln_heaviest = libm::log(heaviest);
            let round = Round { elements: &elements, ln_heaviest, keys };
            let best = kernel.run(round);
            for (place, (sample, key)) in samples.iter_mut().zip(sample_keys).enumerate() {
                let steps = GOLDEN.wrapping_mul(best.t[place] as i64 as u64);
                *sample = mix(mix(best.h[place].wrapping_add(steps)) ^ key);
            }
        }
    }
}

/// An element, prepared for all samples.
struct Element {
    h: u64,
    /// The weight of the heaviest element over its own.
    lightness: f64,
    ln_weight: f64,
}

/// The most samples that are drawn together.
const ROUND: usize = 64;

/// The factor between a limit and what it limits. It is far larger than all rounding errors together.
const SLACK: f64 = 1.0 + 1.0 / 1_048_576.0;

/// Some samples of a set whose heaviest element comes first.
struct Round<'a> {
    elements: &'a [Element],
    ln_heaviest: f64,
    keys: &'a [u64],
}

/// The elements of least rank so far (SAMPLE-10).
struct Best {
    rank: [f64; ROUND],
    h: [u64; ROUND],
    t: [f64; ROUND],
    /// `SLACK a W`, with the least rank `ln a` and the weight W of the heaviest element.
    limit: [f64; ROUND],
}

/// The random numbers of an element. `word` and `bound` have an entry for each sample. The others have one for each
/// sample that the element may win; `place` has the indices of these samples.
struct Draws {
    word: [u64; ROUND],
    bound: [f64; ROUND],
    place: [usize; ROUND],
    v: [f64; ROUND],
    z: [f64; ROUND],
    u: [f64; ROUND],
    t: [f64; ROUND],
}

impl Work for Round<'_> {
    type Done = Best;

    #[inline(always)]
    fn run(self) -> Best {
        let infinite = [f64::INFINITY; ROUND];
        let mut best = Best { rank: infinite, h: [0; ROUND], t: [0.0; ROUND], limit: infinite };
        let (word, place, [bound, v, z, u, t]) = ([0; ROUND], [0; ROUND], [[0.5; ROUND]; 5]);
        let mut draws = Draws { word, bound, place, v, z, u, t };
        for element in self.elements {
            self.look_at(element, &mut draws, &mut best);
        }
        best
    }
}

impl Round<'_> {
    /// Finds the samples in which an element may win, and ranks it there.
    ///
    /// A rank is `ln a`, where `a = g e^-r / y` and `y = e^(r (t - u))`. y is at most the weight w, so `a >= g v / w`
    /// with `v = e^-r`. v needs no power: it is a product of two numbers taken from the word. So is z in `g = -ln z`. g
    /// is above `q + q^2/2 + q^3/3` with `q = 1 - z`. An element for which that bound exceeds the least a so far cannot
    /// win.
    ///
    /// This never changes the winner. r, g and ln w are accurate to a unit in the last place, |ln w| < 746, `2^-32 <
    /// r < 46` and `2^-98 < g v < 46`. Hence the computed rank is above `ln(g v / w) - 2^-38`, and both sides of the
    /// test are accurate to one part in 2^36. The slack of one part in 2^20 exceeds all of that. Nothing overflows: a
    /// limit is between 2^-99 and 47, since the heaviest element has `a <= g / W` and no element has `a` below `g v /
    /// W`. An element whose lightness exceeds the range of doubles cannot win.
    #[inline(always)]
    fn look_at(&self, element: &Element, draws: &mut Draws, best: &mut Best) {
        let Draws { word, bound, place, v, z, u, t } = draws;
        for ((word, bound), key) in word.iter_mut().zip(&mut *bound).zip(self.keys) {
            *word = mix(element.h ^ key);
            let q = 1.0 - product(Keys::below(*word).key(0));
            *bound = q * (1.0 + q * (0.5 + q * (1.0 / 3.0))) * product(*word) * element.lightness;
        }
        let mut count = 0;
        for (i, (bound, limit)) in bound.iter().zip(&best.limit).take(self.keys.len()).enumerate() {
            // The next sample overwrites this one unless the count rises.
            place[count % ROUND] = i;
            count += usize::from(bound < limit);
        }
        for (c, i) in place[..count].iter().enumerate() {
            let word = word[*i];
            v[c] = product(word);
            z[c] = product(Keys::below(word).key(0));
            u[c] = unit(Keys::below(word).key(1));
        }
        // Round up, so that ranks are computed four at a time. The extra entries have numbers of an earlier element.
        let filled = count.next_multiple_of(4).min(ROUND);
        for (((v, z), u), t) in v.iter().zip(&mut *z).zip(u).zip(&mut *t).take(filled) {
            (*z, *t) = rank(-ln(*v), -ln(*z), *u, element.ln_weight);
        }
        for ((i, rank), t) in place[..count].iter().zip(z).zip(t) {
            let equal = *rank == best.rank[*i];
            if *rank < best.rank[*i] || equal && element.h < best.h[*i] {
                (best.rank[*i], best.h[*i], best.t[*i]) = (*rank, element.h, *t);
                best.limit[*i] = SLACK * libm::exp(*rank + self.ln_heaviest);
            }
        }
    }
}

/// The rank of an element, and t (SAMPLE-10).
#[inline(always)]
fn rank(r: f64, g: f64, u: f64, ln_weight: f64) -> (f64, f64) {
    let t = floor(ln_weight / r + u);
    (ln(g) - r * (t - u) - r, t)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheme::{Parameters, Slots, presets};

    /// SAMPLE-10: an element that is ruled out could not have won. The oracle ranks every element, in the order of the
    /// set.
    #[test]
    fn shortcuts_change_no_sample() {
        let words = Keys::new(5, Purpose::Elements);
        for case in 0..400 {
            let word = |i: u64| words.key(case * 10_000 + i);
            let (seed, slots) = (word(0), Slots::NONE);
            let samples = [64, 1, 63, 65, 128][case as usize % 5];
            let parameters = Parameters { seed, samples, slots, ..presets::WEIGHTED };
            let scheme = Scheme::new(parameters).unwrap();
            let weighted = Weighted::new(&scheme);
            // From equal weights to the whole range of a double.
            let span = [0.0, 1e-9, 1.0, 14.0, 700.0, 1400.0][case as usize % 6];
            let middle = [0.0, -700.0, 700.0][case as usize / 6 % 3] * (1.0 - span / 1400.0);
            let size = [1, 2, 3, 10, 60, 300][case as usize / 18 % 6];
            let weight =
                |i| libm::exp(middle + span * (unit(word(i)) - 0.5)).max(f64::from_bits(1));
            let set: Vec<(u64, f64)> = (0..size).map(|i| (word(i) ^ i, weight(i + 1))).collect();
            let mut samples = vec![0; weighted.draw_keys.len()];
            weighted.sample(&set, &mut samples);
            for kernel in Kernel::available() {
                let mut same = vec![0; samples.len()];
                weighted.sample_by(kernel, &set, &mut same);
                assert_eq!(same, samples, "case {case} {}", kernel.name());
            }
            for (j, sample) in samples.into_iter().enumerate() {
                let ranks = set.iter().map(|&(x, weight)| {
                    let h = stir(x ^ weighted.element_key);
                    let word = mix(h ^ weighted.draw_keys[j]);
                    let [z, u] = [0, 1].map(|i| Keys::below(word).key(i));
                    let [r, g] = [word, z].map(|word| -libm::log(product(word)));
                    let t = (libm::log(weight) / r + unit(u)).floor();
                    (libm::log(g) - r * (t - unit(u)) - r, h, t)
                });
                let winner = ranks.min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
                let (_, h, t) = winner.unwrap();
                let pair = mix(h.wrapping_add(GOLDEN.wrapping_mul(t as i64 as u64)));
                assert_eq!(sample, mix(pair ^ weighted.sample_keys[j]), "case {case} sample {j}");
            }
        }
    }

    /// SAMPLE-10: a sample does not change when the weights of other elements fall.
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
