//! Texts as weighted words: the share of the ten nearest texts, by exact cosine and exact weighted resemblance, that a
//! database finds.
//!
//! ```sh
//! cargo run --release --example tf_idf
//! ```
//!
//! The texts are the package descriptions of `debian-desc-public` in the folder that `RINGER_DATA` names (by default
//! `../shared/data`), or made-up texts if that is missing. The words of a text are weighted by their frequency in it and their
//! rarity in all texts ([`DocumentFrequencies`]). Every text is stored under its number in a database of vectors (`cosine`)
//! and in one of weighted sets (`weighted`). Some of the texts are queried.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::BufReader;
use std::path::PathBuf;

use rayon::prelude::*;
use ringer::features::{DocumentFrequencies, tokens};
use ringer::scheme::Slots;
use ringer::{Database, Like, Options, Parameters, Query, Scheme, Snapshot, presets};

type AnyError = Box<dyn std::error::Error>;

/// Words with their weights, in ascending order of words.
type Weighted = Vec<(u64, f64)>;

/// One text in this many is queried.
const EVERY: usize = 200;

/// The number of nearest texts that are wanted.
const TOP: usize = 10;

fn main() -> Result<(), AnyError> {
    let texts = match descriptions()? {
        Some(texts) => texts,
        None => (0..2000).map(made_up).collect(),
    };
    let mut frequencies = DocumentFrequencies::new();
    texts.iter().for_each(|text| frequencies.add(text));
    let mut sets: Vec<Weighted> = texts.iter().map(|text| frequencies.weigh(text)).collect();
    sets.iter_mut().for_each(|set| set.sort_unstable_by_key(|(word, _)| *word));
    let words: usize = sets.iter().map(Vec::len).sum();
    println!("{} texts of {} words on average", sets.len(), words / sets.len());

    let index = Index::new(&sets);
    println!("of the ten nearest        bytes  exhaustive    by index  one bit off");
    let slots = Slots { count: 93, ..presets::COSINE.slots };
    let more = presets::COSINE.with_samples(1024).with_slots(slots);
    for (name, parameters) in [("cosine", presets::COSINE), ("cosine, k = 1,024", more)] {
        let folder = tempfile::tempdir()?;
        let db = load(&folder.path().join("x.ringer"), parameters, &sets)?;
        report(name, &db.snapshot(), &sets, &index, Index::cosines, true)?;
    }
    let slots = Slots { count: 85, ..presets::WEIGHTED.slots };
    let more = presets::WEIGHTED.with_samples(256).with_slots(slots);
    for (name, parameters) in [("weighted", presets::WEIGHTED), ("weighted, k = 256", more)] {
        let folder = tempfile::tempdir()?;
        let db = load(&folder.path().join("x.ringer"), parameters, &sets)?;
        report(name, &db.snapshot(), &sets, &index, Index::resemblances, false)?;
    }
    Ok(())
}

fn load(
    path: &std::path::Path,
    parameters: Parameters,
    sets: &[Weighted],
) -> Result<Database, AnyError> {
    let db = Database::create(path, &Scheme::new(parameters)?, Options::default())?;
    let signatures = db.sketcher().sketch_all_weighted(sets)?;
    let mut bulk = db.bulk_load();
    for i in 0..sets.len() {
        let signature = signatures.get(i).ok_or("one for each set")?;
        bulk.put_signature((i as u64).to_be_bytes(), &signature)?;
    }
    bulk.commit()?;
    Ok(db)
}

/// Prints the average share of the nearest texts that a query finds. If several are as near as the last, any of them
/// counts.
fn report(
    name: &str,
    snapshot: &Snapshot,
    sets: &[Weighted],
    index: &Index,
    exact: fn(&Index, &Weighted) -> HashMap<usize, f64>,
    within_one_bit: bool,
) -> Result<(), AnyError> {
    let looked_for: Vec<usize> = (0..sets.len()).step_by(EVERY).collect();
    let exact: HashMap<usize, _> =
        looked_for.par_iter().map(|i| (*i, exact(index, &sets[*i]))).collect();
    let recall = |exhaustive: bool, one_bit: bool| -> Result<f64, ringer::Error> {
        let run = |query: Query<'_>| match (exhaustive, one_bit) {
            (true, _) => query.exhaustive().run(),
            (false, true) => query.within_hamming_1().run(),
            (false, false) => query.run(),
        };
        let of_one = |i: &usize| {
            let right = &exact[i];
            let mut nearest: Vec<f64> =
                right.iter().filter(|(j, _)| *j != i).map(|(_, near)| *near).collect();
            nearest.sort_unstable_by(|a, b| b.total_cmp(a));
            nearest.truncate(TOP);
            let Some(last) = nearest.last() else { return Ok(1.0) };
            let key = (*i as u64).to_be_bytes();
            let answer = run(snapshot.query(Like::Key(&key)).top(TOP))?;
            let number = |key: &[u8]| key.iter().fold(0, |all, b| all << 8 | usize::from(*b));
            let near = |j: &usize| right.get(j).is_some_and(|near| *near >= last - 1e-9);
            let found: HashSet<usize> = answer.matches.iter().map(|m| number(&m.key)).collect();
            Ok(found.iter().filter(|j| near(j)).count() as f64 / nearest.len() as f64)
        };
        let all: Vec<f64> = looked_for.par_iter().map(of_one).collect::<Result<_, _>>()?;
        Ok(all.iter().sum::<f64>() / all.len() as f64)
    };
    let all = recall(true, false)?;
    let slots = recall(false, false)?;
    let bytes = 8 * snapshot.scheme().words_per_signature();
    let one_bit = match within_one_bit {
        true => format!("{:.3}", recall(false, true)?),
        false => "-".into(),
    };
    println!("{name:24} {bytes:6} {all:11.3} {slots:11.3} {one_bit:>12}");
    Ok(())
}

/// The texts of each word, and its weight in them, for exact answers.
struct Index {
    lists: HashMap<u64, Vec<(usize, f64)>>,
    lengths: Vec<f64>,
    totals: Vec<f64>,
}

impl Index {
    fn new(sets: &[Weighted]) -> Index {
        let mut lists: HashMap<u64, Vec<(usize, f64)>> = HashMap::new();
        for (i, set) in sets.iter().enumerate() {
            for (word, weight) in set {
                lists.entry(*word).or_default().push((i, *weight));
            }
        }
        let length = |set: &Weighted| set.iter().map(|(_, w)| w * w).sum::<f64>().sqrt();
        let total = |set: &Weighted| set.iter().map(|(_, w)| w).sum();
        Index {
            lists,
            lengths: sets.iter().map(length).collect(),
            totals: sets.iter().map(total).collect(),
        }
    }

    /// Sums a value over the words that a text shares with each other text.
    fn shared(&self, set: &Weighted, one: impl Fn(f64, f64) -> f64) -> HashMap<usize, f64> {
        let mut sums = HashMap::new();
        for (word, weight) in set {
            for (i, other) in self.lists.get(word).into_iter().flatten() {
                *sums.entry(*i).or_insert(0.0) += one(*weight, *other);
            }
        }
        sums
    }

    fn cosines(&self, set: &Weighted) -> HashMap<usize, f64> {
        let length = set.iter().map(|(_, w)| w * w).sum::<f64>().sqrt();
        let products = self.shared(set, |a, b| a * b);
        products.into_iter().map(|(i, sum)| (i, sum / length / self.lengths[i])).collect()
    }

    fn resemblances(&self, set: &Weighted) -> HashMap<usize, f64> {
        let total: f64 = set.iter().map(|(_, w)| w).sum();
        let least = self.shared(set, f64::min);
        least.into_iter().map(|(i, sum)| (i, sum / (total + self.totals[i] - sum))).collect()
    }
}

/// Reads the words of the package descriptions, if the data is there.
fn descriptions() -> Result<Option<Vec<Vec<u64>>>, AnyError> {
    let default = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared/data");
    let folder = std::env::var_os("RINGER_DATA").map_or(default, PathBuf::from);
    let path = folder.join("debian-desc-public/Translation-en.bookworm.xz");
    if !path.exists() {
        println!("no {}: made-up texts instead (set RINGER_DATA)", path.display());
        return Ok(None);
    }
    let mut bytes = Vec::new();
    lzma_rs::xz_decompress(&mut BufReader::new(File::open(path)?), &mut bytes)?;
    let text = String::from_utf8_lossy(&bytes).to_ascii_lowercase();
    let words = |stanza: &str| {
        let (_, text) = stanza.split_once("description-en: ")?;
        let words = text.split(|c: char| !c.is_ascii_alphanumeric());
        Some(tokens(words.filter(|word| !word.is_empty())))
    };
    Ok(Some(text.split("\n\n").filter_map(words).filter(|words| !words.is_empty()).collect()))
}

/// Makes up a text about one of a few hundred subjects. Some of its words are common to all texts.
fn made_up(number: u64) -> Vec<u64> {
    let mut state = number;
    let mut roll = |below: u64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let subject = number % 200;
    (0..60).map(|_| if roll(3) == 0 { roll(40) } else { 1000 + subject * 50 + roll(50) }).collect()
}
