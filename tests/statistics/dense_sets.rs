//! Real dense sets, with exact resemblances: the documents, of 65,536, in which words occur.
//!
//! The data is not part of the repository. Set `RINGER_DATA` to its folder (the one that contains `words65536/`); the
//! default is `../shared/data`. Without the data these tests say so and pass. `cargo test --test statistics
//! dense_sets -- --nocapture` prints the comparison.

use testkit::real;
use testkit::scale::cases;

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::io::BufReader;
use std::path::Path;

use rayon::prelude::*;
use ringer::internals::estimate::Chance;
use ringer::internals::estimate::many::Patterns;
use ringer::internals::estimate::small_sets::variance_factor;
use ringer::scheme::{CardinalityField, Sampler, Slots, Universe};
use ringer::{Scheme, Signature, Sketcher, presets, resemblance_of};

const D: u64 = 1 << 16;

/// Returns the rows of a truth table: the words, and R in column `r`.
pub(crate) fn truth(path: &Path, words: usize, r: usize) -> Vec<(Vec<String>, f64)> {
    let text = fs::read_to_string(path).expect("a truth table");
    let rows = text.lines().filter(|line| !line.starts_with('#'));
    rows.map(|line| {
        let columns: Vec<&str> = line.split('\t').collect();
        let names = columns[..words].iter().map(|w| (*w).to_string()).collect();
        (names, columns[r].parse().expect("a resemblance"))
    })
    .collect()
}

/// Returns the document sets of the words that a truth table names.
pub(crate) fn postings(folder: &Path, wanted: &[(Vec<String>, f64)]) -> HashMap<String, Vec<u64>> {
    let wanted: HashSet<&String> = wanted.iter().flat_map(|(words, _)| words).collect();
    let mut text = Vec::new();
    let file = File::open(folder.join("postings.txt.xz")).expect("the postings");
    lzma_rs::xz_decompress(&mut BufReader::new(file), &mut text).expect("an xz file");
    let text = String::from_utf8(text).expect("text");
    let lines = text.lines().filter_map(|line| line.split_once('\t'));
    lines
        .filter(|(word, _)| wanted.contains(&(*word).to_string()))
        .map(|(word, ids)| {
            let ids = ids.split(' ').map(|id| id.parse().expect("an id")).collect();
            (word.to_string(), ids)
        })
        .collect()
}

fn scheme(sampler: Sampler, bits: u8, seed: u64) -> Scheme {
    Scheme::new(
        presets::PRECISE
            .with_sampler(sampler)
            .with_bits(bits)
            .with_seed(seed)
            .with_universe(Universe::Bounded(D))
            .with_cardinality(CardinalityField::Exact)
            .with_slots(Slots::NONE),
    )
    .expect("a valid scheme")
}

/// Sketches all words under one scheme.
fn sketch(sets: &HashMap<String, Vec<u64>>, scheme: &Scheme) -> HashMap<String, Signature> {
    let sketcher = Sketcher::new(scheme);
    let sketch = |(word, ids): (&String, &Vec<u64>)| (word.clone(), sketcher.sketch(ids).unwrap());
    sets.iter().map(sketch).collect()
}

/// Returns the standard error at a known resemblance. It is at least that of half a sample, because the truth is
/// rounded.
fn standard_error(sampler: Sampler, bits: u8, sizes: [f64; 2], r: f64) -> f64 {
    let chance = Chance::dense(u32::from(bits), sizes[0] / D as f64, sizes[1] / D as f64);
    let factor = match sampler {
        Sampler::OnePermutation => variance_factor((sizes[0] + sizes[1]) / (1.0 + r), 128),
        _ => 1.0,
    };
    let variance = chance.variance(chance.agreement(r).min(1.0)) + (factor - 1.0) * r * (1.0 - r);
    (variance.max(0.0) / 128.0).sqrt().max(0.5 / 128.0)
}

/// Bounds: under each of 32 seeds (8 in a quick run), estimates are within 4 standard errors of the truth, with one
/// exception in a thousand. (Normal errors exceed that six times in 100,000, skewed ones somewhat more often.) The
/// mean over the seeds is always within 4 standard errors of the mean. Standard errors equal the theory at the true
/// resemblance. The sparse formula is clearly worse on these sets.
#[test]
fn pairs_agree_with_exact_resemblance() {
    let Some(folder) = real::folder("words65536") else { return };
    let seeds = cases(8, 32);
    let truth = truth(&folder.join("truth_pairs.tsv"), 2, 7);
    let sets = postings(&folder, &truth);
    let pairs: Vec<_> =
        truth.iter().filter(|(w, _)| w.iter().all(|w| sets.contains_key(w))).collect();
    assert!(pairs.len() > 100, "only {} pairs", pairs.len());
    println!("{} word pairs, k = 128, {seeds} seeds: root mean square error", pairs.len());
    println!(
        "sampler           b   corrected for r   taking r = 0   pairs with r1 + r2 > .2: same"
    );
    for sampler in [Sampler::Independent, Sampler::OnePermutation] {
        for bits in [1_u8, 2, 4] {
            let schemes: Vec<_> = (0..seeds).map(|seed| scheme(sampler, bits, seed)).collect();
            let signatures: Vec<_> = schemes.par_iter().map(|s| sketch(&sets, s)).collect();
            let sparse = Chance::sparse(u32::from(bits));
            let mut far = 0;
            // Sums over all pairs, and over the dense ones: squared error with and without the correction.
            let mut sums = [(0.0, 0.0, 0.0); 2];
            for (words, r) in &pairs {
                let sizes = [0, 1].map(|i| sets[&words[i]].len() as f64);
                let dense = sizes[0] + sizes[1] > 0.2 * D as f64;
                let error = standard_error(sampler, bits, sizes, *r);
                let mut mean = 0.0;
                for signatures in &signatures {
                    let (a, b) = (&signatures[&words[0]], &signatures[&words[1]]);
                    let comparison = a.compare(b).unwrap();
                    let e = comparison.similarity();
                    let naive = sparse.resemblance(f64::from(comparison.equal_samples()) / 128.0);
                    for sum in sums.iter_mut().take(if dense { 2 } else { 1 }) {
                        sum.0 += (e.value - r).powi(2);
                        sum.1 += (naive - r).powi(2);
                        sum.2 += 1.0;
                    }
                    mean += e.value / seeds as f64;
                    far += u32::from((e.value - r).abs() > 4.0 * error);
                }
                let bound = 4.0 * error / (seeds as f64).sqrt();
                let at = format!("{sampler} b {bits} {words:?} dense {dense}");
                assert!((mean - r).abs() <= bound, "{at}: mean {mean}, truth {r}, bound {bound}");
            }
            let [all, dense] = sums.map(|(a, b, n)| ((a / n).sqrt(), (b / n).sqrt()));
            println!(
                "{:16} {bits:2}   {:15.4}   {:12.4}   {:.4} {:.4}",
                sampler.name(),
                all.0,
                all.1,
                dense.0,
                dense.1
            );
            let compared = pairs.len() as u64 * seeds;
            assert!(
                u64::from(far) * 1000 <= compared,
                "{far} of {compared} beyond 4 standard errors"
            );
            let gain = if bits == 4 { 1.05 } else { 1.3 };
            assert!(dense.1 > gain * dense.0, "the correction does not show: {dense:?}");
        }
    }
}

/// Three-way resemblance by the dense formula is within 4 standard errors of the truth. The sparse formula is
/// compared.
#[test]
fn triples_agree_with_exact_resemblance() {
    let Some(folder) = real::folder("words65536") else { return };
    let truth = truth(&folder.join("truth_triples.tsv"), 3, 11);
    let sets = postings(&folder, &truth);
    let triples: Vec<_> =
        truth.iter().filter(|(w, _)| w.iter().all(|w| sets.contains_key(w))).collect();
    assert!(triples.len() > 40, "only {} triples", triples.len());
    println!("{} word triples, k = 128: root mean square error", triples.len());
    for bits in [2_u8, 4] {
        let signatures = sketch(&sets, &scheme(Sampler::Independent, bits, 1));
        let (mut dense, mut sparse) = (0.0, 0.0);
        for (words, r) in &triples {
            let three: Vec<&Signature> = words.iter().map(|w| &signatures[w]).collect();
            let e = resemblance_of(&three).unwrap();
            let off = (e.value - r).abs();
            assert!(off <= 4.0 * e.std_error, "b {bits} {words:?}: {e}, truth {r}");
            let mut patterns = Patterns::new(3, bits).unwrap();
            for i in 0..128 {
                let values: Vec<u16> = three.iter().filter_map(|s| s.sample(i)).collect();
                patterns.add(&values).unwrap();
            }
            dense += off * off;
            sparse += (patterns.sparse(None).unwrap().value - r).powi(2);
        }
        let n = triples.len() as f64;
        println!(
            "b {bits}: dense {:.4}, taking r = 0 {:.4}",
            (dense / n).sqrt(),
            (sparse / n).sqrt()
        );
    }
}
