//! Weighted samples compared with the exact weighted resemblance: the sum of the smaller weights over the sum of the
//! larger.
//!
//! Seeds are fixed. Means and variances must be within four standard errors of those of independent samples that
//! agree with probability `2^-b + (1 - 2^-b) J`.

use testkit::binomial;
use testkit::real;
use testkit::scale::cases;

use std::collections::BTreeMap;

use proptest::prelude::*;
use rayon::prelude::*;
use ringer::features::{DocumentFrequencies, tokens};
use ringer::scheme::{CardinalityField, Sampler, Slots};
use ringer::{Scheme, Signature, Sketcher, presets};
use statrs::distribution::{Binomial, DiscreteCDF};
use testkit::random::Random;

type Weights = Vec<(u64, f64)>;

const K: u32 = 64;

/// The numbers of bits that are tested. Fewer bits are the low ones of more.
const BITS: [u32; 4] = [1, 2, 8, 16];

fn sketcher(seed: u64) -> Sketcher {
    let (samples, bits, slots) = (K, 16, Slots::NONE);
    let parameters =
        presets::WEIGHTED.with_seed(seed).with_samples(samples).with_bits(bits).with_slots(slots);
    Sketcher::new(&Scheme::new(parameters).unwrap())
}

fn samples(signature: &Signature) -> Vec<u16> {
    (0..K as usize).map(|j| signature.sample(j).unwrap()).collect()
}

/// Returns the weighted resemblance by its definition.
fn exact(a: &[(u64, f64)], b: &[(u64, f64)]) -> f64 {
    let mut both: BTreeMap<u64, [f64; 2]> = BTreeMap::new();
    a.iter().for_each(|(x, weight)| both.entry(*x).or_default()[0] += weight);
    b.iter().for_each(|(x, weight)| both.entry(*x).or_default()[1] += weight);
    let sum = |of: fn(f64, f64) -> f64| both.values().map(|[a, b]| of(*a, *b)).sum::<f64>();
    sum(f64::min) / sum(f64::max)
}

/// Asserts that the agreements of two sets under many seeds have the mean and variance of `resemblance`, for all of
/// [`BITS`].
#[track_caller]
fn check(a: &[(u64, f64)], b: &[(u64, f64)], resemblance: f64, repetitions: u64, what: &str) {
    let counts: Vec<[u32; 4]> = (0..repetitions)
        .into_par_iter()
        .map(|seed| {
            let sketcher = sketcher(seed);
            let [a, b] = [a, b].map(|set| sketcher.sketch_weighted(set).unwrap());
            let pairs: Vec<u16> =
                samples(&a).iter().zip(samples(&b)).map(|(a, b)| *a ^ b).collect();
            let counts = BITS.map(|bits| {
                let low = ((1_u32 << bits) - 1) as u16;
                pairs.iter().filter(|different| **different & low == 0).count() as u32
            });
            assert_eq!(a.count_equal(&b), Ok(counts[3]));
            counts
        })
        .collect();
    for (i, bits) in BITS.into_iter().enumerate() {
        let chance = (-f64::from(bits)).exp2();
        let p = chance + (1.0 - chance) * resemblance;
        let counts: Vec<u32> = counts.iter().map(|counts| counts[i]).collect();
        binomial::check(&counts, K, p, &format!("{what}, b = {bits}, J = {resemblance:.4}"));
    }
}

/// Draws weights over six orders of magnitude.
fn weights(size: u64, random: &mut Random) -> Weights {
    (0..size).map(|x| (x, 10_f64.powf(6.0 * random.unit() - 3.0))).collect()
}

/// Returns the set with some weights changed by up to a factor and some elements replaced.
fn changed(set: &[(u64, f64)], factor: f64, exchanged: f64, random: &mut Random) -> Weights {
    set.iter()
        .map(|&(x, weight)| match random.unit() < exchanged {
            true => (x + 1_000_000, weight),
            false => (x, weight * factor.powf(2.0 * random.unit() - 1.0)),
        })
        .collect()
}

/// SAMPLE-10.
#[test]
fn agreements_are_those_of_weighted_resemblance() {
    let mut random = Random(1);
    let mut levels = [0; 11];
    for size in [1, 2, 3, 10, 100, 1000] {
        let repetitions = if size == 1000 { 300 } else { 1500 } / cases(3, 1);
        let set = weights(size, &mut random);
        let mut others: Vec<(String, Weights)> = vec![
            ("the same".into(), set.clone()),
            ("nothing shared".into(), set.iter().map(|(x, w)| (x + 1_000_000, *w)).collect()),
        ];
        for (factor, exchanged) in [(1.1, 0.0), (2.0, 0.0), (100.0, 0.0), (1.0, 0.2), (1.5, 0.5)] {
            let other = changed(&set, factor, exchanged, &mut random);
            others.push((format!("factor {factor}, {exchanged} exchanged"), other));
        }
        for scale in [0.9, 0.5, 1e-3] {
            let scaled = set.iter().map(|(x, weight)| (*x, weight * scale)).collect();
            others.push((format!("scaled by {scale}"), scaled));
        }
        for (what, other) in others {
            let resemblance = exact(&set, &other);
            levels[(resemblance * 10.0) as usize] += 1;
            let what = format!("{size} elements, {what}");
            check(&set, &other, resemblance, repetitions, &what);
        }
    }
    // The levels range from 0 to 1, with most values between.
    assert!(levels.iter().filter(|count| **count > 0).count() >= 8, "{levels:?}");
}

/// With all weights 1 it is the resemblance of plain sets, and the weights may be omitted.
#[test]
fn weights_of_1_give_plain_resemblance() {
    for (only, shared) in [(1, 1), (5, 20), (50, 25), (10, 190)] {
        let a: Vec<u64> = (0..only + shared).collect();
        let b: Vec<u64> = (only..2 * only + shared).collect();
        let [wa, wb] = [&a, &b].map(|set| set.iter().map(|x| (*x, 1.0)).collect::<Weights>());
        let jaccard = real::jaccard(&a, &b);
        assert!((exact(&wa, &wb) - jaccard).abs() < 1e-12);
        check(&wa, &wb, jaccard, 800, "weights of 1");
        let sketcher = sketcher(9);
        assert_eq!(sketcher.sketch(&a), sketcher.sketch_weighted(&wa));
    }
}

/// An element that occurs m times has weight m (WEIGHT-2). The resemblance equals that of the sets in which each
/// occurrence is a separate element, which plain samples also estimate.
#[test]
fn multiplicities_agree_with_the_expanded_multiset() {
    let twice = sketcher(4).sketch(&[7, 7, 8]);
    assert_eq!(twice, sketcher(4).sketch_weighted(&[(7, 2.0), (8, 1.0)]));
    let mut random = Random(2);
    for size in [3_u64, 20, 100] {
        let mut counted = || (0..size).map(|x| (x, random.word() % 6)).collect::<Vec<_>>();
        let [a, b] = [counted(), counted()];
        let listed = |set: &[(u64, u64)]| -> Vec<u64> {
            set.iter().flat_map(|(x, m)| (0..*m).map(|_| *x)).collect()
        };
        let expanded = |set: &[(u64, u64)]| -> Vec<u64> {
            set.iter().flat_map(|(x, m)| (0..*m).map(move |i| x * 100 + i)).collect()
        };
        let weighed = |set: &[(u64, u64)]| -> Weights {
            set.iter().filter(|(_, m)| *m > 0).map(|(x, m)| (*x, *m as f64)).collect()
        };
        let resemblance = exact(&weighed(&a), &weighed(&b));
        assert!((resemblance - real::jaccard(&expanded(&a), &expanded(&b))).abs() < 1e-12);
        check(&weighed(&a), &weighed(&b), resemblance, 800, "multiplicities");
        assert_eq!(
            sketcher(5).sketch(&listed(&a)),
            sketcher(5).sketch_weighted(&weighed(&a)),
            "{size}"
        );
        let counts: Vec<u32> = (0..800)
            .map(|seed| {
                let (sampler, samples, bits) = (Sampler::Independent, K, 16);
                let (cardinality, slots) = (CardinalityField::None, Slots::NONE);
                let plain = presets::PRECISE
                    .with_sampler(sampler)
                    .with_seed(seed)
                    .with_samples(samples)
                    .with_bits(bits)
                    .with_cardinality(cardinality)
                    .with_slots(slots);
                let plain = Sketcher::new(&Scheme::new(plain).unwrap());
                let [a, b] = [&a, &b].map(|set| plain.sketch(&expanded(set)).unwrap());
                a.count_equal(&b).unwrap()
            })
            .collect();
        let chance = (-16_f64).exp2();
        let p = chance + (1.0 - chance) * resemblance;
        binomial::check(&counts, K, p, "independent samples of the expanded sets");
    }
}

/// Weights in other units change the samples, but not their agreement.
#[test]
fn weight_units_do_not_matter() {
    let mut random = Random(3);
    let set = weights(40, &mut random);
    let other = changed(&set, 3.0, 0.3, &mut random);
    let resemblance = exact(&set, &other);
    for scale in [1e-290, 1e-9, 3.7, 1e299] {
        let [a, b] = [&set, &other]
            .map(|set| -> Weights { set.iter().map(|(x, weight)| (*x, weight * scale)).collect() });
        assert!((exact(&a, &b) - resemblance).abs() < 1e-9);
        check(&a, &b, resemblance, 800, &format!("scaled by {scale}"));
        assert_ne!(sketcher(1).sketch_weighted(&a), sketcher(1).sketch_weighted(&set));
    }
}

/// Returns which element won each sample: the only one that has the same sample when it is alone.
fn winners(sketcher: &Sketcher, set: &[(u64, f64)]) -> Vec<Option<usize>> {
    let whole = samples(&sketcher.sketch_weighted(set).unwrap());
    let alone: Vec<Vec<u16>> =
        set.iter().map(|pair| samples(&sketcher.sketch_weighted(&[*pair]).unwrap())).collect();
    let winner = |(j, sample): (usize, &u16)| {
        let mut own = (0..set.len()).filter(|i| alone[*i][j] == *sample);
        let winner = own.next();
        assert!(winner.is_some(), "a sample of no element");
        winner.filter(|_| own.next().is_none())
    };
    whole.iter().enumerate().map(winner).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, rng_seed: proptest::test_runner::RngSeed::Fixed(7), failure_persistence: None, ..ProptestConfig::default() })]

    /// Consistency (SAMPLE-10): a sample stays the same while the weights of other elements fall or those elements
    /// are removed. Its element stays the same while its own weight rises.
    #[test]
    fn samples_stay_with_their_elements(
        seed: u64,
        exponents in prop::collection::vec(-300.0..300.0_f64, 1..20),
        narrow: bool,
        falls in prop::collection::vec(0.0..1.0_f64, 20),
    ) {
        let sketcher = sketcher(seed);
        let weight = |e: f64| 10_f64.powf(if narrow { e / 300.0 } else { e });
        let set: Weights = exponents.iter().map(|e| weight(*e)).enumerate()
            .map(|(i, weight)| (seed.wrapping_add(i as u64 * 3), weight)).collect();
        let whole = samples(&sketcher.sketch_weighted(&set).unwrap());
        for (j, winner) in winners(&sketcher, &set).into_iter().enumerate().step_by(7) {
            let Some(winner) = winner else { continue };
            let mut less = set.clone();
            for (i, (_, weight)) in less.iter_mut().enumerate().filter(|(i, _)| *i != winner) {
                *weight *= falls[i];
            }
            // Removes the elements whose weight fell to nothing, and a third of the rest.
            let mut place = 0;
            less.retain(|pair| {
                place += 1;
                *pair == set[winner] || pair.1 > 0.0 && falls[place - 1] < 0.67
            });
            let fewer = samples(&sketcher.sketch_weighted(&less).unwrap());
            prop_assert_eq!(fewer[j], whole[j]);
            let mut more = set.clone();
            more[winner].1 *= 1.0 + 10.0 * falls[winner];
            let alone = samples(&sketcher.sketch_weighted(&more[winner..=winner]).unwrap());
            prop_assert_eq!(samples(&sketcher.sketch_weighted(&more).unwrap())[j], alone[j]);
        }
    }
}

/// Real texts with tf-idf weights, each pair under its own seed. The mean of each level is within four standard
/// errors. A pair is an outlier if its one-sided probability is below 1 in 31,574, which corresponds to four standard
/// errors of a normal distribution. Up to three of the 2,671 pairs may be (more have a probability below 1 in
/// 25,000).
#[test]
fn words_of_descriptions() {
    let Some(folder) = real::folder("debian-desc-public") else { return };
    let text = real::read(&folder.join("Translation-en.bookworm.xz"));
    let text = String::from_utf8_lossy(&text).to_ascii_lowercase();
    let stanzas = text.split("\n\n").filter_map(|stanza| stanza.split_once("description-en: "));
    let words = |text: &str| {
        let words = text.split(|c: char| !c.is_ascii_alphanumeric());
        tokens(words.filter(|word| !word.is_empty()))
    };
    let texts: Vec<Vec<u64>> = stanzas.map(|(_, text)| words(text)).collect();
    assert!(texts.len() > 50_000, "{}", texts.len());
    let mut frequencies = DocumentFrequencies::new();
    texts.iter().for_each(|text| frequencies.add(text));
    // Packages are sorted by name, so related ones are near each other.
    let mut levels: Vec<Vec<(usize, usize, f64)>> = vec![Vec::new(); 10];
    for (i, near) in (0..texts.len()).step_by(11).zip([1, 2, 40].into_iter().cycle()) {
        let j = (i + near) % texts.len();
        let resemblance = exact(&frequencies.weigh(&texts[i]), &frequencies.weigh(&texts[j]));
        levels[((resemblance * 10.0) as usize).min(9)].push((i, j, resemblance));
    }
    let (mut pairs, mut far_off) = (0, 0);
    for (level, all) in levels.iter().enumerate() {
        let all = &all[..all.len().min(cases(200, 500))];
        let shown: Vec<(f64, f64)> = all
            .par_iter()
            .filter(|(.., resemblance)| *resemblance < 1.0)
            .map(|&(i, j, resemblance)| {
                let sketcher = sketcher((i + j) as u64);
                let [a, b] = [i, j].map(|i| frequencies.weigh(&texts[i]));
                let [a, b] = [a, b].map(|set| sketcher.sketch_weighted(&set).unwrap());
                let p = resemblance + (1.0 - resemblance) / 65536.0;
                let count = a.count_equal(&b).unwrap();
                let (k, binomial) = (f64::from(K), Binomial::new(p, u64::from(K)).unwrap());
                let at_least =
                    1.0 - count.checked_sub(1).map_or(0.0, |c| binomial.cdf(u64::from(c)));
                let chance = binomial.cdf(u64::from(count)).min(at_least);
                ((f64::from(count) - k * p) / (k * p * (1.0 - p)).sqrt().max(0.5), chance)
            })
            .collect();
        let deviations: Vec<f64> = shown.iter().map(|(deviation, _)| *deviation).collect();
        let mean = deviations.iter().sum::<f64>() / deviations.len() as f64;
        let most = deviations.iter().fold(0.0, |most: f64, d| most.max(d.abs()));
        println!(
            "J from .{level}: {} pairs, off by {mean:.3} standard errors, at most {most:.1}",
            deviations.len()
        );
        assert!(deviations.len() >= 20, "level {level}: {}", deviations.len());
        assert!(mean.abs() < 4.0 / (deviations.len() as f64).sqrt(), "level {level}: {mean}");
        pairs += deviations.len();
        far_off += shown.iter().filter(|(_, chance)| *chance < 1.0 / 31_574.0).count();
    }
    println!("{far_off} of {pairs} pairs are far off");
    assert!(pairs > cases(600, 1500) && far_off <= 3, "{far_off} of {pairs}");
}
