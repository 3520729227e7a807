//! (g) The index: measured recall of the presets against the promised one.

use ringer::estimate::planning::{at_least, found};
use ringer::sketch::SlotReader;
use ringer::{Parameters, Scheme, presets};
use testkit::random::mix;

use crate::chart::{Axis, Figure, Kind, Series};
use crate::page::{Agrees, Claim, Part};
use crate::simulation::repeat;
use crate::{Effort, Outcome};

/// Elements of the union of both sets.
const UNION: u64 = 1000;

const PRESETS: [(&str, Parameters); 5] = [
    ("RDC, 5 of 12", rdc()),
    ("AltaVista", presets::ALTA_VISTA),
    ("Bing", presets::BING),
    ("near-duplicate", presets::NEAR_DUPLICATE),
    ("precise", presets::PRECISE),
];

/// RDC with the number of matching slots for which 001 gives figures.
const fn rdc() -> Parameters {
    let mut parameters = presets::RDC;
    parameters.slots.min_matches = 5;
    parameters
}

/// The share of seeds under which sets of this resemblance match in enough slots.
fn recall(parameters: Parameters, resemblance: f64, seeds: u64) -> Outcome<f64> {
    let shared = (resemblance * UNION as f64).round() as u64;
    let only = (UNION - shared) / 2;
    let first: Vec<u64> = (0..shared + only).collect();
    let second: Vec<u64> = (0..shared).chain(UNION..UNION + only).collect();
    let slots = SlotReader::new(&Scheme::new(parameters)?);
    let least = usize::from(parameters.slots.min_matches);
    let matched = repeat(parameters, &[&first, &second], seeds, |signatures| {
        let [mut a, mut b] = [vec![0; slots.count()], vec![0; slots.count()]];
        slots.read(signatures[0].planes(), &mut a);
        slots.read(signatures[1].planes(), &mut b);
        Ok(a.iter().zip(&b).filter(|(a, b)| a == b).count() >= least)
    })?;
    Ok(matched.iter().filter(|matched| **matched).count() as f64 / seeds as f64)
}

/// AltaVista's tables: one for each pair of its six slots, so that a single lookup finds documents with two equal slots.
/// Returns how often the tables and the rule `2 of 6` decide alike, and how often a slot and a pair are equal.
fn megashingles(resemblance: f64, seeds: u64) -> Outcome<(f64, f64, f64)> {
    let shared = (resemblance * UNION as f64).round() as u64;
    let only = (UNION - shared) / 2;
    let first: Vec<u64> = (0..shared + only).collect();
    let second: Vec<u64> = (0..shared).chain(UNION..UNION + only).collect();
    let slots = SlotReader::new(&Scheme::new(presets::ALTA_VISTA)?);
    let counted = repeat(presets::ALTA_VISTA, &[&first, &second], seeds, |signatures| {
        let [mut a, mut b] = [vec![0; slots.count()], vec![0; slots.count()]];
        slots.read(signatures[0].planes(), &mut a);
        slots.read(signatures[1].planes(), &mut b);
        let pair = |values: &[u32], i: usize, j: usize| {
            mix(mix(u64::from(values[i])).wrapping_add(u64::from(values[j])))
        };
        let pairs = (0..a.len()).flat_map(|i| (0..i).map(move |j| (i, j)));
        let equal = pairs.filter(|(i, j)| pair(&a, *i, *j) == pair(&b, *i, *j)).count();
        let single = a.iter().zip(&b).filter(|(a, b)| a == b).count();
        Ok(((equal > 0) == (single >= 2), single > 0, equal > 0))
    })?;
    let share = |right: &dyn Fn(&(bool, bool, bool)) -> bool| {
        counted.iter().filter(|c| right(c)).count() as f64 / seeds as f64
    };
    Ok((share(&|c| c.0), share(&|c| c.1), share(&|c| c.2)))
}

pub(crate) fn part(effort: Effort) -> Outcome<Part> {
    let seeds = effort.choose(300, 3000);
    let (mut series, mut rows) = (Vec::new(), Vec::new());
    for (colour, (name, parameters)) in PRESETS.into_iter().enumerate() {
        let scheme = Scheme::new(parameters)?;
        let promised = (0..=100).map(|i| f64::from(i) / 100.0).map(|r| (r, found(&scheme, r)));
        series.push(Series {
            name: name.into(),
            kind: Kind::Line,
            colour,
            points: promised.collect(),
        });
        let mut points = Vec::new();
        let mut worst = (0.0, 0.0_f64);
        for r in [0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95] {
            let measured = recall(parameters, r, seeds)?;
            points.push((r, measured));
            let promised = found(&scheme, r);
            let error = (promised * (1.0 - promised) / seeds as f64).sqrt().max(0.5 / seeds as f64);
            // Slots of neighbouring bins are not quite independent, which is stated as a tolerance of .02.
            let off = ((measured - promised).abs() - 0.02).max(0.0) / error;
            if off > worst.1 || worst.0 == 0.0 {
                worst = (r, off);
            }
        }
        rows.push((name, worst));
        series.push(Series { name: name.into(), kind: Kind::Points, colour, points });
    }
    let figures = vec![Figure {
        title: "Probability to be found".into(),
        caption: format!(
            "Two sets with {UNION} elements in their union; {seeds} repetitions. Lines are promised, points measured."
        ),
        x: Axis::linear("resemblance R"),
        y: Axis::linear("recall"),
        series,
    }];
    let broken: Vec<&str> =
        rows.iter().filter(|(_, worst)| worst.1 > 4.0).map(|(name, _)| *name).collect();
    let alta_vista = |r: f64| at_least(2, 6, r.powi(14));
    let bing = |r: f64| at_least(4, 6, r.powi(5));
    let (alike, single, double) = megashingles(0.85, seeds)?;
    let claims = vec![
        Claim::new(
            "001, 6.1 and 6.2; 002",
            "a pair of resemblance R is found with the probability that enough of its slots match",
            match broken.is_empty() {
                true => format!(
                    "all {} presets, at 9 resemblances each, to .02 and 4 standard errors",
                    rows.len()
                ),
                false => format!("not for {}", broken.join(", ")),
            },
            Agrees::when(broken.is_empty()),
        ),
        Claim::new(
            "001, 2.5 and 6.1",
            "AltaVista finds 87 % of the pairs at R = .95",
            format!("{:.1} %, and Bing {:.1} %", 100.0 * alta_vista(0.95), 100.0 * bing(0.95)),
            Agrees::when((alta_vista(0.95) - 0.87).abs() < 0.01),
        ),
        Claim::new(
            "001, 6.1",
            "AltaVista finds 0.7 % at R = .7 and .006 % at R = .5",
            format!(
                "{:.3} % and {:.6} %. The printed figures are those of a single slot, .7^14 and .5^14, and not of 2 slots of 6",
                100.0 * alta_vista(0.7),
                100.0 * alta_vista(0.5)
            ),
            Agrees::No,
        ),
        Claim::new(
            "001, 2.5",
            "fifteen tables of pairs of supershingles (megashingles) find the documents with two equal supershingles by one equal pair",
            format!(
                "the tables decide as the rule 2 of 6 for {:.1} % of {seeds} pairs of sets. At R = .85, {:.1} % of them share a supershingle and become candidates in lists of single ones, and {:.1} % share a pair",
                100.0 * alike,
                100.0 * single,
                100.0 * double
            ),
            Agrees::when(alike == 1.0),
        ),
    ];
    let text = "Each preset is a rule: at least m of L slots of g samples match. The probability is computed from the rule, and \
                measured with pairs of sets under many seeds."
        .into();
    Ok(Part { title: "Index", text, figures, claims })
}
