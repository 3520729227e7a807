//! Probing: looking up slot values that differ from those of the query in some bits (001, 2.5), where the library has one bit.
//!
//! Vectors of bits stand for signatures of 1-bit samples: samples of sets of resemblance R agree at the rate (1 + R)/2.

use rayon::prelude::*;
use testkit::random::Random;

use crate::chart::{Axis, Figure, Kind, Series};
use crate::page::{Agrees, Claim};
use crate::vectors::Distance;

/// Sampled bits of a slot, and slots: the segments of the paper.
const SAMPLES: usize = 10;
const SLOTS: usize = 20;

/// The most bits in which a value differs from that of the query.
const MOST_BITS: usize = 3;

/// The distance at which three of four bits agree, as at R = .5.
const HALF: f64 = 64.0;

/// What slots of one pair of vectors do.
struct Slots {
    /// The least number of different bits of any slot.
    least: usize,
    /// Slots with at most one.
    within_one: usize,
}

fn slots(distance: f64, seed: u64) -> Slots {
    let mut random = Random::of(4, seed);
    let a = Distance::Hamming.vector(&mut random);
    let b = Distance::Hamming.moved(&a, distance, &mut random);
    let mut slot = |_| {
        let hashes = (0..SAMPLES).map(|_| Distance::Hamming.hash(&mut random));
        hashes.filter(|hash| hash.of(&a) != hash.of(&b)).count()
    };
    let differ: Vec<usize> = (0..SLOTS).map(&mut slot).collect();
    Slots {
        least: differ.iter().copied().min().unwrap_or(0),
        within_one: differ.iter().filter(|bits| **bits <= 1).count(),
    }
}

/// The shares of pairs at this distance with a slot whose values differ in at most 0, 1, .. bits, and the mean number of slots
/// within one bit.
fn measured(distance: f64, seeds: u64) -> ([f64; MOST_BITS + 1], f64) {
    let all: Vec<Slots> = (0..seeds).into_par_iter().map(|seed| slots(distance, seed)).collect();
    let share = |bits: usize| all.iter().filter(|slots| slots.least <= bits).count() as f64;
    let within_one: usize = all.iter().map(|slots| slots.within_one).sum();
    (std::array::from_fn(|bits| share(bits) / seeds as f64), within_one as f64 / seeds as f64)
}

/// The probability that a slot differs in at most this many bits, which is binomial.
fn slot(distance: f64, bits: usize) -> f64 {
    let equal = Distance::Hamming.agreement(distance);
    let (mut term, mut sum) = (equal.powi(SAMPLES as i32), 0.0);
    for i in 0..=bits {
        sum += term;
        term *= (SAMPLES - i) as f64 / (i + 1) as f64 * (1.0 - equal) / equal;
    }
    sum
}

/// The same for any of the slots.
fn found(distance: f64, bits: usize) -> f64 {
    1.0 - (1.0 - slot(distance, bits)).powi(SLOTS as i32)
}

/// How many values of a slot differ in at most this many bits.
fn values(bits: usize) -> f64 {
    let (mut term, mut sum) = (1.0, 0.0);
    for i in 0..=bits {
        sum += term;
        term *= (SAMPLES - i) as f64 / (i + 1) as f64;
    }
    sum
}

pub(crate) fn experiment(seeds: u64) -> (Figure, Claim) {
    let distances = [16.0, 32.0, 48.0, HALF, 80.0, 96.0, 112.0];
    let counted = distances.map(|distance| measured(distance, seeds));
    let (mut series, mut off) = (Vec::new(), 0.0_f64);
    for bits in 0..=MOST_BITS {
        let name = match bits {
            0 => "equal values".to_string(),
            1 => "within 1 bit".into(),
            more => format!("within {more} bits"),
        };
        let line = (1..=112).map(f64::from).map(|at| (at, found(at, bits)));
        let points: Vec<(f64, f64)> =
            distances.iter().zip(&counted).map(|(at, counted)| (*at, counted.0[bits])).collect();
        for (at, share) in &points {
            let right = found(*at, bits);
            let error = (right * (1.0 - right) / seeds as f64).sqrt().max(1.0 / seeds as f64);
            off = off.max((share - right).abs() / error);
        }
        let of = |kind, points| Series { name: name.clone(), kind, colour: bits, points };
        series.extend([of(Kind::Line, line.collect()), of(Kind::Points, points)]);
    }
    let shares: Vec<String> = (0..=MOST_BITS)
        .map(|bits| {
            format!("{:.3} within {bits} ({:.0} values a slot)", found(HALF, bits), values(bits))
        })
        .collect();
    let half = counted[3].1;
    let figure = Figure {
        title: "Probing beyond equal values".into(),
        caption: format!(
            "{SLOTS} slots of {SAMPLES} sampled bits of vectors of 256 bits; {seeds} pairs for each point. Lines are binomial."
        ),
        x: Axis::linear("Hamming distance"),
        y: Axis::linear("probability to be found"),
        series,
    };
    let claim = Claim::new(
        "001, 2.5",
        "where three of four bits agree, as at R = .5, at least 9 of 10 bits of a segment agree over 1/5 of the time, and of 20 segments roughly 4 match",
        format!(
            "{:.3} of the time, and {half:.2} segments ({:.2} by the binomial law). Some slot matches with a probability of {}; measured to {off:.1} standard errors at {} distances",
            half / SLOTS as f64,
            SLOTS as f64 * slot(HALF, 1),
            shares.join(", "),
            distances.len()
        ),
        Agrees::when(off < 4.0 && half > 4.0 && half < 6.0),
    );
    (figure, claim)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_within_some_bits_are_counted() {
        assert_eq!([0, 1, 2, 3, 10].map(values), [1.0, 11.0, 56.0, 176.0, 1024.0]);
        assert!((found(0.0, 0) - 1.0).abs() < 1e-12);
        assert!((slot(100.0, SAMPLES) - 1.0).abs() < 1e-12, "no two values differ in more bits");
        let (shares, within_one) = measured(80.0, 4000);
        for (bits, share) in shares.into_iter().enumerate() {
            // More than five standard errors.
            assert!((share - found(80.0, bits)).abs() < 0.04, "{bits} {share}");
        }
        assert!((within_one - 20.0 * slot(80.0, 1)).abs() < 0.15, "{within_one}");
    }
}
