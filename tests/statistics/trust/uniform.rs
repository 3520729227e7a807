//! Checks stated probabilities and promised recall on synthetic pairs of sets, whose resemblance is known.

use rayon::prelude::*;
use ringer::{Accept, Database, Like, Options, Originals, Scheme, Sketcher};
use testkit::scale::some;

use super::SCHEMES;

/// Returns two sets of `f` elements with `common` elements in common. Pairs with different salts share no element.
fn pair(f: u64, common: u64, salt: u64) -> [Vec<u64>; 2] {
    let base = salt << 24;
    [(base..base + f).collect(), (base + f - common..base + 2 * f - common).collect()]
}

/// The resemblances of the pairs are spread evenly from 0 to 1, as far as sets of this size allow. The stated
/// P(R >= t) is divided into tenths. For the pairs of each tenth, the mean of P must be close to the share of pairs
/// that reach t.
#[test]
fn probabilities_are_calibrated() {
    for (name, parameters) in SCHEMES {
        for f in some(&[3_u64, 10, 30, 100, 1000], 2) {
            for t in [0.5, 0.8] {
                let one = |i: u64| {
                    let seed = 77 + i;
                    let r =
                        (i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 11) as f64 / (1_u64 << 53) as f64;
                    let common = (r / (1.0 + r) * 2.0 * f as f64).round() as u64;
                    let exact = common as f64 / (2 * f - common) as f64;
                    let scheme = Scheme::new(parameters.with_seed(seed)).unwrap();
                    let sketcher = Sketcher::new(&scheme);
                    let [a, b] = pair(f, common, i + 1).map(|set| sketcher.sketch(&set).unwrap());
                    let comparison = a.compare(&b).unwrap();
                    (comparison.probability_at_least(t), exact >= t - 1e-9)
                };
                let all: Vec<(f64, bool)> = (0..4000).into_par_iter().map(one).collect();
                for tenth in 0..10 {
                    let within = |p: f64| ((p * 10.0) as usize).min(9) == tenth;
                    let bin: Vec<_> = all.iter().filter(|(p, _)| within(*p)).collect();
                    let n = bin.len() as f64;
                    if n < 100.0 {
                        continue;
                    }
                    let predicted = bin.iter().map(|(p, _)| p).sum::<f64>() / n;
                    let found = bin.iter().filter(|(_, reached)| *reached).count() as f64 / n;
                    let noise = 3.0 * (predicted * (1.0 - predicted) / n).sqrt();
                    let off = (predicted - found).abs();
                    println!("{name}, {f}, {t}: P {predicted:.3} is {found:.3} ({n} pairs)");
                    assert!(
                        off <= 0.05 + noise,
                        "{name}, {f}, {t}: P {predicted:.3} is {found:.3}"
                    );
                }
            }
        }
    }
}

/// Returns the sizes of two sets and the number of their common elements, for a resemblance as close to `r` as
/// possible. The first set has `f` elements, and the second is not smaller.
fn sizes(f: u64, r: f64) -> (u64, u64, u64) {
    let mut best = (f64::INFINITY, (f, f, 0));
    for other in f..=(f as f64 / r).ceil() as u64 {
        let common = ((r / (1.0 + r)) * (f + other) as f64).round().min(f as f64) as u64;
        let off = (common as f64 / (f + other - common) as f64 - r).abs();
        if off < best.0 - 1e-9 {
            best = (off, (f, other, common));
        }
    }
    best.1
}

/// The share of pairs that queries return must be close to the promised recall. The threshold applies to the estimate
/// or to the interval, with and without verification.
#[test]
fn recall_is_as_promised() {
    const PAIRS: u64 = 1500;
    for (name, parameters) in SCHEMES {
        for f in some(&[1_u64, 2, 3, 5, 10, 20, 50, 100, 300, 1000], 4) {
            for (r, t) in [(0.5, 0.5), (0.55, 0.5), (0.6, 0.5), (0.8, 0.8), (0.35, 0.3)] {
                let (f1, f2, common) = sizes(f, r);
                let exact = common as f64 / (f1 + f2 - common) as f64;
                let folder = tempfile::tempdir().unwrap();
                let seed = 3 + f * 1000 + (r * 100.0) as u64;
                let scheme = Scheme::new(parameters.with_seed(seed)).unwrap();
                let path = folder.path().join("x.ringer");
                let db = Database::create(path, &scheme, Options::default()).unwrap();
                let first = |i: u64| ((i + 1) << 24..((i + 1) << 24) + f1).collect::<Vec<u64>>();
                let second = |i: u64| {
                    let start = ((i + 1) << 24) + f1 - common;
                    (start..start + f2).collect::<Vec<u64>>()
                };
                let mut load = db.bulk_load();
                (0..PAIRS).for_each(|i| load.put((i as u32).to_be_bytes(), &second(i)).unwrap());
                load.commit().unwrap();
                let number = |key: &[u8]| u64::from(u32::from_be_bytes(key.try_into().unwrap()));
                let originals = Originals::new(|key| Ok(Some(second(number(key)))));
                let snapshot = db.snapshot();
                for (how, accept) in
                    [("estimate", Accept::Estimate), ("possible", Accept::Possible)]
                {
                    let run = |i: u64, verified: bool| {
                        let set = first(i);
                        let query = snapshot.query(Like::Features(&set)).min_resemblance(t);
                        let query = query.accept(accept);
                        let query = if verified { query.verify(&originals) } else { query };
                        let explanation = query.explain().unwrap();
                        let own = |m: &ringer::Match| number(&m.key) == i;
                        let found = explanation.answer.matches.iter().any(own);
                        let promised = (i == 0).then(|| explanation.recall_at(exact));
                        (found, promised)
                    };
                    for verified in [false, true] {
                        let all: Vec<_> =
                            (0..PAIRS).into_par_iter().map(|i| run(i, verified)).collect();
                        let found = all.iter().filter(|(found, _)| *found).count() as f64;
                        let found = found / PAIRS as f64;
                        let promised = all[0].1.unwrap();
                        let error = (promised * (1.0 - promised) / PAIRS as f64).sqrt();
                        let what = format!(
                            "{name}, {f1} and {f2} elements, {exact:.3} at {t}, {how}, verified {verified}"
                        );
                        println!("{what}: {found:.3} returned, {promised:.3} promised");
                        assert!(
                            (found - promised).abs() <= 4.0 * error + 0.02,
                            "{what}: {found:.3} returned, {promised:.3} promised"
                        );
                    }
                }
            }
        }
    }
}
