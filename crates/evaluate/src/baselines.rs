//! Methods that the papers compare with: random sampling for the Hamming distance, conditional random sampling, and hash
//! functions of 2 and 4 independent values in place of permutations. See also [`projections`](crate::projections).

use std::collections::HashSet;
use std::time::Instant;

use rayon::prelude::*;
use testkit::random::Random;

use crate::chart::{Axis, Figure, Kind, Series};
use crate::data::{DOCUMENTS, Words};
use crate::page::{Agrees, Claim};
use crate::simulation::{Pair, equal_by_prefix, mean_square, repeat, samples, scheme};
use crate::{Effort, Outcome, projections};
use ringer::scheme::{Packing, Universe};

pub(crate) const PREFIXES: [usize; 5] = [20, 50, 100, 200, 500];

/// The prime 2^61 - 1.
const PRIME: u64 = (1 << 61) - 1;

fn modulo(x: u128) -> u64 {
    (x % u128::from(PRIME)) as u64
}

/// A random polynomial over the integers modulo a prime: its values are as independent as it has coefficients.
fn polynomial(coefficients: &[u64], x: u64) -> u64 {
    coefficients
        .iter()
        .fold(0, |value, c| modulo(u128::from(value) * u128::from(x) + u128::from(*c)))
}

/// The minima of a set under k polynomials, modulo 2^16.
fn minima(set: &[u64], functions: &[Vec<u64>]) -> Vec<u16> {
    let least = |f: &Vec<u64>| set.iter().map(|x| polynomial(f, x + 1)).min().unwrap_or(0);
    functions.iter().map(|f| least(f) as u16).collect()
}

/// Squared errors of the resemblance by 1-bit minima of polynomials of this many coefficients, for each prefix.
fn simple_hashing(pair: &Pair<'_>, independence: usize, seeds: u64) -> Vec<(f64, f64)> {
    let truth = pair.resemblance();
    // Values modulo a prime far beyond the sets: they fill none of their universe.
    let chance = ringer::estimate::Chance::sparse(1);
    let counts: Vec<Vec<u32>> = (0..seeds)
        .into_par_iter()
        .map(|seed| {
            let mut random = Random::of(independence as u64, seed);
            let mut function =
                || (0..independence).map(|_| random.below(PRIME)).collect::<Vec<u64>>();
            let functions: Vec<Vec<u64>> = (0..500).map(|_| function()).collect();
            let [a, b] = pair.sets.map(|set| minima(set, &functions));
            equal_by_prefix(&a, &b, 1, &PREFIXES)
        })
        .collect();
    by_prefix(&counts, |rate| chance.resemblance(rate) - truth)
}

fn by_prefix(counts: &[Vec<u32>], error: impl Fn(f64) -> f64) -> Vec<(f64, f64)> {
    let of = |(at, k): (usize, &usize)| {
        let errors: Vec<f64> =
            counts.iter().map(|counts| error(f64::from(counts[at]) / *k as f64)).collect();
        (*k as f64, mean_square(&errors))
    };
    PREFIXES.iter().enumerate().map(of).collect()
}

/// Squared errors of R by conditional random sampling: the k smallest places of each set under one permutation. Below the
/// smaller of both k-th places, the sample is a random one of the universe.
fn conditional(pair: &Pair<'_>, seeds: u64) -> Vec<(f64, f64)> {
    let truth = pair.resemblance();
    let errors: Vec<Vec<f64>> = (0..seeds)
        .into_par_iter()
        .map(|seed| {
            let mut random = Random::of(77, seed);
            let places = shuffled(pair.universe, &mut random);
            let sorted = pair.sets.map(|set| {
                let mut sorted: Vec<u32> = set.iter().map(|x| places[*x as usize]).collect();
                sorted.sort_unstable();
                sorted
            });
            let at = |k: &usize| {
                let last = |s: &Vec<u32>| s.get(k - 1).or(s.last()).copied().unwrap_or(0);
                let end = last(&sorted[0]).min(last(&sorted[1]));
                let [a, b] = [0, 1].map(|i| &sorted[i][..sorted[i].partition_point(|x| *x <= end)]);
                let first: HashSet<&u32> = a.iter().collect();
                let common = b.iter().filter(|x| first.contains(x)).count() as f64;
                common / (a.len() as f64 + b.len() as f64 - common) - truth
            };
            PREFIXES.iter().map(at).collect()
        })
        .collect();
    let square = |at: usize| mean_square(&errors.iter().map(|e| e[at]).collect::<Vec<_>>());
    PREFIXES.iter().enumerate().map(|(at, k)| (*k as f64, square(at))).collect()
}

/// The order of all places of a universe under a random permutation.
fn shuffled(universe: u64, random: &mut Random) -> Vec<u32> {
    let mut places: Vec<u32> = (0..universe as u32).collect();
    for i in (1..places.len()).rev() {
        places.swap(i, random.index(i + 1));
    }
    places
}

/// Squared errors of the resemblance by 1-bit minima of permutations, for each prefix.
fn permutations(pair: &Pair<'_>, seeds: u64) -> Outcome<Vec<(f64, f64)>> {
    let (chance, truth) = (pair.chance(1), pair.resemblance());
    let parameters = scheme(Universe::Bounded(pair.universe), 500, 1, Packing::LowBits);
    let counts = repeat(parameters, &pair.sets, seeds, |signatures| {
        let [a, b] = [0, 1].map(|i| samples(&signatures[i]));
        Ok(equal_by_prefix(&a, &b, 1, &PREFIXES))
    })?;
    Ok(by_prefix(&counts, |rate| chance.resemblance(rate) - truth))
}

/// The least of three times.
fn time(work: impl Fn() -> u64) -> f64 {
    let once = || {
        let start = Instant::now();
        std::hint::black_box(work());
        start.elapsed().as_secs_f64()
    };
    (0..3).map(|_| once()).fold(f64::INFINITY, f64::min)
}

/// The time for the minima of a set under 2-universal and 4-universal functions and under permutations that are made by
/// shuffling, relative to the first. The set is that of a word; the time for shuffling counts once for each `sets` sets.
fn preprocessing(set: &[u64], universe: u64, sets: f64) -> [f64; 3] {
    const FUNCTIONS: usize = 20;
    let [two, four] = [2, 4].map(|independence| {
        let mut random = Random::of(9, independence);
        let mut function = || (0..independence).map(|_| random.below(PRIME)).collect::<Vec<u64>>();
        let functions: Vec<Vec<u64>> = (0..FUNCTIONS).map(|_| function()).collect();
        time(|| minima(set, &functions).iter().map(|m| u64::from(*m)).sum())
    });
    let made = || {
        let mut random = Random::of(9, 0);
        (0..FUNCTIONS).map(|_| shuffled(universe, &mut random)).collect::<Vec<Vec<u32>>>()
    };
    let tables = made();
    let least = |table: &Vec<u32>| set.iter().map(|x| table[*x as usize]).min().unwrap_or(0);
    let looked_up = time(|| tables.iter().map(|table| u64::from(least(table))).sum());
    let shuffled = time(|| made().len() as u64);
    [1.0, four / two, (looked_up + shuffled / sets) / two]
}

fn points(name: &str, colour: usize, kind: Kind, points: Vec<(f64, f64)>) -> Series {
    Series { name: name.into(), kind, colour, points }
}

/// The Hamming distance by 1-bit samples and by a random sample of the universe, at the same k. Points are relative to the
/// square of the distance.
fn hamming(pair: &Pair<'_>, names: [&str; 2], seeds: u64) -> Outcome<Figure> {
    let [r1, r2] = pair.shares();
    let truth = pair.resemblance();
    let sum = pair.sets[0].len() as f64 + pair.sets[1].len() as f64;
    let distance = (1.0 - truth) / (1.0 + truth) * sum;
    let share = distance / pair.universe as f64;
    let chance = pair.chance(1);
    let variance = chance.variance(chance.agreement(truth)) * 4.0 * (sum / distance).powi(2)
        / (1.0 + truth).powi(4);
    let parameters = scheme(Universe::Bounded(DOCUMENTS), 500, 16, Packing::LowBits);
    let counts = repeat(parameters, &pair.sets, seeds, |signatures| {
        let [a, b] = [0, 1].map(|i| samples(&signatures[i]));
        Ok(equal_by_prefix(&a, &b, 1, &PREFIXES))
    })?;
    let hashed = by_prefix(&counts, |rate| {
        let r = chance.resemblance(rate);
        ((1.0 - r) / (1.0 + r) * sum - distance) / distance
    });
    let [first, second] = pair.sets.map(|set| set.iter().copied().collect::<HashSet<u64>>());
    let sampled: Vec<Vec<u32>> = (0..seeds)
        .map(|seed| {
            let mut random = Random::of(5, seed);
            let mut different = 0;
            let mut drawn = 0;
            let until = |k: &usize| {
                for _ in drawn..*k {
                    let x = random.below(pair.universe);
                    different += u32::from(first.contains(&x) != second.contains(&x));
                }
                drawn = *k;
                different
            };
            PREFIXES.iter().map(until).collect()
        })
        .collect();
    let sampled = by_prefix(&sampled, |rate| (rate - share) / share);
    let line = |v: f64| PREFIXES.iter().map(|k| (*k as f64, v / *k as f64)).collect();
    Ok(Figure {
        title: format!("Hamming distance of {} and {}", names[0], names[1]),
        caption: format!(
            "r1 = {r1:.4}, r2 = {r2:.4}. Lines are the variances (17) and (19) of 000."
        ),
        x: Axis::log("samples k"),
        y: Axis::log("mean square error, relative to H squared"),
        series: vec![
            points("1-bit samples", 0, Kind::Line, line(variance)),
            points("1-bit samples", 0, Kind::Points, hashed),
            points("random sampling", 1, Kind::Line, line((1.0 - share) / share)),
            points("random sampling", 1, Kind::Points, sampled),
        ],
    })
}

/// All baselines. Conditional random sampling is tried on all of these pairs, the others on two.
pub(crate) fn compare(
    words: &Words,
    pairs: &[[&'static str; 2]],
    effort: Effort,
) -> Outcome<(Vec<Figure>, Vec<Claim>)> {
    let seeds = effort.choose(40, 400);
    let pair_of = |names: [&str; 2]| -> Outcome<Pair<'_>> {
        Ok(Pair { sets: [words.get(names[0])?, words.get(names[1])?], universe: DOCUMENTS })
    };
    let (rare, common) = (pair_of(["kong", "hong"])?, pair_of(["united", "states"])?);
    let mut figures = vec![
        hamming(&rare, ["kong", "hong"], seeds * 4)?,
        hamming(&common, ["united", "states"], seeds * 4)?,
    ];
    let chance = ringer::estimate::Chance::sparse(1);
    let variance = chance.variance(chance.agreement(rare.resemblance()));
    let theory = PREFIXES.iter().map(|k| (*k as f64, variance / *k as f64)).collect();
    let (two, four) = (simple_hashing(&rare, 2, seeds), simple_hashing(&rare, 4, seeds));
    let ratio = |points: &[(f64, f64)]| {
        points.iter().map(|(k, square)| square / (variance / k)).sum::<f64>() / points.len() as f64
    };
    let permuted = permutations(&rare, seeds)?;
    let ratios = (ratio(&two), ratio(&four), ratio(&permuted));
    let times = preprocessing(common.sets[0], DOCUMENTS, 1000.0);
    figures.push(Figure {
        title: "Hash functions in place of permutations: kong and hong".into(),
        caption:
            "1-bit samples of minima under random polynomials modulo 2^61 - 1, and under permutations of the documents. Line: variance (11)."
                .into(),
        x: Axis::log("samples k"),
        y: Axis::log("mean square error of R"),
        series: vec![
            points("variance (11)", 0, Kind::Line, theory),
            points("2-universal", 1, Kind::Points, two),
            points("4-universal", 2, Kind::Points, four),
            points("permutations", 3, Kind::Points, permuted),
        ],
    });
    let (mut series, mut cells, mut worst) = (Vec::new(), Vec::new(), 0.0_f64);
    for (colour, names) in pairs.iter().enumerate() {
        let pair = pair_of(*names)?;
        let truth = pair.resemblance();
        // Relative to the variance (3) of full minima, so that pairs share a figure.
        let relative: Vec<(f64, f64)> = conditional(&pair, seeds.min(200))
            .iter()
            .map(|(k, square)| (*k, square / (truth * (1.0 - truth) / k)))
            .collect();
        let mean = relative.iter().map(|(_, ratio)| ratio).sum::<f64>() / relative.len() as f64;
        worst = worst.max(mean);
        cells.push(format!("{}-{} {mean:.2}", names[0], names[1]));
        series.push(points(&names.join(" "), colour, Kind::Dashed, relative));
    }
    figures.push(Figure {
        title: "Conditional random sampling".into(),
        caption: "The k smallest places of each set under one permutation, 64 bits each.".into(),
        x: Axis::log("samples k"),
        y: Axis::log("error over that of k full minima"),
        series,
    });
    let (more, projected) = projections::compare(&common, ["united", "states"], seeds)?;
    figures.extend(more);
    let mut claims = vec![
        Claim::new(
            "003, 6; 000, 3",
            "simple hash functions do as well as permutations",
            format!(
                "mean square error over variance (11): 2-universal {:.2}, 4-universal {:.2}, permutations {:.2}",
                ratios.0, ratios.1, ratios.2
            ),
            Agrees::when(ratios.0 < 1.15 && ratios.1 < 1.15),
        ),
        Claim::new(
            "003, figure 8",
            "compares the time for preprocessing by 2-universal and 4-universal functions and by full permutations, which grows in proportion to k",
            format!(
                "per minimum of {} documents, relative to 2-universal functions: 4-universal {:.1}, permutations {:.1} if they are shuffled once for 1,000 sets",
                common.sets[0].len(),
                times[1],
                times[2]
            ),
            Agrees::InPart,
        ),
        Claim::new(
            "000, 1.3",
            "conditional random sampling is accurate for binary data, with samples of full width",
            format!(
                "mean square error over that of full minima at the same k: {}",
                cells.join(", ")
            ),
            Agrees::when(worst < 1.3),
        ),
    ];
    claims.extend(projected);
    Ok((figures, claims))
}
