//! Posteriors against their definition, brute force and the beta distribution.

use super::*;
use crate::estimate::chance::Chance;
use crate::scheme::Cardinality;

fn evidence(equal: u32, samples: u32, bits: u32, f1: u64, f2: u64) -> Evidence {
    let total_size = Some((f1 + f2) as f64);
    Evidence {
        agreement: Agreement {
            equal,
            samples,
            law: Law::Minwise(Chance::sparse(bits)),
            sampling: Sampling::EveryBin { total_size },
        },
        sizes: Sizes { first: Cardinality::exact(f1), second: Cardinality::exact(f2) },
    }
}

/// Sets of one and two elements have the resemblance 0 or 1/2, whatever the count is.
#[test]
fn only_possible_values_are_estimated() {
    for equal in 0..=64 {
        let evidence = evidence(equal, 64, 8, 1, 2);
        let value = evidence.most_likely();
        assert!(value == 0.0 || value == 0.5, "{equal}: {value}");
        let (low, high) = evidence.posterior().interval(Confidence::P95);
        assert!(low >= 0.0 && high <= 0.5, "{equal}: {low} {high}");
        // No two such sets have counts in between.
        assert!((5..20).contains(&equal) || (low <= value && value <= high), "{equal}");
    }
    assert_eq!(evidence(64, 64, 8, 1, 2).most_likely(), 0.5);
    assert_eq!(evidence(0, 64, 8, 1, 2).most_likely(), 0.0);
}

/// The most likely value is the one with the largest binomial likelihood, by trying all.
#[test]
fn the_most_likely_value_is_that_of_all_intersections() {
    for (f1, f2) in [(1, 1), (2, 3), (5, 5), (7, 12), (12, 12), (30, 41)] {
        let mut before = 0.0;
        for equal in 0..=64_u32 {
            let evidence = evidence(equal, 64, 4, f1, f2);
            let chance = Chance::sparse(4);
            let x = f64::from(equal);
            let ln_likelihood = |a: u64| {
                let r = a as f64 / (f1 + f2 - a) as f64;
                let p = chance.agreement(r);
                let part = |x: f64, p: f64| if x > 0.0 { x * p.ln() } else { 0.0 };
                (part(x, p) + part(64.0 - x, 1.0 - p), r)
            };
            let all = (0..=f1.min(f2)).map(ln_likelihood);
            let best = all.max_by(|a, b| a.0.total_cmp(&b.0)).unwrap();
            let value = evidence.most_likely();
            assert!((value - best.1).abs() < 1e-12, "{f1} {f2} {equal}: {value} {best:?}");
            assert!(value >= before, "{f1} {f2}: falls at {equal}");
            before = value;
        }
    }
}

/// Probabilities decrease with the threshold, intervals contain the value, and the wider one contains the narrower
/// one.
#[test]
fn intervals_and_probabilities_are_consistent() {
    for (f1, f2) in [(1, 1), (3, 9), (12, 12), (100, 130), (5000, 6000)] {
        for equal in (0..=128).step_by(3).chain([127, 128]) {
            let evidence = evidence(equal, 128, 4, f1, f2);
            let posterior = evidence.posterior();
            let value = evidence.most_likely();
            let [(low, high), (lower, higher)] = [Confidence::P95, Confidence::P999]
                .map(|confidence| posterior.interval(confidence));
            let most = f1.min(f2) as f64 / f1.max(f2) as f64;
            let place = format!("{f1} {f2} {equal}: {low} {value} {high}");
            assert!(0.0 <= low && low <= value + 0.02 && value <= high + 0.02, "{place}");
            assert!(high <= most + 1e-12 && lower <= high && low <= higher, "{place}");
            assert!(posterior.deviation() > 0.0 || low == high, "{place}");
            assert!(posterior.deviation() <= most / 2.0 + 1e-9, "{place}");
            let mut before = 1.0;
            for step in 0..=20 {
                let p = posterior.at_least(f64::from(step) / 20.0);
                assert!((0.0..=before + 1e-12).contains(&p), "{place}");
                before = p;
            }
            assert!((posterior.at_least(0.0) - 1.0).abs() < 1e-9);
            assert_eq!(posterior.at_least(most + 1e-6), 0.0);
        }
    }
}

/// For large sets the posterior is the beta distribution of as many independent samples.
#[test]
fn large_sets_have_a_beta_posterior() {
    use statrs::distribution::{Beta, ContinuousCDF};
    let evidence = evidence(80, 128, 16, 40_000_000, 40_000_000);
    let posterior = evidence.posterior();
    let beta = Beta::new(81.0, 49.0).unwrap();
    for t in [0.5, 0.6, 0.65, 0.7] {
        let (found, expected) = (posterior.at_least(t), 1.0 - beta.cdf(t));
        assert!((found - expected).abs() < 0.003, "{t}: {found} {expected}");
    }
}
