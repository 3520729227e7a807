//! The formulas, checked against printed values: those of the papers, and others computed from the formulas by
//! independent programs. A value passes if it agrees to its last printed digit.

use ringer::internals::estimate::many::Patterns;
use ringer::internals::estimate::measures::Measures;
use ringer::internals::estimate::pair::{Agreement, Sampling};
use ringer::internals::estimate::small_sets::variance_factor;
use ringer::internals::estimate::{Chance, Estimate, chance, half_bit, planning};
use ringer::scheme::{Cardinality, Sampler, Slots};
use ringer::{Scheme, presets};

/// Asserts that `value` agrees with `printed` to within half a unit of the last digit.
#[track_caller]
fn printed(value: f64, printed: &str) {
    let expected: f64 = printed.parse().expect("a number");
    let (mantissa, exponent) = printed.split_once('e').unwrap_or((printed, "0"));
    let decimals = mantissa.split_once('.').map_or(0, |(_, d)| d.len() as i32);
    let unit = 10_f64.powi(exponent.parse::<i32>().expect("an exponent") - decimals);
    let error = (value - expected).abs();
    // A bare 0 or 1 means exactly that.
    let unit = if ["0", "1"].contains(&printed) { 1e-9 } else { unit };
    assert!(error <= 0.5 * unit * (1.0 + 1e-9), "{value} is not {printed}");
}

fn agreement(samples: u32, bits: u32, equal: u32) -> Agreement {
    let (chance, sampling) = (Chance::sparse(bits), Sampling::Independent);
    Agreement { equal, samples, law: chance.into(), sampling }
}

#[test]
fn chance_agreement() {
    for (r, bits, value) in [
        (0.001, 4, ".0620321109"),
        (0.5, 1, ".333333333"),
        (0.5, 4, "1.52590219e-5"),
        (1e-12, 8, ".00390625"),
        (1e-300, 16, "1.52587891e-5"),
        (0.9, 8, "9e-256"),
    ] {
        printed(chance::a(r, bits), value);
    }
    assert_eq!(chance::a(0.0, 4), 1.0 / 16.0);
    assert_eq!(chance::a(1.0, 4), 0.0);
}

/// A word pair: name, r1, r2, R, storage factors against 64 bits for b = 1..=4, standard deviations.
type WordPair = (&'static str, f64, f64, f64, [&'static str; 4], [&'static str; 4]);

/// Word pairs of Li and König.
const WORD_PAIRS: &[WordPair] = &[
    (
        "KONG-HONG",
        0.0145,
        0.0143,
        0.925,
        ["30.99", "23.70", "18.62", "15.04"],
        [".37854", ".30604", ".28192", ".27169"],
    ),
    (
        "OF-AND",
        0.570,
        0.554,
        0.771,
        ["40.84", "30.00", "21.29", "16.00"],
        [".52599", ".43396", ".42066", ".42019"],
    ),
    (
        "GAMBIA-KIRIBATI",
        0.0031,
        0.0028,
        0.712,
        ["26.66", "21.84", "17.80", "14.66"],
        [".70156", ".54816", ".49569", ".47308"],
    ),
    (
        "UNITED-STATES",
        0.062,
        0.061,
        0.591,
        ["24.73", "21.39", "17.99", "15.02"],
        [".79092", ".60136", ".53543", ".50747"],
    ),
    (
        "LOW-PAY",
        0.045,
        0.043,
        0.112,
        ["6.71", "8.61", "10.35", "11.37"],
        [".97384", ".60811", ".45276", ".37416"],
    ),
    (
        "A-TEST",
        0.596,
        0.035,
        0.052,
        ["6.21", "7.12", "7.89", "9.00"],
        [".71292", ".47077", ".36503", ".29598"],
    ),
];

#[test]
fn storage_factors_and_deviations_of_the_word_pairs() {
    for (name, r1, r2, r, factors, deviations) in WORD_PAIRS {
        for bits in 1..=4 {
            let factor = |bits| planning::storage_factor(bits, *r1, *r2, *r);
            let at = bits as usize - 1;
            printed(factor(64) / factor(bits), factors[at]);
            let chance = Chance::dense(bits, *r1, *r2);
            printed(chance.variance(chance.agreement(*r)).sqrt(), deviations[at]);
            assert!((chance.resemblance(chance.agreement(*r)) - r).abs() < 1e-12, "{name}");
        }
    }
}

#[test]
fn agreement_of_the_word_pairs() {
    let values = [
        ("KONG-HONG", [".962228", ".943345", ".933907", ".929196"]),
        ("OF-AND", [".840844", ".782286", ".771406", ".771001"]),
        ("A-TEST", [".516266", ".275241", ".155568", ".096451"]),
    ];
    for (name, expected) in values {
        let (_, r1, r2, r, ..) = WORD_PAIRS.iter().find(|p| p.0 == name).unwrap();
        for bits in 1..=4 {
            let p = Chance::dense(bits, *r1, *r2).agreement(*r);
            printed(p, expected[bits as usize - 1]);
            // The same by another form of the formula, from intersections instead of resemblance.
            let s = r / (1.0 + r) * (r1 + r2);
            let (a1, a2) = (chance::a(*r1, bits), chance::a(*r2, bits));
            let other = (s + (r1 - s) * a2 + (r2 - s) * a1) / (r1 + r2 - s);
            assert!((p - other).abs() < 1e-12);
        }
    }
}

#[test]
fn intervals_and_probabilities() {
    let check = |k, bits, x, value: &str, error: &str, low: &str, high: &str| {
        let Estimate { value: v, std_error, low: l, high: h } = agreement(k, bits, x).estimate();
        for (v, expected) in [(v, value), (std_error, error), (l, low), (h, high)] {
            printed(v, expected);
        }
    };
    check(128, 4, 70, ".516667", ".046933", ".424561", ".605858");
    check(128, 1, 100, ".562500", ".073079", ".404031", ".688190");
    check(128, 8, 2, ".011765", ".011005", "0", ".051476");
    check(128, 4, 8, "0", ".022822", "0", ".059720");
    let all = agreement(256, 2, 256).estimate();
    printed(all.value, "1");
    printed(all.low, ".980288");
    printed(all.high, "1");
    // The formula gives 0, but the value is not known exactly.
    assert!(all.std_error > 0.001 && all.std_error < 0.01, "{all:?}");
    printed(agreement(128, 4, 70).probability_at_least(0.5), ".637739");
    printed(agreement(128, 1, 100).probability_at_least(0.5), ".791238");
}

#[test]
fn probabilities_are_probabilities() {
    for (k, bits) in [(12, 6), (64, 1), (128, 4), (256, 2)] {
        for x in 0..=k {
            let a = agreement(k, bits, x);
            let all: Vec<f64> =
                (0..=20).map(|t| a.probability_at_least(f64::from(t) / 20.0)).collect();
            assert!(all.iter().all(|p| (0.0..=1.0).contains(p)), "{k} {bits} {x}: {all:?}");
            assert!(all.is_sorted_by(|a, b| a >= b), "{k} {bits} {x}: {all:?}");
            assert_eq!((all[0], a.probability_at_least(1.01)), (1.0, 0.0));
        }
    }
}

/// With a stored share r~ instead of r, R moves by (r~ - r)(1 - R)/(2 - r), for b = 1.
#[test]
fn quantised_cardinality_bias() {
    for (r, stored, resemblance) in [(0.3, 0.34375, 0.5), (0.6, 0.59375, 0.2), (0.01, 0.03125, 0.8)]
    {
        let p = Chance::dense(1, r, r).agreement(resemblance);
        let bias = Chance::dense(1, stored, stored).resemblance(p) - resemblance;
        let expected = (stored - r) * (1.0 - resemblance) / (2.0 - r);
        assert!((bias - expected).abs() < 1e-12, "{bias} {expected}");
    }
}

#[test]
fn half_bits() {
    for (r, expected) in
        [(0.0, ".577350"), (0.1, ".598483"), (0.3, ".640748"), (0.57, ".697805"), (0.9, ".767543")]
    {
        let chance = Chance::dense(1, r, r);
        let even = half_bit::break_even(&chance);
        printed(even, expected);
        // At the break-even point the variances are equal.
        let p = chance.agreement(even);
        let ratio = chance.variance(p) / half_bit::variance(half_bit::agreement(p), &chance);
        assert!((ratio - 1.0).abs() < 1e-9);
    }
    let chance = Chance::sparse(1);
    for r in [0.3, 0.6, 0.8, 0.95_f64] {
        let p = chance.agreement(r);
        let t = half_bit::agreement(p);
        assert!((half_bit::resemblance(t, &chance) - r).abs() < 1e-12);
        let ratio = chance.variance(p) / half_bit::variance(t, &chance);
        assert!((ratio - 4.0 * r * r / (1.0 + r * r)).abs() < 1e-9);
    }
    for (r, expected) in [(0.6, "-.0039"), (0.8, "-.0011")] {
        let t = half_bit::agreement(chance.agreement(r));
        printed(half_bit::bias(t, &chance) / 128.0, expected);
    }
    // T cannot distinguish P from 1 - P. A resemblance below the point where P = 1/2 is estimated above it.
    let dense = Chance::dense(1, 0.5, 0.5);
    printed((0.5 - dense.c1) / (1.0 - dense.c2), ".25");
    let folded = half_bit::resemblance(half_bit::agreement(dense.agreement(0.1)), &dense);
    assert!((folded - 0.4).abs() < 1e-12);
    assert_eq!(half_bit::resemblance(0.3, &chance), 0.0);
}

/// Builds patterns of three sets from the cells: all agree, 1 and 2, 1 and 3, 2 and 3, none.
fn three(bits: u8, cells: [u32; 5]) -> Patterns {
    let mut patterns = Patterns::new(3, bits).unwrap();
    let values = [[1, 1, 1], [1, 1, 0], [1, 0, 1], [0, 1, 1], [0, 1, 2]];
    values.iter().zip(cells).for_each(|(v, count)| patterns.add_many(v, count).unwrap());
    patterns
}

#[test]
fn three_sets() {
    let shares = [0.5697, 0.5537, 0.3564];
    for (bits, dense, dense_error, sparse, sparse_error) in [
        (2, ".469278", ".045457", ".468750", ".049263"),
        (4, ".468725", ".044083", ".453571", ".045427"),
    ] {
        let patterns = three(bits, [60, 14, 9, 11, 34]);
        let d = patterns.dense(&shares, None).unwrap();
        printed(d.value, dense);
        printed(d.std_error, dense_error);
        let s = patterns.sparse(None).unwrap();
        printed(s.value, sparse);
        printed(s.std_error, sparse_error);
        assert!(d.low < d.value && d.value < d.high && s.low < s.value && s.value < s.high);
    }
}

/// The published three-way estimator and its variance, from agreement rates instead of patterns.
#[test]
fn three_sets_by_the_published_formula() {
    let cells = [4000, 1400, 900, 1100, 2600];
    let k = 10_000.0;
    for bits in 2..=8 {
        let m = f64::from(1 << bits);
        let [all, p12, p13, p23, _] = cells.map(f64::from);
        let (p123, pairs) = (all / k, (3.0 * all + p12 + p13 + p23) / k);
        let r = (m * m * p123 - m * pairs + 2.0) / ((m - 1.0) * (m - 2.0));
        let t = (m * pairs - 3.0) / (m - 1.0);
        let variance = (1.0 + (m - 3.0) * t + (m * m - 6.0 * m + 10.0) * r
            - (m - 1.0) * (m - 2.0) * r * r)
            / ((m - 1.0) * (m - 2.0));
        let estimate = three(bits, cells).sparse(None).unwrap();
        assert!((estimate.value - r).abs() < 1e-12, "b {bits}");
        // The estimate adds half a sample to each cell.
        let ratio = estimate.std_error.powi(2) * k / variance;
        assert!((ratio - 1.0).abs() < 2e-3, "b {bits}: {ratio}");
    }
}

#[test]
fn identical_sets_are_exactly_one() {
    for bits in 2..=8 {
        let patterns = three(bits, [128, 0, 0, 0, 0]);
        let estimates =
            [patterns.sparse(None).unwrap(), patterns.dense(&[0.4, 0.4, 0.4], None).unwrap()];
        for e in estimates {
            assert_eq!((e.value, e.high), (1.0, 1.0));
            assert!(e.low > 0.9 && e.low < 1.0, "{e}");
        }
    }
}

#[test]
fn one_permutation_variance_factor() {
    for (f, k, expected) in [
        (5.0, 128, "1.585041"),
        (20.0, 128, "1.390522"),
        (100.0, 128, "1.0239"),
        (128.0, 128, ".950709"),
        (200.0, 128, ".8351"),
        (400.0, 128, ".770661"),
        (1000.0, 128, ".873659"),
        (3000.0, 128, ".9577"),
        (10.0, 64, "1.415152"),
        (1000.0, 256, ".785112"),
        (1.0, 128, "1"),
    ] {
        printed(variance_factor(f, k), expected);
    }
}

#[test]
fn chance_to_be_found() {
    // Full-width samples: every slot agrees with probability R^g.
    for (r, alta_vista, bing) in [
        (0.95_f64, ".8786", ".8663"),
        (0.90, ".4151", ".5246"),
        (0.80, ".02578", ".09465"),
        (0.70, ".0006776", ".008976"),
        (0.50, "5.587e-8", "1.360e-5"),
    ] {
        printed(planning::at_least(2, 6, r.powi(14)), alta_vista);
        printed(planning::at_least(4, 6, r.powi(5)), bing);
    }
    let rdc = |r: f64, m| planning::at_least(m, 12, (63.0 * r + 1.0) / 64.0);
    for (r, m, expected) in [
        (0.0, 5, "6.73e-7"),
        (1.0 / 3.0, 5, ".3985"),
        (0.5, 5, ".8209"),
        (0.7, 5, ".9914"),
        (0.0, 4, "2.67e-5"),
        (1.0 / 3.0, 4, ".636247"),
        (0.5, 4, ".934264"),
        (0.7, 4, ".998507"),
    ] {
        printed(rdc(r, m), expected);
    }
    let preset = Scheme::rdc();
    assert!((planning::found(&preset, 0.5) - rdc(0.5, 1)).abs() < 1e-12);
    for (m, expected) in [(5, ".673"), (4, "26.68"), (3, "755.0"), (2, "14520"), (1, "172197")] {
        printed(planning::accidental(&preset, 1_000_000, m), expected);
    }
}

#[test]
fn recall_of_one_slot_rules() {
    for (bits, g, count, values) in [
        (4, 4, 32, vec![(0.3, ".362344"), (0.5, ".929779"), (0.7, ".999952")]),
        (4, 3, 42, vec![(0.3, ".824762"), (0.5, ".998911"), (0.7, "1.000000")]),
        (6, 3, 42, vec![(0.3, ".722511"), (0.5, ".997247")]),
        (8, 2, 64, vec![(0.3, ".997871"), (0.5, "1.000000")]),
    ] {
        let slots =
            Slots { count, samples_per_slot: g, value_bits: bits * g as u8, min_matches: 1 };
        let sampler = Sampler::Independent;
        let p = presets::PRECISE.with_bits(bits).with_slots(slots).with_sampler(sampler);
        let scheme = Scheme::new(p).unwrap();
        values.iter().for_each(|(r, expected)| printed(planning::found(&scheme, *r), expected));
    }
}

#[test]
fn folded_slots_agree_a_little_more_often() {
    let slots = presets::BING.slots;
    let q = 0.5_f64.powi(5);
    let p = planning::slot_agreement(0.5, &slots, 16);
    assert!((p - (q + (1.0 - q) / 65_536.0)).abs() < 1e-15);
    assert_eq!(planning::slot_agreement(0.5, &presets::PRECISE.slots, 4), 0.0625);
}

#[test]
fn lsh_exponents() {
    for (bits, expected) in
        [(1, ".486836"), (2, ".479707"), (4, ".474092"), (8, ".472286"), (64, ".472165")]
    {
        printed(planning::lsh_exponent(&Chance::sparse(bits), 0.1, 2.0), expected);
    }
}

#[test]
fn samples_for_a_wanted_error() {
    let chance = Chance::sparse(4);
    for (error, r) in [(0.05, 0.5), (0.01, 0.9), (0.03, 0.0)] {
        let k = planning::required_samples(error, r, &chance);
        let deviation = |k: u64| (chance.variance(chance.agreement(r)) / k as f64).sqrt();
        assert!(deviation(k) <= error && deviation(k - 1) > error, "{error} {r}: {k}");
    }
    printed(planning::standard_error(&Scheme::precise(), 0.5), ".0470");
}

#[test]
fn measures_by_the_delta_method() {
    let resemblance = Estimate { value: 0.5, std_error: 0.05, low: 0.4, high: 0.6 };
    let (first, second) = (Cardinality::exact(200), Cardinality::exact(300));
    let m = Measures { resemblance, first, second };
    let check = |e: Estimate, value: &str, error: &str| {
        printed(e.value, value);
        printed(e.std_error, error);
    };
    check(m.intersection(), "166.6667", "11.1111");
    check(m.containment_of_first(), ".833333", ".055556");
    check(m.hamming(), "166.6667", "22.2222");
    check(m.union(), "333.3333", "11.1111");
    check(m.containment_of_second(), ".555556", ".037037");
    // The first set is the smaller one.
    check(m.overlap(), ".833333", ".055556");
    assert_eq!(Measures { first: second, second: first, ..m }.overlap(), m.overlap());
    // The ends of the interval are the measures at the ends of the resemblance interval.
    let h = m.hamming();
    printed(h.low, "125.0");
    printed(h.high, "214.2857");
    printed(m.intersection().high, "187.5");
    // A size known to 4 % increases the error and widens the interval.
    let vague = Cardinality { value: 200.0, half_width: 8.0 };
    let wider = Measures { first: vague, ..m }.hamming();
    assert!(wider.std_error > h.std_error && wider.low < h.low && wider.high > h.high);
}

/// The basis of lazy sampling: how many samples of a block of 128 an element claims if it claims each with
/// probability 1/128, and how many of 128 samples n elements leave unclaimed.
#[test]
fn claims_of_lazy_sampling() {
    let claims = |c: u32| planning::at_least(c, 128, 1.0 / 128.0);
    let table = [".366438", ".369323", ".184662", ".061069", ".015027", ".002934"];
    for (c, expected) in (0..).zip(table) {
        printed(claims(c) - claims(c + 1), expected);
    }
    printed(claims(4), ".0185");
    let unclaimed = |n: u32| 128.0 * (1.0 - planning::at_least(1, n, 1.0 / 128.0));
    printed(unclaimed(1000), ".05");
    printed(unclaimed(100), "58");
    printed(unclaimed(10), "118");
}
