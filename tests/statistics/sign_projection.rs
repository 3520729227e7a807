//! Sign projections compared with exact angles. Seeds are fixed. The estimate of the angle is `pi (1 - x / k)`, where
//! x of k signs agree.
//!
//! Directions are normally distributed, so the signs of two vectors agree with probability `1 - angle / pi`, whatever
//! their coordinates are. Directions of 1 and -1 only, as in many simhash implementations, have that property only in
//! the limit of many coordinates of similar size. (2, 1) and (1, 2) are 36.9 degrees apart, but their signs would be
//! those of the first and the second coordinate of the direction, which agree half of the time: 90 degrees. (2, 1)
//! and (3, 1), 8.1 degrees apart, would always agree: 0. And (1, 1) would have no sign half of the time.

use testkit::binomial;
use testkit::scale::cases;

use std::f64::consts::PI;

use rayon::prelude::*;
use ringer::scheme::Slots;
use ringer::{Scheme, Sketcher, presets};
use testkit::random::Random;

const K: u32 = 256;

fn sketcher(seed: u64) -> Sketcher {
    let (samples, slots) = (K, Slots::NONE);
    Sketcher::new(
        &Scheme::new(presets::COSINE.with_seed(seed).with_samples(samples).with_slots(slots))
            .unwrap(),
    )
}

/// Assigns coordinates to elements that do not start at 0.
fn elements(coordinates: &[f64]) -> Vec<(u64, f64)> {
    (7..).zip(coordinates.iter().copied()).collect()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Returns the angle, well-conditioned everywhere: from the lengths of sum and difference of the unit vectors.
fn angle(a: &[f64], b: &[f64]) -> f64 {
    let unit = |v: &[f64]| v.iter().map(|c| c / dot(v, v).sqrt()).collect::<Vec<_>>();
    let (a, b) = (unit(a), unit(b));
    let length = |sign: f64| {
        let sum: Vec<f64> = a.iter().zip(&b).map(|(a, b)| a + sign * b).collect();
        dot(&sum, &sum).sqrt()
    };
    2.0 * length(-1.0).atan2(length(1.0))
}

/// Returns how many signs agree, under many seeds.
fn counts(a: &[(u64, f64)], b: &[(u64, f64)], repetitions: u64) -> Vec<u32> {
    let count = |seed| {
        let sketcher = sketcher(seed);
        let [a, b] = [a, b].map(|vector| sketcher.sketch_weighted(vector).unwrap());
        a.count_equal(&b).unwrap()
    };
    (0..repetitions).into_par_iter().map(count).collect()
}

/// Asserts that estimates of the angle have the correct mean and variance, `pi^2 P (1 - P) / k`, both within four
/// standard errors. The counts are tested, which differ from the estimates by a factor.
#[track_caller]
fn check(a: &[f64], b: &[f64], repetitions: u64, what: &str) {
    let angle = angle(a, b);
    let counts = counts(&elements(a), &elements(b), repetitions);
    binomial::check(&counts, K, 1.0 - angle / PI, &format!("{what}, angle {angle:.4}"));
}

fn random_vector(dimensions: usize, random: &mut Random) -> Vec<f64> {
    (0..dimensions).map(|_| random.unit() - 0.5).collect()
}

/// Returns a vector at a given angle to another, in a random direction.
fn turned(a: &[f64], angle: f64, random: &mut Random) -> Vec<f64> {
    let across = random_vector(a.len(), random);
    let part = dot(&across, a) / dot(a, a);
    let across: Vec<f64> = across.iter().zip(a).map(|(c, a)| c - part * a).collect();
    let scale = (dot(a, a) / dot(&across, &across)).sqrt() * angle.sin();
    a.iter().zip(&across).map(|(a, c)| a * angle.cos() + c * scale).collect()
}

/// SAMPLE-11.
#[test]
fn angles_are_unbiased_for_few_coordinates_and_many() {
    let mut random = Random(1);
    for dimensions in [2, 3, 10, 100] {
        for wanted in [0.01, 0.1, 0.4, 0.8, 1.2, PI / 2.0, 2.0, 2.8, 3.13] {
            let a = random_vector(dimensions, &mut random);
            let b = turned(&a, wanted, &mut random);
            assert!((angle(&a, &b) - wanted).abs() < 1e-9);
            check(&a, &b, cases(200, 600), &format!("{dimensions} coordinates"));
        }
    }
}

/// Cases where directions of 1 and -1 would fail.
#[test]
fn angles_of_small_integers() {
    for (a, b) in [
        ([2.0, 1.0, 0.0], [1.0, 2.0, 0.0]),
        ([2.0, 1.0, 0.0], [3.0, 1.0, 0.0]),
        ([1.0, 0.0, 0.0], [1.0, 1.0, 0.0]),
        ([1.0, 1.0, 0.0], [1.0, -1.0, 0.0]),
        ([1.0, 0.0, 0.0], [0.0, 1.0, 0.0]),
        ([5.0, 1.0, 1.0], [1.0, 5.0, -1.0]),
        ([1.0, 1.0, 1.0], [-1.0, -1.0, 1.0]),
    ] {
        check(&a, &b, cases(500, 1500), &format!("{a:?} {b:?}"));
    }
}

/// For plain sets the cosine is the number of shared elements over the geometric mean of the sizes.
#[test]
fn plain_sets_are_vectors_of_ones() {
    let (a, b): (Vec<u64>, Vec<u64>) = ((0..40).collect(), (30..120).collect());
    let p = 1.0 - (10.0 / (40.0 * 90.0_f64).sqrt()).acos() / PI;
    let counts: Vec<u32> = (0..600)
        .map(|seed| {
            let sketcher = sketcher(seed);
            let [a, b] = [&a, &b].map(|set| sketcher.sketch(set).unwrap());
            a.count_equal(&b).unwrap()
        })
        .collect();
    binomial::check(&counts, K, p, "plain sets");
}

/// Angles 0 and pi are exact, and lengths do not matter, however large or small.
#[test]
fn lengths_do_not_matter() {
    let mut random = Random(3);
    for dimensions in [1, 2, 3, 10, 100] {
        let vector = random_vector(dimensions, &mut random);
        let sketcher = sketcher(dimensions as u64);
        let sketch = |factor: f64| {
            let scaled: Vec<f64> = vector.iter().map(|c| c * factor).collect();
            sketcher.sketch_weighted(&elements(&scaled)).unwrap()
        };
        let one = sketch(1.0);
        for factor in [0.3, 7.0, 1e-150, 1e-290, 1e150, 1e308] {
            assert_eq!(sketch(factor), one, "{dimensions} {factor}");
            assert_eq!(sketch(-factor).count_equal(&one), Ok(0), "{dimensions} {factor}");
        }
    }
    // Angles between vectors of very different lengths.
    for factor in [1e-300, 1e-9, 1e200, 1e308] {
        let (a, b) = ([0.3, -0.2, 0.9], [-0.1, 0.8, 0.7]);
        let scaled = b.map(|c| c * factor);
        let counts = counts(&elements(&a), &elements(&scaled), 300);
        binomial::check(&counts, K, 1.0 - angle(&a, &b) / PI, &format!("length {factor}"));
    }
    // Coordinates of very different sizes: only the largest counts.
    let [a, b] = [[1e300, 1e-300], [1e300, -1e-300]].map(|vector| elements(&vector));
    assert!(counts(&a, &b, 20).iter().all(|count| *count == K));
}
