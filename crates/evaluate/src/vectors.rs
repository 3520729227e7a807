//! Slots over vectors (002): sampled bits for the Hamming distance, unary codes for L1, and buckets on random lines for L2.
//!
//! A slot is a group of g hash values. The rule `g = log n / log(1/P2)`, `L = n^rho` sets the number of slots for near
//! vectors at distance r and far ones at distance 2 r, and a query stops after 2 L far vectors. All distances are exact.

use std::collections::{HashMap, HashSet};

use rayon::prelude::*;
use testkit::random::Random;

use crate::chart::{Axis, Figure, Kind, Series};
use crate::page::{Agrees, Claim, Part};
use crate::simulation::{mean, spread};
use crate::{Effort, Outcome, probing};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Distance {
    Hamming,
    L1,
    L2,
}

/// Coordinates are 0 or 1 for the Hamming distance, and 0 to `TOP` for the others.
pub(crate) type Vector = Vec<f64>;

const TOP: f64 = 63.0;

/// The width of a bucket on a line, for L2.
const WIDTH: f64 = 80.0;

/// Far vectors for each query.
const DECOYS: usize = 19;

/// A hash function: one bit of the unary code of a coordinate, or a bucket on a line.
pub(crate) struct Hash {
    coordinate: usize,
    cut: f64,
    line: Vec<f64>,
    shift: f64,
}

impl Distance {
    fn name(self) -> &'static str {
        match self {
            Distance::Hamming => "Hamming",
            Distance::L1 => "L1",
            Distance::L2 => "L2",
        }
    }

    fn dimensions(self) -> usize {
        match self {
            Distance::Hamming => 256,
            Distance::L1 | Distance::L2 => 24,
        }
    }

    /// The distance of near vectors. Far ones have twice this distance.
    fn near(self) -> f64 {
        match self {
            Distance::Hamming => 12.0,
            Distance::L1 => 60.0,
            Distance::L2 => 20.0,
        }
    }

    fn between(self, a: &[f64], b: &[f64]) -> f64 {
        let apart = a.iter().zip(b).map(|(a, b)| (a - b).abs());
        match self {
            Distance::Hamming | Distance::L1 => apart.sum(),
            Distance::L2 => apart.map(|d| d * d).sum::<f64>().sqrt(),
        }
    }

    pub(crate) fn vector(self, random: &mut Random) -> Vector {
        let mut coordinate = || match self {
            Distance::Hamming => random.below(2) as f64,
            Distance::L1 | Distance::L2 => random.below(TOP as u64 + 1) as f64,
        };
        (0..self.dimensions()).map(|_| coordinate()).collect()
    }

    /// Another vector at this distance.
    pub(crate) fn moved(self, from: &[f64], distance: f64, random: &mut Random) -> Vector {
        let mut to = from.to_vec();
        match self {
            Distance::Hamming => {
                let mut flipped = HashSet::new();
                while (flipped.len() as f64) < distance {
                    flipped.insert(random.index(to.len()));
                }
                flipped.iter().for_each(|i| to[*i] = 1.0 - to[*i]);
            }
            Distance::L1 => {
                let up: Vec<bool> = to.iter().map(|_| random.below(2) == 0).collect();
                let mut left = distance;
                while left > 0.0 {
                    let i = random.index(to.len());
                    let next = to[i] + if up[i] { 1.0 } else { -1.0 };
                    if (0.0..=TOP).contains(&next) {
                        to[i] = next;
                        left -= 1.0;
                    }
                }
            }
            Distance::L2 => {
                let direction: Vec<f64> = to.iter().map(|_| normal(random)).collect();
                let length = direction.iter().map(|d| d * d).sum::<f64>().sqrt();
                to.iter_mut().zip(direction).for_each(|(x, d)| *x += distance * d / length);
            }
        }
        to
    }

    pub(crate) fn hash(self, random: &mut Random) -> Hash {
        let line = match self {
            Distance::L2 => (0..self.dimensions()).map(|_| normal(random)).collect(),
            Distance::Hamming | Distance::L1 => Vec::new(),
        };
        let cut = if self == Distance::L1 { random.below(TOP as u64) as f64 } else { 0.0 };
        let (coordinate, shift) = (random.index(self.dimensions()), WIDTH * random.unit());
        Hash { coordinate, cut, line, shift }
    }

    /// The probability that vectors at this distance have the same hash.
    pub(crate) fn agreement(self, distance: f64) -> f64 {
        let bits = self.dimensions() as f64;
        match self {
            Distance::Hamming => 1.0 - distance / bits,
            Distance::L1 => 1.0 - distance / (bits * TOP),
            // The gap on a line is normal, and a bucket holds both ends with probability 1 - gap/width.
            Distance::L2 => {
                let density = |gap: f64| {
                    (-0.5 * (gap / distance).powi(2)).exp() / distance
                        * (2.0 / std::f64::consts::PI).sqrt()
                };
                let steps = 400;
                let at = |i: i32| (f64::from(i) + 0.5) / f64::from(steps) * WIDTH;
                let part = |i| density(at(i)) * (1.0 - at(i) / WIDTH) * WIDTH / f64::from(steps);
                (0..steps).map(part).sum()
            }
        }
    }
}

impl Hash {
    pub(crate) fn of(&self, vector: &[f64]) -> i64 {
        if self.line.is_empty() {
            return i64::from(vector[self.coordinate] > self.cut);
        }
        let at: f64 = self.line.iter().zip(vector).map(|(a, b)| a * b).sum();
        ((at + self.shift) / WIDTH).floor() as i64
    }
}

/// A number of the standard normal distribution.
fn normal(random: &mut Random) -> f64 {
    let radius = (-2.0 * (1.0 - random.unit()).ln()).sqrt();
    radius * (2.0 * std::f64::consts::PI * random.unit()).cos()
}

/// The agreement of single hashes, measured at some distances.
fn agreements(distance: Distance, seeds: u64) -> Vec<(f64, f64)> {
    let at = |step: u64| {
        let apart = (distance.near() * step as f64 / 2.0).round();
        let same = |seed: &u64| {
            let mut random = Random::of(60 + step, *seed);
            let a = distance.vector(&mut random);
            let b = distance.moved(&a, apart, &mut random);
            let hash = distance.hash(&mut random);
            hash.of(&a) == hash.of(&b)
        };
        let equal = (0..seeds).into_par_iter().filter(same).count();
        (apart, equal as f64 / seeds as f64)
    };
    (1..=8).map(at).collect()
}

/// What a search of one query does.
struct Searched {
    found: bool,
    /// Found before 2 L far vectors were compared.
    found_in_time: bool,
    /// Far vectors in equal slots, each counted once a slot.
    far: usize,
}

struct Index {
    /// Samples per slot, and slots.
    rule: (usize, usize),
    searches: Vec<Searched>,
}

/// Stores one near and some far vectors for each query, and searches by the rule.
fn search(distance: Distance, queries: usize, seed: u64) -> Index {
    let mut random = Random::of(2, seed);
    let near = distance.near();
    let (mut asked, mut stored) = (Vec::new(), Vec::new());
    for _ in 0..queries {
        let query = distance.vector(&mut random);
        stored.push(distance.moved(&query, near, &mut random));
        stored.extend((0..DECOYS).map(|_| distance.moved(&query, 2.0 * near, &mut random)));
        asked.push(query);
    }
    let (p1, p2) = (distance.agreement(near), distance.agreement(2.0 * near));
    let n = stored.len() as f64;
    let width = (n.ln() / -p2.ln()).ceil() as usize;
    let slots = n.powf(p1.ln() / p2.ln()).ceil() as usize;
    let tables: Vec<Vec<Hash>> =
        (0..slots).map(|_| (0..width).map(|_| distance.hash(&mut random)).collect()).collect();
    let value = |table: &[Hash], vector: &[f64]| -> Vec<i64> {
        table.iter().map(|hash| hash.of(vector)).collect()
    };
    let lists: Vec<HashMap<Vec<i64>, Vec<usize>>> = tables
        .par_iter()
        .map(|table| {
            let mut list: HashMap<Vec<i64>, Vec<usize>> = HashMap::new();
            for (i, vector) in stored.iter().enumerate() {
                list.entry(value(table, vector)).or_default().push(i);
            }
            list
        })
        .collect();
    let of_query = |query: &Vector| {
        let mut searched = Searched { found: false, found_in_time: false, far: 0 };
        for (table, list) in tables.iter().zip(&lists) {
            for i in list.get(&value(table, query)).into_iter().flatten() {
                if distance.between(query, &stored[*i]) <= near + 1e-9 {
                    searched.found_in_time |= searched.far <= 2 * slots;
                    searched.found = true;
                } else {
                    searched.far += 1;
                }
            }
        }
        searched
    };
    Index { rule: (width, slots), searches: asked.par_iter().map(of_query).collect() }
}

impl Index {
    /// The share of the queries whose near vector was found.
    fn found(&self) -> f64 {
        let found = self.searches.iter().filter(|search| search.found).count();
        found as f64 / self.searches.len() as f64
    }
}

/// Whether near vectors are found as the rule says, and whether that reaches its bound. If whole numbers of samples and slots
/// miss the bound by themselves, the agreement is in part.
fn agrees(found: f64, expected: f64, error: f64, others: bool) -> Agrees {
    let least = 1.0 - (-1.0_f64).exp();
    match others && (found - expected).abs() <= 3.0 * error {
        true if expected >= least => Agrees::Yes,
        true => Agrees::InPart,
        false => Agrees::No,
    }
}

/// The rate at which points of the plane at this distance, in widths, fall into one bucket of a random line.
fn plane(distance: f64, seeds: u64) -> f64 {
    let same = |seed: &u64| {
        let mut random = Random::of(3, *seed);
        let gap = distance * (2.0 * std::f64::consts::PI * random.unit()).cos();
        let from = random.unit();
        (from + gap).floor() == 0.0
    };
    (0..seeds).filter(same).count() as f64 / seeds as f64
}

pub(crate) fn part(effort: Effort) -> Outcome<Part> {
    let (queries, seeds) = effort.choose((60, 3000), (200, 20_000));
    let repetitions = effort.choose(5, 40);
    let (mut figures, mut claims) = (Vec::new(), Vec::new());
    for distance in [Distance::Hamming, Distance::L1, Distance::L2] {
        let measured = agreements(distance, seeds);
        let off = measured.iter().map(|(at, p)| (p - distance.agreement(*at)).abs());
        let off = off.fold(0.0, f64::max);
        let last = measured.last().map_or(1.0, |(at, _)| *at);
        let line = (1..=40).map(|i| last * f64::from(i) / 40.0);
        let series =
            |name: &str, colour, kind, points| Series { name: name.into(), kind, colour, points };
        figures.push(Figure {
            title: format!("{} distance: agreement of a hash", distance.name()),
            caption: format!(
                "{} dimensions, {seeds} hash functions for each point.",
                distance.dimensions()
            ),
            x: Axis::linear("distance"),
            y: Axis::linear("probability of equal values"),
            series: vec![
                series(
                    "formula",
                    0,
                    Kind::Line,
                    line.map(|x| (x, distance.agreement(x))).collect(),
                ),
                series("measured", 1, Kind::Points, measured),
            ],
        });
        let runs: Vec<Index> =
            (0..repetitions).map(|seed| search(distance, queries, seed)).collect();
        let all = || runs.iter().flat_map(|run| &run.searches);
        let share = |right: &dyn Fn(&Searched) -> bool| {
            mean(&all().map(|s| f64::from(u8::from(right(s)))).collect::<Vec<_>>())
        };
        let (width, slots) = runs[0].rule;
        let (found, in_time) = (share(&|s| s.found), share(&|s| s.found_in_time));
        // Queries of one index share its hash functions, so the error is that of the shares of whole indexes.
        let shares: Vec<f64> = runs.iter().map(Index::found).collect();
        let error = spread(&shares).1 / (shares.len() as f64).sqrt();
        let least = 1.0 - (-1.0_f64).exp();
        // The rule is stated for g and L as they are. Rounding g up makes slots rarer.
        let near = distance.agreement(distance.near()).powi(width as i32);
        let expected = 1.0 - (1.0 - near).powi(slots as i32);
        let few = share(&|s| s.far <= 2 * slots);
        claims.push(Claim::new(
            "002",
            format!(
                "{} distance: with g = log n / log(1/P2) and L = n^rho, a near vector is found with a probability of at least 1 - 1/e, and at most 2 L far ones collide with a probability of at least 1/2",
                distance.name()
            ),
            format!(
                "n = {}, g = {width}, L = {slots}: {found:.3} found, with a standard error of {error:.3} over {repetitions} indexes of {queries} queries ({expected:.3} expected with g and L rounded up; 1 - 1/e = {least:.3}), {in_time:.3} before the search stops; at most 2 L far ones for {:.0} % of the queries. A single hash agrees as the formula says, to {off:.3}",
                queries * (1 + DECOYS),
                100.0 * few
            ),
            agrees(found, expected, error, few >= 0.5 && off < 0.03),
        ));
    }
    let (figure, claim) = probing::experiment(seeds);
    figures.push(figure);
    claims.push(claim);
    let (close, far) = (plane(0.5, seeds * 10), plane(2.0, seeds * 10));
    claims.push(Claim::new(
        "002",
        "in the plane, points at distance a/2 share a bucket of width a with a probability of at least 1/2, and points at distance 2 a with at most 1/3",
        format!("{close:.3} and {far:.3}"),
        Agrees::when(close >= 0.5 && far <= 1.0 / 3.0),
    ));
    let text = format!(
        "Vectors are hashed by a sampled bit (Hamming), by a sampled bit of the unary code (L1), or by the bucket on a random \
         line (L2). Each query has one stored vector at distance r and {DECOYS} at distance 2 r. A slot is g hash values, and \
         found vectors are compared by their exact distance. The library has sign projections for cosines, and looks up values \
         within one bit; these hashes, and more bits, are not part of it."
    );
    Ok(Part { title: "Slots over vectors", text, figures, claims })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_move_by_the_distance() {
        let mut random = Random(8);
        for distance in [Distance::Hamming, Distance::L1, Distance::L2] {
            let from = distance.vector(&mut random);
            for apart in [12.0, 40.0] {
                let to = distance.moved(&from, apart, &mut random);
                assert!((distance.between(&from, &to) - apart).abs() < 1e-9);
            }
        }
    }

    /// The L1 distance is the Hamming distance of unary codes, so the cuts between two values tell them apart.
    #[test]
    fn unary_codes_have_the_l1_distance() {
        for (a, b) in [(0.0, 63.0), (5.0, 9.0), (7.0, 7.0)] {
            let differ = |cut: &i32| (a > f64::from(*cut)) != (b > f64::from(*cut));
            assert_eq!((0..TOP as i32).filter(differ).count() as f64, f64::abs(a - b));
        }
    }

    #[test]
    fn agreement_is_judged_by_the_standard_error() {
        assert_eq!(agrees(0.640, 0.635, 0.002, true), Agrees::Yes);
        assert_eq!(agrees(0.625, 0.635, 0.002, true), Agrees::No);
        assert_eq!(agrees(0.625, 0.628, 0.002, true), Agrees::InPart);
        assert_eq!(agrees(0.640, 0.635, 0.002, false), Agrees::No);
    }

    #[test]
    fn buckets_agree_as_the_integral_says() {
        // p(u) for width w: 1 - 2 Phi(-w/u) - 2 u / (sqrt(2 pi) w) (1 - exp(-w^2 / 2 u^2)); at w = u it is .3687.
        assert!((Distance::L2.agreement(WIDTH) - 0.3687).abs() < 1e-3);
        assert!((Distance::L2.agreement(WIDTH / 100.0) - 1.0).abs() < 0.02);
    }
}
