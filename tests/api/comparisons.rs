//! From signatures to numbers through the public interface. A comparison uses the formula of its scheme, its results
//! are possible values, and scans agree with single comparisons.

use rayon::prelude::*;
use ringer::internals::estimate::many::Patterns;
use ringer::internals::estimate::pair::{Agreement, Sampling};
use ringer::internals::estimate::{Chance, Estimate, Law};
use ringer::scheme::{CardinalityField, Sampler, Slots, Universe};
use ringer::{Parameters, Scheme, Signature, Signatures, Sketcher, presets, resemblance_of};
use testkit::scale::cases;

const D: u64 = 1 << 16;

fn sketcher(change: impl Fn(&mut Parameters)) -> Sketcher {
    let sampler = Sampler::OnePermutation;
    let mut p = presets::PRECISE.with_sampler(sampler).with_slots(Slots::NONE);
    change(&mut p);
    Sketcher::new(&Scheme::new(p).unwrap())
}

fn range(from: u64, to: u64) -> Vec<u64> {
    (from..to).collect()
}

fn equal_samples(a: &Signature, b: &Signature) -> u32 {
    (0..128).filter(|i| a.sample(*i) == b.sample(*i)).count() as u32
}

/// Adds the sampler's bias to the error of a bounded universe. The bias is 1/D; for the k bins of one permutation it
/// is k/(2eD) in the agreement, converted to resemblance by the slope of the law.
fn widened(e: Estimate, sampler: Sampler, slope: f64) -> Estimate {
    let d = D as f64;
    let bias = match sampler {
        Sampler::OnePermutation => (128.0 / (2.0 * std::f64::consts::E * d) / slope).max(1.0 / d),
        _ => 1.0 / d,
    };
    Estimate {
        std_error: e.std_error.hypot(bias),
        low: (e.low - bias).max(0.0),
        high: (e.high + bias).min(1.0),
        ..e
    }
}

fn assert_close(a: Estimate, b: Estimate) {
    let pairs = [(a.value, b.value), (a.std_error, b.std_error), (a.low, b.low), (a.high, b.high)];
    assert!(pairs.iter().all(|(a, b)| (a - b).abs() < 1e-12), "{a:?} is not {b:?}");
}

/// For every combination of sampler and universe, with small and large sets, the estimate equals the formula with the
/// right collision probability and the right sampling.
#[test]
fn a_comparison_uses_the_formula_of_its_scheme() {
    for sampler in [Sampler::OnePermutation, Sampler::Independent] {
        for (universe, cut) in
            [(Universe::Open, 20), (Universe::Open, 900), (Universe::Bounded(D), 20_000)]
        {
            let sketcher = sketcher(|p| {
                p.sampler = sampler;
                p.universe = universe;
                p.cardinality = CardinalityField::Exact;
            });
            let sets = [range(0, 2 * cut), range(cut, 5 * cut / 2), range(cut / 2, 2 * cut)];
            let s: Vec<Signature> = sets.iter().map(|s| sketcher.sketch(s).unwrap()).collect();
            let sizes: Vec<f64> = sets.iter().map(|s| s.len() as f64).collect();
            let total_size = Some(sizes[0] + sizes[1]);
            let (shares, bounded): (Vec<f64>, bool) =
                (sizes.iter().map(|f| f / D as f64).collect(), universe != Universe::Open);
            let expected = Agreement {
                equal: equal_samples(&s[0], &s[1]),
                samples: 128,
                law: Law::Minwise(if bounded {
                    Chance::dense(4, shares[0], shares[1])
                } else {
                    Chance::sparse(4)
                }),
                sampling: match sampler {
                    Sampler::OnePermutation => Sampling::OnePermutation { total_size },
                    _ => Sampling::Independent,
                },
            };
            let widen = |e, law: Law| match law {
                Law::Minwise(chance) if bounded => widened(e, sampler, 1.0 - chance.c2),
                _ => e,
            };
            let comparison = s[0].compare(&s[1]).unwrap();
            assert_close(comparison.unbiased(), widen(expected.estimate(), expected.law));
            assert_eq!(comparison.equal_samples(), expected.equal);

            let mut patterns = Patterns::new(3, 4).unwrap();
            for i in 0..128 {
                let values: Vec<u16> = s.iter().filter_map(|s| s.sample(i)).collect();
                patterns.add(&values).unwrap();
            }
            let union = (sampler == Sampler::OnePermutation)
                .then(|| sizes.iter().copied().fold(0.0, f64::max));
            let expected = match bounded {
                true => patterns.dense(&shares, union).unwrap(),
                false => patterns.sparse(union).unwrap(),
            };
            let all: Vec<&Signature> = s.iter().collect();
            let law = Law::Minwise(Chance::sparse(4));
            assert_close(resemblance_of(&all).unwrap(), widen(expected, law));
        }
    }
}

/// For sets of very different sizes and every cardinality field: no containment exceeds 1, no intersection is larger
/// than either set, and no value is outside its interval.
#[test]
fn measures_are_possible_numbers() {
    let (mut missed_overlaps, mut overlaps) = (0, 0);
    for (field, universe) in [
        (CardinalityField::Exact, Universe::Open),
        (CardinalityField::Log8, Universe::Open),
        (CardinalityField::Linear4, Universe::Bounded(D)),
        (CardinalityField::Linear8, Universe::Bounded(D)),
    ] {
        for seed in 0..60 {
            let sketcher = sketcher(|p| {
                p.seed = seed;
                p.cardinality = field;
                p.universe = universe;
            });
            for (f1, f2, shared) in
                [(10, 1000, 10), (10, 1000, 0), (5, 20_000, 5), (50, 50, 0), (1, 1, 1)]
            {
                let a = sketcher.sketch(&range(0, f1)).unwrap();
                let b = sketcher.sketch(&range(f1 - shared, f1 - shared + f2)).unwrap();
                let c = a.compare(&b).unwrap();
                let measures = [
                    c.intersection(),
                    c.union(),
                    c.hamming(),
                    c.containment_of_first(),
                    c.containment_of_second(),
                    c.overlap(),
                ]
                .map(Result::unwrap);
                for m in measures {
                    assert!(m.std_error >= 0.0 && 0.0 <= m.low, "{field} {f1} {f2}: {m}");
                    assert!(m.low <= m.value && m.value <= m.high, "{field} {f1} {f2}: {m}");
                }
                let [intersection, union, hamming, first, second, overlap] = measures;
                assert!(first.high <= 1.0 && second.high <= 1.0 && overlap.high <= 1.0);
                let truth = shared as f64 / f1.min(f2) as f64;
                let covers = overlap.low - 1e-9 <= truth && truth <= overlap.high + 1e-9;
                (missed_overlaps, overlaps) =
                    (missed_overlaps + usize::from(!covers), overlaps + 1);
                if field == CardinalityField::Exact {
                    let (small, large) = (f1.min(f2) as f64, f1.max(f2) as f64);
                    assert!(intersection.high <= small + 1e-9, "{intersection}");
                    assert!(union.low >= large - 1e-9, "{union}");
                    assert!(hamming.low >= large - small - 1e-9, "{hamming}");
                }
            }
        }
    }
    // Of the 95 % intervals of the overlap, at most 8 % miss the counted one.
    assert!(100 * missed_overlaps <= 8 * overlaps, "{missed_overlaps} of {overlaps}");
}

/// Coverage is at least .93, minus 4 standard errors of 400 seeds (100 in a quick run). The sizes are known only to a
/// level, and the universes are so small that the formulas are inexact.
#[test]
fn intervals_include_errors_other_than_sampling() {
    let seeds = cases(100, 400);
    let least = 0.93 - 4.0 * (0.93 * 0.07 / seeds as f64).sqrt();
    let schemes = [
        (D, CardinalityField::Linear4, Sampler::OnePermutation, 1000, (60, 60, 0)),
        (D, CardinalityField::Linear4, Sampler::OnePermutation, 1000, (5, 5, 2)),
        (D, CardinalityField::Log8, Sampler::OnePermutation, 1000, (36_800, 36_800, 20_000)),
        (2, CardinalityField::Exact, Sampler::Independent, 128, (1, 2, 1)),
        (3, CardinalityField::Exact, Sampler::Independent, 128, (2, 2, 1)),
        (5, CardinalityField::Exact, Sampler::Independent, 128, (4, 4, 3)),
        (20, CardinalityField::Exact, Sampler::Independent, 128, (10, 10, 5)),
        (200, CardinalityField::Exact, Sampler::Independent, 1024, (100, 100, 50)),
    ];
    for (universe, field, sampler, samples, (f1, f2, shared)) in schemes {
        for bits in [1, 4] {
            let truth = shared as f64 / (f1 + f2 - shared) as f64;
            let covered = (0..seeds).into_par_iter().filter(|seed| {
                let sketcher = sketcher(|p| {
                    p.universe = Universe::Bounded(universe);
                    p.cardinality = field;
                    p.sampler = sampler;
                    p.samples = samples;
                    p.bits = bits;
                    p.seed = *seed;
                });
                let a = sketcher.sketch(&range(0, f1)).unwrap();
                let b = sketcher.sketch(&range(f1 - shared, f1 - shared + f2)).unwrap();
                let r = a.resemblance(&b).unwrap();
                r.low <= truth && truth <= r.high
            });
            let share = covered.count() as f64 / seeds as f64;
            assert!(share >= least, "D {universe} {field} b {bits} {f1} {f2} {shared}: {share}");
        }
    }
}

/// The same for three sets whose sizes are known to one of 16 levels: at least .93, minus 4 standard errors of 200
/// seeds (50 in a quick run).
#[test]
fn intervals_of_three_sets_include_uncertain_sizes() {
    let seeds = cases(50, 200);
    let least = 0.93 - 4.0 * (0.93 * 0.07 / seeds as f64).sqrt();
    for (size, shared) in [(2000, 1500), (20_000, 9000)] {
        let truth = shared as f64 / (3 * size - 2 * shared) as f64;
        let covered = (0..seeds).into_par_iter().filter(|seed| {
            let sketcher = sketcher(|p| {
                p.universe = Universe::Bounded(D);
                p.cardinality = CardinalityField::Linear4;
                p.sampler = Sampler::Independent;
                p.samples = 512;
                p.bits = 2;
                p.seed = *seed;
            });
            let own = size - shared;
            let sets = [0, 1, 2].map(|i| {
                let from = shared + i * own;
                sketcher.sketch(&[range(0, shared), range(from, from + own)].concat()).unwrap()
            });
            let r = resemblance_of(&sets.each_ref()).unwrap();
            r.low <= truth && truth <= r.high
        });
        let share = covered.count() as f64 / seeds as f64;
        assert!(share >= least, "{size} {shared}: {share}");
    }
}

/// A scan over several blocks visits exactly the rows that single comparisons would choose. Empty sets are never
/// among them.
#[test]
fn scans_see_what_comparisons_see() {
    let sketcher = sketcher(|p| p.bits = 2);
    let sets: Vec<Vec<u64>> = (0..2500)
        .map(|i| if i % 7 == 0 { Vec::new() } else { range(i % 90, i % 90 + 100) })
        .collect();
    let rows: Signatures = sketcher.sketch_all(&sets).unwrap();
    let query = sketcher.sketch(&range(30, 130)).unwrap();
    let mut counts = Vec::new();
    rows.count_equal(&query, &mut counts).unwrap();
    for (i, count) in counts.iter().enumerate() {
        let row = rows.get(i).unwrap();
        assert_eq!(u32::from(*count), equal_samples(&row, &query), "row {i}");
    }
    for from in [0, 1, 1023, 1024, 1500, 2499, 2500, 9999] {
        for least in [0, 60, counts[30], counts[30] + 1, 128] {
            let mut visited = Vec::new();
            rows.for_each_count(&query, from, least, |row, count| visited.push((row, count)))
                .unwrap();
            let expected: Vec<(usize, u16)> = (from..2500)
                .filter(|i| !sets[*i].is_empty() && counts[*i] >= least)
                .map(|i| (i, counts[i]))
                .collect();
            assert_eq!(visited, expected, "from {from}, at least {least}");
        }
    }
    let empty = sketcher.sketch(&[]).unwrap();
    rows.for_each_count(&empty, 0, 0, |row, _| panic!("row {row} is like the empty set")).unwrap();
}

/// No argument makes an estimator panic.
#[test]
fn impossible_arguments_are_harmless() {
    for (equal, samples) in [(5, 3), (200, 128), (0, 0), (1, 1)] {
        for chance in [
            Chance::sparse(4),
            Chance::dense(4, f64::NAN, 0.1),
            Chance::dense(4, f64::INFINITY, 2.0),
        ] {
            for total_size in [None, Some(0.0), Some(f64::NAN), Some(-3.0), Some(f64::INFINITY)] {
                let sampling = Sampling::OnePermutation { total_size };
                let agreement = Agreement { equal, samples, law: chance.into(), sampling };
                let _ = agreement.estimate();
                let _ = agreement.probability_at_least(0.5);
                let _ = agreement.probability_at_least(f64::NAN);
            }
        }
    }
    let scheme = Scheme::precise();
    assert!(ringer::internals::estimate::planning::found(&scheme, f64::NAN).is_nan());
    assert!(CardinalityField::Linear4.encode(1, Universe::Bounded(0)).is_ok());
    let mut patterns = Patterns::new(3, 4).unwrap();
    patterns.add(&[1, 1, 2]).unwrap();
    for share in [0.0, f64::NAN, -1.0, 1.5] {
        assert!(patterns.dense(&[share, 0.5, 0.5], None).is_err());
    }
    assert!(Patterns::new(4, 4).unwrap().sparse(None).is_err());
}

/// Eight equal sets in a bounded universe have a resemblance of 1 and a small error.
#[test]
fn many_equal_sets_have_a_small_error() {
    for bits in [3, 4] {
        let sketcher = sketcher(|p| {
            p.bits = bits;
            p.universe = Universe::Bounded(D);
            p.sampler = Sampler::Independent;
        });
        let s = sketcher.sketch(&range(0, 5000)).unwrap();
        let e = resemblance_of(&[&s; 8]).unwrap();
        assert!(e.value == 1.0 && e.std_error < 0.01 && e.low > 0.96, "{e}");
    }
}
