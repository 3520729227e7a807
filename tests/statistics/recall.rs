//! Planted partners are found as often as the scheme promises, and strangers as rarely.
//!
//! Every pair has random elements of its own, so pairs are independent trials. The share found is compared with
//! [`recall_at`](ringer::Explanation::recall_at) of the exact resemblance. It may be off by 4 standard errors of a
//! binomial share plus one trial, which matters where hardly any or nearly all are found. One-permutation samples may
//! be off by [.015](dependence) more, because the promise models only the dependence of two and three samples of a
//! slot.

use rayon::prelude::*;
use ringer::internals::estimate::planning;
use ringer::internals::estimate::recall::{Copies, Recall};
use ringer::scheme::{CardinalityField, Sampler, Slots};
use ringer::{Database, Like, Options, Parameters, Plan, Query, Scheme, Sketcher, presets};
use testkit::random::Random;
use testkit::scale::cases;

/// Resemblances as fractions.
const RESEMBLANCES: [(u64, u64); 6] = [(3, 10), (1, 2), (7, 10), (4, 5), (9, 10), (19, 20)];

const SIZES: [u64; 4] = [5, 20, 100, 1000];

/// Possible overlaps of sets of five elements, one of which may have four or six: shared elements, and elements of
/// the union.
const FIVES: [(u64, u64); 5] = [(3, 7), (3, 6), (4, 6), (4, 5), (5, 6)];

/// How much the recall may deviate for one-permutation samples, which are dependent.
fn dependence(sampler: Sampler) -> f64 {
    match sampler {
        Sampler::OnePermutation => 0.015,
        _ => 0.0,
    }
}

/// The number of pairs in a database. It is small where many strangers are found by accident.
#[derive(Debug, Clone, Copy)]
struct Pairs {
    all: u64,
    at_once: u64,
}

/// Pairs of sets of one resemblance and size.
#[derive(Debug, Clone, Copy)]
struct Planted {
    shared: u64,
    union: u64,
}

impl Planted {
    /// Returns sets of about `size` elements with exactly this resemblance. They are larger if so few elements cannot
    /// have it.
    fn new((p, q): (u64, u64), size: u64) -> Planted {
        // Sets have (1 + R) / 2 of the union on average.
        let wanted = 2 * size * q / (p + q);
        let times = ((wanted + q / 2) / q).max(1);
        Planted { shared: times * p, union: times * q }
    }

    fn resemblance(&self) -> f64 {
        self.shared as f64 / self.union as f64
    }

    fn pair(&self, seed: u64) -> [Vec<u64>; 2] {
        let mut random = Random(seed);
        let all: Vec<u64> = (0..self.union).map(|_| random.word()).collect();
        let (shared, others) = all.split_at(self.shared as usize);
        let (first, second) = others.split_at(others.len() / 2);
        [[shared, first].concat(), [second, shared].concat()]
    }
}

fn key(i: u64, side: u64) -> [u8; 9] {
    let mut key = [side as u8; 9];
    key[..8].copy_from_slice(&i.to_be_bytes());
    key
}

/// A query that depends only on slots.
#[derive(Debug, Clone, Copy)]
struct Request {
    min_matches: Option<u32>,
    within_hamming_1: bool,
}

impl Request {
    /// The scheme's own rule.
    const PLAIN: Request = Request { min_matches: None, within_hamming_1: false };

    fn matches(slots: u32) -> Request {
        Request { min_matches: Some(slots), ..Request::PLAIN }
    }

    fn put<'a>(&self, query: Query<'a>) -> Query<'a> {
        let mut query = query.top(usize::MAX).plan(Plan::Probe);
        if let Some(slots) = self.min_matches {
            query = query.min_matches(slots);
        }
        if self.within_hamming_1 { query.within_hamming_1() } else { query }
    }
}

/// Loads pairs and queries one of each for the other.
fn check(parameters: Parameters, planted: Planted, pairs: Pairs, requests: &[Request]) {
    let scheme = Scheme::new(parameters).unwrap();
    let mut found = vec![0; requests.len()];
    let mut promises = Vec::new();
    let starts: Vec<u64> = (0..pairs.all).step_by(pairs.at_once as usize).collect();
    for start in starts {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.ringer");
        let db = Database::create(path, &scheme, Options::default()).unwrap();
        let seed = (planted.union << 48) + (planted.shared << 32);
        let these = start..start + pairs.at_once;
        let sets: Vec<([u8; 9], Vec<u64>)> = these
            .clone()
            .flat_map(|i| {
                let [a, b] = planted.pair(Random(seed + i).word());
                [(key(i, 0), a), (key(i, 1), b)]
            })
            .collect();
        let mut load = db.bulk_load();
        load.put_many(&sets).unwrap();
        load.commit().unwrap();
        let snapshot = db.snapshot();
        promises.clear();
        for (request, found) in requests.iter().zip(&mut found) {
            let first = key(start, 0);
            let explanation = request.put(snapshot.query(Like::Key(&first))).explain().unwrap();
            assert!(explanation.parts.iter().all(|part| part.plan == Plan::Probe));
            promises.push(explanation.recall_at(planted.resemblance()));
            let finds = |i: &u64| {
                let (key, partner) = (key(*i, 0), key(*i, 1));
                let answer = request.put(snapshot.query(Like::Key(&key))).run().unwrap();
                assert!(!answer.truncated);
                answer.matches.iter().any(|found| *found.key == partner)
            };
            *found += these.clone().into_par_iter().filter(finds).count();
        }
    }
    let dependence = dependence(scheme.sampler);
    for ((request, found), promised) in requests.iter().zip(found).zip(promises) {
        let n = pairs.all as f64;
        let (share, error) = (found as f64 / n, (promised * (1.0 - promised) / n).sqrt());
        let bound = 4.0 * error + 1.0 / n;
        let off = share - promised;
        let at = format!("{scheme} {request:?} {planted:?}");
        println!("{at}: found {share:.5}, promised {promised:.5}, off {:+.2} se", off / error);
        let fits = off.abs() <= bound + dependence;
        assert!(fits, "{at}: found {share}, promised {promised}, bound {bound:.5}");
    }
}

/// Checks all resemblances and sizes, with fewer pairs of large sets.
fn check_all(parameters: Parameters, pairs: Pairs, requests: &[Request]) {
    for resemblance in RESEMBLANCES {
        for size in SIZES {
            let all = if size == 1000 { pairs.all / 4 } else { pairs.all };
            let all = all / cases(12, 1);
            let pairs = Pairs { all, at_once: pairs.at_once.min(all) };
            check(parameters, Planted::new(resemblance, size), pairs, requests);
        }
    }
    for (shared, union) in FIVES {
        let all = pairs.all / cases(4, 1);
        let pairs = Pairs { all, at_once: pairs.at_once.min(all) };
        check(parameters, Planted { shared, union }, pairs, requests);
    }
}

#[test]
fn rdc_finds_what_it_promises() {
    let requests = [Request::PLAIN, Request::matches(4), Request::matches(7)];
    check_all(presets::RDC, Pairs { all: 2000, at_once: 250 }, &requests);
}

#[test]
fn alta_vista_finds_what_it_promises() {
    let requests = [Request::PLAIN, Request::matches(1), Request::matches(4)];
    check_all(presets::ALTA_VISTA, Pairs { all: 3000, at_once: 3000 }, &requests);
}

#[test]
fn bing_finds_what_it_promises() {
    let requests = [Request::PLAIN, Request::matches(1), Request::matches(6)];
    check_all(presets::BING, Pairs { all: 4000, at_once: 4000 }, &requests);
}

#[test]
fn near_duplicate_finds_what_it_promises() {
    let pairs = Pairs { all: 12_000, at_once: 3000 };
    check_all(presets::NEAR_DUPLICATE, pairs, &[Request::PLAIN, Request::matches(4)]);
}

#[test]
fn precise_finds_what_it_promises() {
    let pairs = Pairs { all: 12_000, at_once: 1500 };
    check_all(presets::PRECISE, pairs, &[Request::PLAIN, Request::matches(2)]);
}

/// Bit segments: 200 samples of one bit in 20 slots of ten, of which one bit may differ.
#[test]
fn neighbours_of_slot_values_are_found_as_promised() {
    let slots = Slots { count: 20, samples_per_slot: 10, value_bits: 10, min_matches: 1 };
    let near = |min_matches| Request { min_matches, within_hamming_1: true };
    for sampler in [Sampler::Independent, Sampler::OnePermutation] {
        let parameters =
            presets::PRECISE.with_samples(200).with_bits(1).with_slots(slots).with_sampler(sampler);
        let requests = [near(None), near(Some(4)), near(Some(10))];
        check_all(parameters, Pairs { all: 1200, at_once: 100 }, &requests);
    }
}

/// The seed determines the order of donors, and that order determines how often small sets are found. The test uses
/// signatures only, so many pairs are cheap: 40,000 for each seed (5,000 in a quick run), within 5 standard errors
/// and .008. A promise averaged over all seeds would be off by .03.
#[test]
fn every_seed_finds_what_it_promises() {
    let all = cases(5_000, 40_000);
    for seed in [presets::DEFAULT_SEED, 1, 2, 3] {
        let sampler = Sampler::OnePermutation;
        let parameters = presets::NEAR_DUPLICATE.with_seed(seed).with_sampler(sampler);
        let scheme = Scheme::new(parameters).unwrap();
        let sketcher = Sketcher::new(&scheme);
        let slots = sketcher.slot_reader();
        let values = |set: &[u64]| {
            let mut values = vec![0; slots.count()];
            slots.read(sketcher.sketch(set).unwrap().planes(), &mut values);
            values
        };
        for (shared, union) in [(3, 7), (3, 6), (9, 30), (15, 30), (45, 150)] {
            let planted = Planted { shared, union };
            let matching = |i: u64| {
                let [a, b] = planted.pair(Random(seed ^ (union << 48) ^ (i << 20)).word());
                values(&a).iter().zip(&values(&b)).filter(|(a, b)| a == b).count()
            };
            let matching: Vec<usize> = (0..all).into_par_iter().map(matching).collect();
            for min_matches in [1, 4] {
                let found = matching.iter().filter(|slots| **slots >= min_matches).count();
                let elements = (shared + union) as f64 / 2.0;
                let donors = sketcher.shared_donors();
                let copies = Some(Copies { elements, shared: donors.as_deref() });
                let min_matches = min_matches as u32;
                let recall = Recall { scheme: &scheme, min_matches, within_1: false, copies };
                let (promised, n) = (recall.at(planted.resemblance()), all as f64);
                let share = found as f64 / n;
                let bound = 5.0 * (promised * (1.0 - promised) / n).sqrt() + 0.008;
                let at = format!("seed {seed}, {min_matches} slots, {planted:?}");
                println!("{at}: found {share:.5}, promised {promised:.5}, bound {bound:.5}");
                assert!((share - promised).abs() <= bound, "{at}: {share}, {promised}, {bound}");
            }
        }
    }
}

/// For a query by features the size is always known, and repeated elements count once. For a query by key it is known
/// if the scheme stores it.
#[test]
fn promised_recall_uses_the_set_size() {
    let fields = [CardinalityField::None, CardinalityField::Exact];
    let samplers = [Sampler::OnePermutation, Sampler::EveryBin];
    for (cardinality, sampler) in fields.iter().flat_map(|f| samplers.map(|s| (*f, s))) {
        let parameters =
            presets::NEAR_DUPLICATE.with_cardinality(cardinality).with_sampler(sampler);
        let scheme = Scheme::new(parameters).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.ringer");
        let db = Database::create(path, &scheme, Options::default()).unwrap();
        let set: Vec<u64> = (0..20).collect();
        db.put("a", &set).unwrap();
        let snapshot = db.snapshot();
        let promise = |like| snapshot.query(like).explain().unwrap().recall_at(0.3);
        let twice = [&set[..], &set[..]].concat();
        let (features, key) = (promise(Like::Features(&twice)), promise(Like::Key(b"a")));
        let large = planning::found(&scheme, 0.3);
        // One-permutation samples are copies of each other. Every-bin samples are more even than independent ones.
        let more = features - large;
        let differ = if sampler == Sampler::EveryBin { more < -0.002 } else { more > 0.02 };
        assert!(differ, "{sampler}: {features} of small sets, {large} of large ones");
        let known = cardinality == CardinalityField::Exact;
        assert!((key - if known { features } else { large }).abs() < 1e-9, "{key}");
    }
}

/// Twelve samples of 6 bits over a million sets that share nothing with the queries. The number of candidates in m
/// lists is binomial, 12 trials with probability 1/64. Each query, and all together, are within 4 standard errors,
/// because sets and queries are independent.
#[test]
fn accidental_matches_in_a_million_sets_are_as_many_as_expected() {
    let sets = cases(200_000_u64, 1_000_000);
    const QUERIES: u64 = 20;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.ringer");
    let options = Options::default().with_build_bytes(1 << 30);
    let db = Database::create(path, &Scheme::rdc(), options).unwrap();
    let mut load = db.bulk_load();
    let mut random = Random(1);
    for i in 0..sets {
        load.put(i.to_be_bytes(), &[random.word(), random.word(), random.word()]).unwrap();
    }
    load.commit().unwrap();
    let snapshot = db.snapshot();
    let mut sums = [0_u64; 13];
    let expected = |least| planning::accidental(db.scheme(), sets, least);
    let check = |what: &str, least: u32, found: u64, queries: u64| {
        let (n, mean) = ((sets * queries) as f64, expected(least) * queries as f64);
        let error = (mean * (1.0 - mean / n)).sqrt();
        let off = (found as f64 - mean) / error;
        println!("{what}, at least {least} lists: {found}, expected {mean:.2}, off {off:+.2} se");
        assert!(off.abs() <= 4.0, "{what}, {least} lists: {found} found, {mean} expected");
    };
    for query in 0..QUERIES {
        let set: Vec<u64> = (0..10 + query).map(|_| random.word()).collect();
        let query_all = snapshot.query(Like::Features(&set)).plan(Plan::Probe);
        let explanation = query_all.max_candidates(sets as usize).explain().unwrap();
        assert!(!explanation.answer.truncated);
        let mut by_lists = explanation.candidates_by_lists.clone();
        by_lists.resize(13, 0);
        for least in 1..=4 {
            let found = by_lists[least as usize..].iter().sum();
            check(&format!("query {query}"), least, found, 1);
            // The query's own rule gives the same number.
            if least >= 3 {
                let query = snapshot.query(Like::Features(&set)).top(usize::MAX);
                let answer = query.min_matches(least).run().unwrap();
                assert_eq!(answer.matches.len() as u64, found);
            }
        }
        sums.iter_mut().zip(&by_lists).for_each(|(sum, n)| *sum += n);
    }
    for least in 1..=5 {
        check("all queries", least, sums[least as usize..].iter().sum(), QUERIES);
    }
    // Figures that were computed independently.
    for (least, figure) in [(5, 0.673), (4, 26.68), (3, 755.0), (2, 14_520.0), (1, 172_197.0)] {
        let expected = planning::accidental(db.scheme(), 1_000_000, least);
        assert!((expected / figure - 1.0).abs() < 1e-3, "{least}: {expected}");
    }
}
