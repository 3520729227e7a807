//! Groups of three: how much space b-bit samples save at the same error (figure 6 of 004), and which groups of documents
//! above a threshold they retrieve (figure 7).

use rayon::prelude::*;
use ringer::scheme::{Packing, Universe};
use ringer::{Scheme, Sketcher};

use crate::chart::{Axis, Figure, Kind, Series};
use crate::data;
use crate::page::{Agrees, Claim, Part};
use crate::simulation::{resemblance, samples, scheme};
use crate::three_way::variance;
use crate::{Effort, Outcome};

/// The number of 64-bit words of the bitmap of equal samples. Word w has the samples from 64 w on.
const WORDS: usize = 8;
const THRESHOLDS: [f64; 3] = [0.1, 0.2, 0.3];

/// Samples of 16 bits stand for full ones.
const KEPT: [(u8, &str); 3] = [(2, "b = 2"), (4, "b = 4"), (16, "full samples")];

/// The storage of 64-bit samples over that of b-bit samples, for this ratio of the sum of the pairs' resemblances to R.
fn improvement(bits: u8, ratio: f64, r: f64) -> f64 {
    64.0 * r * (1.0 - r) / (f64::from(bits) * variance(bits, r, ratio * r))
}

fn storage(ratio: f64) -> Figure {
    let curve = |(colour, bits): (usize, u8)| {
        let most = 3.0 / ratio;
        let points = (1..100).map(|i| most * f64::from(i) / 100.0);
        let points = points.map(|r| (r, improvement(bits, ratio, r))).collect();
        Series { name: format!("b = {bits}"), kind: Kind::Line, colour, points }
    };
    Figure {
        title: format!("Storage improvement, T = {ratio} R"),
        caption: "B(64)/B(b) by the variance (9) of 004; T is the sum of the resemblances of the pairs. As in figure 6.".into(),
        x: Axis::linear("resemblance R of three sets"),
        y: Axis::linear("B(64) / B(b)"),
        series: [2, 3, 4, 6].into_iter().enumerate().map(curve).collect(),
    }
}

/// Reported groups, and the right ones among them.
#[derive(Clone, Copy, Default)]
struct Cell {
    reported: u64,
    right: u64,
}

#[derive(Clone, Default)]
struct Counted {
    cells: [[[Cell; THRESHOLDS.len()]; WORDS]; KEPT.len()],
    wanted: [u64; THRESHOLDS.len()],
    groups: u64,
}

fn add(mut a: Counted, b: &Counted) -> Counted {
    let cells = a.cells.as_flattened_mut().as_flattened_mut();
    for (cell, other) in cells.iter_mut().zip(b.cells.as_flattened().as_flattened()) {
        cell.reported += other.reported;
        cell.right += other.right;
    }
    a.wanted.iter_mut().zip(b.wanted).for_each(|(a, b)| *a += b);
    a.groups += b.groups;
    a
}

/// Where the samples of two sets agree, for each number of bits, and how many do up to each word.
type Equal = [[(u64, u32); WORDS]; KEPT.len()];

fn equal(a: &[u16], b: &[u16]) -> Equal {
    KEPT.map(|(bits, _)| {
        let mask = ((1_u32 << bits) - 1) as u16;
        let mut sum = 0;
        std::array::from_fn(|word| {
            let same = |i: &usize| (a[64 * word + i] ^ b[64 * word + i]) & mask == 0;
            let map = (0..64).filter(same).fold(0, |map, i| map | 1 << i);
            sum += u64::count_ones(map);
            (map, sum)
        })
    })
}

/// The simple estimator (8) from the numbers of samples that agree.
fn estimate(bits: u8, k: f64, all: u32, pairs: u32) -> f64 {
    let m = f64::from(bits).exp2();
    (m * m * f64::from(all) / k - m * f64::from(pairs) / k + 2.0) / ((m - 1.0) * (m - 2.0))
}

/// The exact resemblance of three sets, of which the first two have these elements in common.
fn three(sets: &[Vec<u64>], [i, j, h]: [usize; 3], shared: &[u64]) -> f64 {
    let two = |a: &[u64], b: &[u64]| ringer::sketch::intersection_size(a, b) as f64;
    let all = two(shared, &sets[h]);
    let sum = (sets[i].len() + sets[j].len() + sets[h].len()) as f64;
    let pairs = shared.len() as f64 + two(&sets[i], &sets[h]) + two(&sets[j], &sets[h]);
    all / (sum - pairs + all)
}

/// Compares all groups of three, exactly and by the first 64, 128, .. samples.
fn count(sets: &[Vec<u64>]) -> Outcome<Counted> {
    let parameters = scheme(Universe::Open, 64 * WORDS as u32, 16, Packing::LowBits);
    let sketcher = Sketcher::new(&Scheme::new(parameters)?);
    let sketched: ringer::Result<Vec<Vec<u16>>> =
        sets.par_iter().map(|set| Ok(samples(&sketcher.sketch(set)?))).collect();
    let sketched = sketched?;
    // Of sets i > j: element i (i - 1) / 2 + j.
    let at = |i: usize, j: usize| i * (i - 1) / 2 + j;
    let pairs: Vec<(Equal, f64)> = (1..sets.len())
        .into_par_iter()
        .flat_map_iter(|i| (0..i).map(move |j| (i, j)))
        .map(|(i, j)| (equal(&sketched[i], &sketched[j]), resemblance(&sets[i], &sets[j])))
        .collect();
    let row = |i: usize| {
        let mut counted = Counted::default();
        for j in 1..i {
            let (first, r_first) = &pairs[at(i, j)];
            let shared: Vec<u64> =
                sets[i].iter().filter(|x| sets[j].binary_search(x).is_ok()).copied().collect();
            for h in 0..j {
                let ((second, r_second), (third, r_third)) = (&pairs[at(i, h)], &pairs[at(j, h)]);
                // Three sets are at most as similar as any two of them.
                let most = r_first.min(*r_second).min(*r_third);
                let truth =
                    if most < THRESHOLDS[0] { 0.0 } else { three(sets, [i, j, h], &shared) };
                counted.groups += 1;
                let wanted = counted.wanted.iter_mut().zip(THRESHOLDS);
                wanted.for_each(|(n, t)| *n += u64::from(truth >= t));
                for (kept, (bits, _)) in KEPT.into_iter().enumerate() {
                    let mut all = 0;
                    for word in 0..WORDS {
                        let of = |equal: &Equal| equal[kept][word];
                        let (a, b, c) = (of(first), of(second), of(third));
                        all += (a.0 & b.0).count_ones();
                        let k = 64.0 * (word + 1) as f64;
                        let estimate = estimate(bits, k, all, a.1 + b.1 + c.1);
                        for (cell, t) in counted.cells[kept][word].iter_mut().zip(THRESHOLDS) {
                            if estimate < t - 1e-9 {
                                break;
                            }
                            cell.reported += 1;
                            cell.right += u64::from(truth >= t);
                        }
                    }
                }
            }
        }
        counted
    };
    let all = (2..sets.len()).into_par_iter().map(row);
    Ok(all.reduce(Counted::default, |a, b| add(a, &b)))
}

impl Counted {
    fn precision(&self, kept: usize, word: usize, threshold: usize) -> f64 {
        let cell = self.cells[kept][word][threshold];
        cell.right as f64 / cell.reported.max(1) as f64
    }

    fn figure(&self, threshold: usize, name: &str) -> Figure {
        let curve = |(colour, (_, kept)): (usize, &(u8, &str))| {
            let point = |word| (64.0 * (word + 1) as f64, self.precision(colour, word, threshold));
            let points = (0..WORDS).map(point).collect();
            Series { name: (*kept).into(), kind: Kind::Dashed, colour, points }
        };
        Figure {
            title: format!("Precision of groups of three at R0 = {}", THRESHOLDS[threshold]),
            caption: format!(
                "{name}: {} groups, {} of them reach R0. As in figure 7 of 004.",
                self.groups, self.wanted[threshold]
            ),
            x: Axis::linear("samples k"),
            y: Axis::linear("precision"),
            series: KEPT.iter().enumerate().map(curve).collect(),
        }
    }

    /// The first number of samples that reaches this precision.
    fn samples_for(&self, kept: usize, threshold: usize, precision: f64) -> String {
        let reached = (0..WORDS).find(|word| self.precision(kept, *word, threshold) >= precision);
        reached.map_or("more than 512".into(), |word| (64 * (word + 1)).to_string())
    }
}

pub(crate) fn part(effort: Effort) -> Outcome<Part> {
    let mut figures: Vec<Figure> = [3.0, 4.0, 8.0, 20.0].map(storage).into();
    let range = |ratio: f64, from: f64, to: f64| {
        let values = (0..=50).map(|i| from + (to - from) * f64::from(i) / 50.0);
        let best =
            |r: f64| [2, 3, 4].map(|b| improvement(b, ratio, r)).into_iter().fold(0.0, f64::max);
        values.map(best).fold((f64::INFINITY, 0.0_f64), |(low, high), v| (low.min(v), high.max(v)))
    };
    let ranges = [3.0, 4.0, 8.0, 20.0]
        .map(|ratio| (ratio, range(ratio, 0.1_f64.min(2.9 / ratio), 2.99 / ratio)));
    let low = ranges.iter().map(|(_, (low, _))| *low).fold(f64::INFINITY, f64::min);
    let cells =
        ranges.map(|(ratio, (low, high))| format!("{low:.1} to {high:.1} for T = {ratio} R"));
    let similar = improvement(2, 3.0, 0.99);
    let mut claims = vec![Claim::new(
        "004, figure 6",
        "three-way storage usually improves 10 (or 15) to 25 times for R > .1, and 25 to 30 times for very similar sets",
        format!(
            "by variance (9), with the best of b = 2, 3, 4, for R from .1 on: {} times; {similar:.1} times at T = 3 R = 2.97",
            cells.join(", ")
        ),
        match (low >= 10.0, (25.0..30.0).contains(&similar)) {
            (true, true) => Agrees::Yes,
            (false, true) => Agrees::InPart,
            _ => Agrees::No,
        },
    )];
    let corpora =
        [data::descriptions(effort.choose(200, 600)), data::source_files(effort.choose(200, 500))?];
    for corpus in corpora.into_iter().flatten() {
        let counted = count(&corpus.sets)?;
        let needed = KEPT.iter().enumerate().map(|(kept, (_, name))| {
            let of = [1, 2].map(|t| counted.samples_for(kept, t, 0.8));
            format!("{name}: {} and {}", of[0], of[1])
        });
        let (four, full) = (counted.precision(1, WORDS - 1, 2), counted.precision(2, WORDS - 1, 2));
        claims.push(Claim::new(
            "004, figure 7",
            "at R0 = .3, groups retrieved with b = 4 are as precise as with full samples (at R0 = .2, precision .8 takes 500, 260 and 170 samples of 2 bits, 4 bits and full width)",
            format!(
                "{}, {} groups: samples for precision .8 at R0 = .2 and .3 are {}; at k = 512 and R0 = .3, precision {four:.3} with b = 4 and {full:.3} with full samples",
                corpus.name,
                counted.groups,
                needed.collect::<Vec<_>>().join(", ")
            ),
            Agrees::when((four - full).abs() < 0.05),
        ));
        figures.extend((0..THRESHOLDS.len()).map(|t| counted.figure(t, corpus.name)));
    }
    let text = format!(
        "The storage improvement is that of the simple estimator at the same variance. For the retrieval, all groups of three \
         documents are compared, exactly and by the simple estimator, for {WORDS} numbers of samples: 64, 128, .., {}.",
        64 * WORDS
    );
    Ok(Part { title: "Groups of three", text, figures, claims })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_sets_of_samples_are_counted_by_bits() {
        let a: Vec<u16> = (0..512).collect();
        let b: Vec<u16> = (0..512).map(|i| i ^ 4).collect();
        let found = equal(&a, &b);
        assert_eq!(found[0][WORDS - 1], (u64::MAX, 512), "the low two bits agree");
        assert_eq!((found[1][WORDS - 1], found[2][WORDS - 1]), ((0, 0), (0, 0)));
        assert!((estimate(2, 512.0, 512, 3 * 512) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn three_sets_are_counted() {
        let sets = [vec![1, 2, 3, 4], vec![2, 3, 4, 5], vec![3, 4, 5, 6]];
        assert!((three(&sets, [0, 1, 2], &[2, 3, 4]) - 2.0 / 6.0).abs() < 1e-12);
    }

    #[test]
    fn very_similar_sets_save_27_times() {
        assert!((improvement(2, 3.0, 1.0 - 1e-6) - 27.43).abs() < 0.01);
    }
}
