//! `Lazy`: the distribution of independent permutations for a hash or two an element. Broder and Mitzenmacher's
//! thought: compare the random numbers of elements bit by bit, and draw no bit that is not looked at.
//!
//! In: the elements of a set that is not empty. Out: as many samples as are drawn. Normative:
//! `format-spec/hashing.md`.
//!
//! For each block of m samples an element draws in how many of them it has the leading "zero" that one in m
//! elements has, and in which: it *claims* those samples. Claims are settled by the bits that follow, the
//! extension, and those by a word of its own where they are equal. Every sample thus has an order of all elements,
//! and its winner is the first of the set: taking other elements away never changes it. A sample that nobody claims is
//! won by the tie words of all elements, for which they have to be looked at once more.

use super::hash::{Keys, Purpose, mix, stir};
use crate::scheme::Scheme;

/// Most samples of a block (SAMPLE-8). In sets of a thousand elements nearly all are claimed.
const BLOCK: u64 = 128;

/// The sampler with its keys and tables made ready.
pub(crate) struct Lazy {
    element_key: u64,
    sample_keys: Vec<u64>,
    tie_keys: Vec<u64>,
    blocks: Vec<Block>,
}

/// Samples that an element draws its claims of together.
struct Block {
    key: u64,
    start: usize,
    width: u64,
    /// An element claims as many samples as there are thresholds that its word reaches.
    thresholds: Vec<u64>,
}

/// What is known of the elements that were looked at.
#[derive(Default)]
pub(crate) struct Claims {
    /// Of each sample the greatest extension, and the hash of the element it belongs to.
    best: Vec<Option<(u64, u64)>>,
}

impl Lazy {
    pub(crate) fn new(scheme: &Scheme) -> Lazy {
        let drawn = u64::from(scheme.drawn_samples());
        let all = |purpose| {
            let keys = Keys::new(scheme.seed, purpose);
            (0..drawn).map(move |j| keys.key(j)).collect()
        };
        let m = drawn.clamp(2, BLOCK);
        let keys = Keys::new(scheme.seed, Purpose::Blocks);
        let blocks = (0..drawn.div_ceil(m)).map(|i| {
            let width = m.min(drawn - i * m);
            let (key, start) = (keys.key(i), (i * m) as usize);
            Block { key, start, width, thresholds: thresholds(width, m) }
        });
        Lazy {
            element_key: Keys::new(scheme.seed, Purpose::Elements).key(0),
            sample_keys: all(Purpose::Samples),
            tie_keys: all(Purpose::Ties),
            blocks: blocks.collect(),
        }
    }

    /// No claims yet.
    pub(crate) fn start(&self, claims: &mut Claims) {
        claims.best.clear();
        claims.best.resize(self.sample_keys.len(), None);
    }

    /// Takes the claims of elements (SAMPLE-8, SAMPLE-9).
    pub(crate) fn absorb(&self, elements: &[u64], claims: &mut Claims) {
        for block in &self.blocks {
            for &x in elements {
                let h = stir(x ^ self.element_key);
                let draw = mix(h ^ block.key);
                let count = block.thresholds.iter().take_while(|t| **t <= draw).count() as u64;
                let mut taken = 0_u128;
                for t in 1..=count {
                    let range = block.width - count + t;
                    let z = u128::from(Keys::below(draw).key(t - 1)) * u128::from(range);
                    let mut place = (z >> 64) as u64;
                    if taken >> place & 1 == 1 {
                        place = range - 1;
                    }
                    taken |= 1 << place;
                    self.claim(block.start + place as usize, z as u64, h, claims);
                }
            }
        }
    }

    fn claim(&self, sample: usize, extension: u64, h: u64, claims: &mut Claims) {
        let best = &mut claims.best[sample];
        let wins = match *best {
            None => true,
            Some((other, holder)) if other == extension => {
                self.tie_word(h, sample) < self.tie_word(holder, sample)
            }
            Some((other, _)) => extension > other,
        };
        if wins {
            *best = Some((extension, h));
        }
    }

    fn tie_word(&self, h: u64, sample: usize) -> u64 {
        mix(h ^ self.tie_keys[sample])
    }

    /// Whether every sample is claimed: then elements that were looked at are needed no more.
    pub(crate) fn complete(&self, claims: &Claims) -> bool {
        claims.best.iter().all(Option::is_some)
    }

    /// The samples (SAMPLE-9). `elements` are all that were absorbed, unless the claims are complete.
    pub(crate) fn finish(&self, elements: &[u64], claims: &Claims, samples: &mut [u64]) {
        for (j, (sample, best)) in samples.iter_mut().zip(&claims.best).enumerate() {
            let winner = match best {
                Some((_, h)) => *h,
                None => {
                    let hashes = elements.iter().map(|x| stir(x ^ self.element_key));
                    hashes.min_by_key(|h| self.tie_word(*h, j)).unwrap_or(0)
                }
            };
            *sample = mix(winner ^ self.sample_keys[j]);
        }
    }
}

/// `T_v = 2^64 Pr[c <= v]`, where c is how many of `width` samples an element claims, each with probability
/// 1/m (SAMPLE-8).
fn thresholds(width: u64, m: u64) -> Vec<u64> {
    let m = u128::from(m);
    let mut probability = (0..width).fold(1_u128 << 96, |p, _| p * (m - 1) / m);
    let mut sum = 0;
    let mut all = Vec::new();
    for v in 0..u128::from(width) {
        sum += probability;
        all.push((sum >> 32) as u64);
        probability = probability * (u128::from(width) - v) / ((v + 1) * (m - 1));
        if probability == 0 {
            break;
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SAMPLE-8: the check values of the binomial distribution at m = 128.
    #[test]
    fn claims_are_binomial() {
        let all = thresholds(128, 128);
        let shares: Vec<f64> = all.iter().map(|t| *t as f64 / 64_f64.exp2()).collect();
        let expected = [0.366438, 0.369323, 0.184662, 0.061069, 0.015027, 0.002934];
        let mut before = 0.0;
        for (share, expected) in shares.iter().zip(expected) {
            assert!((share - before - expected).abs() < 1e-6, "{share} {expected}");
            before = *share;
        }
        assert!(all.is_sorted() && all.len() > 12);
    }

    /// SAMPLE-9: a sample that is still available after elements were taken away is still the sample.
    #[test]
    fn fewer_elements_change_no_sample_of_those_that_stay() {
        use crate::scheme::{CardinalityField, Parameters, Sampler, Slots, presets};
        for (k, n) in [(1_u32, 3_u64), (32, 10), (128, 100), (200, 1500)] {
            let scheme = Scheme::new(Parameters {
                sampler: Sampler::Lazy,
                samples: k,
                cardinality: CardinalityField::None,
                slots: Slots::NONE,
                ..presets::PRECISE
            });
            let lazy = Lazy::new(&scheme.unwrap());
            let samples_of = |set: &[u64]| {
                let (mut claims, mut samples) = (Claims::default(), vec![0; k as usize]);
                lazy.start(&mut claims);
                lazy.absorb(set, &mut claims);
                lazy.finish(set, &claims, &mut samples);
                samples
            };
            let set: Vec<u64> = (0..n).map(|i| i * i + 7).collect();
            let whole = samples_of(&set);
            // Of one element alone, every sample is its own.
            let alone: Vec<Vec<u64>> = set.iter().map(|x| samples_of(&[*x])).collect();
            for cut in [2, 3, 7] {
                let left = |i: &usize| !i.is_multiple_of(cut);
                let fewer: Vec<u64> = (0..set.len()).filter(left).map(|i| set[i]).collect();
                for (j, sample) in samples_of(&fewer).into_iter().enumerate() {
                    let winner = alone.iter().position(|own| own[j] == whole[j]).unwrap();
                    assert!(!left(&winner) || sample == whole[j], "k {k} n {n} sample {j}");
                }
            }
        }
    }
}
