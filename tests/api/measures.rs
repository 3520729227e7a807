//! What databases of each measure report and refuse, and half bits compared with their formulas.

use ringer::internals::estimate::half_bit;
use ringer::internals::estimate::pair::{Agreement, Sampling};
use ringer::internals::estimate::{Chance, Law};
use ringer::scheme::{CardinalityField, Packing, Sampler, Slots, Universe};
use ringer::{
    Clustering, Database, Error, Like, Options, Parameters, Scheme, Sketcher, presets,
    resemblance_of,
};
use testkit::random::Random;
use testkit::scale::some;

fn scheme(parameters: Parameters) -> Scheme {
    Scheme::new(parameters).unwrap()
}

/// Returns elements that are unrelated to those of another number.
fn scattered(number: u64, count: u64) -> impl Iterator<Item = u64> {
    let mut random = Random::of(number, 0);
    (0..count).map(move |_| random.word())
}

/// Returns two sets with `union` elements together, of which the first `shared` are in both.
fn pair(number: u64, union: u64, shared: u64) -> [Vec<u64>; 2] {
    let all: Vec<u64> = scattered(number, union).collect();
    let (common, own) = all.split_at(shared as usize);
    [0, 1].map(|half| {
        let own = own.iter().skip(half).step_by(2);
        common.iter().chain(own).copied().collect()
    })
}

/// Half bits at R = .6 to .99, over 4,000 pairs of sets. The mean square error is within 10 % of the formula and the
/// bias within 4 standard errors. From .75 on the error is smaller than that of as many whole bits.
#[test]
fn half_bits_have_the_error_of_the_formula_and_less_than_whole_bits() {
    const K: u32 = 256;
    const PAIRS: u64 = 4_000;
    let half = presets::HALF_BIT.with_slots(Slots::NONE).with_samples(K);
    let whole = half.with_packing(Packing::LowBits);
    let independent = half.with_sampler(Sampler::Independent);
    let sketchers = [half, whole, independent].map(|p| Sketcher::new(&scheme(p)));
    let chance = Chance::sparse(1);
    for shared in some(&[80_u64, 60, 75, 95, 90, 99], 3) {
        let r = shared as f64 / 100.0;
        let (mut squares, mut sums) = ([0.0; 3], [0.0; 3]);
        for number in 0..PAIRS {
            let sets = pair(shared << 32 | number, 100, shared);
            for (i, sketcher) in sketchers.iter().enumerate() {
                // The reference sampler is slow, so it gets fewer cases.
                if i == 2 && !(number < PAIRS / 4 && [80, 95].contains(&shared)) {
                    continue;
                }
                let [a, b] = [&sets[0], &sets[1]].map(|set| sketcher.sketch(set).unwrap());
                let error = a.compare(&b).unwrap().unbiased().value - r;
                squares[i] += error * error;
                sums[i] += error;
            }
        }
        let n = PAIRS as f64;
        let t = half_bit::agreement(chance.agreement(r));
        let expected = half_bit::variance(t, &chance) / f64::from(K);
        let found = squares[0] / n;
        assert!((found / expected - 1.0).abs() < 0.1, "{r}: {found} {expected}");
        let bias = half_bit::bias(t, &chance) / f64::from(K);
        let error = (expected / n).sqrt();
        assert!((sums[0] / n - bias).abs() < 4.0 * error, "{r}: bias {} {bias}", sums[0] / n);
        if r >= 0.75 {
            assert!(found < squares[1] / n, "{r}: {found} {}", squares[1] / n);
        }
        if squares[2] > 0.0 {
            // With a quarter of the pairs, four standard errors of the mean square are .18 of it.
            let independent = squares[2] / (n / 4.0);
            assert!((independent / expected - 1.0).abs() < 0.18, "{r}: {independent}");
        }
    }
}

/// The same in a bounded universe, with sets that fill a third of it. The mean is within 4 standard errors of the
/// truth, and the variance within 10 %.
#[test]
fn half_bits_correct_for_a_full_universe() {
    const D: u64 = 3_000;
    const RUNS: u64 = 2_000;
    let (shared, own) = (800_u64, 100_u64);
    let r = shared as f64 / (shared + 2 * own) as f64;
    let first: Vec<u64> = (0..shared + own).collect();
    let second: Vec<u64> = (0..shared).chain(shared + own..shared + 2 * own).collect();
    let share = (shared + own) as f64 / D as f64;
    let chance = Chance::dense(1, share, share);
    let (mut sum, mut squares) = (0.0, 0.0);
    for seed in 0..RUNS {
        let sketcher = Sketcher::new(&scheme(
            presets::HALF_BIT
                .with_universe(Universe::Bounded(D))
                .with_sampler(Sampler::Independent)
                .with_cardinality(CardinalityField::Exact)
                .with_slots(Slots::NONE)
                .with_seed(seed),
        ));
        let [a, b] = [&first, &second].map(|set| sketcher.sketch(set).unwrap());
        let estimate = a.resemblance(&b).unwrap();
        sum += estimate.value - r;
        squares += (estimate.value - r).powi(2);
    }
    let n = RUNS as f64;
    let t = half_bit::agreement(chance.agreement(r));
    let variance = half_bit::variance(t, &chance) / 256.0;
    let bias = half_bit::bias(t, &chance) / 256.0;
    assert!((sum / n - bias).abs() < 4.0 * (variance / n).sqrt(), "{} {bias}", sum / n);
    assert!((squares / n / variance - 1.0).abs() < 0.13, "{} {variance}", squares / n);
}

/// Intervals of half bits and of signs contain the truth in at least 93 % of all cases, by the exact distribution of
/// the count.
#[test]
fn intervals_cover() {
    use statrs::distribution::{Binomial, Discrete};
    for k in [64_u32, 256, 1000] {
        let laws: [(Law, &[f64]); 3] = [
            (Law::HalfBit(Chance::sparse(1)), &[0.0, 0.1, 0.3, 0.6, 0.8, 0.9, 0.95, 0.99, 1.0]),
            (Law::HalfBit(Chance::dense(1, 0.5, 0.5)), &[0.0, 0.1, 0.2, 0.25, 0.4, 0.8, 0.95, 1.0]),
            (Law::Sign, &[-1.0, -0.99, -0.5, 0.0, 0.3, 0.8, 0.95, 0.999, 1.0]),
        ];
        for (law, truths) in laws {
            for truth in truths {
                let counts =
                    Binomial::new(law.agreement(*truth).clamp(0.0, 1.0), k.into()).unwrap();
                let mut covered = 0.0;
                for equal in 0..=k {
                    let sampling = Sampling::Independent;
                    let e = Agreement { equal, samples: k, law, sampling }.estimate();
                    if e.low <= truth + 1e-9 && truth - 1e-9 <= e.high {
                        covered += counts.pmf(equal.into());
                    }
                }
                assert!(covered > 0.93, "{law:?} k {k} at {truth}: {covered}");
            }
        }
    }
}

/// In a half-full universe, half bits cannot distinguish R = 0 from R = .5, and the standard error includes that. By the
/// exact distribution of the count, its mean square is more than a third of that of the actual error. From R = .9 on,
/// where the estimate is unambiguous, it is less than 1.1 times that.
#[test]
fn standard_errors_include_ambiguity() {
    use statrs::distribution::{Binomial, Discrete};
    const K: u32 = 256;
    for share in [0.1, 0.5, 0.8] {
        let law = Law::HalfBit(Chance::dense(1, share, share));
        for truth in [0.0, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 0.99] {
            let counts = Binomial::new(law.agreement(truth).min(1.0), K.into()).unwrap();
            let (mut square, mut stated) = (0.0, 0.0);
            for equal in 0..=K {
                let sampling = Sampling::Independent;
                let e = Agreement { equal, samples: K, law, sampling }.estimate();
                square += counts.pmf(equal.into()) * (e.value - truth).powi(2);
                stated += counts.pmf(equal.into()) * e.std_error.powi(2);
            }
            assert!(stated > square / 3.0, "{share} {truth}: {stated} {square}");
            assert!(truth < 0.9 || stated < 1.1 * square, "{share} {truth}: {stated} {square}");
        }
    }
}

/// `P(R >= t)` falls from 1 to 0, is about one half at the estimate, and includes both solutions that half bits
/// cannot distinguish.
#[test]
fn probabilities_are_those_of_a_distribution() {
    let dense = Chance::dense(1, 0.6, 0.6);
    for law in [Law::HalfBit(Chance::sparse(1)), Law::HalfBit(dense), Law::Sign] {
        for equal in [0, 100, 128, 150, 200, 250, 256] {
            let agreement = Agreement { equal, samples: 256, law, sampling: Sampling::Independent };
            let mut before = 1.0;
            for step in 0..=200 {
                let threshold = law.least() + (1.0 - law.least()) * f64::from(step) / 200.0;
                let p = agreement.probability_at_least(threshold);
                assert!((0.0..=before + 1e-12).contains(&p), "{law:?} {equal} {threshold}: {p}");
                before = p;
            }
            assert_eq!(agreement.probability_at_least(law.least()), 1.0);
            assert_eq!(agreement.probability_at_least(1.1), 0.0);
            assert_eq!(agreement.probability_at_least(f64::NAN), 0.0);
            if equal == 200 {
                let p = agreement.probability_at_least(agreement.estimate().value);
                assert!((p - 0.5).abs() < 0.1, "{law:?}: {p}");
            }
        }
    }
}

#[test]
fn each_measure_refuses_what_belongs_to_another() {
    let folder = tempfile::tempdir().unwrap();
    let create = |name: &str, parameters| {
        Database::create(folder.path().join(name), &scheme(parameters), Options::default()).unwrap()
    };
    let other = |requested, measure| Error::OtherMeasure { requested, measure };

    let vectors = create("vectors", presets::COSINE);
    for (key, shift) in [("a", 0.0), ("b", 1.0), ("c", 2.0)] {
        let vector: Vec<(u64, f64)> = (0..20).map(|i| (i, i as f64 - 9.5 + shift)).collect();
        vectors.put_weighted(key, &vector).unwrap();
    }
    vectors.put_weighted("zero", &[(1, 0.0)]).unwrap();
    vectors.put("bag of words", &[1, 1, 2]).unwrap();
    let get = |key: &str| vectors.get(key).unwrap().unwrap().signature;
    let (a, b, c) = (get("a"), get("b"), get("c"));
    assert!(get("zero").is_empty());
    assert_eq!(a.resemblance(&b), Err(other("the resemblance", "cosine")));
    assert!(a.cosine(&b).unwrap().low > 0.9);
    let comparison = a.compare(&b).unwrap();
    assert_eq!(comparison.intersection(), Err(other("the intersection", "cosine")));
    assert_eq!(comparison.containment_of_first(), Err(other("containment", "cosine")));
    let angle = comparison.angle().unwrap();
    assert!((angle.value.cos() - comparison.cosine().unwrap().value).abs() < 1e-12);
    for many in [&[&a, &b][..], &[&a, &b, &c]] {
        assert_eq!(resemblance_of(many), Err(other("the resemblance", "cosine")));
    }
    assert!(matches!(a.compare(&get("zero")), Err(Error::Undefined { .. })));
    let snapshot = vectors.snapshot();
    let query = || snapshot.query(Like::Key(b"a"));
    assert_eq!(query().min_resemblance(0.5).run().map(|_| ()), Err(other("resemblance", "cosine")));
    assert_eq!(query().min_cosine(0.8).run().unwrap().matches.len(), 2);
    assert_eq!(query().min_cosine(-1.0).exhaustive().run().unwrap().matches.len(), 3);
    assert!(query().min_cosine(-1.1).run().is_err());
    assert_eq!(snapshot.pairs(0.8).collect().unwrap().len(), 3);
    assert_eq!(
        snapshot.triples(0.5).collect().map(|_| ()),
        Err(other("the resemblance of three", "cosine"))
    );
    let mut clusters = Clustering::new(0.8).unwrap();
    for key in ["a", "b", "c"] {
        snapshot.join(&mut clusters, key).unwrap();
    }
    assert_eq!(clusters.clusters().len(), 1);

    let weighted = create("weighted", presets::WEIGHTED);
    for (key, flour) in [("cake", 500.0), ("bread", 480.0), ("pie", 250.0)] {
        weighted.put_weighted(key, &[(1, flour), (2, 250.0), (3, 4.0)]).unwrap();
    }
    let get = |key: &str| weighted.get(key).unwrap().unwrap().signature;
    let comparison = get("cake").compare(&get("bread")).unwrap();
    assert!(comparison.resemblance().unwrap().value > 0.8);
    assert_eq!(comparison.cosine(), Err(other("the cosine", "weighted")));
    assert_eq!(comparison.angle(), Err(other("the angle", "weighted")));
    assert_eq!(comparison.union(), Err(other("the union", "weighted")));
    let snapshot = weighted.snapshot();
    let like = Like::Weighted(&[(1, 490.0), (2, 250.0), (3, 4.0)]);
    assert_eq!(snapshot.query(like).min_resemblance(0.8).run().unwrap().matches.len(), 2);
    assert_eq!(
        snapshot.query(like).min_cosine(0.8).run().map(|_| ()),
        Err(other("cosine", "weighted"))
    );
    let triple = snapshot.triples(0.3).collect().unwrap();
    // The expected value is (250 + 250 + 4) / (500 + 250 + 4).
    assert!(triple[0].resemblance.low < 0.668 && 0.668 < triple[0].resemblance.high);
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let error = weighted.put_weighted("bad", &[(1, 1.0), (7, bad)]).unwrap_err();
        assert!(
            matches!(&error, Error::InvalidArgument { what, .. } if what.contains("element 7"))
        );
    }
    assert!(weighted.get("bad").unwrap().is_none());

    let sets = create("sets", presets::NEAR_DUPLICATE);
    assert!(matches!(sets.put_weighted("x", &[(1, 2.0)]), Err(Error::InvalidArgument { .. })));
    sets.put("a", &[1, 2, 3]).unwrap();
    let snapshot = sets.snapshot();
    let query = snapshot.query(Like::Weighted(&[(1, 1.0)]));
    assert!(matches!(query.run(), Err(Error::InvalidArgument { .. })));
    assert_eq!(
        snapshot.query(Like::Key(b"a")).min_cosine(0.5).run().map(|_| ()),
        Err(other("cosine", "jaccard"))
    );
}
