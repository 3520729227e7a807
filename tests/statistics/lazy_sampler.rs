//! Lazy samples have the distribution of independent ones, over thousands of seeds. Every bound is 4 standard errors,
//! computed from theory: agreements of different samples are independent trials with probability P, winners of
//! different samples are independent and uniform, and claims are independent with probability 1/m.

use proptest::collection::vec;
use proptest::prelude::*;
use rayon::prelude::*;
use ringer::internals::estimate::Chance;
use ringer::scheme::{CardinalityField, Sampler, Slots};
use ringer::{Scheme, Sketcher, presets};
use testkit::scale::cases;

fn sketcher(sampler: Sampler, samples: u32, seed: u64) -> Sketcher {
    let parameters = presets::PRECISE
        .with_sampler(sampler)
        .with_samples(samples)
        .with_seed(seed)
        .with_bits(16)
        .with_cardinality(CardinalityField::None)
        .with_slots(Slots::NONE);
    Sketcher::new(&Scheme::new(parameters).expect("a valid scheme"))
}

/// Returns the samples at their full width.
fn drawn(sketcher: &Sketcher, set: &[u64]) -> Vec<u64> {
    sketcher.drawn(set).expect("a valid set").0
}

/// Asserts that `found` is within 4 standard errors of `expected`.
#[track_caller]
fn near(found: f64, expected: f64, error: f64, what: &str) {
    let off = (found - expected) / error;
    assert!(
        (found - expected).abs() <= 4.0 * error,
        "{what}: {found}, not {expected}: {off:.1} errors"
    );
}

/// The agreement of the samples of two sets, over many seeds.
struct Agreements {
    samples: usize,
    /// For each seed and sample, the bits in which the two differ.
    differences: Vec<Vec<u64>>,
}

impl Agreements {
    /// Sketches two sets with a union of `n` elements, of which `shared` are in both. The elements are consecutive
    /// numbers, which would expose a weak hash.
    fn new(sampler: Sampler, samples: u32, n: u64, shared: u64, seeds: u64) -> Agreements {
        let first: Vec<u64> = (0..shared + (n - shared) / 2).collect();
        let second: Vec<u64> = (0..shared).chain(first.len() as u64..n).collect();
        let differences = (1..=seeds).into_par_iter().map(|seed| {
            let sketcher = sketcher(sampler, samples, seed);
            let (a, b) = (drawn(&sketcher, &first), drawn(&sketcher, &second));
            a.iter().zip(b).map(|(a, b)| a ^ b).collect()
        });
        Agreements { samples: samples as usize, differences: differences.collect() }
    }

    /// Returns the agreement of the first few samples, if those do not depend on the number of samples.
    fn cut(&self, samples: usize) -> Agreements {
        let differences = self.differences.iter().map(|d| d[..samples].to_vec()).collect();
        Agreements { samples, differences }
    }

    fn measure(&self, bits: u32, p: f64) -> Measured {
        let (n, k) = (self.differences.len() as f64, self.samples as f64);
        let mask = (1_u64 << bits) - 1;
        let (mut rate, mut variance, mut pairs) = (0.0, 0.0, 0.0);
        let (mut adjacent, mut near, mut far) = (0.0, 0.0, 0.0);
        for differences in &self.differences {
            let off: Vec<f64> =
                differences.iter().map(|d| f64::from(u8::from(d & mask == 0)) - p).collect();
            let sum: f64 = off.iter().sum();
            let squares: f64 = off.iter().map(|x| x * x).sum();
            rate += sum / k;
            variance += sum * sum / (k * k);
            pairs += (sum * sum - squares) / (k * (k - 1.0));
            adjacent += off.windows(2).map(|w| w[0] * w[1]).sum::<f64>() / (k - 1.0);
            // Blocks have 128 samples.
            let blocks: Vec<f64> = off.chunks(128).map(|b| b.iter().sum()).collect();
            let within: f64 = blocks.iter().map(|b| b * b).sum::<f64>() - squares;
            near += within;
            far += sum * sum - squares - within;
        }
        let pq = p * (1.0 - p);
        Measured {
            rate: p + rate / n,
            variance: variance / n,
            pairs: pairs / n / pq,
            adjacent: adjacent / n / pq,
            near: near / n / pq,
            far: far / n / pq,
        }
    }
}

/// The rate of agreement, its variance, and the correlation between different samples: on average over all pairs and
/// over neighbours, and in sum over pairs of the same block and of different blocks.
#[derive(Debug)]
struct Measured {
    rate: f64,
    variance: f64,
    pairs: f64,
    adjacent: f64,
    near: f64,
    far: f64,
}

impl Measured {
    /// Returns the theory for k independent samples, and the standard errors over n repetitions.
    fn theory(p: f64, k: usize, n: usize) -> (Measured, Measured) {
        let last = k % 128;
        let blocks = (k / 128 * 128 * 127 + last * last.saturating_sub(1)) as f64;
        let (k, n) = (k as f64, n as f64);
        let pq = p * (1.0 - p);
        let none =
            Measured { rate: p, variance: pq / k, pairs: 0.0, adjacent: 0.0, near: 0.0, far: 0.0 };
        let errors = Measured {
            rate: (pq / k / n).sqrt(),
            variance: pq / k * ((2.0 + (1.0 - 6.0 * pq) / (k * pq)) / n).sqrt(),
            pairs: (2.0 / (k * (k - 1.0) * n)).sqrt(),
            adjacent: (1.0 / ((k - 1.0) * n)).sqrt(),
            near: (2.0 * blocks / n).sqrt(),
            far: (2.0 * (k * (k - 1.0) - blocks) / n).sqrt(),
        };
        (none, errors)
    }

    fn each(&self) -> [(&'static str, f64); 6] {
        [
            ("rate", self.rate),
            ("variance", self.variance),
            ("correlation", self.pairs),
            ("correlation of neighbours", self.adjacent),
            ("correlation in blocks", self.near),
            ("correlation between blocks", self.far),
        ]
    }

    /// Asserts that all values are within 4 of these errors of `other`.
    fn check(&self, other: &Measured, errors: &Measured, times: f64, what: &str) {
        for ((found, expected), error) in self.each().iter().zip(other.each()).zip(errors.each()) {
            near(found.1, expected.1, times * error.1 + 1e-9, &format!("{what}: {}", found.0));
        }
    }
}

/// Compares lazy samples with theory, and with independent samples if they are given.
fn check(k: u32, n: u64, shared: u64, seeds: u64, independent: Option<&Agreements>) {
    let lazy = Agreements::new(Sampler::Lazy, k, n, shared, seeds);
    let r = shared as f64 / n as f64;
    for bits in [1, 4, 16] {
        let p = Chance::sparse(bits).agreement(r);
        let what = format!("n {n} k {k} b {bits} R {r}");
        let (theory, errors) = Measured::theory(p, k as usize, lazy.differences.len());
        let found = lazy.measure(bits, p);
        found.check(&theory, &errors, 1.0, &format!("lazy, {what}"));
        if let Some(independent) = independent {
            assert_eq!(independent.differences.len(), lazy.differences.len());
            let other = independent.measure(bits, p);
            other.check(&theory, &errors, 1.0, &format!("independent, {what}"));
            found.check(&other, &errors, f64::sqrt(2.0), &format!("lazy and independent, {what}"));
        }
    }
}

/// Both samplers at n = 10 to 1,000, k = 32 and 128. Independent samples do not depend on the number of samples.
#[test]
fn agreements_are_those_of_independent_samples() {
    for (n, seeds) in [(10, 8000), (100, 8000), (1000, 2000)] {
        let seeds = seeds / cases(4, 1);
        for shared in [3 * n / 10, n / 2, 8 * n / 10] {
            let independent = Agreements::new(Sampler::Independent, 128, n, shared, seeds);
            check(128, n, shared, seeds, Some(&independent));
            check(32, n, shared, seeds, Some(&independent.cut(32)));
        }
    }
}

/// Sets of 10,000 elements. Independent samples of these are slow, so they are drawn for one resemblance only.
#[test]
fn agreements_of_large_sets() {
    let (n, seeds) = (10_000, cases(200, 2000));
    let independent = Agreements::new(Sampler::Independent, 128, n, n / 2, seeds);
    check(128, n, n / 2, seeds, Some(&independent));
    check(32, n, n / 2, seeds, Some(&independent.cut(32)));
    for shared in [3000, 8000] {
        check(128, n, shared, seeds, None);
        check(32, n, shared, seeds, None);
    }
}

/// Several blocks, and numbers of samples that do not fill a block.
#[test]
fn agreements_in_several_blocks() {
    for (k, n) in [(2, 10), (3, 4), (129, 50), (200, 20), (256, 100), (300, 400)] {
        check(k, n, n / 2, cases(1000, 4000), None);
    }
}

/// Returns which element won each sample, over many seeds, for sets small enough to ask every element.
fn winners(sampler: Sampler, k: u32, n: u64, seeds: u64) -> Vec<Vec<usize>> {
    let set: Vec<u64> = (0..n).collect();
    let winners_of = |seed| {
        let sketcher = sketcher(sampler, k, seed);
        let alone: Vec<Vec<u64>> = set.iter().map(|x| drawn(&sketcher, &[*x])).collect();
        let winner = |(j, sample)| alone.iter().position(|own| own[j] == sample);
        let samples = drawn(&sketcher, &set).into_iter().enumerate();
        samples.map(|sample| winner(sample).expect("an element's own sample")).collect()
    };
    (1..=seeds).into_par_iter().map(winners_of).collect()
}

/// Asserts that the chi-square of counts that should be equal is within 4 standard errors of its mean.
#[track_caller]
fn equal_counts(counts: &[u32], what: &str) {
    let total: u32 = counts.iter().sum();
    let expected = f64::from(total) / counts.len() as f64;
    let square = |c: &u32| (f64::from(*c) - expected).powi(2) / expected;
    let freedom = counts.len() as f64 - 1.0;
    near(counts.iter().map(square).sum(), freedom, (2.0 * freedom).sqrt(), what);
}

/// Every element wins every sample equally often and independently: two samples have the same winner with probability
/// 1/n.
#[test]
fn winners_are_uniform_and_independent() {
    for (k, n, seeds) in [
        (2, 3, 60_000),
        (3, 2, 60_000),
        (32, 10, 20_000),
        (128, 10, 4000),
        (128, 100, 2000),
        (200, 30, 2000),
    ] {
        for sampler in [Sampler::Lazy, Sampler::Independent] {
            let what = format!("{sampler}, k {k} n {n}");
            let all = winners(sampler, k, n, seeds / cases(4, 1));
            let (n, samples) = (n as usize, k as usize);
            let mut wins = vec![0; n];
            let mut places = vec![0; n * samples];
            let mut same = [0.0, 0.0];
            for winners in &all {
                let mut own = vec![0_u32; n];
                for (j, winner) in winners.iter().enumerate() {
                    wins[*winner] += 1;
                    places[j * n + winner] += 1;
                    own[*winner] += 1;
                }
                let pairs = |c: &u32| f64::from(c * c.saturating_sub(1)) / 2.0;
                same[0] += own.iter().map(pairs).sum::<f64>();
                same[1] += winners.windows(2).filter(|w| w[0] == w[1]).count() as f64;
            }
            equal_counts(&wins, &format!("{what}: wins of elements"));
            equal_counts(&places, &format!("{what}: wins of elements in samples"));
            let share = 1.0 / n as f64;
            let pairs = [samples * (samples - 1) / 2, samples - 1];
            for (same, pairs) in same.into_iter().zip(pairs) {
                let trials = (pairs * all.len()) as f64;
                let error = (share * (1.0 - share) / trials).sqrt();
                near(same / trials, share, error, &format!("{what}: same winner, {pairs} pairs"));
            }
        }
    }
}

/// A set of n elements leaves each sample unclaimed with probability (1 - 1/m)^n, independently (SAMPLE-8).
#[test]
fn unclaimed_samples_are_as_many_as_they_should_be() {
    for k in [1_u32, 2, 3, 8, 32, 128, 200] {
        let sketcher = sketcher(Sampler::Lazy, k, u64::from(k));
        for n in [1, 3, 10, 30, 100, 300, 1000, 10_000] {
            let sets = if n > 100 { 2000 } else { 20_000 } / cases(16, 1);
            let unclaimed_of = |i: u64| {
                let set: Vec<u64> = (i * n..(i + 1) * n).collect();
                sketcher.drawn(&set).expect("a valid set").1
            };
            let counts: Vec<usize> = (0..sets).into_par_iter().map(unclaimed_of).collect();
            let m = f64::from(k.clamp(2, 128));
            let (k, sets) = (f64::from(k), sets as f64);
            let p = (1.0 - 1.0 / m).powf(n as f64);
            let what = format!("k {k} n {n}: unclaimed samples");
            let mean = counts.iter().sum::<usize>() as f64 / sets;
            near(mean, k * p, (k * p * (1.0 - p) / sets).sqrt(), &what);
            // The variance is that of independent trials. Where almost none are unclaimed, it says nothing.
            let variance = k * p * (1.0 - p);
            if variance * sets > 1000.0 {
                let square = |c: &usize| (*c as f64 - k * p).powi(2);
                let found = counts.iter().map(square).sum::<f64>() / sets;
                let excess = (1.0 - 6.0 * p * (1.0 - p)) / variance;
                let error = variance * ((2.0 + excess) / sets).sqrt();
                near(found, variance, error, &format!("{what}, variance"));
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    /// Removing elements never changes a sample whose winner remains (SAMPLE-9). If the winner of the whole set is in
    /// a part, it is also that part's winner. So every sample of the whole equals that of one of its parts.
    #[test]
    fn a_sample_whose_winner_remains_stays(
        k in prop_oneof![1_u32..5, 31_u32..34, 126_u32..131, 200_u32..300],
        seed: u64,
        // Half of the words are small, so that sets overlap and elements repeat.
        set in vec((prop_oneof![any::<u64>(), 0_u64..500], 0..4_u8), 1..600),
    ) {
        let sketcher = sketcher(Sampler::Lazy, k, seed);
        let elements: Vec<u64> = set.iter().map(|(x, _)| *x).collect();
        let whole = drawn(&sketcher, &elements);
        let parts: Vec<Vec<u64>> = (0..4)
            .map(|part| set.iter().filter(|(_, p)| *p == part).map(|(x, _)| *x).collect())
            .filter(|part: &Vec<u64>| !part.is_empty())
            .collect();
        let samples: Vec<Vec<u64>> = parts.iter().map(|part| drawn(&sketcher, part)).collect();
        for (j, sample) in whole.iter().enumerate() {
            prop_assert!(samples.iter().any(|part| part[j] == *sample), "sample {j}");
        }
        // Removing any elements other than the winners changes nothing.
        let wins = |x: &&u64| drawn(&sketcher, &[**x]).iter().zip(&whole).any(|(a, b)| a == b);
        let winners: Vec<u64> = elements.iter().filter(wins).copied().collect();
        prop_assert_eq!(&drawn(&sketcher, &winners), &whole);
        for part in &parts {
            prop_assert_eq!(&drawn(&sketcher, &[&winners[..], part].concat()), &whole);
        }
        // Neither order nor repetition matters.
        let again: Vec<u64> = elements.iter().rev().chain(&elements).copied().collect();
        prop_assert_eq!(drawn(&sketcher, &again), whole);
    }
}
