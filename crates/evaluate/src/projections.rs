//! Projections modulo 2 (000, 4.2): bit j of a set is the parity of its elements in a random sample of the universe, which
//! has each element with probability beta/2. The rate at which the bits of two sets differ tells their Hamming distance, but
//! beta must fit the distance, and it is chosen before the sets are known.

use rayon::prelude::*;
use ringer::estimate::Chance;
use testkit::random::Random;

use crate::Outcome;
use crate::baselines::PREFIXES;
use crate::chart::{Axis, Figure, Kind, Series};
use crate::page::{Agrees, Claim};
use crate::simulation::{Pair, mean_square};

/// k times the variance (24) of the estimated distance, for sets at this distance.
fn variance(beta: f64, distance: f64) -> f64 {
    let log = (-beta).ln_1p();
    let differ = 0.5 * (1.0 - (distance * log).exp());
    4.0 * differ * (1.0 - differ) / ((1.0 - 2.0 * differ).powi(2) * log * log)
}

/// The beta with the smallest variance at this distance: figure 6 of 000.
fn best(distance: f64) -> f64 {
    let (mut low, mut high) = (0.01 / distance, (4.0 / distance).min(0.999));
    // Golden section: the variance has one minimum.
    for _ in 0..80 {
        let step = (high - low) * 0.381_966;
        match variance(low + step, distance) < variance(high - step, distance) {
            true => high -= step,
            false => low += step,
        }
    }
    (low + high) / 2.0
}

/// The variance (17) of the distance by 1-bit samples, times k, in units of the universe.
fn hashing(r1: f64, r2: f64, s: f64) -> f64 {
    let r = s / (r1 + r2 - s);
    let chance = Chance::dense(1, r1, r2);
    chance.variance(chance.agreement(r)) * 4.0 * (r1 + r2).powi(2) / (1.0 + r).powi(4)
}

/// A large universe, so that its size does not matter.
const UNIVERSE: f64 = 1e9;

/// The ratio (25) for r2 = r1/2, with the best beta for each pair, or with one for a guessed distance.
fn gain(r1: f64, guessed: Option<f64>) -> Vec<(f64, f64)> {
    let r2 = r1 / 2.0;
    let at = |i: i32| {
        let s = r2 * f64::from(i) / 40.0;
        let distance = (r1 + r2 - 2.0 * s) * UNIVERSE;
        let beta = best(guessed.map_or(distance, |share| share * UNIVERSE));
        let projected = variance(beta, distance) / (UNIVERSE * UNIVERSE);
        (s / r2, projected / hashing(r1, r2, s))
    };
    let possible = |i: &i32| r1 + r2 - r2 * f64::from(*i) / 40.0 <= 1.0;
    (0..=40).filter(possible).map(at).filter(|(_, gain)| *gain < 1e9).collect()
}

fn gains(title: &str, shares: [f64; 4], guessed: Option<f64>, like: &str) -> Figure {
    let series = shares.iter().enumerate().map(|(colour, r1)| Series {
        name: format!("r1 = {r1}"),
        kind: Kind::Line,
        colour,
        points: gain(*r1, guessed),
    });
    Figure {
        title: title.into(),
        caption: format!(
            "The ratio (25) for r2 = r1/2: above 1, 1-bit samples are better. As in figure {like} of 000."
        ),
        x: Axis::linear("share of the smaller set that is shared, s / r2"),
        y: Axis::log("variance over that of 1-bit samples"),
        series: series.collect(),
    }
}

/// Squared errors of the distance, relative to it, for each prefix. Elements of both sets cancel out modulo 2, so only those
/// of one set are drawn.
fn simulated(distance: u64, beta: f64, seeds: u64) -> Vec<(f64, f64)> {
    let log = (-beta).ln_1p();
    let skip = (-beta / 2.0).ln_1p();
    let of_seed = |seed: u64| {
        let mut random = Random::of(24, seed);
        let (mut different, mut drawn) = (0_u32, 0);
        let until = |k: &usize| {
            for _ in drawn..*k {
                // The gaps between chosen elements are geometric.
                let (mut at, mut odd) = (0.0, false);
                loop {
                    at += 1.0 + ((1.0 - random.unit()).ln() / skip).floor();
                    if at > distance as f64 {
                        break;
                    }
                    odd = !odd;
                }
                different += u32::from(odd);
            }
            drawn = *k;
            // If half of the bits differ, any distance is possible. The largest that can be told is taken.
            let rate = (f64::from(different) / *k as f64).min(0.5 - 0.5 / *k as f64);
            ((1.0 - 2.0 * rate).ln() / log - distance as f64) / distance as f64
        };
        PREFIXES.iter().map(until).collect::<Vec<f64>>()
    };
    let errors: Vec<Vec<f64>> = (0..seeds).into_par_iter().map(of_seed).collect();
    let square = |at: usize| mean_square(&errors.iter().map(|e| e[at]).collect::<Vec<_>>());
    PREFIXES.iter().enumerate().map(|(at, k)| (*k as f64, square(at))).collect()
}

/// Figures 7 to 9 of 000, the last one on a pair of words.
pub(crate) fn compare(
    pair: &Pair<'_>,
    names: [&str; 2],
    seeds: u64,
) -> Outcome<(Vec<Figure>, Vec<Claim>)> {
    let [r1, r2] = pair.shares();
    let truth = pair.resemblance();
    let s = truth / (1.0 + truth) * (r1 + r2);
    let distance = (r1 + r2 - 2.0 * s) * pair.universe as f64;
    let relative = |v: f64| v / (distance * distance);
    let line = |v: f64| PREFIXES.iter().map(|k| (*k as f64, v / *k as f64)).collect();
    let series =
        |name: &str, colour, kind, points| Series { name: name.into(), kind, colour, points };
    let hashed = relative(hashing(r1, r2, s) * (pair.universe as f64).powi(2));
    let mut drawn = vec![series("1-bit samples", 0, Kind::Line, line(hashed))];
    let mut cells = Vec::new();
    let (mut fits, mut costs) = (Vec::new(), Vec::new());
    for (colour, factor) in [1.0, 0.3, 3.0, 15.0].into_iter().enumerate() {
        let beta = best(distance * factor);
        let (theory, points) =
            (relative(variance(beta, distance)), simulated(distance.round() as u64, beta, seeds));
        let last = points.last().map_or(0.0, |(k, square)| square / (theory / k));
        cells.push(format!(
            "H* = {factor} H: {:.1} times the variance of 1-bit samples",
            theory / hashed
        ));
        fits.push((factor, last));
        costs.push(theory / hashed);
        let name = if factor == 1.0 { "H* = H".to_string() } else { format!("H* = {factor} H") };
        drawn.push(series(&name, colour + 1, Kind::Line, line(theory)));
        drawn.push(series(&name, colour + 1, Kind::Points, points));
    }
    let figures = vec![
        gains("Projections modulo 2 with the best beta", [1e-4, 0.1, 0.5, 0.9], None, "7"),
        gains(
            "Projections modulo 2 with beta for H = D/10,000",
            [5e-5, 1e-4, 2e-4, 4e-4],
            Some(1e-4),
            "8",
        ),
        Figure {
            title: format!("Projections modulo 2: {} and {}", names[0], names[1]),
            caption: format!(
                "H = {distance:.0}, H* is the distance for which beta is the best. Lines are the variances (24) and (17). As in figure 9 of 000."
            ),
            x: Axis::log("samples k"),
            y: Axis::log("mean square error, relative to H squared"),
            series: drawn,
        },
    ];
    let claims = vec![
        Claim::new(
            "000, 4.2 and figures 7 to 9",
            "projections modulo 2 are good only if beta fits the distance, which is not known in advance",
            format!("{}-{}: {}", names[0], names[1], cells.join(", ")),
            Agrees::when(costs[0] < 2.0 && costs[1] > 3.0 && costs[3] > 3.0),
        ),
        Claim::new(
            "000, figure 9",
            "the variance (24) of projections modulo 2 is what is measured",
            format!(
                "error over variance at k = 500: {}. Where beta is much too large for H, nearly half of the bits differ, and the estimate has a long tail",
                fits.iter()
                    .map(|(factor, ratio)| format!("{ratio:.2} for H* = {factor} H"))
                    .collect::<Vec<_>>()
                    .join(", ")
            ),
            match fits.iter().filter(|(_, ratio)| (ratio - 1.0).abs() < 0.3).count() {
                4 => Agrees::Yes,
                3 => Agrees::InPart,
                _ => Agrees::No,
            },
        ),
    ];
    Ok((figures, claims))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// For large distances the best beta is .797/H: the minimum of (e^2c - 1)/c^2.
    #[test]
    fn the_best_beta_follows_the_distance() {
        for distance in [1e3, 1e6] {
            assert!((best(distance) * distance - 0.797).abs() < 0.002, "{}", best(distance));
        }
        assert!(variance(best(1e3), 1e3) < variance(1.1 * best(1e3), 1e3));
        assert!(variance(best(1e3), 1e3) < variance(0.9 * best(1e3), 1e3));
    }

    #[test]
    fn simulated_errors_are_the_variance() {
        let beta = best(200.0);
        for (k, square) in simulated(200, beta, 4000).into_iter().filter(|(k, _)| *k >= 200.0) {
            let ratio = square / (variance(beta, 200.0) / 40_000.0 / k);
            assert!((0.9..1.15).contains(&ratio), "k = {k}: {ratio}");
        }
    }
}
