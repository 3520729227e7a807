//! A hundred thousand sets: pairs compared with exact resemblances, and the cost of a run. Memory and comparisons are
//! counted; time is not measured.

use testkit::allocations;
use testkit::random::word_at;

use testkit::workload;

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use allocations::taking;
use ringer::groups::Report;
use ringer::internals::estimate::small_sets::variance_factor;
use ringer::internals::format::signature_page;
use ringer::{Database, Found, Linkage, Options, Pair, Pairs, Scheme, Signature};
use workload::{ELEMENTS, MEMBERS, Workload};

const SETS: u64 = 100_000;

/// The memory that a run may use in addition to its sets: the run of pairs being sorted, blocks being read, pages
/// being held.
const BESIDE: usize = 24 << 20;

const GO_ON: ControlFlow<()> = ControlFlow::Continue(());

fn run(pairs: Pairs<'_>) -> (Vec<Pair>, Report) {
    let mut all = Vec::new();
    let report = pairs.run(|found| {
        if let Found::Pair(pair) = found {
            all.push(pair);
        }
        GO_ON
    });
    (all, report.unwrap())
}

/// Returns set `i`. The bases of planted sets come before the background.
fn set(w2: &Workload, i: u64) -> workload::Set {
    if i < w2.clusters() { w2.query(i) } else { w2.set(i) }
}

fn exact(a: &workload::Set, b: &workload::Set) -> f64 {
    let a: HashSet<u64> = a.iter().copied().collect();
    let common = b.iter().filter(|x| a.contains(x)).count() as f64;
    common / (2.0 * ELEMENTS as f64 - common)
}

/// Counts the exact resemblances of all pairs of bases and planted sets.
fn planted(w2: &Workload) -> HashMap<(u64, u64), f64> {
    let mut all = HashMap::new();
    for cluster in 0..w2.clusters() {
        let members = (0..MEMBERS).map(|m| w2.member(cluster, m));
        let numbers: Vec<u64> = std::iter::once(cluster).chain(members).collect();
        let sets: Vec<workload::Set> = numbers.iter().map(|i| set(w2, *i)).collect();
        for i in 0..sets.len() {
            for j in 0..i {
                all.insert((numbers[j], numbers[i]), exact(&sets[i], &sets[j]));
            }
        }
    }
    all
}

fn key(i: u64) -> [u8; 8] {
    i.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes()
}

fn filled(
    path: &Path,
    scheme: &Scheme,
    mut make: impl FnMut(&Database, u64) -> Signature,
) -> Database {
    let options = Options::default().with_background(false);
    let db = Database::create(path, scheme, options).unwrap();
    let mut load = db.bulk_load();
    for i in 0..SETS - 10_000 {
        load.put_signature(key(i), &make(&db, i)).unwrap();
    }
    load.commit().unwrap();
    for first in (SETS - 10_000..SETS).step_by(1000) {
        let mut batch = db.batch();
        for i in first..first + 1000 {
            batch.put_signature(key(i), make(&db, i)).unwrap();
        }
        db.commit(batch).unwrap();
    }
    db
}

/// Returns the probability that a pair of this resemblance is returned, which is that its estimate reaches the
/// threshold. The estimator's error is taken as normal. (At .8 all but 3 pairs in 10 million share a slot.)
fn chance(pair: f64, min: f64, std_error: f64) -> f64 {
    // Approximates the normal distribution to within .0002.
    let z = (pair - min) / std_error;
    1.0 / (1.0 + (-(1.5976 * z + 0.070_565_992 * z.powi(3))).exp())
}

/// Pairs of a hundred thousand sets, one in ten of them planted, compared with their exact resemblances.
///
/// Bounds, for a threshold t and the estimator's standard error s (.05 at .8 with 64 samples): no pair is returned
/// twice, none has a true resemblance more than 4 s below t, and none is not planted. Of all pairs 4 s or more above
/// t at most one in 10,000 is missing. The number of pairs is within 3 % of what the estimator's error predicts. With
/// a threshold 3 s lower, at least 99 % of the true pairs are returned.
#[test]
fn pairs_are_the_planted_ones_up_to_the_estimators_error() {
    let w2 = Workload::new(SETS);
    let folder = tempfile::tempdir().unwrap();
    let numbers: HashMap<[u8; 8], u64> = (0..SETS).map(|i| (key(i), i)).collect();
    let truth = planted(&w2);
    for scheme in [Scheme::near_duplicate(), Scheme::precise()] {
        let path = folder.path().join(format!("{}.ringer", scheme.samples));
        let db = filled(&path, &scheme, |db, i| db.sketcher().sketch(&set(&w2, i)).unwrap());
        let each = 44 + 8 * scheme.words_per_signature();
        let k = f64::from(scheme.samples);
        // The error of the agreement of b-bit samples, converted to R.
        let c = f64::from(scheme.bits).exp2().recip();
        let std_error = |r: f64| {
            let p = c + (1.0 - c) * r;
            let factor = variance_factor(2.0 * ELEMENTS as f64 / (1.0 + r), scheme.samples);
            let independent = p * (1.0 - p) / (1.0 - c).powi(2);
            ((independent + (factor - 1.0) * r * (1.0 - r)) / k).sqrt()
        };
        for min in [0.8, 0.65] {
            let ((found, report), taken) = taking(|| run(db.snapshot().pairs(min).expand()));
            assert_eq!((report.sets, report.truncated), (SETS, false));
            let given = found.len() * (size_of::<Pair>() * 3 + 64);
            let most = SETS as usize * each + BESIDE + given;
            assert!(taken <= most, "{taken} of {most} bytes");
            let number = |key: &[u8]| numbers[key];
            let mut seen = HashSet::new();
            for pair in &found {
                let (a, b) = (number(&pair.a), number(&pair.b));
                let pair = (a.min(b), a.max(b));
                assert!(seen.insert(pair), "twice");
                let r =
                    truth.get(&pair).copied().unwrap_or_else(|| exact(&set(&w2, a), &set(&w2, b)));
                assert!(r >= min - 4.0 * std_error(r), "{pair:?} {r}");
            }
            // Counts are discrete. The normal approximation is cut half a step below the smallest sufficient count.
            let least = (k * (c + (1.0 - c) * min)).ceil();
            let cut = ((least - 0.5) / k - c) / (1.0 - c);
            let (mut expected, mut missing) = (0.0, 0);
            for (pair, r) in &truth {
                expected += chance(*r, cut, std_error(*r));
                // At high agreement rates the tails are longer than those of the normal distribution.
                if *r >= min + 4.0 * std_error(*r) && !seen.contains(pair) {
                    missing += 1;
                    let [a, b] =
                        [pair.0, pair.1].map(|i| db.get(key(i)).unwrap().unwrap().signature);
                    let estimate = a.resemblance(&b).unwrap();
                    assert!(estimate.value < min, "{pair:?} {r} {estimate}");
                }
            }
            assert!(missing <= truth.len() / 10_000, "{missing} are missing");
            let share = found.len() as f64 / expected;
            println!(
                "{min}: {} pairs, {expected:.0} expected, {taken} bytes, {report:?}",
                found.len()
            );
            assert!((share - 1.0).abs() < 0.03, "{} pairs, {expected} expected", found.len());
            if min < 0.7 {
                let wanted = truth.iter().filter(|(_, r)| **r >= 0.8);
                let (hits, all) = wanted.fold((0, 0), |(hits, all), (pair, _)| {
                    (hits + u32::from(seen.contains(pair)), all + 1)
                });
                assert!(f64::from(hits) >= 0.99 * f64::from(all), "{hits} of {all}");
            }
            // Far fewer comparisons than the five billion existing pairs.
            assert!(report.compared < 60 * SETS, "{report:?}");
        }
        let mut clusters = 0;
        let (report, taken) = taking(|| {
            db.snapshot().clusters(0.65).linkage(Linkage::Strict).run(|cluster| {
                let of: HashSet<u64> = cluster
                    .keys
                    .map(|key| {
                        let i = numbers[&*key.unwrap()];
                        if i < w2.clusters() { i } else { (i - w2.member(0, 0)) / MEMBERS }
                    })
                    .collect();
                clusters += u64::from(of.len() == 1);
                GO_ON
            })
        });
        assert!(!report.unwrap().cancelled && taken <= SETS as usize * (each + 8) + BESIDE);
        assert!(clusters >= w2.clusters(), "{clusters}");
    }
}

/// A hundred thousand different signatures agree in the same fifth of their samples and nowhere else. At a high
/// threshold none are similar, and finding that out takes comparisons of at most one pair in twenty.
#[test]
fn a_column_shared_by_all_sets_costs_bounded_comparisons() {
    let scheme = Arc::new(Scheme::near_duplicate());
    let folder = tempfile::tempdir().unwrap();
    let db = filled(&folder.path().join("x.ringer"), &scheme, |_, i| {
        // The lowest 13 of the 64 bits of each plane are the same for all.
        let planes = (0..8).map(|plane| word_at(8 * i + plane) & !((1 << 13) - 1));
        signature_page::signature(&scheme, planes.collect(), 57).unwrap()
    });
    let ((found, report), taken) = taking(|| run(db.snapshot().pairs(0.75)));
    assert_eq!(found, []);
    assert!(!report.truncated && report.compared < SETS * SETS / 40, "{report:?}");
    assert!(taken < SETS as usize * (44 + 64) + BESIDE, "{taken}");
    // If that cannot be ruled out beforehand, an option bounds the comparisons, and the report says so.
    let ((_, report), taken) = taking(|| run(db.snapshot().pairs(0.3).max_candidates(100)));
    assert!(report.truncated && report.compared < 21 * 100 * SETS, "{report:?}");
    assert!(taken < SETS as usize * (44 + 64) + BESIDE, "{taken}");
}
