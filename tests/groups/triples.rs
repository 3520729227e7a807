//! Triples of a database, compared with brute force over all triples of keys and with exact resemblances.
//!
//! The real data is not part of the repository. Set `RINGER_DATA` to its folder (the one that contains
//! `words65536/`); the default is `../shared/data`. Without the data, that test says so and passes.

use testkit::query_oracle;
use testkit::random::Random;
use testkit::real;
use testkit::scale::some;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::{self, File};
use std::io::BufReader;
use std::ops::ControlFlow;
use std::path::Path;

use query_oracle::{Brute, Rows};
use ringer::internals::estimate::many::Patterns;
use ringer::scheme::{CardinalityField, Sampler, Slots, Universe};
use ringer::{Database, Error, Options, Scheme, Signature, Triple, presets, resemblance_of};

/// Returns the triples of distinct signatures by definition: all pairs and all three together reach their thresholds.
fn brute_force(rows: &Rows, min: f64, min_pair: f64) -> BTreeMap<[Vec<u8>; 3], f64> {
    let mut firsts: Vec<(&Vec<u8>, &Signature)> = Vec::new();
    for (key, signature) in rows.iter().filter(|(_, s)| !s.is_empty()) {
        if firsts.iter().all(|(_, other)| *other != signature) {
            firsts.push((key, signature));
        }
    }
    let n = firsts.len();
    let mut alike = vec![vec![false; n]; n];
    for i in 0..n {
        let mut brute = Brute::new(firsts[i].1);
        for j in i + 1..n {
            let enough = brute.value(firsts[j].1).1 >= min_pair - 1e-9;
            alike[i][j] = enough && brute.slots(firsts[j].1, false) >= 1;
        }
    }
    let mut all = BTreeMap::new();
    for i in 0..n {
        for j in (i + 1..n).filter(|j| alike[i][*j]) {
            for k in (j + 1..n).filter(|k| alike[i][*k] && alike[j][*k]) {
                let three = [firsts[i], firsts[j], firsts[k]];
                let value = resemblance_of(&three.map(|(_, s)| s)).unwrap().value;
                if value >= min - 1e-9 {
                    all.insert(three.map(|(key, _)| key.clone()), value);
                }
            }
        }
    }
    all
}

fn keys(triple: &Triple) -> [Vec<u8>; 3] {
    triple.keys.clone().map(|key| key.to_vec())
}

#[test]
fn triples_are_those_of_the_definition() {
    for parameters in [presets::NEAR_DUPLICATE, presets::PRECISE, presets::RDC] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.ringer");
        let scheme = Scheme::new(parameters).unwrap();
        let db = Database::create(&path, &scheme, Options::default()).unwrap();
        let (mut random, mut rows) = (Random(9), Rows::new());
        for i in 0..150_u64 {
            let (family, cut, more) = (random.below(10), random.below(80), random.below(80));
            let set: Vec<u64> = (1000 * family + cut..1000 * family + 200 + more).collect();
            let set = if i % 20 == 0 { Vec::new() } else { set };
            let key = format!("{:03}", i * 77 % 150).into_bytes();
            rows.insert(key, db.sketcher().sketch(&set).unwrap());
        }
        // Duplicates count as one.
        rows.insert(b"copy".to_vec(), rows[&b"001"[..]].clone());
        let mut load = db.bulk_load();
        for (key, signature) in rows.iter().take(100) {
            load.put_signature(key, signature).unwrap();
        }
        load.commit().unwrap();
        let mut batch = db.batch();
        for (key, signature) in rows.iter().skip(100) {
            batch.put_signature(key, signature.clone()).unwrap();
        }
        db.commit(batch).unwrap();
        for compacted in [false, true] {
            for (min, pair) in [(0.4, 0.4), (0.6, 0.6), (0.6, 0.45), (0.8, 0.8)] {
                let right = brute_force(&rows, min, pair);
                let found = db.snapshot().triples(min).min_pair(pair).collect().unwrap();
                assert!(found.is_sorted_by_key(keys));
                let value = |triple: &Triple| (keys(triple), triple.resemblance.value);
                let all: BTreeMap<_, _> = found.iter().map(value).collect();
                assert_eq!(all.len(), found.len(), "each once");
                assert!(all == right, "{min} {scheme}: {} of {}", all.len(), right.len());
                assert!(min > 0.7 || !all.is_empty());
                for triple in &found {
                    let resemblance = triple.resemblance;
                    assert!(triple.undecided || resemblance.low >= min);
                    let same = |key: &[u8]| rows.values().filter(|s| **s == rows[key]).count();
                    let key_counts = triple.keys.clone().map(|key| same(&key) as u32);
                    assert_eq!(triple.key_counts, key_counts);
                }
            }
            if !compacted {
                db.compact().unwrap();
            }
        }
    }
}

#[test]
fn one_bit_is_too_few() {
    let folder = tempfile::tempdir().unwrap();
    let parameters = presets::PRECISE.with_bits(1).with_slots(Slots::NONE);
    let scheme = Scheme::new(parameters).unwrap();
    let db = Database::create(folder.path().join("x"), &scheme, Options::default()).unwrap();
    let error = Err(Error::TooFewBits { sets: 3, bits: 1, needed: 2 });
    assert_eq!(db.snapshot().triples(0.5).collect(), error);
    db.put("a", &[1, 2, 3]).unwrap();
    assert_eq!(db.snapshot().triples(0.5).collect(), error);
    assert!(db.snapshot().pairs(0.5).collect().is_ok());
}

#[test]
fn runs_are_refused_and_cancelled() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x");
    let db = Database::create(&path, &Scheme::precise(), Options::default()).unwrap();
    for i in 0..6_u64 {
        db.put([i as u8], &(20 * i..20 * i + 500).collect::<Vec<_>>()).unwrap();
    }
    let snapshot = db.snapshot();
    assert_eq!(snapshot.triples(0.5).collect().unwrap().len(), 20);
    let mut seen = 0;
    let report = snapshot.triples(0.5).run(|_| {
        seen += 1;
        if seen == 7 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    assert!(report.unwrap().cancelled && seen == 7);
    assert!(matches!(snapshot.triples(1.5).collect(), Err(Error::InvalidArgument { .. })));
    let over = snapshot.triples(0.5).pairs(|pairs| pairs.memory(10)).collect();
    assert!(matches!(over, Err(Error::OverLimit { .. })));
}

const D: u64 = 1 << 16;

/// Returns three words each and the resemblance of the sets of documents that contain them.
fn truth(folder: &Path) -> Vec<([String; 3], f64)> {
    let text = fs::read_to_string(folder.join("truth_triples.tsv")).expect("a truth table");
    let rows = text.lines().filter(|line| !line.starts_with('#'));
    rows.map(|line| {
        let columns: Vec<&str> = line.split('\t').collect();
        let words = [columns[0], columns[1], columns[2]].map(str::to_string);
        (words, columns[11].parse().expect("a resemblance"))
    })
    .collect()
}

fn postings(folder: &Path, wanted: &HashSet<&String>) -> HashMap<String, Vec<u64>> {
    let mut text = Vec::new();
    let file = File::open(folder.join("postings.txt.xz")).expect("the postings");
    lzma_rs::xz_decompress(&mut BufReader::new(file), &mut text).expect("an xz file");
    let text = String::from_utf8(text).expect("text");
    let lines = text.lines().filter_map(|line| line.split_once('\t'));
    let wanted = lines.filter(|(word, _)| wanted.contains(&(*word).to_string()));
    let ids = |ids: &str| ids.split(' ').map(|id| id.parse().expect("an id")).collect();
    wanted.map(|(word, all)| (word.to_string(), ids(all))).collect()
}

/// Real words in a database. Each triple of the truth table is found at a threshold up to its estimate, and the
/// estimate is within 4 standard errors of the truth. The sparse formula is clearly further off.
#[test]
fn triples_of_words_agree_with_exact_resemblance() {
    let Some(folder) = real::folder("words65536") else { return };
    let truth = truth(&folder);
    let wanted: HashSet<&String> = truth.iter().flat_map(|(words, _)| words).collect();
    let sets = postings(&folder, &wanted);
    let known = |words: &[String; 3]| words.iter().all(|word| sets.contains_key(word));
    let truth: Vec<_> = truth.iter().filter(|(words, _)| known(words)).collect();
    assert!(truth.len() > 40, "only {} triples", truth.len());
    for bits in some(&[2, 4], 2) {
        let scheme = Scheme::new(
            presets::PRECISE
                .with_sampler(Sampler::Independent)
                .with_bits(bits)
                .with_universe(Universe::Bounded(D))
                .with_cardinality(CardinalityField::Exact)
                .with_slots(Slots::NONE),
        )
        .unwrap();
        let place = tempfile::tempdir().unwrap();
        let db = Database::create(place.path().join("words"), &scheme, Options::default()).unwrap();
        let mut load = db.bulk_load();
        sets.iter().for_each(|(word, ids)| load.put(word, ids).unwrap());
        load.commit().unwrap();
        let snapshot = db.snapshot();
        let min = 0.02;
        let found = snapshot.triples(min).min_pair(0.0).collect().unwrap();
        let found: HashMap<[Vec<u8>; 3], Triple> =
            found.into_iter().map(|triple| (keys(&triple), triple)).collect();
        let (mut dense, mut sparse, mut given) = (0.0, 0.0, 0);
        for (words, r) in &truth {
            let mut words = words.clone();
            words.sort();
            let three = words.clone().map(|word| snapshot.get(word).unwrap().unwrap().signature);
            let three: Vec<&Signature> = three.iter().collect();
            let right = resemblance_of(&three).unwrap();
            let Some(triple) = found.get(&words.clone().map(String::into_bytes)) else {
                let pairs = [(0, 1), (0, 2), (1, 2)];
                let dissimilar =
                    |(i, j): &(usize, usize)| three[*i].resemblance(three[*j]).unwrap().value < 0.0;
                assert!(right.value < min || pairs.iter().any(dissimilar), "{words:?} is missing");
                continue;
            };
            given += 1;
            assert_eq!(triple.resemblance, right);
            let error = (right.value - r).abs();
            assert!(error <= 4.0 * right.std_error, "{bits} {words:?}: {right}, truth {r}");
            let mut patterns = Patterns::new(3, bits).unwrap();
            for sample in 0..128 {
                let values: Vec<u16> = three.iter().filter_map(|s| s.sample(sample)).collect();
                patterns.add(&values).unwrap();
            }
            let naive = patterns.sparse(None).unwrap().value;
            dense += error.powi(2);
            sparse += (naive - r).powi(2);
        }
        let root = |sum: f64| (sum / f64::from(given)).sqrt();
        println!(
            "{given} of {} triples, b = {bits}: root mean square error {:.4}, sparse form {:.4}",
            truth.len(),
            root(dense),
            root(sparse)
        );
        assert!(given > 40 && sparse > dense, "the sparse form's bias does not show");
    }
}
