//! (e) Half a bit against one bit.

use ringer::estimate::Chance;
use ringer::scheme::{Packing, Universe};

use crate::chart::{Axis, Figure, Kind, Series};
use crate::data::{DOCUMENTS, NO_DATA, Words};
use crate::page::{Agrees, Claim, Part};
use crate::simulation::{Pair, mean_square, repeat, scheme};
use crate::{Effort, Outcome};

const STORED: [u32; 4] = [64, 128, 256, 512];

/// The variance of half bits (equation 28), times the number of stored bits.
fn half_variance(chance: &Chance, resemblance: f64) -> f64 {
    let p = chance.agreement(resemblance);
    let t = p * p + (1.0 - p) * (1.0 - p);
    t * (1.0 - t) / (4.0 * (1.0 - chance.c2).powi(2) * (2.0 * t - 1.0))
}

fn measure(pair: &Pair<'_>, packing: Packing, seeds: u64) -> Outcome<Vec<(f64, f64)>> {
    let truth = pair.resemblance();
    STORED
        .iter()
        .map(|bits| {
            let parameters = scheme(Universe::Bounded(DOCUMENTS), *bits, 1, packing);
            let errors = repeat(parameters, &pair.sets, seeds, |signatures| {
                Ok(signatures[0].compare(&signatures[1])?.unbiased().value - truth)
            })?;
            Ok((f64::from(*bits), mean_square(&errors)))
        })
        .collect()
}

pub(crate) fn part(effort: Effort) -> Outcome<Part> {
    let title = "Half a bit";
    let pairs = [["kong", "hong"], ["of", "and"], ["united", "states"]];
    let Some(words) = Words::read(&pairs.concat()) else {
        return Ok(Part { title, text: NO_DATA.into(), figures: Vec::new(), claims: Vec::new() });
    };
    let seeds = effort.choose(100, 1000);
    let (mut figures, mut ratios) = (Vec::new(), Vec::new());
    for names in pairs {
        let pair = Pair { sets: [words.get(names[0])?, words.get(names[1])?], universe: DOCUMENTS };
        let (truth, chance) = (pair.resemblance(), pair.chance(1));
        let (half, whole) =
            (measure(&pair, Packing::XorPairs, seeds)?, measure(&pair, Packing::LowBits, seeds)?);
        let one = chance.variance(chance.agreement(truth));
        let other = half_variance(&chance, truth);
        let last = STORED.len() - 1;
        ratios.push((names[0], truth, whole[last].1 / half[last].1, one / other));
        let line = |v: f64| STORED.iter().map(|k| (f64::from(*k), v / f64::from(*k))).collect();
        let series =
            |name: &str, colour, kind, points| Series { name: name.into(), kind, colour, points };
        figures.push(Figure {
            title: format!("{} and {}", names[0], names[1]),
            caption: format!("R = {truth:.3}; {seeds} repetitions. As in figure 10 of 000."),
            x: Axis::log("stored bits"),
            y: Axis::log("mean square error of R"),
            series: vec![
                series("b = 1/2", 0, Kind::Line, line(other)),
                series("b = 1/2", 0, Kind::Points, half),
                series("b = 1", 1, Kind::Line, line(one)),
                series("b = 1", 1, Kind::Points, whole),
            ],
        });
    }
    let cells: Vec<String> = ratios
        .iter()
        .map(|(word, r, measured, theory)| {
            format!("{word} (R = {r:.2}) {measured:.2} (theory {theory:.2})")
        })
        .collect();
    let agrees =
        ratios.iter().all(|(_, _, measured, theory)| (measured / theory - 1.0).abs() < 0.25);
    let claims = vec![Claim::new(
        "000, 5 and figure 10",
        "half bits are better than 1 bit from R = .5774 on for sparse sets, up to twice as good near 1",
        format!(
            "variance of 1 bit over that of half a bit, at 512 stored bits: {}",
            cells.join(", ")
        ),
        Agrees::when(agrees),
    )];
    let text = "Two 1-bit samples are stored as their XOR. Lines are the variances (28) and (11) divided by the stored bits. \
                With few bits, the estimate from half bits is biased, and its error is larger than the line."
        .into();
    Ok(Part { title, text, figures, claims })
}
