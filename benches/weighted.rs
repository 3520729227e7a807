//! Weighted sets and vectors to signatures, compared with full evaluation of the same random numbers.
//!
//! Both sides run in turn in one process, and the best of many rounds counts. Independent samples of the plain sets
//! are included for reference. One thread.

#[path = "ratio/mod.rs"]
mod ratio;

use std::hint::black_box;

use ratio::Ratio;
use ringer::scheme::{CardinalityField, Sampler, Slots};
use ringer::{Scheme, Sketcher, presets};
use testkit::random::{Random, mix};

type Weights = Vec<(u64, f64)>;

fn product(word: u64) -> f64 {
    let half = |word: u64| (word as f64 + 0.5) / 4_294_967_296.0;
    half(word >> 32) * half(word & 0xFFFF_FFFF)
}

fn unit(word: u64) -> f64 {
    ((word >> 12) as f64 + 0.5) / 4_503_599_627_370_496.0
}

/// Ioffe's samples, with every element evaluated for every sample: three words, three logarithms. Logarithms of
/// weights are computed once.
fn plain_weighted(set: &[(u64, f64)], samples: &mut [u64]) {
    let logarithms: Vec<f64> = set.iter().map(|(_, weight)| libm::log(*weight)).collect();
    for (j, sample) in samples.iter_mut().enumerate() {
        let mut best = (f64::INFINITY, 0, 0.0);
        for ((x, _), ln_weight) in set.iter().zip(&logarithms) {
            let word = mix(x ^ mix(j as u64));
            let r = -libm::log(product(word));
            let g = -libm::log(product(mix(word.wrapping_add(1))));
            let u = unit(mix(word.wrapping_add(2)));
            let t = (ln_weight / r + u).floor();
            let rank = libm::log(g) - r * (t - u) - r;
            if rank < best.0 {
                best = (rank, *x, t);
            }
        }
        *sample = mix(best.1 ^ mix(best.2 as i64 as u64));
    }
}

/// Projections on normal directions by the polar method, which costs a logarithm and a root for two numbers.
fn plain_signs(set: &[(u64, f64)], sums: &mut [f64]) {
    sums.fill(0.0);
    for (x, weight) in set {
        for (j, pair) in sums.chunks_mut(2).enumerate() {
            let mut word = mix(x ^ mix(j as u64));
            let (a, b, s) = loop {
                let a = (word >> 32) as f64 / 2_147_483_648.0 - 1.0;
                let b = (word & 0xFFFF_FFFF) as f64 / 2_147_483_648.0 - 1.0;
                let s = a * a + b * b;
                if s < 1.0 && s > 0.0 {
                    break (a, b, s);
                }
                word = mix(word);
            };
            let radius = (-2.0 * libm::log(s) / s).sqrt();
            pair[0] += weight * a * radius;
            if let Some(second) = pair.get_mut(1) {
                *second += weight * b * radius;
            }
        }
    }
}

fn sketcher(sampler: Sampler, samples: u32) -> Sketcher {
    let bits = if sampler == Sampler::SignProjection { 1 } else { 8 };
    let (cardinality, slots) = (CardinalityField::None, Slots::NONE);
    let parameters = presets::PRECISE
        .with_sampler(sampler)
        .with_samples(samples)
        .with_bits(bits)
        .with_cardinality(cardinality)
        .with_slots(slots);
    Sketcher::new(&Scheme::new(parameters).unwrap())
}

/// Returns sets of `size` elements, 2,400 elements in all. Rounds are short, so that some are undisturbed. The
/// weights are within a factor of `spread`.
fn sets(size: usize, spread: f64) -> Vec<Weights> {
    let mut random = Random(size as u64);
    let mut pair = || (random.word(), libm::pow(spread, unit(random.word())));
    (0..2_400_usize.div_ceil(size)).map(|_| (0..size).map(|_| pair()).collect()).collect()
}

fn case(report: &mut Ratio, size: usize, samples: u32, spread: f64) {
    let sets = sets(size, spread);
    let elements: Vec<Vec<u64>> =
        sets.iter().map(|set| set.iter().map(|(x, _)| *x).collect()).collect();
    let work = (sets.len() * size) as f64 * f64::from(samples) / 1e6;
    let unit = "M draws/s";
    let independent = sketcher(Sampler::Independent, samples);
    let mut independent = || drop(black_box(independent.sketch_all(&elements)));
    let (mut words, mut sums) = (vec![0; samples as usize], vec![0.0; samples as usize]);
    let weighted = sketcher(Sampler::Weighted, samples);
    report.compare(
        &format!("weighted, {size} elements, k = {samples}, weights from 1 to {spread}"),
        unit,
        work,
        ("every element in full", &mut || {
            for set in &sets {
                plain_weighted(black_box(set), &mut words);
                black_box(&words);
            }
        }),
        &mut [
            ("signatures", &mut || drop(black_box(weighted.sketch_all_weighted(&sets)))),
            ("independent signatures, no weights", &mut independent),
        ],
    );
    if spread > 1.0 {
        return;
    }
    let signs = sketcher(Sampler::SignProjection, samples);
    report.compare(
        &format!("sign projections, {size} coordinates, k = {samples}"),
        unit,
        work,
        ("polar method", &mut || {
            for set in &sets {
                plain_signs(black_box(set), &mut sums);
                black_box(&sums);
            }
        }),
        &mut [
            ("signatures", &mut || drop(black_box(signs.sketch_all_weighted(&sets)))),
            ("independent signatures, no weights", &mut independent),
        ],
    );
}

fn main() {
    rayon::ThreadPoolBuilder::new().num_threads(1).build_global().expect("the first pool");
    if !ratio::wanted() {
        return;
    }
    let mut report = Ratio::new();
    for (size, samples) in [(5, 64), (60, 128), (1000, 128)] {
        for spread in [1.0, 1000.0] {
            case(&mut report, size, samples, spread);
        }
    }
}
