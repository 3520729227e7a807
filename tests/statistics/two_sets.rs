//! Two-set estimates over thousands of seeds: they are unbiased, have the stated variance, and their intervals cover
//! as often as stated. Every bound is in standard errors.

use testkit::scale::cases;
use testkit::trials;

use ringer::internals::estimate::pair::{Agreement, Sampling};
use ringer::internals::estimate::small_sets::variance_factor;
use ringer::internals::estimate::{Chance, Estimate};
use ringer::scheme::{Sampler, Universe};
use trials::{BITS, K, Regions, equal_counts, repeat};

/// The number of seeds for each case. The variance needs the most: its relative standard error is sqrt(2/4000) = 2.2
/// %, and 3.5 % in a quick run.
fn repetitions() -> u64 {
    cases(1600, 4000)
}

const RESEMBLANCES: [f64; 7] = [0.0, 0.05, 0.2, 0.5, 0.8, 0.95, 1.0];

const D: u64 = 1 << 16;

/// Returns two sets in the open universe with this resemblance (to the nearest element) and union.
fn sparse(resemblance: f64, union: u64) -> Regions {
    let shared = (resemblance * union as f64).round() as u64;
    let first = (union - shared) * 3 / 5;
    Regions::pair(first, union - shared - first, shared)
}

/// Returns two sets that fill up to .6 of the universe each. Below resemblance .2 the shares add up to .9.
fn dense(resemblance: f64) -> Regions {
    let (r1, r2) = match resemblance {
        r if r < 0.2 => (0.5, 0.4),
        r if r < 0.5 => (0.6, 0.4),
        r if r < 1.0 => (0.6, 0.6 * (r + 1.0) / 2.0),
        _ => (0.6, 0.6),
    };
    let total = (r1 + r2) * D as f64;
    let shared = (resemblance / (1.0 + resemblance) * total).round() as u64;
    let (first, second) = ((r1 * D as f64).round() as u64, (r2 * D as f64).round() as u64);
    Regions::pair(first - shared, second - shared, shared)
}

/// The theoretical values for one case.
struct Case<'a> {
    regions: &'a Regions,
    sampler: Sampler,
    universe: Universe,
    bits: u32,
}

impl Case<'_> {
    fn chance(&self) -> Chance {
        let share = |set| self.regions.size(set) as f64 / D as f64;
        match self.universe {
            Universe::Open => Chance::sparse(self.bits),
            Universe::Bounded(_) => Chance::dense(self.bits, share(0), share(1)),
        }
    }

    fn estimate(&self, equal: u32) -> Estimate {
        let total = (self.regions.size(0) + self.regions.size(1)) as f64;
        let sampling = match self.sampler {
            Sampler::OnePermutation => Sampling::OnePermutation { total_size: Some(total) },
            _ => Sampling::Independent,
        };
        Agreement { equal, samples: K, law: self.chance().into(), sampling }.estimate()
    }

    /// Returns the variance for independent samples (equation 11), and that of this sampler.
    fn variances(&self) -> (f64, f64) {
        let (r, k) = (self.regions.resemblance(), f64::from(K));
        let independent = self.chance().variance(self.chance().agreement(r)) / k;
        let factor = match self.sampler {
            Sampler::OnePermutation => variance_factor(self.regions.union() as f64, K),
            _ => 1.0,
        };
        (independent, independent + (factor - 1.0) * r * (1.0 - r) / k)
    }

    /// Checks mean, variance and coverage of the counts for one number of bits.
    fn check(&self, counts: &[u32]) {
        let (r, n) = (self.regions.resemblance(), counts.len() as f64);
        let at = format!(
            "{} {} b {} sizes {:?} R {r:.4}",
            self.sampler, self.universe, self.bits, self.regions.0
        );
        let table: Vec<Estimate> = (0..=K).map(|x| self.estimate(x)).collect();
        let values = || counts.iter().map(|x| table[*x as usize].value);
        if r == 1.0 {
            assert!(values().all(|v| v == 1.0), "{at}: not exactly 1");
        }
        let (independent, variance) = self.variances();
        let mean_error = values().sum::<f64>() / n - r;
        let bound = 4.0 * (variance / n).sqrt() + 1e-12;
        assert!(mean_error.abs() <= bound, "{at}: mean error {mean_error:.6}, bound {bound:.6}");

        if independent > 1e-9 {
            let observed = values().map(|v| (v - r) * (v - r)).sum::<f64>() / n;
            let p = self.chance().agreement(r);
            let pq = p * (1.0 - p);
            let error = ((2.0 + (1.0 - 6.0 * pq) / (f64::from(K) * pq)) / n).sqrt();
            let off = (observed / variance - 1.0).abs();
            let bound = (4.0 * error).min(0.15);
            assert!(off <= bound, "{at}: variance off by {off:.3}, bound {bound:.3}");
        }

        let covers = |x: &&u32| table[**x as usize].low <= r && r <= table[**x as usize].high;
        let covered = counts.iter().filter(covers).count() as f64 / n;
        match self.sampler {
            Sampler::OnePermutation => {
                let bound = 0.93 - 4.0 * (0.93 * 0.07 / n).sqrt();
                assert!(covered >= bound, "{at}: only {covered} covered");
            }
            _ => {
                let exact = exact_coverage(K, &self.chance(), r);
                let error = (exact * (1.0 - exact) / n).sqrt().max(0.5 / n);
                assert!((covered - exact).abs() <= 4.0 * error, "{at}: {covered} covered, {exact}");
            }
        }
    }
}

/// Returns the probability that the interval of k independent samples contains R, summed over all counts.
fn exact_coverage(k: u32, chance: &Chance, r: f64) -> f64 {
    let p = chance.agreement(r);
    // Pr[Bin(k, p) = x], computed outwards from the mode so that nothing underflows.
    let mut weights = vec![0.0; k as usize + 1];
    let mode = ((f64::from(k) + 1.0) * p).floor().min(f64::from(k)) as usize;
    weights[mode] = 1.0;
    let odds = p / (1.0 - p);
    for x in mode + 1..=k as usize {
        weights[x] = weights[x - 1] * (f64::from(k) - x as f64 + 1.0) / x as f64 * odds;
    }
    for x in (0..mode).rev() {
        weights[x] = weights[x + 1] * (x as f64 + 1.0) / (f64::from(k) - x as f64) / odds;
    }
    let covered = (0..=k).filter(|x| {
        let sampling = Sampling::Independent;
        let e = Agreement { equal: *x, samples: k, law: (*chance).into(), sampling }.estimate();
        e.low <= r && r <= e.high
    });
    covered.map(|x| weights[x as usize]).sum::<f64>() / weights.iter().sum::<f64>()
}

fn run(regions: &Regions, sampler: Sampler, universe: Universe) {
    let counts = repeat(regions, sampler, universe, repetitions(), |s| equal_counts(&s[0], &s[1]));
    for (i, bits) in BITS.into_iter().enumerate() {
        let case = Case { regions, sampler, universe, bits };
        case.check(&counts.iter().map(|c| c[i]).collect::<Vec<_>>());
    }
}

#[test]
fn independent_open() {
    for r in RESEMBLANCES {
        run(&sparse(r, 200), Sampler::Independent, Universe::Open);
    }
}

#[test]
fn independent_bounded() {
    for r in RESEMBLANCES {
        run(&dense(r), Sampler::Independent, Universe::Bounded(D));
    }
}

#[test]
fn one_permutation_open() {
    for union in [5, 20, 100, 200, 1000] {
        for r in RESEMBLANCES {
            run(&sparse(r, union), Sampler::OnePermutation, Universe::Open);
        }
    }
}

#[test]
fn one_permutation_open_large_sets() {
    for r in [0.0, 0.5, 0.95] {
        run(&sparse(r, 10_000), Sampler::OnePermutation, Universe::Open);
    }
}

#[test]
fn one_permutation_bounded() {
    for r in RESEMBLANCES {
        run(&dense(r), Sampler::OnePermutation, Universe::Bounded(D));
    }
}

/// Small sets in a bounded universe, which also copy samples and use forward sampling.
#[test]
fn small_sets_of_a_bounded_universe() {
    for sampler in [Sampler::OnePermutation, Sampler::Independent] {
        for r in [0.2, 0.8] {
            run(&sparse(r, 100), sampler, Universe::Bounded(D));
        }
    }
}

/// Coverage at all values, not only at round ones: never below .915, and from .05 on never below .928.
#[test]
fn exact_coverage_has_no_holes() {
    for k in [64, 128, 256] {
        for bits in BITS {
            for chance in [Chance::sparse(bits), Chance::dense(bits, 0.3, 0.4)] {
                for r in (0..=200).map(|r| f64::from(r) / 200.0) {
                    let covered = exact_coverage(k, &chance, r);
                    let least = if r < 0.05 { 0.915 } else { 0.928 };
                    assert!(covered >= least, "k {k} b {bits} {chance:?} R {r}: {covered:.4}");
                }
            }
        }
    }
}

#[test]
fn exact_coverage_of_independent_samples() {
    for k in [64, 128, 256] {
        for bits in BITS {
            for r in RESEMBLANCES {
                let covered = exact_coverage(k, &Chance::sparse(bits), r);
                let least = if r == 0.0 || r == 1.0 { 0.975 } else { 0.93 };
                let most = if r == 0.0 || r == 1.0 { 1.0 } else { 0.98 };
                assert!((least..=most).contains(&covered), "k {k} b {bits} R {r}: {covered:.4}");
            }
        }
    }
}
