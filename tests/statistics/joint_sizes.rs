//! Sizes of the intersection and the union of several sets, over a thousand seeds: near the counted sizes on average, covered
//! by their intervals, and with the stated error.

use rayon::prelude::*;
use testkit::trials::Regions;

use ringer::scheme::{CardinalityField, Sampler, Slots, Universe};
use ringer::{Estimate, Scheme, Sketcher, measures_of, presets};

const REPETITIONS: u64 = 1000;

fn estimates(
    regions: &Regions,
    sampler: Sampler,
    universe: Universe,
    bits: u8,
    field: CardinalityField,
) -> Vec<[Estimate; 2]> {
    let sets = regions.elements();
    let of_seed = |seed| {
        let parameters = presets::PRECISE
            .with_sampler(sampler)
            .with_universe(universe)
            .with_seed(seed)
            .with_bits(bits)
            .with_samples(128)
            .with_cardinality(field)
            .with_slots(Slots::NONE);
        let sketcher = Sketcher::new(&Scheme::new(parameters).expect("a valid scheme"));
        let sketched: Vec<_> =
            sets.iter().map(|set| sketcher.sketch(set).expect("a valid set")).collect();
        let measures = measures_of(&sketched.iter().collect::<Vec<_>>()).expect("an estimate");
        [measures.intersection, measures.union]
    };
    (1..=REPETITIONS).into_par_iter().map(of_seed).collect()
}

fn run(regions: &[u64], sampler: Sampler, universe: Universe, bits: u8, field: CardinalityField) {
    let regions = Regions(regions.to_vec());
    let (union, n) = (regions.union() as f64, REPETITIONS as f64);
    let shared = regions.0[regions.0.len() - 1] as f64;
    let estimates = estimates(&regions, sampler, universe, bits, field);
    for (part, truth) in [shared, union].into_iter().enumerate() {
        let at = format!("{sampler} {universe} b {bits} {field:?} {:?} part {part}", regions.0);
        let each = || estimates.iter().map(|e| e[part]);
        let mean = each().map(|e| e.value).sum::<f64>() / n;
        let variance = each().map(|e| (e.value - mean).powi(2)).sum::<f64>() / n;
        // A stored level may be off by 4.4 %. Clamping to what sizes allow moves means by less than 2 % of the union.
        let level = if field == CardinalityField::Exact { 0.0 } else { 0.06 * union };
        let bound = 4.0 * (variance / n).sqrt() + 0.02 * union + level;
        assert!((mean - truth).abs() <= bound, "{at}: mean {mean:.1}, truth {truth}");
        let covered = each().filter(|e| e.low <= truth && truth <= e.high).count() as f64 / n;
        assert!(covered >= 0.93, "{at}: only {covered} covered");
        // The rounding of a stored size is the same under all seeds, so the spread is that of the samples.
        let centre = if level == 0.0 { truth } else { mean };
        let observed = each().map(|e| (e.value - centre).powi(2)).sum::<f64>() / n;
        let stated = each().map(|e| e.std_error * e.std_error).sum::<f64>() / n;
        let (stated, observed) = (stated.sqrt(), observed.sqrt());
        assert!(stated >= 0.8 * observed, "{at}: stated error {stated:.1}, observed {observed:.1}");
        // Where the truth is the least or the most that sizes allow, clamping makes the error smaller than stated.
        let nested = (0..regions.sets()).any(|set| regions.size(set) as f64 == union);
        if shared > 0.05 * union && shared < 0.9 * union && level == 0.0 && !nested {
            assert!(
                stated <= 1.5 * observed,
                "{at}: stated error {stated:.1}, observed {observed:.1}"
            );
        }
    }
}

/// Regions of three sets by mask: much in common, little, nested, nothing, all, and nearly all.
const THREE: [[u64; 8]; 6] = [
    [0, 100, 100, 100, 100, 100, 100, 600],
    [0, 400, 300, 200, 250, 150, 300, 100],
    [0, 500, 0, 300, 0, 0, 0, 700],
    [0, 300, 300, 200, 300, 200, 200, 0],
    [0, 0, 0, 0, 0, 0, 0, 1500],
    [0, 10, 15, 5, 10, 5, 5, 1500],
];

#[test]
fn three_sets() {
    for regions in THREE {
        for bits in [2, 4, 8] {
            let (open, exact) = (Universe::Open, CardinalityField::Exact);
            run(&regions, Sampler::Independent, open, bits, exact);
        }
        run(&regions, Sampler::Independent, Universe::Open, 4, CardinalityField::Log8);
    }
}

#[test]
fn three_sets_of_other_samplers() {
    for regions in THREE {
        for sampler in [Sampler::OnePermutation, Sampler::EveryBin] {
            run(&regions, sampler, Universe::Open, 4, CardinalityField::Exact);
        }
    }
}

#[test]
fn three_sets_bounded() {
    for regions in THREE {
        let regions = regions.map(|n| n * 10);
        let universe = Universe::Bounded(1 << 16);
        run(&regions, Sampler::Independent, universe, 3, CardinalityField::Exact);
    }
}

#[test]
fn four_and_five_sets() {
    let four = [0, 40, 30, 20, 20, 10, 10, 15, 25, 5, 10, 10, 10, 10, 10, 100].map(|n| n * 10);
    let mut five: Vec<u64> = (0..32).map(|region| 10 * (3 + region % 5)).collect();
    five[0] = 0;
    five[31] = 1200;
    run(&four, Sampler::Independent, Universe::Open, 4, CardinalityField::Exact);
    run(&five, Sampler::Independent, Universe::Open, 4, CardinalityField::Exact);
}
