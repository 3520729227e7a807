//! Whether users can rely on answers: intervals of the pairs that are *reported*, certain pairs, probabilities,
//! promised recall.
//!
//! Real sets are those of `tests/statistics/dense_sets.rs`, reduced to their first distinct sets. Bounds: of the
//! reported pairs of distinct sets, the 95 % interval covers the true resemblance for at least 92 %. Of the pairs
//! reported as certain, at most 2 % are below the threshold. Probabilities are calibrated within .05 for uniformly
//! drawn resemblances. The promised recall is within four standard errors and .02 of the share returned. `cargo test
//! --test statistics trust -- --nocapture` prints all figures.

use testkit::random::Random;
use testkit::real;
use testkit::scale::cases;
mod rows;
mod uniform;

use std::collections::{HashMap, HashSet};

use rayon::prelude::*;
use real::jaccard;
use ringer::{Accept, Database, Options, Originals, Parameters, Scheme, presets};

/// The number of seeds for every figure. A quick run takes two at a time, until they have reported [`ENOUGH`] pairs.
const SEEDS: u64 = 20;

/// More pairs than this are enough to measure the coverage.
const ENOUGH: usize = 50;

/// The number of distinct sets of a data set. Names differ so much that pairs from .8 on need more sets.
const SETS: usize = 6000;
const NAMES: usize = 12_000;

const SCHEMES: [(&str, Parameters); 2] =
    [("near-duplicate", presets::NEAR_DUPLICATE), ("precise", presets::PRECISE)];

/// The result of a run over all pairs.
#[derive(Debug, Default, Clone, Copy)]
struct Tally {
    reported: usize,
    covered: usize,
    certain: usize,
    below: usize,
    /// Reported pairs by tenths of P(R >= min): their number, and for how many it is true.
    likely: [(usize, usize); 10],
}

impl Tally {
    fn add(mut self, other: Tally) -> Tally {
        self.reported += other.reported;
        self.covered += other.covered;
        self.certain += other.certain;
        self.below += other.below;
        for (mine, theirs) in self.likely.iter_mut().zip(other.likely) {
            *mine = (mine.0 + theirs.0, mine.1 + theirs.1);
        }
        self
    }

    fn check(&self, what: &str) {
        let covered = self.covered as f64 / self.reported.max(1) as f64;
        let below = self.below as f64 / self.certain.max(1) as f64;
        let likely: Vec<String> = self
            .likely
            .iter()
            .map(|(all, right)| format!("{:.2}", *right as f64 / (*all).max(1) as f64))
            .collect();
        println!(
            "{what}: {} pairs, {covered:.3} covered; {} certain, {below:.4} below; by P: {}",
            self.reported,
            self.certain,
            likely.join(" ")
        );
        // Different sets of one or two elements are never that similar.
        if self.reported == 0 && what.contains("elements") {
            return;
        }
        assert!(self.reported > ENOUGH, "{what}: {self:?}");
        assert!(covered >= 0.92, "{what}: intervals cover {covered:.3} of {self:?}");
        assert!(below <= 0.02, "{what}: {below:.4} of certain pairs are below");
    }
}

/// Returns distinct nonempty sets.
fn distinct(sets: impl Iterator<Item = Vec<u64>>, most: usize) -> Vec<Vec<u64>> {
    let mut seen = HashSet::new();
    sets.filter(|set| !set.is_empty() && seen.insert(set.clone())).take(most).collect()
}

fn tally(sets: &[Vec<u64>], parameters: Parameters, min: f64) -> Tally {
    let folder = tempfile::tempdir().unwrap();
    let scheme = Scheme::new(parameters).unwrap();
    let db = Database::create(folder.path().join("x.ringer"), &scheme, Options::default()).unwrap();
    let mut load = db.bulk_load();
    for (i, set) in sets.iter().enumerate() {
        load.put((i as u32).to_be_bytes(), set).unwrap();
    }
    load.commit().unwrap();
    let place = |key: &[u8]| u32::from_be_bytes(key.try_into().unwrap()) as usize;
    let snapshot = db.snapshot();
    let mut tally = Tally::default();
    for pair in snapshot.pairs(min).expand().collect().unwrap() {
        let exact = jaccard(&sets[place(&pair.a)], &sets[place(&pair.b)]);
        let estimate = pair.similarity();
        tally.reported += 1;
        tally.covered += usize::from(estimate.low <= exact + 1e-9 && exact <= estimate.high + 1e-9);
        assert!(estimate.std_error > 0.0 || (estimate.value - exact).abs() < 1e-9, "{pair:?}");
        let p = pair.comparison.probability_at_least(min);
        let bin = &mut tally.likely[((p * 10.0) as usize).min(9)];
        *bin = (bin.0 + 1, bin.1 + usize::from(exact >= min - 1e-9));
    }
    for pair in snapshot.pairs(min).accept(Accept::Certain).expand().collect().unwrap() {
        let exact = jaccard(&sets[place(&pair.a)], &sets[place(&pair.b)]);
        tally.certain += 1;
        tally.below += usize::from(exact < min - 1e-9);
    }
    tally
}

/// Checks all seeds and schemes.
fn check(name: &str, sets: &[Vec<u64>], base: impl Fn(Parameters) -> Parameters + Sync) {
    for (scheme, parameters) in SCHEMES {
        for min in [0.5, 0.8] {
            let sets = if min == 0.5 { &sets[..sets.len().min(SETS)] } else { sets };
            let seeds: Vec<u64> = (0..SEEDS).map(|seed| 1000 + seed).collect();
            let one = |seed: &u64| tally(sets, base(parameters).with_seed(*seed), min);
            let mut all = Tally::default();
            for some in seeds.chunks(cases(2, seeds.len())) {
                let found: Vec<Tally> = some.par_iter().map(one).collect();
                all = found.into_iter().fold(all, Tally::add);
                if all.reported > ENOUGH {
                    break;
                }
            }
            all.check(&format!("{name}, {scheme}, {min}"));
        }
    }
}

fn check_real(name: &str) {
    let Some(real) = real::load(name) else { return };
    let most = if name == "npm-names" { NAMES } else { SETS };
    let sets = distinct(real.sets.into_iter().map(|(_, set)| set), most);
    check(name, &sets, |parameters| parameters);
}

#[test]
fn reported_baskets_are_covered() {
    check_real("retail");
}

#[test]
fn reported_clicks_are_covered() {
    check_real("kosarak36k");
}

#[test]
fn reported_names_are_covered() {
    check_real("npm-names");
}

#[test]
fn reported_descriptions_are_covered() {
    check_real("debian-desc-public");
}

/// Package descriptions, verified pairs from .8 on: no false pair, and at least .995 of the true ones.
#[test]
fn verified_descriptions_are_exact() {
    let Some(real) = real::load("debian-desc-public") else { return };
    let sets = distinct(real.sets.into_iter().map(|(_, set)| set), 20_000);
    // Finds every pair that shares an element with an inverted index.
    let mut lists: HashMap<u64, Vec<usize>> = HashMap::new();
    let mut truth = HashSet::new();
    for (i, set) in sets.iter().enumerate() {
        let mut shared: HashMap<usize, usize> = HashMap::new();
        for element in set {
            let list = lists.entry(*element).or_default();
            list.iter().for_each(|j| *shared.entry(*j).or_default() += 1);
            list.push(i);
        }
        for (j, shared) in shared {
            let union = set.len() + sets[j].len() - shared;
            if 10 * shared >= 8 * union {
                truth.insert((j, i));
            }
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.ringer");
    let db = Database::create(path, &Scheme::near_duplicate(), Options::default()).unwrap();
    let mut load = db.bulk_load();
    for (i, set) in sets.iter().enumerate() {
        load.put((i as u32).to_be_bytes(), set).unwrap();
    }
    load.commit().unwrap();
    let place = |key: &[u8]| u32::from_be_bytes(key.try_into().unwrap()) as usize;
    let originals = Originals::new(|key| Ok(Some(sets[place(key)].clone())));
    let pairs = db.snapshot().pairs(0.8).verify(&originals).expand().collect().unwrap();
    let found: HashSet<(usize, usize)> =
        pairs.iter().map(|pair| (place(&pair.a), place(&pair.b))).collect();
    let right = found.intersection(&truth).count();
    println!("descriptions: {} pairs, {right} of {} true ones", found.len(), truth.len());
    assert_eq!(right, found.len(), "a false pair");
    assert!(truth.len() > 1000 && right * 1000 >= truth.len() * 995, "{right} of {}", truth.len());
}

/// Records of people and publications as sets of 3-grams.
#[test]
fn reported_records_are_covered() {
    let Some(folder) = real::folder("er-labelled") else { return };
    for name in ["cora", "cddb", "dblp-acm"] {
        let mut sets = Vec::new();
        let mut files: Vec<_> = std::fs::read_dir(folder.join(name)).unwrap().collect();
        files.sort_by_key(|file| file.as_ref().unwrap().path());
        for file in files {
            let path = file.unwrap().path();
            let text = match path.extension().and_then(|e| e.to_str()) {
                Some("xz") => String::from_utf8_lossy(&real::read(&path)).into_owned(),
                _ => String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned(),
            };
            sets.extend(text.lines().filter(|line| line.len() > 40).map(|line| {
                let lower = line.to_ascii_lowercase();
                let gram = |g: &[u8]| g.iter().fold(0, |all, byte| all << 8 | u64::from(*byte));
                let mut set: Vec<u64> = lower.as_bytes().windows(3).map(gram).collect();
                set.sort_unstable();
                set.dedup();
                set
            }));
        }
        check(name, &distinct(sets.into_iter(), SETS), |parameters| parameters);
    }
}

/// Words as sets of documents, in a bounded universe of which they fill a large part.
#[test]
fn reported_words_are_covered() {
    use ringer::scheme::{CardinalityField, Sampler, Universe};
    let Some(folder) = real::folder("words65536") else { return };
    let text = String::from_utf8(real::read(&folder.join("postings.txt.xz"))).unwrap();
    let sets = text.lines().filter_map(|line| line.split_once('\t')).map(|(_, ids)| {
        let mut set: Vec<u64> = ids.split(' ').map(|id| id.parse().unwrap()).collect();
        set.sort_unstable();
        set
    });
    let sets = distinct(sets.filter(|set| set.len() > 2), SETS);
    for field in [CardinalityField::Log8, CardinalityField::Exact] {
        check(&format!("words, {field}"), &sets, |parameters| {
            parameters
                .with_universe(Universe::Bounded(1 << 16))
                .with_sampler(Sampler::OnePermutation)
                .with_cardinality(field)
        });
    }
}

/// Sets of a given size, in families of relatives with some elements exchanged, left out or added.
#[test]
fn reported_small_sets_are_covered() {
    for size in [1_u64, 2, 3, 5, 10, 20, 50, 100] {
        let mut random = Random(size);
        let mut draw = |limit: u64| random.below(limit);
        let mut sets = Vec::new();
        for family in 0..150_u64 {
            for _ in 0..12 {
                let (lost, added) = (draw(size / 2 + 1), draw(size / 2 + 2));
                let mut set: Vec<u64> = (family * 10_000 + lost..family * 10_000 + size).collect();
                set.extend((0..added).map(|_| 1 << 40 | family << 20 | draw(3 * size + 3)));
                set.sort_unstable();
                set.dedup();
                sets.push(set);
            }
        }
        check(&format!("{size} elements"), &distinct(sets.into_iter(), SETS), |parameters| {
            parameters
        });
    }
}
