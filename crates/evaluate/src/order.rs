//! Maximum likelihood from the order of samples, beside the estimate from equal samples.

use ringer::scheme::{Packing, Universe};

use crate::chart::{Axis, Figure, Kind, Series};
use crate::data::{DOCUMENTS, Words};
use crate::page::{Agrees, Claim, Part};
use crate::simulation::{Pair, mean_square, repeat, scheme};
use crate::{Effort, Outcome};

const SIZE: u64 = 4096;
const SAMPLES: u32 = 128;

/// Mean square errors of the simple estimate and of the likelihood's.
fn errors(pair: &Pair<'_>, bits: u8, seeds: u64) -> Outcome<[f64; 2]> {
    let truth = pair.resemblance();
    let parameters = scheme(Universe::Bounded(pair.universe), SAMPLES, bits, Packing::LowBits);
    let errors = repeat(parameters, &pair.sets, seeds, |signatures| {
        let comparison = signatures[0].compare(&signatures[1])?;
        Ok([comparison.unbiased().value - truth, comparison.likelihood().value - truth])
    })?;
    Ok([0, 1].map(|i| mean_square(&errors.iter().map(|e| e[i]).collect::<Vec<_>>())))
}

/// Sets of these shares of the universe, from nothing shared to all of the smaller one.
fn sweep(r1: f64, r2: f64, bits: u8, seeds: u64) -> Outcome<Vec<(f64, f64)>> {
    let [f1, f2] = [r1, r2].map(|r| (r * SIZE as f64) as u64);
    let first: Vec<u64> = (0..f1).collect();
    let mut points = Vec::new();
    for tenth in 0..=10 {
        let shared = f2 * tenth / 10;
        let second: Vec<u64> = (f1 - shared..f1 + f2 - shared).collect();
        let [simple, likely] =
            errors(&Pair { sets: [&first, &second], universe: SIZE }, bits, seeds)?;
        // The error of the likelihood is 0 under some seeds where one set contains the other.
        points.push((tenth as f64 / 10.0, simple / likely.max(simple / 1000.0)));
    }
    Ok(points)
}

pub(crate) fn part(effort: Effort) -> Outcome<Part> {
    let seeds = effort.choose(60, 500);
    let mut figures = Vec::new();
    for (r1, r2) in [(0.3, 0.3), (0.3, 0.1), (0.6, 0.03), (0.05, 0.02)] {
        let mut series = Vec::new();
        for (colour, bits) in [1, 2, 4, 8].into_iter().enumerate() {
            let points = sweep(r1, r2, bits, seeds)?;
            series.push(Series { name: format!("b = {bits}"), kind: Kind::Dashed, colour, points });
        }
        figures.push(Figure {
            title: format!("Gain of the likelihood, r1 = {r1}, r2 = {r2}"),
            caption: format!("Mean square error of the simple estimate over that of the likelihood, k = {SAMPLES}; {seeds} repetitions."),
            x: Axis::linear("share of the second set that is in the first"),
            y: Axis::log("ratio of errors"),
            series,
        });
    }
    let low = sweep(0.6, 0.03, 4, seeds)?;
    let gain = low.iter().map(|(_, gain)| *gain).fold(f64::INFINITY, f64::min);
    let mut claims = vec![Claim::new(
        "000, 7.3",
        "maximum likelihood improves the estimate, most for low resemblance and high containment",
        format!(
            "r1 = .6, r2 = .03, b = 4: the mean square error is {gain:.1} to {:.1} times smaller, most where the second set is contained",
            low.iter().map(|(_, gain)| *gain).fold(0.0, f64::max)
        ),
        Agrees::when(gain > 1.3),
    )];
    if let Some(words) = Words::read(&["a", "test", "of", "and", "time", "job", "low", "pay"]) {
        let (mut cells, mut least) = (Vec::new(), f64::INFINITY);
        for [first, second] in [["a", "test"], ["of", "and"], ["time", "job"], ["low", "pay"]] {
            let pair = Pair { sets: [words.get(first)?, words.get(second)?], universe: DOCUMENTS };
            let [simple, likely] = errors(&pair, 4, seeds)?;
            least = least.min(simple / likely);
            cells.push(format!(
                "{first}-{second} (R = {:.3}) {:.2}",
                pair.resemblance(),
                simple / likely
            ));
        }
        claims.push(Claim::new(
            "000, 7.3",
            "the same on words",
            format!("error of the simple estimate over that of the likelihood, b = 4, k = {SAMPLES}: {}", cells.join(", ")),
            Agrees::when(least > 0.95),
        ));
    }
    let text = "In a bounded universe, samples are places, and their low bits show which of two places comes first. The \
                likelihood uses the counts of all pairs of values, with cells of the same order and magnitude added up, and \
                the sizes of both sets. The simple estimate uses the count of equal samples only."
        .into();
    Ok(Part { title: "Order of samples", text, figures, claims })
}
