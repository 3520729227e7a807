//! Recall through copied samples against the exact probability.

use super::planning;
use super::recall::{Copies, Recall, Spread};
use crate::scheme::{Parameters, Sampler, Scheme, Slots, presets};

/// The logarithms of 0!, 1!, 2!, ...
fn ln_factorials(most: usize) -> Vec<f64> {
    let logarithms = (1..=most).map(|i| (i as f64).ln());
    let sums = logarithms.scan(0.0, |sum, ln| {
        *sum += ln;
        Some(*sum)
    });
    std::iter::once(0.0).chain(sums).collect()
}

/// The probability of each number of occupied bins, of k, for this many elements.
fn occupied(elements: usize, bins: usize) -> Vec<f64> {
    let mut p = vec![0.0; elements.min(bins) + 1];
    p[0] = 1.0;
    for _ in 0..elements {
        for m in (0..p.len()).rev() {
            let new = if m == 0 { 0.0 } else { p[m - 1] * (bins - (m - 1)) as f64 };
            p[m] = (p[m] * m as f64 + new) / bins as f64;
        }
    }
    p
}

/// The probabilities that 0, 1, 2, ... k given samples all find common elements, averaged over all orders of donors.
///
/// Of n samples, s have one of the j occupied bins as their own, by the hypergeometric distribution. The other n - s
/// copy any of the j. If they find d bins in all, these are d draws without replacement from the union.
fn all_common(union: usize, common: usize, bins: usize) -> Vec<f64> {
    let ln = ln_factorials(bins);
    let ln_choose = |n: usize, r: usize| ln[n] - ln[r] - ln[n - r];
    let mut all = vec![0.0; bins + 1];
    for (j, p) in occupied(union, bins).into_iter().enumerate().filter(|(_, p)| *p > 1e-14) {
        // copied[r][s]: s bins are found already, and r copies remain.
        let draws = (0..=j).scan(1.0, |product, s| {
            let this = *product;
            *product *= common.saturating_sub(s) as f64 / union.saturating_sub(s).max(1) as f64;
            Some(this)
        });
        let mut copied: Vec<Vec<f64>> = vec![draws.collect()];
        for r in 0..bins {
            let next = |s: usize| {
                let known = s as f64 / j as f64;
                let new = copied[r].get(s + 1).map_or(0.0, |value| (1.0 - known) * value);
                known * copied[r][s] + new
            };
            copied.push((0..=j).map(next).collect());
        }
        for (n, all) in all.iter_mut().enumerate() {
            for s in (n + j).saturating_sub(bins)..=j.min(n) {
                let own = (ln_choose(n, s) + ln_choose(bins - n, j - s) - ln_choose(bins, j)).exp();
                *all += p * own * copied[n - s][s];
            }
        }
    }
    all
}

fn choose(n: usize, r: usize) -> f64 {
    (0..r).fold(1.0, |product, i| product * (n - i) as f64 / (i + 1) as f64)
}

/// The probability that at least m of L slots agree, averaged over all orders of donors. Jordan's formula computes it
/// from the probabilities that t given slots agree, which are t g samples. Accurate to six digits for up to 32 slots.
fn exact(scheme: &Scheme, union: usize, common: usize, min_matches: usize) -> f64 {
    let Slots { count, samples_per_slot, .. } = scheme.slots;
    let (count, g) = (usize::from(count), usize::from(samples_per_slot));
    let by_chance = (-f64::from(scheme.bits)).exp2();
    let all_common = all_common(union, common, scheme.samples as usize);
    let agree = |n: usize| -> f64 {
        let chances = |t: usize| by_chance.powi((n - t) as i32) * (1.0 - by_chance).powi(t as i32);
        (0..=n).map(|t| choose(n, t) * chances(t) * all_common[t]).sum()
    };
    let term = |t: usize| {
        let sign = if (t - min_matches).is_multiple_of(2) { 1.0 } else { -1.0 };
        sign * choose(t - 1, min_matches - 1) * choose(count, t) * agree(t * g)
    };
    (min_matches..=count).map(term).sum()
}

fn bit_segments() -> Parameters {
    let slots = Slots { count: 20, samples_per_slot: 10, value_bits: 10, min_matches: 1 };
    Parameters { samples: 200, bits: 1, slots, ..presets::PRECISE }
}

/// Averaged over all seeds, recall is within .002. Independent samples would be .02 off.
#[test]
fn recall_is_the_exact_one() {
    let unions: &[(usize, usize)] = &[
        (3, 1),
        (5, 4),
        (7, 2),
        (7, 3),
        (6, 4),
        (11, 9),
        (30, 9),
        (26, 13),
        (24, 17),
        (60, 30),
        (150, 45),
        (110, 99),
        (300, 150),
        (1500, 450),
    ];
    let mut worst = (0.0_f64, 0.0_f64);
    for parameters in [presets::NEAR_DUPLICATE, presets::PRECISE, bit_segments()] {
        let scheme = Scheme::new(parameters).unwrap();
        for (union, common) in unions.iter().copied() {
            for min_matches in [1, 2, 4] {
                let exact = exact(&scheme, union, common, min_matches as usize);
                let r = common as f64 / union as f64;
                let elements = (union + common) as f64 / 2.0;
                let copies = Some(Copies { elements, shared: None });
                let recall = Recall { scheme: &scheme, min_matches, within_1: false, copies }.at(r);
                let independent = planning::found_by(&scheme, r, min_matches, false);
                let at = format!("k {}, m {min_matches}, {common} of {union}", scheme.samples);
                println!("{at}: {recall:.5}, exact {exact:.5}, independent {independent:.5}");
                assert!((recall - exact).abs() <= 0.002, "{at}: {recall}, exact {exact}");
                worst.0 = worst.0.max((recall - exact).abs());
                worst.1 = worst.1.max((independent - exact).abs());
            }
        }
    }
    println!("worst {worst:?}");
    assert!(worst.1 > 0.015, "independent samples are off by {} at most", worst.1);
}

/// The larger the sets, the less their size matters.
#[test]
fn large_sets_have_independent_samples() {
    for parameters in [presets::NEAR_DUPLICATE, presets::PRECISE, bit_segments()] {
        let scheme = Scheme::new(parameters).unwrap();
        let sketcher = crate::Sketcher::new(&scheme);
        let shared = sketcher.shared_donors();
        for (r, m) in [(0.3, 1), (0.5, 1), (0.5, 4), (0.9, 10)] {
            let plain = planning::found_by(&scheme, r, m, false);
            let mut before = f64::INFINITY;
            for elements in [1e4, 1e5, 1e6, 1e8] {
                let copies = Some(Copies { elements, shared: shared.as_deref() });
                let recall = Recall { scheme: &scheme, min_matches: m, within_1: false, copies };
                let off = (recall.at(r) - plain).abs();
                assert!(off <= before, "{r} {m} {elements}: {off}, before {before}");
                before = off;
            }
            assert!(before < 1e-6, "{r} {m}: {before}");
        }
    }
}

#[test]
fn other_samples_are_independent_at_any_size() {
    let independent = Parameters { sampler: Sampler::Independent, ..presets::PRECISE };
    let scheme = Scheme::new(independent).unwrap();
    for r in [0.0, 0.3, 0.5, 1.0] {
        let recall = Recall { scheme: &scheme, min_matches: 2, within_1: false, copies: None };
        assert_eq!(recall.at(r), planning::found_by(&scheme, r, 2, false));
    }
    // For equal sets, and for disjoint sets, nothing depends on the size.
    let scheme = Scheme::near_duplicate();
    let copies = Some(Copies { elements: 5.0, shared: None });
    let recall = Recall { scheme: &scheme, min_matches: 1, within_1: false, copies };
    assert_eq!(recall.at(1.0), 1.0);
    assert_eq!(recall.at(0.0), planning::found(&scheme, 0.0));
    assert!(recall.at(f64::NAN).is_nan());
}

/// Any size gives a probability, which hardly ever decreases when the resemblance increases.
#[test]
fn odd_sizes_are_harmless() {
    for parameters in [presets::NEAR_DUPLICATE, presets::PRECISE, bit_segments()] {
        let scheme = Scheme::new(parameters).unwrap();
        let sketcher = crate::Sketcher::new(&scheme);
        let shared = sketcher.shared_donors();
        let sizes =
            [f64::NAN, -1.0, 0.0, 0.5, 1.0, 2.0, 3.3, 5.187, 20.0, 64.0, 1e6, 1e300, f64::INFINITY];
        for elements in sizes {
            for (m, within_1) in [(1, false), (4, false), (10, true)] {
                let copies = Some(Copies { elements, shared: shared.as_deref() });
                let recall = Recall { scheme: &scheme, min_matches: m, within_1, copies };
                let mut before = 0.0;
                for step in 0..=200 {
                    let p = recall.at(f64::from(step) / 200.0);
                    assert!((0.0..=1.0).contains(&p), "{elements} {m} {step}: {p}");
                    assert!(p >= before - 0.005, "{elements} {m} {step}: {p} after {before}");
                    before = p;
                }
            }
        }
    }
}

/// Draws without replacement: mean R, variance `R (1 - R) (U - j) / (j (U - 1))`, and skewness.
#[test]
fn the_spread_is_that_of_draws_without_replacement() {
    for (union, common, correlation) in
        [(3.0, 1.0, 0.01), (7.0, 3.0, 0.0076), (30.0, 9.0, 0.003), (1500.0, 450.0, 0.001)]
    {
        let r: f64 = common / union;
        let spread = Spread::new(union, r, correlation);
        let draws = spread.draws();
        assert!((spread.mean(|x| x) - r).abs() < 1e-8, "{union}: {}", spread.mean(|x| x));
        let variance = r * (1.0 - r) * (union - draws) / (draws * (union - 1.0));
        assert!((spread.variance(r) / variance - 1.0).abs() < 1e-5, "{union}");
        assert!(
            variance / (r * (1.0 - r)) >= correlation,
            "{union}: {draws} draws spread too little"
        );
        let third = spread.mean(|x| (x - r).powi(3));
        let expected = spread.skewness(union) * r * (1.0 - r) * (1.0 - 2.0 * r);
        assert!((third - expected).abs() < 1e-7, "{union}: {third}, {expected}");
    }
}
