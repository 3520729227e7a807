//! The sampler against its definition: every sample has an order of all elements, and the first one of the set wins.

use super::*;
use crate::Sketcher;
use crate::scheme::{CardinalityField, Packing, Parameters, Sampler, Slots, presets};

fn scheme(samples: u32, seed: u64) -> Scheme {
    Scheme::new(Parameters {
        sampler: Sampler::Lazy,
        samples,
        seed,
        bits: 16,
        cardinality: CardinalityField::None,
        slots: Slots::NONE,
        ..presets::PRECISE
    })
    .unwrap()
}

/// What an element draws, exactly as SAMPLE-8 and SAMPLE-9 define it.
struct Drawn {
    /// The extension for each sample that the element claims.
    claims: Vec<Option<u64>>,
    tie_words: Vec<u64>,
    samples: Vec<u64>,
    /// The number of random words: one per block, and one per claim.
    words: usize,
}

fn drawn(scheme: &Scheme, x: u64) -> Drawn {
    let n = u64::from(scheme.drawn_samples());
    let keys = |purpose, i| Keys::new(scheme.seed, purpose).key(i);
    let h = stir(x ^ keys(Purpose::Elements, 0));
    let all = |purpose| (0..n).map(|j| mix(h ^ keys(purpose, j))).collect();
    let mut claims = vec![None; n as usize];
    let m = n.clamp(2, 128);
    let mut words = 0;
    for i in 0..n.div_ceil(m) {
        let w = m.min(n - i * m);
        let d = mix(h ^ keys(Purpose::Blocks, i));
        let c = table(w, m).iter().filter(|t| **t <= d).count() as u64;
        for t in 1..=c {
            let r = w - c + t;
            let z = u128::from(Keys::below(d).key(t - 1)) * u128::from(r);
            let (place, last) = ((z >> 64) as u64, r - 1);
            let free = claims[(i * m + place) as usize].is_none();
            let sample = i * m + if free { place } else { last };
            assert_eq!(claims[sample as usize].replace(z as u64), None, "claimed twice");
        }
        words += 1 + c as usize;
    }
    Drawn { claims, tie_words: all(Purpose::Ties), samples: all(Purpose::Samples), words }
}

/// The `T_v`, v < w, of SAMPLE-8 whose `P_v` is above 0.
fn table(w: u64, m: u64) -> Vec<u64> {
    let (w, m) = (u128::from(w), u128::from(m));
    let mut p = vec![(0..w).fold(1_u128 << 96, |p, _| p * (m - 1) / m)];
    for v in 0..w - 1 {
        p.push(p[v as usize] * (w - v) / ((v + 1) * (m - 1)));
    }
    p.retain(|p| *p > 0);
    (1..=p.len()).map(|v| (p[..v].iter().sum::<u128>() / (1 << 32)) as u64).collect()
}

/// The samples of a set, and the number of unclaimed ones.
fn definition(elements: &[Drawn]) -> (Vec<u64>, usize) {
    let samples = elements[0].samples.len();
    let winner = |j: usize| {
        // Elements that claim the sample come first, by greatest extension, then by least tie word.
        let order = |e: &&Drawn| {
            (e.claims[j].is_none(), e.claims[j].map(std::cmp::Reverse), e.tie_words[j])
        };
        elements.iter().min_by_key(order).unwrap()
    };
    let open = (0..samples).filter(|j| elements.iter().all(|e| e.claims[*j].is_none())).count();
    ((0..samples).map(|j| winner(j).samples[j]).collect(), open)
}

/// The same of the sampler.
fn sampled(
    lazy: &Lazy,
    claims: &mut Claims,
    parts: &[&[u64]],
    samples: usize,
) -> (Vec<u64>, usize) {
    let mut found = vec![0; samples];
    lazy.start(claims);
    parts.iter().for_each(|part| lazy.absorb(part, claims));
    assert_eq!(lazy.complete(claims), lazy.unclaimed(claims) == 0);
    lazy.finish(&parts.concat(), claims, &mut found);
    (found, lazy.unclaimed(claims))
}

/// SAMPLE-8, SAMPLE-9: sets and signatures of many sizes, with repeats, in any order, and all in the same working
/// memory.
#[test]
fn samples_are_those_of_the_definition() {
    for k in [1, 2, 3, 5, 31, 32, 33, 127, 128, 129, 130, 200, 256, 1000] {
        let scheme = scheme(k, u64::from(k));
        let lazy = Lazy::new(&scheme);
        let mut claims = Claims::default();
        for n in [1, 2, 3, 7, 10, 64, 127, 128, 129, 257, 400, 1500] {
            if n * k as usize > 200_000 {
                continue;
            }
            // So few numbers that some elements are repeated.
            let set: Vec<u64> = (0..n as u64).map(|i| mix(i) % (n as u64 * 4)).collect();
            let elements: Vec<Drawn> = set.iter().map(|x| drawn(&scheme, *x)).collect();
            let expected = definition(&elements);
            let mut check = |parts: &[&[u64]]| {
                let found = sampled(&lazy, &mut claims, parts, k as usize);
                assert_eq!(found, expected, "k {k} n {n}, {} parts", parts.len());
            };
            check(&[&set]);
            check(&[&set[..n / 3], &[], &set[n / 3..n / 2], &set[n / 2..]]);
            check(&[&set, &set]);
            check(&[&set.iter().rev().copied().collect::<Vec<_>>()]);
        }
    }
}

/// The same through `Sketcher`: slices, long streams that drop their elements, many sets at once, and pairs.
#[test]
fn every_way_in_leads_to_the_same_samples() {
    for (k, packing) in [
        (1, Packing::LowBits),
        (32, Packing::LowBits),
        (130, Packing::LowBits),
        (128, Packing::XorPairs),
    ] {
        let bits = if packing == Packing::XorPairs { 1 } else { 16 };
        let scheme = Scheme::new(Parameters { packing, bits, ..*scheme(k, 7) }).unwrap();
        let sketcher = Sketcher::new(&scheme);
        let sets: Vec<Vec<u64>> = [1, 5, 300, 1023, 1024, 1025, 2048, 5000, 12_000]
            .map(|n| (0..n).map(|i| mix(i) % (2 * n)).collect())
            .to_vec();
        let all = sketcher.sketch_all(&sets).unwrap();
        let mut stream = sketcher.stream();
        for (i, set) in sets.iter().enumerate() {
            let expected = sketcher.sketch(set).unwrap();
            set.iter().for_each(|x| stream.push(*x).unwrap());
            assert_eq!(stream.finish().unwrap(), expected, "k {k} n {}", set.len());
            assert_eq!(all.get(i).unwrap(), expected, "k {k} n {}", set.len());
            if set.len() <= 2048 {
                let elements: Vec<Drawn> = set.iter().map(|x| drawn(&scheme, *x)).collect();
                let (samples, _) = definition(&elements);
                for j in 0..k as usize {
                    let sample = match packing {
                        Packing::LowBits => samples[j] as u16,
                        Packing::XorPairs => ((samples[2 * j] ^ samples[2 * j + 1]) & 1) as u16,
                    };
                    assert_eq!(expected.sample(j), Some(sample), "k {k} n {} j {j}", set.len());
                }
            }
        }
    }
}

/// SAMPLE-8: check values of the binomial distribution at m = 128, and the thresholds by their definition.
#[test]
fn claims_are_binomial() {
    let shares: Vec<f64> = thresholds(128, 128).iter().map(|t| *t as f64 / 64_f64.exp2()).collect();
    let expected = [0.366438, 0.369323, 0.184662, 0.061069, 0.015027, 0.002934];
    let mut before = 0.0;
    for (share, expected) in shares.iter().zip(expected) {
        assert!((share - before - expected).abs() < 1e-6, "{share} {expected}");
        before = *share;
    }
    for m in 2..=128 {
        for width in [1, 2, 3, m / 2, m - 1, m] {
            let all = thresholds(width.max(1), m);
            assert_eq!(all, table(width.max(1) as u64, m as u64), "{width} {m}");
            assert!(all.is_sorted() && all[0] > 0);
        }
    }
}

/// SAMPLE-8: the number of words, as the module states: (1 + w/m) of 64 bits for a block of w samples.
#[test]
fn a_bit_is_drawn_for_each_element_and_sample() {
    for (k, bits) in [(32, 4.0), (128, 1.0), (200, 64.0 * (2.0 + 200.0 / 128.0) / 200.0)] {
        let scheme = scheme(k, 3);
        let elements = 40_000;
        let words: usize = (0..elements).map(|x| drawn(&scheme, x).words).sum();
        let found = 64.0 * words as f64 / (elements as f64 * f64::from(k));
        // The number of claims of an element is that of successes in k trials of probability 1/m.
        let m = f64::from(k.min(128));
        let claims = f64::from(k) / m * (1.0 - 1.0 / m);
        let error = 64.0 / f64::from(k) * (claims / elements as f64).sqrt();
        assert!((found - bits).abs() < 4.0 * error, "k {k}: {found} bits, not {bits}");
    }
}

/// SAMPLE-9: equal extensions, and the extension 0, which hashes hardly ever produce.
#[test]
fn equal_extensions_are_settled_by_tie_words() {
    let block = Block::new(5, 130, 100, 128);
    let tie_keys: Vec<u64> = (0..100).map(mix).collect();
    let (mut best, mut zeros) = (Best::default(), Vec::new());
    let mut race = Race { block: &block, best: &mut best, zeros: &mut zeros, tie_keys: &tie_keys };
    let place = 9;
    let least = |all: &[u64]| *all.iter().min_by_key(|h| mix(*h ^ tie_keys[place])).unwrap();
    let all = [11, 12, 13, 14, 11];
    for extension in [0, 1, u64::MAX] {
        for (i, h) in all.into_iter().enumerate() {
            race.claim(place, extension, h);
            assert_eq!(race.best.holders[place], least(&all[..=i]), "{extension} {i}");
            assert_eq!(race.best.extensions[place], extension);
        }
        // A smaller extension changes nothing.
        if extension > 0 {
            race.claim(place, extension - 1, 15);
            assert_eq!(race.best.holders[place], least(&all));
        }
    }
    assert_eq!(*race.zeros, [130 + place]);
    assert!(race.best.extensions.iter().enumerate().all(|(i, e)| i == place || *e == 0));
}

/// A sample that is claimed with the extension 0 is claimed. It is not settled by tie words.
#[test]
fn a_claim_of_extension_zero_counts() {
    let scheme = scheme(200, 1);
    let lazy = Lazy::new(&scheme);
    let mut claims = Claims::default();
    let set = [1, 2, 3];
    let (expected, open) = sampled(&lazy, &mut claims, &[&set], 200);
    let best = &claims.best;
    let of = |block: usize| (0..72).find(|i| best[block].extensions[*i] == 0).unwrap();
    let (first, second) = (of(0), of(1));
    lazy.start(&mut claims);
    lazy.absorb(&set, &mut claims);
    // No element of the set has the hash 77.
    for (block, place) in [(0, first), (1, second)] {
        let Claims { best, zeros, .. } = &mut claims;
        let (block, best) = (&lazy.blocks[block], &mut best[block]);
        Race { block, best, zeros, tie_keys: &lazy.tie_keys }.claim(place, 0, 77);
    }
    assert_eq!(lazy.unclaimed(&claims), open - 2);
    // It is not counted twice if a better claim follows.
    let mut better = Claims::default();
    lazy.start(&mut better);
    let Claims { best, zeros, .. } = &mut better;
    for (block, extension) in [(0, 0), (1, 0), (1, 5)] {
        let (block, best) = (&lazy.blocks[block], &mut best[block]);
        Race { block, best, zeros, tie_keys: &lazy.tie_keys }.claim(7, extension, 77);
    }
    assert_eq!(lazy.unclaimed(&better), 198);
    let mut found = vec![0; 200];
    lazy.finish(&set, &mut claims, &mut found);
    for (j, sample) in found.into_iter().enumerate() {
        let zero = j == first || j == BLOCK + second;
        let own = mix(77 ^ Keys::new(1, Purpose::Samples).key(j as u64));
        assert_eq!(sample, if zero { own } else { expected[j] }, "{j}");
    }
    // Nothing is left over for the next set.
    assert_eq!(sampled(&lazy, &mut claims, &[&set], 200), (expected, open));
}
