//! Estimates of three and more sets over thousands of seeds: mean, coverage, and exactly 1 for equal sets. Bounds are
//! in standard errors, plus .002 for the bias of a ratio.

use testkit::trials;

use ringer::Estimate;
use ringer::internals::estimate::many::Patterns;
use ringer::scheme::{Sampler, Universe};
use trials::{K, Regions, repeat, samples};

const REPETITIONS: u64 = 2000;

const D: u64 = 1 << 16;

/// Estimates from the low bits of signatures of more bits.
fn estimate(
    samples: &[Vec<u16>],
    bits: u8,
    shares: Option<&[f64]>,
    union: Option<f64>,
) -> Estimate {
    let mut patterns = Patterns::new(samples.len(), bits).unwrap();
    for i in 0..K as usize {
        let values: Vec<u16> = samples.iter().map(|s| s[i] & ((1 << bits) - 1)).collect();
        patterns.add(&values).unwrap();
    }
    match shares {
        Some(shares) => patterns.dense(shares, union).unwrap(),
        None => patterns.sparse(union).unwrap(),
    }
}

fn run(regions: &Regions, sampler: Sampler, universe: Universe, all_bits: &[u8]) {
    let shares: Vec<f64> =
        (0..regions.sets()).map(|set| regions.size(set) as f64 / D as f64).collect();
    let shares = (universe != Universe::Open).then_some(&shares[..]);
    let largest = (0..regions.sets()).map(|set| regions.size(set)).max().unwrap() as f64;
    let union = (sampler == Sampler::OnePermutation).then_some(largest);
    let estimates = repeat(regions, sampler, universe, REPETITIONS, |signatures| {
        let samples: Vec<Vec<u16>> = signatures.iter().map(samples).collect();
        all_bits.iter().map(|bits| estimate(&samples, *bits, shares, union)).collect::<Vec<_>>()
    });
    let (r, n) = (regions.resemblance(), REPETITIONS as f64);
    for (i, bits) in all_bits.iter().enumerate() {
        let at = format!("{sampler} {universe} b {bits} regions {:?} R {r:.4}", regions.0);
        let each = || estimates.iter().map(|e| e[i]);
        let mean = each().map(|e| e.value).sum::<f64>() / n;
        let variance = each().map(|e| (e.value - mean).powi(2)).sum::<f64>() / n;
        let bound = 4.0 * (variance / n).sqrt() + 0.002;
        assert!((mean - r).abs() <= bound, "{at}: mean {mean:.5}, bound {bound:.5}");
        let covered = each().filter(|e| e.low <= r && r <= e.high).count() as f64 / n;
        assert!(covered >= 0.93, "{at}: only {covered} covered");
        if r == 1.0 {
            assert!(each().all(|e| e.value == 1.0), "{at}: not exactly 1");
        } else {
            // On average the stated error equals the observed one: it is at least .9 of it, and at most a quarter
            // more, except where the half sample added to each pattern dominates.
            let stated = each().map(|e| e.std_error * e.std_error).sum::<f64>() / n;
            let ratio = (stated / variance).sqrt();
            let most = if r == 0.0 { f64::INFINITY } else { 1.25 };
            assert!((0.9..most).contains(&ratio), "{at}: stated error is {ratio:.3} of observed");
        }
    }
}

/// Regions of three sets by mask 0..8: much in common, little, nested, and nothing.
fn three_sets(scale: u64) -> Vec<Regions> {
    let shapes = [
        [0, 10, 10, 10, 10, 10, 10, 60],
        [0, 40, 30, 20, 25, 15, 30, 10],
        [0, 50, 0, 30, 0, 0, 0, 70],
        [0, 30, 30, 20, 30, 20, 20, 0],
        [0, 0, 0, 0, 0, 0, 0, 150],
    ];
    shapes.map(|s| Regions(s.iter().map(|n| n * scale).collect())).to_vec()
}

#[test]
fn three_sets_open() {
    for regions in three_sets(2) {
        run(&regions, Sampler::Independent, Universe::Open, &[2, 3, 4]);
    }
}

#[test]
fn three_sets_open_one_permutation() {
    for regions in three_sets(10) {
        run(&regions, Sampler::OnePermutation, Universe::Open, &[2, 3, 4]);
    }
}

/// Fewer elements than bins: copied samples add variance, which the stated error must include.
#[test]
fn three_small_sets_one_permutation() {
    for regions in [[0, 2, 2, 1, 2, 1, 1, 8], [0, 6, 6, 2, 6, 2, 2, 16]] {
        run(&Regions(regions.to_vec()), Sampler::OnePermutation, Universe::Open, &[4, 8]);
    }
}

#[test]
fn three_sets_bounded() {
    for regions in three_sets(300) {
        run(&regions, Sampler::Independent, Universe::Bounded(D), &[2, 3, 4]);
    }
}

#[test]
fn three_sets_bounded_one_permutation() {
    for regions in three_sets(300) {
        run(&regions, Sampler::OnePermutation, Universe::Bounded(D), &[2, 3, 4]);
    }
}

#[test]
fn four_and_five_sets_open() {
    let four = [0, 40, 30, 20, 20, 10, 10, 15, 25, 5, 10, 10, 10, 10, 10, 100];
    let mut five: Vec<u64> = (0..32).map(|region| 3 + region % 5).collect();
    five[0] = 0;
    five[31] = 120;
    run(&Regions(four.to_vec()), Sampler::Independent, Universe::Open, &[2, 3, 4]);
    run(&Regions(five), Sampler::Independent, Universe::Open, &[3, 4]);
    let none = [0, 40, 30, 20, 20, 10, 10, 15, 25, 5, 10, 10, 10, 10, 10, 0];
    run(&Regions(none.to_vec()), Sampler::Independent, Universe::Open, &[3, 4]);
}

#[test]
fn four_sets_bounded() {
    let four = [0, 40, 30, 20, 20, 10, 10, 15, 25, 5, 10, 10, 10, 10, 10, 100];
    let scaled = Regions(four.iter().map(|n| n * 150).collect());
    run(&scaled, Sampler::Independent, Universe::Bounded(D), &[3, 4]);
}
