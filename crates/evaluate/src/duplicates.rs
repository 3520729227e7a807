//! (c) Duplicate detection: precision and recall against k, and the space that b-bit samples save.

use rayon::prelude::*;
use ringer::estimate::Chance;
use ringer::scheme::{Packing, Universe};
use ringer::{Scheme, Sketcher};

use crate::chart::{Axis, Figure, Kind, Series};
use crate::data::{self, Corpus, NO_DATA};
use crate::page::{Agrees, Claim, Part};
use crate::simulation::{resemblance, samples, scheme};
use crate::{Effort, Outcome};

const STEPS: [usize; 12] = [10, 20, 30, 40, 50, 75, 100, 150, 200, 300, 400, 500];
const THRESHOLDS: [f64; 6] = [0.3, 0.4, 0.5, 0.6, 0.7, 0.8];

/// Bits, and the bits that count as storage. Samples of 16 bits stand for full ones: one pair of samples in 65,536 agrees
/// by chance, and the estimate is corrected for that. As in the paper, full samples are charged with 64 bits.
const KEPT: [(u32, &str, f64); 4] =
    [(1, "b = 1", 1.0), (2, "b = 2", 2.0), (4, "b = 4", 4.0), (16, "full samples", 64.0)];

/// Reported pairs, right ones among them, and wrong ones below resemblance .2.
#[derive(Clone, Copy, Default)]
struct Cell {
    reported: u64,
    right: u64,
    far: u64,
}

type Cells = [[[Cell; THRESHOLDS.len()]; STEPS.len()]; KEPT.len()];

struct Counted {
    cells: Cells,
    /// Pairs at each threshold.
    wanted: [u64; THRESHOLDS.len()],
}

fn add(mut a: Counted, b: &Counted) -> Counted {
    let cells = a.cells.as_flattened_mut().as_flattened_mut();
    for (cell, other) in cells.iter_mut().zip(b.cells.as_flattened().as_flattened()) {
        cell.reported += other.reported;
        cell.right += other.right;
        cell.far += other.far;
    }
    a.wanted.iter_mut().zip(b.wanted).for_each(|(a, b)| *a += b);
    a
}

fn none() -> Counted {
    Counted { cells: Cells::default(), wanted: Default::default() }
}

/// Compares all pairs of a corpus, exactly and by every prefix of the samples.
fn count(corpus: &Corpus) -> Outcome<Counted> {
    let parameters = scheme(Universe::Open, 500, 16, Packing::LowBits);
    let sketcher = Sketcher::new(&Scheme::new(parameters)?);
    let sketched: ringer::Result<Vec<Vec<u16>>> =
        corpus.sets.par_iter().map(|set| Ok(samples(&sketcher.sketch(set)?))).collect();
    let sketched = sketched?;
    let chances = KEPT.map(|(bits, ..)| Chance::sparse(bits));
    let row = |i: usize| {
        let mut counted = none();
        for j in 0..i {
            let truth = resemblance(&corpus.sets[i], &corpus.sets[j]);
            THRESHOLDS
                .iter()
                .zip(&mut counted.wanted)
                .for_each(|(t, n)| *n += u64::from(truth >= *t));
            let (mut equal, mut at) = ([0_u32; KEPT.len()], 0);
            for (step, k) in STEPS.iter().enumerate() {
                for (a, b) in sketched[i][at..*k].iter().zip(&sketched[j][at..*k]) {
                    let different = a ^ b;
                    equal[0] += u32::from(different & 1 == 0);
                    equal[1] += u32::from(different & 3 == 0);
                    equal[2] += u32::from(different & 15 == 0);
                    equal[3] += u32::from(different == 0);
                }
                at = *k;
                for (kept, chance) in chances.iter().enumerate() {
                    let estimate = chance.resemblance(f64::from(equal[kept]) / *k as f64);
                    for (cell, t) in counted.cells[kept][step].iter_mut().zip(THRESHOLDS) {
                        if estimate < t - 1e-9 {
                            break;
                        }
                        cell.reported += 1;
                        cell.right += u64::from(truth >= t);
                        cell.far += u64::from(truth < 0.2);
                    }
                }
            }
        }
        counted
    };
    Ok((0..sketched.len()).into_par_iter().map(row).reduce(none, |a, b| add(a, &b)))
}

impl Counted {
    fn precision(&self, kept: usize, step: usize, threshold: usize) -> f64 {
        let cell = self.cells[kept][step][threshold];
        cell.right as f64 / cell.reported.max(1) as f64
    }

    /// The number of samples at which the precision stays at or above this, between the measured numbers.
    fn samples_for(&self, kept: usize, threshold: usize, precision: f64) -> Option<f64> {
        let at = |step: usize| self.precision(kept, step, threshold);
        let below = (0..STEPS.len()).rev().find(|step| at(*step) < precision);
        let Some(below) = below else { return Some(STEPS[0] as f64) };
        let above = STEPS.get(below + 1)?;
        let share = (precision - at(below)) / (at(below + 1) - at(below)).max(1e-12);
        Some(STEPS[below] as f64 + share * (*above as f64 - STEPS[below] as f64))
    }

    /// How many times the space full samples need.
    fn gain(&self, kept: usize, threshold: usize, precision: f64) -> Option<f64> {
        let full = KEPT.len() - 1;
        let of = |kept: usize| Some(self.samples_for(kept, threshold, precision)? * KEPT[kept].2);
        Some(of(full)? / of(kept)?)
    }
}

fn figures(counted: &Counted, name: &str) -> Vec<Figure> {
    let series = |kept: usize, value: &dyn Fn(usize) -> f64| Series {
        name: KEPT[kept].1.into(),
        kind: Kind::Dashed,
        colour: kept,
        points: STEPS.iter().enumerate().map(|(step, k)| (*k as f64, value(step))).collect(),
    };
    let figure = |title: String, y, value: &dyn Fn(usize, usize) -> f64| Figure {
        title,
        caption: format!("{name}. As in figure 4 of 000."),
        x: Axis::log("samples k"),
        y: Axis::linear(y),
        series: (0..KEPT.len()).map(|kept| series(kept, &|step| value(kept, step))).collect(),
    };
    let mut all: Vec<Figure> = THRESHOLDS
        .iter()
        .enumerate()
        .map(|(t, r0)| {
            let precision = |kept, step| counted.precision(kept, step, t);
            figure(format!("Precision at R0 = {r0}"), "precision", &precision)
        })
        .collect();
    let wanted = counted.wanted[1].max(1) as f64;
    let recall = |kept: usize, step: usize| counted.cells[kept][step][1].right as f64 / wanted;
    all.push(figure("Recall at R0 = 0.4".into(), "recall", &recall));
    all
}

fn gains(counted: &Counted, threshold: usize) -> [Option<f64>; 3] {
    [0, 1, 2].map(|kept| counted.gain(kept, threshold, 0.8))
}

fn shown(gains: [Option<f64>; 3]) -> String {
    gains.map(|gain| gain.map_or("-".into(), |gain| format!("{gain:.1}"))).join(" / ")
}

pub(crate) fn part(effort: Effort) -> Outcome<Part> {
    let most = effort.choose(1000, 4000);
    let title = "Duplicate detection";
    let corpora = [data::descriptions(most), data::source_files(most.min(3000))?];
    let mut part = Part { title, text: String::new(), figures: Vec::new(), claims: Vec::new() };
    for corpus in corpora.into_iter().flatten() {
        let counted = count(&corpus)?;
        let published = gains(&counted, 1);
        // Where 1-bit samples first reach the precision, or at the last number of samples.
        let step = (0..STEPS.len()).find(|step| counted.precision(0, *step, 1) >= 0.8);
        let cell = counted.cells[0][step.unwrap_or(STEPS.len() - 1)][1];
        let far = cell.far as f64 / (cell.reported - cell.right).max(1) as f64;
        let sets = corpus.sets.len();
        let higher = [2, 3, 4, 5]
            .map(|t| format!("{} at R0 = {}", shown(gains(&counted, t)), THRESHOLDS[t]));
        part.claims.push(Claim::new(
            "000, figure 4",
            "at R0 = .4 and precision .8, samples of 1, 2 and 4 bits need 22, 21.4 and 16 times less space than full ones",
            format!(
                "{}, {sets} sets: {} times. {:.0} % of the pairs that 1-bit samples report wrongly are below R = .2. Also {}",
                corpus.name,
                shown(published),
                100.0 * far,
                higher.join(", "),
            ),
            match published[0] {
                Some(gain) if gain > 18.0 => Agrees::Yes,
                _ => Agrees::InPart,
            },
        ));
        part.figures.extend(figures(&counted, corpus.name));
    }
    part.text = match part.claims.is_empty() {
        true => NO_DATA.into(),
        false => "All pairs of a corpus are compared by their estimates, for each b and every prefix of 500 samples. A pair is \
                  right if its exact resemblance reaches R0. The gain is the ratio of the spaces at which full samples (64 \
                  bits) and b-bit samples reach the same precision.\n\nThe published gain assumes that wrong pairs are near \
                  the threshold. In a corpus where most pairs share a few common words, wrong pairs come from far below it. \
                  There, samples of few bits need more samples to tell them apart, and the gain is smaller."
            .into(),
    };
    Ok(part)
}
