//! Queries over real sets compared with exact resemblances: what is found, in which order, and what is missed.
//!
//! The data is not part of the repository. Set `RINGER_DATA` to its folder; the default is `../shared/data`. Without
//! the data these tests say so and pass.

use testkit::real;
use testkit::scale::cases;

use std::collections::{BTreeSet, HashMap, HashSet};

use rayon::prelude::*;
use real::{Real, jaccard};
use ringer::internals::estimate::Chance;
use ringer::internals::estimate::small_sets::variance_factor;
use ringer::scheme::Sampler;
use ringer::sketch::SlotReader;
use ringer::{
    Database, Like, Options, Parameters, Plan, Scheme, Signature, Sketcher, Snapshot, presets,
};

/// The number of scheme seeds: independent repetitions over the same sets.
fn seeds() -> u64 {
    cases(4, 16)
}

/// The neighbours of a query that are tested in each tenth of resemblance.
const NEIGHBOURS: usize = 10;

/// The matches that are compared with brute force.
const TOP: usize = 20;

/// The limit of brute-force comparisons over one data set. It determines how many queries of the truth are tried,
/// evenly spread: in a full run 13 for the largest data set and about 100 elsewhere.
fn comparisons() -> usize {
    cases(400_000, 6_000_000)
}

/// The estimates for unions of fewer elements than this are far from normal: see [`check_estimates`].
const SMALL: f64 = 10.0;

fn database<'a>(
    scheme: &Scheme,
    sets: impl Iterator<Item = &'a (String, Vec<u64>)>,
) -> (Database, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.ringer");
    let db = Database::create(path, scheme, Options::default()).unwrap();
    let mut load = db.bulk_load();
    let sets: Vec<(&String, &Vec<u64>)> = sets.map(|(name, set)| (name, set)).collect();
    load.put_many(&sets).unwrap();
    load.commit().unwrap();
    (db, folder)
}

/// A set with its signature and slot values.
struct Row<'a> {
    name: &'a str,
    signature: Signature,
    slots: Vec<u32>,
}

/// Returns the ranking by definition. All signatures are compared and sorted by similarity, then common slots, then
/// key.
fn brute_force(rows: &[Row<'_>], query: &Row<'_>) -> Vec<(String, u32, f64)> {
    let mut values: HashMap<(u32, u32), f64> = HashMap::new();
    let mut all: Vec<(f64, u32, &str)> = rows
        .iter()
        .filter(|row| row.name != query.name)
        .map(|row| {
            let comparison = query.signature.compare(&row.signature).unwrap();
            // The estimate depends only on the number of equal samples and the sizes.
            let code = row.signature.cardinality_code();
            let value = values.entry((comparison.equal_samples(), code));
            let value = *value.or_insert_with(|| comparison.similarity().value);
            let slots = row.slots.iter().zip(&query.slots).filter(|(a, b)| a == b).count();
            (value, slots as u32, row.name)
        })
        .collect();
    let order = |a: &(f64, u32, &str), b: &(f64, u32, &str)| {
        b.0.total_cmp(&a.0).then(b.1.cmp(&a.1)).then_with(|| a.2.cmp(b.2))
    };
    all.select_nth_unstable_by(TOP, order);
    all.truncate(TOP);
    all.sort_by(order);
    all.into_iter().map(|(value, slots, name)| (name.to_string(), slots, value)).collect()
}

/// Asserts that exhaustive queries return exactly the ranking of brute force.
fn check_exhaustive(real: &Real, snapshot: &Snapshot) {
    let sketcher = Sketcher::new(snapshot.scheme());
    let reader = SlotReader::new(snapshot.scheme());
    let rows = real.sets.par_iter().map(|(name, set)| {
        let signature = sketcher.sketch(set).unwrap();
        let mut slots = vec![0; reader.count()];
        reader.read(signature.planes(), &mut slots);
        Row { name, signature, slots }
    });
    let rows: Vec<Row<'_>> = rows.collect();
    let queries: Vec<usize> = real.truth.keys().copied().collect();
    let step = (queries.len() * rows.len()).div_ceil(comparisons());
    queries.par_iter().step_by(step).for_each(|place| {
        let query = &rows[*place];
        let search = snapshot.query(Like::Key(query.name.as_bytes())).exhaustive().top(TOP);
        let answer = search.run().unwrap();
        let found: Vec<(String, u32, f64)> = answer
            .matches
            .iter()
            .map(|m| {
                let name = String::from_utf8(m.key.to_vec()).unwrap();
                (name, m.matching_slots, m.similarity().value)
            })
            .collect();
        assert_eq!(found, brute_force(&rows, query), "{}: {}", real.name, query.name);
    });
}

/// Compares the estimates of everything that queries find at .5 and above with exact resemblances. Equal matches of a
/// query count once.
///
/// If the union of two sets has 10 elements or more, nothing is off by more than 5 standard errors, either of the
/// estimate or at the exact resemblance, whichever is larger. In smaller unions the few elements may fall into one
/// bin, with probability 1/64 for two elements, and then all samples agree or none do. That affects all pairs with
/// the same elements at once, so the number of outliers cannot be compared with its mean. It is bounded by one in 20.
fn check_estimates(real: &Real, snapshot: &Snapshot) {
    let scheme = snapshot.scheme();
    let places: HashMap<&str, usize> =
        real.sets.iter().enumerate().map(|(i, (name, _))| (&**name, i)).collect();
    let chance = Chance::sparse(u32::from(scheme.bits));
    let k = f64::from(scheme.samples);
    let check_query = |query: &usize| {
        let (name, set) = &real.sets[*query];
        let answer = snapshot.query(Like::Key(name.as_bytes())).min_resemblance(0.5).run().unwrap();
        assert!(!answer.truncated);
        let (mut seen, mut small, mut far) = (HashSet::new(), 0, 0);
        for found in &answer.matches {
            let place = places[std::str::from_utf8(&found.key).unwrap()];
            if !seen.insert(real.first[place]) {
                continue;
            }
            let other = &real.sets[place].1;
            let (exact, estimate) = (jaccard(set, other), found.similarity());
            let union = (set.len() + other.len()) as f64 / (1.0 + exact);
            let more = variance_factor(union, scheme.samples) - 1.0;
            let variance = chance.variance(chance.agreement(exact).min(1.0));
            let variance = (variance + more * exact * (1.0 - exact)).max(0.0) / k;
            let error = variance.sqrt().max(estimate.std_error).max(0.5 / k);
            let is_far = (estimate.value - exact).abs() > 5.0 * error;
            if union < SMALL {
                small += 1;
                far += usize::from(is_far);
            } else {
                assert!(
                    !is_far,
                    "{}: {name}, {:?}: {estimate}, exact {exact}",
                    real.name, found.key
                );
            }
        }
        (seen.len(), small, far)
    };
    let add =
        |a: (usize, usize, usize), b: (usize, usize, usize)| (a.0 + b.0, a.1 + b.1, a.2 + b.2);
    let queries: Vec<usize> = real.truth.keys().copied().collect();
    let (all, small, far) = queries.par_iter().map(check_query).reduce(|| (0, 0, 0), add);
    println!("{}: {all} matches, {small} of small unions, {far} of them far off", real.name);
    assert!(all > queries.len(), "{}: only {all} matches", real.name);
    assert!(20 * far <= small, "{}: {far} of {small} far off", real.name);
}

/// A pair of the truth: indexes of sets, and the exact resemblance.
type Pair = (usize, usize, f64);

/// Returns distinct pairs of the truth, a few for each query and tenth of resemblance; a quick run takes one query in
/// three. Equal neighbours have one signature, so they would count one trial many times.
fn pairs(real: &Real) -> Vec<Pair> {
    let mut pairs = Vec::new();
    for (query, neighbours) in real.truth.iter().step_by(cases(3, 1)) {
        let mut seen = HashSet::new();
        let mut counts = [0; 11];
        for (other, exact) in neighbours {
            let bin = (exact * 10.0) as usize;
            if counts[bin] < NEIGHBOURS && seen.insert(real.first[*other]) {
                counts[bin] += 1;
                pairs.push((*query, *other, *exact));
            }
        }
    }
    pairs
}

/// One tenth of resemblance: pairs, those found, and sums of their probabilities and variances.
#[derive(Debug, Clone, Copy, Default)]
struct Bin {
    pairs: f64,
    found: f64,
    promised: f64,
    variance: f64,
}

/// Queries for the neighbours of all queries under one seed.
fn query_all(
    real: &Real,
    snapshot: &Snapshot,
    by_query: &HashMap<usize, Vec<(usize, f64)>>,
    min_matches: Option<u32>,
) -> [Bin; 11] {
    let one = |(query, others): (&usize, &Vec<(usize, f64)>)| {
        let key = real.sets[*query].0.as_bytes();
        let query = snapshot.query(Like::Key(key)).top(usize::MAX).plan(Plan::Probe);
        let query = min_matches.map_or(query.clone(), |slots| query.min_matches(slots));
        let explanation = query.explain().unwrap();
        assert!(!explanation.answer.truncated);
        let found: HashSet<&[u8]> = explanation.answer.matches.iter().map(|m| &*m.key).collect();
        let mut bins = [Bin::default(); 11];
        for (other, r) in others {
            let p = explanation.recall_at(*r);
            let bin = &mut bins[(r * 10.0) as usize];
            bin.pairs += 1.0;
            bin.found += f64::from(u8::from(found.contains(real.sets[*other].0.as_bytes())));
            bin.promised += p;
            bin.variance += p * (1.0 - p);
        }
        bins
    };
    let add = |mut a: [Bin; 11], b: [Bin; 11]| {
        for (a, b) in a.iter_mut().zip(b) {
            a.pairs += b.pairs;
            a.found += b.found;
            a.promised += b.promised;
            a.variance += b.variance;
        }
        a
    };
    by_query.par_iter().map(one).reduce(|| [Bin::default(); 11], add)
}

/// Compares the share of pairs that is found, by tenths of resemblance, with the mean of the promised recall.
///
/// Pairs are far from independent: queries share neighbours, and all sets share popular elements with the same
/// hashes. Seeds are independent. So the bound is 4 standard errors of the mean over seeds, from the deviation
/// between seeds or that of independent pairs, whichever is larger. One-permutation samples get .015 more. Whether a
/// pair is found does not depend on other sets, so each seed loads only the sets of the pairs.
fn check_recall(real: &Real, parameters: Parameters, min_matches: Option<u32>) {
    let pairs = pairs(real);
    let used: BTreeSet<usize> = pairs.iter().flat_map(|(a, b, _)| [*a, *b]).collect();
    let mut by_query: HashMap<usize, Vec<(usize, f64)>> = HashMap::new();
    pairs.iter().for_each(|(a, b, r)| by_query.entry(*a).or_default().push((*b, *r)));
    let seeds: Vec<[Bin; 11]> = (1..=seeds())
        .map(|seed| {
            let scheme = Scheme::new(parameters.with_seed(seed)).unwrap();
            let (db, _folder) = database(&scheme, used.iter().map(|i| &real.sets[*i]));
            query_all(real, &db.snapshot(), &by_query, min_matches)
        })
        .collect();
    for i in (0..11).filter(|i| seeds[0][*i].pairs > 0.0) {
        let (n, s) = (seeds[0][i].pairs, seeds.len() as f64);
        let shares = || seeds.iter().map(|bins| bins[i].found / n);
        let (mean, promised) = (shares().sum::<f64>() / s, seeds[0][i].promised / n);
        let between = shares().map(|x| (x - mean).powi(2)).sum::<f64>() / (s - 1.0);
        let error = (between.sqrt()).max(seeds[0][i].variance.max(0.0).sqrt() / n) / s.sqrt();
        let dependence = if parameters.sampler == Sampler::Independent { 0.0 } else { 0.015 };
        let bound = 4.0 * error + dependence + 1e-9;
        let at = format!(
            "{}, {} slots, R from {:.1}",
            real.name,
            parameters.slots.count,
            i as f64 / 10.0
        );
        println!("{at}: {n} pairs, found {mean:.4}, promised {promised:.4}, bound {bound:.4}");
        assert!((mean - promised).abs() <= bound, "{at}: {mean}, promised {promised}, {bound}");
    }
    assert!(seeds.iter().all(|bins| bins[10].found == bins[10].pairs), "equal sets are found");
}

fn check(name: &str) {
    let Some(real) = real::load(name) else { return };
    let (db, _folder) = database(&Scheme::near_duplicate(), real.sets.iter());
    check_exhaustive(&real, &db.snapshot());
    check_estimates(&real, &db.snapshot());
    check_recall(&real, presets::NEAR_DUPLICATE, None);
    check_recall(&real, presets::RDC, Some(5));
    check_recall(&real, presets::BING, None);
}

#[test]
fn baskets() {
    check("retail");
}

#[test]
fn clicks() {
    check("kosarak36k");
}

#[test]
fn files_of_packages() {
    check("debian-contents");
}

#[test]
fn descriptions_of_packages() {
    check("debian-desc-public");
}

#[test]
fn names_of_packages() {
    check("npm-names");
}
